//! What the model sees of a path: slots in order, with running token sums, derived from the log and never
//! stored. Which marks hold on a path is the log's to say; how a message is shown is [`Form`]'s.
//!
//! A slot is pushed for each new message at a cost that does not depend on how many there are;
//! only a compaction, an edit or an undo walks the live slots again.

use crate::mark::{Mark, UndoneMarks, rebuilds};
use crate::{
    Archive, ArchiveError, Author, CallId, Compaction, Entry, EntryId, Form, Item, Log, Measure, Message,
    MessageView, Role, SizeTable, Tail, Tokens,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a context is derived with: the log, what its messages take, and the means to count and read them.
#[derive(Clone, Copy)]
pub struct LogReader<'a> {
    /// The entries.
    pub log: &'a Log,
    /// What messages take, whole.
    pub sizes: &'a SizeTable,
    /// How to count what is not shown whole.
    pub measure: &'a dyn Measure,
    /// Where the originals are.
    pub archive: &'a dyn Archive,
}

impl LogReader<'_> {
    /// What a summary takes as a message of its own; counted where nobody has taken it down.
    fn summary_tokens(&self, id: EntryId, text: &str) -> Tokens {
        if self.sizes.has(id) {
            self.sizes.total(id)
        } else {
            self.measure.text(text) + self.measure.framing()
        }
    }
}

/// Whether an entry makes the context another one, so that what was told of the one before says nothing of it. An edit
/// shows the same messages.
pub fn is_other_context(entry: &Entry) -> bool {
    rebuilds(entry) && !matches!(entry, Entry::Mark(Mark::Edit { .. }))
}

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

    /// The message in it, where it holds one.
    pub fn message(&self) -> Option<EntryId> {
        match self {
            Self::Message { id, .. } => Some(*id),
            Self::Summary { .. } => None,
        }
    }
}

/// The live slots of a history, where they may be cut, and what they take.
#[derive(Clone, Debug)]
pub struct Context {
    slots: Vec<Slot>,
    /// `sums[i]` is what the slots before `i` take; one longer than `slots`.
    sums: Vec<Tokens>,
    /// Slots at which an exchange begins, with all that a harness appended to it, or a message outside one.
    units: Vec<u32>,
    /// Slots at which a turn begins.
    turns: Vec<u32>,
    /// Slots that hold an instruction given in the middle of a history.
    instructions: Vec<u32>,
    /// The newest slot that made each call.
    calls: HashMap<CallId, u32>,
    /// Calls of the newest assistant message that are not answered yet.
    open: HashSet<CallId>,
    /// Whether the newest slot belongs to an exchange: what a harness appends behind it does too.
    ends_in_exchange: bool,
    /// Messages in view that are not whole, with what they take.
    edited: HashMap<EntryId, (Form, Tokens)>,
    /// The newest message of the path that is out of view.
    anchor: Option<EntryId>,
    /// Pinned messages with their whole exchanges, oldest first.
    pins: Vec<EntryId>,
    /// Compactions and edits that were taken back.
    undone: UndoneMarks,
    /// Those that this reading of the path does without.
    ignored: Arc<HashSet<EntryId>>,
    /// How many messages came since the newest compaction.
    fresh: usize,
    /// The newest edit that counts.
    newest_edit: Option<EntryId>,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            sums: vec![Tokens::ZERO],
            units: Vec::new(),
            turns: Vec::new(),
            instructions: Vec::new(),
            calls: HashMap::new(),
            open: HashSet::new(),
            ends_in_exchange: false,
            edited: HashMap::new(),
            anchor: None,
            pins: Vec::new(),
            undone: UndoneMarks::default(),
            ignored: Arc::default(),
            fresh: 0,
            newest_edit: None,
        }
    }
}

impl Context {
    /// The context of the path that ends in `leaf`.
    pub fn of(leaf: Option<EntryId>, reader: LogReader<'_>) -> Result<Self, ArchiveError> {
        Self::of_ignoring(leaf, reader, Arc::default())
    }

