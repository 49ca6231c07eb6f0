//! Marks: what is decided about a path, typed, each checked before it enters a log.
//!
//! A mark is anchored at a message and holds on every path that passes it. An edit is anchored at the newest message
//! it edits, so that what a prefix looks like follows from the prefix alone; most others at the message that was
//! newest when they were made. A compaction also *covers* a prefix: other paths through its last covered message may
//! apply it ([`Mark::Apply`]) instead of making one of their own.

mod undone;

pub use undone::UndoneMarks;

use crate::text_hash::TextMap;
use crate::{Compaction, Edit, Entry, EntryId, Form, Log, LogError, Record, Tail, Tokens};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Something decided about a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// Part of the history gave way to a summary, or simply gave way.
    Compaction {
        /// What it did.
        compaction: Box<Compaction>,
        /// How it came about.
        record: Arc<Record>,
    },
    /// Messages are shown in another form.
    Edit {
        /// What it did.
        edit: Edit,
        /// How it came about.
        record: Arc<Record>,
    },
    /// A compaction or edit made on another path through the same prefix is used on this one too.
    Apply {
        /// The compaction or edit.
        of: EntryId,
    },
    /// A compaction or edit no longer counts on this path.
    Undo {
        /// The compaction or edit.
        of: EntryId,
    },
    /// One that was undone counts again.
    Redo {
        /// The compaction or edit.
        of: EntryId,
    },
    /// A message is never to be superseded.
    Pin {
        /// The message.
        of: EntryId,
    },
    /// A message may be superseded again.
    Unpin {
        /// The message.
        of: EntryId,
    },
    /// A person's name for the place.
    Label {
        /// In their words.
        text: Arc<str>,
    },
    /// What a person thinks of a compaction or edit; the newest word counts.
    Judgement {
        /// The compaction or edit.
        of: EntryId,
        /// What they think.
        judgement: Judgement,
    },
    /// What the provider said of the call whose reply the mark is anchored at.
    Usage(UsageMark),
    /// A compaction that was due was tried in vain.
    Failure,
    /// What cannot be reduced does not fit the window.
    Floor {
        /// All of it, the answer's reserve included.
        tokens: Tokens,
    },
    /// The context was full again right after a compaction, once too often.
    Refill,
    /// The work waits for a person.
    Hold {
        /// Why.
        why: Arc<str>,
    },
    /// A person closed the breaker: automatic compaction may run again.
    Reset,
    /// A compaction is wanted at the end of the turn, or no longer is.
    Request {
        /// Whether it is still to be done.
        is_open: bool,
    },
    /// A compaction would have been made here, had whoever watches been allowed to change anything. Nothing was changed.
    Observation {
        /// How it would have come about.
        record: Arc<Record>,
        /// What requests on the path would have had less from here on by all that was observed so far, as the provider counts.
        saved: Tokens,
    },
}

/// Token usage of one call, and what the same request took by our own count. What one model's provider counted says
/// nothing of another's requests, so it counts while the session is held with the model it names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageMark {
    /// Prompt and answer, as the provider counted them.
    pub tokens: Tokens,
    /// The same by our own count.
    pub counted: Tokens,
    /// The prompt alone, as the provider counted it.
    #[serde(default, skip_serializing_if = "Tokens::is_zero")]
    pub prompt: Tokens,
    /// The prompt by our own count.
    #[serde(default, skip_serializing_if = "Tokens::is_zero")]
    pub prompt_counted: Tokens,
    /// Of the prompt, what the provider read from its cache.
    #[serde(default, skip_serializing_if = "Tokens::is_zero")]
    pub cache_read: Tokens,
    /// Of the prompt, what the provider wrote to its cache.
    #[serde(default, skip_serializing_if = "Tokens::is_zero")]
    pub cache_write: Tokens,
    /// The model that was called; it counts for any where nothing is said. A mark that says nothing at all ends what
    /// was known.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub model: Arc<str>,
    /// Whether the provider said nothing, and both figures are our own count: kept for whoever adds up what calls took, and no
    /// measure of the context.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_estimated: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What a person thinks of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// In a word.
    pub flag: Flag,
    /// In their own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
}

/// A compaction, judged in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flag {
    /// It kept what matters.
    Good,
    /// It did not.
    Bad,
    /// Neither.
    #[default]
    Neutral,
}

/// What compactions and edits have in common.
struct PassParts<'m> {
    record: &'m Arc<Record>,
    forms: &'m [(EntryId, Form)],
}

impl Mark {
    /// A compaction of which nothing else is known.
    pub fn compaction(compaction: Compaction) -> Self {
        Self::Compaction { compaction: Box::new(compaction), record: Arc::default() }
    }

    /// How a compaction or edit came about.
    pub fn record(&self) -> Option<&Arc<Record>> {
        self.pass().map(|pass| pass.record)
    }

