//! A context as messages on the wire. The client's own bytes are spliced by `wire`; here is what stands where in them.

use crate::body::Body;
use epitome_core::Message;
use epitome_wire::Protocol;
use epitome_wire::protocol::{ElementPart, ElementPlace, ListSlot, splice};
use std::borrow::Cow;
use std::sync::Arc;

/// Where a message of the history stands in the client's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its place in the list, behind the instructions that open it.
    pub(crate) element: usize,
    /// Which part of that element it is.
    pub(crate) part: ElementPart,
}

/// One thing the model is to see.
#[derive(Clone, Debug)]
pub(crate) enum ViewSlot {
    /// A message the client sent, and how it is shown; none where that is as it came.
    Message(Origin, Option<Arc<Message>>),
    /// A summary.
    Summary(Arc<Message>),
}

/// The list of messages that shows `slots`, behind the elements that are `instructions`.
pub(crate) fn messages<'b>(
    protocol: Protocol,
    body: &'b Body,
    instructions: usize,
    slots: &[ViewSlot],
) -> Vec<Cow<'b, str>> {
    let elements: Vec<&'b str> = (0..body.len()).map(|at| body.element(at)).collect();
    let slot = |slot: &ViewSlot| match slot {
        ViewSlot::Summary(message) => ListSlot::Own(message.clone()),
        ViewSlot::Message(Origin { element, part }, shown) => {
            let place = ElementPlace { first: instructions + element, count: 1, part: *part };
            ListSlot::Message { place, shown: shown.clone() }
        }
    };
    let slots: Vec<ListSlot> = slots.iter().map(slot).collect();
    splice(protocol, &elements, instructions, &slots)
}
