//! What a compaction leaves in a session file of pi's.

use epitome_core::{Budget, Entry, Measure, Policy, Tokens, Trigger};
use epitome_engine::{Asks, Report, Session, Setup, Stopped, measure_for, now};
use epitome_settings::{preset, prompts};
use epitome_testbed::{TestClock, TestModel, good};
use epitome_tokens::{Counter, Encoding};
use epitome_wire::{Boundary, Format, Transcript, append, can_express};
use serde_json::{Value, json};
use std::sync::Arc;

/// A session file: a turn that reads one file and changes another, then a person's long message.
fn file() -> Vec<u8> {
    let call = |id: &str, name: &str, arguments: Value| {
        let block = json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments});
        json!({"role": "assistant", "content": [block]})
    };
    let result = |id: &str| {
        let text = json!({"type": "text", "text": "fn main() {}\n".repeat(100)});
        json!({"role": "toolResult", "toolCallId": id, "content": [text]})
    };
    let messages = [
        json!({"role": "user", "content": "fix the parser"}),
        call("c1", "read", json!({"path": "a.rs"})),
        result("c1"),
        call("c2", "edit", json!({"path": "b.rs", "oldText": "x", "newText": "y"})),
        result("c2"),
        json!({"role": "user", "content": "x".repeat(80_000)}),
    ];
    let mut lines = vec![json!({"type": "session", "version": 3, "id": "s", "cwd": "/"}).to_string()];
    for (at, message) in messages.into_iter().enumerate() {
        let parent = at.checked_sub(1).map(|before| format!("0000000{before}"));
        let entry =
            json!({"type": "message", "id": format!("0000000{at}"), "parentId": parent, "message": message});
        lines.push(entry.to_string());
    }
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

fn measure(policy: &Policy) -> Arc<dyn Measure> {
    measure_for(policy, Counter::exact(Encoding::O200kBase))
}

fn policy() -> Policy {
    let settings = preset::settings("pi").expect("the preset is in order");
    Policy::try_from(settings).expect("the settings are sound")
}

fn read(bytes: &[u8]) -> Transcript {
    epitome_wire::read(Arc::new(bytes.to_vec()), Some(Format::Pi), &*measure(&policy())).expect("it is pi's")
}

fn open(transcript: &Transcript) -> Session {
    let conversation = &transcript.conversations[0];
    let model = TestModel::new(Arc::new(TestClock::default()));
    model.then(good("## Goal\nship it"));
    let prompts = prompts::built_in("pi").expect("it is built in");
    let setup = Setup {
        archive: Arc::new(conversation.originals.clone()),
        measure: measure(&policy()),
        count_method: "utf16/4".into(),
        budget: Budget::new(Tokens(200_000), Tokens::ZERO, Tokens::ZERO),
        policy: Arc::new(policy()),
        can: can_express(Format::Pi),
        focus: None,
        pins: Vec::new(),
        clock: Arc::new(Stopped),
        asks: Asks { model: Some(Arc::new(model)), prompts: Arc::new(prompts), ..Asks::default() },
    };
    Session::open(conversation.log.clone(), conversation.leaf, setup).expect("the branch can be taken up")
}

fn boundary(session: &Session, report: &Report) -> Boundary {
    let newest = *session.compactions().last().expect("one was made");
    let Some(Entry::Compaction(compaction)) = session.log().get(newest) else { panic!("it is one") };
    let files = &report.record.as_ref().expect("something was done").ledger.files;
    let paths = |is_read: bool| {
        let wanted =
            files.iter().filter(|file| (file.last == epitome_core::ledger::Operation::Read) == is_read);
        wanted.map(|file| file.path.to_string()).collect()
    };
    Boundary {
        summary: compaction.summary.as_ref().expect("it has one").text.clone(),
        before: compaction.before.clone(),
        tail: compaction.tail.clone(),
        tokens_before: report.tokens_before,
        tokens_after: report.tokens_after,
        trigger: report.trigger,
        timestamp: "2026-01-31T09:30:00.000Z".into(),
        read_files: paths(true),
        modified_files: paths(false),
        duration_ms: report.duration_ms,
        record: None,
    }
}

/// The lines a compaction adds to `bytes`, and the session it was made in.
fn compacted(bytes: &[u8]) -> (Vec<u8>, Session) {
    let transcript = read(bytes);
    let mut session = open(&transcript);
    let report = now(session.compact(Trigger::Manual)).expect("the originals are at hand");
    let boundary = boundary(&session, &report);
    let added = append(&transcript, 0, &bytes.to_vec(), &boundary).expect("pi can say it");
    (added, session)
}

#[test]
fn p12_the_entry_has_the_fields_pi_reads() {
    let (added, session) = compacted(&file());
    let mut entry: Value = serde_json::from_slice(&added).expect("it is one line of JSON");
    let fields = entry.as_object_mut().expect("it is an entry");
    fields.retain(|key, _| key != "id" && key != "epitome");
    let (_, summary) = session.context().summary(session.log()).expect("it is in view");
    assert!(summary.text.contains("\n## Goal\nship it\n"));
    assert_eq!(
        entry,
        json!({
            "type": "compaction",
            "parentId": "00000005",
            "timestamp": "2026-01-31T09:30:00.000Z",
            "summary": &*summary.text,
            "firstKeptEntryId": "00000005",
            "tokensBefore": 20_671,
            "details": {"readFiles": ["a.rs"], "modifiedFiles": ["b.rs"]},
            "fromHook": false,
        })
    );
}

#[test]
fn p13_what_was_there_stays_byte_for_byte() {
    let before = file();
    let (added, session) = compacted(&before);
    let after = [before.clone(), added].concat();
    assert!(after.starts_with(&before));
    let again = open(&read(&after));
    let ids = |session: &Session| session.context().message_slots().map(|(id, ..)| id).collect::<Vec<_>>();
    assert_eq!((ids(&again), again.log().len()), (ids(&session), session.log().len()));
}