    /// The same without some compactions and edits: those that were made for a smaller window, where this one has
    /// room for what they cover.
    pub fn of_ignoring(
        leaf: Option<EntryId>,
        reader: LogReader<'_>,
        ignored: Arc<HashSet<EntryId>>,
    ) -> Result<Self, ArchiveError> {
        let log = reader.log;
        let path = log.path_of(leaf);
        let marks = log.marks_on(&path);
        let (pins, undone) = (pins_on(log, &path, &marks), UndoneMarks::by(log, &marks));
        let mut context = Self { pins, undone, ignored, ..Self::default() };
        context.take_marks(None, reader)?;
        for id in path {
            context.take_path_entry(id, reader)?;
            context.take_marks(Some(id), reader)?;
        }
        Ok(context)
    }

    /// Whether another shows the same, may be cut at the same places, and counts it alike.
    pub fn is_same_view(&self, other: &Self) -> bool {
        (&self.slots, &self.sums, &self.units, &self.turns)
            == (&other.slots, &other.sums, &other.units, &other.turns)
            && (&self.pins, &self.edited, &self.open) == (&other.pins, &other.edited, &other.open)
            && (self.anchor, self.fresh, self.newest_edit) == (other.anchor, other.fresh, other.newest_edit)
    }

    /// Takes up one more entry: the next of the path, or a mark anchored at its end.
    pub fn take(&mut self, id: EntryId, reader: LogReader<'_>) -> Result<(), ArchiveError> {
        match reader.log.mark_of(id) {
            None => self.take_path_entry(id, reader),
            Some(Mark::Compaction { .. } | Mark::Edit { .. }) => self.apply(id, reader),
            Some(
                Mark::Apply { .. }
                | Mark::Undo { .. }
                | Mark::Redo { .. }
                | Mark::Pin { .. }
                | Mark::Unpin { .. },
            ) => {
                // What counts on this path, or is pinned on it, is another set now.
                *self = Self::of_ignoring(reader.log.parent(id), reader, self.ignored.clone())?;
                Ok(())
            }
            Some(
                Mark::Label { .. }
                | Mark::Judgement { .. }
                | Mark::Usage(_)
                | Mark::Failure
                | Mark::Floor { .. }
                | Mark::Refill
                | Mark::Hold { .. }
                | Mark::Reset
                | Mark::Request { .. }
                | Mark::Observation { .. },
            ) => Ok(()),
        }
    }

    fn take_path_entry(&mut self, id: EntryId, reader: LogReader<'_>) -> Result<(), ArchiveError> {
        match reader.log.get(id) {
            Some(Entry::Message(item)) => {
                self.fresh += 1;
                self.pin_with_exchange(id, item);
                self.push_slot(Slot::Message { id, form: Form::WHOLE }, Some(item), reader.sizes.total(id));
                Ok(())
            }
            Some(Entry::Recorded(compaction)) => self.compact(id, compaction, reader),
            Some(Entry::Note { .. } | Entry::Mark(_)) | None => Ok(()),
        }
    }

