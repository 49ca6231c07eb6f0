//! What a compaction is asked to do: the state it starts from, what is known of its circumstances, and who
//! can be asked. What comes of it is [`crate::Plan`]'s.

use crate::{
    Archive, Author, Budget, Context, DigestCache, EntryId, Item, Log, LogReader, Measure, Message, Policy,
    Role, SizeTable, Tokens, embedded::AnswerIndex, fence, ledger::Ledger, record::RecordSource,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Everything a plan is drafted from.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The log.
    pub log: &'a Log,
    /// What its messages take.
    pub sizes: &'a SizeTable,
    /// The messages of the path, oldest first, in view or not.
    pub history: &'a [EntryId],
    /// The compactions that count on the path, oldest first.
    pub compactions: &'a [EntryId],
    /// How many messages, oldest first, are too far back to be read again, and what is known of them.
    pub earlier: FarHistory<'a>,
    /// What the model sees of it now.
    pub context: &'a Context,
    /// Where the originals are.
    pub archive: &'a dyn Archive,
    /// What earlier compactions of the session found in them.
    pub digests: &'a DigestCache,
    /// How to count.
    pub measure: &'a dyn Measure,
    /// The name of that way of counting, for the record.
    pub count_method: &'a Arc<str>,
    /// How much room there is.
    pub budget: Budget,
    /// How to compact.
    pub policy: &'a Policy,
    /// Why now.
    pub trigger: Trigger,
    /// What the person asked the summary to dwell on.
    pub focus: Option<&'a str>,
    /// How whoever reads the summary has an original shown: a command or an address, in which `m0123` stands for its id.
    pub recall: Option<&'a str>,
    /// Messages never to be superseded, beside those pinned in the log.
    pub pins: &'a [EntryId],
    /// What the place the result is written to can say.
    pub can: Expressible,
    /// Who can be asked, and what they are told.
    pub available: Available<'a>,
    /// Which part of the context is meant.
    pub range: Range,
    /// What else is known.
    pub circumstances: Circumstances,
}

/// Who can be asked in the course of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Available<'a> {
    /// The model that writes summaries; the embedded summariser where there is none.
    pub summarizer: Option<Summarizer<'a>>,
    /// Why it is not the model that was expected, where somebody can say: that is recorded.
    pub no_model: Option<&'a str>,
    /// Whether the session's provider compacts by itself.
    pub native: bool,
    /// Whether hooks want to be asked first.
    pub hooks: bool,
    /// Whether one of them returns whole lists.
    pub compactor: bool,
    /// Whether an operator can be asked.
    pub operator: bool,
    /// What a summariser is told.
    pub prompts: &'a Prompts,
}

/// A model that writes summaries, as far as a plan must know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summarizer<'a> {
    /// Its name, for the record.
    pub name: &'a str,
    /// All a request to it may take.
    pub window: Tokens,
    /// The longest answer it gives.
    pub output_max: Tokens,
    /// Whether it takes several calls at once.
    pub takes_parallel: bool,
    /// Whether it is the session's own model and still has the session's prompt in its cache.
    pub is_warm: bool,
    /// What a token read from that cache costs, in hundredths of one that is not in it.
    pub cached_percent: u32,
}

/// What a summariser is told to do. The texts are the operator's; these are their places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompts {
    /// The summariser's system prompt.
    pub system: Arc<str>,
    /// For a first summary.
    pub first: Arc<str>,
    /// For bringing the summary made before up to date.
    pub update: Arc<str>,
    /// For a first summary of which the machine writes all but the prose.
    pub prose: Arc<str>,
    /// For bringing the prose of such a summary up to date.
    pub prose_update: Arc<str>,
    /// For the beginning of a turn whose end stays in view.
    pub prefix: Arc<str>,
    /// For a branch that is being left.
    pub branch: Arc<str>,
}

/// Which part of a context is to be compacted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Range {
    /// All of it, as the policy cuts it.
    #[default]
    All,
    /// What lies before this message.
    UpTo(EntryId),
    /// What lies from this message on.
    From(EntryId),
}

/// What is known of the moment a compaction runs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// By how much the provider said the request was too long.
    pub over: Option<Tokens>,
    /// What the provider counts where we count a hundred; 0 where nothing is known.
    pub usage_percent: u32,
    /// Minutes since the last word; none where nobody looked at the clock.
    pub idle_minutes: Option<u64>,
    /// Whether the newest edit of the context was a pass before this compaction, and none itself.
    pub is_passed: bool,
    /// Whether it may go on only with an operator's word, whatever the strategies are.
    pub must_ask: bool,
}

