//! Small files of every format, cut from real ones.

use crate::{CORPUS, Quarter, read_as};
use epitome_core::{Author, Measure, Message, Role};
use epitome_core::{Compaction, Context, Edit, Entry, EntryId, Form, Shown, Summary, Tail, Tokens};
use epitome_wire::encode::{self, RequestParts};
use epitome_wire::{Boundary, Format, Protocol, append, native};
use serde_json::Value;
use std::path::Path;

/// A file of one format, small enough to be read thousands of times.
pub(crate) struct Seed {
    pub(crate) format: Format,
    pub(crate) bytes: Vec<u8>,
}

/// Enough lines to hold a few exchanges.
const LINES: usize = 40;
/// Lists are cut to this; longer ones say nothing new.
const ELEMENTS: usize = 10;
/// Texts are cut to this, so that a flipped bit hits structure as often as prose.
const CHARS: usize = 80;

/// One file of each format, and a second where a tool has written in two ways.
pub(crate) fn seeds() -> Vec<Seed> {
    let lines = [
        (Format::ClaudeCode, "claude-code/spotter-fa812b/subagents/agent-a93ccab.jsonl.zst"),
        (Format::ClaudeCode, "claude-code/viewer-fe5e1c-inline-sidechains.jsonl.zst"),
        (Format::Codex, "codex/entire-skills-d5c56b.jsonl.zst"),
        (Format::Pi, "pi/pi-mono-large-session.jsonl.zst"),
        (Format::CopilotCli, "copilot-cli/agentv-d88be7.jsonl.zst"),
    ];
    let documents = [
        (Format::GeminiCli, "gemini-cli/session-bridge-e94f17.json.zst"),
        (Format::Langgraph, "langgraph/deer-flow-5aa47d-zh.json.zst"),
        (Format::MiniSweAgent, "mini-swe-agent/django-13265.traj.json.zst"),
        (Format::Body(Protocol::OpenaiChat), "openai-chat/tau-bench-gpt-4o-airline.json.zst"),
        (Format::Opencode, "opencode/session-bridge-13dddd.json.zst"),
        (Format::Openhands, "openhands/ponyc-line1.json.zst"),
        (Format::SweAgent, "swe-agent/swesmith-pandas-53652.traj.json.zst"),
    ];
    let mut all: Vec<Seed> = Vec::new();
    all.extend(lines.map(|(format, path)| Seed { format, bytes: few_lines(&unpack(path)) }));
    all.extend(documents.map(|(format, path)| Seed { format, bytes: small(&unpack(path)) }));
    let compacted: Vec<Seed> = all.iter().filter(|seed| seed.format.is_resumable()).map(compact).collect();
    let bodies: Vec<Seed> =
        [Protocol::Anthropic, Protocol::OpenaiResponses].into_iter().map(|to| body(&all[2], to)).collect();
    let ours = [wrapped(&all[3]), born()];
    all.into_iter().chain(compacted).chain(bodies).chain(ours).collect()
}

#[expect(clippy::disallowed_methods, reason = "the crate reads no files; its tests read the corpus")]
fn unpack(path: &str) -> Vec<u8> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join(CORPUS);
    let packed = std::fs::read(corpus.join(path)).expect("the corpus is committed");
    zstd::decode_all(&packed[..]).expect("the corpus is zstd")
}

fn few_lines(file: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(file).expect("these files are text");
    text.lines().take(LINES).flat_map(|line| [small(line.as_bytes()), b"\n".to_vec()].concat()).collect()
}

/// A JSON text with its lists and strings cut short.
fn small(json: &[u8]) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(json).expect("these values are JSON");
    cut(&mut value);
    serde_json::to_vec(&value).expect("a value is JSON")
}

fn cut(value: &mut Value) {
    match value {
        Value::Array(list) => {
            list.truncate(ELEMENTS);
            list.iter_mut().for_each(cut);
        }
        Value::Object(fields) => fields.values_mut().for_each(cut),
        Value::String(text) => {
            let end = text.char_indices().nth(CHARS).map_or(text.len(), |(at, _)| at);
            text.truncate(end);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The same file with a compaction of ours behind it.
fn compact(seed: &Seed) -> Seed {
    let transcript = read_as(Some(seed.format), &seed.bytes).expect("a seed is read");
    let boundary = Boundary {
        summary: "what was said".into(),
        front: Vec::new(),
        tail: Tail::Nothing,
        tokens_before: Tokens(100),
        tokens_after: Tokens(10),
        trigger: epitome_core::Trigger::Manual,
        timestamp: "2026-01-31T09:30:00.000Z".into(),
        read_files: vec!["a.rs".into()],
        modified_files: Vec::new(),
        duration_ms: 1,
        record: None,
    };
    let behind = append(&transcript, 0, &seed.bytes, &boundary).expect("a seed has messages");
    Seed { format: seed.format, bytes: [&seed.bytes[..], &behind].concat() }
}

fn body(seed: &Seed, to: Protocol) -> Seed {
    let transcript = read_as(Some(seed.format), &seed.bytes).expect("a seed is read");
    let conversation = &transcript.conversations[0];
    let leaf = conversation.leaf.expect("a seed has messages");
    let context = Context::of(&conversation.log, leaf, &Quarter::default(), &conversation.originals);
    let shown: Vec<Shown> = context
        .and_then(|context| context.shown(&conversation.log, &Quarter::default(), &conversation.originals))
        .expect("its originals are at hand");
    let parts = RequestParts {
        system: &["be brief".into()],
        tools: &[r#"{"name":"run","input_schema":{"type":"object"}}"#.into()],
        model: Some("m"),
        max_tokens: Some(64),
    };
    Seed {
        format: Format::Body(to),
        bytes: encode::body(to, &parts, &shown).expect("a context can be encoded"),
    }
}

fn wrapped(seed: &Seed) -> Seed {
    let mut bytes = native::wrap(seed.format, seed.bytes.len() as u64, 1);
    bytes.extend_from_slice(&seed.bytes);
    bytes.push(b'\n');
    bytes.extend(passes());
    Seed { format: Format::Native, bytes }
}

fn born() -> Seed {
    let mut bytes = native::wrap(Format::Native, 0, 1);
    bytes.push(b'\n');
    for text in ["hello", "hi", "do it", "done"] {
        bytes.extend(said(text));
    }
    bytes.extend(passes());
    Seed { format: Format::Native, bytes }
}

fn said(text: &str) -> Vec<u8> {
    let message = Message::text(Role::User, Author::Person, text);
    let entry = Entry::Message(Quarter::default().weigh(&message));
    native::entry_line(0, &entry, Some(&message), None)
}

/// One of each thing that can be added.
fn passes() -> Vec<u8> {
    let summary = Some(Summary { text: "so far".into(), tokens: Tokens(9) });
    let forms = vec![(EntryId(2), Form { results: true, ..Form::WHOLE })];
    let tail = Tail::From(EntryId(2));
    let compaction =
        Compaction { before: vec![EntryId(0)], summary, tail, forms: forms.clone(), native: None };
    let these = Compaction { tail: Tail::These(vec![EntryId(1), EntryId(3)]), ..Compaction::default() };
    let entries = [
        Entry::Edit(Edit { forms }),
        Entry::Recorded(Box::new(compaction)),
        Entry::Undo { of: EntryId(4) },
        Entry::Recorded(Box::new(these)),
        Entry::Note { kind: "label".into() },
    ];
    let record = serde_json::json!({ "outcome": "compacted" });
    let lines = entries.iter().map(|entry| native::entry_line(0, entry, None, Some(&record)));
    lines.flatten().chain(said("and then")).collect()
}
