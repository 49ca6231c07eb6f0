//! The list itself, in the order people are shown it: a row for each setting.
//!
//! A new setting is a field of the core's policy with its default, a row here, and a line in `default.toml`.

use super::ValueKind::{
    self, Amount, Choice, Choices, Flag, Number, Numbers, Text, Texts, Threshold, Window,
};
use super::{Door, Key};
use epitome_core::Strategy;

const STRATEGIES: &[&str] = &{
    let mut names = [""; Strategy::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Strategy::ALL[at].name();
        at += 1;
    }
    names
};
const COMPARE: ValueKind = Choice(&["reached", "passed"]);
const KEPT: &[&str] =
    &["percent", "messages", "tokens-at-least", "tokens-reached", "tokens-at-most", "turns"];

const ALL: &[Door] = &Door::ALL;
/// Where a conversation grows and compaction comes by itself.
const LIVE: &[Door] = &[Door::Replay, Door::Serve];
/// Where a person may be asked, and what they work on is at hand.
const ASKED: &[Door] = &[Door::Compact, Door::Serve];
const COMPACT: &[Door] = &[Door::Compact];
const SERVE: &[Door] = &[Door::Serve];
/// It describes a preset: no door of the program gives it anything to work on.
const NOWHERE: &[Door] = &[];

const fn set(name: &'static str, kind: ValueKind, doors: &'static [Door], about: &'static str) -> Key {
    Key { name, kind, optional: false, doors, about }
}

const fn open(name: &'static str, kind: ValueKind, doors: &'static [Door], about: &'static str) -> Key {
    Key { name, kind, optional: true, doors, about }
}

