//! `epitome demo`: a real session, compacted with no key and no network.

use super::{Work, print_json, write_ledger};
use crate::cli::{DemoArgs, FromFormat, ReadArgs};
use crate::draw::{self, Paint};
use crate::opened::Opened;
use crate::output::Page;
use anyhow::{Context as _, Result};
use epitome_core::{Policy, Trigger};
use epitome_engine::{Report, Session};
use std::path::Path;
use std::sync::Arc;

/// A session of pi's own developers, published with pi under the MIT licence (see corpus/MANIFEST.md).
const SESSION: &[u8] = include_bytes!("../../../../corpus/pi/pi-mono-large-session.jsonl.zst");
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
    let opened = Opened::of(Path::new("pi-mono-large-session.jsonl"), Arc::new(bytes), &read)?;
    let work = Work::plain(Policy::default());
    let mut session = work.open(&opened, 0)?;
    let messages = session.history().len();
    let report = session.compact_now(Trigger::Manual)?;
    if args.json {
        return print_json(&report);
    }
    tell(&report, &session, messages).print()
}

fn tell(report: &Report, session: &Session, messages: usize) -> Page {
    let (paint, mut page) = (Paint::stdout(), Page::default());
    writeln!(page, "{}", paint.bold("A real coding session, recorded by pi's developers, and a window"));
    writeln!(
        page,
        "  {messages} messages, {} tokens; the window holds {}\n",
        report.tokens_before, report.budget.window
    );
    let most = report.tokens_before.0.max(report.budget.window.0);
    for (name, tokens) in
        [("before", report.tokens_before), ("window", report.budget.window), ("after", report.tokens_after)]
    {
        writeln!(page, "  {name:<8} {:>9}  {}", tokens.to_string(), paint.bar(&draw::bar(tokens.0, most)));
    }
    let Some(made) = &report.record else { return page };
    writeln!(
        page,
        "\n  {} messages superseded, {} kept word for word; {} ms, no model, no network",
        made.superseded.len(),
        made.kept.len(),
        report.duration_ms
    );
    let slots = session.context().slots().len();
    writeln!(
        page,
        "  the model now sees {slots} things: the first user message, the summary, and the newest exchanges"
    );
    tell_loss(&mut page, report, paint);
    tell_ledger(&mut page, report, paint);
    writeln!(page, "\n{}", paint.bold("The summary begins"));
    for line in made.summary.as_deref().unwrap_or_default().lines().take(SUMMARY_LINES) {
        writeln!(page, "  {line}");
    }
    writeln!(page, "\n{}", paint.bold("Try it on a session of yours"));
    writeln!(
        page,
        "  epitome inspect FILE\n  epitome compact FILE -o OUT --window 64000\n  epitome undo OUT   # the original, byte for byte"
    );
    page
}

fn tell_loss(page: &mut Page, report: &Report, paint: Paint) {
    let Some(made) = &report.record else { return };
    let loss = &made.loss;
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

fn tell_ledger(page: &mut Page, report: &Report, paint: Paint) {
    let Some(made) = &report.record else { return };
    writeln!(page, "\n{}", paint.bold("The ledger, from tool calls alone"));
    write_ledger(page, &made.ledger, paint);
}
