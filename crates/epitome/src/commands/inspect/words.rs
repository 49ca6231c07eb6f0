//! The sentences of a survey, which the terminal and the page share.

use super::fill::FillSource;
use super::survey::Survey;
use super::walk::FoundCompaction;
use crate::commands::{role_text, window_text};
use crate::draw::{counted, grouped, percent};
use epitome_core::ledger::{Ledger, Operation};
use epitome_core::{FileShare, MessageShare, Tokens};
use epitome_engine::WindowSource;
use epitome_tokens::BillLine;
use epitome_wire::{Format, Problem};

/// Where a file records no usage.
pub const NO_USAGE: &str =
    "the file records no provider's count: a system prompt or tools that it does not record are missing here";
/// Where a price is missing.
pub const NO_PRICE: &str =
    "no total: the price of a model is not known; a file of your own prices (--models FILE) can say it";
/// What pruning is.
pub const PRUNED: &str = "each figure is what the engine's own pass would free, alone; the newest tenth of the window is left as it is, and \
     originals stay in the file, to be recalled";
/// Where pruning does not do.
pub const NOT_ENOUGH: &str = "none of it is enough: what is left is still more than can be sent, so that only a summary helps (`epitome compact`)";

/// What the file is.
pub fn title(survey: &Survey) -> String {
    let number = match survey.conversations {
        0 | 1 => String::new(),
        count => format!(", conversation {} of {count} (counted from 0)", survey.conversation),
    };
    format!("{}{number}, {}", survey.format, model(survey))
}

/// The model, and the one it is counted for where that is another.
fn model(survey: &Survey) -> String {
    match (&survey.model, &survey.counted_as) {
        (Some(named), Some(counted)) if named != counted => {
            format!("counted for {counted} (the file names {named})")
        }
        (Some(model), _) | (None, Some(model)) => model.clone(),
        (None, None) => "no model named".to_owned(),
    }
}

/// Which of its calls are not among those it cost, where it is a copy.
pub fn copied(survey: &Survey) -> Option<String> {
    let calls = counted(survey.copied_calls, "call");
    let text = format!("{calls} before it are of the session that this is a copy of, which paid for them");
    (survey.copied_calls > 0).then_some(text)
}

/// How many of the calls it cost are not of the conversation itself.
pub fn aside(survey: &Survey) -> Option<String> {
    let calls = counted(survey.side_calls, "call");
    (survey.side_calls > 0)
        .then(|| format!("{calls} of subagents among them, whose words are not in this conversation"))
}

/// The first figure.
pub fn headline(survey: &Survey) -> String {
    let (tokens, window) = (survey.fill.tokens, survey.window.tokens);
    let about = if survey.fill.from == FillSource::Estimate { "about " } else { "" };
    format!("{about}{tokens} of {window} tokens ({} %)", percent(tokens.0, window.0))
}

/// Where it comes from.
pub fn headline_source(survey: &Survey) -> String {
    let fill = &survey.fill;
    let method = &survey.count_method;
    match (fill.from, &fill.measured) {
        (FillSource::Provider, Some(call)) => {
            let prompt = grouped(call.prompt);
            let since = if fill.since.is_zero() {
                String::new()
            } else {
                format!("; {} of reply and what was said since, by our count ({method})", fill.since)
            };
            format!("the provider counted {prompt} for the newest call, {}{since}", call.entry)
        }
        (FillSource::Provider | FillSource::Count, _) => {
            format!("by our count of what the file holds ({method})")
        }
        (FillSource::Estimate, _) => format!(
            "by our count ({method}) and what earlier calls held beside it: no call has been counted since the last compaction"
        ),
    }
}

/// How large the window is, and who says so.
pub fn window(survey: &Survey) -> String {
    let WindowText { tokens, from } = WindowText::of(survey);
    format!("a window of {tokens}, {from}; {} of it are kept free for the answer", survey.reserve)
}

struct WindowText {
    tokens: Tokens,
    from: String,
}

impl WindowText {
    fn of(survey: &Survey) -> Self {
        let automatic = survey.compactions.iter().rev().find(|found| found.automatic);
        let from = match (survey.window.from, automatic.and_then(|found| found.reported_before)) {
            (WindowSource::Evidence, Some(at)) => {
                format!("shown by the file: its tool compacted by itself at {}", grouped(at))
            }
            (WindowSource::Evidence, None) => "shown by the file: as long a prompt was answered".to_owned(),
            (WindowSource::Explicit, _) => "as stated".to_owned(),
            (WindowSource::Provider, _) => "recorded in the file".to_owned(),
            (from @ (WindowSource::Learned | WindowSource::Catalog | WindowSource::Guess), _) => {
                window_text(from).to_owned()
            }
        };
        Self { tokens: survey.window.tokens, from }
    }
}

