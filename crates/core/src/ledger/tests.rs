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

fn standings(ledger: &Ledger) -> Vec<(&str, Operation)> {
    ledger.files.iter().map(|file| (&*file.path, file.standing())).collect()
}

#[test]
fn a_file_stands_by_the_strongest_of_what_was_done_to_it() {
    let ledger = ledger(&[
        ("Write", r#"{"file_path":"/p/src/new.rs","content":"x"}"#, "File created"),
        ("Edit", r#"{"file_path":"/p/src/new.rs","old_string":"x","new_string":"y"}"#, "ok"),
        ("Bash", r#"{"command":"cat src/new.rs"}"#, "y"),
        ("Edit", r#"{"file_path":"/p/src/old.rs","old_string":"x","new_string":"y"}"#, "ok"),
        ("Read", r#"{"file_path":"/p/src/old.rs"}"#, "1 y"),
        ("Read", r#"{"file_path":"/p/docs/modes.md"}"#, "1 text"),
        ("Bash", r#"{"command":"cd /p && rm docs/modes.md && cat docs/modes.md 2>/dev/null"}"#, ""),
        ("Read", r#"{"file_path":"/p/src/seen.rs"}"#, "1 z"),
    ]);
    let want = [
        ("/p/src/new.rs", Operation::Created),
        ("/p/src/old.rs", Operation::Modified),
        ("/p/docs/modes.md", Operation::Deleted),
        ("/p/src/seen.rs", Operation::Read),
    ];
    assert_eq!(standings(&ledger), want);
}

#[test]
fn a_deleted_file_that_a_tool_shows_again_is_there() {
    let read = ("Read", r#"{"file_path":"a.rs"}"#, "1 x");
    let ledger = ledger(&[read, ("Bash", r#"{"command":"rm a.rs"}"#, ""), read]);
    assert_eq!(standings(&ledger), [("a.rs", Operation::Read)]);
}

#[test]
fn one_file_has_one_path() {
    let ledger = ledger(&[
        ("Bash", r#"{"command":"cat src/a.go && cat src\\b.go"}"#, "x"),
        ("Write", r#"{"file_path":"D:\\posh\\src\\a.go","content":"x"}"#, "ok"),
        ("Bash", r#"{"command":"cd /d/posh/src && cat a.go"}"#, "x"),
        ("shell", r#"{"command":"cat ./src/a.go","workdir":"D:/posh"}"#, "x"),
    ]);
    assert_eq!(standings(&ledger)[0], ("D:/posh/src/a.go", Operation::Modified));
    assert_eq!(ledger.files.iter().filter(|file| file.path.ends_with("a.go")).count(), 1);
}

/// The commands still in the way after these calls.
fn blocked(calls: &[(&str, &str)]) -> Vec<String> {
    let inputs: Vec<String> =
        calls.iter().map(|(command, _)| serde_json::json!({ "command": command }).to_string()).collect();
    let calls: Vec<(&str, &str, &str)> =
        calls.iter().zip(&inputs).map(|((_, result), input)| ("Bash", input.as_str(), *result)).collect();
    ledger(&calls).blocked().map(|command| command.command.to_string()).collect()
}

#[test]
fn what_was_overcome_by_purpose_no_longer_blocks() {
    const FAILED: &str = "!Exit code 1\nboom";
    for (failed, overcame) in [
        ("cargo test -p core", "cd /w && RUST_LOG=1 cargo test --workspace 2>&1 | tail -5"),
        ("npm run build", "npm test"),
        ("git commit -m x", "git add . && git commit -m \"$(cat <<'EOF'\ny; z\nEOF\n)\""),
        ("npx turbo run test", "git commit -am done"),
        ("python3 - <<'EOF'\nx\nEOF", "python3 - <<'EOF'\ny\nEOF"),
        ("node /tmp/cmp.js a", "node cmp.js b"),
        ("git push", "git pull --rebase && git push -u origin x"),
        ("docker compose up", "docker compose up -d"),
        ("git merge origin/main", "git commit --no-edit"),
        ("pip install foo", "python -m pytest"),
    ] {
        assert_eq!(blocked(&[(failed, FAILED)]), [failed], "{failed}");
        assert_eq!(blocked(&[(failed, FAILED), (overcame, "ok")]), Vec::<String>::new(), "{failed}");
    }
}

#[test]
fn looks_refusals_and_stops_do_not_block() {
    for (command, result) in [
        ("grep -n x a.rs", "!Exit code 1"),
        ("ls nowhere; git status", "!Exit code 2"),
        ("npm test 2>&1 | grep FAIL", "!Exit code 1"),
        ("gh pr checks 20 --watch", "!Exit code 1"),
        ("pkill -f server", "!Exit code 144"),
        ("Set-Location D:\\\\x; npm run build | Select-String ERROR", "!Exit code 1"),
        ("cargo test", "!The user doesn't want to proceed with this tool use."),
        ("timeout 5 npm start", "!Exit code 124"),
    ] {
        assert_eq!(blocked(&[(command, result)]), Vec::<String>::new(), "{command}");
    }
}

#[test]
fn a_try_is_forgotten_before_a_step_of_the_work_is() {
    const FAILED: &str = "!Exit code 1\nboom";
    let others = [("touch a", "ok"), ("mkdir b", "ok"), ("docker ps && cp a b", "ok")];
    let with = |failed| [&[(failed, FAILED)], &others[..]].concat();
    assert_eq!(blocked(&with("frobnicate --all")), Vec::<String>::new());
    assert_eq!(blocked(&with("git push")), ["git push"]);
    assert_eq!(blocked(&[("git push", FAILED), ("git push -f", FAILED)]), ["git push -f"]);
}

#[test]
fn what_the_person_went_on_from_does_not_block() {
    let mut ledger = ledger(&[("Bash", r#"{"command":"git push"}"#, "!Exit code 1")]);
    let said = |text: &str| Message::text(Role::User, Author::Person, text);
    ledger.update(EntryId(90), &said("continue"));
    assert_eq!(ledger.blocked().count(), 1);
    ledger.update(EntryId(91), &said("good, now write the docs"));
    assert_eq!(ledger.blocked().count(), 0);
}

#[test]
fn what_is_being_tried_again_does_not_block() {
    let mut ledger = ledger(&[("Bash", r#"{"command":"git push"}"#, "!Exit code 1")]);
    assert_eq!(ledger.blocked().count(), 1);
    let input = r#"{"command":"git pull && git push"}"#;
    let call = Call { id: "again".into(), name: "Bash".into(), input: input.into(), freeform: false };
    let made = Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] };
    ledger.update(EntryId(90), &made);
    assert_eq!(ledger.blocked().count(), 0);
}

#[test]
fn a_list_of_requests_is_kept_with_what_is_done_of_it() {
    let mut ledger = Ledger::default();
    let asked = Message::text(
        Role::User,
        Author::Person,
        "please\n- add a badge to the README\n- write a release workflow",
    );
    let told = Message::text(
        Role::Assistant,
        Author::Model,
        "Added the badge to the README.\nThe release workflow comes next.",
    );
    ledger.update(EntryId(0), &asked);
    ledger.update(EntryId(1), &told);
    let items: Vec<_> = ledger.requests.iter().map(|item| (&*item.text, item.done)).collect();
    assert_eq!(items, [("add a badge to the README", Some(EntryId(1))), ("write a release workflow", None)]);
}
