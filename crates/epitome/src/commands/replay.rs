//! `epitome replay`: a transcript fed through the engine call by call.

mod baseline;
mod bill;
mod comparison;

use super::context::BodyRequest;
use super::{FileCommand, event_json, spent_text};
use crate::cli::ReplayArgs;
use crate::columns;
use crate::draw::{self, Paint};
use crate::output::Page;
use crate::session_ports::{Dry, SessionPorts};
use crate::terminal_operator::TerminalOperator;
use crate::transcript_file::{TranscriptFile, catalog, stored_source};
use crate::{input, progress};
use anyhow::{Context as _, Result};
use baseline::{BaseBills, Baseline, compare};
use bill::{BillMaker, SessionBill};
use comparison::Comparison;
use epitome_core::policy::TriggerMode;
use epitome_core::{Archive as _, CallCost, EntryId, Outcome, Record, RecordSource, Tokens, Trigger};
use epitome_engine::{Assembly, Driver, Event, ReplayInput, ReplayedCall, Session, replay};
use epitome_settings::Door;
use epitome_tokens::Usage;
use epitome_wire::{Conversation, FixedParts, ReportedUsage};
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Below this, what recorded calls held beside their transcript may be our count's own error.
const UNRECORDED_TOLD_MIN: Tokens = Tokens(1_000);

/// One line of `--json`.
#[derive(Serialize)]
struct CallLine<'a> {
    file: std::borrow::Cow<'a, str>,
    conversation: usize,
    call: usize,
    message: usize,
    tokens: Tokens,
    fixed: Tokens,
    unrecorded: Tokens,
    cached: Tokens,
    window: Tokens,
    reserve: Tokens,
    compaction: Option<&'a Record>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Box<RawValue>>,
}

/// Replays each conversation of each file.
pub fn run(args: &ReplayArgs) -> Result<()> {
    let catalog = catalog(args.read.models.as_deref())?;
    let system = args.system.as_deref().map(read_system).transpose()?;
    let baseline = Baseline::new(args, &catalog, system.as_ref())?;
    if !args.compare.is_empty() {
        return compare(&baseline);
    }
    let command = FileCommand::new(catalog.clone(), Dry::No, &args.policy, Door::Replay)?;
    let stored = args.stored.session.map(|session| stored_source(&args.stored.store.open()?, session));
    let stored = stored.transpose()?;
    let files = match args.stored.session {
        Some(session) => vec![session.to_string().into()],
        None => input::expand(&input::or_stdin(&args.files)?)?,
    };
    let failed = progress::over(&files, |_, path, bar| {
        let (source, only) = match &stored {
            Some((source, place)) => (source.clone(), Some(place.number)),
            None => (input::open(path)?, None),
        };
        let (file, resolved) = command.open_source(path, source.clone(), &args.read)?;
        let ports = command.ports.ports(&resolved)?;
        let run = ReplayRun { args, command: &command, file: &file, ports, system: system.as_ref(), bar };
        let mut base = if args.read.json { Vec::new() } else { baseline.of(path, &source, bar)? }.into_iter();
        for number in 0..file.transcript.conversations.len() {
            let base = base.next();
            if only.is_some_and(|only| only != number) {
                continue;
            }
            let told = run.run(number, &resolved.preset, base);
            told.with_context(|| format!("cannot replay {}", path.display()))?;
        }
        Ok(())
    })?;
    failed.result()
}

fn read_system(path: &Path) -> Result<Arc<str>> {
    let text = std::fs::read_to_string(path);
    Ok(text.with_context(|| format!("cannot read the system prompt {}", path.display()))?.into())
}

/// What is replayed, and with what.
struct ReplayRun<'a> {
    args: &'a ReplayArgs,
    command: &'a FileCommand,
    file: &'a TranscriptFile,
    ports: SessionPorts,
    /// The system prompt that stands in place of the recorded one.
    system: Option<&'a Arc<str>>,
    bar: &'a ProgressBar,
}

