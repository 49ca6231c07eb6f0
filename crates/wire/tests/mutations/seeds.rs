//! Small files of every format, cut from real ones.

use crate::{CORPUS, read_as};
use epitome_core::policy::TranscriptEntry;
use epitome_core::{
    Author, Compaction, Context, Edit, EntryId, Flag, Form, Judgement, Log, Mark, Message, MessageView, Role,
    Tail, Tokens, UsageMark, ZeroMeasure,
};
use epitome_wire::encode::{self, RequestParts};
use epitome_wire::{Boundary, Format, Protocol, append, native};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

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
    all.into_iter().chain(compacted).chain(bodies).chain(ours).chain(changes()).collect()
}

/// Sessions that their own tools changed: lists replaced, messages taken back, histories compacted.
fn changes() -> impl Iterator<Item = Seed> {
    let seed = |(format, text): (Format, &str)| Seed { format, bytes: text.as_bytes().to_vec() };
    [
        (Format::GeminiCli, include_str!("changes/gemini-cli.jsonl")),
        (Format::QwenCode, include_str!("changes/qwen-code.jsonl")),
        (Format::CopilotCli, include_str!("changes/copilot-cli.jsonl")),
        (Format::Opencode, include_str!("changes/opencode.json")),
    ]
    .into_iter()
    .map(seed)
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
        turns: 0,
        is_by_hook: false,
        entry: TranscriptEntry::Boundary,
        record: None,
    };
    let behind = append(&transcript, 0, &seed.bytes, &boundary).expect("a seed has messages");
    Seed { format: seed.format, bytes: [&seed.bytes[..], &behind].concat() }
}

fn body(seed: &Seed, to: Protocol) -> Seed {
    let transcript = read_as(Some(seed.format), &seed.bytes).expect("a seed is read");
    let conversation = &transcript.conversations[0];
    let reader = conversation.reader(&ZeroMeasure);
    let shown: Vec<MessageView> = Context::of(conversation.leaf, reader)
        .and_then(|context| context.shown(reader))
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
    grown(bytes)
}

fn born() -> Seed {
    let mut bytes = native::wrap(Format::Native, 0, 1);
    bytes.push(b'\n');
    for text in ["hello", "hi", "do it", "done"] {
        bytes.extend(said(text));
    }
    grown(bytes)
}

/// A file of ours with everything behind it that can be added.
fn grown(mut bytes: Vec<u8>) -> Seed {
    let transcript = read_as(Some(Format::Native), &bytes).expect("it was just written");
    bytes.extend(passes(&transcript.conversations[0].log));
    Seed { format: Format::Native, bytes }
}

fn said(text: &str) -> Vec<u8> {
    native::message_line(0, None, &Message::text(Role::User, Author::Person, text))
}

/// One of each thing that can be added, as version 1 wrote it and then as it is written today. Every line
/// is an entry of the log.
fn passes(log: &Log) -> Vec<u8> {
    let is_plain =
        |id: &EntryId| log.item(*id).is_some_and(|item| item.calls.is_empty() && item.answers.is_empty());
    let mut plain = log.iter().map(|(id, _)| id).filter(is_plain);
    let mut next = || plain.next().expect("a seed holds two messages without tools");
    let named = Named { front: next(), kept: next(), last: EntryId(log.len() as u32) };
    let mut lines = passes_v1(&named);
    let marks = marks(&named, (log.len() + lines.len()) as u32);
    lines.extend(marks.iter().map(|mark| native::mark_line(3, 0, None, mark)));
    lines.concat().into_iter().chain(said("and then")).collect()
}

/// Messages that additions name.
struct Named {
    front: EntryId,
    kept: EntryId,
    /// The first one added.
    last: EntryId,
}

/// One of each mark; the first takes the id `next`.
fn marks(named: &Named, next: u32) -> Vec<Mark> {
    let &Named { front, kept, last } = named;
    let forms = vec![(kept, Form { results: true, ..Form::WHOLE })];
    let tail = Tail::After { anchor: last, kept: vec![kept] };
    let summary = Some(Arc::from("so far"));
    let compaction =
        Compaction { front: vec![front], summary, tail, forms: forms.clone(), ..Compaction::default() };
    let these = Compaction { tail: Tail::These(vec![front, kept]), ..Compaction::default() };
    let of = EntryId(next);
    vec![
        Mark::compaction(compaction),
        Mark::Edit { edit: Edit { forms }, record: Arc::default() },
        Mark::Undo { of },
        Mark::Redo { of },
        Mark::Apply { of },
        Mark::compaction(these),
        Mark::Pin { of: front },
        Mark::Unpin { of: front },
        Mark::Label { text: "here".into() },
        Mark::Judgement { of, judgement: Judgement { flag: Flag::Bad, notes: "lost the plan".into() } },
        Mark::Usage(UsageMark {
            tokens: Tokens(9),
            counted: Tokens(8),
            prompt: Tokens(7),
            prompt_counted: Tokens(6),
            cache_read: Tokens(5),
            cache_write: Tokens(1),
            model: "opus".into(),
            is_estimated: true,
        }),
        Mark::Failure,
        Mark::Floor { tokens: Tokens(3) },
        Mark::Refill,
        Mark::Hold { why: "look".into() },
        Mark::Reset,
        Mark::Observation { record: Arc::default(), saved: Tokens(3) },
    ]
}

/// Lines as version 1 wrote them.
fn passes_v1(named: &Named) -> Vec<Vec<u8>> {
    let &Named { front, kept, last } = named;
    let forms = json!([[kept, { "results": true }]]);
    let summary = json!({ "text": "so far", "tokens": 9 });
    let sizes =
        json!({ "text": 1, "thinking": 0, "calls": 0, "results": 0, "images": 0, "opaque": 0, "framing": 0 });
    let message =
        json!({ "role": "user", "author": "person", "blocks": [{ "block": "text", "text": "on" }] });
    let said = json!({ "entry": "message", "role": "user", "author": "person", "sizes": sizes });
    let mut lines = vec![json!({ "conversation": 0, "entry": said, "message": message })];
    let record = json!({ "outcome": "compacted" });
    lines.extend([
        json!({ "entry": "compaction", "before": [front], "summary": summary, "tail": { "these": [kept] }, "forms": forms }),
        json!({ "entry": "compaction", "before": [front], "tail": { "from": last }, "native": { "kind": "compaction", "json": "{}" } }),
        json!({ "entry": "compaction", "summary": summary, "tail": "nothing" }),
        json!({ "entry": "edit", "forms": forms }),
    ]
    .map(|entry| json!({ "conversation": 0, "pass": 1, "entry": entry, "record": record })));
    let first_pass = EntryId(last.0 + 1);
    let judged = format!("epitome.judged {} {}", first_pass.0, json!({ "flag": "good", "notes": "short" }));
    let notes = [
        "label",
        "epitome.compaction-failed",
        "epitome.compaction-impossible 12",
        "epitome.refilled",
        "epitome.breaker-closed",
        "epitome.held for a person",
        &judged,
    ];
    lines.push(json!({ "conversation": 0, "entry": { "entry": "undo", "of": first_pass } }));
    lines.extend(notes.map(|kind| json!({ "conversation": 0, "entry": { "entry": "note", "kind": kind } })));
    lines.iter().map(|line| format!("{line}\n").into_bytes()).collect()
}
