//! The head of a compacted list, kept as the bytes that were sent: the summary, and messages that were cut. It is written once for each
//! pass that changes what is in view, and every later request begins with these very bytes, whichever replica or version writes it,
//! until the next pass: the provider's cache goes by bytes. What the client says whole is cut from each request anew, since marks for
//! that cache move in it.

use crate::body::Body;
use crate::request::Request;
use crate::view::ViewSlot;
use epitome_core::EntryId;
use epitome_engine::store::{ChainHash, SessionId, Store};
use epitome_wire::protocol::ElementPart;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A head as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WrittenHead {
    /// How many of the client's elements, behind those that open its list, it stands for.
    end: usize,
    /// The chain hash of the last of them. A branch may share the pass, and say something else where ours is joined to what the client
    /// said behind it.
    chain: [u8; 32],
    /// What it shows of them.
    shape: Vec<ShownPart>,
    pieces: Vec<HeadPiece>,
}

/// One message of a written head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum HeadPiece {
    /// The client's, as it sends it; its place behind those that open the list.
    Client(usize),
    /// Ours, or the client's cut by us.
    Ours(String),
}

/// One thing that a head shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ShownPart {
    Summary,
    /// A message by its first element; of an element with two, the second; and whether it is cut.
    Message {
        element: usize,
        is_second: bool,
        is_cut: bool,
    },
}

/// By which the client marks the end of what is to be cached.
const MARK: &str = "\"cache_control\"";

impl WrittenHead {
    /// The head of a list that was written to show `slots`; none where nothing in it is ours, where what is ours is not all in front, or
    /// where it holds marks of the client's, which move.
    pub(crate) fn of(request: &Request, slots: &[ViewSlot], list: &[Cow<'_, str>]) -> Option<Self> {
        let (body, opening) = (&request.body, request.opening);
        let places: HashMap<*const u8, usize> =
            (opening..body.len()).map(|at| (body.element(at).as_ptr(), at - opening)).collect();
        let piece = |element: &Cow<'_, str>| match element {
            Cow::Borrowed(text) => places.get(&text.as_ptr()).copied().map(HeadPiece::Client),
            Cow::Owned(_) => None,
        };
        let whole = |element| piece(element).unwrap_or_else(|| HeadPiece::Ours(element.to_string()));
        let mut pieces: Vec<HeadPiece> = list.get(opening..)?.iter().map(whole).collect();
        // What is shown in part may be all there is of it; it belongs to the head as what is ours does.
        let cut_end = slots.iter().filter_map(cut_element).max().map_or(0, |last| last + 1);
        let is_head = |piece: &HeadPiece| piece.place().is_none_or(|at| at < cut_end);
        if !pieces.iter().any(|piece| piece.place().is_none()) {
            return None;
        }
        let tail = pieces.split_off(pieces.iter().rposition(is_head)? + 1);
        let end = body.len() - opening - tail.len();
        let is_rest = tail.iter().enumerate().all(|(at, piece)| *piece == HeadPiece::Client(end + at));
        let ChainHash(chain) = *request.hashes.get(end.checked_sub(1)?)?;
        let head = Self { end, chain, shape: shape(slots, end), pieces };
        (is_rest && !head.has_marks(body, opening)).then_some(head)
    }

    /// The list that begins with this head and shows `slots`; none where they are not what it was written for.
    pub(crate) fn list<'r>(&self, request: &'r Request, slots: &[ViewSlot]) -> Option<Vec<Cow<'r, str>>> {
        let (body, opening) = (&request.body, request.opening);
        let is_whole = |slot: &ViewSlot| cut_element(slot).is_none_or(|element| element < self.end);
        let behind = elements_behind(slots, self.end);
        let is_same = self.is_of(&request.hashes)
            && shape(slots, self.end) == self.shape
            && slots.iter().all(is_whole)
            && behind.iter().copied().eq(self.end..body.len().saturating_sub(opening))
            && !self.has_marks(body, opening);
        if !is_same {
            return None;
        }
        let piece = |piece: &HeadPiece| match piece {
            HeadPiece::Client(at) => Cow::Borrowed(body.element(opening + at)),
            HeadPiece::Ours(text) => Cow::Owned(text.clone()),
        };
        let opened = (0..opening).map(|at| Cow::Borrowed(body.element(at)));
        let rest = (opening + self.end..body.len()).map(|at| Cow::Borrowed(body.element(at)));
        Some(opened.chain(self.pieces.iter().map(piece)).chain(rest).collect())
    }

    /// Whether a list with these hashes says what the head stands for.
    fn is_of(&self, hashes: &[ChainHash]) -> bool {
        let last = self.end.checked_sub(1).and_then(|last| hashes.get(last));
        last == Some(&ChainHash(self.chain))
    }

    /// Whether the client marks something that the head shows cut: the mark would stay when it moves on.
    fn has_marks(&self, body: &Body, opening: usize) -> bool {
        let is_cut = |part: &ShownPart| match part {
            ShownPart::Summary => None,
            ShownPart::Message { element, .. } => Some(*element),
        };
        let whole: HashSet<usize> = self.pieces.iter().filter_map(HeadPiece::place).collect();
        let mut cut = self.shape.iter().filter_map(is_cut).filter(|at| !whole.contains(at));
        cut.any(|at| opening + at < body.len() && body.element(opening + at).contains(MARK))
    }
}

