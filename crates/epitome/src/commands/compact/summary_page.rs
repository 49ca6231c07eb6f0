//! A compaction told to a person, on standard error: standard output may carry the transcript.

use super::{PricedPlan, RecordLine};
use crate::cli::CompactArgs;
use crate::commands::context::write_substitutes;
use crate::commands::{calls_text, spent_text, window_text};
use crate::output::Page;
use epitome_core::{Change, EntryId, Outcome};
use epitome_engine::WindowSource;

/// Prints what was done, or would be, on standard error.
pub(super) fn print(line: &RecordLine, args: &CompactArgs) {
    let mut page = Page::default();
    write(&mut page, line, args);
    page.tell();
}

fn write(page: &mut Page, line: &RecordLine, args: &CompactArgs) {
    let record = &line.record;
    let which = format!("{} conversation {}", line.file, line.conversation);
    if let Some(why) = record.outcome.why() {
        let is_vetoed = matches!(record.outcome, Outcome::Vetoed { .. });
        let what = if is_vetoed { "left as it is" } else { "nothing to compact" };
        writeln!(page, "{which}: {what} ({why})");
        write_tries(page, line);
        return;
    }
    let verb = if args.dry_run { "would go" } else { "went" };
    writeln!(
        page,
        "{which}: {verb} from {} to {} tokens (window {}, counted by {})",
        record.tokens_before, record.tokens_after, record.budget.window, record.count_method
    );
    write_file_notes(page, line);
    if let Some(change) = record.change() {
        write_change(page, line, change);
        write_tries(page, line);
    }
}

/// What a person should know of the file and its window.
fn write_file_notes(page: &mut Page, line: &RecordLine) {
    if let Some(protocol) = line.body {
        writeln!(
            page,
            "  note: a request body keeps no originals; its pointers lead to {}, and it cannot be undone",
            line.file
        );
        write_substitutes(page, "  ", protocol, &line.substitutes);
    }
    if line.window_source == WindowSource::Guess {
        writeln!(page, "  note: the window is {}; name it with --window", window_text(line.window_source));
    }
    if line.problems > 0 && line.conversation == 0 {
        writeln!(
            page,
            "  note: oddities of the file survived: {}; `epitome inspect` lists them",
            line.problems
        );
    }
}

/// What left view, what stays, what that took, and the facts of it.
fn write_change(page: &mut Page, line: &RecordLine, change: &Change) {
    writeln!(
        page,
        "  {}: {} messages superseded, {} dropped, {} pruned, {} kept{}, {} of them cut short; {} ms",
        change.strategy,
        change.superseded.len(),
        change.dropped.len(),
        change.pruned.len(),
        change.kept.len(),
        folded_text(&change.folded),
        change.reduced.len(),
        line.record.duration_ms
    );
    match &line.plan {
        Some(plan) => write_plan(page, plan, change),
        None => write_cost(page, line, change),
    }
    let loss = &change.loss;
    let has_left = !change.superseded.is_empty() || !change.dropped.is_empty();
    if has_left {
        writeln!(
            page,
            "  facts: {} kept, {} recoverable, {} lost, {} put back",
            loss.kept, loss.recoverable, loss.lost, loss.repaired
        );
    }
}

/// How many of the messages that stay are no messages in view, behind their number.
fn folded_text(folded: &[EntryId]) -> String {
    match folded.len() {
        0 => String::new(),
        count => format!(" ({count} inside the summary)"),
    }
}

/// How many of the messages that stay are out of view now, behind their number.
fn returning_text(returning: &[EntryId]) -> String {
    match returning.len() {
        0 => String::new(),
        count => format!(" ({count} of them from out of view)"),
    }
}

/// What a person should know, what hooks said, and what was tried in vain.
fn write_tries(page: &mut Page, line: &RecordLine) {
    for note in &line.record.notes {
        writeln!(page, "  note: {note}");
    }
    for hook in &line.record.hooks {
        writeln!(page, "  hook {}: {} ({} ms)", hook.name, hook.told, hook.duration_ms);
    }
    for fallback in &line.record.fallbacks {
        writeln!(page, "  tried {}: {}", fallback.strategy, fallback.why);
    }
}

/// What the summary took.
fn write_cost(page: &mut Page, line: &RecordLine, change: &Change) {
    let spent = &line.record.spent;
    if spent.calls > 0 {
        writeln!(page, "  summary: {}", spent_text(spent, line.is_priced));
    } else if change.summary.is_some() {
        writeln!(page, "  summary: free ({})", change.summarizer.as_deref().unwrap_or("no model"));
    }
}

/// How it would be done, and what that would take.
fn write_plan(page: &mut Page, plan: &PricedPlan, change: &Change) {
    let PricedPlan { sketch, cost_max } = plan;
    let chain: Vec<String> = sketch.strategies.iter().map(ToString::to_string).collect();
    writeln!(
        page,
        "  plan: {}; {} messages leave view, {} stay{}{}; the history is to come down to {} tokens",
        chain.join(", then "),
        sketch.leaving.len(),
        sketch.staying.len(),
        returning_text(&sketch.returning),
        folded_text(&sketch.folded),
        sketch.target
    );
    let Some(calls) = &sketch.calls else {
        if change.summary.is_some() {
            writeln!(page, "  summary: free (embedded)");
        }
        return;
    };
    let price = cost_max.map_or("price unknown".to_owned(), |most| format!("up to about ${most:.4}"));
    let (who, input, output_max) = (&calls.summarizer, calls.input, calls.output_max);
    writeln!(
        page,
        "  summary: {} of {who}, about {input} tokens in, at most {output_max} out, {price}",
        calls_text(calls.calls)
    );
    writeln!(page, "  note: {who} was not asked; the figures are those of the embedded summariser's summary");
}
