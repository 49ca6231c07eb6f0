//! What the model sees of a history: slots in order, with running token sums, derived from the log
//! and never stored.
//!
//! A slot is pushed for each new message at a cost that does not depend on how many there are;
//! only a compaction, an edit or an undo walks the live slots again.

use crate::{
    Archive, ArchiveError, Author, CallId, Compaction, Entry, EntryId, Form, Item, Log, Measure, Message,
    Role, Shown, Summary, Tail, Tokens,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// One thing the model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A message, in some form.
    Message {
        /// Its entry.
        id: EntryId,
        /// How it is shown.
        form: Form,
    },
    /// The summary a compaction left.
    Summary {
        /// The compaction's entry.
        id: EntryId,
    },
}

impl Slot {
    /// The entry behind the slot.
    pub fn id(&self) -> EntryId {
        match self {
            Self::Message { id, .. } | Self::Summary { id } => *id,
        }
    }
}

/// The live slots of a history, where they may be cut, and what they take.
#[derive(Clone, Debug, Default)]
pub struct Context {
    slots: Vec<Slot>,
    /// `sums[i]` is what the slots before `i` take; one longer than `slots`.
    sums: Vec<Tokens>,
    /// Slots at which an exchange, or a message outside one, begins.
    units: Vec<u32>,
    /// Slots at which a turn begins.
    turns: Vec<u32>,
    /// The newest slot that made each call.
    calls: HashMap<CallId, u32>,
    /// Calls of the newest assistant message that are not answered yet.
    open: HashSet<CallId>,
}

impl Context {
    /// The context of the branch that ends in `leaf`.
    pub fn of(
        log: &Log,
        leaf: EntryId,
        measure: &dyn Measure,
        archive: &dyn Archive,
    ) -> Result<Self, ArchiveError> {
        let branch = log.branch(leaf);
        let undone: HashSet<EntryId> = branch.iter().filter_map(|&id| undone_by(log, id)).collect();
        let mut context = Self::empty();
        for id in branch {
            if !undone.contains(&id) {
                context.take(log, id, measure, archive)?;
            }
        }
        Ok(context)
    }

    fn empty() -> Self {
        Self { sums: vec![Tokens::ZERO], ..Self::default() }
    }

    /// Takes up one more entry of the branch.
    pub fn take(
        &mut self,
        log: &Log,
        id: EntryId,
        measure: &dyn Measure,
        archive: &dyn Archive,
    ) -> Result<(), ArchiveError> {
        match log.get(id) {
            Some(Entry::Message(item)) => self.push(id, item),
            Some(Entry::Compaction(compaction)) => self.compact(log, id, compaction, measure, archive)?,
            Some(Entry::Edit(edit)) => self.show(log, &edit.forms, measure, archive)?,
            Some(Entry::Undo { of }) => {
                debug_assert!(log.get(*of).is_some(), "an undo names what it takes back");
                *self = Self::of(log, id, measure, archive)?;
            }
            Some(Entry::Note { .. }) | None => {}
        }
        Ok(())
    }

    fn push(&mut self, id: EntryId, item: &Item) {
        if self.sums.is_empty() {
            self.sums.push(Tokens::ZERO);
        }
        self.push_slot(Slot::Message { id, form: Form::WHOLE }, Some(item), item.sizes.total());
    }

    fn push_slot(&mut self, slot: Slot, item: Option<&Item>, tokens: Tokens) {
        let at = self.slots.len() as u32;
        self.units.push(at);
        self.slots.push(slot);
        self.sums.push(self.sums[at as usize] + tokens);
        let Some(item) = item else { return };
        for call in &item.answers {
            self.open.remove(call);
            if let Some(&made) = self.calls.get(call) {
                // The exchange reaches from the call to this answer; what stands between belongs to it.
                while self.units.last().is_some_and(|&start| start > made) {
                    self.units.pop();
                }
            }
        }
        if item.role == Role::Assistant {
            self.open.clear();
        }
        for call in &item.calls {
            self.calls.insert(call.clone(), at);
            self.open.insert(call.clone());
        }
        if item.opens_turn() {
            self.turns.push(at);
        }
    }

    fn compact(
        &mut self,
        log: &Log,
        id: EntryId,
        compaction: &Compaction,
        measure: &dyn Measure,
        archive: &dyn Archive,
    ) -> Result<(), ArchiveError> {
        let old = std::mem::replace(self, Self::empty());
        let forms: HashMap<EntryId, (Form, Tokens)> =
            old.message_slots().map(|(id, form, tokens)| (id, (form, tokens))).collect();
        for &kept in &compaction.before {
            self.keep(log, kept, &forms);
        }
        if let Some(Summary { tokens, .. }) = &compaction.summary {
            self.push_slot(Slot::Summary { id }, None, *tokens);
        }
        let tail: Vec<EntryId> = match &compaction.tail {
            Tail::Nothing => Vec::new(),
            Tail::These(ids) => ids.clone(),
            Tail::From(first) => old.message_slots().map(|(id, ..)| id).filter(|id| id >= first).collect(),
        };
        for kept in tail.into_iter().filter(|kept| !compaction.before.contains(kept)) {
            self.keep(log, kept, &forms);
        }
        self.show(log, &compaction.forms, measure, archive)
    }

