//! The records of a session file, replayed as Gemini CLI does when it resumes: a message written again takes the
//! place of its earlier version, `$rewindTo` drops a message with all behind it, `$set` puts another list in the
//! place of the list so far.
//!
//! What comes out are the changes of the list, each message in the last version it had there. What is dropped stays
//! among the changes, so that whoever tells them keeps it off the path and loses nothing.

use super::GeminiCli;
use crate::document::{ConversationDraft, Dialect, ObjectView, Side, View};
use crate::gemini_parts::{parts_of, snapshot};
use std::borrow::Cow;
use std::collections::HashMap;

/// A change of the list of messages; a slot is a message's place in [`MessageList::versions`].
pub(super) enum ListChange {
    /// A message comes behind the others.
    Add(usize),
    /// The first so many stay, the others go.
    Keep(usize),
    /// A new list, in which the message at `summary` stands for most of the old one.
    Compress {
        /// The new list.
        slots: Vec<usize>,
        /// Which of them is the summary.
        summary: usize,
    },
}

/// The list of messages as the records taken so far leave it.
#[derive(Default)]
pub(super) struct MessageList<'a> {
    /// The last version of each message ever listed.
    pub(super) versions: Vec<View<'a>>,
    /// What happened to the list, in order.
    pub(super) changes: Vec<ListChange>,
    /// The slots of the messages on the list now.
    list: Vec<usize>,
    /// The ids of messages by slot.
    names: Vec<Option<Cow<'a, str>>>,
    /// Where on the list a message stands, by its id.
    places: HashMap<Cow<'a, str>, usize>,
}

impl<'a> MessageList<'a> {
    /// Takes one record of the file.
    pub(super) fn take(&mut self, view: View<'a>, draft: &mut ConversationDraft<'_, GeminiCli>) {
        let record = view.object().unwrap_or_default();
        if let Some(id) = record.text("$rewindTo") {
            self.rewind(&id, draft);
        } else if record.text("id").is_some() {
            self.put(view, &record);
        } else if let Some(changed) = record.get("$set") {
            if let Some(list) = changed.at(&["messages"]).and_then(View::list) {
                self.replace(list);
            }
        } else if record.has("sessionId") {
            record.list("messages").into_iter().for_each(|message| self.add_listed(message));
        } else {
            draft.pass_over(&record.text("type").unwrap_or("record without an id".into()));
        }
    }

    fn add_listed(&mut self, view: View<'a>) {
        self.put(view, &view.object().unwrap_or_default());
    }

    fn put(&mut self, view: View<'a>, record: &ObjectView<'a>) {
        let name = record.text("id");
        if let Some(&at) = name.as_ref().and_then(|name| self.places.get(name)) {
            self.versions[self.list[at]] = view;
            return;
        }
        let slot = self.new_slot(view, name);
        self.append(slot);
        self.changes.push(ListChange::Add(slot));
    }

    fn new_slot(&mut self, view: View<'a>, name: Option<Cow<'a, str>>) -> usize {
        self.versions.push(view);
        self.names.push(name);
        self.versions.len() - 1
    }

    fn append(&mut self, slot: usize) {
        self.places.extend(self.names[slot].clone().map(|name| (name, self.list.len())));
        self.list.push(slot);
    }

    fn keep(&mut self, count: usize) {
        for slot in self.list.drain(count..) {
            if let Some(name) = &self.names[slot] {
                self.places.remove(name);
            }
        }
    }

    /// Where the message is unknown, Gemini CLI drops them all.
    fn rewind(&mut self, id: &str, draft: &mut ConversationDraft<'_, GeminiCli>) {
        let known = self.places.get(id).copied();
        if known.is_none() {
            draft.odd(&format!("a rewind names {id}, which is not on the list; as in Gemini CLI, all goes"));
        }
        let count = known.unwrap_or(0);
        self.keep(count);
        self.changes.push(ListChange::Keep(count));
    }

    fn replace(&mut self, new: Vec<View<'a>>) {
        let count = self.common(&new);
        let summary = new.iter().skip(count).position(|view| self.is_new_summary(*view));
        if let Some(summary) = summary.filter(|_| count < self.list.len()) {
            self.keep(0);
            let first = self.versions.len();
            new.into_iter().for_each(|view| self.list_anew(view));
            let slots = (first..self.versions.len()).collect();
            self.changes.push(ListChange::Compress { slots, summary: count + summary });
            return;
        }
        if count < self.list.len() {
            self.keep(count);
            self.changes.push(ListChange::Keep(count));
        }
        new.into_iter().skip(count).for_each(|view| self.add_listed(view));
    }

    fn list_anew(&mut self, view: View<'a>) {
        let name = view.object().unwrap_or_default().text("id");
        let slot = self.new_slot(view, name);
        self.append(slot);
    }

    /// How many messages a new list has in common with the one so far, from the beginning on.
    fn common(&self, new: &[View<'a>]) -> usize {
        let same =
            self.list.iter().zip(new).take_while(|(slot, view)| is_same(self.versions[**slot], **view));
        same.count()
    }

    /// Whether a message is a summary that was not on the list before.
    fn is_new_summary(&self, view: View<'a>) -> bool {
        let record = view.object().unwrap_or_default();
        let is_listed = record.text("id").is_some_and(|id| self.places.contains_key(&id));
        let is_user = record.text("type").as_deref() == Some("user");
        is_user && !is_listed && snapshot(&parts_of(record.get("content"))).is_some()
    }
}

/// Whether two records are the same message and say the same. The tool writes its list again in another form than
/// that of single records.
fn is_same(one: View<'_>, other: View<'_>) -> bool {
    let ids = [one, other].map(|view| view.at(&["id"]).and_then(View::text));
    let says = |view| GeminiCli::message(&[view], Side::Said).ok();
    ids[0].is_some() && ids[0] == ids[1] && says(one) == says(other) && answers(one) == answers(other)
}

fn answers(record: View<'_>) -> Vec<Option<epitome_core::Message>> {
    let calls = record.object().unwrap_or_default().list("toolCalls");
    calls.into_iter().map(|call| GeminiCli::message(&[call], Side::Answered).ok()).collect()
}
