//! `epitome replay`: a transcript fed through the engine call by call.

use super::{Desk, Work};
use crate::asking::{Dry, Summarizer};
use crate::cli::ReplayArgs;
use crate::draw::{self, Paint};
use crate::opened::{Opened, catalog};
use crate::output::Page;
use crate::waiting::Waiting;
use crate::{input, progress};
use anyhow::{Context as _, Result};
use epitome_core::{EntryId, Spent};
use epitome_engine::{Call, Happened, Report, Session, replay_asking};
use epitome_settings::Door;
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::{BufWriter, Write};

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    file: std::borrow::Cow<'a, str>,
    conversation: usize,
    call: usize,
    message: usize,
    tokens: u64,
    fixed: u64,
    cached: u64,
    window: u64,
    reserve: u64,
    compaction: Option<&'a Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Box<RawValue>>,
}

/// Replays each conversation of each file.
pub fn run(args: &ReplayArgs) -> Result<()> {
    let desk = Desk::here(catalog(args.read.models.as_deref())?, Dry::No, &args.policy, Door::Replay)?;
    let files = input::expand(&args.files)?;
    let failed = progress::over(&files, |_, path, bar| {
        let (opened, resolved) = desk.open(path, &args.read)?;
        let who = desk.asking.summarizer(&resolved)?;
        let work = Work::asking(resolved.policy.clone(), who.asks());
        let task = Task { args, waiting: &desk.waiting, opened: &opened, work, who, bar };
        for number in 0..opened.transcript.conversations.len() {
            task.run(number).with_context(|| format!("cannot replay {}", path.display()))?;
        }
        Ok(())
    })?;
    failed.result()
}

/// What is replayed, and with what.
struct Task<'a> {
    args: &'a ReplayArgs,
    waiting: &'a Waiting,
    opened: &'a Opened,
    work: Work,
    who: Summarizer,
    bar: &'a ProgressBar,
}

impl Task<'_> {
    fn run(&self, number: usize) -> Result<()> {
        let conversation = &self.opened.transcript.conversations[number];
        let mut session = Session::new(conversation.log.clone(), self.work.setup(self.opened, number));
        let branch: Vec<EntryId> =
            conversation.leaf.map(|leaf| conversation.log.branch(leaf)).unwrap_or_default();
        if self.args.read.json {
            let mut out = BufWriter::new(std::io::stdout().lock());
            let print = |call: Call<'_>| print_line(&mut out, self.opened, number, &call, self.args);
            self.replay(&mut session, &branch, print)?;
            return out.flush().context("cannot write to standard output");
        }
        let mut seen = Vec::new();
        self.replay(&mut session, &branch, |call| {
            seen.push((call.tokens.0, call.cached.0, call.compaction));
            Ok(())
        })?;
        print_story(self.opened, number, &session, &seen, self.who.is_priced())
    }

    fn replay(
        &self,
        session: &mut Session,
        branch: &[EntryId],
        mut each: impl FnMut(Call<'_>) -> Result<()>,
    ) -> Result<()> {
        let annotated = |mut call: Call<'_>| {
            call.compaction.iter_mut().for_each(|report| self.who.annotate(report));
            each(call)
        };
        let work = replay_asking::<anyhow::Error>(session, branch, annotated);
        match self.who.model {
            Some(_) => self.waiting.until_done(self.bar, work),
            None => Waiting::none(work),
        }
    }
}

fn print_line(
    out: &mut impl Write,
    opened: &Opened,
    number: usize,
    call: &Call<'_>,
    args: &ReplayArgs,
) -> Result<()> {
    let context = if args.contexts { Some(body_of(opened, number, call, args)?) } else { None };
    let budget = call.session.setup().budget;
    let line = Line {
        file: opened.path.to_string_lossy(),
        conversation: number,
        call: call.call,
        message: call.message,
        tokens: call.tokens.0,
        fixed: call.fixed.0,
        cached: call.cached.0,
        window: budget.window.0,
        reserve: budget.reserve.0,
        compaction: call.compaction.as_ref(),
        context,
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n").context("cannot write to standard output")
}

fn body_of(opened: &Opened, number: usize, call: &Call<'_>, args: &ReplayArgs) -> Result<Box<RawValue>> {
    let conversation = &opened.transcript.conversations[number];
    let body = super::context::body(opened, conversation, &call.session.shown()?, args.to, None)?;
    RawValue::from_string(String::from_utf8(body)?).context("the request body is not JSON")
}

fn print_story(
    opened: &Opened,
    number: usize,
    session: &Session,
    seen: &[(u64, u64, Option<Report>)],
    is_priced: bool,
) -> Result<()> {
    let (paint, mut page) = (Paint::stdout(), Page::default());
    let window = session.setup().budget.window;
    writeln!(
        page,
        "{} {}",
        paint.bold(&opened.path.display().to_string()),
        paint.dim(&format!("conversation {number}, window {window}"))
    );
    let amounts: Vec<u64> = seen.iter().map(|(tokens, ..)| *tokens).collect();
    writeln!(page, "  {}", paint.bar(&draw::line(&amounts, 72)));
    let cached: u64 = seen.iter().map(|(_, cached, _)| cached).sum();
    let sent: u64 = amounts.iter().sum::<u64>().max(1);
    writeln!(
        page,
        "  {} calls, {} tokens sent, {} % of them as the call before",
        seen.len(),
        draw::grouped(sent),
        cached * 100 / sent
    );
    for (call, (_, _, report)) in seen.iter().enumerate() {
        let Some(report) = report else { continue };
        let who = if report.outcome == Happened::Recorded { " (by the transcript's own tool)" } else { "" };
        writeln!(page, "  call {call}: {} → {} tokens{who}", report.tokens_before, report.tokens_after);
    }
    let mut spent = Spent::default();
    seen.iter().filter_map(|(.., report)| report.as_ref()).for_each(|report| spent.add(&report.spent));
    if spent.calls > 0 {
        writeln!(page, "  summaries: {}", super::told_spent(&spent, is_priced));
    }
    page.print()
}
