//! The methods: each makes a context of the same size from the same history.

use super::sentences;
use super::session::{Said, Session};
use epitome_core::facts::Voice;
use epitome_core::ledger::{Ledger, Operation};
use epitome_core::{Archive as _, Author, EntryId, Material, Measure, Role, Tokens, embedded};
use std::fmt::Write as _;

/// A way to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The newest messages that fit.
    DropOldest,
    /// The first message, and the newest.
    FirstAndTail,
    /// Everything said and called, results of the last ten replies only; the newest that fit.
    Masking,
    /// The newest messages, and the list of files touched.
    TailAndFiles,
    /// Every message of the user that fits in half, and the newest messages.
    UserAndTail,
    /// The newest messages, and the sentences with the rarest words.
    TfIdf,
    /// The newest messages, and the sentences most like all others.
    TextRank,
    /// The newest messages, and our embedded summary.
    Ours,
}

impl Method {
    /// Every method, ours last.
    pub const ALL: [Self; 8] = [
        Self::DropOldest,
        Self::FirstAndTail,
        Self::Masking,
        Self::TailAndFiles,
        Self::UserAndTail,
        Self::TfIdf,
        Self::TextRank,
        Self::Ours,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::DropOldest => "drop-oldest",
            Self::FirstAndTail => "first message + tail",
            Self::Masking => "observation masking",
            Self::TailAndFiles => "tail + file list",
            Self::UserAndTail => "user messages + tail",
            Self::TfIdf => "TF-IDF sentences",
            Self::TextRank => "TextRank sentences",
            Self::Ours => "epitome, embedded",
        }
    }
}

/// What a method leaves.
pub struct Compacted {
    /// All the model would see of the history.
    pub text: String,
    /// Messages kept verbatim, by position, oldest first.
    pub kept: Vec<usize>,
    /// Entries that pointers in the text lead to.
    pub pointers: Vec<EntryId>,
}

/// The share of the final size that our method gives to verbatim messages, in hundredths.
pub const TAIL_SHARE: u64 = 40;

/// The context a method makes of the messages before `at`, at most `size`.
pub fn compact(
    session: &Session,
    at: usize,
    size: Tokens,
    method: Method,
    measure: &dyn Measure,
    tail_share: u64,
) -> Compacted {
    let history = &session.messages[..at];
    match method {
        Method::DropOldest => plain(history, tail(history, size), String::new()),
        Method::FirstAndTail => first_and_tail(history, size),
        Method::Masking => masking(history, size, measure),
        Method::TailAndFiles => {
            let list = file_list(history, size.share(1, 5), measure);
            plain(history, tail(history, size.less(measure.text(&list))), list)
        }
        Method::UserAndTail => user_and_tail(history, size),
        Method::TfIdf => with_sentences(history, size, measure, sentences::by_rarity),
        Method::TextRank => with_sentences(history, size, measure, sentences::by_rank),
        Method::Ours => ours(session, history, size, measure, tail_share),
    }
}

/// The newest messages that fit.
fn tail(history: &[Said], size: Tokens) -> Vec<usize> {
    let mut sum = Tokens::ZERO;
    let fits = |at: &usize| {
        sum += history[*at].tokens;
        sum <= size
    };
    let mut kept: Vec<usize> = (0..history.len()).rev().take_while(fits).collect();
    kept.reverse();
    kept
}

fn plain(history: &[Said], kept: Vec<usize>, mut text: String) -> Compacted {
    for &at in &kept {
        text.push('\n');
        text.push_str(&history[at].text);
    }
    Compacted { text, kept, pointers: Vec::new() }
}

fn first_and_tail(history: &[Said], size: Tokens) -> Compacted {
    let Some(first) = history.first().filter(|first| first.tokens <= size.share(1, 2)) else {
        return plain(history, tail(history, size), String::new());
    };
    let mut kept = tail(history, size.less(first.tokens));
    if kept.first() != Some(&0) {
        kept.insert(0, 0);
    }
    plain(history, kept, String::new())
}

/// Results of this many replies stay.
const MASKED_AFTER: usize = 10;

fn masking(history: &[Said], size: Tokens, measure: &dyn Measure) -> Compacted {
    let (mut replies, mut sum) = (0, Tokens::ZERO);
    let (mut texts, mut kept) = (Vec::new(), Vec::new());
    for (at, said) in history.iter().enumerate().rev() {
        let is_whole = replies < MASKED_AFTER && sum + said.tokens <= size.share(1, 2);
        let (text, tokens) = if is_whole { (said.text.clone(), said.tokens) } else { masked(said, measure) };
        sum += tokens;
        if sum > size {
            break;
        }
        texts.push(text);
        kept.push(at);
        replies += usize::from(said.message.role == Role::Assistant);
    }
    texts.reverse();
    kept.reverse();
    Compacted { text: texts.join("\n"), kept, pointers: Vec::new() }
}

