//! The messages of a reading, each as it leaves view and as it stays, and the ledgers of all of them. What else is read in
//! them is `reading`'s.

use crate::digest::MessageDigest;
use crate::ledger::Ledger;
use crate::{EntryId, Material, Message, Original};
use std::collections::BTreeMap;

/// A message as it is read: as it was said where it leaves view or is cut, and as it stays in view.
#[derive(Clone, Copy, Default)]
pub(super) struct MaterialMessage<'m> {
    pub original: Option<&'m MessageDigest>,
    pub shown: Option<&'m Original>,
}

impl<'m> MaterialMessage<'m> {
    fn read(&self) -> Option<&'m Message> {
        self.original.map(MessageDigest::message).or(self.shown.map(|(_, message)| &**message))
    }
}

/// The ledger of the whole history, and as it stood where what leaves view ends; none where nothing stands behind that.
pub(super) fn ledgers(
    all: &BTreeMap<EntryId, MaterialMessage<'_>>,
    end: Option<EntryId>,
    material: &Material<'_>,
) -> (Ledger, Option<Ledger>) {
    let (mut ledger, mut covered) = (material.earlier.cloned().unwrap_or_default(), None);
    for (&id, message) in all {
        if covered.is_none() && Some(id) > end {
            covered = Some(ledger.clone());
        }
        message.read().into_iter().for_each(|message| ledger.update(id, message));
    }
    (ledger, covered)
}
