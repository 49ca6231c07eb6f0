//! The cases: for each setting a scenario in which it matters, and two values that must come to something different.

use crate::scenario::Scenario::{
    self, Chat, Idle, KnownModel, LeftBranch, Operator, Overflow, OwnFile, PatientWork, Pictures, Project,
    Reminders, ResumedWork, Skills, ToolLoop, UnknownModel, Watched, Work,
};
use epitome_settings::Door;

/// A setting changed from one value to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) key: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) scenario: Scenario,
    /// What else is set, so that the key matters.
    pub(crate) with: &'static [(&'static str, &'static str)],
    /// The doors it is for.
    pub(crate) doors: &'static [Door],
    /// The window that is stated, where it is not the scenario's.
    pub(crate) window: Option<u64>,
    /// What goes wrong at the provider.
    pub(crate) plan: &'static str,
    /// Whether one of the two values may be refused: that is what it is for.
    pub(crate) may_fail: bool,
}

impl Case {
    const fn behind(self, doors: &'static [Door]) -> Self {
        Self { doors, ..self }
    }

    const fn in_window(self, window: u64) -> Self {
        Self { window: Some(window), ..self }
    }

    const fn plan(self, plan: &'static str) -> Self {
        Self { plan, ..self }
    }

    const fn or_fails(self) -> Self {
        Self { may_fail: true, ..self }
    }
}

const fn case(
    key: &'static str,
    from: &'static str,
    to: &'static str,
    scenario: Scenario,
    with: &'static [(&'static str, &'static str)],
) -> Case {
    Case { key, from, to, scenario, with, doors: &Door::ALL, window: None, plan: "", may_fail: false }
}

const COMPACT: &[Door] = &[Door::Compact];
const SERVE: &[Door] = &[Door::Serve];
const REPLAY: &[Door] = &[Door::Replay];
const LIVE: &[Door] = &[Door::Replay, Door::Serve];

/// A value that stands for what the first compaction frees where the key is 0.
pub(crate) const FREED: &str = "@freed";

/// Room for most of the work: only a part of it must go.
const ROOMY: u64 = 30_000;
/// Counts that can be told beforehand: a hundred tokens for each message of the chat.
const EVEN: (&str, &str) = ("count.text", "chars/4");
/// A model writes the summary.
const BY_MODEL: (&str, &str) = ("summary.by", "fast");
/// All of the summary.
const ALL_OF_IT: (&str, &str) = ("summary.parts", "all");
/// Room is made by pruning, where that is enough.
const PRUNES: (&str, &str) = ("strategy", "prune,summarize");
/// The same where half of everything is to go, which pruning does not come to: it will do if what is left fits.
const PRUNES_OR_DROPS: (&str, &str) = ("strategy", "prune,drop");
/// Summaries are made before they are needed.
const SPECULATES: (&str, &str) = ("speculate.enabled", "true");
/// What is left may take most of the room.
const MUCH: (&str, &str) = ("trigger.target", "70%");
/// The trigger's point is what it says, whatever an answer needs: by hand, too, no more is left than that.
const BARE: (&str, &str) = ("trigger.output", "none");

