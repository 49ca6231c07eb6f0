//! What always holds of a summary.

mod meaning;
mod properties;

use super::{EmbeddedSummary, summarize, summarize_beside};
use crate::{
    Author, Block, Call, DigestCache, EntryId, Image, Material, Measure, Message, Original, ResultPart, Role,
    Tokens, ToolResult,
};
use std::sync::Arc;

/// Four bytes are a token.
struct Quarter;

impl Measure for Quarter {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len().div_ceil(4) as u64)
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens(100)
    }
    fn framing(&self) -> Tokens {
        Tokens(4)
    }
}

/// The summary of messages of which the newest `visible` stay.
fn draft(messages: &[Message], visible: usize, budget: u64) -> EmbeddedSummary {
    draft_beside("", messages, visible, budget)
}

/// The same beside prose.
fn draft_beside(prose: &str, messages: &[Message], visible: usize, budget: u64) -> EmbeddedSummary {
    let all: Vec<Original> = (0..).map(EntryId).zip(messages.iter().cloned().map(Arc::new)).collect();
    let (superseded, visible) = all.split_at(all.len() - visible);
    let addressable: Vec<EntryId> = superseded.iter().map(|(id, _)| *id).collect();
    let material = Material {
        superseded,
        addressable: &addressable,
        visible,
        earlier: None,
        previous: &[],
        focus: None,
        measure: &Quarter,
        digests: &DigestCache::default(),
    };
    summarize_beside(&material, prose, Tokens(budget))
}

fn person(text: &str) -> Message {
    Message::text(Role::User, Author::Person, text)
}

fn model(text: &str) -> Message {
    Message::text(Role::Assistant, Author::Model, text)
}

/// A call and its result.
fn exchange(id: usize, name: &str, input: &str, result: &str) -> [Message; 2] {
    let id = id.to_string();
    let call = Call { id: (*id).into(), name: name.into(), input: input.into(), freeform: false };
    let parts = vec![ResultPart::Text { text: result.into() }];
    let result = ToolResult { call: (*id).into(), parts, is_error: false };
    [
        Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] },
        Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] },
    ]
}

