//! The settings of `rebuild`, `restore` and `guard`: what the machine adds to a summary, what is
//! brought back after it, and what stops a loop.

use super::Threshold;
use crate::Tokens;
use serde::{Deserialize, Serialize};

/// What the machine adds to a summary, from the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebuildRule {
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
    /// What a compaction leaves in a transcript of Claude Code's.
    #[serde(default)]
    pub entry: TranscriptEntry,
}

impl Default for RebuildRule {
    fn default() -> Self {
        Self {
            todos: true,
            files: FileList::None,
            facts: true,
            verify: Verify::Repair,
            coverage: false,
            resume: Resume::Continue,
            entry: TranscriptEntry::Boundary,
        }
    }
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

/// What a compaction leaves in a transcript of Claude Code's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TranscriptEntry {
    /// The boundary and the flagged message that the program goes on from.
    #[default]
    Boundary,
    /// One `SummaryMessage`, as its document says. The program does not go on from it; we do.
    SummaryMessage,
}

/// What is brought back into view after a compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestoreRule {
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

impl Default for RestoreRule {
    fn default() -> Self {
        Self {
            files: 0,
            file_tokens: Tokens(5_000),
            larger_file: LargerFile::Head,
            skill_tokens: Tokens(5_000),
            skills_tokens: Tokens::ZERO,
            server_tokens: Tokens(5_000),
            servers_tokens: Tokens::ZERO,
            total_tokens: Tokens(50_000),
        }
    }
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
pub struct GuardRule {
    /// What is done where no strategy made room: the oldest is dropped, or the session goes on as it is.
    pub last: LastResort,
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
    /// How long a request may wait for a model's summary; then what needs no model is done. Without an end where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_seconds_max: Option<u64>,
}

impl Default for GuardRule {
    fn default() -> Self {
        Self {
            last: LastResort::Drop,
            recoveries_max: 1,
            failures_max: Some(3),
            refills_max: Some(3),
            refill_calls: 3,
            progress: None,
            calls_max: 24,
            hook_tokens_max: Tokens(4_000),
            hook_seconds_max: 10,
            hooks_on_prune: false,
            checkpoint_seconds_max: Some(3_600),
            wait_seconds_max: Some(120),
        }
    }
}

/// What is done where no strategy made room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LastResort {
    /// The oldest part is dropped.
    Drop,
    /// Nothing, as long as the request can be sent; else the oldest part is dropped.
    Abandon,
}
