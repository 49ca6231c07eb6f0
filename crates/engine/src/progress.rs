//! Whether the work goes on by itself: not where a compaction came to too little, nor where a provider
//! refused a request for something that no compaction cures.

use crate::breaker::HELD;
use crate::event::Event;
use crate::report::Report;
use crate::session::{EngineError, Session};
use epitome_core::policy::Resume;
use epitome_core::{Entry, Trigger};

impl Session {
    /// Holds the work until a person speaks. Said once, however often it comes to that before they do.
    pub fn hold(&mut self, why: &str) -> Result<(), EngineError> {
        if self.breaker().is_held() {
            return Ok(());
        }
        self.append(Entry::Note { kind: format!("{HELD}{why}").into() })?;
        self.state.events.push(Event::Held { why: why.into() });
        Ok(())
    }

    /// The report, with the work held where an automatic compaction came to too little.
    pub(crate) fn held_to_progress(&mut self, report: Report) -> Result<Report, EngineError> {
        let policy = &self.setup().policy;
        let limit = self.budget().limit(policy);
        let Some(most) = policy.guard.progress.map(|share| share.of(limit)) else { return Ok(report) };
        if report.tokens_after <= most || !must_progress(report.trigger) {
            return Ok(report);
        }
        self.hold(&format!(
            "the compaction left {} tokens, above the {most} from which the work goes on by itself; shorten what is kept, or begin a new session",
            report.tokens_after
        ))?;
        Ok(Report { resume: Resume::Wait, ..report })
    }
}

/// A person who asked for a compaction is there; a request that overflowed need only fit.
fn must_progress(trigger: Trigger) -> bool {
    match trigger {
        Trigger::Manual | Trigger::Overflow => false,
        Trigger::Threshold
        | Trigger::Requested
        | Trigger::Idle
        | Trigger::Messages
        | Trigger::Bytes
        | Trigger::Media
        | Trigger::Downshift => true,
    }
}
