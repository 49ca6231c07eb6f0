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
    /// Messages in view that are not whole, with what they take.
    edited: HashMap<EntryId, (Form, Tokens)>,
    /// How many messages came since the newest compaction or edit.
    fresh: usize,
    /// Whether the newest of these was an edit.
    is_edited: bool,
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
            if !undone.contains(&id) && undone_by(log, id).is_none() {
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
            Some(Entry::Edit(edit)) => {
                self.show(log, &edit.forms, measure, archive)?;
                (self.fresh, self.is_edited) = (0, true);
            }
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
        self.fresh += 1;
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
        for &kept in &compaction.before {
            self.keep(log, kept, &old);
        }
        if let Some(Summary { tokens, .. }) = &compaction.summary {
            self.push_slot(Slot::Summary { id }, None, *tokens);
        }
        for kept in
            old.tail_ids(&compaction.tail).into_iter().filter(|kept| !compaction.before.contains(kept))
        {
            self.keep(log, kept, &old);
        }
        self.show(log, &compaction.forms, measure, archive)
    }

    /// The messages a tail names, oldest first.
    pub fn tail_ids(&self, tail: &Tail) -> Vec<EntryId> {
        match tail {
            Tail::Nothing => Vec::new(),
            Tail::These(ids) => ids.clone(),
            Tail::From(first) => {
                let newest_first = self.slots.iter().rev().map_while(|slot| match slot {
                    Slot::Message { id, .. } if id >= first => Some(*id),
                    Slot::Message { .. } | Slot::Summary { .. } => None,
                });
                let mut ids: Vec<EntryId> = newest_first.collect();
                ids.reverse();
                ids
            }
        }
    }

    fn keep(&mut self, log: &Log, id: EntryId, old: &Self) {
        let Some(item) = log.item(id) else { return };
        let edited = old.edited.get(&id).copied();
        let (form, tokens) = edited.unwrap_or((Form::WHOLE, item.sizes.total()));
        self.edited.extend(edited.map(|shown| (id, shown)));
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
        let mut sum = Tokens::ZERO;
        for at in 0..self.slots.len() {
            let mut tokens = self.sums[at + 1] - std::mem::replace(&mut self.sums[at], sum);
            if let Slot::Message { id, form } = &mut self.slots[at]
                && let Some((change, item)) = changes.get(id).zip(log.item(*id))
            {
                *form = form.and(*change);
                tokens = shown_tokens(item, *id, *form, measure, archive)?;
                self.edited.insert(*id, (*form, tokens));
            }
            sum += tokens;
        }
        if let Some(last) = self.sums.last_mut() {
            *last = sum;
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
        if start == end { Tokens::ZERO } else { self.sums[end] - self.sums[start] }
    }

    /// What each of the newest `count` slots takes, oldest first.
    pub fn newest_sizes(&self, count: usize) -> Vec<Tokens> {
        let slots = self.slots.len();
        (slots - count..slots).map(|at| self.tokens_between(at, at + 1)).collect()
    }

    /// What the newest `count` slots take together.
    pub fn newest_tokens(&self, count: usize) -> Tokens {
        self.tokens_between(self.slots.len() - count, self.slots.len())
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

    /// How many messages came since the newest compaction or edit; all of them where there is none.
    pub fn fresh(&self) -> usize {
        self.fresh
    }

    /// Whether the newest pass over the context edited it in place.
    pub fn is_edited(&self) -> bool {
        self.is_edited
    }

    /// Where the exchange begins that still waits for results, if one does.
    pub fn open_from(&self) -> Option<usize> {
        let call = self.open.iter().filter_map(|call| self.calls.get(call)).min()?;
        let after = self.units.partition_point(|start| start <= call);
        Some(self.units[after - 1] as usize)
    }

    /// The form of a message in view and what it takes in it; whole where nothing else is said.
    pub fn form_of(&self, log: &Log, id: EntryId) -> Option<(Form, Tokens)> {
        let whole = || log.item(id).map(|item| (Form::WHOLE, item.sizes.total()));
        self.edited.get(&id).copied().or_else(whole)
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

/// What a message takes in this form. Leaving out thinking alone is a subtraction; anything else is counted.
pub(crate) fn shown_tokens(
    item: &Item,
    id: EntryId,
    form: Form,
    measure: &dyn Measure,
    archive: &dyn Archive,
) -> Result<Tokens, ArchiveError> {
    let rest = item.sizes.total().less(item.sizes.thinking);
    if form == (Form { thinking: true, ..Form::WHOLE }) && rest > item.sizes.framing {
        return Ok(rest);
    }
    Ok(measure.sizes(&form.apply(id, &archive.message(id)?, measure)).total())
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