impl HeadPiece {
    fn place(&self) -> Option<usize> {
        match self {
            Self::Client(at) => Some(*at),
            Self::Ours(_) => None,
        }
    }
}

/// The last element of a message that is shown in part.
fn cut_element(slot: &ViewSlot) -> Option<usize> {
    match slot {
        ViewSlot::Message(origin, Some(_)) => origin.elements().last(),
        ViewSlot::Message(_, None) | ViewSlot::Summary(_) => None,
    }
}

/// What slots show of the client's elements in front of `end`.
fn shape(slots: &[ViewSlot], end: usize) -> Vec<ShownPart> {
    let part = |slot: &ViewSlot| match slot {
        ViewSlot::Summary(_) => Some(ShownPart::Summary),
        ViewSlot::Message(origin, shown) => (origin.element < end).then_some(ShownPart::Message {
            element: origin.element,
            is_second: origin.part == ElementPart::Said,
            is_cut: shown.is_some(),
        }),
    };
    slots.iter().filter_map(part).collect()
}

/// The client's elements that slots show from `end` on, each once.
fn elements_behind(slots: &[ViewSlot], end: usize) -> Vec<usize> {
    let elements = slots.iter().flat_map(|slot| match slot {
        ViewSlot::Summary(_) => 0..0,
        ViewSlot::Message(origin, _) => origin.elements(),
    });
    let mut behind: Vec<usize> = elements.filter(|at| *at >= end).collect();
    behind.dedup();
    behind
}

/// The heads of a session that were written or sent last. One pass has a head for each branch that was said something else on where
/// ours is joined to it.
#[derive(Default)]
pub(crate) struct HeadShelf {
    /// Each with the pass it is of, the one used last at the end.
    heads: Vec<(EntryId, Arc<WrittenHead>)>,
    /// Passes whose heads were looked for in the store.
    looked_for: HashSet<EntryId>,
}

/// A person's agent, its sub-agents and a retry or two, gone on with in turn.
const HEADS_MAX: usize = 4;

impl HeadShelf {
    /// The head of a pass that a list with these hashes begins with.
    pub(crate) fn find(&mut self, pass: EntryId, hashes: &[ChainHash]) -> Option<Arc<WrittenHead>> {
        let at = self.heads.iter().rposition(|(of, head)| *of == pass && head.is_of(hashes))?;
        let found = self.heads.remove(at);
        self.heads.push(found.clone());
        Some(found.1)
    }

    /// Whether the store was asked for the heads of a pass.
    pub(crate) fn was_looked_for(&self, pass: EntryId) -> bool {
        self.looked_for.contains(&pass)
    }

    /// Takes up what the store has of a pass.
    pub(crate) fn take_stored(&mut self, pass: EntryId, stored: Vec<WrittenHead>) {
        self.looked_for.insert(pass);
        // Those that are too many stay in the store: here they are only not at hand.
        stored.into_iter().for_each(|head| drop(self.put(pass, Arc::new(head))));
    }

    /// Keeps the head of a pass; the one that goes for it.
    pub(crate) fn put(
        &mut self,
        pass: EntryId,
        head: Arc<WrittenHead>,
    ) -> Option<(EntryId, Arc<WrittenHead>)> {
        self.heads.retain(|(of, known)| (*of, known.chain) != (pass, head.chain));
        self.heads.push((pass, head));
        (self.heads.len() > HEADS_MAX).then(|| self.heads.remove(0))
    }
}

/// What the names of the heads of a pass begin with in the store.
fn memo_prefix(session: SessionId, pass: EntryId) -> String {
    session.memo_name(&format!("head {pass} "))
}

/// The name of one of them: a few bytes of what it stands for tell it from the others.
fn memo_name(session: SessionId, pass: EntryId, head: &WrittenHead) -> String {
    let branch = head.chain.first_chunk().copied().map(u64::from_be_bytes).unwrap_or_default();
    format!("{}{branch:016x}", memo_prefix(session, pass))
}

/// The heads of a pass that are in the store.
pub(crate) async fn load(store: &dyn Store, session: SessionId, pass: EntryId) -> Vec<WrittenHead> {
    let kept = store.memos(&memo_prefix(session, pass)).await.unwrap_or_default();
    kept.into_iter().filter_map(|memo| serde_json::from_slice(&memo.value).ok()).collect()
}

/// Has the store keep the head of a pass, and forget another. Where it does not, whoever goes on with the session writes it anew.
pub(crate) async fn save(
    store: Arc<dyn Store>,
    session: SessionId,
    (pass, head): (EntryId, Arc<WrittenHead>),
    gone: Option<(EntryId, Arc<WrittenHead>)>,
) {
    if let Ok(value) = serde_json::to_vec(&*head) {
        drop(store.keep_memo(memo_name(session, pass, &head), Some(value)).await);
    }
    if let Some((pass, gone)) = gone {
        drop(store.keep_memo(memo_name(session, pass, &gone), None).await);
    }
}
