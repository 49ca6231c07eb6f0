//! The window as it is filled now, in the provider's tokens: its own count of the newest call where there is one, what the file
//! does not record, each kind of what it does, and what is free. All parts add up to the window.

use super::walk::{MeasuredCall, PathWalk};
use epitome_core::{Budget, ContextFill, EntryId, FileShare, Tokens, ToolShare};
use serde::Serialize;

/// The window as it is filled.
#[derive(Serialize)]
pub struct WindowFill {
    /// All that the next call would send of what is known.
    pub tokens: Tokens,
    /// Who says so.
    pub from: FillSource,
    /// The call the provider counted, and what it counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredPrompt>,
    /// What was said since, the reply to that call included.
    pub since: Tokens,
    /// What calls hold and the file does not: nothing is known of it where the file records no usage.
    pub unrecorded: Option<Tokens>,
    /// What is left of the window.
    pub free: Tokens,
    /// What fills the window, in order, without what is free.
    pub parts: Vec<FilledPart>,
    /// By tool, the one that takes most first.
    pub tools: Vec<ToolShare>,
    /// By file, the one that takes most first.
    pub files: Vec<FileShare>,
    /// The request before each message, in order.
    pub over_time: Vec<u64>,
}

/// Where the figure of a fill comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FillSource {
    /// The provider counted the newest call; what was said since is counted on top.
    Provider,
    /// No call was made since the context became another one: our count, with what earlier calls held beside it.
    Estimate,
    /// The file records no usage: our count of what it holds.
    Count,
}

/// What the provider counted.
#[derive(Serialize)]
pub struct MeasuredPrompt {
    pub entry: EntryId,
    pub prompt: u64,
    pub output: u64,
}

/// One kind of what fills a window.
#[derive(Serialize)]
pub struct FilledPart {
    pub part: PartKind,
    pub tokens: Tokens,
}

/// The kinds of what fills a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    Unrecorded,
    System,
    Summary,
    Text,
    Thinking,
    Calls,
    Results,
    Images,
    Sealed,
    Overhead,
}

impl PartKind {
    /// What people are shown.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unrecorded => "not in the file",
            Self::System => "system, tools",
            Self::Summary => "summary",
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Calls => "tool calls",
            Self::Results => "tool results",
            Self::Images => "pictures",
            Self::Sealed => "sealed blocks",
            Self::Overhead => "overhead",
        }
    }

    /// What that is, where its name does not say.
    pub fn about(self) -> Option<&'static str> {
        match self {
            Self::Unrecorded => Some(
                "system prompt, tool definitions and memory files, which this file does not record: the provider's count less ours",
            ),
            Self::System => Some("system prompt and tool definitions, as this file records them"),
            Self::Summary => Some("what a compaction left of everything before it"),
            Self::Sealed => Some("reasoning and files that only the provider can read"),
            Self::Overhead => Some("what the provider puts around each message, call and result"),
            Self::Text | Self::Thinking | Self::Calls | Self::Results | Self::Images => None,
        }
    }
}

impl WindowFill {
    /// How the window of `budget` is filled by what lies at the end of `walk`.
    pub fn of(walk: &PathWalk, held: ContextFill, budget: &Budget) -> Self {
        let history = walk.context().tokens();
        let rule = Conversion::of(walk.measured.as_ref(), budget);
        let unrecorded = walk.unrecorded(budget);
        let tokens = budget.fixed + rule.theirs(history) + unrecorded.unwrap_or_default();
        let from = match (&walk.measured, &walk.shortest) {
            (Some(_), _) => FillSource::Provider,
            (None, Some(_)) => FillSource::Estimate,
            (None, None) => FillSource::Count,
        };
        let measured = walk.measured.as_ref().map(|call| MeasuredPrompt {
            entry: call.entry,
            prompt: call.usage.prompt,
            output: call.usage.output,
        });
        let since = measured.as_ref().map_or(Tokens::ZERO, |call| tokens.less(Tokens(call.prompt)));
        Self {
            tokens,
            from,
            measured,
            since,
            unrecorded,
            free: budget.window.less(tokens),
            parts: parts(&held, unrecorded.unwrap_or_default(), budget, rule),
            tools: held.tools.into_iter().map(|tool| rule.tool(tool)).collect(),
            files: held.files.into_iter().map(|file| rule.file(file)).collect(),
            over_time: over_time(walk, budget),
        }
    }
}

/// How our count of messages is told in the provider's tokens.
#[derive(Clone, Copy)]
pub struct Conversion {
    theirs: Tokens,
    ours: Tokens,
}

impl Conversion {
    /// By what is known of how the provider counts; where it counted less for a prompt than we do for what the file holds of
    /// it, by that prompt, since the parts of a whole are not more than it.
    pub fn of(measured: Option<&MeasuredCall>, budget: &Budget) -> Self {
        let learned = Self { theirs: budget.scale.theirs(UNIT), ours: UNIT };
        let Some(call) = measured.filter(|call| !call.counted.is_zero()) else { return learned };
        let prompt = Tokens(call.usage.prompt);
        if prompt >= budget.request(call.counted) || prompt <= budget.fixed {
            return learned;
        }
        Self { theirs: prompt.less(budget.fixed), ours: call.counted }
    }

    pub fn theirs(self, ours: Tokens) -> Tokens {
        ours.share(self.theirs.0, self.ours.0)
    }

    fn tool(self, tool: ToolShare) -> ToolShare {
        let (call_tokens, result_tokens) = (self.theirs(tool.call_tokens), self.theirs(tool.result_tokens));
        ToolShare { call_tokens, result_tokens, ..tool }
    }

    fn file(self, file: FileShare) -> FileShare {
        FileShare { tokens: self.theirs(file.tokens), ..file }
    }
}

/// A scale is known in thousandths.
const UNIT: Tokens = Tokens(1_000);

fn parts(held: &ContextFill, unrecorded: Tokens, budget: &Budget, rule: Conversion) -> Vec<FilledPart> {
    let kinds = &held.kinds;
    let all = [
        (PartKind::Unrecorded, unrecorded),
        (PartKind::System, budget.fixed),
        (PartKind::Summary, rule.theirs(held.summary)),
        (PartKind::Results, rule.theirs(kinds.results)),
        (PartKind::Calls, rule.theirs(kinds.calls)),
        (PartKind::Text, rule.theirs(kinds.text)),
        (PartKind::Thinking, rule.theirs(kinds.thinking)),
        (PartKind::Images, rule.theirs(kinds.images)),
        (PartKind::Sealed, rule.theirs(kinds.opaque)),
        (PartKind::Overhead, rule.theirs(kinds.framing)),
    ];
    let is_there = |(_, tokens): &(PartKind, Tokens)| *tokens > Tokens::ZERO;
    all.into_iter().filter(is_there).map(|(part, tokens)| FilledPart { part, tokens }).collect()
}

/// The request before each message: as the provider counted it where it did, else our count with what was not recorded of the
/// newest call it had counted by then; before the first, of the first.
fn over_time(walk: &PathWalk, budget: &Budget) -> Vec<u64> {
    let mut calls = walk.calls.iter().peekable();
    let mut unrecorded = calls.peek().map_or(Tokens::ZERO, |(_, call)| call.unrecorded(budget));
    let mut request = |(at, &counted): (usize, &u64)| {
        if let Some((_, call)) = calls.next_if(|(place, _)| *place == at) {
            unrecorded = call.unrecorded(budget);
            return call.usage.prompt;
        }
        (budget.request(Tokens(counted)) + unrecorded).0
    };
    walk.over_time.iter().enumerate().map(&mut request).collect()
}
