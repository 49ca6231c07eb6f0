//! `epitome compact`: makes a transcript fit, keeping every original.

mod run;
mod summary_page;
pub(crate) mod target;
mod written;

use super::{FileCommand, event_json, print_json_each};
use crate::agents::resume::{self, SessionCopy};
use crate::cli::{CompactArgs, FromFormat, ReadArgs};
use crate::replacement::{NewContent, OutputPlace};
use crate::session_ports::Dry;
use crate::transcript_file::{TranscriptFile, catalog, stored_source};
use crate::{input, output, packing, progress};
use anyhow::{Context as _, Result, bail};
use epitome_core::{EntryId, Record, Tokens};
use epitome_engine::store::SessionId;
use epitome_engine::{PlanSketch, WindowSource};
use epitome_settings::{Door, ResolvedPolicy};
use epitome_tokens::{Prices, Usage};
use epitome_wire::Protocol;
use epitome_wire::encode::Substitute;
use indicatif::ProgressBar;
use run::{CompactRun, CompactedRun, check_range};
use serde::Serialize;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use target::{CompactedConversation, Target};
use written::WrittenFile;

/// The record of one conversation, with where it was found and where it went.
#[derive(Serialize)]
struct RecordLine {
    file: String,
    /// The stored session, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    conversation: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// The mark that was appended, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryId>,
    /// Where the window's figure comes from.
    window_source: WindowSource,
    /// What was written; on the first line of each file.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<WrittenFile>,
    /// How many oddities of the file reading survived; `inspect` lists them.
    problems: usize,
    /// The protocol of the request body it went to, which keeps no originals.
    #[serde(skip)]
    body: Option<Protocol>,
    /// How many conversations its file has.
    #[serde(skip)]
    conversations: usize,
    /// How many messages that were in view are not any more.
    left_view: usize,
    /// The request before and after in the model's own tokens, whatever the preset counts by.
    by_model: RequestSizes,
    /// What the agent adds to each request that the file does not record, where calls of it were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    unrecorded: Option<Tokens>,
    /// What each call from here on is spared.
    saves: CallSaving,
    /// What the model sees first.
    #[serde(skip)]
    seen_first: String,
    /// The command that shows an original.
    #[serde(skip)]
    recall: Option<String>,
    /// What was planned; in a dry run, where there is something to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PricedPlan>,
    /// What happened, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<Value>,
    /// What a request body says in words, or leaves out, because its protocol has no place for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    substitutes: Vec<Substitute>,
    #[serde(flatten)]
    record: Arc<Record>,
}

/// A request before and after a compaction, by one count: figures of several presets can be compared.
#[derive(Serialize)]
struct RequestSizes {
    tokens_before: Tokens,
    tokens_after: Tokens,
    count_method: String,
}

/// What a call costs less than it would have; the dollars where the model has a price.
#[derive(Serialize)]
struct CallSaving {
    tokens_per_call: Tokens,
    /// Where the provider has all of the request in its cache.
    dollars_per_call_cached: Option<f64>,
    /// Where it has nothing of it.
    dollars_per_call_uncached: Option<f64>,
}

impl CallSaving {
    fn of(sizes: &RequestSizes, prices: Option<Prices>) -> Self {
        let RequestSizes { tokens_before: Tokens(before), tokens_after: Tokens(after), .. } = *sizes;
        let dollars =
            |of: fn(u64) -> Usage| prices.map(|prices| prices.cost(&of(before)) - prices.cost(&of(after)));
        let cached = |prompt| Usage { prompt, cache_read: prompt, ..Usage::default() };
        let uncached = |prompt| Usage { prompt, ..Usage::default() };
        Self {
            tokens_per_call: sizes.tokens_before.less(sizes.tokens_after),
            dollars_per_call_cached: dollars(cached),
            dollars_per_call_uncached: dollars(uncached),
        }
    }
}

/// What would be done, for a dry run.
#[derive(Serialize)]
struct PricedPlan {
    #[serde(flatten)]
    sketch: PlanSketch,
    /// The most its calls would cost, in dollars, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_max: Option<f64>,
}