fn masked(said: &Said, measure: &dyn Measure) -> (String, Tokens) {
    let passages = epitome_core::facts::passages(&said.message);
    let shown = passages.iter().map(|passage| match passage.voice {
        Voice::Said | Voice::Called => passage.text.as_ref(),
        Voice::Answered => "[result omitted]",
        Voice::Thought => "",
    });
    let text = shown.collect::<Vec<_>>().join("\n");
    let tokens = measure.text(&text) + measure.framing();
    (text, tokens)
}

/// The files touched, newest last, in the ledger's words.
fn file_list(history: &[Said], most: Tokens, measure: &dyn Measure) -> String {
    let ledger = Ledger::of(history.iter().map(|said| (said.id, &*said.message)));
    let mut list = String::from("## Files\n");
    let mut files = ledger.files;
    files.sort_by_key(|file| std::cmp::Reverse(file.entry));
    for file in files {
        let line = format!("{} {}\n", word(file.standing()), file.path);
        if measure.text(&list) + measure.text(&line) > most {
            break;
        }
        list.push_str(&line);
    }
    list
}

/// An operation's name in lists.
pub fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Created => "created",
        Operation::Modified => "modified",
        Operation::Deleted => "deleted",
    }
}

fn user_and_tail(history: &[Said], size: Tokens) -> Compacted {
    let mut room = size.share(1, 2);
    let mut kept = Vec::new();
    for (at, said) in history.iter().enumerate().rev() {
        if said.message.author == Author::Person && said.tokens <= room {
            room = room.less(said.tokens);
            kept.push(at);
        }
    }
    let spent = size.share(1, 2).less(room);
    kept.extend(tail(history, size.less(spent)));
    kept.sort_unstable();
    kept.dedup();
    plain(history, kept, String::new())
}

/// Half for the newest messages, half for sentences of the others, in their order.
fn with_sentences(
    history: &[Said],
    size: Tokens,
    measure: &dyn Measure,
    rank: fn(&[&str]) -> Vec<usize>,
) -> Compacted {
    let kept = tail(history, size.share(1, 2));
    let older = &history[..kept.first().copied().unwrap_or(history.len())];
    let all: Vec<&str> = older.iter().flat_map(|said| sentences::split(&said.text)).collect();
    let mut room = size.share(1, 2);
    let mut chosen = Vec::new();
    for at in rank(&all) {
        let tokens = measure.text(all[at]) + Tokens(1);
        if tokens <= room {
            room = room.less(tokens);
            chosen.push(at);
        }
        if room < Tokens(8) {
            break;
        }
    }
    chosen.sort_unstable();
    let text = chosen.iter().map(|&at| all[at]).collect::<Vec<_>>().join("\n");
    plain(history, kept, text)
}

fn ours(
    session: &Session,
    history: &[Said],
    size: Tokens,
    measure: &dyn Measure,
    tail_share: u64,
) -> Compacted {
    let kept = tail(history, size.share(tail_share, 100));
    let first = kept.first().copied().unwrap_or(history.len());
    let spent: Tokens = kept.iter().map(|&at| history[at].tokens).sum();
    let read = |said: &[Said]| -> Vec<_> {
        let ids: Vec<EntryId> = said.iter().map(|said| said.id).collect();
        let messages = session.archive.messages(&ids).expect("the archive holds every message");
        ids.into_iter().zip(messages).collect()
    };
    let (superseded, visible) = (read(&history[..first]), read(&history[first..]));
    let addressable: Vec<EntryId> = superseded.iter().map(|(id, _)| *id).collect();
    let material = Material {
        earlier: None,
        superseded: &superseded,
        addressable: &addressable,
        visible: &visible,
        previous: &[],
        focus: None,
        measure,
    };
    let room = size.less(spent).less(measure.framing());
    let draft = embedded::summarize(&material, room);
    assert!(measure.text(&draft.text) <= room, "a summary keeps to its budget");
    let words = draft.text.split(|c: char| !c.is_ascii_alphanumeric());
    let mut pointers: Vec<EntryId> = words.filter_map(|word| word.parse().ok()).collect();
    pointers.sort_unstable();
    pointers.dedup();
    let mut text = String::new();
    let _infallible = writeln!(text, "{}", draft.text);
    Compacted { pointers, ..plain(history, kept, text) }
}
