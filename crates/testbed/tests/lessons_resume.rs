//! Lessons of others, rows 105 to 113: what a restart, a crash and a second thought find in the log.
//!
//! # Pending
//!
//! - l111: what a store on disk takes, and how long it keeps it, comes with the store; here it is shown
//!   that a session's own state does not grow with what left view.

use epitome_core::{
    Archive, Author, Change, Compaction, Entry, EntryId, Log, Mark, Message, Opaque, Role, Stop, Strategy,
    SummaryReply, Tail, Tokens, Trigger,
};
use epitome_engine::store::{MemoryStore, Store, TenantId};
use epitome_engine::{Engine, HashedMessages, Session};
use epitome_testbed::{Bed, Maker, Quarter, change, good, now, word};
use epitome_wire::overflow::{ErrorPlace, OverflowClass, RequestFacts, classify};
use epitome_wire::{Format, native};
use std::collections::HashSet;
use std::sync::Arc;

const WINDOW: u64 = 20_000;

/// The session as another process finds it, with the first `count` entries of its log.
fn reopened(bed: &Bed, count: usize) -> Session {
    let mut log = Log::default();
    for (id, entry) in bed.session.log().iter().take(count) {
        let parent = bed.session.log().parent(id);
        let appended = match entry {
            Entry::Mark(mark) => log.mark(parent, mark.clone()),
            Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => log.append(parent, entry.clone()),
        };
        appended.expect("it was appended like this before");
    }
    let leaf = log.newest();
    let (sizes, archive) = (bed.session.timeline().sizes().clone(), bed.session.archive().clone());
    let mut session = Session::new(Arc::new(log), sizes, archive, bed.session.assembly().clone());
    session.move_to(leaf).expect("the log is whole up to here");
    session
}

fn shown(session: &Session) -> Vec<Arc<Message>> {
    session.shown().expect("all is in memory").into_iter().map(|shown| shown.message).collect()
}

