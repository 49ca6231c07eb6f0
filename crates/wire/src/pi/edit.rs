//! What pi shows otherwise than it was said: edits of earlier entries, and the messages a compaction writes out.
//!
//! An edit holds on the branches it is on, the newest of an entry counts, and none touches the entry's line.

use super::message::{MessageReading, body_message};
use super::read::ROLES;
use super::record::{AnyMessage, PiRecord};
use super::session::{EntryNames, PiSession, place_of};
use crate::jsonl::{JsonlObject, Problems, part_of};
use crate::log_builder::recorded_edit;
use crate::{OriginalPlace, Span};
use epitome_core::{Archive, Entry, EntryId, Form, Mark};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An edit of an earlier entry.
pub(super) struct ContextEdit {
    /// The note that keeps its place on its branch.
    at: EntryId,
    target: EntryId,
    change: ContextChange,
}

enum ContextChange {
    /// The entry is left out, by this mark.
    LeftOut(EntryId),
    /// The entry says what stands here.
    Replaced(Span),
}

impl PiSession<'_> {
    pub(super) fn take_edit(
        &mut self,
        record: &PiRecord<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        let Some(above) = self.place(EntryNames::of(record), object.line, problems) else { return };
        let at = self.next_id();
        let note = Entry::Note { kind: "context_edit".into() };
        self.settle(record.id.as_ref().map(Arc::from), above, Some(note));
        let target = record.target_id.as_deref().and_then(|target| self.message_named(target));
        let change = target.and_then(|target| match &*record.replacement {
            Some(_) => Some(ContextChange::Replaced(object.span)),
            None => self.leave_out(target, at).map(ContextChange::LeftOut),
        });
        match target.zip(change) {
            Some((target, change)) => self.edits.push(ContextEdit { at, target, change }),
            None => problems.add(object.line, "edits an entry that is no message before it; passed over"),
        }
    }

    /// Leaves a message out on every branch through `at`.
    fn leave_out(&mut self, target: EntryId, at: EntryId) -> Option<EntryId> {
        let form = Form { left_out: true, ..Form::WHOLE };
        let mark = self.log.mark(Some(at), recorded_edit(vec![(target, form)])).ok()?;
        self.names.push(None);
        Some(mark)
    }

    fn message_named(&self, name: &str) -> Option<EntryId> {
        let id = self.stands.get(name)?.at?;
        let is_itself = self.names.get(id.index())?.as_deref() == Some(name);
        (is_itself && self.log.item(id).is_some()).then_some(id)
    }

    /// Gives messages of the live branch the content that edits gave them; the newest of each counts.
    pub(super) fn apply_edits(&mut self) {
        let path = self.log.path_of(self.leaf);
        let mut newest: BTreeMap<EntryId, ContextChange> = BTreeMap::new();
        for edit in std::mem::take(&mut self.edits) {
            if path.binary_search(&edit.at).is_ok()
                && let Some(ContextChange::LeftOut(mark)) = newest.insert(edit.target, edit.change)
                && self.log.mark(self.leaf, Mark::Undo { of: mark }).is_ok()
            {
                self.names.push(None);
            }
        }
        for (target, change) in newest {
            match change {
                ContextChange::Replaced(span) => self.replace(target, span),
                ContextChange::LeftOut(_) => {}
            }
        }
    }

    fn replace(&mut self, target: EntryId, edit: Span) {
        let Some([own]) = self.originals.spans(target) else { return };
        let (spans, part) = ([*own, edit].into(), self.originals.part(target).unwrap_or_default());
        self.originals.put(target, OriginalPlace::Spans { spans, part });
        if let Ok(message) = self.originals.message(target) {
            self.sizes.set(target, self.measure.sizes(&message));
        }
    }

    /// Takes the messages that a compaction wrote out: they are all that stands behind its summary.
    pub(super) fn take_retained(
        &mut self,
        tail: &RawValue,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        for raw in serde_json::from_str::<Vec<&RawValue>>(tail.get()).unwrap_or_default() {
            let span = part_of(object, raw.get()).span;
            self.take_bare(raw.get(), span, object.line, problems);
        }
    }

    fn take_bare(&mut self, json: &str, span: Span, line: u64, problems: &mut Problems) {
        let Ok(body) = serde_json::from_str::<AnyMessage<'_>>(json) else {
            return problems.add_unknown(line, "retained message that is no object");
        };
        if !ROLES.contains(&body.role()) {
            return problems.add_unknown(line, "message of a role pi does not have");
        }
        let call = body.tool_call_id.as_deref().filter(|_| body.role() == "toolResult");
        let reading = MessageReading { is_bare: true, ..self.reading(call, line, problems) };
        let Some(message) = body_message(&body, json, reading) else { return };
        let weighed = self.measure.weigh(&message);
        self.originals.put(self.next_id(), place_of(span, reading));
        self.settle_message(None, self.leaf, weighed);
    }
}
