//! `epitome demo`: a real session, compacted with no key and no network.

use super::{print_json, write_ledger};
use crate::cli::{DemoArgs, FromFormat, ReadArgs};
use crate::clock::WallClock;
use crate::columns;
use crate::draw::{self, Paint};
use crate::output::Page;
use crate::runner::Runner;
use crate::transcript_file::TranscriptFile;
use anyhow::{Context as _, Result};
use epitome_core::facts::Class;
use epitome_core::{Change, Record, Trigger, fence};
use epitome_engine::{CompactOptions, Driver, Ports, Session, SessionOptions};
use std::path::Path;
use std::sync::Arc;

/// A session of pi's own developers, published with pi under the MIT licence (see corpus/MANIFEST.md).
const SESSION: &[u8] = include_bytes!("../../demo/session.jsonl.zst");
/// How much of the summary is shown.
const SUMMARY_LINES: usize = 16;

/// Compacts the bundled session and shows what happened.
pub fn run(args: &DemoArgs) -> Result<()> {
    let bytes = zstd::decode_all(SESSION).context("the bundled session is damaged")?;
    let read = ReadArgs {
        from: FromFormat(None),
        model: None,
        window: Some(args.window),
        models: None,
        json: args.json,
    };
    let file = TranscriptFile::of(Path::new("pi-mono-large-session.jsonl"), Arc::new(bytes), &read)?;
    let driver = Driver::new(Ports::at(Arc::new(WallClock::start())));
    let open = file.open_conversation(0, SessionOptions::default(), driver);
    let compact = open.engine.compact(&open.opening, Trigger::Manual, CompactOptions::default());
    let prepared = Runner::default().to_the_end(async { Ok(compact.await?) })?;
    let record = prepared.step.record.context("a compaction leaves a record")?;
    if args.json {
        return print_json(&record);
    }
    page(&record, &prepared.session).print()
}

fn page(record: &Record, session: &Session) -> Page {
    let (paint, mut page) = (Paint::stdout(), Page::default());
    let width = columns::of_stdout();
    let (before, after, window) = (record.tokens_before, record.tokens_after, record.budget.window);
    let messages = session.history().len();
    let head =
        format!("{messages} messages and {before} tokens of real work do not fit a window of {window}.");
    writeln!(page, "{}", paint.bold(&columns::wrap(&head, width, 0)));
    let how = format!(
        "A session of pi's own developers, compacted in {} ms with no key and no network:",
        record.duration_ms
    );
    writeln!(page, "{}\n", columns::wrap(&how, width, 0));
    write_bars(&mut page, record, paint, width);
    let Some(change) = record.change() else { return page };
    let loss = &change.loss;
    let all = loss.kept + loss.recoverable + loss.lost;
    writeln!(page, "\n{}", paint.bold("What the model still knows"));
    let told = format!(
        "  {} of {} facts of the {} that left view are in view still, word for word or in a checked summary; a pointer in view leads to {} more. The file keeps every byte: nothing is lost, {} facts are out of view until somebody looks them up.",
        draw::grouped(loss.kept),
        draw::grouped(all),
        draw::counted(change.superseded.len(), "message"),
        draw::grouped(loss.recoverable),
        draw::grouped(loss.lost),
    );
    writeln!(page, "{}\n", columns::wrap(&told, width, 2));
    write_classes(&mut page, change, paint, width);
    writeln!(page, "\n{}", paint.bold("What it did, from tool calls alone"));
    write_ledger(&mut page, &change.ledger, paint);
    writeln!(page, "\n{}", paint.bold("What the model reads in place of what went"));
    let summary = change.summary.as_deref().map(fence::body).unwrap_or_default();
    for line in summary.lines().take(SUMMARY_LINES) {
        writeln!(page, "  {}", columns::cut(line, width - 2));
    }
    writeln!(
        page,
        "  {}",
        paint.dim(&format!("… and so on: {} tokens of {after} in all", change.summary_tokens))
    );
    writeln!(page, "\n{}", paint.bold("Try it on a session of yours"));
    writeln!(
        page,
        "  epitome inspect FILE                      what fills it\n  epitome compact FILE -o OUT --window 64k  make it fit\n  epitome undo OUT -o FILE                  as it was\n  epitome replay FILE --compare default,pi  what it saves"
    );
    page
}

/// What stands in front of a bar.
const BAR_LABEL_CHARS: usize = 22;

fn write_bars(page: &mut Page, record: &Record, paint: Paint, width: usize) {
    let cells = (width - BAR_LABEL_CHARS).min(60);
    let (before, window, after) = (record.tokens_before, record.budget.window, record.tokens_after);
    let most = before.0.max(window.0);
    for (name, tokens) in [("before", before), ("window", window), ("after", after)] {
        writeln!(
            page,
            "  {name:<8} {:>9}  {}",
            tokens.to_string(),
            paint.bar(&draw::bar(tokens.0, most, cells))
        );
    }
}

/// Narrower terminals have no room for what a class is.
const ABOUT_COLUMNS_MIN: usize = 80;
/// How wide the bar of a class is.
const CLASS_CELLS: usize = 20;

/// The classes of facts that went: in view as full cells, behind a pointer as half of one, the rest as dots.
fn write_classes(page: &mut Page, change: &Change, paint: Paint, width: usize) {
    for (class, count) in &change.loss.by_class {
        let all = count.kept.saturating_add(count.recoverable).saturating_add(count.lost).max(1);
        let reached = count.kept.saturating_add(count.recoverable);
        let [kept_cells, reached_cells] = [count.kept, reached].map(|part| class_cells(part, all));
        let behind = "▒".repeat(reached_cells - kept_cells) + &"·".repeat(CLASS_CELLS - reached_cells);
        let bar = paint.bar(&"█".repeat(kept_cells)) + &paint.dim(&behind);
        let about = if width < ABOUT_COLUMNS_MIN { "" } else { class_text(*class) };
        let line = format!("  {:<14} {bar} {:>5} of {all:<5} {}", class.name(), count.kept, paint.dim(about));
        writeln!(page, "{}", line.trim_end());
    }
    writeln!(page, "  {}", paint.dim("█ in view   ▒ a pointer leads there   · in the file"));
}

/// The cells of `part`, rounded up: what there is of a class is seen.
fn class_cells(part: u64, all: u64) -> usize {
    let cells = (u128::from(part) * CLASS_CELLS as u128).div_ceil(u128::from(all.max(1)));
    usize::try_from(cells).map_or(CLASS_CELLS, |cells| cells.min(CLASS_CELLS))
}

/// What names of classes mean that do not say it themselves.
fn class_text(class: Class) -> &'static str {
    match class {
        Class::Id => "hashes, numbers of issues",
        Class::Identifier => "names in code",
        Class::Operation => "files read, written, edited",
        Class::State => "what stood when",
        Class::Requirement => "what must be",
        Class::Prohibition => "what must not be",
        Class::Path
        | Class::Url
        | Class::Command
        | Class::Number
        | Class::Version
        | Class::Error
        | Class::Decision
        | Class::Todo
        | Class::UserMessage
        | Class::Question
        | Class::LiveWork => "",
    }
}

#[cfg(test)]
mod tests {
    use super::class_cells;

    #[test]
    fn a_class_fills_its_bar_by_its_share_and_never_more() {
        assert_eq!(
            [(0, 9), (1, 1_000), (9, 9), (3, 2)].map(|(part, all)| class_cells(part, all)),
            [0, 1, 20, 20]
        );
        assert_eq!(class_cells(u64::MAX / 2, u64::MAX), 10);
    }
}