/// Goes on until a compaction is made.
fn until_compacted(bed: &mut Bed) -> Change {
    for _ in 0..200 {
        let (text, result) = (bed.filler(120), bed.filler(300));
        bed.user(&text);
        bed.exchange("read", &format!(r#"{{"path":"src/{}.rs"}}"#, bed.session.log().len()), &result);
        if let Some(record) = bed.prepare() {
            return change(Some(record));
        }
    }
    panic!("nothing was compacted");
}

/// The compactions of a log, oldest first.
fn compactions(bed: &Bed) -> Vec<&Compaction> {
    bed.session.log().iter().filter_map(|(id, _)| bed.session.log().compaction(id)).collect()
}

#[test]
fn l105_a_session_killed_after_any_write_opens_and_has_lost_nothing() {
    let mut bed = Maker::new("kaged", WINDOW).no_model().bed();
    until_compacted(&mut bed);
    until_compacted(&mut bed);
    for count in 0..=bed.session.log().len() {
        let session = reopened(&bed, count);
        let newest = session.history().last().copied();
        let in_view: Vec<EntryId> = session.context().message_slots().map(|(id, ..)| id).collect();
        assert!(newest.is_none_or(|id| in_view.contains(&id)), "after {count} entries {newest:?} is gone");
        let is_covered = session.context().summary(session.log()).is_some();
        assert!(is_covered || in_view == session.history(), "after {count} entries something has no summary");
        assert_eq!(shown(&session).len(), session.context().slots().len());
    }
}

#[test]
fn l105_a_transcript_whose_parent_was_never_written_is_read_all_the_same() {
    let line = |uuid: &str, parent: &str, text: &str| {
        format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","version":"2.1.0","message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    let file = [line("a", "null", "first"), line("c", r#""lost""#, "last")].join("\n");
    let bytes: Arc<Vec<u8>> = Arc::new(file.into_bytes());
    let read = epitome_wire::read(bytes, Some(Format::ClaudeCode), &Quarter).expect("it degrades");
    let conversation = &read.conversations[0];
    let branch = conversation.log.path(conversation.leaf.expect("something was said"));
    let messages = branch.into_iter().filter_map(|id| conversation.originals.message(id).ok());
    let said: Vec<String> = messages.map(|message| message.said()).collect();
    assert!(said.contains(&"last".to_owned()), "{said:?}");
}

/// Where each message went, by the record of a compaction.
fn places(mark: &Mark) -> [Vec<EntryId>; 3] {
    let Mark::Compaction { record, .. } = mark else { panic!("not {mark:?}") };
    let Change { superseded, dropped, kept, .. } = record.change().expect("something was changed");
    [superseded, dropped, kept].map(Clone::clone)
}

fn ledger_bytes(mark: &Mark) -> usize {
    let Mark::Compaction { record, .. } = mark else { panic!("not {mark:?}") };
    let ledger = &record.change().expect("something was changed").ledger;
    serde_json::to_vec(ledger).expect("it is JSON").len()
}

#[test]
fn l106_what_compactions_write_grows_by_their_number_and_not_by_the_history() {
    let mut bed = Maker::new("default", WINDOW).no_model().bed();
    for _ in 0..12 {
        until_compacted(&mut bed);
    }
    // As it is written to a file, with its record.
    let lines = bed.session.compactions().iter().map(|&id| {
        let log = bed.session.log();
        let mark = log.mark_of(id).expect("it is a compaction");
        (mark, native::mark_line(1, 0, log.parent(id), mark))
    });
    let lines: Vec<(&Mark, Vec<u8>)> = lines.collect();
    for (mark, line) in &lines {
        let read: native::AddedLine = serde_json::from_slice(line).expect("it is a line");
        assert_eq!(places(&read.mark.map(Mark::from).expect("it is a mark")), places(mark));
    }
    // The ledger grows with the files there are, not with what was said.
    let size = |(mark, line): &(&Mark, Vec<u8>)| line.len() - ledger_bytes(mark);
    let sizes: Vec<usize> = lines.iter().map(size).collect();
    let listed = |(_, line): &(&Mark, Vec<u8>)| {
        let line: serde_json::Value = serde_json::from_slice(line).expect("it is a line");
        let record = &line["mark"]["record"];
        ["superseded", "dropped", "kept"].map(|name| record[name].as_array().expect("a list").len())
    };
    let runs: usize = lines.iter().flat_map(listed).max().expect("there are some");
    assert!(runs <= 24, "{runs} of {} messages", bed.session.history().len());
    // Once the summary's room is full: the first few fill it.
    let (early, late) = (sizes[5..8].iter().sum::<usize>(), sizes[9..].iter().sum::<usize>());
    assert!(sizes.len() == 12 && late < early * 11 / 10, "{sizes:?}");
}

#[test]
fn l107_over_ten_compactions_in_a_row_every_message_is_in_one_place() {
    for preset in ["default", "pi", "claude-code"] {
        let mut bed = Maker::new(preset, 60_000).bed();
        for number in 0..10 {
            bed.talk(30, 1_000);
            let made = change(Some(bed.compact(Trigger::Manual)));
            let places: Vec<EntryId> = [made.superseded, made.dropped, made.kept].concat();
            let once: HashSet<EntryId> = places.iter().copied().collect();
            assert_eq!(places.len(), once.len(), "{preset} {number}");
            assert_eq!(once, bed.session.history().iter().copied().collect(), "{preset} {number}");
        }
        assert_eq!(bed.session.compactions().len(), 10);
    }
}

#[test]
fn l108_a_turn_cut_right_after_a_compaction_carries_the_summary_before_it() {
    for preset in ["default", "pi"] {
        let mut bed = Bed::new(preset, 60_000);
        bed.talk(40, 1_000);
        bed.model.then(good("## Goal\nthe goal of the first forty messages"));
        bed.compact(Trigger::Manual);
        for number in 0..40 {
            let result = bed.filler(1_000);
            bed.exchange("read", &format!(r#"{{"path":"src/{number}.rs"}}"#), &result);
        }
        bed.model.always(good("## Goal\nthe beginning of one long turn"));
        let made = change(Some(bed.compact(Trigger::Manual)));
        let asked = bed.model.asked()[1..].join("\n");
        let summary = made.summary.expect("there is one");
        let carried = "the goal of the first forty messages";
        assert!(asked.contains(carried) || summary.contains(carried), "{preset}: {summary}");
    }
}

#[test]
fn l109_the_middle_of_three_compactions_is_undone_and_so_is_the_last() {
    let mut bed = Bed::new("default", 60_000);
    let mut made = Vec::new();
    for _ in 0..3 {
        bed.talk(20, 1_000);
        bed.compact(Trigger::Manual);
        let newest = bed.session.compactions().last().copied();
        made.push((newest.expect("it was compacted"), bed.shown()));
    }
    let after_first = made[0].1.clone();
    bed.session.undo(made[1].0).expect("it is in the log");
    assert_eq!(bed.shown(), made[2].1);
    bed.session.undo(made[2].0).expect("it is in the log");
    let said: Vec<String> = bed.session.history()[20..]
        .iter()
        .map(|&id| bed.session.archive().message(id).expect("all is in memory").said())
        .collect();
    assert_eq!(bed.shown(), [after_first, said].concat());
}

#[test]
fn l110_a_prompt_is_in_the_log_before_anyone_answers_it() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let message = Message::text(Role::User, Author::Person, "please fix the parser");
    let arrival = || HashedMessages { messages: vec![(message.clone(), None)], ..HashedMessages::default() };
    let session = {
        // The process ends right after: nobody was asked, and nothing was closed.
        let engine = Engine::new(store.clone());
        let session = now(engine.create(TenantId::LOCAL)).expect("there is room");
        now(engine.append(session, None, arrival())).expect("there is room");
        session
    };
    let stored = now(store.open(session)).expect("it is there");
    let originals = now(store.originals(session, &[EntryId(0)])).expect("they are there");
    assert_eq!((stored.leaf, stored.log.len()), (Some(EntryId(0)), 1));
    assert_eq!(originals, [Arc::new(message.clone())]);
}

#[test]
fn l111_a_hundred_thousand_messages_leave_a_session_as_small_as_a_hundred_do() {
    let mut bed = Maker::new("default", 2_000_000).no_model().bed();
    let mut sizes = Vec::new();
    for _ in 0..4 {
        bed.talk(25_000, 8);
        let record = bed.compact(Trigger::Manual);
        assert_eq!(word(&record), "compacted");
        sizes.push(bed.session.context().tokens());
    }
    assert_eq!(bed.session.history().len(), 100_000);
    let (least, most) = (sizes.iter().min(), sizes.iter().max());
    assert!(most.zip(least).is_some_and(|(most, least)| most.0 < least.0 * 4), "{sizes:?}");
}

#[test]
fn l112_a_sealed_summary_has_a_twin_that_can_be_read() {
    let maker = Maker::new("default", 100_000).set(|settings| settings.strategy = vec![Strategy::Native]);
    let mut bed = maker.native().bed();
    bed.talk(2, 1_000);
    bed.user("never touch config.toml");
    bed.talk(80, 1_000);
    let sealed = Opaque {
        kind: "compaction".into(),
        json: r#"{"type":"compaction","encrypted_content":"gAAA"}"#.into(),
    };
    let mut called = good("");
    called.result = Ok(SummaryReply { text: String::new(), stop: Stop::End, native: Some(sealed.clone()) });
    bed.model.always(called);
    let made = change(bed.prepare());
    assert_eq!(made.strategy, Strategy::Native);
    assert_eq!(compactions(&bed)[0].native, Some(sealed));
    assert!(made.summary.is_some_and(|twin| twin.contains("config.toml")));
}

#[test]
fn l112_what_can_no_longer_be_decrypted_is_known_for_what_it_is() {
    let body = br#"{"error":{"message":"The encrypted content could not be verified.","code":"invalid_encrypted_content"}}"#;
    let verdict = classify(ErrorPlace::Status(400), body, &RequestFacts::default());
    assert_eq!(verdict.class, OverflowClass::Undecryptable);
}

#[test]
fn l113_marks_and_summary_are_one_write_and_every_step_reloads_alike() {
    let mut bed = Maker::new("default", WINDOW).no_model().bed();
    let is_alike =
        |bed: &Bed| assert_eq!(shown(&reopened(bed, bed.session.log().len())), shown(&bed.session));
    for _ in 0..20 {
        bed.talk(2, 800);
        is_alike(&bed);
    }
    let entries = bed.session.log().len();
    bed.compact(Trigger::Manual);
    assert_eq!(bed.session.log().len(), entries + 1);
    is_alike(&bed);
    let [compaction] = compactions(&bed)[..] else { panic!("one was made") };
    assert!(compaction.summary.is_some() && matches!(compaction.tail, Tail::After { .. }));
    bed.session.undo(EntryId(entries as u32)).expect("it is in the log");
    is_alike(&bed);
    assert_eq!((bed.in_view().len(), bed.session.context().tokens()), (40, Tokens(32_000)));
    assert_eq!(shown(&bed.session)[0].role, Role::User);
}