/// One call as its picture needs it.
struct SeenCall {
    tokens: Tokens,
    compaction: Option<Arc<Record>>,
    /// What a compaction of it was begun for, where one was.
    due: Option<DueSize>,
}

/// The size of a request that was due, as the policy measures it.
#[derive(Clone, Copy)]
struct DueSize {
    tokens: Tokens,
    limit: Tokens,
}

impl ReplayRun<'_> {
    fn run(&self, number: usize, preset: &str, base: Option<BaseBills>) -> Result<()> {
        let conversation = self.file.conversation(number);
        let Some(BaseBills { mut rows, unrecorded }) = base else {
            let fixed = self.fixed(conversation);
            let assembly = self.assembly(&fixed, self.args.fixed.map(Tokens));
            let mut out = BufWriter::new(std::io::stdout().lock());
            self.replay(conversation, assembly, |call| self.print_line(&mut out, number, &fixed, &call))?;
            return out.flush().context("cannot write to standard output");
        };
        let mut seen = Vec::new();
        rows.push(self.bill(number, preset, unrecorded, |call| {
            let ReplayedCall { tokens, compaction, events, .. } = call;
            seen.push(SeenCall { tokens, compaction, due: due_size(&events) });
        })?);
        let mut page = self.page(number, unrecorded, &seen);
        let file = self.file.path.display().to_string();
        Comparison { file, conversation: number, rows }.write(&mut page, Paint::stdout());
        page.print()
    }

    /// What the calls would have cost under the policy at hand, with so much before what the transcript records; each
    /// call is shown to `each` as well.
    fn bill(
        &self,
        number: usize,
        name: &str,
        unrecorded: Tokens,
        mut each: impl FnMut(ReplayedCall<'_>),
    ) -> Result<SessionBill> {
        let conversation = self.file.conversation(number);
        let fixed = self.fixed(conversation);
        let (usages, messages) = (recorded_usage(conversation), messages_of(conversation));
        let stated = self.whole_fixed(&fixed, unrecorded);
        let count = self.file.model_count(number, &fixed, stated)?;
        let prices = self.file.model().prices.map(|prices| prices.value);
        let beside = if stated.is_some() { Tokens::ZERO } else { unrecorded };
        let mut maker = BillMaker::new(name, &count, prices, &usages, &messages, beside);
        self.replay(conversation, self.assembly(&fixed, stated), |call| {
            maker.take(&call)?;
            each(call);
            Ok(())
        })?;
        Ok(maker.finish())
    }

    /// What the recorded calls held beside what the transcript records, unless somebody states it.
    fn unrecorded(&self, number: usize) -> Result<Tokens> {
        let mut unrecorded = Tokens::ZERO;
        if self.args.fixed.is_none() && self.system.is_none() {
            let conversation = self.file.conversation(number);
            self.replay(conversation, self.assembly(&self.fixed(conversation), None), |call| {
                unrecorded = call.unrecorded;
                Ok(())
            })?;
        }
        Ok(unrecorded)
    }

    /// What is sent before the history: what the transcript records, or what the command line says.
    fn fixed(&self, conversation: &Conversation) -> FixedParts {
        let mut fixed = conversation.fixed.clone();
        if let Some(system) = self.system {
            fixed.system = vec![system.clone()];
        }
        fixed
    }

    fn assembly(&self, fixed: &FixedParts, stated: Option<Tokens>) -> Assembly {
        let mut assembly = self.file.assembly(fixed);
        stated.into_iter().for_each(|tokens| assembly.state_fixed(tokens));
        assembly
    }

    /// All that stands before the history where money is compared: what somebody states, else what the transcript
    /// records together with what it does not, as long as the window can be the one that was in use.
    fn whole_fixed(&self, fixed: &FixedParts, unrecorded: Tokens) -> Option<Tokens> {
        if let Some(stated) = self.args.fixed {
            return Some(Tokens(stated));
        }
        let assembly = self.file.assembly(fixed);
        let is_theirs = !assembly.budget().with_unrecorded(unrecorded).unrecorded.is_zero();
        let recorded = assembly.count_fixed(&fixed.system, &fixed.tools);
        (is_theirs && unrecorded >= UNRECORDED_TOLD_MIN).then_some(recorded + unrecorded)
    }

    fn replay(
        &self,
        conversation: &Conversation,
        assembly: Assembly,
        each: impl FnMut(ReplayedCall<'_>) -> Result<()>,
    ) -> Result<()> {
        let fixed = assembly.count_fixed(&conversation.fixed.system, &conversation.fixed.tools);
        let (log, sizes) = (Arc::new(conversation.log.clone()), Arc::new(conversation.sizes.clone()));
        let mut session = Session::new(log, sizes, Arc::default(), assembly);
        let path = conversation.log.path_of(conversation.leaf);
        let usage = recorded_usage(conversation);
        let input =
            ReplayInput { path: &path, fixed, usage: &usage, read: &|id| conversation.originals.message(id) };
        let mut driver: Driver = self.ports.driver();
        if session.policy().mode == TriggerMode::Ask && TerminalOperator::is_there() {
            driver.ports_mut().operator = Some(Arc::new(TerminalOperator::new(String::new())));
        }
        let work = replay::<anyhow::Error>(&driver, &mut session, input, each);
        self.command.waiting.run(&driver, self.bar, work)
    }

    fn print_line(
        &self,
        out: &mut impl Write,
        number: usize,
        fixed: &FixedParts,
        call: &ReplayedCall<'_>,
    ) -> Result<()> {
        let budget = call.session.budget();
        let line = CallLine {
            file: self.file.path.to_string_lossy(),
            conversation: number,
            call: call.call,
            message: call.message,
            tokens: call.tokens,
            fixed: call.fixed,
            unrecorded: call.unrecorded,
            cached: call.cached,
            window: budget.window,
            reserve: budget.reserve,
            compaction: call.compaction.as_deref(),
            events: call.events.iter().map(event_json).collect(),
            context: self.args.contexts.then(|| self.context(number, fixed, call)).transpose()?,
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n").context("cannot write to standard output")
    }

    fn context(&self, number: usize, fixed: &FixedParts, call: &ReplayedCall<'_>) -> Result<Box<RawValue>> {
        let request = BodyRequest { number, fixed, to: self.args.to, max_tokens: None };
        let mut written = request.written(self.file, &call.session.shown()?)?;
        // Arguments of calls are copied as the transcript wrote them, line breaks included; a record here is one line.
        // Inside a JSON string a line break is escaped, so every one that stands bare is white space.
        written.bytes.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        RawValue::from_string(String::from_utf8(written.bytes)?).context("the request body is not JSON")
    }

    fn page(&self, number: usize, unrecorded: Tokens, seen: &[SeenCall]) -> Page {
        let (paint, mut page) = (Paint::stdout(), Page::default());
        let name = self.file.path.display().to_string();
        let which = conversation_text(number, self.file.transcript.conversations.len());
        let fixed = self.fixed(self.file.conversation(number));
        let place = format!("{which}window {}", self.assembly(&fixed, None).budget().window);
        writeln!(page, "{} {}", paint.bold(&name), paint.dim(&place));
        let amounts: Vec<u64> = seen.iter().map(|call| call.tokens.0).collect();
        writeln!(page, "  {}", paint.bar(&draw::line(&amounts, columns::of_stdout() - 4)));
        for (at, call) in seen.iter().enumerate() {
            if let Some(record) = &call.compaction {
                writeln!(page, "  call {at}: {}{}", outcome_text(record), due_text(call.due, record));
            }
        }
        if let Some(note) = self.unrecorded_note(number, unrecorded) {
            writeln!(page, "{}", columns::wrap(&format!("  {note}"), columns::of_stdout(), 2));
        }
        let mut spent = CallCost::default();
        seen.iter().filter_map(|call| call.compaction.as_ref()).for_each(|record| spent.add(&record.spent));
        if spent.calls > 0 {
            writeln!(page, "  summaries: {}", spent_text(&spent));
        }
        page
    }

    /// Tells what the recorded calls held beside what the transcript records, and whether it is counted in.
    fn unrecorded_note(&self, number: usize, unrecorded: Tokens) -> Option<String> {
        if unrecorded < UNRECORDED_TOLD_MIN {
            return None;
        }
        let fixed = self.fixed(self.file.conversation(number));
        let told = format!(
            "the recorded calls held about {unrecorded} tokens beside what the transcript records, its agent's own system \
             prompt and tools: "
        );
        Some(match self.whole_fixed(&fixed, unrecorded) {
            Some(_) => told + "they are counted in, `--fixed 0` leaves them out",
            None => {
                let whole = self.file.assembly(&fixed).count_fixed(&fixed.system, &fixed.tools) + unrecorded;
                format!(
                    "{told}too much for this window, so that it is another agent's; `--fixed {}` counts them in",
                    whole.0
                )
            }
        })
    }
}

/// Which of several conversations, in front of what is said of it.
fn conversation_text(number: usize, of: usize) -> String {
    if of == 1 { String::new() } else { format!("conversation {number}, ") }
}

/// The newest of what a compaction was begun for, of what happened before a call.
fn due_size(events: &[Event]) -> Option<DueSize> {
    events.iter().rev().find_map(|event| {
        let &Event::Triggered { trigger, tokens, limit, window } = event else { return None };
        // A policy that does not look before a call at all is held to the window there.
        let limit = if trigger == Trigger::Overflow { window } else { limit };
        Some(DueSize { tokens, limit })
    })
}

/// The size that was due, where it is not the one the record tells: a policy may go by what the provider said of the
/// newest call and by what is about to be said, a record has one count before and after.
fn due_text(due: Option<DueSize>, record: &Record) -> String {
    let is_ours = record.source != RecordSource::Transcript;
    let other = due.filter(|due| is_ours && due.tokens != record.tokens_before);
    other.map_or_else(String::new, |DueSize { tokens, limit }| {
        format!("; {tokens} as measured, due at {limit}")
    })
}

/// What came before a call, in a line.
fn outcome_text(record: &Record) -> String {
    let sizes = format!("{} → {} tokens", record.tokens_before, record.tokens_after);
    match &record.outcome {
        Outcome::Compacted(change) | Outcome::Pruned(change) => format!("{sizes} ({})", change.strategy),
        Outcome::Applied { of } => format!("{sizes} (by {of}, made before)"),
        Outcome::Recorded => format!("{sizes} (by the transcript's own tool)"),
        Outcome::Noop { .. }
        | Outcome::Vetoed { .. }
        | Outcome::Abandoned { .. }
        | Outcome::Impossible(_) => {
            format!("{} tokens stay: {}", record.tokens_after, record.outcome.why().unwrap_or_default())
        }
    }
}

/// The messages of a conversation's path, first to last.
fn messages_of(conversation: &Conversation) -> Vec<EntryId> {
    let path = conversation.log.path_of(conversation.leaf);
    path.into_iter().filter(|id| conversation.log.item(*id).is_some()).collect()
}

/// What the provider said of each reply that a transcript records.
fn recorded_usage(conversation: &Conversation) -> HashMap<EntryId, Usage> {
    let replies = conversation.replies.iter();
    replies.filter_map(|reply| Some((reply.entry, usage_of(reply.usage?)))).collect()
}

fn usage_of(usage: ReportedUsage) -> Usage {
    let ReportedUsage { prompt, output, cache_read, cache_write } = usage;
    Usage { prompt, output, cache_read, cache_write, reasoning: 0 }
}