    /// Forms that messages take on by a compaction or edit.
    pub fn forms(&self) -> Option<&[(EntryId, Form)]> {
        self.pass().map(|pass| pass.forms)
    }

    /// What a compaction or edit brings; nothing for other marks.
    fn pass(&self) -> Option<PassParts<'_>> {
        match self {
            Self::Compaction { compaction, record } => Some(PassParts { record, forms: &compaction.forms }),
            Self::Edit { edit, record } => Some(PassParts { record, forms: &edit.forms }),
            Self::Apply { .. }
            | Self::Undo { .. }
            | Self::Redo { .. }
            | Self::Pin { .. }
            | Self::Unpin { .. }
            | Self::Label { .. }
            | Self::Judgement { .. }
            | Self::Usage(_)
            | Self::Failure
            | Self::Floor { .. }
            | Self::Refill
            | Self::Hold { .. }
            | Self::Reset
            | Self::Request { .. }
            | Self::Observation { .. } => None,
        }
    }

    /// The same mark, with the marks it names called otherwise.
    #[must_use]
    pub fn with_targets(&self, name: impl Fn(EntryId) -> EntryId) -> Self {
        match self {
            Self::Apply { of } => Self::Apply { of: name(*of) },
            Self::Undo { of } => Self::Undo { of: name(*of) },
            Self::Redo { of } => Self::Redo { of: name(*of) },
            Self::Judgement { of, judgement } => {
                Self::Judgement { of: name(*of), judgement: judgement.clone() }
            }
            Self::Compaction { .. }
            | Self::Edit { .. }
            | Self::Pin { .. }
            | Self::Unpin { .. }
            | Self::Label { .. }
            | Self::Usage(_)
            | Self::Failure
            | Self::Floor { .. }
            | Self::Refill
            | Self::Hold { .. }
            | Self::Reset
            | Self::Request { .. }
            | Self::Observation { .. } => self.clone(),
        }
    }

    /// Refuses a mark that names what it cannot mean.
    pub(crate) fn check(&self, log: &Log, anchor: Option<EntryId>) -> Result<(), LogError> {
        match self {
            Self::Compaction { compaction, .. } => {
                let path = PathMessages::of(log, anchor);
                compaction.forms.iter().try_for_each(|(id, _)| path.check("a compaction", *id))?;
                check_compaction(compaction, &path, anchor)
            }
            Self::Edit { edit, .. } => {
                let path = PathMessages::of(log, anchor);
                edit.forms.iter().try_for_each(|(id, _)| path.check("an edit", *id))
            }
            // On another path a pass is held against that path; forms of messages that are not on it say nothing there.
            Self::Apply { of } => match log.mark_of(*of) {
                Some(Self::Compaction { compaction, .. }) => {
                    check_compaction(compaction, &PathMessages::of(log, anchor), anchor)
                }
                Some(edit @ Self::Edit { .. }) => edit.check(log, anchor),
                Some(_) | None => Err(LogError::NotAPass { what: "an application", id: *of }),
            },
            Self::Undo { of } => check_held("an undo", log, *of, anchor),
            Self::Redo { of } => check_held("a redo", log, *of, anchor),
            Self::Judgement { of, .. } => check_pass("a judgement", log, *of),
            Self::Pin { of } => PathMessages::of(log, anchor).check("a pin", *of),
            Self::Unpin { of } => PathMessages::of(log, anchor).check("an unpin", *of),
            Self::Label { .. }
            | Self::Usage(_)
            | Self::Failure
            | Self::Floor { .. }
            | Self::Refill
            | Self::Hold { .. }
            | Self::Reset
            | Self::Request { .. }
            | Self::Observation { .. } => Ok(()),
        }
    }
}

fn check_pass(what: &'static str, log: &Log, id: EntryId) -> Result<(), LogError> {
    match log.mark_of(id) {
        Some(Mark::Compaction { .. } | Mark::Edit { .. }) => Ok(()),
        Some(_) | None => Err(LogError::NotAPass { what, id }),
    }
}

/// Refuses to name a compaction or edit that is neither in use on the path, taken back there or not, nor could be.
fn check_held(what: &'static str, log: &Log, id: EntryId, leaf: Option<EntryId>) -> Result<(), LogError> {
    check_pass(what, log, id)?;
    let marks = log.marks_on(&log.path_of(leaf));
    let has_place = marks.into_iter().any(|mark| log.pass_of(mark) == id) || log.can_apply(id, leaf);
    has_place.then_some(()).ok_or(LogError::NotHeld { what, id })
}

/// The messages of a path.
struct PathMessages<'l> {
    log: &'l Log,
    messages: Vec<EntryId>,
    /// The same with what a transcript's own tool recorded between them.
    entries: Vec<EntryId>,
}