impl<'a> Available<'a> {
    /// Nobody: what needs a model or a hook is passed over.
    pub fn none(prompts: &'a Prompts) -> Self {
        Self {
            summarizer: None,
            no_model: None,
            native: false,
            hooks: false,
            compactor: false,
            operator: false,
            prompts,
        }
    }
}

/// The oldest part of a history, which a summary represents by what people said in it and by its ledger.
#[derive(Clone, Copy)]
pub struct FarHistory<'a> {
    /// How many messages it has.
    pub count: usize,
    /// Their files, commands and todos.
    pub ledger: &'a Ledger,
    /// What people said in it through tools.
    pub answers: &'a AnswerIndex,
}

/// Of messages too far back, as many of a person's are read all the same, the newest: their rules still
/// hold, and this many fill any summary.
const FAR_SAID_MAX: usize = 120;

/// What the provider said is missing is freed with a tenth more: its count and ours differ.
const GAP_SHARE: (u64, u64) = (11, 10);
/// However much it misses, the history keeps this part of its room.
const GAP_ROOM_SHARE_MIN: (u64, u64) = (1, 4);

/// Why a compaction runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// Someone asked for it.
    #[default]
    Manual,
    /// The context reached the policy's threshold.
    Threshold,
    /// The provider refused a request as too long.
    Overflow,
    /// A hook or a tool asked for it in the middle of a turn, which has ended now.
    Requested,
    /// Nobody has said anything for a while.
    Idle,
    /// There are too many messages in view.
    Messages,
    /// There are too many bytes in view.
    Bytes,
    /// There are too many pictures in view.
    Media,
    /// The session's model was changed for one with a smaller window.
    Downshift,
}

/// What a trigger means for the compaction it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggerKind {
    /// Who asked.
    pub source: RecordSource,
    /// Whether tokens are short, so that a rule which keeps all there is must not be the end of it.
    pub is_full: bool,
    /// Whether a history below the target is halved all the same: tokens are not what it is compacted for, or our count
    /// of them is not the provider's.
    pub is_halved: bool,
    /// Whether the work waits for a person where too little room was made.
    pub must_progress: bool,
}

impl Trigger {
    /// Every trigger, in the order they are listed to people.
    pub const ALL: [Self; 9] = [
        Self::Manual,
        Self::Threshold,
        Self::Overflow,
        Self::Requested,
        Self::Idle,
        Self::Messages,
        Self::Bytes,
        Self::Media,
        Self::Downshift,
    ];

    /// When it is that, in a sentence of the documents.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Manual => "someone asked for it: `compact`, or the API of `serve`",
            Self::Threshold => "the request came to the point of `trigger.*`",
            Self::Overflow => "the provider refused a request as too long, or is sure to",
            Self::Requested => "a hook or a tool asked for it in the middle of a turn, which has ended now",
            Self::Idle => "nobody has said anything for `check.idle_seconds`",
            Self::Messages => "there are `trigger.messages` in view",
            Self::Bytes => "there are `trigger.bytes` in view",
            Self::Media => "there are `trigger.media` pictures in view",
            Self::Downshift => {
                "the conversation goes on with a model of a smaller window, in which the request came to that point"
            }
        }
    }

    /// What it means for the compaction: the one table of triggers.
    pub fn kind(self) -> TriggerKind {
        let automatic = TriggerKind {
            source: RecordSource::Policy,
            is_full: false,
            is_halved: false,
            must_progress: true,
        };
        match self {
            Self::Manual => TriggerKind {
                source: RecordSource::Person,
                is_halved: true,
                must_progress: false,
                ..automatic
            },
            Self::Threshold | Self::Downshift => TriggerKind { is_full: true, ..automatic },
            // A request that overflowed need only fit; where it does by our count, the window is not what we think.
            Self::Overflow => TriggerKind {
                source: RecordSource::Provider,
                is_full: true,
                is_halved: true,
                must_progress: false,
            },
            Self::Requested => TriggerKind { source: RecordSource::Hook, ..automatic },
            Self::Idle => automatic,
            Self::Messages | Self::Bytes | Self::Media => TriggerKind { is_halved: true, ..automatic },
        }
    }

    /// Whether a person asked for it; all others are automatic.
    pub fn is_manual(self) -> bool {
        self.kind().source == RecordSource::Person
    }
}

/// What a format can say about a compacted context. What it cannot say, the summary covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expressible {
    /// Messages kept in front of the summary.
    pub front: bool,
    /// Messages shown in another form than they were written.
    pub forms: bool,
}

impl Expressible {
    /// Everything, as our own form and a live session can.
    pub const ALL: Self = Self { front: true, forms: true };
}

/// A message with its entry, read from the archive.
pub type Original = (EntryId, Arc<Message>);

