//! A field that holds what is said: one text, or a list of pieces, some of which give way to shorter ones.

use super::edit::Edits;
use crate::document::View;
use epitome_core::Block;
use serde_json::json;
use std::collections::HashSet;

/// What is to become of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Fate {
    Keep,
    Replace(Block),
    Drop,
}

/// A field with pieces in it, found in an element.
pub(super) struct ContentField<'e> {
    /// The object that has the field.
    pub(super) owner: View<'e>,
    pub(super) key: &'static str,
    /// Its value; none where there is none, or nothing in it.
    value: Option<View<'e>>,
    /// The entries of the list; the value itself where it is no list.
    pub(super) entries: Vec<View<'e>>,
    /// The `type` of a text among the pieces.
    text_type: &'static str,
    /// What takes its place when nothing is left.
    empty: &'static str,
}

impl<'e> ContentField<'e> {
    /// The content in the field `key` of `owner`, or `owner` itself where that is a text.
    pub(super) fn of(
        owner: View<'e>,
        key: &'static str,
        text_type: &'static str,
        empty: &'static str,
    ) -> Self {
        let value = if owner.object().is_some() { owner.at(&[key]) } else { Some(owner) };
        let entries = value.map(|value| value.list().unwrap_or_else(|| vec![value])).unwrap_or_default();
        Self { owner, key, value, entries, text_type, empty }
    }

    /// Cuts the pieces: each entry has a fate, none for those that say nothing and stay. `added` texts go to the end.
    pub(super) fn cut(
        &self,
        fates: &[(usize, &Block, Fate)],
        added: &[&str],
        whole: &str,
        edits: &mut Edits,
    ) {
        for (at, old, fate) in fates {
            if let Fate::Replace(new) = fate {
                self.replace(self.entries[*at], old, new, whole, edits);
            }
        }
        let dropped: HashSet<usize> =
            fates.iter().filter(|(_, _, fate)| *fate == Fate::Drop).map(|(at, ..)| *at).collect();
        let has_dropped = !dropped.is_empty();
        if !has_dropped && added.is_empty() {
            return;
        }
        let Some(value) = self.value else {
            return edits.add_field(whole, self.owner, self.key, &quoted(&added.join("\n\n")));
        };
        let is_list = value.json().starts_with('[');
        match (is_list, has_dropped, added.is_empty()) {
            (true, _, _) => {
                let stays = |(at, entry): (usize, &View<'e>)| (*entry, !dropped.contains(&at));
                let entries: Vec<_> = self.entries.iter().enumerate().map(stays).collect();
                let added: Vec<String> = added.iter().map(|text| self.text_piece(text, None)).collect();
                edits.thin(whole, value, &entries, &added, self.empty);
            }
            (false, true, true) => edits.replace(whole, value, self.empty.to_owned()),
            (false, true, false) => edits.replace(whole, value, quoted(&added.join("\n\n"))),
            (false, false, _) => {
                let said = value.text().unwrap_or_default();
                let pieces: Vec<String> = std::iter::once(&*said)
                    .chain(added.iter().copied())
                    .map(|text| self.text_piece(text, None))
                    .collect();
                edits.replace(whole, value, format!("[{}]", pieces.join(",")));
            }
        }
    }

    /// Puts `new` in the place of a piece, in as few bytes as can be.
    fn replace(&self, entry: View<'e>, old: &Block, new: &Block, whole: &str, edits: &mut Edits) {
        match (old, new) {
            (_, Block::Text { text }) => self.replace_with_text(entry, old, text, whole, edits),
            (Block::Call(_), Block::Call(call)) => super::layout::cut_call(entry, call, whole, edits),
            (Block::Result(_), Block::Result(result)) => {
                super::layout::cut_anthropic_result(entry, result, whole, edits);
            }
            // Pictures, thinking and what we carry give way to words or go; they have no shorter form.
            (
                _,
                Block::Call(_)
                | Block::Result(_)
                | Block::Thinking { .. }
                | Block::Image(_)
                | Block::Opaque(_),
            ) => {}
        }
    }

    fn replace_with_text(&self, entry: View<'e>, old: &Block, text: &str, whole: &str, edits: &mut Edits) {
        let Some(object) = entry.object() else { return edits.replace(whole, entry, quoted(text)) };
        if let Block::Text { .. } = old
            && let Some(said) = object.get("text").or_else(|| object.get("refusal"))
        {
            return edits.replace(whole, said, quoted(text));
        }
        // The output of a shell is two texts and how it ended, and nothing else may stand in its place.
        if let Some(printed) = object.get("stdout") {
            edits.replace(whole, printed, quoted(text));
            return object
                .get("stderr")
                .into_iter()
                .for_each(|errors| edits.replace(whole, errors, quoted("")));
        }
        // A mark for the provider's cache is the client's to place, whatever it marks.
        let mark = object.get("cache_control").map(View::json);
        edits.replace(whole, entry, self.text_piece(text, mark));
    }

    fn text_piece(&self, text: &str, mark: Option<&str>) -> String {
        let mark = mark.map(|mark| format!(",\"cache_control\":{mark}")).unwrap_or_default();
        format!("{{\"type\":\"{}\",\"text\":{}{mark}}}", self.text_type, quoted(text))
    }
}

/// A text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    json!(text).to_string()
}

/// What becomes of each of `old` so that `new` is left, and what of `new` has no place among them.
///
/// A form leaves a block out or puts something shorter in its place, in order; so each of `old` is met by the next
/// of `new` that can be what it was cut to.
pub(in super::super) fn fates<'b>(old: &[&Block], new: &'b [Block]) -> (Vec<Fate>, &'b [Block]) {
    let mut left = new;
    let fate = |block: &&Block| match left.split_first() {
        Some((next, rest)) if next == *block => {
            left = rest;
            Fate::Keep
        }
        Some((next, rest)) if can_become(block, next) => {
            left = rest;
            Fate::Replace(next.clone())
        }
        Some(_) | None => Fate::Drop,
    };
    let fates = old.iter().map(fate).collect();
    (fates, left)
}

fn can_become(old: &Block, new: &Block) -> bool {
    match (old, new) {
        (Block::Text { .. } | Block::Image(_) | Block::Opaque(_), Block::Text { .. }) => true,
        (Block::Call(old), Block::Call(new)) => old.id == new.id,
        (Block::Result(old), Block::Result(new)) => old.call == new.call,
        (
            Block::Text { .. }
            | Block::Image(_)
            | Block::Opaque(_)
            | Block::Thinking { .. }
            | Block::Call(_)
            | Block::Result(_),
            _,
        ) => false,
    }
}
