//! Marks as version 2 writes them: one tagged object each. The core's types may change; what stands here is
//! what files hold.

use super::record;
use epitome_core::{Compaction, Edit, EntryId, Form, Judgement, Mark, Record, Tokens, UsageMark};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A mark on its way to or from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mark", rename_all = "lowercase")]
pub enum WrittenMark {
    /// Part of the history gave way to a summary.
    Compaction {
        /// What it did.
        compaction: Box<Compaction>,
        /// How it came about.
        #[serde(with = "record")]
        record: Arc<Record>,
    },
    /// Messages are shown in another form.
    Edit {
        /// Each with its form.
        forms: Vec<(EntryId, Form)>,
        /// How it came about.
        #[serde(with = "record")]
        record: Arc<Record>,
    },
    /// A compaction or edit of another path is used.
    Apply {
        /// Which.
        of: EntryId,
    },
    /// A compaction or edit no longer counts.
    Undo {
        /// Which.
        of: EntryId,
    },
    /// It counts again.
    Redo {
        /// Which.
        of: EntryId,
    },
    /// A message is never to be superseded.
    Pin {
        /// Which.
        of: EntryId,
    },
    /// It may be again.
    Unpin {
        /// Which.
        of: EntryId,
    },
    /// A person's name for the place.
    Label {
        /// In their words.
        text: Arc<str>,
    },
    /// What a person thinks of a compaction.
    Judgement {
        /// Which.
        of: EntryId,
        /// What they think.
        #[serde(flatten)]
        judgement: Judgement,
    },
    /// What the provider said of a call.
    Usage(UsageMark),
    /// A compaction was tried in vain.
    Failure,
    /// What cannot be reduced does not fit.
    Floor {
        /// All of it.
        tokens: Tokens,
    },
    /// Full again right after a compaction, once too often.
    Refill,
    /// The work waits for a person.
    Hold {
        /// Why.
        why: Arc<str>,
    },
    /// A person closed the breaker.
    Reset,
    /// A compaction is wanted at the end of the turn, or no longer is.
    Request {
        /// Whether it is still to be done.
        open: bool,
    },
    /// A compaction would have been made here, and was not.
    Observation {
        /// How it would have come about.
        #[serde(with = "record")]
        record: Arc<Record>,
        /// What requests would have had less from here on.
        saved: Tokens,
    },
}

impl From<Mark> for WrittenMark {
    fn from(mark: Mark) -> Self {
        match mark {
            Mark::Compaction { compaction, record } => Self::Compaction { compaction, record },
            Mark::Edit { edit, record } => Self::Edit { forms: edit.forms, record },
            Mark::Apply { of } => Self::Apply { of },
            Mark::Undo { of } => Self::Undo { of },
            Mark::Redo { of } => Self::Redo { of },
            Mark::Pin { of } => Self::Pin { of },
            Mark::Unpin { of } => Self::Unpin { of },
            Mark::Label { text } => Self::Label { text },
            Mark::Judgement { of, judgement } => Self::Judgement { of, judgement },
            Mark::Usage(usage) => Self::Usage(usage),
            Mark::Failure => Self::Failure,
            Mark::Floor { tokens } => Self::Floor { tokens },
            Mark::Refill => Self::Refill,
            Mark::Hold { why } => Self::Hold { why },
            Mark::Reset => Self::Reset,
            Mark::Request { is_open } => Self::Request { open: is_open },
            Mark::Observation { record, saved } => Self::Observation { record, saved },
        }
    }
}

impl From<WrittenMark> for Mark {
    fn from(written: WrittenMark) -> Self {
        match written {
            WrittenMark::Compaction { compaction, record } => Self::Compaction { compaction, record },
            WrittenMark::Edit { forms, record } => Self::Edit { edit: Edit { forms }, record },
            WrittenMark::Apply { of } => Self::Apply { of },
            WrittenMark::Undo { of } => Self::Undo { of },
            WrittenMark::Redo { of } => Self::Redo { of },
            WrittenMark::Pin { of } => Self::Pin { of },
            WrittenMark::Unpin { of } => Self::Unpin { of },
            WrittenMark::Label { text } => Self::Label { text },
            WrittenMark::Judgement { of, judgement } => Self::Judgement { of, judgement },
            WrittenMark::Usage(usage) => Self::Usage(usage),
            WrittenMark::Failure => Self::Failure,
            WrittenMark::Floor { tokens } => Self::Floor { tokens },
            WrittenMark::Refill => Self::Refill,
            WrittenMark::Hold { why } => Self::Hold { why },
            WrittenMark::Reset => Self::Reset,
            WrittenMark::Request { open } => Self::Request { is_open: open },
            WrittenMark::Observation { record, saved } => Self::Observation { record, saved },
        }
    }
}

impl WrittenMark {
    /// Whether a pass of compaction left it.
    pub(super) fn is_pass(&self) -> bool {
        match self {
            Self::Compaction { .. } | Self::Edit { .. } => true,
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
            | Self::Observation { .. } => false,
        }
    }
}
