//! `epitome demo`: a real session, compacted with no key and no network.

use super::{print_json, write_ledger};
use crate::cli::{DemoArgs, FromFormat, ReadArgs};
use crate::clock::WallClock;
use crate::draw::{self, Paint};
use crate::output::Page;
use crate::runner::Runner;
use crate::transcript_file::TranscriptFile;
use anyhow::{Context as _, Result};
use epitome_core::{Change, Record, Trigger};
use epitome_engine::{CompactOptions, Driver, Ports, Session, SessionOptions};
use std::path::Path;
use std::sync::Arc;

/// A session of pi's own developers, published with pi under the MIT licence (see corpus/MANIFEST.md).
const SESSION: &[u8] = include_bytes!("../../demo/session.jsonl.zst");
/// How much of the summary is shown.
const SUMMARY_LINES: usize = 24;

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
    writeln!(page, "{}", paint.bold("A real coding session, recorded by pi's developers, and a window"));
    writeln!(
        page,
        "  {} messages, {} tokens; the window holds {}\n",
        session.history().len(),
        record.tokens_before,
        record.budget.window
    );
    write_bars(&mut page, record, paint);
    let Some(change) = record.change() else { return page };
    writeln!(
        page,
        "\n  {} messages superseded, {} kept word for word; {} ms, no model, no network",
        change.superseded.len(),
        change.kept.len(),
        record.duration_ms
    );
    let slots = session.context().slots().len();
    writeln!(
        page,
        "  the model now sees {slots} things: the first user message, the summary, and the newest exchanges"
    );
    write_loss(&mut page, change, paint);
    writeln!(page, "\n{}", paint.bold("The ledger, from tool calls alone"));
    write_ledger(&mut page, &change.ledger, paint);
    writeln!(page, "\n{}", paint.bold("The summary begins"));
    for line in change.summary.as_deref().unwrap_or_default().lines().take(SUMMARY_LINES) {
        writeln!(page, "  {line}");
    }
    writeln!(page, "\n{}", paint.bold("Try it on a session of yours"));
    writeln!(
        page,
        "  epitome inspect FILE\n  epitome compact FILE -o OUT --window 64000\n  epitome undo OUT   # the original, byte for byte"
    );
    page
}

fn write_bars(page: &mut Page, record: &Record, paint: Paint) {
    let (before, window, after) = (record.tokens_before, record.budget.window, record.tokens_after);
    let most = before.0.max(window.0);
    for (name, tokens) in [("before", before), ("window", window), ("after", after)] {
        writeln!(page, "  {name:<8} {:>9}  {}", tokens.to_string(), paint.bar(&draw::bar(tokens.0, most)));
    }
}

fn write_loss(page: &mut Page, change: &Change, paint: Paint) {
    let loss = &change.loss;
    writeln!(page, "\n{}", paint.bold("What survived, fact by fact"));
    writeln!(
        page,
        "  {} kept in view, {} recoverable by pointer, {} lost, {} put back",
        loss.kept, loss.recoverable, loss.lost, loss.repaired
    );
    for (class, count) in &loss.by_class {
        let all = count.kept + count.recoverable + count.lost;
        writeln!(
            page,
            "  {:<14} {:>5} of {:<5} kept  {}",
            class.name(),
            count.kept,
            all,
            paint.bar(&draw::bar(count.kept, all))
        );
    }
}
