//! What a compaction leaves in a session file of pi's.

use epitome_core::policy::TranscriptEntry;
use epitome_core::{Archive, Budget, EntryId, Measure, MemoryArchive, Policy, Record, Tokens, Trigger};
use epitome_engine::{Assembly, Driver, Ports, Session, SessionOptions, SummaryModel, measure_for};
use epitome_settings::{preset, prompts};
use epitome_testbed::{TestClock, TestModel, good, now};
use epitome_tokens::{Counter, Encoding};
use epitome_wire::{Boundary, Conversation, Format, Transcript, append, can_express};
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
    measure_for(policy, &Counter::exact(Encoding::O200kBase)).0
}

fn policy() -> Policy {
    let settings = preset::settings("pi").expect("the preset is in order");
    Policy::try_from(settings).expect("the settings are sound")
}

fn read(bytes: &[u8]) -> Transcript {
    epitome_wire::read(Arc::new(bytes.to_vec()), Some(Format::Pi), &*measure(&policy())).expect("it is pi's")
}

/// The originals of a conversation, in memory.
fn originals(conversation: &Conversation) -> Arc<MemoryArchive> {
    let archive = MemoryArchive::default();
    let ids = (0..conversation.log.len() as u32).map(EntryId);
    for id in ids.filter(|&id| conversation.log.item(id).is_some()) {
        archive.put_shared(id, conversation.originals.message(id).expect("it stands in the file"));
    }
    Arc::new(archive)
}

fn open(transcript: &Transcript) -> Session {
    let conversation = &transcript.conversations[0];
    let budget = Budget::new(Tokens(200_000), Tokens::ZERO, Tokens::ZERO);
    let assembly = Assembly::of_parts(Arc::new(policy()), measure(&policy()), "utf16/4", budget);
    let (log, sizes) = (Arc::new(conversation.log.clone()), Arc::new(conversation.sizes.clone()));
    let options = SessionOptions { can: can_express(Format::Pi), ..SessionOptions::default() };
    let session = Session::new(log, sizes, originals(conversation), assembly);
    let mut session = session.with_options(options);
    session.move_to(conversation.leaf).expect("the branch can be taken up");
    session
}

/// Who writes the summary.
fn driver() -> Driver {
    let model = TestModel::new(Arc::new(TestClock::default()));
    model.then(good("## Goal\nship it"));
    let mut ports = Ports::default();
    ports.model = Some(SummaryModel::apart(Arc::new(model)));
    ports.prompts = Arc::new(prompts::built_in("pi").expect("it is built in"));
    Driver::new(ports)
}

fn boundary(session: &Session, record: &Record) -> Boundary {
    let newest = *session.compactions().last().expect("one was made");
    let compaction = session.log().compaction(newest).expect("it is one");
    let files = &record.change().expect("something was done").ledger.files;
    let paths = |is_read: bool| {
        let wanted =
            files.iter().filter(|file| (file.last == epitome_core::ledger::Operation::Read) == is_read);
        wanted.map(|file| file.path.to_string()).collect()
    };
    Boundary {
        summary: compaction.summary.clone().expect("it has one"),
        front: compaction.front.clone(),
        tail: compaction.tail.clone(),
        tokens_before: record.tokens_before,
        tokens_after: record.tokens_after,
        trigger: record.trigger,
        timestamp: "2026-01-31T09:30:00.000Z".into(),
        read_files: paths(true),
        modified_files: paths(false),
        duration_ms: record.duration_ms,
        turns: 0,
        is_by_hook: false,
        entry: TranscriptEntry::Boundary,
        record: None,
    }
}

/// The lines a compaction adds to `bytes`, and the session it was made in.
fn compacted(bytes: &[u8]) -> (Vec<u8>, Session) {
    let transcript = read(bytes);
    let mut session = open(&transcript);
    let step = now(driver().compact(&mut session, Trigger::Manual)).expect("the originals are at hand");
    let boundary = boundary(&session, &step.record.expect("one was asked for"));
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
    assert!(summary.contains("\n## Goal\nship it\n"));
    assert_eq!(
        entry,
        json!({
            "type": "compaction",
            "parentId": "00000005",
            "timestamp": "2026-01-31T09:30:00.000Z",
            "summary": &**summary,
            "firstKeptEntryId": "00000005",
            "tokensBefore": 20_671,
            "details": {"readFiles": ["a.rs"], "modifiedFiles": ["b.rs"]},
            "fromHook": false,
        })
    );
}

#[test]
fn p13_what_was_there_stays_byte_for_byte() {
    let whole = file();
    // A program that was stopped may have left its last line without an end.
    let open_ended = whole[..whole.len() - 1].to_vec();
    for before in [whole, open_ended] {
        let (added, session) = compacted(&before);
        let after = [before.clone(), added].concat();
        let lines =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>();
        let (old, new) = (lines(&before), lines(&after));
        assert_eq!((&new[..old.len()], new.len()), (&old[..], old.len() + 1));
        let again = open(&read(&after));
        let ids =
            |session: &Session| session.context().message_slots().map(|(id, ..)| id).collect::<Vec<_>>();
        assert_eq!((ids(&again), again.log().len()), (ids(&session), session.log().len()));
    }
}
