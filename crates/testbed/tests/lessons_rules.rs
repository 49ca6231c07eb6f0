//! Lessons, third part: lost instructions and rules. Each test is named by its row of the list of what
//! users of such systems suffered (`l31` to `l39`).
//!
//! # Pending
//!
//! - l32: a rule that finds no room is told in the loss report; a compaction is not refused for it yet.

use epitome_core::facts::Class;
use epitome_core::policy::{Parts, PruneWhen};
use epitome_core::verify::FactTally;
use epitome_core::{PlanChanges, RestoreReport, Trigger, Verdict};
use epitome_engine::{Event, FileNow, Restorer};
use epitome_testbed::{Bed, Maker, TestHook, change, compacted};
use std::sync::Arc;

const WINDOW: u64 = 20_000;
const RULES: &str = "# Rules of this house\n\n- never push to `main`\n- tabs, not spaces\n";

/// Rules that hold for one folder: their path and text.
const NESTED: (&str, &str) = ("src/wire/AGENTS.md", "- bytes come back as they came\n");

/// A project with a file of rules, another below `src/wire`, and one skill.
struct Project {
    skill: String,
}

impl Restorer for Project {
    fn file(&self, path: &str) -> Option<FileNow> {
        let text = match path {
            "AGENTS.md" => RULES,
            "src/wire/read.rs" | "src/wire/write.rs" => "fn here() {}",
            _ => return None,
        };
        Some(FileNow { text: text.into(), is_changed: false })
    }

    fn rules(&self, path: &str) -> Vec<(String, String)> {
        let nested = path.starts_with("src/wire/").then(|| (NESTED.0.into(), NESTED.1.into()));
        nested.into_iter().collect()
    }

    fn skills(&self) -> Vec<(String, String)> {
        vec![("release".into(), self.skill.clone())]
    }

