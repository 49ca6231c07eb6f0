//! What the machine adds to a summary, what is brought back after it, and what stops a loop.

use super::Threshold;
use crate::Tokens;
use serde::{Deserialize, Serialize};

/// What the machine adds to a summary, from the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rebuild {
    /// Open todos.
    pub todos: bool,
    /// Files read and changed.
    pub files: FileList,
    /// Rules, requirement lists and a person's own messages, word for word, as far as they fit.
    pub facts: bool,
    /// What is done about facts that a summary lost.
    pub verify: Verify,
    /// Whether a person's requests that a summary does not mention are appended word for word.
    pub coverage: bool,
    /// What happens after a compaction.
    pub resume: Resume,
}

/// How the files of a session are listed after a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileList {
    /// Not at all.
    None,
    /// A list of those read and a list of those changed.
    Lists,
    /// One tree, the newest of them.
    Tree,
}

/// What is done about facts that a summary lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Those that matter most are put back, and the loss is reported.
    Repair,
    /// The loss is reported.
    Report,
}

/// What happens after a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resume {
    /// The work goes on.
    #[default]
    Continue,
    /// A person is asked.
    Ask,
    /// Nothing happens until a person speaks.
    Wait,
}

/// What is brought back into view after a compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// How many of the files used last are read again.
    pub files: u32,
    /// What one of them may take.
    pub file_tokens: Tokens,
    /// What becomes of a larger one.
    pub larger_file: LargerFile,
    /// What one skill may take.
    pub skill_tokens: Tokens,
    /// What all skills may take.
    pub skills_tokens: Tokens,
    /// What the tool definitions of one server may take.
    pub server_tokens: Tokens,
    /// What those of all servers may take.
    pub servers_tokens: Tokens,
    /// What all of it may take; files first, then skills, then servers.
    pub total_tokens: Tokens,
}

/// What becomes of a file that is larger than its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LargerFile {
    /// Its beginning comes back.
    Head,
    /// Its path comes back.
    Path,
}

/// What stops a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// What is done where no strategy made room: the oldest is dropped, or the session goes on as it is.
    pub last: Last,
    /// How often one request may be compacted and sent again after an overflow.
    pub recoveries_max: u32,
    /// So many failures in a row end automatic compaction; no end where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures_max: Option<u32>,
    /// So many compactions in a row, each soon full again, end automatic compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refills_max: Option<u32>,
    /// Full again within so many calls is soon.
    pub refill_calls: u32,
    /// The work goes on by itself only where a compaction came below this share of the trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Threshold>,
    /// How many calls of a model one compaction may make.
    pub calls_max: u32,
    /// What one hook may take of the context.
    pub hook_tokens_max: Tokens,
    /// How long one hook may take.
    pub hook_seconds_max: u64,
    /// Whether hooks are asked before a compaction that can only prune, too.
    #[serde(default)]
    pub hooks_on_prune: bool,
    /// How long an operator may take over a checkpoint; then the plan goes on to the next strategy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_seconds_max: Option<u64>,
}

/// What is done where no strategy made room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Last {
    /// The oldest part is dropped.
    Drop,
    /// Nothing, as long as the request can be sent; else the oldest part is dropped.
    Abandon,
}

/// Known defects of the systems that presets are named after, for comparisons with them. All off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compat {
    /// A new summary begins after the last compaction; what that one kept is lost.
    pub lose_kept_tail: bool,
    /// A cut turn without history before it loses the summary made before.
    pub lose_previous_summary_on_split: bool,
    /// The focus reaches the first of two calls only.
    pub focus_history_only: bool,
    /// What hooks say is taken unchecked.
    pub trust_hook_ids: bool,
    /// Older summaries inside the kept part are shown again.
    pub render_inner_compactions: bool,
    /// Cached tokens are not counted.
    pub ignore_cache_tokens: bool,
    /// Keeping nothing keeps the last message.
    pub keep_last_message_at_zero: bool,
    /// The message that crosses the line of protection is pruned.
    pub prune_boundary_message: bool,
    /// Overflow is recovered from without end.
    pub unbounded_reactive: bool,
    /// `500k` is read as 500, and raised to the least allowed.
    pub misread_window_suffix: bool,
}
