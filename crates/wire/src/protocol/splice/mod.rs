//! A request's list of messages written from its own bytes.
//!
//! An element that is kept is copied; one that is cut is edited where it is cut, and the rest of it, fields we
//! do not know included, stays byte for byte. Only what is ours, a summary, is written anew. Whole bodies of
//! another protocol are `encode`'s.

mod breakpoint;
mod content;
mod cut;
mod edit;
mod instructions;
mod join;
mod layout;
#[cfg(test)]
mod tests;

pub use breakpoint::mark_text;
pub(super) use content::fates;
pub(crate) use edit::range_in;

use super::{Protocol, encode};
use cut::{PartCut, cut};
use epitome_core::{Message, Role};
use join::ListPiece;
use std::borrow::Cow;
use std::sync::Arc;

/// Where a message stands in a request's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementPlace {
    /// Its first element.
    pub first: usize,
    /// How many elements it takes: several only in OpenAI Responses, where a reply is a run of items.
    pub count: usize,
    /// Which part of them it is.
    pub part: ElementPart,
}

/// An element may hold two messages: results of tools, and what was said beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementPart {
    /// The element is this message and no other.
    All,
    /// Its results.
    Results,
    /// Everything else in it.
    Said,
}

/// One thing the model is to see.
#[derive(Clone, Debug)]
pub enum ListSlot {
    /// A message of the list.
    Message {
        /// Where it stands.
        place: ElementPlace,
        /// How it is shown; none where that is as it came.
        shown: Option<Arc<Message>>,
    },
    /// Something of ours, such as a summary.
    Own(Arc<Message>),
}

/// The elements that show `slots`, behind the first `opening` of `elements`, which are instructions.
///
/// ```
/// use epitome_core::{Author, Message, Role};
/// use epitome_wire::Protocol;
/// use epitome_wire::protocol::{ElementPart, ElementPlace, ListSlot, splice};
///
/// let elements = [r#"{"role":"user","content":"a long story"}"#, r#"{"role":"assistant", "content":"ok"}"#];
/// let summary = Message::text(Role::User, Author::Harness, "a story");
/// let place = ElementPlace { first: 1, count: 1, part: ElementPart::All };
/// let slots = [ListSlot::Own(summary.into()), ListSlot::Message { place, shown: None }];
/// let spliced = splice(Protocol::OpenaiChat, &elements, 0, &slots);
/// assert_eq!(spliced, [r#"{"role":"user","content":"a story"}"#, elements[1]]);
/// ```
pub fn splice<'e>(
    protocol: Protocol,
    elements: &[&'e str],
    opening: usize,
    slots: &[ListSlot],
) -> Vec<Cow<'e, str>> {
    let opened = elements.iter().take(opening).enumerate();
    let mut pieces: Vec<ListPiece<'e>> = opened.map(|(at, element)| ListPiece::whole(element, at)).collect();
    let mut shown: Vec<ListPiece<'e>> =
        views(slots).iter().flat_map(|view| view.pieces(protocol, elements)).collect();
    if protocol == Protocol::Anthropic {
        shown = instructions::place(shown, elements.len());
    }
    shown.into_iter().for_each(|piece| join::put(protocol, &mut pieces, piece));
    join::finish(protocol, pieces)
}

/// What is to be seen of some elements, or something of ours.
enum ElementView {
    Elements { first: usize, count: usize, results: PartCut, said: PartCut },
    Own(Arc<Message>),
}

/// The slots, the two messages of one element together.
fn views(slots: &[ListSlot]) -> Vec<ElementView> {
    let mut all: Vec<ElementView> = Vec::with_capacity(slots.len());
    for slot in slots {
        let (place, shown) = match slot {
            ListSlot::Own(message) => {
                all.push(ElementView::Own(message.clone()));
                continue;
            }
            ListSlot::Message { place, shown } => (place, shown),
        };
        let part = PartCut::to(shown.as_ref());
        if let Some(ElementView::Elements { first, said, .. }) = all.last_mut()
            && (*first, place.part) == (place.first, ElementPart::Said)
        {
            *said = part;
            continue;
        }
        let (results, said) = match (place.part, shown) {
            (ElementPart::Results, _) => (part, PartCut::Gone),
            (ElementPart::Said, _) => (PartCut::Gone, part),
            (ElementPart::All, Some(message)) if message.role == Role::Tool => (part, PartCut::None),
            (ElementPart::All, _) => (PartCut::None, part),
        };
        all.push(ElementView::Elements { first: place.first, count: place.count, results, said });
    }
    all
}

impl ElementView {
    fn pieces<'e>(&self, protocol: Protocol, elements: &[&'e str]) -> Vec<ListPiece<'e>> {
        match self {
            Self::Own(message) => {
                let written = encode::message(protocol, message).into_iter();
                written.map(|json| ListPiece::own(Box::<str>::from(json).into_string())).collect()
            }
            Self::Elements { first, count, results: PartCut::None, said: PartCut::None } => {
                let run = elements.iter().enumerate().skip(*first).take(*count);
                run.map(|(at, element)| ListPiece::whole(element, at)).collect()
            }
            Self::Elements { first, count, results, said } => {
                let run: Vec<&'e str> = elements.iter().skip(*first).take(*count).copied().collect();
                let cut = cut(protocol, &run, results, said).into_iter().enumerate();
                cut.flat_map(|(at, texts)| texts.into_iter().map(move |text| (first + at, text)))
                    .map(|(at, text)| ListPiece::cut(text, at))
                    .collect()
            }
        }
    }
}
