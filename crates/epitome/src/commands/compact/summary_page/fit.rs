//! Whether what a compaction left fits: its share of the window, with what the agent adds, and beside a target.

use super::{CompactReport, LABEL_CHARS};
use crate::draw::{self, percent};
use crate::output::Page;
use epitome_core::{Record, Tokens};

impl CompactReport<'_> {
    /// Says so where the agent's next request would not fit, with what the agent adds to it.
    pub(super) fn write_misfit(&self, page: &mut Page) {
        let (after, window) = (self.line.by_model.tokens_after, self.line.record.budget.window);
        let Some(added) = self.line.unrecorded.filter(|added| after + *added > window) else { return };
        let all = after + added;
        let text = if self.counts_unrecorded() {
            format!(
                "by the model's own count a request of its agent takes about {all}, more than the window of {window}"
            )
        } else {
            format!(
                "a request of its agent takes about {all}: what it adds takes most of the window of {window}; \
                 this is for an agent that adds less, or a larger window"
            )
        };
        let label = draw::Paint::stderr().warn(&format!("{:<width$}", "no fit", width = LABEL_CHARS - 2));
        self.write_labelled(page, &label, &text);
    }

    /// What stands beside a target that somebody named, where the result is above it.
    pub(super) fn write_target(&self, page: &mut Page) {
        let Record { budget, tokens_after, .. } = &*self.line.record;
        let Some(change) = self.line.record.change().filter(|_| self.args.policy.target.is_some()) else {
            return;
        };
        let (target, kept) = (change.target, change.always_kept);
        if tokens_after.less(budget.fixed) > target && kept > Tokens::ZERO {
            let text = format!(
                "{target} tokens; {kept} more are kept in any case, whatever the target: first and newest message, \
                 newest exchange, pins"
            );
            self.write_line(page, "target", &text);
        }
    }

    /// Whether room was made for what the agent adds: a window of which that takes most is not the session's own.
    fn counts_unrecorded(&self) -> bool {
        !self.line.record.budget.unrecorded.is_zero()
    }

    /// How much of the window is taken after it, with what the agent adds to each call. Where that was not counted, the share
    /// is of what the file records.
    pub(super) fn share_text(&self) -> String {
        let (after, window) = (self.line.by_model.tokens_after, self.line.record.budget.window);
        let share = |tokens: Tokens| format!("{} % of the window of {window}", percent(tokens.0, window.0));
        match self.line.unrecorded {
            None => format!(", {}", share(after)),
            Some(added) if self.counts_unrecorded() => format!(
                "; its agent adds about {added} that the file does not record, in all {}",
                share(after + added)
            ),
            Some(added) => format!(
                ", {}, without about {added} that its agent adds and the file does not record",
                share(after)
            ),
        }
    }
}
