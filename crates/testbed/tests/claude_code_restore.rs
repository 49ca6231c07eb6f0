//! Claude Code, afterwards: files, skills and tool definitions brought back, and the statistics.

use epitome_core::{Change, Record, RestoreReport, Tokens, Trigger};
use epitome_engine::{Event, FileNow, Restorer};
use epitome_testbed::{Bed, Maker};
use std::sync::Arc;
use std::time::Duration;

/// What there is to bring back: files of so many tokens, skills and servers of so many each.
#[derive(Clone, Copy, Default)]
struct Drawer {
    file_tokens: usize,
    skills: (usize, usize),
    servers: (usize, usize),
}

impl Restorer for Drawer {
    fn file(&self, path: &str) -> Option<FileNow> {
        (self.file_tokens > 0).then(|| FileNow { text: body(path, self.file_tokens), is_changed: false })
    }

    fn skills(&self) -> Vec<(String, String)> {
        several("skill", self.skills)
    }

    fn servers(&self) -> Vec<(String, String)> {
        several("server", self.servers)
    }
}

/// A text of so many tokens that begins with its name.
fn body(name: &str, tokens: usize) -> String {
    format!("{name} {}", "x".repeat(tokens * 4 - name.len() - 1))
}

fn several(kind: &str, (count, tokens): (usize, usize)) -> Vec<(String, String)> {
    (1..=count)
        .map(|number| format!("{kind}-{number}"))
        .map(|name| (name.clone(), body(&name, tokens)))
        .collect()
}

fn names(kind: &str, count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("{kind}-{number}")).collect()
}

