//! The readers of line-by-line formats on real sessions: what they find, and what always holds.
#![expect(clippy::disallowed_methods, reason = "tests read the corpus; the crate itself touches no file")]

#[path = "../reading/mod.rs"]
mod reading;
mod shapes;

use epitome_core::policy::TranscriptEntry;
use epitome_core::{
    Author, CallId, Compaction, Context, Cut, Entry, EntryId, Keep, Message, Role, Tail, Tokens, Trigger,
    find_cut,
};
use epitome_wire::{
    Boundary, BoundaryUndo, Conversation, Format, Slice, Transcript, append, can_express, pi, read, undo,
};
use reading::{ByteMeasure, ids, originals};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The formats under test; their folders in the corpus have their names.
const FORMATS: [Format; 4] = [Format::ClaudeCode, Format::Codex, Format::CopilotCli, Format::Pi];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

fn load(path: &Path) -> Arc<Vec<u8>> {
    let packed = fs::read(path).expect("the corpus is committed");
    Arc::new(zstd::decode_all(&packed[..]).expect("the corpus is zstd"))
}

/// Every file of every format under test, in order, with its format.
fn files() -> Vec<(String, Format, Arc<Vec<u8>>)> {
    let mut files = Vec::new();
    for format in FORMATS {
        let mut paths = Vec::new();
        gather(&corpus().join(format.name()), &mut paths);
        paths.sort();
        for path in paths {
            let name = path.strip_prefix(corpus()).expect("below the corpus").with_extension("");
            files.push((name.display().to_string(), format, load(&path)));
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

fn transcript(format: Format, bytes: &Arc<Vec<u8>>) -> Transcript {
    read(bytes.clone(), Some(format), &ByteMeasure).expect("a corpus file is of its format")
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
            Some(Entry::Recorded(_)) => compactions += 1,
            Some(Entry::Mark(_) | Entry::Note { .. }) | None => {}
        }
    }
    let live = conversation
        .leaf
        .map_or(0, |leaf| log.path(leaf).into_iter().filter(|id| log.item(*id).is_some()).count());
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
    let rows = files().into_iter().map(|(name, format, bytes)| row(&name, &transcript(format, &bytes)));
    insta::assert_snapshot!(std::iter::once(head).chain(rows).collect::<String>(), @r"
    file                                                        msgs  live  repl call  res cmp prb    peak
    claude-code/agent-stuff-6ce966-ko.jsonl                       43    43    12   30   30   0   0  144223
    claude-code/chkit-98b664.jsonl                               350   326   142  170  169   1   0  166479
    claude-code/cipher-box-af1dd2-images.jsonl                   483   483   224  252  251   2   0  165695
    claude-code/claude-code-log-37f83e-2025.jsonl                214   214   105  101  101   0   0  104468
    claude-code/entire-cli-25730c.jsonl                          411   411   169  220  220   2   0  150210
    claude-code/entire-cli-8cfa91-broken-lines.jsonl             123   121    59   56   55   0   3   93300
    claude-code/entire-cli-cd95ad.jsonl                          483   483   225  206  206   3   0  155023
    claude-code/entire-skills-967701.jsonl                       978   975   389  388  388   0   0  414202
    claude-code/episodic-memory-large-2025.jsonl                 350   350   170  152  152   0   2  534859
    claude-code/kimi-cli-28db10-zh-microcompact.jsonl            154   154    69   72   72   0   0   75871
    claude-code/kimi-cli-2977bc-zh-images.jsonl                  213   213    96  102  102   0   0  116721
    claude-code/oh-my-posh-0254bf.jsonl                         1371  1371   610  591  591   1   1  559279
    claude-code/oh-my-posh-d3cfdf-mcp.jsonl                      752   752   307  311  311   1   0  400879
    claude-code/oh-my-posh-d84718-agents-images.jsonl            697   697   273  262  262   0   0  515912
    claude-code/repiq-01c581-ja.jsonl                            479   466   217  224  224   1   0  166571
    claude-code/spotter-ae4a77/session.jsonl                     465   465   217  242  242   1   0  141787
    claude-code/spotter-ae4a77/subagents/agent-aac57f5.jsonl      16    16     3   12   12   0   0   18893
    claude-code/spotter-ae4a77/subagents/agent-acompact-946d2b.jsonl     2     2     1    0    0   0   1  139534
    claude-code/spotter-fa812b/session.jsonl                     357   357   157  197  197   1   0  166874
    claude-code/spotter-fa812b/subagents/agent-a93ccab.jsonl      37    37    11   25   25   0   0   45627
    claude-code/spotter-fa812b/subagents/agent-aa84377.jsonl      31    31     9   21   21   0   0   52567
    claude-code/spotter-fa812b/subagents/agent-acompact-70d8e7.jsonl    15    15     1    0    0   0  14  169290
    claude-code/viewer-fe5e1c-inline-sidechains.jsonl             23    23     9   11   11   0   1   21552
    codex/agentv-796ead.jsonl                                    888   888   327  531  531   3   0  237746
    codex/agentv-f4771e.jsonl                                    533   533   183  311  311   2   0  240512
    codex/entire-skills-d5c56b.jsonl                             953   953   295  543  543   1   0  203786
    codex/session-bridge-64b5e5.jsonl                            348   348   121  210  210   1   0  210215
    copilot-cli/agentv-d88be7.jsonl                              121   121    56   61   61   0   0       0
    pi/pi-dev-962b10-v3.jsonl                                    233   233    91  107  107   1   0   99861
    pi/pi-mono-before-compaction.jsonl                           990   990   484  454  448   2   0  184915
    pi/pi-mono-large-session.jsonl                               914   914   453  391  373   0   0  177604
    ");
}

#[test]
fn every_message_can_be_had_again_and_weighs_what_was_noted() {
    for (name, format, bytes) in files() {
        let transcript = transcript(format, &bytes);
        // Seen only where the test fails: the check itself does not know the file.
        println!("{name}");
        originals(&transcript.conversations[0]);
    }
}

#[test]
fn every_result_follows_its_call() {
    for (name, format, bytes) in files() {
        let transcript = transcript(format, &bytes);
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
    for (name, format, bytes) in files() {
        let whole = transcript(format, &bytes);
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &bytes).collect();
        for end in ends.iter().step_by(ends.len() / 9 + 1) {
            let start = Arc::new(Slice::new(bytes.clone(), 0, *end as u64 + 1));
            let Ok(part) = read(start, Some(format), &ByteMeasure) else { continue };
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

/// A compaction that keeps the newest messages, and the first thing a person said where there is a place for it.
fn boundary(transcript: &Transcript) -> Boundary {
    let conversation = &transcript.conversations[0];
    let context = context(conversation);
    let tail = match find_cut(&context, Keep::Messages(20)) {
        Some(Cut::Between { keep_from, .. } | Cut::Within { keep_from, .. }) => Tail::From(keep_from),
        Some(Cut::After) | None => Tail::Nothing,
    };
    let is_theirs = |id: &EntryId| conversation.log.item(*id).is_some_and(|item| item.opens_turn());
    let first = context.message_slots().map(|(id, ..)| id).find(is_theirs);
    let front = if can_express(transcript.format).front { first.into_iter().collect() } else { Vec::new() };
    Boundary {
        summary: "The parser was fixed.\nTests \"pass\".".into(),
        front,
        tail,
        tokens_before: context.tokens(),
        tokens_after: Tokens(7),
        trigger: Trigger::Manual,
        timestamp: "2026-01-31T09:30:00.000Z".into(),
        read_files: vec!["src/a.rs".into()],
        modified_files: vec!["src/b.rs".into()],
        duration_ms: 12,
        turns: 0,
        is_by_hook: false,
        entry: TranscriptEntry::Boundary,
        record: Some(r#"{"outcome":"done"}"#.into()),
    }
}

fn context(conversation: &Conversation) -> Context {
    assert!(conversation.leaf.is_some(), "something was said");
    Context::of(conversation.leaf, conversation.reader(&ByteMeasure)).expect("originals can be read")
}

fn shown(conversation: &Conversation) -> Vec<Message> {
    let shown = context(conversation).shown(conversation.reader(&ByteMeasure));
    shown.expect("originals can be read").into_iter().map(|shown| (*shown.message).clone()).collect()
}

/// What the model is to see after `boundary`.
fn intended(mut transcript: Transcript, boundary: &Boundary) -> Vec<Message> {
    let text = if transcript.format == Format::Pi {
        pi::shown_summary(&boundary.summary).into()
    } else {
        boundary.summary.clone()
    };
    let compaction = Compaction {
        front: boundary.front.clone(),
        summary: Some(text),
        tail: boundary.tail.clone(),
        ..Compaction::default()
    };
    let conversation = &mut transcript.conversations[0];
    let entry = Entry::Recorded(Box::new(compaction));
    conversation.leaf =
        Some(conversation.log.append(conversation.leaf, entry).expect("the leaf is in the log"));
    shown(conversation)
}

#[test]
fn a_compaction_written_is_a_compaction_read_and_can_be_taken_back() {
    for (name, format, bytes) in files() {
        let before = transcript(format, &bytes);
        if !before.format.is_resumable() {
            continue;
        }
        let boundary = boundary(&before);
        let added = append(&before, 0, &*bytes, &boundary).expect(&name);
        let longer = Arc::new([&bytes[..], &added].concat());
        let after = transcript(format, &longer);
        assert_eq!(shown(&after.conversations[0]), intended(before, &boundary), "{name}");
        let original = BoundaryUndo::Truncate(bytes.len() as u64);
        assert_eq!(undo(after.format, &*longer).expect("memory can be read"), original, "{name}");
    }
}

#[test]
fn a_file_without_its_last_newline_is_given_one_first() {
    for (name, format, bytes) in files() {
        let bytes = Arc::new(bytes.trim_ascii_end().to_vec());
        let before = transcript(format, &bytes);
        if before.format.is_resumable() {
            let added = append(&before, 0, &*bytes, &boundary(&before)).expect(&name);
            let longer = [&bytes[..], &added].concat();
            assert_eq!(added[0], b'\n', "{name}");
            let original = BoundaryUndo::Truncate(bytes.len() as u64);
            assert_eq!(undo(before.format, &longer).expect("memory can be read"), original, "{name}");
        }
    }
}

#[test]
fn who_wrote_what_is_told_apart() {
    let count = |conversation: &Conversation, author, role| {
        let items = ids(conversation).filter_map(|id| conversation.log.item(id).cloned());
        items.filter(|item| item.author == author && item.role == role).count()
    };
    let rows = files().into_iter().map(|(name, format, bytes)| {
        let transcript = transcript(format, &bytes);
        let conversation = &transcript.conversations[0];
        let [person, harness, system, made_up] = [
            (Author::Person, Role::User),
            (Author::Harness, Role::User),
            (Author::Harness, Role::System),
            (Author::Harness, Role::Assistant),
        ]
        .map(|(author, role)| count(conversation, author, role));
        format!("{name:<66} {person:>3} {harness:>3} {system:>3} {made_up:>3}\n")
    });
    insta::assert_snapshot!(rows.collect::<String>(), @r"
    claude-code/agent-stuff-6ce966-ko.jsonl                              1   0   0   0
    claude-code/chkit-98b664.jsonl                                       9  28   0   2
    claude-code/cipher-box-af1dd2-images.jsonl                           2   6   0   0
    claude-code/claude-code-log-37f83e-2025.jsonl                        6   2   0   0
    claude-code/entire-cli-25730c.jsonl                                 18   5   0   0
    claude-code/entire-cli-8cfa91-broken-lines.jsonl                     5   3   0   1
    claude-code/entire-cli-cd95ad.jsonl                                 42   9   0   1
    claude-code/entire-skills-967701.jsonl                              68 133   0   0
    claude-code/episodic-memory-large-2025.jsonl                        21   7   0   0
    claude-code/kimi-cli-28db10-zh-microcompact.jsonl                    9   4   0   0
    claude-code/kimi-cli-2977bc-zh-images.jsonl                         11   4   0   0
    claude-code/oh-my-posh-0254bf.jsonl                                 27 143   0   0
    claude-code/oh-my-posh-d3cfdf-mcp.jsonl                             12 122   0   0
    claude-code/oh-my-posh-d84718-agents-images.jsonl                   24 136   0   2
    claude-code/repiq-01c581-ja.jsonl                                   21  17   0   0
    claude-code/spotter-ae4a77/session.jsonl                             2   4   0   0
    claude-code/spotter-ae4a77/subagents/agent-aac57f5.jsonl             1   0   0   0
    claude-code/spotter-ae4a77/subagents/agent-acompact-946d2b.jsonl     1   0   0   0
    claude-code/spotter-fa812b/session.jsonl                             2   1   0   0
    claude-code/spotter-fa812b/subagents/agent-a93ccab.jsonl             1   0   0   0
    claude-code/spotter-fa812b/subagents/agent-aa84377.jsonl             1   0   0   0
    claude-code/spotter-fa812b/subagents/agent-acompact-70d8e7.jsonl     1  13   0   0
    claude-code/viewer-fe5e1c-inline-sidechains.jsonl                    1   2   0   0
    codex/agentv-796ead.jsonl                                           23   4   3   0
    codex/agentv-f4771e.jsonl                                           26   8   5   0
    codex/entire-skills-d5c56b.jsonl                                   110   4   1   0
    codex/session-bridge-64b5e5.jsonl                                   10   4   1   0
    copilot-cli/agentv-d88be7.jsonl                                      4   0   0   0
    pi/pi-dev-962b10-v3.jsonl                                           35   0   0   0
    pi/pi-mono-before-compaction.jsonl                                  55   3   0   0
    pi/pi-mono-large-session.jsonl                                      88   0   0   0
    ");
}