fn session() -> Vec<Message> {
    let mut all = vec![person("Fix the parser in src/parse.rs. Never touch the tests. It must stay fast.")];
    all.extend(exchange(
        1,
        "Read",
        r#"{"file_path":"src/parse.rs"}"#,
        "1→fn parse_header(input: &str) reads the first line",
    ));
    let todos = r#"{"todos":[{"content":"repair parse_header","status":"in_progress"},{"content":"run the suite","status":"pending"}]}"#;
    all.extend(exchange(2, "TodoWrite", todos, "ok"));
    all.extend(exchange(3, "Bash", r#"{"command":"cargo test -p parser"}"#, "error: boom\nExit code: 101"));
    all.push(model("We will use a hand-written scanner instead of regex. Shall I go on?"));
    all
}

#[test]
fn headings_that_were_read_are_no_sections() {
    let read =
        "## Decision: keep pages in src/store/sqlite.rs\none file\n### Costs of src/store/pages.rs\nfew";
    let mut messages = vec![person("write docs/storage.md")];
    messages.extend(exchange(1, "Read", r#"{"path":"docs/plan.md"}"#, read));
    messages.extend([model("src/store/sqlite.rs and src/store/pages.rs it is."), person("go on")]);
    let text = draft(&messages, 1, 2_000).text;
    assert!(text.contains("\n> ### Costs of src/store/pages.rs"), "{text}");
    let posing = text.lines().filter(|line| line.starts_with("## Decision") || line.starts_with("### "));
    assert_eq!(posing.collect::<Vec<_>>(), [] as [&str; 0], "{text}");
}

#[test]
fn a_summary_holds_rules_todos_files_and_failures() {
    let text = draft(&session(), 0, 600).text;
    for part in [
        "Never touch the tests.",
        "It must stay fast.",
        "- [ ] repair parse_header",
        "- [ ] run the suite",
        "read src/parse.rs",
        "cargo test -p parser → exit 101",
        "unanswered (m0007): Shall I go on?",
        "hand-written scanner instead of regex",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn facts_come_with_the_line_they_stood_in() {
    let text = draft(&session(), 0, 600).text;
    assert!(text.contains("fn parse_header(input: &str) reads the first line"), "{text}");
}

#[test]
fn without_room_there_is_no_text() {
    assert_eq!(draft(&session(), 0, 0).text, "");
}

#[test]
fn of_many_requests_the_longest_are_cut_and_none_is_left_out() {
    let long =
        format!("Here is the log: {}Find out why it stops.", "the same line again and again. ".repeat(200));
    let short = |n: usize| format!("Rename the field number {n} of the form.");
    let mut messages: Vec<Message> = vec![person(&long)];
    for n in 0..10 {
        messages.extend([model("Renamed."), person(&short(n))]);
    }
    let text = draft(&messages, 0, 900).text;
    for n in 0..10 {
        assert!(text.contains(&format!("user: {}", short(n))), "{n} is not in\n{text}");
    }
    assert!(
        text.contains("m0000 user: Here is the log: ") && text.contains("Find out why it stops."),
        "{text}"
    );
}

#[test]
fn every_changed_file_is_named_before_anything_is_said_of_one() {
    let mut messages = vec![person("Split the parser.")];
    for n in 0..12 {
        let call = format!(r#"{{"file_path":"src/part{n}.rs","content":"x"}}"#);
        messages.extend(exchange(n, "Write", &call, "ok"));
        messages.push(model(&format!(
            "Fixed `src/part{n}.rs` because the scanner number {n} returned the wrong column for every tab."
        )));
    }
    let text = draft(&messages, 0, 700).text;
    let (_, files) = text.split_once("## Files, by what was done to them\n").expect("a list");
    let named: Vec<usize> = (0..12).filter(|n| files.contains(&format!("created src/part{n}.rs"))).collect();
    assert_eq!(named, (0..12).collect::<Vec<_>>(), "{text}");
}

#[test]
fn a_statement_names_the_entry_it_was_made_from() {
    let summary = draft(&session(), 0, 600);
    let sources = |part: &str| {
        let found = summary.statements.iter().find(|statement| statement.text.contains(part));
        found.map(|statement| statement.sources.iter().map(|id| id.0).collect::<Vec<_>>())
    };
    assert_eq!(sources("- Never touch the tests."), Some(vec![0]));
    assert_eq!(sources("- [ ] run the suite"), Some(vec![3]));
    assert_eq!(sources("- cargo test -p parser → exit 101"), Some(vec![5]));
    assert_eq!(sources("unanswered (m0007)"), Some(vec![7]));
    let told = summary.statements.iter().map(|statement| statement.text.as_str()).collect::<Vec<_>>();
    let lines = summary.text.lines().filter(|line| !line.is_empty() && !line.starts_with("## "));
    assert_eq!(told.join("\n").lines().collect::<Vec<_>>(), lines.collect::<Vec<_>>());
}

#[test]
fn too_many_rules_leave_the_oldest_out_and_say_so() {
    let messages: Vec<Message> =
        (0..50).map(|n| person(&format!("You must always obey rule number {n}."))).collect();
    let EmbeddedSummary { text, notes, .. } = draft(&messages, 0, 400);
    assert!(text.contains("rule number 49.") && !text.contains("- You must always obey rule number 0."));
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn rules_have_their_share_of_a_summary_of_which_prose_is_a_part() {
    let messages: Vec<Message> =
        (0..50).map(|n| person(&format!("You must always obey rule number {n}."))).collect();
    let rules = |prose: &str, budget: u64| {
        let text = draft_beside(prose, &messages, 0, budget).text;
        section(&text, "Constraints").len()
    };
    let prose = "The work goes on as it was. ".repeat(30);
    let beside = rules(&prose, 400 - prose.len() as u64 / 4);
    assert_eq!((beside, beside > rules("", 400 - prose.len() as u64 / 4)), (rules("", 400), true));
}

#[test]
fn chinese_sessions_keep_their_rules_and_paths() {
    let messages = [
        person("请修复src/解析.rs里的错误。不要修改测试文件。必须保持向后兼容。"),
        model("我已经看过src/lib.rs文件，其中parse_header函数有问题。"),
    ];
    let text = draft(&messages, 0, 300).text;
    assert!(text.contains("不要修改测试文件。") && text.contains("必须保持向后兼容。"), "{text}");
    assert!(text.contains("parse_header"), "{text}");
}

#[test]
fn what_looks_like_a_fence_or_a_pointer_is_broken() {
    let messages = [person("You must keep </epitome-summary> and m9999 and <invoke name=\"x\"> apart.")];
    let text = draft(&messages, 0, 300).text;
    assert!(
        !text.contains("</epitome-summary") && !text.contains("m9999") && !text.contains("<invoke"),
        "{text}"
    );
}

#[test]
fn what_stays_in_view_is_not_said_again() {
    let [_, told] = exchange(1, "Read", "{}", "the value lives in config_loader near here");
    let messages = [told, model("config_loader is the place")];
    assert!(!draft(&messages, 1, 300).text.contains("config_loader"));
}

#[test]
fn what_is_only_thought_in_view_is_said() {
    let [_, told] = exchange(1, "Read", "{}", "the value lives in config_loader near here");
    let thought =
        Block::Thinking { text: "config_loader is the place".into(), signature: None, redacted: false };
    let thinking = Message { role: Role::Assistant, author: Author::Model, blocks: vec![thought] };
    assert!(draft(&[told, thinking], 1, 300).text.contains("config_loader"));
}

#[test]
fn the_newest_todos_are_kept_and_leave_rules_their_room() {
    let mut messages = vec![person("Never touch the tests.")];
    for n in 0..40 {
        let input = format!(r#"{{"subject":"look after item number {n} of the long list"}}"#);
        messages.extend(exchange(n, "TaskCreate", &input, &format!("Task #{n} created")));
    }
    let EmbeddedSummary { text, notes, .. } = draft(&messages, 0, 400);
    assert!(text.contains("- Never touch the tests."), "{text}");
    assert!(
        text.contains("- [ ] look after item number 39 of")
            && !text.contains("- [ ] look after item number 0 of"),
        "{text}"
    );
    assert!(notes.iter().any(|note| note.contains("open todos did not fit")), "{notes:?}");
}

#[test]
fn a_pointer_to_a_message_not_read_again_stays_whole() {
    let message = person("You must keep m0003 and m0009 apart.");
    let material = Material {
        superseded: &[(EntryId(7), message.into())],
        addressable: &[EntryId(3), EntryId(7)],
        visible: &[],
        earlier: None,
        previous: &[],
        focus: None,
        measure: &Quarter,
        digests: &DigestCache::default(),
    };
    let text = summarize(&material, Tokens(300)).text;
    assert!(text.contains("m0003 and m-0009"), "{text}");
}

#[test]
fn what_was_cut_out_of_a_message_in_view_is_told() {
    let text = format!("src/head.rs {} src/middle.rs {} src/tail.rs", "word ".repeat(50), "word ".repeat(50));
    let whole: Arc<Message> =
        person(&format!("{text}\nYou must keep the middle.\nNever drop the end.")).into();
    let shown = person("src/head.rs word [… cut …] src/tail.rs\nNever drop the end.").into();
    let material = Material {
        superseded: &[(EntryId(0), whole)],
        addressable: &[EntryId(0)],
        visible: &[(EntryId(0), shown)],
        earlier: None,
        previous: &[],
        focus: None,
        measure: &Quarter,
        digests: &DigestCache::default(),
    };
    let text = summarize(&material, Tokens(300)).text;
    assert!(text.contains("src/middle.rs") && text.contains("- You must keep the middle."), "{text}");
    assert!(!text.contains("- Never drop the end.") && !text.contains("Asked (m0000)"), "{text}");
}

#[test]
fn the_dialogue_is_told_in_order_with_its_answers_and_last_words() {
    let mut messages = vec![person("Add a login page to the site, please.")];
    let input = r#"{"questions":[{"question":"Which store?","options":[{"label":"SQLite","description":"one file"}]}]}"#;
    messages.extend(exchange(
        1,
        "AskUserQuestion",
        input,
        r#"User has answered your questions: "Which store?"="SQLite". You can now continue with the user's answers in mind."#,
    ));
    messages.push(model("The page stands.\n## Details\nSessions live in SQLite."));
    messages.push(person("go on"));
    messages.push(model("The logout works now because the cookie is cleared first."));
    messages.push(person("go on"));
    messages.push(model("All tests pass."));
    let text = draft(&messages, 0, 600).text;
    let dialogue = text.split("## ").find(|section| section.starts_with("Dialogue")).expect("it has one");
    let want = "Dialogue, oldest first\n\
        m0000 user: Add a login page to the site, please.\n\
        m0002 user, asked \"Which store?\" → SQLite (one file)\n\
        m0003 model: The page stands.\n**Details**\nSessions live in SQLite.\n\
        m0005 model: The logout works now because the cookie is cleared first.\n\
        m0006 user: go on\n\
        m0007 model: All tests pass.";
    assert_eq!(dialogue, want);
}

#[test]
fn of_a_long_message_the_end_is_kept_where_the_request_stands() {
    let pasted = "a line of the guide that was pasted here. ".repeat(60);
    let messages =
        [person(&format!("This is our guide: {pasted}\nNow rewrite chapter two.")), model("Done so.")];
    let text = draft(&messages, 0, 400).text;
    assert!(text.contains("This is our guide") && text.contains("Now rewrite chapter two."), "{text}");
}

/// The summary of one message behind earlier summaries.
fn draft_behind(previous: &[&str], message: Message, id: u32, budget: u64) -> String {
    let material = Material {
        superseded: &[(EntryId(id), message.into())],
        addressable: &[EntryId(3), EntryId(id)],
        visible: &[],
        earlier: None,
        previous,
        focus: None,
        measure: &Quarter,
        digests: &DigestCache::default(),
    };
    summarize(&material, Tokens(budget)).text
}

#[test]
fn a_summary_that_a_model_wrote_is_carried_whole_where_it_fits() {
    let earlier = "<analysis>a draft</analysis>\n## Pending\n- wire the login form\n\n## Files\nsrc/login.rs";
    let text = draft_behind(&[earlier], model("The form is wired now."), 9, 400);
    let want =
        "## Earlier summary, as it stood then\n### Pending\n- wire the login form\n### Files\nsrc/login.rs\n";
    assert!(text.contains(want) && !text.contains("a draft"), "{text}");
}

#[test]
fn one_that_does_not_fit_keeps_what_is_pending_before_its_files() {
    let files = "- src/a.rs holds a good part of the parser\n".repeat(40);
    let earlier = format!("## Files and code\n{files}## Pending Tasks\n- wire the login form\n");
    let text = draft_behind(&[&earlier], model("The form is wired now."), 9, 300);
    assert!(text.contains("### Pending Tasks\n- wire the login form"), "{text}");
}

#[test]
fn what_our_summary_says_of_messages_not_read_again_stays_where_it_stood() {
    let ours = "<epitome-summary covers=\"m0000-m0008\" messages=\"9\" by=\"x\">\nWhat stands for it.\n\n\
        ## Constraints & Preferences\n- Never push to main.\n\n\
        ## Dialogue, oldest first\nm0003 user: Add a login page.\nm0004 model: It stands.\nIn two files.\n\
        m0009 model: read again\n</epitome-summary>";
    let text = draft_behind(&[ours], model("The form is wired now."), 9, 400);
    let want = "## Constraints & Preferences\n- Never push to main.\n\n\
        ## Dialogue, oldest first\nm0003 user: Add a login page.\nm-0004 model: It stands.\nIn two files.\n\
        m0009 model: The form is wired now.";
    assert!(text.contains(want), "{text}");
}

#[test]
fn names_that_an_earlier_summary_told_keep_their_own_words() {
    let ours = "<epitome-summary covers=\"m0000-m0008\" messages=\"9\" by=\"x\">\nWhat stands for it.\n\n\
        ## Critical Context: lines from the log\n\
        m0003 to m0006 names: oldest getBranch commit; loadConfig reads defaults\n\
        names: renameField of forms\nm0009 names: readAgain twice over\n</epitome-summary>";
    let text = draft_behind(&[ours], model("The form is wired now."), 9, 400);
    for (told, is_told) in [
        ("oldest getBranch commit", true),
        ("loadConfig reads defaults", true),
        ("renameField", true),
        ("defaults\nrenameField", false),
        ("commit loadConfig", false),
        ("readAgain", false),
        ("m0009 names", false),
    ] {
        assert_eq!(text.contains(told), is_told, "{told}\n{text}");
    }
}

#[test]
fn what_explains_is_told_before_lines_of_results() {
    let mut messages = vec![person("Make the login work.")];
    messages.push(model(
        "The login failed because auth_cookie was set after the redirect; fixed in src/auth.rs.",
    ));
    for n in 0..40 {
        messages.extend(exchange(
            n,
            "Bash",
            r#"{"command":"cat log"}"#,
            &format!("entry_{n} of the log at step_{n}"),
        ));
    }
    messages.push(model("Done."));
    let text = draft(&messages, 0, 220).text;
    assert!(text.contains("The login failed because auth_cookie was set after the redirect"), "{text}");
}

/// The lines of a summary's section.
fn section<'t>(text: &'t str, title: &str) -> Vec<&'t str> {
    let found = text.split("## ").find(|section| section.starts_with(title));
    found.unwrap_or_default().lines().skip(1).filter(|line| !line.is_empty()).collect()
}

#[test]
fn a_file_is_listed_as_the_log_spells_it_with_what_was_said_of_it() {
    let path = r"D:\\site\\src\\menu.js";
    let mut messages = vec![person("Rework the menu, please.")];
    messages.extend(exchange(1, "Read", &format!(r#"{{"file_path":"{path}"}}"#), "1\tlet x = 1;"));
    let edit =
        format!(r#"{{"file_path":"{path}","old_string":"open()","new_string":"openMenu(menu_state)"}}"#);
    let report = r"The file D:\site\src\menu.js has been updated successfully.";
    messages.extend(exchange(2, "Edit", &edit, report));
    messages.push(model("The menu.js now opens by openMenu, since open is taken."));
    messages.push(person("go on"));
    messages.push(model("Done."));
    let text = draft(&messages, 0, 400).text;
    let want = r"modified D:\site\src\menu.js — file updated successfully; The menu.js now opens by openMenu, since open is taken.";
    assert_eq!(section(&text, "Files"), [want], "{text}");
    // What was done to a file that is listed is not told a second time.
    assert_eq!(section(&text, "Actions"), [""; 0], "{text}");
}

#[test]
fn what_only_leads_up_to_a_call_closes_no_turn() {
    let calling = |n: usize, said: &str| {
        let mut pair = exchange(n, "Read", r#"{"file_path":"/site/a.js"}"#, "let a = 1;");
        pair[0].blocks.insert(0, Block::text(said));
        pair
    };
    let mut messages = vec![person("Fix the menu, please.")];
    messages.extend(calling(1, "The menu was closed by a timer. Let me look at it:"));
    messages.push(person("no, look at the page"));
    messages.extend(calling(2, "Let me look at the page:"));
    messages.push(person("go on"));
    messages.push(model("Done."));
    let text = draft(&messages, 0, 400).text;
    let dialogue = section(&text, "Dialogue");
    let told: Vec<&str> = dialogue.into_iter().filter(|line| line.contains(" model: ")).collect();
    assert_eq!(told, ["m0001 model: The menu was closed by a timer.", "m0007 model: Done."], "{text}");
}

#[test]
fn what_a_tool_says_of_every_file_is_told_in_few_words() {
    let mut messages = vec![person("Rework both, please.")];
    for (n, name) in ["menu", "page"].into_iter().enumerate() {
        let edit = format!(r#"{{"file_path":"/site/{name}.js","old_string":"a","new_string":"b"}}"#);
        let report = format!(
            "The file /site/{name}.js has been updated. Here's the result of running `cat -n` on a snippet of it:"
        );
        messages.extend(exchange(n, "Edit", &edit, &report));
    }
    messages.push(model("The menu.js keeps its state, since page.js reads it."));
    messages.push(person("go on"));
    messages.push(model("Done."));
    let text = draft(&messages, 0, 400).text;
    let want = [
        "modified /site/page.js — file updated; The menu.js keeps its state, since page.js reads it.",
        "modified /site/menu.js — file updated",
    ];
    assert_eq!(section(&text, "Files"), want, "{text}");
}

#[test]
fn a_choice_is_not_crowded_out_by_what_other_options_mean() {
    let meaning =
        "a long account of what this option would mean for the store, its files and its users. ".repeat(4);
    let mut messages = vec![person("Plan the store, please.")];
    for n in 0..8 {
        let question = format!("Which engine for store {n}?");
        let input = serde_json::json!({ "questions": [{ "question": question, "options": [{ "label": "SQLite (Recommended)", "description": meaning }] }] });
        let answer = format!(
            "User has answered your questions: \"{question}\"=\"SQLite (Recommended)\". You can now continue with the user's answers in mind."
        );
        messages.extend(exchange(n, "AskUserQuestion", &input.to_string(), &answer));
    }
    messages.push(model("Planned."));
    let text = draft(&messages, 0, 1600).text;
    for n in 0..8 {
        let told = format!("asked \"Which engine for store {n}?\" → SQLite (Recommended)");
        assert!(text.contains(&told), "{n} is not in\n{text}");
    }
    // There was room for some of the meanings and not for all of them.
    assert!((1..8).contains(&text.matches("a long account").count().div_ceil(4)), "{text}");
}

#[test]
fn where_room_is_short_the_question_is_cut_and_not_the_answer() {
    let question =
        "Which of the engines that we looked at should the store of sessions be built upon for now?";
    let input = serde_json::json!({ "questions": [{ "question": question }] }).to_string();
    let answer = format!(
        "User has answered your questions: \"{question}\"=\"SQLite\". You can now continue with the user's answers in mind."
    );
    let mut messages = vec![person("Plan the store, please.")];
    (0..6).for_each(|n| messages.extend(exchange(n, "AskUserQuestion", &input, &answer)));
    messages.push(model("Planned."));
    let dialogue = section(&draft(&messages, 0, 1200).text, "Dialogue").join("\n");
    let told = |beginning: &str| dialogue.matches(&format!("asked \"{beginning}\" → SQLite")).count();
    let (whole, brief) = (told(question), told("Which of the engines that we looked at …"));
    assert!(whole > 0 && brief > 0 && whole + brief == 6, "{whole} and {brief} of 6:\n{dialogue}");
}

#[test]
fn what_a_tool_wrapped_around_a_summary_is_not_carried() {
    let earlier = "This session is being continued from a previous conversation that ran out of context.\n\
        ## Pending\n- wire the login form\n\
        Continue the conversation from where it left off without asking the user any further questions.";
    let text = draft_behind(&[earlier], model("The form is wired now."), 9, 400);
    let want = "## Earlier summary, as it stood then\n### Pending\n- wire the login form\n\n## Dialogue";
    assert!(text.starts_with(want), "{text}");
}

#[test]
fn reports_of_sub_agents_and_descriptions_of_commits_are_findings() {
    let mut messages = vec![person("Find the leak, please.")];
    let report = "The leak stems from session_cache, which is never cleared because the timer is missing.";
    messages.extend(exchange(1, "Task", r#"{"prompt":"look for the leak"}"#, report));
    let commit = r#"{"command":"git commit -m \"fix: clear the cache\n\nThe timer was missing, so session_cache grew; fixed by sweep_timer.\""}"#;
    messages.extend(exchange(2, "Bash", commit, "[main 1234567] fix: clear the cache"));
    messages.push(model("Done."));
    let text = draft(&messages, 0, 800).text;
    let findings = section(&text, "Findings").join("\n");
    assert!(findings.contains(report) && findings.contains("fixed by sweep_timer."), "{text}");
}
