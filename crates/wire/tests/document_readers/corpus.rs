//! Real sessions: what each file comes to, and that every original is found again.

use crate::read_as;
use crate::reading::{ids, originals};
use epitome_core::{Entry, MessageView};
use epitome_wire::encode::{self, RequestParts};
use epitome_wire::{Conversation, Format, Protocol, Transcript};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of the corpus that hold documents.
const FOLDERS: [&str; 7] =
    ["gemini-cli", "langgraph", "mini-swe-agent", "openai-chat", "opencode", "openhands", "swe-agent"];

pub(crate) fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// Every file below a folder of the corpus, by name, unpacked.
pub(crate) fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let mut paths = Vec::new();
    gather(&corpus().join(folder), &mut paths);
    paths.sort();
    paths.iter().map(|path| unpack(path)).collect()
}

#[expect(clippy::disallowed_methods, reason = "the crate reads no files; its tests read the corpus")]
fn unpack(path: &Path) -> (String, Vec<u8>) {
    let packed = fs::read(path).expect("the corpus is committed");
    let name = path.strip_prefix(corpus()).expect("below the corpus").with_extension("");
    (name.display().to_string(), zstd::decode_all(&packed[..]).expect("the corpus is zstd"))
}

#[expect(clippy::disallowed_methods, reason = "the crate reads no files; its tests read the corpus")]
fn gather(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the corpus is committed") {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() { gather(&path, paths) } else { paths.push(path) }
    }
}

#[derive(Default)]
struct Counts {
    messages: usize,
    calls: usize,
    results: usize,
    errors: usize,
    compactions: usize,
    notes: usize,
    replies: usize,
    peak: u64,
}

fn count(conversation: &Conversation, counts: &mut Counts) {
    for message in originals(conversation) {
        counts.messages += 1;
        counts.calls += message.calls().count();
        counts.results += message.results().count();
        counts.errors += message.results().filter(|result| result.is_error).count();
    }
    for id in ids(conversation) {
        match conversation.log.get(id) {
            Some(Entry::Recorded(_)) => counts.compactions += 1,
            Some(Entry::Note { .. }) => counts.notes += 1,
            Some(Entry::Message(_) | Entry::Mark(_)) | None => {}
        }
    }
    counts.replies += conversation.replies.len();
    let prompts = conversation.replies.iter().filter_map(|reply| Some(reply.usage?.prompt));
    counts.peak = counts.peak.max(prompts.max().unwrap_or(0));
}

fn row(name: &str, transcript: &Transcript) -> String {
    let mut counts = Counts::default();
    transcript.conversations.iter().for_each(|conversation| count(conversation, &mut counts));
    let Counts { messages, calls, results, errors, compactions, notes, replies, peak } = counts;
    format!(
        "{name:45} {:4} {messages:5} {calls:5} {results:5} {errors:4} {replies:5} {compactions:4} {notes:5} \
         {:4} {peak:7}",
        transcript.conversations.len(),
        transcript.problems.len(),
    )
}

