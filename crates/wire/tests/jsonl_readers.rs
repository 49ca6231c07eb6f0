//! The readers of line-by-line formats on real sessions: what they find, and what always holds.

use epitome_core::{Archive, CallId, Entry, EntryId, Image, Measure, Tokens};
use epitome_wire::{Conversation, ReadError, Source, Transcript, Window, claude_code, codex, copilot_cli, pi};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Four bytes to the token: all a test of readers needs.
struct Quarter;

impl Measure for Quarter {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len() as u64 / 4)
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens(1000)
    }
    fn framing(&self) -> Tokens {
        Tokens(4)
    }
}

type Read = fn(Arc<dyn Source>, &dyn Measure) -> Result<Transcript, ReadError>;

/// The formats under test: their folder in the corpus, and their reader.
const FORMATS: [(&str, Read); 4] = [
    ("claude-code", claude_code::read),
    ("codex", codex::read),
    ("copilot-cli", copilot_cli::read),
    ("pi", pi::read),
];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

fn load(path: &Path) -> Arc<Vec<u8>> {
    let packed = fs::read(path).expect("the corpus is committed");
    Arc::new(zstd::decode_all(&packed[..]).expect("the corpus is zstd"))
}

/// Every file of every format under test, in order, with its reader.
fn files() -> Vec<(String, Read, Arc<Vec<u8>>)> {
    let mut files = Vec::new();
    for (folder, read) in FORMATS {
        let mut paths = Vec::new();
        gather(&corpus().join(folder), &mut paths);
        paths.sort();
        for path in paths {
            let name = path.strip_prefix(corpus()).expect("below the corpus").with_extension("");
            files.push((name.display().to_string(), read, load(&path)));
        }
    }
    files
}

fn gather(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the corpus is committed") {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() { gather(&path, paths) } else { paths.push(path) }
    }
}

fn transcript(read: Read, bytes: &Arc<Vec<u8>>) -> Transcript {
    read(bytes.clone(), &Quarter).expect("a corpus file is of its format")
}

fn ids(conversation: &Conversation) -> impl Iterator<Item = EntryId> + use<> {
    (0..conversation.log.len() as u32).map(EntryId)
}

/// What one file comes to: all its messages, those on the live branch, and the rest.
fn row(name: &str, transcript: &Transcript) -> String {
    let conversation = &transcript.conversations[0];
    let log = &conversation.log;
    let (mut messages, mut calls, mut results, mut compactions) = (0, 0, 0, 0);
    for id in ids(conversation) {
        match log.get(id) {
            Some(Entry::Message(item)) => {
                messages += 1;
                calls += item.calls.len();
                results += item.answers.len();
            }
            Some(Entry::Compaction(_)) => compactions += 1,
            Some(Entry::Edit(_) | Entry::Undo { .. } | Entry::Note { .. }) | None => {}
        }
    }
    let live = conversation.leaf.map_or(0, |leaf| {
        log.branch(leaf).into_iter().filter(|id| log.item(*id).is_some()).count()
    });
    let replies = conversation.replies.len();
    let peak = conversation.replies.iter().filter_map(|reply| reply.usage).map(|usage| usage.prompt).max();
    let problems = transcript.problems.len();
    format!(
        "{name:<58} {messages:>5} {live:>5} {replies:>5} {calls:>4} {results:>4} {compactions:>3} {problems:>3} {:>7}\n",
        peak.unwrap_or(0)
    )
}

#[test]
fn the_corpus_reads_as_its_manifest_says() {
    let head = format!(
        "{:<58} {:>5} {:>5} {:>5} {:>4} {:>4} {:>3} {:>3} {:>7}\n",
        "file", "msgs", "live", "repl", "call", "res", "cmp", "prb", "peak"
    );
    let rows = files().into_iter().map(|(name, read, bytes)| row(&name, &transcript(read, &bytes)));
    insta::assert_snapshot!(std::iter::once(head).chain(rows).collect::<String>(), @"");
}

#[test]
fn every_message_can_be_had_again_and_weighs_what_was_noted() {
    for (name, read, bytes) in files() {
        let transcript = transcript(read, &bytes);
        let conversation = &transcript.conversations[0];
        for id in ids(conversation) {
            if let Some(item) = conversation.log.item(id) {
                let message = conversation.originals.message(id).expect("its lines are in the file");
                assert_eq!(&Quarter.weigh(&message), item, "{name} {id}");
            }
        }
    }
}

#[test]
fn every_result_follows_its_call() {
    for (name, read, bytes) in files() {
        let transcript = transcript(read, &bytes);
        let conversation = &transcript.conversations[0];
        let mut waiting: HashSet<CallId> = HashSet::new();
        for item in ids(conversation).filter_map(|id| conversation.log.item(id)) {
            for call in &item.answers {
                assert!(waiting.remove(call), "{name}: {call} is answered without a call");
            }
            waiting.extend(item.calls.iter().cloned());
        }
    }
}

#[test]
fn ids_stay_when_lines_are_added() {
    for (name, read, bytes) in files() {
        let whole = transcript(read, &bytes);
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &bytes).collect();
        for end in ends.iter().step_by(ends.len() / 9 + 1) {
            let start = Arc::new(Window::new(bytes.clone(), 0, *end as u64 + 1));
            let Ok(part) = read(start, &Quarter) else { continue };
            assert_same_ids(&name, &part.conversations[0], &whole.conversations[0]);
        }
    }
}

/// What the shorter reading calls by an id begins on the same line in the longer one.
fn assert_same_ids(name: &str, part: &Conversation, whole: &Conversation) {
    for id in ids(part).filter(|id| part.log.item(*id).is_some()) {
        let first = |conversation: &Conversation| conversation.originals.spans(id).map(|spans| spans[0]);
        assert_eq!(first(part), first(whole), "{name} {id}");
    }
}
