//! The two ports of the core: [`Archive`], which gives the originals of messages, and [`Measure`],
//! which counts tokens. Where originals lie and how a model's tokens are counted is left to those
//! who implement them; an archive in memory stands here.

use crate::{Block, EntryId, Image, Item, Message, ResultPart, Sizes, Tokens};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Where the originals are. Asked for what a compaction needs and no more, so that what is superseded need
/// not stay in memory.
pub trait Archive: Send + Sync {
    /// The message of this entry, as it was first said.
    fn message(&self, id: EntryId) -> Result<Arc<Message>, ArchiveError>;

    /// The messages of these entries, in their order. An archive that is far away answers in one go.
    fn messages(&self, ids: &[EntryId]) -> Result<Vec<Arc<Message>>, ArchiveError> {
        ids.iter().map(|&id| self.message(id)).collect()
    }
}

/// An original that could not be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the original of {id}: {why}")]
pub struct ArchiveError {
    /// The entry asked for.
    pub id: EntryId,
    /// What stood in the way.
    pub why: String,
}

/// Originals held in memory. More can be put in while others read.
#[derive(Debug, Default)]
pub struct MemoryArchive {
    messages: RwLock<HashMap<EntryId, Arc<Message>>>,
}

impl MemoryArchive {
    /// Puts a message in under its entry's id.
    pub fn put(&self, id: EntryId, message: Message) {
        self.put_shared(id, Arc::new(message));
    }

    /// The same for one that others hold too.
    pub fn put_shared(&self, id: EntryId, message: Arc<Message>) {
        let mut messages = self.messages.write().unwrap_or_else(PoisonError::into_inner);
        messages.insert(id, message);
    }
}

impl MemoryArchive {
    /// Those of `ids` that are not here.
    pub fn missing(&self, ids: &[EntryId]) -> Vec<EntryId> {
        let messages = self.messages.read().unwrap_or_else(PoisonError::into_inner);
        ids.iter().copied().filter(|id| !messages.contains_key(id)).collect()
    }

    /// Lets go of all but `ids`.
    pub fn retain(&self, ids: &[EntryId]) {
        let ids: std::collections::HashSet<&EntryId> = ids.iter().collect();
        let mut messages = self.messages.write().unwrap_or_else(PoisonError::into_inner);
        messages.retain(|id, _| ids.contains(id));
    }
}

impl Archive for MemoryArchive {
    fn message(&self, id: EntryId) -> Result<Arc<Message>, ArchiveError> {
        let messages = self.messages.read().unwrap_or_else(PoisonError::into_inner);
        let found = messages.get(&id).cloned();
        found.ok_or_else(|| ArchiveError { id, why: "no message is kept under this id".into() })
    }
}

/// Counts tokens the way the session's model does, as well as that is known.
pub trait Measure: Send + Sync {
    /// Tokens of a text.
    fn text(&self, text: &str) -> Tokens;
    /// Tokens of a picture.
    fn image(&self, image: &Image) -> Tokens;
    /// What the protocol adds around each message.
    fn framing(&self) -> Tokens;

    /// What it adds around each call.
    fn call_framing(&self) -> Tokens {
        Tokens::ZERO
    }

    /// What it adds around each result.
    fn result_framing(&self) -> Tokens {
        Tokens::ZERO
    }

    /// Whether a message takes what its blocks take, each counted alone. Where it does not, whole
    /// messages must be weighed.
    fn adds_up(&self) -> bool {
        true
    }

    /// The longest piece of `text` from its start that takes at most `max`.
    fn head<'t>(&self, text: &'t str, max: Tokens) -> &'t str {
        bisect(text.len(), |len| &text[..text.floor_char_boundary(len)], |piece| self.text(piece) <= max)
    }

    /// The longest piece of `text` up to its end that takes at most `max`.
    fn tail<'t>(&self, text: &'t str, max: Tokens) -> &'t str {
        let from_end = |len| &text[text.ceil_char_boundary(text.len() - len)..];
        bisect(text.len(), from_end, |piece| self.text(piece) <= max)
    }

    /// A whole message, by kind of block.
    fn sizes(&self, message: &Message) -> Sizes {
        let mut sizes = Sizes { framing: self.framing(), ..Sizes::default() };
        message.calls().for_each(|_| sizes.framing += self.call_framing());
        message.results().for_each(|_| sizes.framing += self.result_framing());
        for block in &message.blocks {
            match block {
                Block::Text { text } => sizes.text += self.text(text),
                Block::Thinking { text, .. } => sizes.thinking += self.text(text),
                Block::Call(call) => sizes.calls += self.text(&call.name) + self.text(&call.input),
                Block::Image(image) => sizes.images += self.image(image),
                Block::Opaque(opaque) => sizes.opaque += self.text(&opaque.json),
                Block::Result(result) => result.parts.iter().for_each(|part| match part {
                    ResultPart::Text { text } => sizes.results += self.text(text),
                    ResultPart::Image(image) => sizes.images += self.image(image),
                    ResultPart::Opaque(opaque) => sizes.opaque += self.text(&opaque.json),
                }),
            }
        }
        sizes
    }

    /// The light half of a message and what it takes: everything planning needs, nothing it said.
    fn weigh(&self, message: &Message) -> MeasuredItem {
        MeasuredItem { item: Item::of(message), sizes: self.sizes(message) }
    }
}

/// The light half of a message, and what it takes by one way of counting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredItem {
    /// The light half.
    pub item: Item,
    /// What the message takes.
    pub sizes: Sizes,
}

/// Counts nothing, for those who only want to know what was said, or what is in view.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZeroMeasure;

impl Measure for ZeroMeasure {
    fn text(&self, _: &str) -> Tokens {
        Tokens::ZERO
    }

    fn image(&self, _: &Image) -> Tokens {
        Tokens::ZERO
    }

    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }
}

/// The longest piece that fits, where every shorter one would fit as well.
fn bisect<'t>(len_max: usize, piece: impl Fn(usize) -> &'t str, fits: impl Fn(&str) -> bool) -> &'t str {
    let (mut fitting, mut above) = (0, len_max + 1);
    while above - fitting > 1 {
        let middle = fitting.midpoint(above);
        if fits(piece(middle)) { fitting = middle } else { above = middle }
    }
    piece(fitting)
}