/// Seven files are read, one after another, and the session is compacted.
fn compacted(preset: &str, drawer: Drawer) -> (Bed, Arc<Record>) {
    let maker = Maker::new(preset, 200_000).model(|model| model.slow(Duration::from_millis(1_500)));
    let mut bed = maker.ports(|ports| ports.restorer = Some(Arc::new(drawer))).bed();
    bed.talk(1, 1_000);
    for number in 1..=7 {
        bed.exchange("Read", &format!(r#"{{"file_path":"src/{number}.rs"}}"#), "fn f() {}");
    }
    bed.talk(40, 1_000);
    let record = bed.compact(Trigger::Manual);
    (bed, record)
}

fn change(record: &Record) -> &Change {
    record.change().expect("it was compacted")
}

fn restored(drawer: Drawer) -> RestoreReport {
    change(&compacted("claude-code", drawer).1).restored.clone().expect("something came back")
}

#[test]
fn c13_of_seven_files_the_five_used_last_come_back() {
    let restored = restored(Drawer { file_tokens: 100, ..Drawer::default() });
    assert_eq!(restored.files, [7, 6, 5, 4, 3].map(|number| format!("src/{number}.rs")));
}

#[test]
fn c14_of_a_large_file_the_first_5000_tokens_come_back() {
    let (bed, _) = compacted("claude-code", Drawer { file_tokens: 9_000, ..Drawer::default() });
    let text = &bed.shown()[0];
    let head = body("src/7.rs", 5_000);
    let pieces = format!(
        "<epitome-restored what=\"File src/7.rs, as it is now, its beginning\">\n{head}\n</epitome-restored>\n\n<epitome-restored what=\"File src/6.rs, as it is now, its beginning\">\n"
    );
    assert!(text.contains(&pieces));
}

#[test]
fn c14_claude_code_2_1_gives_the_path_of_a_large_file() {
    let (bed, record) = compacted("claude-code@2.1", Drawer { file_tokens: 9_000, ..Drawer::default() });
    let files = change(&record).restored.as_ref().map(|restored| restored.files.len());
    let line = "\n\n<epitome-restored what=\"File src/7.rs, as it is now: larger than its share; read it again\"/>\n\n";
    assert_eq!((files, bed.shown()[0].contains(line)), (Some(5), true));
}

#[test]
fn c15_of_eight_skills_the_five_most_used_come_back_with_5000_tokens_each() {
    let (bed, record) = compacted("claude-code", Drawer { skills: (8, 6_000), ..Drawer::default() });
    let restored = change(&record).restored.as_ref().expect("something came back");
    assert_eq!(restored.skills, names("skill", 5));
    let piece = |name: String| {
        let text = body(&name, 5_000);
        format!("\n\n<epitome-restored what=\"Skill {name}\">\n{text}\n</epitome-restored>")
    };
    let pieces = names("skill", 5).into_iter().map(piece);
    assert!(bed.shown()[0].ends_with(&pieces.collect::<String>()));
}

#[test]
fn c16_of_eight_servers_six_come_back() {
    let restored = restored(Drawer { servers: (8, 4_000), ..Drawer::default() });
    assert_eq!(restored.servers, names("server", 6));
    assert_eq!(restored.omitted, ["tools of server-7: no room", "tools of server-8: no room"]);
}

#[test]
fn c17_all_together_take_50000_and_tools_give_way_first() {
    let drawer = Drawer { file_tokens: 9_000, skills: (8, 6_000), servers: (8, 4_000) };
    let restored = restored(drawer);
    assert_eq!((restored.files.len(), restored.skills.len(), restored.servers.len()), (5, 5, 0));
    assert!((Tokens(49_900)..=Tokens(50_000)).contains(&restored.tokens), "{}", restored.tokens);
}

#[test]
fn c18_files_come_first_then_skills_then_tools() {
    let drawer = Drawer { file_tokens: 100, skills: (2, 100), servers: (2, 100) };
    let (bed, _) = compacted("claude-code", drawer);
    let shown = bed.shown();
    let headings = shown[0].lines().filter_map(|line| line.strip_prefix("<epitome-restored what="));
    assert_eq!(
        headings.collect::<Vec<_>>(),
        [
            "\"File src/7.rs, as it is now\">",
            "\"File src/6.rs, as it is now\">",
            "\"File src/5.rs, as it is now\">",
            "\"File src/4.rs, as it is now\">",
            "\"File src/3.rs, as it is now\">",
            "\"Skill skill-1\">",
            "\"Skill skill-2\">",
            "\"Tools of server-1\">",
            "\"Tools of server-2\">",
        ]
    );
}

#[test]
fn c21_the_statistics_hold_what_was_really_brought_back() {
    let (mut bed, _) = compacted("claude-code", Drawer { file_tokens: 100, ..Drawer::default() });
    let Some(Event::Completed { record, .. }) = bed.take_events().pop() else { panic!("it is told last") };
    let change = change(&record);
    let restored = change.restored.as_ref().expect("something came back");
    let files = bed.shown()[0].matches("File src/").count();
    assert_eq!((change.turns, restored.files.len(), record.duration_ms), (21, files, 1_500));
    assert_eq!((record.tokens_before, record.tokens_after), (Tokens(41_070), bed.session.context().tokens()));
    let summary = change.summary.as_deref().expect("there is one");
    assert_eq!(change.summary_tokens, Tokens(summary.len().div_ceil(4) as u64));
    assert!(bed.shown()[0].starts_with(summary));
}

#[test]
fn a_file_that_was_deleted_and_written_again_comes_back_and_one_that_is_gone_does_not() {
    let drawer = Drawer { file_tokens: 100, ..Drawer::default() };
    let mut bed =
        Maker::new("claude-code", 200_000).ports(|ports| ports.restorer = Some(Arc::new(drawer))).bed();
    bed.talk(1, 1_000);
    for name in ["again", "gone"] {
        bed.exchange("Write", &format!(r#"{{"file_path":"src/{name}.rs","content":"fn f() {{}}"}}"#), "ok");
        bed.exchange("Bash", &format!(r#"{{"command":"rm src/{name}.rs"}}"#), "");
    }
    bed.exchange("Write", r#"{"file_path":"src/again.rs","content":"fn g() {}"}"#, "ok");
    bed.talk(40, 1_000);
    let record = bed.compact(Trigger::Manual);
    let ledger: Vec<_> =
        change(&record).ledger.files.iter().map(|file| (&*file.path, file.deleted)).collect();
    assert_eq!(ledger, [("src/again.rs", true), ("src/gone.rs", true)]);
    let restored = change(&record).restored.clone().expect("something came back");
    assert_eq!(restored.files, ["src/again.rs"]);
}
