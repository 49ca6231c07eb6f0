//! Items only Responses knows, carried as they came: reasoning, hosted tools, calls whose output is an item of its own.

use super::super::arrange::{CarriedBlock, ReplyTurn, UserPiece};
use super::super::ids::{Ids, Naming};
use super::super::piece::SaidPiece;
use super::super::sealed::SealedBlock;
use super::super::words::{SubstituteList, is_reasoning};
use super::item::{self, Item, ItemPart};
use crate::protocol::held::ShownPiece;
use crate::validate::{LONE_ITEMS, PAIRED_ITEMS};
use epitome_core::{EntryId, Opaque};
use std::collections::HashSet;

/// The ids taken so far, of calls and of items, and what could not be carried.
pub(super) struct Carrier<'l> {
    pub(super) ids: Ids,
    pub(super) list: &'l mut SubstituteList,
    items: HashSet<String>,
}

impl<'l> Carrier<'l> {
    pub(super) fn new(naming: Naming, list: &'l mut SubstituteList) -> Self {
        Self { ids: Ids::new(naming), list, items: HashSet::new() }
    }

    /// An item as it stands in the transcript; none where its id is another's already.
    pub(super) fn keep<'a>(&mut self, piece: &ShownPiece) -> Option<Item<'a>> {
        let id = piece.value().and_then(|value| value.get("id")?.as_str());
        if id.is_some_and(|id| !self.items.insert(id.to_owned())) {
            return None;
        }
        let raw = piece.keep()?;
        Some(if piece.kind() == "reasoning" { Item::Reasoning(raw) } else { Item::Raw(raw) })
    }

    /// The same of something the user's side said.
    pub(super) fn keep_said<'a>(&mut self, said: &SaidPiece<'_>) -> Option<Item<'a>> {
        match said {
            SaidPiece::Plain(_) => None,
            SaidPiece::Held { piece, .. } => self.keep(piece),
        }
    }

    /// Passes on an item of a reply: alone, or with its output out of what followed. Else it is said in words, and
    /// the reasoning that led to it is left out.
    pub(super) fn pass<'a>(
        &mut self,
        opaque: &Opaque,
        step: &ReplyTurn<'_>,
        items: &mut Vec<Item<'a>>,
        outputs: &mut Vec<Item<'a>>,
    ) {
        let sealed = SealedBlock::of(opaque).filter(|sealed| is_intact(sealed) && self.admit(sealed));
        match sealed {
            Some(sealed) if sealed.kind() == "reasoning" => return items.push(Item::Reasoning(sealed.raw)),
            Some(sealed) if LONE_ITEMS.contains(&sealed.kind()) => return items.push(Item::Raw(sealed.raw)),
            Some(sealed) => {
                if let Some(output) = self.output_for(&sealed, &step.after) {
                    items.push(Item::Raw(sealed.raw));
                    return outputs.push(Item::Raw(output.raw));
                }
            }
            None => {}
        }
        self.drop_idle_reasoning(step.id, items);
        match &*opaque.kind {
            kind if is_reasoning(kind) => self.list.leave_out(step.id, kind),
            _ => item::say(items, "assistant", ItemPart::output(self.list.say(step.id, opaque))),
        }
    }

    /// A provider's own summary, which may stand on the user's side too.
    pub(super) fn compaction<'a>(&mut self, opaque: &Opaque) -> Option<Item<'a>> {
        let sealed = SealedBlock::of(opaque)?;
        let is_kept = sealed.kind() == "compaction" && is_intact(&sealed) && self.admit(&sealed);
        is_kept.then_some(Item::Raw(sealed.raw))
    }

    /// A part of the user's side or of an output: parts of this protocol are named by their direction. Any other is
    /// said in words.
    pub(super) fn part(&mut self, CarriedBlock { id, opaque }: CarriedBlock<'_>) -> ItemPart {
        let is_part =
            |sealed: &SealedBlock| matches!(sealed.kind(), "input_image" | "input_file" | "input_audio");
        match SealedBlock::of(opaque).filter(is_part) {
            Some(sealed) => ItemPart::Raw(sealed.raw),
            None => ItemPart::input(self.list.say(id, opaque)),
        }
    }

    /// Takes back reasoning that nothing followed: alone it is refused.
    pub(super) fn drop_idle_reasoning(&mut self, reply: Option<EntryId>, items: &mut Vec<Item<'_>>) {
        while items.pop_if(|last| matches!(last, Item::Reasoning(_))).is_some() {
            self.list.leave_out(reply, "reasoning");
        }
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
        UserPiece::Opaque(carried) => SealedBlock::of(carried.opaque),
        UserPiece::Text(_)
        | UserPiece::Note(_)
        | UserPiece::Image { .. }
        | UserPiece::Orphan(_)
        | UserPiece::Foreign(_)
        | UserPiece::Held { .. } => None,
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
