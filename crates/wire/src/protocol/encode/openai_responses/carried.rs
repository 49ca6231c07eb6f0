//! Items only Responses knows, carried as they came: reasoning, hosted tools, calls whose output is an item of its own.

use super::super::arrange::UserPiece;
use super::super::ids::{Ids, Naming};
use super::super::sealed::SealedBlock;
use super::item::Item;
use crate::validate::{LONE_ITEMS, PAIRED_ITEMS};
use epitome_core::Opaque;
use std::collections::HashSet;

/// The ids taken so far, of calls and of items.
pub(super) struct Carrier {
    pub(super) ids: Ids,
    items: HashSet<String>,
}

impl Carrier {
    pub(super) fn new(naming: Naming) -> Self {
        Self { ids: Ids::new(naming), items: HashSet::new() }
    }

    /// Passes on an item of a reply: alone, or with its output out of what followed; else leaves it
    /// out, and the reasoning that led to it.
    pub(super) fn pass<'a>(
        &mut self,
        opaque: &Opaque,
        after: &[UserPiece<'_>],
        items: &mut Vec<Item<'a>>,
        outputs: &mut Vec<Item<'a>>,
    ) {
        let sealed = SealedBlock::of(opaque).filter(|sealed| is_intact(sealed) && self.admit(sealed));
        match sealed {
            Some(sealed) if sealed.kind() == "reasoning" => items.push(Item::Reasoning(sealed.raw)),
            Some(sealed) if LONE_ITEMS.contains(&sealed.kind()) => items.push(Item::Raw(sealed.raw)),
            Some(sealed) => match self.output_for(&sealed, after) {
                Some(output) => {
                    items.push(Item::Raw(sealed.raw));
                    outputs.push(Item::Raw(output.raw));
                }
                None => drop_idle_reasoning(items),
            },
            None => drop_idle_reasoning(items),
        }
    }

    /// A provider's own summary, which may stand on the user's side too.
    pub(super) fn compaction<'a>(&mut self, opaque: &Opaque) -> Option<Item<'a>> {
        let sealed = SealedBlock::of(opaque)?;
        let is_kept = sealed.kind() == "compaction" && is_intact(&sealed) && self.admit(&sealed);
        is_kept.then_some(Item::Raw(sealed.raw))
    }

    /// The output of a call that is passed on as it came, where both can be.
    fn output_for(&mut self, call: &SealedBlock, after: &[UserPiece<'_>]) -> Option<SealedBlock> {
        let paired = PAIRED_ITEMS.iter().filter(|(kind, ..)| !is_ours(kind));
        let (_, output, made, answered) = paired.copied().find(|(kind, ..)| *kind == call.kind())?;
        let id = call.text(made).filter(|id| !id.is_empty())?;
        let found = after
            .iter()
            .filter_map(sealed_in)
            .find(|sealed| sealed.kind() == output && sealed.text(answered) == Some(id))?;
        (self.admit(&found) && self.ids.claim(id)).then_some(found)
    }

    /// Whether the item's own id, where it has one, is new.
    fn admit(&mut self, sealed: &SealedBlock) -> bool {
        sealed.text("id").is_none_or(|id| self.items.insert(id.to_owned()))
    }
}

/// Calls we write ourselves, which never come as opaque items.
fn is_ours(kind: &str) -> bool {
    matches!(kind, "function_call" | "custom_tool_call")
}

fn sealed_in(said: &UserPiece<'_>) -> Option<SealedBlock> {
    match said {
        UserPiece::Opaque(opaque) => SealedBlock::of(opaque),
        UserPiece::Text(_)
        | UserPiece::Note(_)
        | UserPiece::Image(_)
        | UserPiece::Orphan(_)
        | UserPiece::Foreign(_) => None,
    }
}

/// Whether what is encrypted in an item can still be read by its provider.
fn is_intact(sealed: &SealedBlock) -> bool {
    match sealed.kind() {
        "reasoning" => sealed.value["summary"].is_array() && sealed.has_intact("encrypted_content"),
        "compaction" => sealed.has_intact("encrypted_content"),
        _ => true,
    }
}

/// Takes back reasoning that nothing followed: alone it is refused.
pub(super) fn drop_idle_reasoning(items: &mut Vec<Item<'_>>) {
    while matches!(items.last(), Some(Item::Reasoning(_))) {
        items.pop();
    }
}
