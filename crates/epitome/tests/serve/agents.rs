//! Agents' own settings in a folder that the operator names: they count for requests that name their agent.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use serde_json::Value;

const BASE: &str = "---\ncompaction: {mode: off}\n---\nYou are careful.\n";
const REVIEWER: &str = "---\nparent: base\ncompaction: {trigger: {at: 60%, target: 20%}, mode: auto}\n---\n";

fn serve<'s>(stage: &'s Stage, more: &[&str]) -> Proxy<'s> {
    stage.put("agents/base.md", BASE);
    stage.put("agents/reviewer.md", REVIEWER);
    stage.serve(&[&["--window", "16000"], more].concat())
}

fn talk(agent: &str) -> Talk {
    Talk::new(Speech::Anthropic, "claude-haiku-4-5").with("x-epitome-agent", agent)
}

/// What the first compaction of an agent's conversation was made at; none where there is none in so many turns.
fn compacted_at(proxy: &Proxy<'_>, mut talk: Talk) -> Option<u64> {
    for turn in 0..30 {
        talk.say(proxy, &words(turn));
        let compactions: Vec<Value> = proxy.compactions();
        if let Some(record) = compactions.first() {
            return record["tokens_before"].as_u64();
        }
    }
    None
}

#[test]
fn an_agents_own_settings_count_for_its_requests_and_for_no_others() {
    let at = |agent: &str| {
        let stage = Stage::new("");
        let proxy = serve(&stage, &["--agents", "agents"]);
        compacted_at(&proxy, talk(agent))
    };
    let near = |at: Option<u64>, tokens: u64| at.is_some_and(|at| (tokens..tokens + 1_500).contains(&at));
    assert!(near(at("reviewer"), 9_600), "60 % of the window: {:?}", at("reviewer"));
    assert!(near(at("nobody"), 12_800), "the operator's own 80 %: {:?}", at("nobody"));
    assert_eq!(at("base"), None, "it is off");
}

#[test]
fn a_change_of_an_agents_file_counts_at_the_next_check() {
    let stage = Stage::new("");
    let proxy = serve(&stage, &["--agents", "agents"]);
    let mut talk = talk("base");
    for turn in 0..15 {
        talk.say(&proxy, &words(turn));
    }
    assert_eq!(proxy.compactions().len(), 0);
    stage.put("agents/base.md", "---\ncompaction: {trigger: {at: 60%, target: 20%}}\n---\n");
    talk.say(&proxy, "go on");
    assert_eq!(proxy.compactions().len(), 1);
}

#[test]
fn an_agent_that_cannot_be_heeded_is_named_once_and_the_operators_settings_count() {
    let stage = Stage::new("");
    let proxy = serve(&stage, &["--agents", "agents"]);
    stage.put("agents/sly.md", "---\ncompaction: {summary: {by: anthropic/claude-haiku-4-5}}\n---\n");
    for agent in ["nobody", "nobody", "sly"] {
        talk(agent).say(&proxy, "hello");
    }
    let told = stage.told();
    let notes: Vec<&str> = told.lines().filter(|line| line.starts_with("note: ")).collect();
    let [nobody, sly] = notes[..] else { panic!("{told}") };
    assert_eq!(nobody, "note: there is no agent `nobody` in agents; the settings for all others count");
    assert!(sly.contains("agents/sly.md") && sly.contains("this file comes with the project"), "{sly}");
    assert_eq!(stage.report().requests, 3);
}

#[test]
fn without_a_folder_agents_names_are_passed_over_and_that_is_said() {
    let stage = Stage::new("");
    let proxy = serve(&stage, &[]);
    talk("reviewer").say(&proxy, "hello");
    let note = "note: a request names its agent; `--agents FOLDER` makes agents' settings count; the settings for all others count";
    assert!(stage.told().lines().any(|line| line == note), "{}", stage.told());
    let lost = stage.command(&["serve", "--agents", "nowhere"]).output().expect("the program runs");
    let told = "epitome: there is no folder nowhere; --agents names one of agents' files\n";
    assert_eq!((lost.status.code(), String::from_utf8_lossy(&lost.stderr).as_ref()), (Some(1), told));
}

#[test]
fn what_each_agent_took_is_added_up() {
    let stage = Stage::new("");
    let proxy = serve(&stage, &["--agents", "agents"]);
    for (agent, turns) in [("reviewer", 2), ("base", 1)] {
        let mut talk = talk(agent);
        (0..turns).for_each(|turn| talk.say(&proxy, &format!("{agent} {}", words(turn))));
    }
    assert!(proxy.interrupt(), "it ends well");
    let output = stage.command(&["cost", "--by", "agent", "--json"]).output().expect("the program runs");
    let cost: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let lines = cost["lines"].as_array().expect("a list").iter();
    let calls = lines.map(|line| (line["key"].clone(), line["primary"]["calls"].clone()));
    assert_eq!(cost["by"], "agent");
    assert_eq!(calls.collect::<Vec<_>>(), [("base".into(), 1.into()), ("reviewer".into(), 2.into())]);
}