impl<'l> PathMessages<'l> {
    fn of(log: &'l Log, leaf: Option<EntryId>) -> Self {
        let entries = log.path_of(leaf);
        let messages = entries.iter().copied().filter(|&id| log.item(id).is_some()).collect();
        Self { log, messages, entries }
    }

    fn check(&self, what: &'static str, id: EntryId) -> Result<(), LogError> {
        // Along a path ids only grow, so its messages are sorted.
        self.messages.binary_search(&id).map(drop).map_err(|_| LogError::NotOnPath { what, id })
    }

    /// Every call with what answers it; the nearest call of an id counts.
    fn pairs(&self) -> Vec<(EntryId, EntryId)> {
        let mut made = TextMap::default();
        let mut pairs = Vec::new();
        for &id in &self.messages {
            let Some(item) = self.log.item(id) else { continue };
            pairs.extend(item.answers.iter().filter_map(|call| Some((*made.get(call)?, id))));
            made.extend(item.calls.iter().map(|call| (call, id)));
        }
        pairs
    }

    /// Whether a call had left view before its answer came: the model had gone on without it, and no
    /// compaction can join them again.
    fn is_late(&self, call: EntryId, answer: EntryId) -> bool {
        let hides = |id: EntryId| {
            let compaction = self.log.compaction(self.log.pass_of(id));
            compaction.is_some_and(|compaction| compaction.hides(call))
        };
        let between = self.entries.iter().filter(|&&id| (call..answer).contains(&id));
        between.copied().any(|id| hides(id) || self.log.marks_at(Some(id)).iter().any(|&mark| hides(mark)))
    }
}

/// Refuses a compaction that names what is not on its path, shows a message twice, or splits an exchange. What a
/// transcript's own tool recorded is no mark, and is taken as it is: it is that tool's word.
fn check_compaction(
    compaction: &Compaction,
    path: &PathMessages<'_>,
    leaf: Option<EntryId>,
) -> Result<(), LogError> {
    let anchor = compaction.anchor().or(leaf);
    let behind: &[EntryId] = match &compaction.tail {
        Tail::Nothing => &[],
        Tail::From(first) => std::slice::from_ref(first),
        Tail::These(ids) => ids,
        Tail::After { kept, .. } => kept,
    };
    let mut named = compaction.anchor().into_iter().chain(compaction.front.iter().chain(behind).copied());
    named.try_for_each(|id| path.check("a compaction", id))?;
    check_order(&compaction.front, anchor)?;
    check_order(behind, anchor)?;
    if let Some(&id) = behind.iter().find(|id| compaction.front.contains(id)) {
        return Err(LogError::Disorder { id });
    }
    // Both lists are in order by now, and every exchange of the path is asked about.
    let is_named =
        |id: EntryId| compaction.front.binary_search(&id).is_ok() || behind.binary_search(&id).is_ok();
    let is_covered = |id: EntryId| compaction.anchor().is_some_and(|anchor| id <= anchor) && !is_named(id);
    let is_split = |&(call, answer): &(EntryId, EntryId)| {
        let is_gone = is_covered(call) && is_covered(answer);
        !is_gone && compaction.hides(call) != compaction.hides(answer) && !path.is_late(call, answer)
    };
    match path.pairs().into_iter().find(is_split) {
        Some((call, answer)) => Err(LogError::SplitExchange { call, answer }),
        None => Ok(()),
    }
}

fn check_order(ids: &[EntryId], anchor: Option<EntryId>) -> Result<(), LogError> {
    let twice = ids.windows(2).find(|pair| pair[0] >= pair[1]).map(|pair| pair[1]);
    let beyond = ids.last().copied().filter(|&last| Some(last) > anchor);
    twice.or(beyond).map_or(Ok(()), |id| Err(LogError::Disorder { id }))
}

/// Whether an entry changes what the model sees of those before it.
pub fn rebuilds(entry: &Entry) -> bool {
    match entry {
        Entry::Recorded(_) => true,
        Entry::Mark(mark) => match mark {
            Mark::Compaction { .. }
            | Mark::Edit { .. }
            | Mark::Apply { .. }
            | Mark::Undo { .. }
            | Mark::Redo { .. }
            // What is pinned comes back into view where it was out of it.
            | Mark::Pin { .. }
            | Mark::Unpin { .. } => true,
            Mark::Label { .. }
            | Mark::Judgement { .. }
            | Mark::Usage(_)
            | Mark::Failure
            | Mark::Floor { .. }
            | Mark::Refill
            | Mark::Hold { .. }
            | Mark::Reset
            | Mark::Request { .. }
            | Mark::Observation { .. } => false,
        },
        Entry::Message(_) | Entry::Note { .. } => false,
    }
}