/// How much was said.
pub fn messages(survey: &Survey) -> String {
    let (in_view, said) = (survey.context.messages, survey.history.messages);
    let view = if in_view == said {
        format!("{} in view, all that were said", counted(in_view, "message"))
    } else {
        format!("{} in view of {} said", counted(in_view, "message"), grouped(said as u64))
    };
    let (turns, replies) = (counted(survey.turns, "turn"), survey.replies);
    let replies =
        if replies == 1 { "1 reply".to_owned() } else { format!("{} replies", grouped(replies as u64)) };
    format!(
        "{view}; {turns} of the person's, {replies}, {} of them with tool calls",
        grouped(survey.exchanges as u64)
    )
}

/// What was done with a file.
pub fn file_uses(file: &FileShare) -> String {
    let reads = (file.reads > 0).then(|| counted(file.reads, "read"));
    let changes = (file.changes > 0).then(|| counted(file.changes, "change"));
    let uses: Vec<String> = [reads, changes].into_iter().flatten().collect();
    if uses.is_empty() { "named".to_owned() } else { uses.join(", ") }
}

/// The folder that all these files lie in, with a slash at its end; empty where that is none worth leaving out.
pub fn common_folder<'f>(mut paths: impl Iterator<Item = &'f str>) -> &'f str {
    let Some(first) = paths.next() else { return "" };
    let mut folder = first.rfind('/').map_or("", |at| &first[..=at]);
    let mut count = 1;
    for path in paths {
        count += 1;
        while !path.starts_with(folder) {
            let inside = folder.trim_end_matches('/');
            folder = inside.rfind('/').map_or("", |at| &inside[..=at]);
        }
    }
    if count > 1 && folder.len() > FOLDER_BYTES_MIN { folder } else { "" }
}

/// A shorter folder is shown with each file: that takes less than saying it apart.
const FOLDER_BYTES_MIN: usize = 8;

/// Whose message it is.
pub fn message(message: &MessageShare) -> String {
    let who = role_text(message.role);
    message.tool.as_deref().map_or_else(|| who.to_owned(), |tool| format!("{who} of {tool}"))
}

/// Results that are in view twice.
pub fn repeated(count: usize) -> String {
    let (results, are) = (counted(count, "result"), if count == 1 { "is" } else { "are" });
    format!("in {results} that {are} repeated later word for word; they go with the old tool results")
}

/// Why the result of pruning is written in our form.
pub fn said_whole(format: Format) -> String {
    format!(
        "a {format} file cannot show a message shorter than it was said, so this is written in epitome's own form; `epitome serve` does the same on the way to the provider (--set prune.when=check)"
    )
}

/// What a compaction did.
pub fn compaction(found: &FoundCompaction) -> String {
    let [before, after] = found.requests();
    let by = if found.automatic { ", by its tool itself" } else { "" };
    let undone = if found.undone { ", and undone" } else { "" };
    format!("compacted at {}: {before} → {after} tokens{by}{undone}", found.id)
}

/// Files, commands and todos.
pub fn ledger(ledger: &Ledger) -> String {
    let changed = ledger.files.iter().filter(|file| file.standing() != Operation::Read).count();
    let failed = ledger.commands.iter().filter(|command| command.failed).count();
    format!(
        "{} read or changed, {changed} changed; {} run, {failed} failed; {} open",
        counted(ledger.files.len(), "file"),
        counted(ledger.commands.len(), "command"),
        counted(ledger.open_todos().count(), "todo")
    )
}

/// Something odd.
pub fn problem(problem: &Problem) -> String {
    let line = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
    format!("! {line}{}", problem.what)
}

/// A price, or that there is none.
pub fn dollars(dollars: Option<f64>) -> String {
    dollars.map_or_else(|| "–".to_owned(), |dollars| format!("${dollars:.2}"))
}

/// What calls sent and got.
pub fn billed_tokens(line: &BillLine) -> String {
    let cached = percent(line.usage.cache_read, line.usage.prompt);
    let (input, output) = (grouped(line.usage.prompt), grouped(line.usage.output));
    format!("{input:>15} in, {cached:>3} % cached{output:>11} out")
}
