//! The elements of a message cut to what is shown of it.

use super::content::{Fate, fates, quoted};
use super::edit::Edits;
use super::layout::{BlockPlace, Layout, Site, as_text, cut_answer, cut_call};
use crate::Protocol;
use crate::document::View;
use epitome_core::{Block, Message, Role};
use std::borrow::Cow;
use std::sync::Arc;

/// What is done to one of the messages of an element.
pub(super) enum PartCut {
    /// Nothing.
    None,
    /// It is not shown.
    Gone,
    /// It is shown like this.
    To(Arc<Message>),
}

impl PartCut {
    pub(super) fn to(shown: Option<&Arc<Message>>) -> Self {
        shown.map_or(Self::None, |message| Self::To(message.clone()))
    }

    /// The role in which what it is shown as is said.
    fn role_name(&self) -> &'static str {
        match self {
            Self::To(message) if message.role == Role::Assistant => "assistant",
            Self::To(_) | Self::None | Self::Gone => "user",
        }
    }

    /// What becomes of `blocks`, and the texts that have no place among them.
    fn fates<'p>(&'p self, blocks: &[&Block]) -> (Vec<Fate>, Vec<&'p str>) {
        match self {
            Self::None => (vec![Fate::Keep; blocks.len()], Vec::new()),
            Self::Gone => (vec![Fate::Drop; blocks.len()], Vec::new()),
            Self::To(message) => {
                let (fates, left) = fates(blocks, &message.blocks);
                (fates, left.iter().filter_map(as_text).collect())
            }
        }
    }
}

/// What is left of each element of a run: nothing, it, or it and a text behind it.
pub(super) fn cut<'e>(
    protocol: Protocol,
    run: &[&'e str],
    results: &PartCut,
    said: &PartCut,
) -> Vec<Vec<Cow<'e, str>>> {
    let Some(layouts) = layouts_of(protocol, run) else {
        return run.iter().map(|element| vec![Cow::Borrowed(*element)]).collect();
    };
    let RunFates { by_element, added } = RunFates::of(&layouts, results, said);
    let home = layouts.iter().rposition(|layout| !layout.contents.is_empty());
    let elements = run.iter().zip(&layouts).zip(by_element).enumerate();
    let mut cut: Vec<Vec<Cow<'e, str>>> = elements
        .map(|(at, ((&element, layout), fates))| {
            let added: &[&str] = if home == Some(at) { &added } else { &[] };
            ElementCut { protocol, element, layout, fates }.made(added).into_iter().collect()
        })
        .collect();
    if let (None, Some(last)) = (home, cut.last_mut()) {
        last.extend(added.iter().map(|text| Cow::Owned(message(said.role_name(), text))));
    }
    cut
}

/// Where the blocks of each element stand; none where one of them is no JSON.
fn layouts_of<'e>(protocol: Protocol, run: &[&'e str]) -> Option<Vec<Layout<'e>>> {
    run.iter().map(|element| Some(Layout::of(protocol, View::parse(element).ok()?))).collect()
}

/// What becomes of every block of a run.
struct RunFates<'l, 'e, 'p> {
    /// By element, in the order of its blocks; results first.
    by_element: Vec<Vec<(&'l Site<'e>, Fate)>>,
    /// Texts that have no place among them.
    added: Vec<&'p str>,
}

impl<'l, 'e, 'p> RunFates<'l, 'e, 'p> {
    fn of(layouts: &'l [Layout<'e>], results: &'p PartCut, said: &'p PartCut) -> Self {
        let sites = layouts.iter().enumerate();
        let sites = sites.flat_map(|(at, layout)| layout.sites.iter().map(move |site| (at, site)));
        let (answers, words): (Vec<_>, Vec<_>) =
            sites.partition(|(_, site)| matches!(site.block, Block::Result(_)));
        let by_element = layouts.iter().map(|_| Vec::new()).collect();
        let mut run = Self { by_element, added: Vec::new() };
        run.decide(results, answers);
        run.decide(said, words);
        run
    }

    /// Has `part` say what becomes of the blocks at `sites`.
    fn decide(&mut self, part: &'p PartCut, sites: Vec<(usize, &'l Site<'e>)>) {
        let blocks: Vec<&Block> = sites.iter().map(|(_, site)| &site.block).collect();
        let (fates, left) = part.fates(&blocks);
        for ((at, site), fate) in sites.into_iter().zip(fates) {
            self.by_element[at].push((site, fate));
        }
        self.added.extend(left);
    }
}

