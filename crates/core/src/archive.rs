//! The two ports of the core: [`Archive`], which gives the originals of messages, and [`Measure`],
//! which counts tokens. Where originals lie and how a model's tokens are counted is left to those
//! who implement them; an archive in memory stands here.

use crate::message_table::MessageTable;
use crate::{Block, EntryId, Image, Item, Message, Opaque, Payload, ResultPart, Sizes, Tokens};
use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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

/// Originals held in memory, and, where somebody keeps the rest at hand, those. More can be put in while others read.
#[derive(Default)]
pub struct MemoryArchive {
    messages: RwLock<MessageTable>,
    behind: Option<Arc<dyn Archive>>,
}

impl std::fmt::Debug for MemoryArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryArchive").finish_non_exhaustive()
    }
}

impl MemoryArchive {
    /// An archive that asks `behind` for what it does not hold, and does not hold it after.
    pub fn in_front_of(behind: Arc<dyn Archive>) -> Self {
        Self { behind: Some(behind), ..Self::default() }
    }

    /// What it holds now, in an archive of its own: what either lets go or takes up after is not the other's. Costs next to nothing,
    /// however much that is.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        Self { messages: RwLock::new(self.read().clone()), behind: self.behind.clone() }
    }

    fn read(&self) -> RwLockReadGuard<'_, MessageTable> {
        self.messages.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, MessageTable> {
        self.messages.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a message in under its entry's id.
    pub fn put(&self, id: EntryId, message: Message) {
        self.put_shared(id, Arc::new(message));
    }

    /// The same for one that others hold too.
    pub fn put_shared(&self, id: EntryId, message: Arc<Message>) {
        self.write().insert(id, message);
    }

    /// Those of `ids` that cannot be read here.
    pub fn missing(&self, ids: &[EntryId]) -> Vec<EntryId> {
        if self.behind.is_some() {
            return Vec::new();
        }
        let messages = self.read();
        ids.iter().copied().filter(|id| messages.get(*id).is_none()).collect()
    }

    /// Whether somebody keeps at hand what it does not hold.
    pub fn is_backed(&self) -> bool {
        self.behind.is_some()
    }

    /// The message under an id, where it is held here.
    pub fn held(&self, id: EntryId) -> Option<Arc<Message>> {
        self.read().get(id).cloned()
    }

    /// Lets go of `ids`.
    pub fn remove(&self, ids: &[EntryId]) {
        let mut messages = self.write();
        ids.iter().for_each(|id| messages.remove(*id));
    }

    /// Lets go of all but `ids`; whether that was any.
    pub fn retain(&self, ids: &[EntryId]) -> bool {
        let ids: HashSet<EntryId> = ids.iter().copied().collect();
        self.write().retain(&ids)
    }
}

impl Archive for MemoryArchive {
    fn message(&self, id: EntryId) -> Result<Arc<Message>, ArchiveError> {
        match (self.held(id), &self.behind) {
            (Some(message), _) => Ok(message),
            (None, Some(behind)) => behind.message(id),
            (None, None) => Err(ArchiveError { id, why: "no message is kept under this id".into() }),
        }
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

    /// Tokens of a file, or of data only its provider can read, in a block that is carried. Nothing where a measure
    /// knows no rule for it: what nobody can count is the provider's to judge.
    fn payload(&self, _: &Payload) -> Tokens {
        Tokens::ZERO
    }

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

    /// Tokens of a block that is carried: its prose as text, all else by rules of its own.
    fn opaque(&self, opaque: &Opaque) -> Tokens {
        let contents = opaque.contents();
        let images: Tokens = contents.images.iter().map(|image| self.image(image)).sum();
        let payloads: Tokens = contents.payloads.iter().map(|payload| self.payload(payload)).sum();
        self.text(&contents.prose) + images + payloads
    }

    /// Tokens of reasoning: its words, or what its seal holds where that is more.
    fn thinking(&self, text: &str, signature: Option<&str>) -> Tokens {
        let chars = signature.map_or(0, str::len) as u64;
        self.text(text).max(self.payload(&Payload::Sealed { chars }))
    }

    /// A whole message, by kind of block.
    fn sizes(&self, message: &Message) -> Sizes {
        let mut sizes = Sizes { framing: self.framing(), ..Sizes::default() };
        message.calls().for_each(|_| sizes.framing += self.call_framing());
        message.results().for_each(|_| sizes.framing += self.result_framing());
        for block in &message.blocks {
            match block {
                Block::Text { text } => sizes.text += self.text(text),
                Block::Thinking { text, signature, .. } => {
                    sizes.thinking += self.thinking(text, signature.as_deref());
                }
                Block::Call(call) => sizes.calls += self.text(&call.name) + self.text(&call.input),
                Block::Image(image) => sizes.images += self.image(image),
                Block::Opaque(opaque) => sizes.opaque += self.opaque(opaque),
                Block::Result(result) => result.parts.iter().for_each(|part| match part {
                    ResultPart::Text { text } => sizes.results += self.text(text),
                    ResultPart::Image(image) => sizes.images += self.image(image),
                    ResultPart::Opaque(opaque) => sizes.opaque += self.opaque(opaque),
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

#[cfg(test)]
mod tests {
    use super::{Archive, ArchiveError, MemoryArchive};
    use crate::{Author, EntryId, Message, Role};
    use std::sync::{Arc, Mutex};

    fn saying(text: &str) -> Message {
        Message::text(Role::User, Author::Person, text.to_owned())
    }

    /// Holds one message, and remembers who asked for what.
    #[derive(Default)]
    struct RecordingArchive {
        asked: Mutex<Vec<EntryId>>,
    }

    impl Archive for RecordingArchive {
        fn message(&self, id: EntryId) -> Result<Arc<Message>, ArchiveError> {
            self.asked.lock().expect("nobody panics with it").push(id);
            Ok(Arc::new(saying("from behind")))
        }
    }

    #[test]
    fn what_lies_behind_is_read_when_it_is_asked_for_and_not_held() {
        let behind = Arc::new(RecordingArchive::default());
        let archive = MemoryArchive::in_front_of(behind.clone());
        archive.put(EntryId(1), saying("from memory"));
        assert_eq!(archive.missing(&[EntryId(0), EntryId(1)]), [], "nothing has to be put in first");
        let read = archive.message(EntryId(0)).expect("it lies behind");
        assert_eq!(read.said(), "from behind");
        assert_eq!(Arc::strong_count(&read), 1, "whoever reads it is alone in holding it");
        assert_eq!(archive.message(EntryId(1)).expect("it is in memory").said(), "from memory");
        assert_eq!(*behind.asked.lock().expect("nobody panicked"), [EntryId(0)]);
    }

    #[test]
    fn without_anything_behind_what_is_not_held_is_missing() {
        let archive = MemoryArchive::default();
        archive.put(EntryId(1), saying("from memory"));
        assert_eq!(archive.missing(&[EntryId(0), EntryId(1)]), [EntryId(0)]);
        let error = archive.message(EntryId(0)).expect_err("it is nowhere");
        assert_eq!(error.to_string(), "cannot read the original of m0000: no message is kept under this id");
    }
}
