//! Every transcript of the corpus through the program: compacted it fits, is valid on every protocol,
//! keeps what is always kept, loses no byte, and comes back whole.

mod program;

use epitome_core::{Archive, Author, EntryId, ZeroMeasure};
use epitome_wire::validate::{self, Violation};
use epitome_wire::{Conversation, Protocol, Transcript, read};
use program::{parsed, printed};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn transcripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the corpus is part of the repository") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            transcripts(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "zst") {
            found.push(path);
        }
    }
}

/// One transcript, unpacked into a folder of its own.
struct Case {
    name: String,
    original: Vec<u8>,
    file: PathBuf,
    out: PathBuf,
    undone: PathBuf,
    _folder: tempfile::TempDir,
}

impl Case {
    fn of(packed: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let original =
            zstd::decode_all(&*std::fs::read(packed).expect("it can be read")).expect("it unpacks");
        let file = folder.path().join(packed.file_stem().expect("it has a name"));
        std::fs::write(&file, &original).expect("it can be written");
        let (out, undone) = (folder.path().join("out"), folder.path().join("undone"));
        Self { name: packed.display().to_string(), original, file, out, undone, _folder: folder }
    }

    fn check(&self, window: &str) {
        let [file, out, undone] =
            [&self.file, &self.out, &self.undone].map(|path| path.to_str().expect("UTF-8"));
        parsed(&["inspect", file, "--json"]);
        parsed(&["compact", file, "--window", window, "--json", "-o", out]);
        self.check_bytes(window);
        self.check_fits(window);
        self.check_contexts(window);
        // There is nothing of ours to take back where nothing was compacted.
        if self.is_compacted() {
            printed(&["undo", out, "-o", undone]);
            assert!(
                std::fs::read(undone).expect("it was written") == self.original,
                "{}: undo gives other bytes",
                self.name
            );
        }
        self.check_settled(window);
    }

    fn is_compacted(&self) -> bool {
        std::fs::read(&self.out).expect("it was written") != self.original
    }

    /// The original bytes stand in the result in one piece.
    fn check_bytes(&self, window: &str) {
        let written = std::fs::read(&self.out).expect("it was written");
        let is_native = written.starts_with(b"{\"epitome\"");
        let header = written.iter().position(|&byte| is_native && byte == b'\n').map_or(0, |at| at + 1);
        assert!(
            written[header..].starts_with(&self.original),
            "{} at {window}: an original line changed",
            self.name
        );
    }

    fn check_fits(&self, window: &str) {
        let out = self.out.to_str().expect("UTF-8");
        let surveys = parsed(&["inspect", out, "--window", window, "--json"]);
        let number = |value: &Value, key: &str| value[key].as_u64().expect("a number");
        for survey in surveys.as_array().unwrap_or(&vec![surveys.clone()]) {
            let taken = number(survey, "request") + number(survey, "reserve");
            assert!(
                taken <= window.parse().expect("a number"),
                "{}: {taken} does not fit {window}",
                self.name
            );
        }
    }

    fn check_contexts(&self, window: &str) {
        let out = self.out.to_str().expect("UTF-8");
        let transcript =
            read(Arc::new(self.original.clone()), None, &ZeroMeasure).expect("it is a transcript");
        let again = read(Arc::new(std::fs::read(out).expect("it was written")), None, &ZeroMeasure)
            .expect("so is the result");
        let number = longest(&transcript);
        // Where nothing is compacted, what its own tool put out of view stays there.
        let is_compacted = self.is_compacted();
        for protocol in [Protocol::Anthropic, Protocol::OpenaiChat, Protocol::OpenaiResponses] {
            let name = match protocol {
                Protocol::Anthropic => "anthropic",
                Protocol::OpenaiChat => "openai-chat",
                Protocol::OpenaiResponses => "openai-responses",
            };
            let body = parsed(&["context", out, "--to", name, "--window", window]);
            let at = format!("{} at {window} as {name}", self.name);
            // In its own protocol a body keeps its bytes, right or wrong: nothing may be wrong that was right.
            let is_own = transcript.format.protocol() == Some(protocol);
            let before =
                is_own.then(|| parsed(&["context", self.file.to_str().expect("UTF-8"), "--to", name]));
            let before = before.map(|before| validate::body(protocol, &before)).unwrap_or_default();
            let was_right = |broken: &Violation| !before.iter().any(|known| known.rule == broken.rule);
            let broken: Vec<Violation> =
                validate::body(protocol, &body).into_iter().filter(was_right).collect();
            assert_eq!(broken, [], "{at}");
            let shown = texts(&body);
            if is_compacted {
                check_kept(&transcript.conversations[number], &shown, &at);
            }
            check_pointers(&again.conversations[number], &shown, &at);
        }
    }

    /// Compacting the result again changes nothing.
    fn check_settled(&self, window: &str) {
        let (out, again) = (self.out.to_str().expect("UTF-8"), self.undone.to_str().expect("UTF-8"));
        let report = parsed(&["compact", out, "--window", window, "--json", "-o", again]);
        for report in report.as_array().unwrap_or(&vec![report.clone()]) {
            assert_eq!(report["outcome"], "noop", "{} at {window}", self.name);
        }
        let is_same = std::fs::read(out).expect("written") == std::fs::read(again).expect("written");
        assert!(is_same, "{}: a no-op wrote something", self.name);
    }
}

/// The conversation the program takes where none is named.
fn longest(transcript: &Transcript) -> usize {
    let count = transcript.conversations.len();
    (0..count)
        .max_by_key(|&number| (transcript.conversations[number].log.len(), count - number))
        .expect("there is one")
}

/// Every string of a body, joined.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(values) => values.iter().map(texts).collect(),
        Value::Object(fields) => fields.values().map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// The system prompt, the first and the newest message of a person are there, or their beginnings.
fn check_kept(conversation: &Conversation, shown: &str, at: &str) {
    let branch = conversation.log.path(conversation.leaf.expect("something was said"));
    let is_said = |id: &&EntryId| {
        conversation
            .log
            .item(**id)
            .is_some_and(|item| item.author == Author::Person && item.answers.is_empty())
    };
    let first = branch.iter().find(is_said);
    let newest = branch.iter().rev().find(is_said);
    for id in first.into_iter().chain(newest) {
        let said = conversation.originals.message(*id).expect("it can be read").said();
        let head: String = said.trim().chars().take(60).collect();
        assert!(shown.contains(head.trim()), "{at}: {id} is gone: {head}");
    }
    for system in &conversation.fixed.system {
        assert!(shown.contains(system.trim()), "{at}: the system prompt is gone");
    }
}

/// Every pointer the context shows leads to a message.
fn check_pointers(conversation: &Conversation, shown: &str, at: &str) {
    for (start, _) in shown.match_indices("recall m") {
        let pointer: String = shown[start + 7..].chars().take_while(char::is_ascii_alphanumeric).collect();
        let Ok(id) = pointer.parse::<EntryId>() else { continue };
        assert!(conversation.originals.message(id).is_ok(), "{at}: {pointer} leads nowhere");
    }
}

#[test]
fn every_transcript_is_compacted_and_comes_back() {
    let mut all = Vec::new();
    transcripts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus"), &mut all);
    all.sort();
    assert_eq!(all.len(), 41, "the corpus has 41 files");
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let case = Case::of(path);
                    ["64000", "32000"].into_iter().for_each(|window| case.check(window));
                }
            });
        }
    });
}