/// Every setting that works somewhere, in the order of the list.
#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    case("mode", "auto", "off", Work, &[]),
    case("mode", "auto", "remind", Work, &[]),
    case("mode", "auto", "ask", Work, &[]).behind(REPLAY),
    case("mode", "auto", "ask", Operator, &[]).behind(SERVE),
    case("mode", "remind", "ask", Operator, &[]).behind(SERVE),
    case("strategy", "summarize,drop", "drop", Work, &[]),

    case("trigger.at", "80%", "40%", Work, &[("trigger.target", "30%")]).behind(LIVE),
    case("trigger.at", "80%", "40%", Work, &[MUCH, BARE]).behind(COMPACT),
    case("trigger.compare", "reached", "passed", Chat, &[EVEN, ("trigger.absolute", "5900"), ("trigger.measure", "count")]),
    case("trigger.absolute", "none", "3000", Work, &[("trigger.target", "2000")]).behind(LIVE),
    case("trigger.absolute", "none", "3000", Work, &[MUCH, BARE]).behind(COMPACT),
    case("trigger.output", "room", "none", Work, &[]),
    case("trigger.free_min", "none", "50%", Work, &[]).behind(LIVE),
    case("trigger.free_min", "none", "60%", Work, &[MUCH, BARE]).behind(COMPACT),
    case("trigger.yields", "true", "false", Work, &[("trigger.target", "25%"), ("trigger.at", "-5000"), ("trigger.free_min", "20%")]).behind(LIVE),
    case("trigger.yields", "true", "false", Work, &[("trigger.at", "-5000"), ("trigger.free_min", "20%"), MUCH, BARE]).behind(COMPACT),
    case("trigger.only_lower", "none", "40%", Work, &[("trigger.target", "25%")]).behind(LIVE),
    case("trigger.only_lower", "none", "40%", Work, &[MUCH, BARE]).behind(COMPACT),
    case("trigger.target", "25%", "50%", Work, &[]),
    case("trigger.target_of", "free", "request", Work, &[]),
    case("trigger.measure", "count", "hybrid", Chat, &[EVEN]),
    case("trigger.approaching", "70%", "none", Watched, &[]),
    case("trigger.messages", "none", "20", Chat, &[EVEN]),
    case("trigger.bytes", "none", "9000", Chat, &[EVEN]),
    case("trigger.media", "none", "6", Pictures, &[]),

    case("window.tokens", "none", "8000", KnownModel, &[]),
    case("window.most", "none", "8000", KnownModel, &[]),
    case("window.unknown", "8000", "6000", UnknownModel, &[]),

    case("check.before_call", "true", "false", Chat, &[]),
    case("check.in_tool_loop", "true", "false", ToolLoop, &[]),
    case("check.after_turn", "false", "true", Chat, &[("check.before_call", "false")]),
    case("check.before_input", "false", "true", Chat, &[("check.before_call", "false")]),
    case("check.idle_seconds", "none", "0", Idle, &[]),
    case("check.idle_tokens", "1000", "1000000", Idle, &[("check.idle_seconds", "0")]),

    case("count.text", "model", "chars/4", Work, &[]),
    case("count.image_tokens", "none", "1500", Pictures, &[]),

    case("trim.enabled", "false", "true", Reminders, &[]),
    case("trim.at", "20%", "75%", Reminders, &[("trim.enabled", "true")]),
    case("trim.absolute", "none", "2000", Reminders, &[("trim.enabled", "true"), ("trim.at", "75%")]),

    case("prune.when", "never", "check", Work, &[]).behind(LIVE),
    case("prune.when", "never", "compaction", Work, &[MUCH, ("prune.protect", "none"), ("keep.newest", "messages=12")]).behind(COMPACT),
    case("prune.results", "true", "false", Work, &[PRUNES, MUCH]).behind(LIVE),
    case("prune.results", "true", "false", Work, &[PRUNES_OR_DROPS, MUCH]).behind(COMPACT).in_window(ROOMY),
    case("prune.arguments", "true", "false", Work, &[PRUNES, MUCH]).behind(LIVE),
    case("prune.arguments", "true", "false", Work, &[PRUNES_OR_DROPS, MUCH]).behind(COMPACT).in_window(ROOMY),
    case("prune.superseded_reads", "true", "false", Work, &[PRUNES, MUCH, ("prune.results", "false")]).behind(LIVE),
    case("prune.superseded_reads", "true", "false", Work, &[PRUNES_OR_DROPS, MUCH, ("prune.results", "false")]).behind(COMPACT).in_window(ROOMY),
    case("prune.thinking", "true", "false", Work, &[PRUNES, MUCH]).behind(LIVE),
    case("prune.thinking", "true", "false", Work, &[PRUNES_OR_DROPS, MUCH]).behind(COMPACT).in_window(ROOMY),
    case("prune.images", "true", "false", Pictures, &[PRUNES, MUCH, BARE]),
    case("prune.notice", "pointer", "truncated", Work, &[PRUNES, MUCH]).behind(LIVE),
    case("prune.notice", "pointer", "truncated", Work, &[PRUNES_OR_DROPS, MUCH]).behind(COMPACT).in_window(ROOMY),
    case("prune.protect", "10%", "40%", Work, &[PRUNES, MUCH]).behind(LIVE),
    case("prune.protect", "10%", "40%", Work, &[PRUNES_OR_DROPS, MUCH]).behind(COMPACT).in_window(ROOMY),
    case("prune.protect_results", "none", "2000", Work, &[PRUNES, MUCH]).behind(LIVE),
    case("prune.protect_results", "none", "2000", Work, &[PRUNES_OR_DROPS, MUCH]).behind(COMPACT).in_window(ROOMY),
    case("prune.size_min", "200", "1000", Work, &[PRUNES, MUCH]).behind(LIVE),
    case("prune.size_min", "200", "1000", Work, &[PRUNES_OR_DROPS, MUCH]).behind(COMPACT).in_window(ROOMY),
    case("prune.saving_min", "0", "100000", Work, &[PRUNES, MUCH]).behind(LIVE),
    case("prune.saving_min", "0", "100000", Work, &[PRUNES_OR_DROPS, MUCH]).behind(COMPACT).in_window(ROOMY),
    // By letters: a model's own count is corrected by usage, and what a record tells is then not what the rule goes by.
    case("prune.saving_compare", "reached", "passed", Work, &[PRUNES, MUCH, EVEN, ("prune.saving_min", FREED)]).behind(LIVE),
    case("prune.saving_compare", "reached", "passed", Work, &[PRUNES_OR_DROPS, MUCH, EVEN, ("prune.saving_min", FREED)]).behind(COMPACT).in_window(ROOMY),
    case("prune.tools_kept", "", "Read", Work, &[PRUNES, MUCH]).behind(LIVE),
    case("prune.tools_kept", "", "Read", Work, &[PRUNES_OR_DROPS, MUCH]).behind(COMPACT).in_window(ROOMY),
    case("prune.errors_kept", "false", "true", Work, &[PRUNES, MUCH]).behind(LIVE),
    case("prune.errors_kept", "false", "true", Work, &[PRUNES_OR_DROPS, MUCH]).behind(COMPACT).in_window(ROOMY),
    case("prune.cache_tokens_max", "none", "3000", Work, &[PRUNES, MUCH]).behind(LIVE),
    case("prune.cache_tokens_max", "none", "3000", Work, &[PRUNES_OR_DROPS, MUCH]).behind(COMPACT).in_window(ROOMY),
    case("prune.cache_cold_minutes", "none", "0", Work, &[("prune.when", "check"), ("prune.cache_tokens_max", "500")]),

    case("keep.newest", "percent=40", "messages=4", Work, &[]),
    case("keep.within_turn", "true", "false", ToolLoop, &[BY_MODEL, ALL_OF_IT]),
    case("keep.calibrated", "false", "true", Chat, &[EVEN, ("keep.newest", "tokens-at-least=2000")]),
    case("keep.always", "first,newest,exchange", "newest", Work, &[]),
    case("keep.matching", "", "orchid", Work, &[]),

    case("summary.by", "embedded", "fast", Work, &[]),
    case("summary.parts", "prose", "all", Work, &[BY_MODEL]),
    case("summary.prompt", "default", "pi", Work, &[BY_MODEL, ALL_OF_IT]),
    case("summary.input", "cheaper", "messages", Work, &[BY_MODEL]),
    case("summary.markers", "ids", "upper", Work, &[BY_MODEL]),
    case("summary.span_messages", "none", "8", Work, &[BY_MODEL, ("keep.newest", "messages=6")]),
    case("summary.result_chars_max", "4000", "200", Work, &[BY_MODEL]),
    case("summary.clip", "ends", "head", Work, &[BY_MODEL, ("summary.result_chars_max", "200")]),
    case("summary.thinking", "false", "true", Work, &[BY_MODEL]),
    case("summary.images", "label", "dropped", Pictures, &[BY_MODEL]),
    case("summary.previous", "update", "message", Work, &[BY_MODEL, ("trigger.at", "60%")]).behind(LIVE),
    case("summary.previous", "update", "message", ResumedWork, &[BY_MODEL]).behind(COMPACT),
    case("summary.chunks", "1", "2", Work, &[BY_MODEL]),
    case("summary.oversize", "fold", "send", Work, &[("summary.by", "small")]),
    case("summary.split", "sequence", "parallel", ToolLoop, &[("summary.by", "pair"), ALL_OF_IT, ("summary.retries", "0"), ("summary.shrink_results", "")]).plan("summary:*=400"),
    case("summary.output_max", "none", "400", Work, &[BY_MODEL, ALL_OF_IT]),
    case("summary.prefix_output_max", "none", "400", ToolLoop, &[BY_MODEL, ALL_OF_IT]),
    case("summary.size_min", "none", "1200", Work, &[BY_MODEL]),
    case("summary.short_max", "none", "100", Work, &[BY_MODEL]),
    case("summary.retries", "1", "0", Work, &[BY_MODEL]).plan("summary:1=empty"),
    case("summary.shrink_results", "1000", "300", Work, &[BY_MODEL, ("summary.retries", "0")]).plan("summary:1=empty"),
    case("summary.shrink_keep", "false", "true", Work, &[BY_MODEL, ("summary.retries", "0"), ("summary.shrink_results", ""), ("keep.newest", "messages=6")]).plan("summary:1=empty"),
    case("summary.shrink_keep_max", "none", "1", Work, &[BY_MODEL, ("summary.retries", "0"), ("summary.shrink_results", ""), ("summary.shrink_keep", "true"), ("keep.newest", "messages=6")]).plan("summary:*=empty"),
    case("summary.else_embedded", "true", "false", Work, &[BY_MODEL]).plan("summary:*=400"),

    case("rebuild.todos", "true", "false", Work, &[BY_MODEL, ALL_OF_IT]),
    case("rebuild.files", "none", "tree", Work, &[BY_MODEL]),
    case("rebuild.facts", "true", "false", Work, &[BY_MODEL, ALL_OF_IT]),
    case("rebuild.verify", "repair", "report", Work, &[BY_MODEL, ALL_OF_IT, ("rebuild.facts", "false"), ("summary.output_max", "200")]),
    case("rebuild.coverage", "false", "true", Work, &[BY_MODEL, ALL_OF_IT, ("rebuild.facts", "false"), ("summary.output_max", "300")]),
    case("rebuild.resume", "continue", "ask", Work, &[]),
    case("rebuild.entry", "boundary", "summary-message", OwnFile, &[]).behind(COMPACT),

    case("restore.files", "0", "2", Project, &[]),
    case("restore.file_tokens", "5000", "100", Project, &[("restore.files", "2")]),
    case("restore.larger_file", "head", "path", Project, &[("restore.files", "2"), ("restore.file_tokens", "100")]),
    case("restore.skill_tokens", "5000", "100", Skills, &[("restore.skills_tokens", "1000")]),
    case("restore.skills_tokens", "0", "1000", Skills, &[]),
    case("restore.server_tokens", "5000", "20", Skills, &[("restore.servers_tokens", "1000")]),
    case("restore.servers_tokens", "0", "1000", Skills, &[]),
    case("restore.total_tokens", "5000", "150", Project, &[("restore.files", "2")]).behind(COMPACT),
    case("restore.total_tokens", "5000", "150", Skills, &[("restore.skills_tokens", "1000")]).behind(LIVE),

    case("guard.last", "drop", "abandon", Work, &[("strategy", "summarize"), ("summary.by", "none")]).behind(LIVE),
    case("guard.last", "drop", "abandon", Work, &[("strategy", "summarize"), ("summary.by", "none")]).behind(COMPACT).in_window(ROOMY).or_fails(),
    case("guard.recoveries_max", "1", "0", Overflow, &[]).behind(SERVE),
    case("guard.recoveries_max", "1", "0", Work, &[("mode", "remind")]).behind(REPLAY),
    case("guard.failures_max", "3", "1", Work, &[BY_MODEL, ("summary.else_embedded", "false"), ("strategy", "summarize"), ("guard.last", "abandon")]).plan("summary:*=400"),
    case("guard.refills_max", "3", "1", Work, &[("trigger.at", "50%"), ("trigger.target", "48%"), BARE, BY_MODEL]),
    case("guard.refill_calls", "0", "50", Work, &[("trigger.at", "50%"), ("trigger.target", "48%"), BARE, ("guard.refills_max", "1"), BY_MODEL]),
    case("guard.progress", "none", "10%", Work, &[]),
    case("guard.calls_max", "24", "2", Work, &[BY_MODEL, ("summary.shrink_results", "1000,500,200")]).plan("summary:*=empty"),
    case("guard.hook_tokens_max", "4000", "20", Watched, &[]),
    case("guard.hook_seconds_max", "10", "0", Watched, &[]),
    case("guard.hooks_on_prune", "false", "true", Watched, &[("strategy", "prune"), MUCH, ("guard.last", "abandon")]).behind(LIVE),
    case("guard.hooks_on_prune", "false", "true", Watched, &[("strategy", "prune"), MUCH, ("guard.last", "abandon")]).behind(COMPACT).in_window(ROOMY),
    case("guard.checkpoint_seconds_max", "3600", "0", Operator, &[("strategy", "checkpoint,summarize")]),
    case("guard.wait_seconds_max", "120", "0", Work, &[BY_MODEL]),

    case("speculate.enabled", "false", "true", PatientWork, &[BY_MODEL, ("speculate.lead", "20%"), ("speculate.lead_min", "0")]),
    case("speculate.lead", "10%", "40%", PatientWork, &[BY_MODEL, SPECULATES, ("speculate.lead_min", "0")]),
    case("speculate.lead_min", "0", "2500", PatientWork, &[BY_MODEL, SPECULATES, ("speculate.lead", "1%")]),
    case("speculate.lead_max", "32000", "100", PatientWork, &[BY_MODEL, SPECULATES, ("speculate.lead", "40%"), ("speculate.lead_min", "0")]),
    case("speculate.growth_max", "20000", "100", PatientWork, &[BY_MODEL, SPECULATES, ("speculate.lead", "40%"), ("speculate.lead_min", "0")]),
    case("speculate.wasted_max", "2", "0", PatientWork, &[BY_MODEL, SPECULATES, ("speculate.lead", "40%"), ("speculate.lead_min", "0")]),

    case("branch.at", "-16384", "1%", LeftBranch, &[BY_MODEL]),
    case("branch.output_max", "2048", "300", LeftBranch, &[BY_MODEL]),
];

/// What is declared and not proven yet, with the reason. It can only become less.
pub(crate) const UNPROVEN: &[(&str, Door, &str)] = &[];
