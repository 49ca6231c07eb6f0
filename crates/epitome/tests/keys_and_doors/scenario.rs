//! Scenarios: a conversation, the room it is held in, who answers, and what happens around it. One serves many cases.

use crate::talk;
use serde_json::Value;

/// A stage that settings are changed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scenario {
    /// Two who speak in turn, a hundred tokens each time.
    Chat,
    /// The same with a model that nobody knows, in a window that nobody states.
    UnknownModel,
    /// The same with a model that is known, in a window that nobody states.
    KnownModel,
    /// Work with tools.
    Work,
    /// Work that is written back as its own tool writes it.
    OwnFile,
    /// Work that was summarised by its own tool once.
    ResumedWork,
    /// Work in a project whose files are there.
    Project,
    /// A long chain of calls in one turn.
    ToolLoop,
    /// Talk about pictures.
    Pictures,
    /// A harness that repeats itself.
    Reminders,
    /// Work that a hook watches, which has something to add.
    Watched,
    /// Work with a provider whose window is smaller than anybody knows.
    Overflow,
    /// Work with skills and a server of tools.
    Skills,
    /// Talk that stops; what happens then is waited for.
    Idle,
    /// Work of somebody who leaves time between requests for what is done in the background.
    PatientWork,
    /// Work that somebody leaves for an earlier place, with a summary of what they leave.
    LeftBranch,
    /// Work with an operator who approves what waits for them: at a terminal, or through the API.
    Operator,
}

/// What a scenario consists of.
#[derive(Clone)]
pub(crate) struct Setup {
    /// What was said.
    pub(crate) messages: Vec<Value>,
    /// The model of the session.
    pub(crate) model: &'static str,
    /// The window that is stated on the command line.
    pub(crate) window: Option<u64>,
    /// The provider's own window.
    pub(crate) provider_window: Option<u64>,
    /// Whether the transcript holds a summary of its own tool's.
    pub(crate) is_resumed: bool,
    /// Whether what was compacted is written as the transcript was.
    pub(crate) keeps_format: bool,
    /// Whether files of the project are there.
    pub(crate) has_files: bool,
    /// Whether a hook watches.
    pub(crate) has_hook: bool,
    /// Whether tools are offered.
    pub(crate) has_tools: bool,
    /// What is waited for after the last request.
    pub(crate) after: After,
    /// How many calls in front of the first that is sent through the proxy.
    pub(crate) skipped_calls: usize,
}

/// What is done beside sending requests through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Nothing.
    Nothing,
    /// The first compaction is waited for.
    Idle,
    /// Between requests, the end of what is done in the background is waited for.
    Settle,
    /// The session is moved to its beginning, with a summary of what it leaves.
    Navigate,
    /// Whatever waits for a word is approved.
    Approve,
}

impl Scenario {
    /// All of them.
    pub(crate) const ALL: [Self; 17] = [
        Self::Chat,
        Self::UnknownModel,
        Self::KnownModel,
        Self::Work,
        Self::OwnFile,
        Self::ResumedWork,
        Self::Project,
        Self::ToolLoop,
        Self::Pictures,
        Self::Reminders,
        Self::Watched,
        Self::Overflow,
        Self::Skills,
        Self::Idle,
        Self::PatientWork,
        Self::LeftBranch,
        Self::Operator,
    ];

    /// Whether most of its time is waiting.
    pub(crate) fn waits(self) -> bool {
        matches!(self, Self::Idle | Self::PatientWork)
    }

    /// What it consists of.
    pub(crate) fn setup(self) -> Setup {
        let chat = Setup {
            messages: talk::chat(80),
            model: talk::MODEL,
            window: Some(8_000),
            provider_window: None,
            is_resumed: false,
            keeps_format: false,
            has_files: false,
            has_hook: false,
            has_tools: false,
            after: After::Nothing,
            skipped_calls: 20,
        };
        let work = Setup { messages: talk::work(26), skipped_calls: 28, ..chat.clone() };
        match self {
            Self::Chat => chat,
            Self::UnknownModel => Setup { model: "nobody-knows-7", window: None, ..chat },
            Self::KnownModel => Setup { window: None, ..chat },
            Self::Work => work,
            Self::OwnFile => Setup { keeps_format: true, ..work },
            Self::ResumedWork => Setup { is_resumed: true, ..work },
            Self::Project => Setup { has_files: true, ..work },
            Self::ToolLoop => Setup { messages: talk::tool_loop(4, 30), skipped_calls: 14, ..chat },
            Self::Pictures => Setup { messages: talk::pictures(30), skipped_calls: 8, ..chat },
            Self::Reminders => Setup { messages: talk::reminders(24), skipped_calls: 6, ..chat },
            Self::Watched => Setup { has_hook: true, ..work },
            Self::Overflow => Setup { window: Some(16_000), provider_window: Some(6_000), ..work },
            Self::Skills => Setup { messages: talk::skilled(24), has_tools: true, ..work },
            Self::Idle => Setup { messages: talk::chat(30), skipped_calls: 13, after: After::Idle, ..chat },
            Self::PatientWork => {
                Setup { messages: talk::work(17), skipped_calls: 22, after: After::Settle, ..work }
            }
            Self::LeftBranch => Setup { after: After::Navigate, window: None, ..work },
            Self::Operator => Setup { after: After::Approve, ..work },
        }
    }
}