/// Compacts each conversation of each file.
pub fn run(args: &CompactArgs) -> Result<()> {
    let is_stored = args.stored.session.is_some();
    if !args.read.json && !args.dry_run && !args.resume && !is_stored {
        let what_else = "name a file with -o, use --resume to go on with it in its own tool, or --json for the record alone";
        output::refuse_terminal(args.output.as_deref(), what_else)?;
    }
    let dry = if args.dry_run { Dry::Run } else { Dry::No };
    let catalog = catalog(args.read.models.as_deref())?;
    let command = FileCommand::new(catalog, dry, &args.policy, Door::Compact)?;
    if let Some(session) = args.stored.session {
        let lines = compact_stored(session, args, &command)?;
        lines.iter().filter(|_| !args.read.json).for_each(|line| summary_page::print(line, args));
        return if args.read.json { print_json_each(&lines) } else { Ok(()) };
    }
    let files = input::expand(&input::or_stdin(&args.files)?)?;
    let outputs = outputs(&files, args)?;
    let mut lines = Vec::new();
    let failed = progress::over(&files, |number, path, bar| {
        lines.extend(compact_file(path, outputs[number].as_deref(), args, &command, bar)?);
        Ok(())
    })?;
    if args.read.json {
        print_json_each(&lines)?;
    } else {
        for of_file in lines.chunk_by(|one, next| one.file == next.file) {
            of_file.iter().for_each(|line| summary_page::print(line, args));
            written::print(of_file)?;
        }
    }
    failed.result()
}

