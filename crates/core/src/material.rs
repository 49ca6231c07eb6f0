//! What a summary is made from and checked against.

use crate::{Archive, EntryId, Measure, ledger::Ledger};

/// The messages a compaction takes out of view, those it leaves, and the means to read and count them.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// Messages that will not be shown verbatim, oldest first. Those that earlier compactions took
    /// out of view are among them: a summary is made from originals, never from a summary of ours.
    pub superseded: &'a [EntryId],
    /// Every message that left view, read again or not: what pointers may name.
    pub addressable: &'a [EntryId],
    /// Messages that stay in view verbatim, oldest first.
    pub visible: &'a [EntryId],
    /// Files, commands and todos of messages too far back to be read again; none where all are read.
    pub earlier: Option<&'a Ledger>,
    /// Prose of earlier compactions by others (the transcript's own tool), oldest first.
    pub previous: &'a [&'a str],
    /// What the person asked the summary to dwell on.
    pub focus: Option<&'a str>,
    /// Where the originals are.
    pub archive: &'a dyn Archive,
    /// How to count.
    pub measure: &'a dyn Measure,
}
