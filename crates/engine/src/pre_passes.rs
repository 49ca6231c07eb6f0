//! Pre-passes: edits in place that are due before a check, and need nobody. Repeated harness texts are trimmed and the
//! bulk of old messages is pruned, when and as far as the policy says. What a pass changes is the core's (`EditPass`).

use crate::check::LookPoint;
use crate::error::EngineError;
use crate::event::Event;
use crate::session::Session;
use epitome_core::policy::{PruneWhen, TriggerMode};
use epitome_core::{Conclusion, EditPass, Record, Strategy};
use std::sync::Arc;

/// Runs the passes that are due at `point`: repeated texts, and the bulk of old messages. The record of the last that
/// did anything.
pub(crate) fn pre_passes(
    session: &mut Session,
    point: LookPoint,
) -> Result<Option<Arc<Record>>, EngineError> {
    let mut record = None;
    if session.policy().mode == TriggerMode::Off {
        return Ok(record);
    }
    if wants_trim(session) {
        record = pass(session, EditPass::Trim)?.or(record);
    }
    if wants_prune(session, point) {
        let pruned = pass(session, EditPass::Prune)?;
        if pruned.is_none() {
            tell_deferred(session)?;
        }
        record = pruned.or(record);
    }
    Ok(record)
}

/// Whether a pass would be tried at `point`.
pub(crate) fn wants_pass(session: &Session, point: LookPoint) -> bool {
    session.policy().mode != TriggerMode::Off && (wants_trim(session) || wants_prune(session, point))
}

fn wants_trim(session: &Session) -> bool {
    let rule = &session.policy().trim;
    let limit = rule.absolute.unwrap_or_else(|| rule.at.of(session.budget().window));
    rule.enabled && session.figure().0 >= limit
}

fn wants_prune(session: &Session, point: LookPoint) -> bool {
    match session.policy().prune.when {
        // What a compaction keeps is pruned by its plan.
        PruneWhen::Never | PruneWhen::Compaction => false,
        PruneWhen::Check => true,
        PruneWhen::ToolRound => point == LookPoint::Call && session.is_in_tool_loop(),
    }
}

/// One pass over the context.
fn pass(session: &mut Session, pass: EditPass) -> Result<Option<Arc<Record>>, EngineError> {
    let idle = session.state.idle_minutes;
    session.edit_pass(pass, idle)?.map(|conclusion| session.conclude(conclusion)).transpose()
}

/// Says that pruning is put off until the provider's cache is cold: once, until the context is rebuilt.
fn tell_deferred(session: &mut Session) -> Result<(), EngineError> {
    let newest_pass = session.timeline().newest_pass();
    let Some(minutes) = session.policy().prune.cache_cold_minutes else { return Ok(()) };
    if session.state.deferred_at == Some(newest_pass) {
        return Ok(());
    }
    if let Some(Conclusion { record, .. }) = session.edit_pass(EditPass::Prune, Some(minutes))? {
        let freed = record.tokens_before.less(record.tokens_after);
        let why = format!(
            "pruning would free {freed} tokens, and waits for {minutes} minutes without a word: until then the provider's cache holds what follows"
        );
        session.state.deferred_at = Some(newest_pass);
        session.state.events.push(Event::Noop { why, strategy: Strategy::Prune });
    }
    Ok(())
}
