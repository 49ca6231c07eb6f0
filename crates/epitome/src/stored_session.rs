//! A stored session as a transcript: the file it was read from, and a line of our own form for each entry that came since.
//! So everything that reads transcripts reads stored sessions, by the same ids. What acts on one goes to the store itself.

use crate::store_place::OpenStore;
use crate::{clock::WallClock, input};
use anyhow::{Context as _, Result, bail};
use epitome_core::{Entry, EntryId, Mark, Message, Tokens, ZeroMeasure};
use epitome_engine::store::SessionId;
use epitome_engine::{Driver, Ports};
use epitome_store::{ListedSession, StoredEntry};
use epitome_wire::{ByteSource, Conversation, FixedParts, Format, Transcript, native, read};
use std::collections::HashMap;
use std::sync::Arc;

/// A session, taken out of its store whole.
pub struct LoadedSession {
    /// What is known of it.
    pub listed: ListedSession,
    /// Its entries with their times.
    pub entries: Vec<StoredEntry>,
    /// The file it was read from; none where it began in the store.
    pub kept: Option<KeptFile>,
    /// What was said since that file.
    messages: HashMap<EntryId, Arc<Message>>,
}

/// The file a session was read from.
pub struct KeptFile {
    pub bytes: Arc<Vec<u8>>,
    /// What it says.
    pub transcript: Transcript,
    /// Which conversation of it the session is.
    pub number: usize,
}

impl KeptFile {
    /// The conversation that the session began as.
    pub fn conversation(&self) -> &Conversation {
        &self.transcript.conversations[self.number]
    }
}

impl LoadedSession {
    /// Reads a session, with what was said in it.
    pub fn load(open: &OpenStore, session: SessionId) -> Result<Self> {
        let outline = Self::outline(open, session)?;
        let ids: Vec<EntryId> =
            outline.added().iter().filter(|one| is_message(&one.entry)).map(|one| one.id).collect();
        let said = open.wait(open.store.originals(session, &ids))?;
        Ok(Self { messages: ids.into_iter().zip(said).collect(), ..outline })
    }

    /// The same without what was said since its file, which a store need not keep.
    pub fn outline(open: &OpenStore, session: SessionId) -> Result<Self> {
        let listed = open.listed(session)?;
        let entries = open.wait(open.store.entries(session))?;
        let kept = kept_file(open, &listed)?;
        check_same(&listed, &entries, kept.as_ref())?;
        Ok(Self { listed, entries, kept, messages: HashMap::new() })
    }

    /// The entries that came since the session was read from its file.
    pub fn added(&self) -> &[StoredEntry] {
        &self.entries[self.kept.as_ref().map_or(0, |kept| kept.conversation().log.len())..]
    }

    /// Whether its file says all of it.
    pub fn is_unchanged(&self) -> bool {
        let is_at_its_leaf = |kept: &KeptFile| kept.conversation().leaf == self.listed.leaf;
        self.added().is_empty() && self.kept.as_ref().is_some_and(is_at_its_leaf)
    }

