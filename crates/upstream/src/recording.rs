//! Replay: a transcript's own replies, in order.
//!
//! A request is placed in the recording by its newest assistant message that the recording knows, whatever
//! was compacted before it, and gets the reply recorded after that.

use crate::parsed_request::{ParsedRequest, messages};
use crate::reply::{Reply, ReplyBlock, Stop};
use blake3::Hash;
use epitome_core::{Block, Message, Role, ZeroMeasure};
use epitome_wire::{ReadError, read};
use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// The replies of a recorded conversation.
#[derive(Clone, Debug)]
pub struct Recording {
    replies: Vec<Reply>,
    /// Where each reply stands, by what it says; several where it was said more than once.
    places: HashMap<String, Vec<usize>>,
}

/// How far a recording has been replayed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    /// The place of the reply last given.
    last: Option<usize>,
    /// The request that got the first one: when it comes again, so does everything.
    opening: Option<Hash>,
}

/// A transcript that cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be opened or unpacked.
    #[error("cannot read the recording")]
    Open(#[from] io::Error),
    /// It is no transcript.
    #[error("cannot read the recording")]
    Read(#[from] ReadError),
    /// One of its messages is damaged.
    #[error("the recording cannot be replayed: {0}; use another transcript")]
    Damaged(String),
    /// Nobody answers in it.
    #[error("the recording holds no reply; use a transcript in which the model answers")]
    NoReplies,
}

/// What is said when the recording is over.
const OVER: &str = "[the recording ends here]";

impl Recording {
    /// Opens a transcript of any format, packed or not. Of several conversations the longest is replayed.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        Self::of(unpacked(std::fs::read(path)?)?)
    }

    /// Reads a transcript.
    pub fn of(bytes: Vec<u8>) -> Result<Self, RecordingError> {
        let transcript = read(Arc::new(bytes), None, &ZeroMeasure)?;
        let longest = transcript.conversations.iter().max_by_key(|conversation| conversation.log.len());
        let said = longest.map(messages).transpose().map_err(RecordingError::Damaged)?;
        Self::of_messages(&said.unwrap_or_default())
    }

    fn of_messages(messages: &[Arc<Message>]) -> Result<Self, RecordingError> {
        let runs = messages.chunk_by(|one, other| one.role == other.role);
        let spoken = runs.filter(|run| run[0].role == Role::Assistant).map(reply_of);
        let mut replies: Vec<Reply> = spoken.filter(|reply| !reply.parts.is_empty()).collect();
        name_calls(&mut replies);
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, reply) in replies.iter().enumerate() {
            places.entry(print_of(&reply.parts)).or_default().push(place);
        }
        if replies.is_empty() { Err(RecordingError::NoReplies) } else { Ok(Self { replies, places }) }
    }

    /// How many replies there are.
    pub fn len(&self) -> usize {
        self.replies.len()
    }

    /// Whether there are none; never so for a recording that was opened.
    pub fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    /// The reply to a request.
    pub(crate) fn next(&self, asked: &ParsedRequest, cursor: &mut Cursor) -> Reply {
        let digest = asked.prompt.digest();
        let runs: Vec<&[Arc<Message>]> =
            asked.messages.chunk_by(|one, other| one.role == other.role).collect();
        let spoken = runs.iter().rev().filter(|run| run[0].role == Role::Assistant);
        let known =
            spoken.map(|run| print_of(&parts_of(run))).find_map(|print| self.place(&print, cursor.last));
        let next = match (known, cursor.last) {
            (Some(place), _) => place + 1,
            (None, Some(_)) if cursor.opening == Some(digest) => 0,
            // Nothing of what it said is left in view: go on from what was said last.
            (None, Some(last)) => last + 1,
            (None, None) => 0,
        };
        if next == 0 {
            cursor.opening = Some(digest);
        }
        cursor.last = Some(next);
        self.replies.get(next).cloned().unwrap_or_else(|| Reply::text(OVER))
    }

    /// Where this was said; of several places the first from `last` on.
    fn place(&self, print: &str, last: Option<usize>) -> Option<usize> {
        let places = self.places.get(print)?;
        let from = last.unwrap_or(0);
        places.iter().find(|&&place| place >= from).or(places.last()).copied()
    }
}

fn reply_of(run: &[Arc<Message>]) -> Reply {
    let parts = parts_of(run);
    let calls = parts.iter().any(|part| matches!(part, ReplyBlock::Call { .. }));
    Reply { parts, stop: if calls { Stop::Calls } else { Stop::End } }
}

fn parts_of(run: &[Arc<Message>]) -> Vec<ReplyBlock> {
    let blocks = run.iter().flat_map(|message| message.blocks.iter());
    blocks.filter(|block| !is_blank(block)).filter_map(ReplyBlock::of).collect()
}

/// Whether a block is a text of white space, which no protocol takes back.
fn is_blank(block: &Block) -> bool {
    match block {
        Block::Text { text } => text.trim().is_empty(),
        Block::Thinking { .. } | Block::Call(_) | Block::Result(_) | Block::Image(_) | Block::Opaque(_) => {
            false
        }
    }
}

/// Every protocol takes an id of so many letters, digits, `_` and `-`.
const ID_CHARS_MAX: usize = 40;

/// Gives calls other ids where theirs came twice, or would be refused when they come back.
fn name_calls(replies: &mut [Reply]) {
    let mut used = HashSet::new();
    for (place, reply) in replies.iter_mut().enumerate() {
        for (index, part) in reply.parts.iter_mut().enumerate() {
            if let ReplyBlock::Call { id, .. } = part {
                let is_plain = id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
                let is_fit = is_plain && !id.is_empty() && id.len() <= ID_CHARS_MAX;
                if !is_fit || used.contains(id) {
                    *id = format!("call_replayed{place:05}_{index}");
                }
                used.insert(id.clone());
            }
        }
    }
}

/// What a reply says, without what protocols write differently: white space, thinking, ids.
fn print_of(parts: &[ReplyBlock]) -> String {
    let mut print = String::new();
    for part in parts {
        match part {
            ReplyBlock::Thinking { .. } => {}
            ReplyBlock::Text(text) => print.extend(text.chars().filter(|letter| !letter.is_whitespace())),
            ReplyBlock::Call { name, input, .. } => {
                print.push_str(name);
                print.extend(input.chars().filter(|letter| !letter.is_whitespace()));
            }
        }
    }
    print
}

/// The bytes behind a packed file, told by its first bytes.
fn unpacked(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    match bytes.as_slice() {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => zstd::decode_all(bytes.as_slice()),
        [0x1f, 0x8b, ..] => {
            let mut plain = Vec::new();
            flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain)?;
            Ok(plain)
        }
        _ => Ok(bytes),
    }
}
