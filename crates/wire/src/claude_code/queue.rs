//! Prompts typed while the model was at work.
//!
//! `queue-operation` records say what entered the queue and that something left it. What is `dequeue`d opens a
//! turn and has a record of its own. What is `remove`d was given to the model between two tools; versions that
//! write no attachment for it leave no other trace, so the prompt is put where it left the queue. Whether it
//! has a record after all is known when the next reply begins, so a place is kept for it until then.

use super::message::message_of;
use super::record::ClaudeRecord;
use super::session::ClaudeSession;
use crate::Span;
use crate::jsonl::JsonlObject;
use crate::log_builder::ParsedMessage;
use epitome_core::{EntryId, MeasuredItem, Message};
use std::collections::{HashSet, VecDeque};

/// What is known of the queue.
#[derive(Default)]
pub(super) struct PromptQueue {
    waiting: VecDeque<QueuedPrompt>,
    /// Prompts that left the queue between two tools, with the places kept for them.
    given: Vec<(EntryId, QueuedPrompt)>,
    /// Prompts of the queue that have a record of their own.
    recorded: HashSet<Box<str>>,
    /// The newest place, until the next record follows it.
    newest_place: Option<EntryId>,
}

struct QueuedPrompt {
    text: Box<str>,
    weighed: MeasuredItem,
    span: Span,
}

impl PromptQueue {
    /// The place that the next record follows, whatever it hangs off.
    pub(super) fn take_newest_place(&mut self) -> Option<EntryId> {
        self.newest_place.take()
    }

    /// Takes note of a message that may be one of the queue's.
    pub(super) fn note_said(&mut self, message: &Message) {
        if self.waiting.is_empty() && self.given.is_empty() {
            return;
        }
        let said = message.said();
        let mut queued = self.waiting.iter().chain(self.given.iter().map(|(_, prompt)| prompt));
        if queued.any(|prompt| *prompt.text == *said) {
            self.recorded.insert(said.into());
        }
    }
}

impl ClaudeSession<'_> {
    /// Takes an operation of the queue.
    pub(super) fn take_queue_operation(&mut self, record: &ClaudeRecord<'_>, object: JsonlObject<'_>) {
        match record.operation.as_deref() {
            Some("enqueue") => self.enqueue(record, object),
            Some("dequeue") => drop(self.queue.waiting.pop_front()),
            Some("remove") => self.give_next(),
            Some("popAll") => self.queue.waiting.clear(),
            Some(_) | None => {}
        }
    }

    fn enqueue(&mut self, record: &ClaudeRecord<'_>, object: JsonlObject<'_>) {
        let Some(message) = message_of(record, object.text, 0) else { return };
        let (text, weighed) = (message.said().into(), self.measure.weigh(&message));
        self.queue.waiting.push_back(QueuedPrompt { text, weighed, span: object.span });
    }

    /// Keeps a place for the prompt that leaves the queue, behind what was said last.
    fn give_next(&mut self) {
        let Some(prompt) = self.queue.waiting.pop_front().filter(|prompt| is_prompt(&prompt.text)) else {
            return;
        };
        let follows = self.queue.take_newest_place().or(self.last);
        let place = self.assembly.keep_place("queued prompt");
        self.ups.extend(follows.map(|up| (place, up)));
        self.queue.newest_place = Some(place);
        self.queue.given.push((place, prompt));
    }

    /// Puts prompts that were given, and have no record of their own, where they left the queue.
    pub(super) fn place_prompts(&mut self) {
        for (place, QueuedPrompt { text, weighed, span }) in std::mem::take(&mut self.queue.given) {
            if !self.queue.recorded.remove(&text) {
                self.assembly.fill(place, ParsedMessage { weighed, span, part: 0, name: None });
            }
        }
    }
}

/// Whether what was queued is for the model: commands and notes on tasks under way are for the program.
fn is_prompt(text: &str) -> bool {
    !text.trim().is_empty() && !text.starts_with(['/', '{'])
}
