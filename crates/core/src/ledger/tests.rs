//! The ledger of tiny sessions.

use super::{Ledger, Operation, TodoState};
use crate::{Author, Block, Call, EntryId, Message, ResultPart, Role, ToolResult};

/// A session of calls, each with its result; a result that begins with `!` is an error.
fn ledger(calls: &[(&str, &str, &str)]) -> Ledger {
    let mut ledger = Ledger::default();
    for (at, (name, input, result)) in calls.iter().enumerate() {
        let id = at.to_string();
        let call = Call { id: (*id).into(), name: (*name).into(), input: (*input).into(), freeform: false };
        let made = Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] };
        ledger.update(EntryId(2 * at as u32), &made);
        let parts = vec![ResultPart::Text { text: result.trim_start_matches('!').into() }];
        let answer = ToolResult { call: (*id).into(), parts, is_error: result.starts_with('!') };
        let message = Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(answer)] };
        ledger.update(EntryId(2 * at as u32 + 1), &message);
    }
    ledger
}

#[test]
fn what_a_demonstration_shows_was_not_done() {
    let call = Call {
        id: "a".into(),
        name: "Read".into(),
        input: r#"{"file_path":"a.rs"}"#.into(),
        freeform: false,
    };
    let answer = ToolResult { call: "a".into(), parts: Vec::new(), is_error: false };
    let session = |author| {
        let made = Message { role: Role::Assistant, author, blocks: vec![Block::Call(call.clone())] };
        let answered = Message { role: Role::Tool, author, blocks: vec![Block::Result(answer.clone())] };
        Ledger::of([(EntryId(0), &made), (EntryId(1), &answered)])
    };
    assert_eq!((session(Author::Harness).files.len(), session(Author::Model).files.len()), (0, 1));
}

fn lasts(ledger: &Ledger) -> Vec<(&str, Operation)> {
    ledger.files.iter().map(|file| (&*file.path, file.last)).collect()
}

#[test]
fn failures_leave_no_trace() {
    let ledger = ledger(&[
        ("Edit", r#"{"file_path":"a.rs","old_string":"x","new_string":"y"}"#, "!not found"),
        ("Bash", r#"{"command":"cat b.rs"}"#, "cat: b.rs: No such file or directory"),
        ("Read", r#"{"file_path":"c.rs"}"#, "1 fn main"),
    ]);
    assert_eq!(lasts(&ledger), [("c.rs", Operation::Read)]);
}

#[test]
fn a_file_written_twice_was_created_once() {
    let write = ("Write", r#"{"file_path":"a.rs","content":"x"}"#, "ok");
    let ledger = ledger(&[write, write]);
    let file = ledger.file("a.rs").expect("it was written");
    assert!(file.created && file.modified && file.last == Operation::Modified);
}

#[test]
fn a_renamed_folder_takes_its_files_along() {
    let ledger = ledger(&[("read", r#"{"path":"a/x.md"}"#, "text"), ("bash", r#"{"command":"mv a b"}"#, "")]);
    assert_eq!(lasts(&ledger), [("a/x.md", Operation::Deleted), ("b/x.md", Operation::Created)]);
}

#[test]
fn todos_are_as_they_were_last_written() {
    let ledger = ledger(&[
        (
            "TodoWrite",
            r#"{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"pending"}]}"#,
            "ok",
        ),
        ("TaskCreate", r#"{"subject":"c"}"#, "Task #7 created successfully"),
        ("TaskUpdate", r#"{"taskId":"7","status":"in_progress"}"#, "Updated"),
    ]);
    let open: Vec<(&str, TodoState)> = ledger.open_todos().map(|todo| (&*todo.text, todo.state)).collect();
    assert_eq!(open, [("b", TodoState::Open), ("c", TodoState::InProgress)]);
}

#[test]
fn commands_keep_their_exit_code() {
    let ledger = ledger(&[("bash", r#"{"command":"cargo test"}"#, "boom\n\nCommand exited with code 101")]);
    assert_eq!((ledger.commands[0].exit, ledger.commands[0].failed), (Some(101), true));
}