/// What a summary is made from and checked against: the messages a compaction takes out of view, those it
/// leaves, and the means to count them.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// Messages that will not be shown verbatim, oldest first. Those that earlier compactions took out of
    /// view are among them, since a summary is made from originals and never from a summary of ours; so are
    /// those that stay in view cut.
    pub superseded: &'a [Original],
    /// Every message that left view or is cut, read again or not, oldest first: what pointers may name.
    pub addressable: &'a [EntryId],
    /// Messages that stay in view, oldest first, as they are shown.
    pub visible: &'a [Original],
    /// Files, commands and todos of messages too far back to be read again; none where all are read.
    pub earlier: Option<&'a Ledger>,
    /// Prose of earlier compactions that others wrote, oldest first: the transcript's own tool, and a model for us.
    pub previous: &'a [&'a str],
    /// What the person asked the summary to dwell on.
    pub focus: Option<&'a str>,
    /// How to count.
    pub measure: &'a dyn Measure,
    /// What was found in these messages before.
    pub digests: &'a DigestCache,
}

impl<'a> Job<'a> {
    /// What the context is derived with.
    pub fn reader(&self) -> LogReader<'a> {
        LogReader { log: self.log, sizes: self.sizes, measure: self.measure, archive: self.archive }
    }

    /// What the history may take at the very most. After an overflow the provider's word counts, as far as
    /// it can be true: it may have counted more than the history.
    pub(crate) fn room(&self) -> Tokens {
        let room = self.budget.room();
        let freed = |over: Tokens| self.context.tokens().less(over.share(GAP_SHARE.0, GAP_SHARE.1));
        let least = room.share(GAP_ROOM_SHARE_MIN.0, GAP_ROOM_SHARE_MIN.1);
        self.circumstances.over.map_or(room, |over| freed(over).clamp(least, room))
    }

    /// The first message a person wrote.
    pub fn first_said(&self) -> Option<EntryId> {
        self.history.iter().copied().find(|&id| self.is_said(id))
    }

    /// The newest message a person wrote.
    pub fn newest_said(&self) -> Option<EntryId> {
        self.history.iter().rev().copied().find(|&id| self.is_said(id))
    }

    fn is_said(&self, id: EntryId) -> bool {
        let is_said = |item: &Item| {
            item.author == Author::Person && item.role != Role::System && item.answers.is_empty()
        };
        self.log.item(id).is_some_and(is_said)
    }

    /// What is being worked on, as far as the policy keeps it in any case: no compaction may hide it, whichever path it was made on.
    pub fn worked_on(&self) -> Vec<EntryId> {
        crate::keep::worked_on(self)
    }

    /// Those of `superseded` that a summary is made from: all but what is too far back, of which it
    /// reads what people said.
    pub(crate) fn readable(&self, superseded: &[EntryId]) -> Vec<EntryId> {
        let first = self.history.get(self.earlier.count);
        let far = first.map_or(0, |first| superseded.partition_point(|id| id < first));
        let is_said = |id: &EntryId| self.is_said(*id) || self.earlier.answers.contains(*id);
        let said = superseded[..far].iter().rev().copied().filter(is_said);
        let mut readable: Vec<EntryId> = said.take(FAR_SAID_MAX).collect();
        readable.reverse();
        readable.extend(&superseded[far..]);
        readable
    }

    /// Summaries to be read as prose, oldest first: those of the transcript's own tool, and our newest
    /// where it stands for messages that are not read again. What our others stand for is
    /// summarised anew from the originals.
    pub(crate) fn prose(&self) -> Vec<&'a str> {
        let mut texts = self.summaries();
        let ours = texts.iter().rposition(|text| fence::is_ours(text)).filter(|_| self.earlier.count > 0);
        let mut at = 0;
        texts.retain(|text| {
            at += 1;
            !fence::is_ours(text) || ours == Some(at - 1)
        });
        texts
    }

    /// What a model wrote of the newest summary of ours that it wrote prose for; none where the transcript's own tool
    /// has summarised since, as that covers it.
    pub(crate) fn own_prose(&self) -> Option<&'a str> {
        let summary = |&id: &EntryId| Some((id, self.log.compaction(id)?.summary.as_ref()?));
        let newest = self.compactions.iter().rev().filter_map(summary);
        let mut told =
            newest.map(|(id, text)| (text, fence::is_ours(text), self.digests.has_prose(id, text)));
        let (text, ..) = told.find(|(_, is_ours, has_prose)| !is_ours || *has_prose)?;
        fence::prose(text)
    }

    /// The summaries of the path, oldest first.
    fn summaries(&self) -> Vec<&'a str> {
        self.compactions.iter().filter_map(|&id| self.log.compaction(id)?.summary.as_deref()).collect()
    }
}
