//! A compaction told to a person, on standard error: standard output may carry the transcript.

use super::Line;
use crate::cli::CompactArgs;
use epitome_engine::Happened;

/// Tells what was done, or would be.
pub(super) fn print(line: &Line, args: &CompactArgs) {
    let report = &line.report;
    let which = format!("{} conversation {}", line.file, line.conversation);
    if report.outcome == Happened::Noop {
        eprintln!("{which}: nothing to compact ({})", report.why.unwrap_or("no reason given"));
        return;
    }
    let verb = if args.dry_run { "would go" } else { "went" };
    eprintln!(
        "{which}: {verb} from {} to {} tokens (window {}, counted by {})",
        report.tokens_before, report.tokens_after, report.budget.window, report.count_method
    );
    let Some(made) = &report.record else { return };
    eprintln!(
        "  {}: {} messages superseded, {} dropped, {} pruned, {} kept; {} ms, cost ${:.4}",
        made.strategy,
        made.superseded.len(),
        made.dropped.len(),
        made.pruned.len(),
        made.kept.len(),
        report.duration_ms,
        report.cost
    );
    let loss = &made.loss;
    eprintln!(
        "  facts: {} kept, {} recoverable, {} lost, {} put back",
        loss.kept, loss.recoverable, loss.lost, loss.repaired
    );
    for note in &made.notes {
        eprintln!("  note: {note}");
    }
    for fallback in &made.fallbacks {
        eprintln!("  tried {}: {}", fallback.strategy, fallback.why);
    }
}