    fn keep(&mut self, log: &Log, id: EntryId, forms: &HashMap<EntryId, (Form, Tokens)>) {
        let Some(item) = log.item(id) else { return };
        let (form, tokens) = forms.get(&id).copied().unwrap_or((Form::WHOLE, item.sizes.total()));
        self.push_slot(Slot::Message { id, form }, Some(item), tokens);
    }

    fn show(
        &mut self,
        log: &Log,
        changes: &[(EntryId, Form)],
        measure: &dyn Measure,
        archive: &dyn Archive,
    ) -> Result<(), ArchiveError> {
        if changes.is_empty() {
            return Ok(());
        }
        let changes: HashMap<EntryId, Form> = changes.iter().copied().collect();
        let mut sizes: Vec<Tokens> = self.sums.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (slot, size) in self.slots.iter_mut().zip(&mut sizes) {
            if let Slot::Message { id, form } = slot
                && let Some(change) = changes.get(id)
                && log.item(*id).is_some()
            {
                *form = form.and(*change);
                *size = measure.sizes(&form.apply(*id, &archive.message(*id)?, measure)).total();
            }
        }
        self.sums.truncate(1);
        for size in sizes {
            self.sums.push(self.sums[self.sums.len() - 1] + size);
        }
        Ok(())
    }

    /// The slots, oldest first.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// What all slots take together.
    pub fn tokens(&self) -> Tokens {
        self.sums.last().copied().unwrap_or_default()
    }

    /// What the slots from `start` up to, and not with, `end` take.
    pub fn tokens_between(&self, start: usize, end: usize) -> Tokens {
        self.sums[end] - self.sums[start]
    }

    /// What the slots before each position take; one longer than the slots.
    pub(crate) fn sums(&self) -> &[Tokens] {
        &self.sums
    }

    /// Where the context may be cut: before each of these slots.
    pub fn units(&self) -> &[u32] {
        &self.units
    }

    /// The slots at which turns begin.
    pub fn turns(&self) -> &[u32] {
        &self.turns
    }

    /// Whether the newest exchange still waits for results.
    pub fn has_open_call(&self) -> bool {
        !self.open.is_empty()
    }

    /// Messages in view with their form and size.
    pub fn message_slots(&self) -> impl DoubleEndedIterator<Item = (EntryId, Form, Tokens)> + '_ {
        self.slots.iter().enumerate().filter_map(|(at, slot)| match slot {
            Slot::Message { id, form } => Some((*id, *form, self.tokens_between(at, at + 1))),
            Slot::Summary { .. } => None,
        })
    }

    /// The summary in view, with the compaction that left it.
    pub fn summary<'l>(&self, log: &'l Log) -> Option<(EntryId, &'l Summary)> {
        self.slots.iter().rev().find_map(|slot| match slot {
            Slot::Summary { id } => summary_of(log, *id).map(|summary| (*id, summary)),
            Slot::Message { .. } => None,
        })
    }

    /// Everything in view, as messages: forms applied, the summary in the user's role.
    pub fn shown(
        &self,
        log: &Log,
        measure: &dyn Measure,
        archive: &dyn Archive,
    ) -> Result<Vec<Shown>, ArchiveError> {
        let mut shown = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            match slot {
                Slot::Message { id, form } => {
                    shown.push(Shown {
                        id: Some(*id),
                        message: form.apply(*id, &archive.message(*id)?, measure),
                    });
                }
                Slot::Summary { id } => shown.extend(summary_of(log, *id).map(summary_message)),
            }
        }
        Ok(shown)
    }
}

fn undone_by(log: &Log, id: EntryId) -> Option<EntryId> {
    match log.get(id)? {
        Entry::Undo { of } => Some(*of),
        Entry::Message(_) | Entry::Compaction(_) | Entry::Edit(_) | Entry::Note { .. } => None,
    }
}

fn summary_of(log: &Log, id: EntryId) -> Option<&Summary> {
    match log.get(id)? {
        Entry::Compaction(compaction) => compaction.summary.as_ref(),
        Entry::Message(_) | Entry::Edit(_) | Entry::Undo { .. } | Entry::Note { .. } => None,
    }
}

fn summary_message(summary: &Summary) -> Shown {
    Shown { id: None, message: Arc::new(Message::text(Role::User, Author::Harness, summary.text.clone())) }
}
