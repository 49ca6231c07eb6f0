//! Values that are right each by itself and make no sense together. What makes no policy at all is the
//! core's to refuse.

use super::error::SettingsError;
use super::layer::{Leaf, SettingOrigin};
use super::schema::Door;
use epitome_core::policy::{Newest, Parts, Settings, TriggerRule, Writer};
use epitome_core::{Threshold, Tokens};
use std::fmt;

/// Refuses a trigger that is always due, and a target that a compaction cannot come down to. By hand nobody waits for the
/// trigger, so there the target stands alone.
pub(super) fn check(leaves: &[Leaf], settings: &Settings, door: Option<Door>) -> Result<(), SettingsError> {
    if door == Some(Door::Compact) {
        return Ok(());
    }
    check_points(leaves, settings, settings.window.tokens)
}

/// The same in the window of a session, which its model or the command line may say. What a preset says alone is
/// made for every window, and comes down as far as one allows.
pub(super) fn check_in(
    leaves: &[Leaf],
    settings: &Settings,
    door: Option<Door>,
    window: Tokens,
) -> Result<(), SettingsError> {
    let is_said = |leaf: &Leaf| POINTS.contains(&leaf.key.as_str()) && !is_presets(&leaf.source.origin);
    if door == Some(Door::Compact) || !leaves.iter().any(is_said) {
        return Ok(());
    }
    let window = settings.window.most.map_or(window, |most| most.min(window));
    check_points(leaves, settings, Some(window))
}

/// The keys that say where compaction is due, and what it comes down to.
const POINTS: [&str; 5] =
    ["trigger.at", "trigger.absolute", "trigger.free_min", "trigger.only_lower", "trigger.target"];

fn is_presets(origin: &SettingOrigin) -> bool {
    match origin {
        SettingOrigin::Program | SettingOrigin::Preset { file: None, .. } => true,
        SettingOrigin::Preset { file: Some(_), .. }
        | SettingOrigin::User { .. }
        | SettingOrigin::Project { .. }
        | SettingOrigin::Agent { .. }
        | SettingOrigin::Model { .. }
        | SettingOrigin::Environment
        | SettingOrigin::Flag
        | SettingOrigin::Override => false,
    }
}

fn check_points(leaves: &[Leaf], settings: &Settings, window: Option<Tokens>) -> Result<(), SettingsError> {
    let source = |key: &str| {
        let leaf = leaves.iter().find(|leaf| leaf.key == key);
        leaf.map(|leaf| leaf.source.to_string()).unwrap_or_default()
    };
    for point in triggers(&settings.trigger, window) {
        let (at_key, at) = (point.key, point.to_string());
        if is_start(point.at, window) {
            return Err(SettingsError::AlwaysDue { at, at_from: source(at_key), at_key });
        }
        let target = settings.trigger.target.filter(|target| !is_below(*target, point.at, window));
        if let Some(target) = target {
            let (target, target_from) = (target.to_string(), source("trigger.target"));
            return Err(SettingsError::Target { target, target_from, at, at_from: source(at_key), at_key });
        }
    }
    Ok(())
}

/// What a person should know of values that say less than they seem to.
pub(super) fn notes(leaves: &[Leaf], settings: &Settings, door: Option<Door>) -> Vec<String> {
    let mut notes: Vec<String> =
        late_warning(settings, door).into_iter().chain(unheeded_facts(settings)).collect();
    let own = leaves.iter().filter(|leaf| !is_presets(&leaf.source.origin));
    notes.extend(
        own.filter_map(|leaf| Some(format!("{} has no effect: {}", leaf.source, idle(leaf, settings)?))),
    );
    notes
}

/// What a model's summary is rebuilt with; the embedded summariser has a form of its own.
const REBUILT: [&str; 4] = ["rebuild.todos", "rebuild.files", "rebuild.facts", "rebuild.coverage"];

/// Why a value does nothing beside the others, where it does nothing.
fn idle(leaf: &Leaf, settings: &Settings) -> Option<&'static str> {
    let key = leaf.key.as_str();
    let is_shared = matches!(settings.keep.newest, Newest::Percent(_));
    if key == "summary.span_messages" && is_shared && !leaf.is_unset() {
        return Some(
            "`keep.newest` is a share of the target, and decides by itself how many leave; keep messages, tokens or turns",
        );
    }
    let is_embedded = settings.summary.by == Writer::Embedded;
    (REBUILT.contains(&key) && is_embedded)
        .then_some("it is about a summary that a model writes, and `summary.by` is embedded")
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
    let mut points = triggers(&settings.trigger, settings.window.tokens).into_iter();
    let late = points.find(|point| !is_below(approaching, point.at, settings.window.tokens))?;
    let warns = door.is_none_or(|door| door != Door::Compact);
    warns.then(|| {
        format!(
            "`trigger.approaching` is {approaching}, not below `{}`, {late}: the warning never comes first",
            late.key
        )
    })
}

/// A point at which compaction is due.
struct TriggerPoint {
    /// The key that says so.
    key: &'static str,
    /// What it says.
    said: Threshold,
    /// The point that comes to.
    at: Threshold,
}

impl TriggerPoint {
    fn at(key: &'static str, at: Threshold) -> Self {
        Self { key, said: at, at }
    }
}

impl fmt::Display for TriggerPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { said, at, .. } = self;
        if said == at { write!(f, "{said}") } else { write!(f, "{said}, which leaves {at}") }
    }
}

/// Where compaction is due: the lowest of these, as the budget of a request has it.
fn triggers(rule: &TriggerRule, window: Option<Tokens>) -> Vec<TriggerPoint> {
    let mut points = match rule.absolute {
        Some(tokens) => vec![TriggerPoint::at("trigger.absolute", Threshold::Absolute(tokens))],
        None => filling(rule, window),
    };
    points.extend(rule.only_lower.map(|lower| TriggerPoint::at("trigger.only_lower", lower)));
    points
}

/// `at` and what `free_min` leaves to be filled; that alone, where `at` gives way to it.
fn filling(rule: &TriggerRule, window: Option<Tokens>) -> Vec<TriggerPoint> {
    let free = rule.free_min;
    let left = free.map(|free| TriggerPoint { key: "trigger.free_min", said: free, at: rest(free) });
    let gives_way = rule.yields && left.is_some() && is_most(rule.at, window);
    let at = (!gives_way).then(|| TriggerPoint::at("trigger.at", rule.at));
    at.into_iter().chain(left).collect()
}

/// Whether `at` is a reserve of most of the window.
fn is_most(at: Threshold, window: Option<Tokens>) -> bool {
    match at {
        Threshold::Remaining(reserve) => window.is_some_and(|window| reserve > window.share(1, 2)),
        Threshold::Share(_) | Threshold::Absolute(_) => false,
    }
}

/// A whole window, in hundredths of a percent.
const WHOLE: u32 = 10_000;

/// What is left of a window beside `part` of it.
fn rest(part: Threshold) -> Threshold {
    match part {
        Threshold::Share(share) => Threshold::Share(WHOLE.saturating_sub(share)),
        Threshold::Absolute(tokens) => Threshold::Remaining(tokens),
        Threshold::Remaining(tokens) => Threshold::Absolute(tokens),
    }
}

/// Whether nothing lies below `point`, as far as that can be told.
fn is_start(point: Threshold, window: Option<Tokens>) -> bool {
    match point {
        Threshold::Share(share) => share == 0,
        Threshold::Absolute(tokens) => tokens.is_zero(),
        Threshold::Remaining(_) => window.is_some_and(|window| point.of(window).is_zero()),
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