/// Every setting: `set` always has a value, `open` may be unset.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    set("about", Text, NOWHERE, "one sentence for the list of presets"),
    set("mode", Choice(&["auto", "ask", "remind", "off"]), LIVE, "compact when due; draft a plan and wait; only say so; nothing at all, on overflow either"),
    set("strategy", Choices(STRATEGIES), ALL, "what to try, in order; see [strategies](#strategies)"),

    set("trigger.at", Threshold, ALL, "compact when the request comes to this"),
    set("trigger.compare", COMPARE, LIVE, "whether coming to the point is enough, or it must be passed"),
    open("trigger.absolute", Number, ALL, "tokens that replace `trigger.at`"),
    set("trigger.output", Amount(&["room", "none", "reserved"], &["capped"]), ALL, "what of the answer counts towards the point: nothing, yet a request that leaves it no room is compacted (`room`); nothing at all; all that is reserved; what the model can write, at most N (`capped`)"),
    open("trigger.free_min", Threshold, ALL, "at least this share stays free, whatever `trigger.at` says"),
    set("trigger.yields", Flag, ALL, "whether a reserve in `trigger.at` that is most of a small window gives way to `trigger.free_min`; never where someone set `trigger.at`"),
    open("trigger.only_lower", Threshold, ALL, "a point in the window without the answer's part that may bring the trigger forward, never back"),
    open("trigger.target", Threshold, ALL, "compact down to this; as far as the strategy goes where unset"),
    set("trigger.target_of", Choice(&["free", "request"]), ALL, "what the target is for: what stands beside the messages kept in any case, as a share of the room that is free for a history; or the whole request, as a share of the window"),
    set("trigger.measure", Choice(&["count", "usage", "hybrid", "floor"]), LIVE, "our own count; what the provider said of the newest call; that and our count of what came since; the larger of both"),
    open("trigger.approaching", Threshold, LIVE, "an early warning"),
    open("trigger.messages", Number, LIVE, "compact at this many messages in view"),
    open("trigger.bytes", Number, LIVE, "compact at this many bytes"),
    open("trigger.media", Number, LIVE, "compact at this many pictures"),

    open("window.tokens", Window, ALL, "the window, whatever is known of the model"),
    open("window.most", Window, ALL, "the smaller of this and the model's counts"),
    open("window.unknown", Window, ALL, "the window of a model nobody knows; such a model is refused where this is unset"),

    set("check.before_call", Flag, LIVE, "look before each call that answers a person"),
    set("check.in_tool_loop", Flag, LIVE, "look before each call that answers tools"),
    set("check.after_turn", Flag, LIVE, "look when a turn has ended"),
    set("check.before_input", Flag, LIVE, "look before a person's input is taken up"),
    open("check.idle_seconds", Number, SERVE, "look after so many seconds without a word"),
    open("check.idle_tokens", Number, SERVE, "how large a request must be to be compacted when idle"),

    set("count.text", Choice(&["model", "chars/4", "utf16/4", "larger", "cl100k"]), ALL, "how text is counted: as the session's model does; a quarter of the characters (rounded down for each message) or of the UTF-16 units (rounded up); the larger of `chars/4` and `cl100k`"),
    open("count.image_tokens", Number, ALL, "what a picture counts as; the model's own rule where unset"),

    set("trim.enabled", Flag, LIVE, "of repeated harness messages only the newest stays"),
    set("trim.at", Threshold, LIVE, "trimming begins here"),
    open("trim.absolute", Number, LIVE, "tokens that replace `trim.at`"),

    set("prune.when", Choice(&["never", "tool-round", "check", "compaction"]), ALL, "when it is done, apart from a `prune` among the strategies"),
    set("prune.results", Flag, ALL, "tool results give way to pointers"),
    set("prune.arguments", Flag, ALL, "long values in tool-call arguments do"),
    set("prune.superseded_reads", Flag, ALL, "results of reading a file that was read again, or written, later do, protected or not"),
    set("prune.thinking", Flag, ALL, "thinking is left out"),
    set("prune.images", Flag, ALL, "pictures give way to pointers"),
    set("prune.notice", Choice(&["pointer", "pruned", "truncated"]), ALL, "how the pointer in place of a result is worded: size and beginning, `[Pruned — N tokens]`, `[Output truncated - N tokens]`; each with the id that brings it back"),
    open("prune.protect", Threshold, ALL, "the newest part of the context that is left alone"),
    open("prune.protect_results", Number, ALL, "the newest tool results that are left alone, in tokens"),
    set("prune.size_min", Number, ALL, "results smaller than this, and arguments of a call that are not larger, are left as they are"),
    set("prune.saving_min", Number, ALL, "a pass that saves less is not worth its price"),
    set("prune.saving_compare", COMPARE, ALL, "whether the saving must come to that or pass it"),
    set("prune.tools_kept", Texts, ALL, "results of these tools are left alone"),
    set("prune.errors_kept", Flag, ALL, "results that report an error are left alone"),
    open("prune.cache_tokens_max", Number, ALL, "a result is touched only while at most this much follows it"),
    open("prune.cache_cold_minutes", Number, SERVE, "after so long without a word the cache is cold, and `cache_tokens_max` does not count"),

    set("keep.newest", Amount(&["nothing"], KEPT), ALL, "how much of the newest part is kept word for word"),
    set("keep.within_turn", Flag, ALL, "the beginning of a turn that is cut is summarised apart from what lies before it, where `summary.parts` is `all`"),
    set("keep.calibrated", Flag, LIVE, "an amount in tokens is the provider's count, where that is above ours"),
    set("keep.always", Choices(&["first", "newest", "input", "exchange"]), ALL, "what is kept in any case, beside pins: a person's first message, their newest, their newest as long as the model has not answered it (`input`), the newest exchange"),
    set("keep.matching", Texts, ALL, "messages in view that hold one of these words count as pinned"),

    set("summary.by", Text, ALL, "who writes it: `embedded` (no model), `session` (the session's own model), `none`, or a name from `[alias]`"),
    set("summary.parts", Choice(&["prose", "all"]), ALL, "what a model is asked for, where one writes: what a machine cannot write, which the embedded summariser adds the rest to within the same budget; or all of it"),
    set("summary.prompt", Text, ALL, "a prompt by name, or its path; see [prompts](#prompts)"),
    set("summary.input", Choice(&["cheaper", "text", "messages", "prefix"]), ALL, "the shape messages are given in: as the session's own last request while that is cached and costs less so, else as one text; one text; as they are; as the session's own last request, while that is cached"),
    set("summary.markers", Choice(&["ids", "upper", "colon", "short"]), ALL, "how they are marked in a text: `[m0123 user]`; `[USER]`; `[User]:`; `[Think]`, `[Tool Call]`, `[Tool Result]`"),
    open("summary.span_messages", Number, ALL, "how many of the oldest messages one summary covers; all in front of the cut where unset, or where `keep.newest` is a share of the target"),
    open("summary.result_chars_max", Number, ALL, "a tool result longer than this is cut for the summariser"),
    set("summary.clip", Choice(&["head", "ends"]), ALL, "what is left of it: its beginning, or both ends"),
    set("summary.thinking", Flag, ALL, "whether thinking is shown"),
    set("summary.images", Choice(&["label", "dropped", "sent"]), ALL, "what is shown of pictures"),
    set("summary.previous", Choice(&["update", "message"]), ALL, "the summary made before is brought up to date, or is one of the messages"),
    set("summary.chunks", Number, ALL, "into how many parts of equal count the messages are split"),
    set("summary.oversize", Amount(&["fold", "send", "fail"], &["drop-oldest"]), ALL, "where they do not fit the summariser: part by part; all the same; next strategy; without the oldest exchanges, at most N times (`drop-oldest`)"),
    set("summary.split", Choice(&["sequence", "parallel"]), ALL, "how the two calls of a cut turn are made, where `keep.within_turn` makes two of them"),
    open("summary.output_max", Number, ALL, "the limit of the summariser's answer; where unset 1,500 with `summary.parts = \"prose\"`, which asks for two thirds of it, else 8,192, and never more than its share of the room"),
    open("summary.prefix_output_max", Number, ALL, "the same for the beginning of a cut turn"),
    open("summary.size_min", Number, ALL, "a shorter answer is asked for again, once"),
    open("summary.short_max", Number, ALL, "the limit of a second summary of a line or two, for lists; none is made where unset"),
    set("summary.retries", Number, ALL, "how often it is asked again, each time differently"),
    set("summary.shrink_results", Numbers, ALL, "lengths to which tool results are cut, one after another, before anything else is tried"),
    set("summary.shrink_keep", Flag, ALL, "fewer and fewer of the newest messages are kept after that"),
    open("summary.shrink_keep_max", Number, ALL, "how often `shrink_keep` does that at most; until none is left where unset"),
    set("summary.else_embedded", Flag, LIVE, "the embedded summariser writes the summary where the model does not"),

    set("rebuild.todos", Flag, ALL, "open todos are added to a model's summary; with `summary.parts = \"prose\"` they are in any case"),
    set("rebuild.files", Choice(&["none", "lists", "tree"]), ALL, "files read and changed are added to a model's summary"),
    set("rebuild.facts", Flag, ALL, "rules, requirement lists and a person's own messages are added to a model's summary, as far as they fit; with `summary.parts = \"prose\"` they are in any case"),
    set("rebuild.verify", Choice(&["repair", "report"]), ALL, "facts that the summary leaves out are put back, those that matter most first, or reported"),
    set("rebuild.coverage", Flag, ALL, "requests that a model's summary does not mention are appended to it word for word"),
    set("rebuild.resume", Choice(&["continue", "ask", "wait"]), ALL, "what happens after a compaction: the work goes on, a person is asked, nothing until one speaks"),
    set("rebuild.entry", Choice(&["boundary", "summary-message"]), COMPACT, "what a compaction leaves in a transcript of Claude Code's: the boundary and the message it goes on from, or the one `SummaryMessage` of its document, which only epitome goes on from"),

    set("restore.files", Number, COMPACT, "how many of the files used last are read again"),
    set("restore.file_tokens", Number, COMPACT, "what one of them may take"),
    set("restore.larger_file", Choice(&["head", "path"]), COMPACT, "what comes back of a larger one: its beginning, or its path"),
    set("restore.skill_tokens", Number, SERVE, "what one skill may take"),
    set("restore.skills_tokens", Number, SERVE, "what all skills may take"),
    set("restore.server_tokens", Number, SERVE, "what the tool definitions of one server may take"),
    set("restore.servers_tokens", Number, SERVE, "what those of all servers may take"),
    set("restore.total_tokens", Number, ASKED, "what all of it may take: files first, then skills, then servers"),

    set("guard.last", Choice(&["drop", "abandon"]), ALL, "where no strategy made room: the oldest is dropped, or the session goes on as long as it can"),
    set("guard.recoveries_max", Number, LIVE, "how often one request may be compacted and sent again after an overflow"),
    open("guard.failures_max", Number, LIVE, "so many failures in a row end automatic compaction"),
    open("guard.refills_max", Number, LIVE, "so do so many compactions in a row that were full again soon"),
    set("guard.refill_calls", Number, LIVE, "within so many calls is soon"),
    open("guard.progress", Threshold, LIVE, "the work goes on by itself only where a compaction came below this share of the trigger"),
    set("guard.calls_max", Number, ALL, "how many calls of a model one compaction may make"),
    set("guard.hook_tokens_max", Number, ALL, "what one hook may take of the context"),
    set("guard.hook_seconds_max", Number, ALL, "how long one hook may take"),
    set("guard.hooks_on_prune", Flag, ALL, "hooks are asked before a compaction that can only prune, too"),
    open("guard.checkpoint_seconds_max", Number, ASKED, "how long an operator may take over a checkpoint"),
    open("guard.wait_seconds_max", Number, SERVE, "how long a request may wait for a model's summary; then what needs no model is done"),

    set("speculate.enabled", Flag, SERVE, "a summary is made before it is needed"),
    set("speculate.lead", Threshold, SERVE, "how far before the trigger, as a share of it"),
    set("speculate.lead_min", Number, SERVE, "at least so many tokens before it"),
    set("speculate.lead_max", Number, SERVE, "at most so many tokens before it"),
    set("speculate.growth_max", Number, SERVE, "it is made again when more than this would be left out of it"),
    set("speculate.wasted_max", Number, SERVE, "how many may be thrown away in a row"),

    set("branch.at", Threshold, SERVE, "the point in the summariser's window up to which the newest of the branch is read"),
    set("branch.output_max", Number, SERVE, "the limit of the answer that summarises a branch"),
];