/// Checked against the counts in the corpus's own description: calls, results, compactions, peaks.
#[test]
fn every_file_comes_to_what_is_known_of_it() {
    let mut rows = vec![format!(
        "{:45} {:>4} {:>5} {:>5} {:>5} {:>4} {:>5} {:>4} {:>5} {:>4} {:>7}",
        "file", "conv", "msgs", "calls", "res", "errs", "repl", "comp", "notes", "odd", "peak"
    )];
    for (name, bytes) in FOLDERS.into_iter().flat_map(files) {
        rows.push(row(&name, &read_as(None, &bytes).expect("a corpus file is read")));
    }
    insta::assert_snapshot!(rows.join("\n"), @"
    file                                          conv  msgs calls   res errs  repl comp notes  odd    peak
    gemini-cli/session-bridge-e94f17.json            1    82    40    40    2    38    0     2    0   68430
    langgraph/deer-flow-5aa47d-zh.json               1    39    17    17    0    20    0     1    0       0
    langgraph/deer-flow-d3e5ad-research.json         1    53    25    25    0    26    0     2    0       0
    langgraph/deer-flow-fe3f79-research.json         1    74    35    35    0    37    0     2    0       0
    mini-swe-agent/django-13265.traj.json            1   312   156   155    0   156    0     1    1   81983
    openai-chat/tau-bench-gpt-4o-airline.json      200  5108  1164  1164    0  2454    0     0   49       0
    opencode/gatomia-0f1be7.json                     1   198   131   131    2    65    0     0    0  208287
    opencode/session-bridge-13dddd.json              1   145    72    72    1    68    1     1    0  105534
    openhands/ponyc-line1.json                       1    47    23    22    5    23    0     1    1   33459
    swe-agent/swesmith-pandas-53652.traj.json        1    75    37    37    0    37    0     0    0       0
    ");
}

#[test]
fn what_is_odd_about_the_files_is_said() {
    let mut said = Vec::new();
    for (name, bytes) in FOLDERS.into_iter().flat_map(files) {
        let problems = read_as(None, &bytes).expect("a corpus file is read").problems;
        said.extend(problems.into_iter().take(2).map(|problem| format!("{name}: {}", problem.what)));
    }
    insta::assert_snapshot!(said.join("\n"), @"
    mini-swe-agent/django-13265.traj.json: the call `call_00_rTMxF5EBqc40to812L8JSb9t` of m0311 has no result
    openai-chat/tau-bench-gpt-4o-airline.json: conversation 1, call ids used more than once: 2; each result answers the nearest call before it
    openai-chat/tau-bench-gpt-4o-airline.json: conversation 4, call ids used more than once: 2; each result answers the nearest call before it
    openhands/ponyc-line1.json: the call `toolu_23` of m0047 has no result
    ");
}

/// A context of a conversation as a body of each protocol, read back: the same calls, each answered.
#[test]
fn what_we_write_we_read() {
    for (name, bytes) in FOLDERS.into_iter().flat_map(files) {
        let transcript = read_as(None, &bytes).expect("a corpus file is read");
        for conversation in transcript.conversations.iter().take(20) {
            let shown: Vec<MessageView> = originals(conversation)
                .into_iter()
                .map(|message| MessageView { id: None, message })
                .collect();
            let calls: usize = shown.iter().map(|shown| shown.message.calls().count()).sum();
            for to in Protocol::ALL {
                let parts = RequestParts { model: Some("m"), max_tokens: Some(1), ..RequestParts::default() };
                let body = encode::body(to, &parts, &shown).expect("it is written");
                let mut counts = Counts::default();
                let back = read_as(Some(Format::Body(to)), &body).expect("it is read");
                count(&back.conversations[0], &mut counts);
                let found = (counts.calls, counts.results, back.problems.len(), back.format);
                assert_eq!(found, (calls, calls, 0, Format::Body(to)), "{name}");
            }
        }
    }
}

#[test]
fn the_part_before_the_history_is_kept_apart() {
    let mut rows = Vec::new();
    for (name, bytes) in FOLDERS.into_iter().flat_map(files) {
        let transcript = read_as(None, &bytes).expect("a corpus file is read");
        let fixed = &transcript.conversations[0].fixed;
        let system: usize = fixed.system.iter().map(|piece| piece.len()).sum();
        let model = fixed.model.as_deref().unwrap_or("-");
        rows.push(format!("{name}: system {system} bytes, {} tools, model {model}", fixed.tools.len()));
    }
    insta::assert_snapshot!(rows.join("\n"), @"
    gemini-cli/session-bridge-e94f17.json: system 0 bytes, 0 tools, model gemini-3-flash-preview
    langgraph/deer-flow-5aa47d-zh.json: system 0 bytes, 0 tools, model deepseek-v3-2-251201
    langgraph/deer-flow-d3e5ad-research.json: system 0 bytes, 0 tools, model deepseek-v3-2-251201
    langgraph/deer-flow-fe3f79-research.json: system 0 bytes, 0 tools, model kimi-k2.5
    mini-swe-agent/django-13265.traj.json: system 95 bytes, 0 tools, model deepseek-chat
    openai-chat/tau-bench-gpt-4o-airline.json: system 6155 bytes, 0 tools, model -
    opencode/gatomia-0f1be7.json: system 0 bytes, 0 tools, model gpt-5.4
    opencode/session-bridge-13dddd.json: system 0 bytes, 0 tools, model claude-sonnet-4.6
    openhands/ponyc-line1.json: system 5602 bytes, 4 tools, model meta-llama/llama-4-maverick
    swe-agent/swesmith-pandas-53652.traj.json: system 77 bytes, 0 tools, model claude-3-7-sonnet-20250219
    ");
}