/// One element with what becomes of each of its blocks.
struct ElementCut<'c, 'e> {
    protocol: Protocol,
    element: &'e str,
    layout: &'c Layout<'e>,
    fates: Vec<(&'c Site<'e>, Fate)>,
}

impl<'e> ElementCut<'_, 'e> {
    /// What is left of it, with `added` at the end of what it says; none where that is nothing.
    fn made(&self, added: &[&str]) -> Option<Cow<'e, str>> {
        let is_dropped = |(_, fate): &(&Site<'e>, Fate)| *fate == Fate::Drop;
        let is_bound = |(site, _): &(&Site<'e>, Fate)| matches!(site.place, BlockPlace::Bound);
        let all_dropped =
            !self.fates.is_empty() && self.fates.iter().all(|one| is_dropped(one) && !is_bound(one));
        if all_dropped && added.is_empty() {
            return None;
        }
        let mut edits = Edits::default();
        for (site, fate) in &self.fates {
            if let Some(whole) = self.cut_alone(site, fate, &mut edits) {
                return Some(whole.into());
            }
        }
        for (number, content) in self.layout.contents.iter().enumerate() {
            let cuts: Vec<(usize, &Block, Fate)> = self
                .fates
                .iter()
                .filter_map(|(site, fate)| match site.place {
                    BlockPlace::Piece { content, at } if content == number => {
                        Some((at, &site.block, fate.clone()))
                    }
                    BlockPlace::Piece { .. }
                    | BlockPlace::Item(_)
                    | BlockPlace::Answer(_)
                    | BlockPlace::Bound => None,
                })
                .collect();
            content.cut(&cuts, if number == 0 { added } else { &[] }, self.element, &mut edits);
        }
        Some(if edits.is_empty() { Cow::Borrowed(self.element) } else { edits.apply(self.element).into() })
    }

    /// Cuts a block that is all of its element; what stands for the element where that is something else.
    fn cut_alone(&self, site: &Site<'e>, fate: &Fate, edits: &mut Edits) -> Option<String> {
        let Fate::Replace(new) = fate else { return None };
        match (site.place, new) {
            (BlockPlace::Item(item), Block::Call(call)) => cut_call(item, call, self.element, edits),
            // A call that came of reasoning is refused without it.
            (BlockPlace::Item(item), Block::Text { .. }) if is_reasoning(item) => {}
            (BlockPlace::Item(_), Block::Text { text }) => return Some(message("assistant", text)),
            (BlockPlace::Answer(key), Block::Result(result)) => {
                let element = View::parse(self.element).ok()?;
                cut_answer(self.protocol, element, key, result, self.element, edits);
            }
            (
                BlockPlace::Piece { .. } | BlockPlace::Item(_) | BlockPlace::Answer(_) | BlockPlace::Bound,
                _,
            ) => {}
        }
        None
    }
}

fn is_reasoning(item: View<'_>) -> bool {
    item.at(&["type"]).and_then(View::text).as_deref() == Some("reasoning")
}

/// A message item of Responses that says `text`.
fn message(role: &str, text: &str) -> String {
    let direction = if role == "assistant" { "output_text" } else { "input_text" };
    let content = format!("[{{\"type\":\"{direction}\",\"text\":{}}}]", quoted(text));
    format!("{{\"type\":\"message\",\"role\":\"{role}\",\"content\":{content}}}")
}
