//! A compaction told to a person, on standard error: standard output may carry the transcript.

use super::{Line, Planned};
use crate::cli::CompactArgs;
use crate::commands::{told_calls, told_spent};
use crate::output::Page;
use epitome_engine::{Happened, Made};

/// Tells what was done, or would be.
pub(super) fn tell(line: &Line, args: &CompactArgs) {
    let mut page = Page::default();
    write(&mut page, line, args);
    page.tell();
}

fn write(page: &mut Page, line: &Line, args: &CompactArgs) {
    let report = &line.report;
    let which = format!("{} conversation {}", line.file, line.conversation);
    if report.outcome == Happened::Noop {
        writeln!(
            page,
            "{which}: nothing to compact ({})",
            report.why.as_deref().unwrap_or("no reason given")
        );
        return;
    }
    let verb = if args.dry_run { "would go" } else { "went" };
    writeln!(
        page,
        "{which}: {verb} from {} to {} tokens (window {}, counted by {})",
        report.tokens_before, report.tokens_after, report.budget.window, report.count_method
    );
    if line.is_body {
        writeln!(
            page,
            "  note: a request body keeps no originals; its pointers lead to {}, and it cannot be undone",
            line.file
        );
    }
    if line.window_source.starts_with("a guess") {
        writeln!(page, "  note: the window is {}; name it with --window", line.window_source);
    }
    if line.problems > 0 && line.conversation == 0 {
        writeln!(
            page,
            "  note: oddities of the file survived: {}; `epitome inspect` lists them",
            line.problems
        );
    }
    let Some(made) = &report.record else { return };
    writeln!(
        page,
        "  {}: {} messages superseded, {} dropped, {} pruned, {} kept, {} of them cut short; {} ms",
        made.strategy,
        made.superseded.len(),
        made.dropped.len(),
        made.pruned.len(),
        made.kept.len(),
        made.reduced.len(),
        report.duration_ms
    );
    match &line.plan {
        Some(plan) => write_plan(page, plan, made),
        None => write_cost(page, line, made),
    }
    let loss = &made.loss;
    let has_left = !made.superseded.is_empty() || !made.dropped.is_empty();
    if has_left {
        writeln!(
            page,
            "  facts: {} kept, {} recoverable, {} lost, {} put back",
            loss.kept, loss.recoverable, loss.lost, loss.repaired
        );
    }
    for note in &made.notes {
        writeln!(page, "  note: {note}");
    }
    for fallback in &made.fallbacks {
        writeln!(page, "  tried {}: {}", fallback.strategy, fallback.why);
    }
}

/// What the summary took.
fn write_cost(page: &mut Page, line: &Line, made: &Made) {
    let spent = &line.report.spent;
    if spent.calls > 0 {
        writeln!(page, "  summary: {}", told_spent(spent, line.is_priced));
    } else if made.summary.is_some() {
        writeln!(page, "  summary: free ({})", made.summarizer.as_deref().unwrap_or("no model"));
    }
}

/// How it would be done, and what that would take.
fn write_plan(page: &mut Page, plan: &Planned, made: &Made) {
    let Planned { sketch, cost_max } = plan;
    let chain: Vec<String> = sketch.strategies.iter().map(ToString::to_string).collect();
    writeln!(
        page,
        "  plan: {}; {} messages leave view, {} stay; the history is to come down to {} tokens",
        chain.join(", then "),
        sketch.leaving.len(),
        sketch.staying.len(),
        sketch.target
    );
    let Some(calls) = &sketch.calls else {
        if made.summary.is_some() {
            writeln!(page, "  summary: free (embedded)");
        }
        return;
    };
    let price = cost_max.map_or("price unknown".to_owned(), |most| format!("up to about ${most:.4}"));
    let (who, input, output_max) = (&calls.summarizer, calls.input, calls.output_max);
    writeln!(
        page,
        "  summary: {} of {who}, about {input} tokens in, at most {output_max} out, {price}",
        told_calls(calls.calls)
    );
    writeln!(page, "  note: {who} was not asked; the figures are those of the embedded summariser's summary");
}