    fn take_marks(&mut self, anchor: Option<EntryId>, reader: LogReader<'_>) -> Result<(), ArchiveError> {
        for &id in reader.log.marks_at(anchor) {
            match reader.log.mark_of(id) {
                Some(Mark::Compaction { .. } | Mark::Edit { .. }) => self.apply(id, reader)?,
                Some(Mark::Apply { of }) => self.apply(*of, reader)?,
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    /// Puts a compaction or edit to use; one that was taken back, or covers less than another that is in
    /// use already, changes nothing.
    pub fn apply(&mut self, pass: EntryId, reader: LogReader<'_>) -> Result<(), ArchiveError> {
        if self.undone.contains(pass) || self.ignored.contains(&pass) {
            return Ok(());
        }
        match reader.log.mark_of(pass) {
            Some(Mark::Compaction { compaction, .. }) if self.gives_way_to(compaction) => {
                self.compact(pass, compaction, reader)
            }
            Some(Mark::Edit { edit, .. }) => {
                self.newest_edit = self.newest_edit.max(Some(pass));
                self.show(&edit.forms, reader)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether a compaction covers no less than what is in use. One that covers nothing only shows messages shorter, all of
    /// which are in view.
    fn gives_way_to(&self, compaction: &Compaction) -> bool {
        let has_summary = || self.slots.iter().any(|slot| matches!(slot, Slot::Summary { .. }));
        compaction.anchor() >= self.anchor || (compaction.anchor().is_none() && !has_summary())
    }

    /// What comes to a pinned exchange is pinned with it: its results, and what a harness appends to them.
    fn pin_with_exchange(&mut self, id: EntryId, item: &Item) {
        let called = item.answers.iter().find_map(|call| self.calls.get(call).map(|&at| at as usize));
        let appended = (item.is_appended() && self.ends_in_exchange).then(|| self.slots.len() - 1);
        let Some(slot) = called.or(appended).and_then(|at| self.slots.get(at)) else { return };
        let is_pinned = |id: EntryId| self.pins.binary_search(&id).is_ok();
        if is_pinned(slot.id()) && !is_pinned(id) {
            self.pins.push(id);
        }
    }

    fn push_slot(&mut self, slot: Slot, item: Option<&Item>, tokens: Tokens) {
        let at = self.slots.len() as u32;
        self.units.push(at);
        self.slots.push(slot);
        self.sums.push(self.sums[at as usize] + tokens);
        let Some(item) = item else {
            self.ends_in_exchange = false;
            return;
        };
        if item.is_appended() && self.ends_in_exchange {
            self.units.pop();
        }
        self.ends_in_exchange = item.is_exchange() || (item.is_appended() && self.ends_in_exchange);
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
        if item.role == Role::System {
            self.instructions.push(at);
        }
    }

    fn compact(
        &mut self,
        id: EntryId,
        compaction: &Compaction,
        reader: LogReader<'_>,
    ) -> Result<(), ArchiveError> {
        let fresh = Self {
            pins: self.pins.clone(),
            undone: self.undone.clone(),
            ignored: self.ignored.clone(),
            newest_edit: self.newest_edit,
            ..Self::default()
        };
        let old = std::mem::replace(self, fresh);
        let (front, tail) = (old.front_of(compaction), old.tail_of(&compaction.tail));
        let keep =
            |view: &mut Self, kept| view.keep(kept, old.shown_as(kept, &compaction.uncut, reader)?, reader);
        front.iter().try_for_each(|&kept| keep(self, kept))?;
        if let Some(text) = &compaction.summary {
            self.push_slot(Slot::Summary { id }, None, reader.summary_tokens(id, text));
        }
        // One that was made on another path knows nothing of what was said on this one behind what it covers.
        let record = reader.log.mark_of(id).and_then(Mark::record);
        let known = record.and_then(|record| record.change()).map(|change| &change.kept);
        for kept in tail.into_iter().filter(|kept| !front.contains(kept)) {
            self.fresh += usize::from(known.is_some_and(|known| !known.contains(&kept)));
            keep(self, kept)?;
        }
        let in_view: HashSet<EntryId> = self.message_slots().map(|(id, ..)| id).collect();
        // Newest first, so that few of the many that are hidden have to be looked up.
        let hidden = old.message_slots().rev().map(|(id, ..)| id).fold(None, |newest, id| {
            if Some(id) > newest && !in_view.contains(&id) { Some(id) } else { newest }
        });
        // A transcript's own tool may show again what was out of view.
        let still = old.anchor.filter(|anchor| !in_view.contains(anchor));
        self.anchor = still.max(hidden).max(compaction.anchor());
        self.show(&compaction.forms, reader)
    }

    /// What stands in front of a summary: what the compaction says, and what is pinned and would be hidden.
    fn front_of(&self, compaction: &Compaction) -> Vec<EntryId> {
        let Tail::After { anchor, kept } = &compaction.tail else { return compaction.front.clone() };
        let is_hidden = |pin: &&EntryId| **pin <= *anchor && !kept.contains(pin);
        let mut front: Vec<EntryId> =
            compaction.front.iter().chain(self.pins.iter().filter(is_hidden)).copied().collect();
        front.sort_unstable();
        front.dedup();
        front
    }

    /// The messages a tail means in this context, oldest first.
    pub fn tail_of(&self, tail: &Tail) -> Vec<EntryId> {
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
            Tail::After { anchor, kept } => {
                let behind = self.message_slots().map(|(id, ..)| id).filter(|id| id > anchor);
                kept.iter().copied().chain(behind).collect()
            }
        }
    }

    fn keep(
        &mut self,
        id: EntryId,
        edited: Option<(Form, Tokens)>,
        reader: LogReader<'_>,
    ) -> Result<(), ArchiveError> {
        let Some(item) = reader.log.item(id) else { return Ok(()) };
        let (form, tokens) = edited.unwrap_or((Form::WHOLE, reader.sizes.total(id)));
        self.edited.extend(edited.map(|shown| (id, shown)));
        self.push_slot(Slot::Message { id, form }, Some(item), tokens);
        Ok(())
    }

    /// How a message goes on being shown, where that is not whole, with `uncut` no longer cut.
    fn shown_as(
        &self,
        id: EntryId,
        uncut: &[EntryId],
        reader: LogReader<'_>,
    ) -> Result<Option<(Form, Tokens)>, ArchiveError> {
        let Some(&(form, tokens)) = self.edited.get(&id) else { return Ok(None) };
        if !uncut.contains(&id) {
            return Ok(Some((form, tokens)));
        }
        let form = form.uncut();
        if form == Form::WHOLE { Ok(None) } else { Ok(Some((form, shown_tokens(id, form, reader)?))) }
    }

    fn show(&mut self, changes: &[(EntryId, Form)], reader: LogReader<'_>) -> Result<(), ArchiveError> {
        if changes.is_empty() {
            return Ok(());
        }
        let changes: HashMap<EntryId, Form> = changes.iter().copied().collect();
        let mut sum = Tokens::ZERO;
        for at in 0..self.slots.len() {
            let mut tokens = self.sums[at + 1] - std::mem::replace(&mut self.sums[at], sum);
            if let Slot::Message { id, form } = &mut self.slots[at]
                && let Some(change) = changes.get(id)
            {
                *form = form.and(*change);
                tokens = shown_tokens(*id, *form, reader)?;
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
        self.sums[end] - self.sums[start]
    }

    /// What the newest `count` slots take together.
    pub fn newest_tokens(&self, count: usize) -> Tokens {
        self.tokens_between(self.slots.len().saturating_sub(count), self.slots.len())
    }

    /// What this context would take with a compaction that is not in the log yet.
    pub fn tokens_with(
        &self,
        compaction: &Compaction,
        reader: LogReader<'_>,
    ) -> Result<Tokens, ArchiveError> {
        let mut compacted = self.clone();
        compacted.compact(EntryId(reader.log.len() as u32), compaction, reader)?;
        Ok(compacted.tokens())
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

    /// Messages in view that are instructions, oldest first.
    pub(crate) fn instructions(&self) -> impl DoubleEndedIterator<Item = EntryId> + '_ {
        self.instructions.iter().map(|&at| self.slots[at as usize].id())
    }

    /// How many messages came since the newest compaction; all of them where there is none.
    pub fn fresh(&self) -> usize {
        self.fresh
    }

    /// The newest edit that counts.
    pub(crate) fn newest_edit(&self) -> Option<EntryId> {
        self.newest_edit
    }

    /// Where the exchange begins that still waits for results, if one does.
    pub fn open_from(&self) -> Option<usize> {
        let call = self.open.iter().filter_map(|call| self.calls.get(call)).min()?;
        let after = self.units.partition_point(|start| start <= call);
        Some(self.units[after - 1] as usize)
    }

    /// The form of a message in view and what it takes in it; whole where nothing else is said.
    pub fn form_of(&self, id: EntryId, sizes: &SizeTable) -> (Form, Tokens) {
        self.edited.get(&id).copied().unwrap_or_else(|| (Form::WHOLE, sizes.total(id)))
    }

    /// Messages in view that are not shown whole.
    pub fn shown_in_part(&self) -> impl Iterator<Item = EntryId> + '_ {
        self.edited.keys().copied()
    }

    /// The newest message of the path that is out of view.
    pub fn anchor(&self) -> Option<EntryId> {
        self.anchor
    }

    /// Whether a compaction or edit was taken back on this path.
    pub fn is_undone(&self, pass: EntryId) -> bool {
        self.undone.contains(pass)
    }

    /// Messages pinned on this path, with their whole exchanges, oldest first.
    pub fn pins(&self) -> &[EntryId] {
        &self.pins
    }

    /// Messages in view with their form and size.
    pub fn message_slots(&self) -> impl DoubleEndedIterator<Item = (EntryId, Form, Tokens)> + '_ {
        self.slots.iter().enumerate().filter_map(|(at, slot)| match slot {
            Slot::Message { id, form } => Some((*id, *form, self.tokens_between(at, at + 1))),
            Slot::Summary { .. } => None,
        })
    }

    /// The summary in view, with the compaction that left it.
    pub fn summary<'l>(&self, log: &'l Log) -> Option<(EntryId, &'l Arc<str>)> {
        self.slots.iter().rev().find_map(|slot| match slot {
            Slot::Summary { id } => log.compaction(*id)?.summary.as_ref().map(|text| (*id, text)),
            Slot::Message { .. } => None,
        })
    }

    /// Everything in view, as messages: forms applied, the summary in the user's role, and nothing where a
    /// message is left out.
    pub fn shown(&self, reader: LogReader<'_>) -> Result<Vec<MessageView>, ArchiveError> {
        let mut shown = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            match slot {
                Slot::Message { form: Form { left_out: true, .. }, .. } => {}
                Slot::Message { id, form } => {
                    let message = form.apply(*id, &reader.archive.message(*id)?, reader.measure);
                    shown.push(MessageView { id: Some(*id), message });
                }
                Slot::Summary { id } => shown.extend(summary_message(reader.log, *id)),
            }
        }
        Ok(shown)
    }
}

/// What a message takes in this form. Leaving out thinking alone is a subtraction; anything else is counted.
pub(crate) fn shown_tokens(id: EntryId, form: Form, reader: LogReader<'_>) -> Result<Tokens, ArchiveError> {
    if form.left_out {
        return Ok(Tokens::ZERO);
    }
    let sizes = reader.sizes.of(id);
    let rest = sizes.total().less(sizes.thinking);
    if form == (Form { thinking: true, ..Form::WHOLE }) && rest > sizes.framing {
        return Ok(rest);
    }
    let shown = form.apply(id, &reader.archive.message(id)?, reader.measure);
    Ok(reader.measure.sizes(&shown).total())
}

fn summary_message(log: &Log, id: EntryId) -> Option<MessageView> {
    let text = log.compaction(id)?.summary.clone()?;
    Some(MessageView { id: None, message: Arc::new(Message::text(Role::User, Author::Harness, text)) })
}

/// The messages that `marks`, in the order they were appended, name as pinned.
pub fn pinned_by(log: &Log, marks: &[EntryId]) -> HashSet<EntryId> {
    let mut pinned = HashSet::new();
    for mark in marks.iter().filter_map(|&id| log.mark_of(id)) {
        if let Mark::Pin { of } = mark {
            pinned.insert(*of);
        } else if let Mark::Unpin { of } = mark {
            pinned.remove(of);
        }
    }
    pinned
}

/// What is pinned on a path by its marks, each message with the whole exchange it belongs to.
fn pins_on(log: &Log, path: &[EntryId], marks: &[EntryId]) -> Vec<EntryId> {
    let pinned = pinned_by(log, marks);
    if pinned.is_empty() {
        return Vec::new();
    }
    let mut pins: Vec<EntryId> = exchanges(log, path)
        .into_iter()
        .filter(|unit| unit.iter().any(|id| pinned.contains(id)))
        .flatten()
        .collect();
    pins.sort_unstable();
    pins
}

/// The messages of a path, those of one exchange together: a reply, what answers its calls, and what a
/// harness appended to it.
pub(crate) fn exchanges(log: &Log, path: &[EntryId]) -> Vec<Vec<EntryId>> {
    let mut units: Vec<Vec<EntryId>> = Vec::new();
    let mut made: HashMap<&CallId, usize> = HashMap::new();
    // The exchange that the newest message belongs to.
    let mut newest = None;
    for (id, item) in path.iter().filter_map(|&id| Some((id, log.item(id)?))) {
        let answered = item.answers.iter().find_map(|call| made.get(call).copied());
        let at = answered.or(newest.filter(|_| item.is_appended())).unwrap_or(units.len());
        match units.get_mut(at) {
            Some(unit) => unit.push(id),
            None => units.push(vec![id]),
        }
        made.extend(item.calls.iter().map(|call| (call, at)));
        newest = (item.is_exchange() || (item.is_appended() && newest.is_some())).then_some(at);
    }
    units
}

#[cfg(test)]
mod tests;