    /// Which conversation of the transcript it is.
    pub fn number(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.number)
    }

    /// The session in our own form: its file as it is where nothing came since.
    pub fn native(&self) -> Result<Vec<u8>> {
        let Some(kept) = &self.kept else { return Ok(self.born()) };
        let (format, source) = (kept.transcript.format, kept.bytes.clone() as Arc<dyn ByteSource>);
        if format != Format::Native {
            let mut bytes = native::wrap(format, source.len(), kept.transcript.conversations.len());
            bytes.extend_from_slice(&kept.bytes);
            bytes.push(b'\n');
            bytes.extend(self.lines(1, kept.conversation().leaf));
            return Ok(bytes);
        }
        if self.is_unchanged() {
            return Ok(kept.bytes.to_vec());
        }
        let pass = native::next_pass(source.clone()).map_err(input::explain)?;
        let (front, start) = native::rewrap(&*source).map_err(input::explain)?;
        let mut bytes = [&front, whole_lines(&kept.bytes[start as usize..])].concat();
        bytes.extend(self.lines(pass, kept.conversation().leaf));
        Ok(bytes)
    }

    /// A session that began in the store, in our own form.
    fn born(&self) -> Vec<u8> {
        let mut bytes = native::wrap(Format::Native, 0, 1);
        // The original that is not there ends here.
        bytes.push(b'\n');
        let model = Some(self.listed.about.model.as_str()).filter(|model| !model.is_empty());
        let window = self.window().map(|tokens| tokens.0);
        let fixed = FixedParts { model: model.map(Into::into), window, ..FixedParts::default() };
        bytes.extend(native::fixed_line(0, &fixed));
        bytes.extend(self.lines(1, None));
        bytes
    }

    /// The window it was last compacted for: the operator may have set another than its model's.
    fn window(&self) -> Option<Tokens> {
        self.entries.iter().rev().find_map(|one| match &one.entry {
            Entry::Mark(Mark::Compaction { record, .. }) => Some(record.budget.window),
            Entry::Mark(_) | Entry::Message(_) | Entry::Note { .. } | Entry::Recorded(_) => None,
        })
    }

    /// A line for each entry that came since the file, which has got to `leaf`; marks of one commit are one pass.
    fn lines(&self, first_pass: u64, mut leaf: Option<EntryId>) -> Vec<u8> {
        let (mut bytes, mut pass, mut marked) = (Vec::new(), first_pass, None);
        let number = self.number();
        for StoredEntry { id, parent, time_ms, entry, .. } in self.added() {
            let place = native::LinePlace { conversation: number, at: *parent, time_ms: *time_ms };
            let line = match entry {
                Entry::Mark(mark) => {
                    pass += u64::from(marked.is_some_and(|last| last != *time_ms));
                    marked = Some(*time_ms);
                    place.mark(pass, mark)
                }
                Entry::Message(_) => {
                    let Some(message) = self.messages.get(id) else { continue };
                    match parent {
                        None if id.0 > 0 => place.root(message),
                        Some(_) | None => place.message(message),
                    }
                }
                Entry::Note { kind } => place.note(kind),
                // A file's own, and this is what came since; its place is kept, or later ids would name others.
                Entry::Recorded(_) => place.note("a compaction of another tool's"),
            };
            bytes.extend(line);
            leaf = if matches!(entry, Entry::Mark(_)) { leaf } else { Some(*id) };
        }
        let moved = self.listed.leaf.filter(|_| self.listed.leaf != leaf);
        bytes.extend(moved.into_iter().flat_map(|leaf| native::leaf_line(number, leaf)));
        bytes
    }
}

/// The file of a session, whoever of its conversations keeps it.
fn kept_file(open: &OpenStore, listed: &ListedSession) -> Result<Option<KeptFile>> {
    let keeper = listed.about.file_in.map_or(listed.session, SessionId);
    let Some(bytes) = open.wait(open.store.file(keeper))? else { return Ok(None) };
    let bytes = Arc::new(bytes);
    let format = listed.about.form.parse().ok();
    let transcript = read(bytes.clone(), format, &ZeroMeasure).map_err(input::explain);
    let transcript =
        transcript.with_context(|| format!("cannot read the file that {} came from", listed.session))?;
    let number = listed.about.conversation.unwrap_or(0);
    if number >= transcript.conversations.len() {
        bail!("{}", read_otherwise(listed));
    }
    Ok(Some(KeptFile { bytes, transcript, number }))
}

/// Refuses a session whose file is read otherwise than when it was imported: ids would name others.
fn check_same(listed: &ListedSession, entries: &[StoredEntry], kept: Option<&KeptFile>) -> Result<()> {
    let Some(kept) = kept else { return Ok(()) };
    let log = &kept.conversation().log;
    let is_same = log.len() <= entries.len()
        && log
            .iter()
            .zip(entries)
            .all(|((id, entry), stored)| *entry == stored.entry && log.parent(id) == stored.parent);
    if is_same { Ok(()) } else { bail!("{}", read_otherwise(listed)) }
}

fn read_otherwise(listed: &ListedSession) -> String {
    format!(
        "this version of epitome reads the file of {} otherwise than the one that imported it; use that one, or import the file again",
        listed.session
    )
}

/// Lines that have an end: what was cut off in the middle is no part of what was read, and nothing can stand behind it.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

fn is_message(entry: &Entry) -> bool {
    match entry {
        Entry::Message(_) => true,
        Entry::Recorded(_) | Entry::Note { .. } | Entry::Mark(_) => false,
    }
}

/// A driver that asks nobody and looks at the clock: what it does is stored with its time.
pub fn quiet_driver() -> Driver {
    Driver::new(Ports::at(Arc::new(WallClock::start())))
}
