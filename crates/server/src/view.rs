//! A context as messages on the wire. The client's own bytes are spliced by `wire`; here is what stands where in them.

use crate::body::Body;
use crate::cache_marks;
use epitome_core::{Block, Message};
use epitome_wire::Protocol;
use epitome_wire::protocol::{ElementPart, ElementPlace, ListSlot, splice};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Where a message of the history stands in the client's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The place of its first element in the list, behind what opens it.
    pub(crate) element: usize,
    /// How many elements it takes: several only in OpenAI Responses, where a reply is a run of items.
    pub(crate) count: usize,
    /// Which part of that element it is.
    pub(crate) part: ElementPart,
}

impl Origin {
    /// Its elements.
    pub(crate) fn elements(&self) -> Range<usize> {
        self.element..self.element + self.count
    }
}

/// One thing the model is to see.
#[derive(Clone, Debug)]
pub(crate) enum ViewSlot {
    /// A message the client sent, and how it is shown; none where that is as it came.
    Message(Origin, Option<Arc<Message>>),
    /// A summary.
    Summary(Arc<Message>),
}

/// The list of messages that shows `slots`, behind the elements that are the `opening`.
pub(crate) fn messages<'b>(
    protocol: Protocol,
    body: &'b Body,
    opening: usize,
    slots: &[ViewSlot],
) -> Vec<Cow<'b, str>> {
    let mut messages = unmarked(protocol, body, opening, slots);
    mark(protocol, body, slots, &mut messages);
    messages
}

/// Marks the summary in a list that shows `slots` for the provider's cache, where its client wants something cached.
pub(crate) fn mark(protocol: Protocol, body: &Body, slots: &[ViewSlot], messages: &mut [Cow<'_, str>]) {
    if protocol == Protocol::Anthropic
        && let Some(text) = summary_text(slots)
    {
        cache_marks::mark_summary(body, messages, text);
    }
}

/// The same list without marks of ours.
pub(crate) fn unmarked<'b>(
    protocol: Protocol,
    body: &'b Body,
    opening: usize,
    slots: &[ViewSlot],
) -> Vec<Cow<'b, str>> {
    let mut elements: Vec<&'b str> = (0..body.len()).map(|at| body.element(at)).collect();
    let mut all = Vec::with_capacity(slots.len());
    for slot in slots {
        all.push(match slot {
            ViewSlot::Summary(message) => ListSlot::Own(message.clone()),
            ViewSlot::Message(origin, shown) => {
                let place = opening + origin.element..opening + origin.elements().end;
                // What only names another element is cut by being what it names; where nobody knows that, it stays.
                let can_cut = shown.is_none() || place.clone().all(|at| body.is_known(at));
                let shown = shown.clone().filter(|_| can_cut);
                if shown.is_some() {
                    place.clone().for_each(|at| elements[at] = body.meaning(at));
                }
                let place = ElementPlace { first: place.start, count: origin.count, part: origin.part };
                ListSlot::Message { place, shown }
            }
        });
    }
    splice(protocol, &elements, opening, &all)
}

/// What the summary among `slots` says.
fn summary_text(slots: &[ViewSlot]) -> Option<&str> {
    let blocks = slots.iter().find_map(|slot| match slot {
        ViewSlot::Summary(message) => Some(&message.blocks),
        ViewSlot::Message(..) => None,
    })?;
    match &blocks[..] {
        [Block::Text { text }] => Some(text),
        _ => None,
    }
}
