//! What a comparison needs of the messages alone: the facts of those that go, and an index of those that stay. Nothing of it
//! depends on what is written of the former, so that it can be found while that is written.

use super::inventory::{Inventory, StockedMessages};
use super::visible_text::{VisibleText, flat, pointers};
use super::{Verification, compare, verify};
use crate::digest::MessageDigest;
use crate::facts::passages;
use crate::ledger::Ledger;
use crate::{EntryId, Material};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::OnceLock;

/// The messages that are compared.
pub(crate) struct ComparedMessages<'m> {
    material: Material<'m>,
    /// Which of those that stay are shown as messages, and not told inside the summary.
    shown: &'m HashSet<EntryId>,
    stocked: StockedMessages,
    text: OnceLock<ShownMessages>,
}

/// The text of the messages that stay.
struct ShownMessages {
    text: String,
    flat: String,
    /// What of it is of messages in another form than they were read in.
    unread: Vec<Range<usize>>,
}

impl<'m> ComparedMessages<'m> {
    pub(crate) fn of(material: Material<'m>, shown: &'m HashSet<EntryId>) -> Self {
        Self { material, shown, stocked: StockedMessages::of(&material), text: OnceLock::new() }
    }

    /// The digests of those that stay as they were read, and are shown as messages.
    fn digests(&self) -> impl Iterator<Item = (EntryId, &MessageDigest)> {
        let visible = self.stocked.visible.iter().filter(|(id, _)| self.shown.contains(id));
        visible.map(|(id, digest)| (*id, &**digest))
    }

    fn text(&self) -> &ShownMessages {
        self.text.get_or_init(|| {
            let digests: HashMap<EntryId, &MessageDigest> = self.digests().collect();
            let (mut text, mut unread) = (String::new(), Vec::new());
            for (id, message) in self.material.visible.iter().filter(|(id, _)| self.shown.contains(id)) {
                let start = text.len();
                if let Some(digest) = digests.get(id) {
                    digest.shown_passages().iter().for_each(|passage| text.extend([&passage.text, "\n"]));
                } else {
                    passages(message).iter().for_each(|passage| text.extend([&passage.text, "\n"]));
                    unread.push(start..text.len());
                }
            }
            let flat = flat(&text);
            ShownMessages { text, flat, unread }
        })
    }
}

/// What was found in the messages.
pub(crate) struct Groundwork<'d> {
    messages: &'d ComparedMessages<'d>,
    inventory: Inventory<'d>,
    visible: VisibleText<'d>,
    pointers: HashSet<EntryId>,
}

impl<'d> Groundwork<'d> {
    pub(crate) fn of(messages: &'d ComparedMessages<'d>) -> Self {
        let ShownMessages { text, flat, unread } = messages.text();
        let inventory = Inventory::of(&messages.stocked);
        let mut visible = VisibleText::of_tail(flat);
        unread.iter().for_each(|span| visible.take(&text[span.clone()]));
        let passages = messages.digests().flat_map(|(_, digest)| digest.shown_passages());
        passages.flat_map(|passage| passage.sightings_by_form()).for_each(|fact| visible.see(fact));
        let pointers = pointers(text, messages.material.addressable);
        Self { messages, inventory, visible, pointers }
    }

    /// Compares the superseded range, whose ledger is this one, with `head` and the messages that stay behind it.
    pub(crate) fn verify(mut self, head: &str, ledger: &Ledger) -> Verification {
        let ComparedMessages { material, stocked, .. } = self.messages;
        let tail = self.messages.text();
        if !head.ends_with('\n') {
            // Its last line goes on in the first message.
            return verify(material, ledger, &format!("{head}{}", tail.text), material.addressable);
        }
        let mut whole = flat(head);
        let head_flat = whole.len();
        if head_flat > 0 && !tail.flat.is_empty() {
            whole.push(' ');
        }
        let tail_flat = whole.len();
        whole.push_str(&tail.flat);
        self.pointers.extend(pointers(head, material.addressable));
        let shown = self.visible.complete(head, &whole, (head_flat, tail_flat));
        compare(self.inventory.with(ledger, stocked), &shown, &self.pointers)
    }
}