/// Where each file's result goes.
fn outputs(files: &[PathBuf], args: &CompactArgs) -> Result<Vec<Option<PathBuf>>> {
    let Some(out) = &args.output else {
        if files.len() > 1 && !args.read.json && !args.dry_run && !args.resume {
            bail!(
                "several transcripts cannot all go to standard output; name a folder with -o, or use --json for the records alone"
            );
        }
        return Ok(vec![None; files.len()]);
    };
    if files.len() == 1 && !out.is_dir() {
        return Ok(vec![Some(out.clone())]);
    }
    if !out.is_dir() {
        bail!("{} is no folder; several transcripts need one to go to", out.display());
    }
    let named: Vec<PathBuf> =
        files.iter().map(|file| out.join(plain(input::below(&args.files, file)))).collect();
    if let Some(twice) = named.iter().enumerate().find(|(at, path)| named[..*at].contains(path)) {
        bail!("two transcripts would both be written to {}; compact them one by one", twice.1.display());
    }
    for folder in named.iter().filter_map(|path| path.parent()).filter(|_| !args.dry_run) {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    Ok(named.into_iter().map(Some).collect())
}

/// A path without the ending of its packing: what is written is not packed.
fn plain(file: PathBuf) -> PathBuf {
    let is_packed = file.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
    if is_packed { file.with_extension("") } else { file }
}

/// Refuses pins that name no message.
fn check_pins(file: &TranscriptFile, pins: &[EntryId]) -> Result<()> {
    let is_known =
        |pin: &EntryId| file.transcript.conversations.iter().any(|one| one.log.item(*pin).is_some());
    match pins.iter().find(|pin| !is_known(pin)) {
        Some(pin) => bail!("cannot pin {pin}: no message of {} has this name", file.path.display()),
        None => Ok(()),
    }
}

fn compact_file(
    path: &Path,
    out: Option<&Path>,
    args: &CompactArgs,
    command: &FileCommand,
    bar: &ProgressBar,
) -> Result<Vec<RecordLine>> {
    let copy = args.resume.then(|| resume::copy_of(path, args.project.as_deref())).transpose()?;
    let (file, resolved) = match &copy {
        Some(copy) => command.open_source(path, copy.source.clone(), &args.read)?,
        None => command.open(path, &args.read)?,
    };
    if copy.is_none() && !args.dry_run {
        let place = OutputPlace { out, own: Some(path), is_forced: args.force };
        place.check(&match Target::of(&file, args.to)?.protocol() {
            Some(_) => NewContent::Body,
            None => NewContent::Transcript(file.source.clone()),
        })?;
    }
    let out = copy.as_ref().map(|copy| &*copy.place.path).or(out);
    let lines = compact_conversations(&file, &resolved, out, args, command, bar)?;
    finish_file(&file, lines, out, args, copy.as_ref())
}

/// Compacts a session where it is stored.
fn compact_stored(session: SessionId, args: &CompactArgs, command: &FileCommand) -> Result<Vec<RecordLine>> {
    let open = args.stored.store.open()?;
    if !args.dry_run {
        open.ask_for(session)?;
    }
    let (source, place) = stored_source(&open, session)?;
    let read = ReadArgs { from: FromFormat(None), ..args.read.clone() };
    let (mut file, resolved) = command.open_source(Path::new(&session.to_string()), source, &read)?;
    file.act_on(place);
    let bar = ProgressBar::hidden();
    let (lines, _) = compact_conversations(&file, &resolved, None, args, command, &bar)?;
    Ok(lines)
}

/// Compacts each conversation of a file, or the one that is a stored session.
fn compact_conversations(
    file: &TranscriptFile,
    resolved: &ResolvedPolicy,
    out: Option<&Path>,
    args: &CompactArgs,
    command: &FileCommand,
    bar: &ProgressBar,
) -> Result<(Vec<RecordLine>, Vec<CompactedConversation>)> {
    let path = &*file.path;
    let target = Target::of(file, args.to)?;
    target.check(file, out)?;
    check_pins(file, &args.pins)?;
    check_range(args, file, target.can().front)?;
    let run = CompactRun::new(args, command, file, out, target, resolved, bar)?;
    let (mut lines, mut compacted) = (Vec::new(), Vec::new());
    let all = 0..file.transcript.conversations.len();
    let numbers = file.stored().map_or(all, |place| place.number..place.number + 1);
    let conversations = numbers.len();
    for number in numbers {
        let CompactedRun { one, plan, view } =
            run.run(number).with_context(|| format!("cannot compact {}", path.display()))?;
        lines.push(RecordLine {
            file: path.display().to_string(),
            session: file.stored().map(|place| place.session),
            conversation: number,
            output: out.filter(|_| !args.dry_run).map(|out| out.display().to_string()),
            entry: one.entry().filter(|_| !args.dry_run),
            written: None,
            window_source: file.window().from,
            problems: file.transcript.problems.len(),
            body: target.protocol(),
            conversations,
            left_view: view.left,
            saves: CallSaving::of(&view.sizes, file.model().prices.map(|prices| prices.value)),
            by_model: view.sizes,
            unrecorded: view.unrecorded,
            seen_first: view.seen_first,
            // What a dry run names is not there to be read.
            recall: run.recall(number).filter(|_| !args.dry_run || target.protocol().is_some()),
            plan,
            events: one.events.iter().map(event_json).collect(),
            substitutes: Vec::new(),
            record: one.record.clone(),
        });
        compacted.push(one);
    }
    Ok((lines, compacted))
}

/// Writes a file where one is wanted, and says so in its lines.
fn finish_file(
    file: &TranscriptFile,
    (mut lines, compacted): (Vec<RecordLine>, Vec<CompactedConversation>),
    out: Option<&Path>,
    args: &CompactArgs,
    copy: Option<&SessionCopy>,
) -> Result<Vec<RecordLine>> {
    let target = Target::of(file, args.to)?;
    let is_rebuilt = compacted.iter().any(|one| one.record.outcome.is_rebuilt());
    let is_wanted = match copy {
        Some(_) => is_rebuilt,
        None => out.is_some() || !args.read.json,
    };
    if !is_wanted {
        lines.iter_mut().for_each(|line| line.output = None);
    }
    if is_wanted && !args.dry_run {
        let (written, substitutes) = write_file(file, out, target, &compacted, copy)?;
        if let Some(line) = lines.first_mut() {
            (line.written, line.substitutes) = (Some(written), substitutes);
        }
    }
    Ok(lines)
}

/// Writes a compacted file, as a copy where its tool is to go on with it; gives what was written, and what was said in
/// words for want of a form.
fn write_file(
    file: &TranscriptFile,
    out: Option<&Path>,
    target: Target,
    compacted: &[CompactedConversation],
    copy: Option<&SessionCopy>,
) -> Result<(WrittenFile, Vec<Substitute>)> {
    let mut pieces = target.pieces(file, compacted, copy.map(|copy| &copy.note))?;
    let substitutes = std::mem::take(&mut pieces.substitutes);
    let bytes = (file.source.len(), pieces.len());
    let write = |to: &mut dyn Write| {
        packing::fill(out, to, |to| pieces.write(&*file.source, to))?;
        file.check_unchanged(out)
    };
    match copy {
        Some(copy) => resume::write(&copy.place, &file.path, write)?,
        None => output::write(out, write)?,
    }
    let place = copy.map(|copy| copy.place.clone());
    Ok((WrittenFile::new(target, file.transcript.format, bytes, place), substitutes))
}