    fn servers(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

fn restoring(skill: &str) -> Maker {
    let project = Project { skill: skill.into() };
    Maker::new("default", WINDOW)
        .set(|settings| {
            settings.restore.files = 2;
            settings.restore.skill_tokens.0 = 500;
            settings.restore.skills_tokens.0 = 25_000;
        })
        .ports(|ports| ports.restorer = Some(Arc::new(project)))
}

/// A piece that was brought back, in its frame.
fn framed(what: &str, text: &str) -> String {
    format!("\n\n<epitome-restored what=\"{what}\">\n{text}\n</epitome-restored>")
}

/// Everything in view, as one text.
fn shown(bed: &Bed) -> String {
    bed.shown().join("\n")
}

#[test]
fn l31_a_file_of_rules_is_there_byte_for_byte_after_ten_compactions() {
    let mut bed = restoring("").bed();
    bed.user("begin");
    bed.exchange("read", r#"{"path":"AGENTS.md"}"#, "rules as they were then");
    compacted(&mut bed, 10);
    let text = shown(&bed);
    assert!(text.contains(&framed("File AGENTS.md, as it is now", RULES)), "{text}");
    assert_eq!(text.matches("File AGENTS.md").count(), 1);
}

#[test]
fn l32_a_prohibition_is_there_word_for_word_after_ten_compactions() {
    let rule = "Never run `terraform destroy` in the production account.";
    for maker in [Maker::new("default", WINDOW), Maker::new("default", WINDOW).no_model()] {
        let mut bed = maker.bed();
        bed.user("begin");
        bed.assistant("ready");
        bed.user(&format!("One thing before we start. {rule} Now look at the modules."));
        let made = compacted(&mut bed, 10);
        assert!(shown(&bed).contains(rule), "{}", shown(&bed));
        let kept = FactTally { kept: 1, ..FactTally::default() };
        assert_eq!(made.loss.by_class.get(&Class::Prohibition), Some(&kept));
    }
}

#[test]
fn l32_a_prohibition_of_400000_tokens_ago_is_read_and_so_is_what_was_done_then() {
    let mut bed = Maker::new("default", 2_000_000).no_model().bed();
    bed.user("begin");
    let rule = "Never run the migration against the production database.";
    bed.user(rule);
    bed.user("go on until it is done");
    bed.exchange("write", r#"{"path":"src/far.rs","content":"fn main() {}"}"#, "ok");
    for _ in 0..200 {
        let text = bed.filler(2_000);
        bed.exchange("bash", r#"{"command":"make"}"#, &text);
    }
    let made = change(Some(bed.compact(Trigger::Manual)));
    let summary = made.summary.expect("there is one");
    assert!(summary.contains(rule), "{summary}");
    assert!(made.ledger.files.iter().any(|file| &*file.path == "src/far.rs"), "{:?}", made.ledger.files);
    assert!(summary.contains("src/far.rs"), "{summary}");
}

#[test]
fn l32_an_answer_to_a_question_of_400000_tokens_ago_is_read() {
    let mut bed = Maker::new("default", 2_000_000).no_model().bed();
    bed.user("begin");
    let question = r#"{"questions":[{"question":"Where should the catalog live?","options":[{"label":"Standalone page"}]}]}"#;
    let answer = "User has answered your questions: \"Where should the catalog live?\"=\"Standalone page\".";
    bed.exchange("AskUserQuestion", question, answer);
    for _ in 0..200 {
        let text = bed.filler(2_000);
        bed.exchange("bash", r#"{"command":"make"}"#, &text);
    }
    let summary = change(Some(bed.compact(Trigger::Manual))).summary.expect("there is one");
    let told = "user, asked \"Where should the catalog live?\" → Standalone page";
    assert!(summary.contains(told), "{summary}");
}

#[test]
fn l33_a_summary_without_the_rule_leaves_the_rule_in_view() {
    let mut bed = Bed::new("default", WINDOW);
    bed.user("begin");
    bed.assistant("ready");
    let rules = ["You must not touch `billing/`.", "Always run the linter before a commit."];
    for rule in rules {
        bed.user(rule);
    }
    compacted(&mut bed, 1);
    let (text, summary) = (shown(&bed), "what call 1 was told");
    assert!(text.contains(summary) && rules.iter().all(|rule| text.contains(rule)), "{text}");
}

#[test]
fn l34_language_and_form_of_address_survive() {
    let rules = ["Antworte immer auf Deutsch und sieze mich.", "Please always call me Captain."];
    let mut bed = Bed::new("default", WINDOW);
    bed.user("begin");
    bed.assistant("ready");
    for rule in rules {
        bed.user(rule);
    }
    compacted(&mut bed, 5);
    let text = shown(&bed);
    assert!(rules.iter().all(|rule| text.contains(rule)), "{text}");
}

#[test]
fn l35_what_is_protected_by_tool_or_by_tag_is_never_pruned_and_the_rest_leaves_a_pointer() {
    let maker = Maker::new("default", WINDOW).set(|settings| {
        settings.prune.when = PruneWhen::Check;
        settings.prune.tools_kept = vec!["load_memory".into()];
        settings.keep.matching = vec!["[memory]".into()];
    });
    let mut bed = maker.bed();
    bed.user("begin");
    let long = "what was learned before, at length\n".repeat(60);
    let by_tool = bed.exchange("load_memory", "{}", &long).1;
    let by_tag = bed.exchange("mcp_call", "{}", &format!("[memory]\n{long}")).1;
    let plain = bed.exchange("read", r#"{"path":"a.txt"}"#, &long).1;
    bed.talk(20, 200);
    bed.prepare().expect("there is something to prune");
    let at = |id| bed.in_view().iter().position(|&known| known == id).expect("all are in view");
    let texts = [by_tool, by_tag, plain].map(|id| bed.shown()[at(id)].clone());
    assert_eq!(texts[0], format!("(result {long})"));
    assert_eq!(texts[1], format!("(result [memory]\n{long})"));
    assert!(texts[2].len() < 300 && texts[2].contains(&format!("recall {plain}")), "{}", texts[2]);
    let events = bed.take_events();
    let [Event::Pruned { messages: 1, .. }] = events[..] else {
        panic!("one pass over one message: {events:?}")
    };
}

#[test]
fn l36_a_skill_is_brought_back_or_named_as_left_out() {
    let skill = "To release: bump, tag, wait for the build, publish.";
    let mut bed = restoring(skill).bed();
    bed.talk(60, 200);
    let made = change(Some(bed.compact(Trigger::Manual)));
    let brought = made.restored.map(|RestoreReport { skills, omitted, .. }| (skills, omitted));
    assert_eq!(brought, Some((vec!["release".into()], vec![])));
    assert!(shown(&bed).contains(&framed("Skill release", skill)));

    let mut bed = restoring(skill).set(|settings| settings.restore.total_tokens.0 = 3).bed();
    bed.talk(60, 200);
    let made = change(Some(bed.compact(Trigger::Manual)));
    let brought = made.restored.map(|RestoreReport { skills, omitted, .. }| (skills, omitted));
    assert_eq!(brought, Some((vec![], vec!["skill release: no room".into()])));
}

#[test]
fn l37_a_file_that_is_brought_back_brings_the_rules_of_its_folder() {
    let mut bed = restoring("").bed();
    bed.user("begin");
    for path in ["src/wire/read.rs", "src/wire/write.rs"] {
        bed.exchange("read", &format!(r#"{{"path":"{path}"}}"#), "fn then() {}");
    }
    bed.talk(60, 200);
    let restored = change(Some(bed.compact(Trigger::Manual))).restored.expect("files were used");
    assert_eq!(restored.files, ["src/wire/write.rs", "src/wire/read.rs"]);
    assert_eq!(restored.rules, [NESTED.0]);
    let rules = framed(&format!("Rules in {}, as they are now", NESTED.0), NESTED.1);
    assert_eq!(shown(&bed).matches(&rules).count(), 1);
}

#[test]
fn l38_the_focus_reaches_every_call_of_a_cut_turn() {
    let focus = "the migration of the users table";
    let mut bed = Maker::new("default", WINDOW).set(|settings| settings.summary.parts = Parts::All).bed();
    bed.session.options_mut().focus = Some(focus.into());
    bed.talk(20, 200);
    bed.user("now the long one");
    for number in 0..40 {
        bed.exchange("read", &format!(r#"{{"path":"{number}.txt"}}"#), &"line\n".repeat(240));
    }
    bed.prepare().expect("it is due");
    let with_focus: Vec<bool> =
        bed.model.asked().iter().map(|asked| asked.contains(&format!("Additional focus: {focus}"))).collect();
    assert_eq!(with_focus, [true, true]);
}

#[test]
fn l39_what_the_summariser_is_told_never_enters_the_context() {
    let guidance = "dwell on the failing integration tests of the parser";
    let wishes = PlanChanges { guidance: Some(guidance.into()), ..PlanChanges::default() };
    let hook = TestHook::new("guide").says(Ok(Some(Verdict::Proceed(wishes))));
    let mut bed = Maker::new("default", WINDOW).hook(Arc::new(hook)).bed();
    bed.session.options_mut().focus = Some("the timeouts of the gateway".into());
    compacted(&mut bed, 3);
    let text = shown(&bed);
    let prompts = &bed.driver.ports().prompts;
    let told = [&prompts.system, &prompts.first, &prompts.update, &prompts.prefix].map(|it| it.to_string());
    let lines = told.iter().flat_map(|prompt| prompt.lines()).filter(|line| line.len() > 40);
    let leaked: Vec<&str> = lines.filter(|line| text.contains(*line)).collect();
    assert_eq!(leaked, Vec::<&str>::new());
    let asked = bed.model.asked().join("\n");
    for told in [guidance, "the timeouts of the gateway"] {
        assert!(asked.contains(told) && !text.contains(told), "{told} is in {text}");
    }
}
