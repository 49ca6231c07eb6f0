//! Values that are right each by itself and make no sense together. What makes no policy at all is the
//! core's to refuse.

use super::error::SettingsError;
use super::resolve::EffectiveValues;
use super::schema::Door;
use epitome_core::policy::{Parts, Settings, TriggerRule, Writer};
use epitome_core::{Threshold, Tokens};

/// Refuses a target that a compaction cannot come down to. By hand nobody waits for the trigger, so there
/// the target stands alone.
pub(super) fn check(
    ours: &EffectiveValues,
    settings: &Settings,
    door: Option<Door>,
) -> Result<(), SettingsError> {
    let Some(target) = settings.trigger.target.filter(|_| door != Some(Door::Compact)) else {
        return Ok(());
    };
    let (at_key, at) = trigger(&settings.trigger);
    if is_below(target, at, settings.window.tokens) {
        return Ok(());
    }
    let told = |key: &str| ours.get(key).map(|said| said.leaf.source.to_string()).unwrap_or_default();
    Err(SettingsError::Target {
        target: target.to_string(),
        target_from: told("trigger.target"),
        at: at.to_string(),
        at_key,
        at_from: told(at_key),
    })
}

/// What a person should know of values that say less than they seem to.
pub(super) fn notes(settings: &Settings, door: Option<Door>) -> impl Iterator<Item = String> {
    late_warning(settings, door).into_iter().chain(unheeded_facts(settings))
}

/// Facts that are to be left out where the machine writes them as its part of the summary.
fn unheeded_facts(settings: &Settings) -> Option<String> {
    let by_model = !matches!(settings.summary.by, Writer::Embedded | Writer::Nobody);
    let is_unheeded = by_model && settings.summary.parts == Parts::Prose && !settings.rebuild.facts;
    is_unheeded.then(|| {
        "`rebuild.facts` is false and `summary.parts` is \"prose\": the machine writes the facts all the same; `summary.parts = \"all\"` leaves them out".to_owned()
    })
}

/// A warning that comes too late.
fn late_warning(settings: &Settings, door: Option<Door>) -> Option<String> {
    let approaching = settings.trigger.approaching?;
    let (at_key, at) = trigger(&settings.trigger);
    let is_late = !is_below(approaching, at, settings.window.tokens);
    let warns = door.is_none_or(|door| door != Door::Compact);
    (is_late && warns).then(|| {
        format!("`trigger.approaching` is {approaching}, not below `{at_key}`, {at}: the warning never comes first")
    })
}

/// Where compaction is due, and the key that says so.
fn trigger(rule: &TriggerRule) -> (&'static str, Threshold) {
    match rule.absolute {
        Some(tokens) => ("trigger.absolute", Threshold::Absolute(tokens)),
        None => ("trigger.at", rule.at),
    }
}

/// Whether `low` lies below `high`, as far as that can be told: points of different kinds compare only in a
/// window that is stated.
fn is_below(low: Threshold, high: Threshold, window: Option<Tokens>) -> bool {
    match (low, high) {
        (Threshold::Share(low), Threshold::Share(high)) => low < high,
        (Threshold::Absolute(low), Threshold::Absolute(high)) => low < high,
        (Threshold::Remaining(low), Threshold::Remaining(high)) => low > high,
        (Threshold::Share(_) | Threshold::Absolute(_) | Threshold::Remaining(_), _) => {
            window.is_none_or(|window| low.of(window) < high.of(window))
        }
    }
}
