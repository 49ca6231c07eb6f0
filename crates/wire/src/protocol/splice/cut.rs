//! The elements of a message cut to what is shown of it.

use super::content::{Fate, fates, quoted};
use super::edit::Edits;
use super::layout::{Layout, Site, Spot, as_text, cut_answer, cut_call};
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
    let views: Option<Vec<View<'e>>> = run.iter().map(|element| View::parse(element).ok()).collect();
    let Some(views) = views else { return run.iter().map(|element| vec![Cow::Borrowed(*element)]).collect() };
    let layouts: Vec<Layout<'e>> = views.iter().map(|&view| Layout::of(protocol, view)).collect();
    let sites: Vec<(usize, &Site<'e>)> = layouts
        .iter()
        .enumerate()
        .flat_map(|(at, layout)| layout.sites.iter().map(move |site| (at, site)))
        .collect();
    let (answers, words): (Vec<_>, Vec<_>) =
        sites.into_iter().partition(|(_, site)| matches!(site.block, Block::Result(_)));
    let mut decided = Vec::with_capacity(answers.len() + words.len());
    let mut added = Vec::new();
    for (part, sites) in [(results, answers), (said, words)] {
        let blocks: Vec<&Block> = sites.iter().map(|(_, site)| &site.block).collect();
        let (fates, left) = part.fates(&blocks);
        decided.extend(sites.into_iter().zip(fates).map(|((at, site), fate)| (at, site, fate)));
        added.extend(left);
    }
    let mut by_element: Vec<Vec<(&Site<'e>, Fate)>> = layouts.iter().map(|_| Vec::new()).collect();
    decided.into_iter().for_each(|(at, site, fate)| by_element[at].push((site, fate)));
    let home = layouts.iter().rposition(|layout| !layout.contents.is_empty());
    let mut cut: Vec<Vec<Cow<'e, str>>> = Vec::with_capacity(run.len());
    for (at, (&element, layout)) in run.iter().zip(&layouts).enumerate() {
        let own: Vec<(&Site<'e>, &Fate)> = by_element[at].iter().map(|(site, fate)| (*site, fate)).collect();
        let added: &[&str] = if home == Some(at) { &added } else { &[] };
        cut.push(ElementCut { protocol, element, layout, fates: own }.made(added).into_iter().collect());
    }
    if let (None, Some(last)) = (home, cut.last_mut()) {
        let role = if matches!(said, PartCut::To(message) if message.role == Role::Assistant) {
            "assistant"
        } else {
            "user"
        };
        last.extend(added.iter().map(|text| Cow::Owned(message(role, text))));
    }
    cut
}

/// One element with what becomes of each of its blocks.
struct ElementCut<'c, 'e> {
    protocol: Protocol,
    element: &'e str,
    layout: &'c Layout<'e>,
    fates: Vec<(&'c Site<'e>, &'c Fate)>,
}

impl<'e> ElementCut<'_, 'e> {
    /// What is left of it, with `added` at the end of what it says; none where that is nothing.
    fn made(&self, added: &[&str]) -> Option<Cow<'e, str>> {
        let is_dropped = |(_, fate): &(&Site<'e>, &Fate)| **fate == Fate::Drop;
        let is_bound = |(site, _): &(&Site<'e>, &Fate)| matches!(site.spot, Spot::Bound);
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
                .filter_map(|(site, fate)| match site.spot {
                    Spot::Piece { content, at } if content == number => {
                        Some((at, &site.block, (*fate).clone()))
                    }
                    Spot::Piece { .. } | Spot::Item(_) | Spot::Answer(_) | Spot::Bound => None,
                })
                .collect();
            content.cut(&cuts, if number == 0 { added } else { &[] }, self.element, &mut edits);
        }
        Some(if edits.is_empty() { Cow::Borrowed(self.element) } else { edits.apply(self.element).into() })
    }

    /// Cuts a block that is all of its element; what stands for the element where that is something else.
    fn cut_alone(&self, site: &Site<'e>, fate: &Fate, edits: &mut Edits) -> Option<String> {
        let Fate::Replace(new) = fate else { return None };
        match (site.spot, new) {
            (Spot::Item(item), Block::Call(call)) => cut_call(item, call, self.element, edits),
            (Spot::Item(_), Block::Text { text }) => return Some(message("assistant", text)),
            (Spot::Answer(key), Block::Result(result)) => {
                let element = View::parse(self.element).ok()?;
                cut_answer(self.protocol, element, key, result, self.element, edits);
            }
            (Spot::Piece { .. } | Spot::Item(_) | Spot::Answer(_) | Spot::Bound, _) => {}
        }
        None
    }
}

/// A message item of Responses that says `text`.
fn message(role: &str, text: &str) -> String {
    let direction = if role == "assistant" { "output_text" } else { "input_text" };
    let content = format!("[{{\"type\":\"{direction}\",\"text\":{}}}]", quoted(text));
    format!("{{\"type\":\"message\",\"role\":\"{role}\",\"content\":{content}}}")
}
