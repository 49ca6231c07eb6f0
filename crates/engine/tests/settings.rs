//! Settings in layers: who is heard, what another system's names mean, and what is refused.

use epitome_core::policy::{Mode, Newest, Writer};
use epitome_core::{Budget, Strategy, Tokens};
use epitome_engine::settings::{
    Files, Flag, Known, Live, Resolved, Sources, Stamp, Text, Thresholds, Watched, Window, WindowFrom,
    resolve,
};
use epitome_tokens as tokens;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn text(name: &str, text: &str) -> Text {
    Text { name: name.into(), text: text.to_owned() }
}

fn project(toml: &str) -> Sources {
    Sources { project: Some(text("epitome.toml", toml)), ..Sources::default() }
}

/// A preset, and an agent whose front matter holds `yaml`.
fn agent(preset: &str, yaml: &str) -> Sources {
    let agents = vec![text("agent.md", &format!("---\nname: one\n{yaml}\n---\nYou are an agent.\n"))];
    Sources { agents, ..project(&format!("preset = \"{preset}\"")) }
}

fn environment(preset: &str, variables: &[(&str, &str)]) -> Sources {
    let environment =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Sources { environment, ..project(&format!("preset = \"{preset}\"")) }
}

fn resolved(sources: &Sources) -> Resolved {
    resolve(sources).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(sources: &Sources) -> String {
    resolve(sources).expect_err("it is refused").to_string()
}

fn source(resolved: &Resolved, key: &str) -> String {
    resolved.source(key).map(ToString::to_string).unwrap_or_default()
}

/// Whether compaction is due at `tokens`, of a window of `window` with `reserve` kept for the answer.
fn is_due(resolved: &Resolved, window: u64, reserve: u64, tokens: u64) -> bool {
    let budget =
        Budget { window: Tokens(window), fixed: Tokens::ZERO, reserve: Tokens(reserve), prompt_max: None };
    budget.under(&resolved.policy).is_due(Tokens(tokens), &resolved.policy)
}

fn limit(resolved: &Resolved, window: u64, reserve: u64) -> u64 {
    let budget =
        Budget { window: Tokens(window), fixed: Tokens::ZERO, reserve: Tokens(reserve), prompt_max: None };
    Thresholds::of(&resolved.policy, &budget).trigger.0
}

fn known(catalog: u64, source: tokens::SpecSource) -> Known {
    Known { flag: None, provider: None, catalog: tokens::Sourced::new(catalog, source) }
}

fn window(resolved: &Resolved, known: &Known) -> (u64, WindowFrom) {
    let window = Window::choose(known, &resolved.policy).expect("it is known or guessed");
    (window.tokens.0, window.from)
}

#[test]
fn a2_an_absolute_value_below_the_percentage_counts() {
    let one = resolved(&agent("aura", "features:\n  compaction:\n    max_tokens: 60000"));
    assert_eq!([59_999, 60_000].map(|tokens| is_due(&one, 100_000, 0, tokens)), [false, true]);
}

#[test]
fn a3_an_absolute_value_above_the_percentage_replaces_it() {
    let one = resolved(&agent("aura", "features:\n  compaction:\n    max_tokens: 90000"));
    assert_eq!([85_000, 90_000].map(|tokens| is_due(&one, 100_000, 0, tokens)), [false, true]);
}

#[test]
fn a6_an_absolute_value_for_trimming_replaces_its_percentage() {
    let one = resolved(&agent("aura", "features:\n  compaction:\n    trim_max_tokens: 30000"));
    assert_eq!(one.policy.trim.absolute, Some(Tokens(30_000)));
    assert_eq!(source(&one, "trim.absolute"), "agent.md: features.compaction.trim_max_tokens");
    let off = resolved(&agent("aura", "features:\n  compaction:\n    trim_max_tokens: 0"));
    assert_eq!(off.policy.trim.absolute, None);
}

#[test]
fn a8_an_agents_window_goes_before_the_providers() {
    let one = resolved(&agent("aura", "context: 32000"));
    let known = Known { provider: Some(Tokens(200_000)), ..known(200_000, tokens::SpecSource::Catalog) };
    assert_eq!(window(&one, &known), (32_000, WindowFrom::Explicit));
    assert_eq!([25_599, 25_600].map(|tokens| is_due(&one, 32_000, 0, tokens)), [false, true]);
}

#[test]
fn a25_no_agent_and_no_prompt_means_nobody_summarises() {
    let one = resolved(&agent("aura", "features:\n  compaction:\n    agent: ''\n    prompt: ''"));
    assert_eq!(one.policy.summary.by, Writer::Nobody);
}

#[test]
fn a26_a_prompt_goes_before_an_agent_wherever_each_is_set() {
    let parent = text("parent.md", "---\nfeatures: {compaction: {prompt: Compaction}}\n---\n");
    let child = text("child.md", "---\nfeatures: {compaction: {agent: FastCompactor}}\n---\n");
    let one = resolved(&Sources { agents: vec![parent, child], ..project("preset = \"aura\"") });
    assert_eq!(
        (&one.policy.summary.by, one.policy.summary.prompt.as_str()),
        (&Writer::Session, "Compaction")
    );
    assert_eq!(
        one.notes,
        [
            "child.md: features.compaction.agent has no effect: parent.md: features.compaction.prompt goes before it"
        ]
    );
}

#[test]
fn a27_an_agent_is_used_instead_of_the_default() {
    let one = resolved(&agent("aura", "features:\n  compaction:\n    agent: FastCompactor"));
    assert_eq!(one.policy.summary.by, Writer::Alias("FastCompactor".into()));
}

#[test]
fn a28_an_override_of_two_fields_inherits_the_rest() {
    let plain = resolved(&agent("aura", ""));
    let one =
        resolved(&agent("aura", "features:\n  compaction:\n    threshold: 95\n    keep_last_messages: 20"));
    let mut expected = plain.policy.settings().clone();
    expected.trigger.at = "95%".parse().expect("a threshold");
    expected.keep.newest = Newest::Messages(20);
    assert_eq!(one.policy.settings(), &expected);
}

#[test]
fn p3_a_larger_reserve_compacts_earlier() {
    let one = resolved(&agent("pi", "compaction:\n  reserveTokens: 32000"));
    assert_eq!([168_000, 168_001].map(|tokens| is_due(&one, 200_000, 0, tokens)), [false, true]);
    let caps = (one.policy.summary.output_max, one.policy.summary.prefix_output_max);
    assert_eq!(caps, (Some(Tokens(25_600)), Some(Tokens(16_000))));
}

#[test]
fn c1_to_c3_the_answers_reserve_counts_towards_the_point() {
    let one = resolved(&environment("claude-code", &[]));
    assert_eq!(limit(&one, 200_000, 0), 180_000);
    assert!(!is_due(&one, 200_000, 10_000, 170_000));
    assert!(is_due(&one, 200_000, 10_001, 170_000));
    assert!(is_due(&one, 200_000, 0, 180_001));
    let real = resolved(&environment("claude-code@2.1", &[]));
    assert_eq!([166_999, 167_000].map(|tokens| is_due(&real, 200_000, 32_000, tokens)), [false, true]);
}

#[test]
fn c4_a_window_in_the_environment_can_only_be_smaller() {
    let one = resolved(&environment("claude-code", &[("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000")]));
    assert_eq!([limit(&one, 200_000, 0), limit(&one, 60_000, 0)], [80_000, 40_000]);
    assert_eq!(source(&one, "window.most"), "environment: CLAUDE_CODE_AUTO_COMPACT_WINDOW");
}

#[test]
fn c5_a_window_with_a_suffix_is_refused() {
    let written = [("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "500k")];
    assert_eq!(
        refusal(&environment("claude-code", &written)),
        "environment: `CLAUDE_CODE_AUTO_COMPACT_WINDOW` is \"500k\", which it cannot be; write plain tokens, such as 500000"
    );
    let mut sources = environment("claude-code@2.1", &written);
    sources.project =
        Some(text("epitome.toml", "preset = \"claude-code@2.1\"\n[compat]\nmisread_window_suffix = true"));
    assert_eq!(resolved(&sources).policy.window.most, Some(Tokens(100_000)));
}

#[test]
fn c24_a_percentage_can_only_lower_the_point() {
    let at = |percent| {
        let variables = [("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", percent)];
        limit(&resolved(&environment("claude-code@2.1", &variables)), 200_000, 32_000)
    };
    assert_eq!([at("50"), at("99")], [90_000, 167_000]);
}

#[test]
fn variables_of_another_program_count_with_its_presets_only() {
    let one = resolved(&environment("pi", &[("DISABLE_AUTO_COMPACT", "1")]));
    assert_eq!(one.policy.mode, Mode::Auto);
    assert_eq!(one.notes, ["environment: DISABLE_AUTO_COMPACT counts only with the preset claude-code"]);
    let other = resolved(&environment("claude-code@2.1", &[("DISABLE_AUTO_COMPACT", "1")]));
    assert_eq!(other.policy.mode, Mode::Off);
}

#[test]
fn k3_without_any_setting_dropping_has_its_summary_block() {
    let one = resolved(&project("preset = \"kaged\""));
    let summary = &one.policy.summary;
    assert_eq!(one.policy.strategy, [Strategy::Summarize, Strategy::Drop]);
    assert_eq!((summary.span_messages, summary.output_max), (Some(20), Some(Tokens(1_500))));
    assert_eq!(one.policy.keep.newest, Newest::Messages(10));
}

#[test]
fn k11_a_model_that_is_not_set_is_the_agents_own() {
    let one = resolved(&agent(
        "kaged",
        "compaction:\n  strategy: summarize\n  summarize:\n    window_messages: 30",
    ));
    let summary = &one.policy.summary;
    assert_eq!((&summary.by, summary.span_messages), (&Writer::Session, Some(30)));
    assert_eq!(summary.prompt, "config:/prompts/compaction-summary.md");
}

#[test]
fn k29_an_unknown_model_has_a_guessed_window_that_is_not_reported() {
    let one = resolved(&project("preset = \"kaged\""));
    let window = Window::choose(&known(128_000, tokens::SpecSource::Guess), &one.policy).expect("a guess");
    assert_eq!((window.tokens, window.reported()), (Tokens(128_000), None));
}

#[test]
fn k30_an_operators_window_for_a_model_counts() {
    let mut sources = project("preset = \"kaged\"\n[model.\"llama-*\"]\nmaxInputTokens = 50000");
    sources.model = Some("ollama/llama-3".into());
    let one = resolved(&sources);
    assert_eq!(window(&one, &known(8_192, tokens::SpecSource::Catalog)), (50_000, WindowFrom::Explicit));
    assert_eq!([42_499, 42_500].map(|tokens| is_due(&one, 50_000, 0, tokens)), [false, true]);
    assert_eq!(source(&one, "window.tokens"), "epitome.toml [model.\"llama-*\"]: maxInputTokens");
}

#[test]
fn k34_an_agent_without_a_block_has_its_parents_values() {
    let parent = text("parent.yaml", "compaction:\n  upper_threshold: 0.7\n  lower_threshold: 0.5\n");
    let child = text("child.md", "---\nname: child\n---\n");
    let alone = Sources { agents: vec![parent.clone()], ..project("preset = \"kaged\"") };
    let both = Sources { agents: vec![parent, child], ..project("preset = \"kaged\"") };
    assert_eq!(resolved(&both).policy.settings(), resolved(&alone).policy.settings());
    assert_eq!(resolved(&both).policy.trigger.at.to_string(), "70%");
}

#[test]
fn k35_overrides_hold_for_one_call() {
    let stored = project("preset = \"kaged\"");
    let overrides = "upper_threshold = 0.5\nstrategy = \"checkpoint\"".parse().expect("a table");
    let once = resolved(&Sources { overrides, ..stored.clone() });
    assert_eq!(once.policy.strategy, [Strategy::Checkpoint, Strategy::Summarize, Strategy::Drop]);
    assert_eq!(source(&once, "trigger.at"), "this call: upper_threshold");
    assert_eq!(resolved(&stored).policy.trigger.at.to_string(), "85%");
    let overrides = "strategy = \"drop\"\nsummarize = false".parse().expect("a table");
    let plain = resolved(&Sources { overrides, ..stored });
    assert_eq!((plain.policy.strategy.as_slice(), plain.notes), ([Strategy::Drop].as_slice(), Vec::new()));
}

#[test]
fn m1_nothing_set_leaves_fifteen_percent_free() {
    let one = resolved(&project("preset = \"omp@17\""));
    assert_eq!([170_000, 170_001].map(|tokens| is_due(&one, 200_000, 0, tokens)), [false, true]);
}

#[test]
fn m2_a_reserve_gives_way_only_where_nobody_asked_for_it() {
    let limit = |yaml| limit(&resolved(&agent("omp@17", yaml)), 16_000, 0);
    assert_eq!([limit(""), limit("compaction:\n  reserveTokens: 12000")], [13_600, 4_000]);
    let asked = resolved(&agent("omp@17", "compaction:\n  reserveTokens: 16384"));
    assert_eq!(source(&asked, "trigger.yields"), "agent.md: compaction.reserveTokens");
}

#[test]
fn m3_a_percentage_over_99_acts_as_99_and_says_so() {
    let one = resolved(&agent("omp@17", "compaction:\n  thresholdPercent: 150\n  reserveTokens: 50000"));
    assert_eq!(limit(&one, 100_000, 0), 99_000);
    assert_eq!(
        one.notes,
        [
            "agent.md: compaction.reserveTokens has no effect on the trigger: thresholdPercent goes before a reserve",
            "agent.md: compaction.thresholdPercent is 150 and acts as 99",
        ]
    );
    let off = resolved(&agent("omp@17", "compaction:\n  thresholdPercent: -1\n  thresholdTokens: -1"));
    assert_eq!(limit(&off, 200_000, 0), 170_000);
}

#[test]
fn o21_not_enabled_is_off() {
    let one = resolved(&agent("operator-use", "compaction:\n  enabled: false\n  retain_recent_tokens: 4000"));
    assert_eq!((one.policy.mode, one.policy.keep.newest), (Mode::Off, Newest::TokensReached(Tokens(4_000))));
}

#[test]
fn o1_and_o25_each_version_has_its_reserve() {
    let of = |preset: &str| limit(&resolved(&project(&format!("preset = \"{preset}\""))), 200_000, 0);
    assert_eq!([of("operator-use"), of("operator-use@2")], [191_808, 183_616]);
}

/// Files in memory.
#[derive(Default)]
struct Drawer(Mutex<HashMap<PathBuf, (Duration, String)>>);

impl Drawer {
    fn write(&self, path: &str, second: u64, text: &str) {
        let mut files = self.0.lock().expect("no test panics with it");
        files.insert(path.into(), (Duration::from_secs(second), text.to_owned()));
    }
}

impl Files for Drawer {
    fn stamp(&self, path: &Path) -> Option<Stamp> {
        let files = self.0.lock().expect("no test panics with it");
        files.get(path).map(|(written, text)| Stamp { written: *written, bytes: text.len() as u64 })
    }

    fn read(&self, path: &Path) -> Result<String, String> {
        let files = self.0.lock().expect("no test panics with it");
        files.get(path).map(|(_, text)| text.clone()).ok_or_else(|| "there is no such file".to_owned())
    }
}

#[test]
fn o20_a_changed_file_counts_at_the_next_check_and_a_broken_one_does_not() {
    let drawer = Arc::new(Drawer::default());
    let watched = Watched { project: Some("epitome.toml".into()), ..Watched::default() };
    let mut live =
        Live::open(drawer.clone(), watched, Sources::default()).expect("there is nothing to refuse");
    let at = |live: &mut Live| live.policy().trigger.at.to_string();
    assert_eq!(at(&mut live), "80%");
    drawer.write("epitome.toml", 1, "[trigger]\nat = \"70%\"");
    assert_eq!(at(&mut live), "70%");
    drawer.write("epitome.toml", 2, "[trigger]\nat = \"7o%\"");
    assert_eq!(at(&mut live), "70%");
    assert_eq!(
        live.fault().map(ToString::to_string).as_deref(),
        Some(
            "epitome.toml: `trigger.at` is \"7o%\", which it cannot be; `7o%` is no threshold; write 80%, 160000 or -20000"
        )
    );
    drawer.write("epitome.toml", 3, "[trigger]\nat = \"60%\"");
    assert_eq!((at(&mut live), live.fault().is_none()), ("60%".to_owned(), true));
}

#[test]
fn l75_set_to_the_default_differs_from_unset() {
    let unset = resolved(&project("preset = \"pi\""));
    let set = resolved(&project("preset = \"pi\"\n[trigger]\nat = \"-16384\""));
    assert_eq!(unset.policy, set.policy);
    assert_eq!(
        [source(&unset, "trigger.at"), source(&set, "trigger.at")],
        ["preset pi", "epitome.toml: trigger.at"]
    );
}

#[test]
fn l76_a_stated_window_goes_before_what_is_learned_listed_and_known() {
    let stated = resolved(&project("[window]\ntokens = 32768"));
    let plain = resolved(&Sources::default());
    let flag = Some(Tokens(16_000));
    let listed = Some(Tokens(400_000));
    let catalog = known(1_000_000, tokens::SpecSource::Catalog);
    let learned = known(262_144, tokens::SpecSource::Learned);
    assert_eq!(
        [
            window(&stated, &Known { flag, ..catalog }),
            window(&stated, &catalog),
            window(&plain, &Known { provider: listed, ..learned }),
            window(&plain, &Known { provider: listed, ..catalog }),
            window(&plain, &catalog),
        ],
        [
            (16_000, WindowFrom::Explicit),
            (32_768, WindowFrom::Explicit),
            (262_144, WindowFrom::Learned),
            (400_000, WindowFrom::Provider),
            (1_000_000, WindowFrom::Catalog),
        ]
    );
}

#[test]
fn l77_an_unknown_window_is_a_guess_and_is_called_one() {
    let plain = resolved(&Sources::default());
    assert_eq!(window(&plain, &known(128_000, tokens::SpecSource::Guess)), (128_000, WindowFrom::Guess));
    let aura = resolved(&project("preset = \"aura\""));
    let refused =
        Window::choose(&known(128_000, tokens::SpecSource::Guess), &aura.policy).expect_err("no guess");
    assert_eq!(
        refused.to_string(),
        "the model's window is not known, and `window.unknown` is not set; set `window.tokens`"
    );
}

#[test]
fn l79_what_cannot_be_used_is_refused_with_its_place_and_what_may_be_written() {
    let of = |toml| refusal(&project(toml));
    assert_eq!(
        [
            of("[triger]\nat = \"70%\""),
            of("[trigger]\nat = \"120%\""),
            of("[trigger]\ncompare = \"above\""),
            of("[keep]\nnewest = { message = 3 }"),
            of("[summary]\nretries = -1"),
            of("colour = 3"),
        ],
        [
            "epitome.toml: `triger` is no setting; did you mean `trigger`?",
            "epitome.toml: `trigger.at` is \"120%\", which it cannot be; `120%` must lie above 0% and at or below 100%",
            "epitome.toml: `trigger.compare` is \"above\", which it cannot be; write one of reached, passed",
            "epitome.toml: `keep.newest` is { message = 3 }, which it cannot be; write one of nothing, \
             { percent = N }, { messages = N }, { tokens-at-least = N }, { tokens-reached = N }, \
             { tokens-at-most = N }, { turns = N }",
            "epitome.toml: `summary.retries` is -1, which it cannot be; write a whole number, 0 or more",
            "epitome.toml: `colour` is no setting; docs/reference/settings.md lists them",
        ]
    );
    let yaml = refusal(&agent("aura", "features:\n  compaction:\n    treshold: 70"));
    assert_eq!(yaml, "agent.md: `features.compaction.treshold` is no setting; did you mean `threshold`?");
    let variable = refusal(&environment("pi", &[("EPITOME_TRIGER__AT", "70%")]));
    assert_eq!(variable, "environment: `EPITOME_TRIGER__AT` is no setting; did you mean `trigger.at`?");
}

#[test]
fn l80_off_means_off_for_whoever_says_it() {
    let modes = ["auto", "ask", "remind", "off"].map(|mode| {
        let yaml = format!("compaction:\n  mode: {mode}");
        resolved(&agent("default", &yaml)).policy.mode
    });
    assert_eq!(modes, [Mode::Auto, Mode::Ask, Mode::Remind, Mode::Off]);
}

#[test]
fn the_stronger_source_is_heard() {
    let file = |at: &str| format!("[trigger]\nat = \"{at}\"\n");
    let flag = Flag { name: "--set".into(), key: "trigger.at".into(), text: "77%".into() };
    let mut sources = Sources::default();
    let mut heard = vec![source(&resolved(&sources), "trigger.at")];
    let mut hear = |sources: &Sources| heard.push(source(&resolved(sources), "trigger.at"));
    sources.user = Some(text("user.toml", &file("71%")));
    hear(&sources);
    sources.project = Some(text("project.toml", &file("72%")));
    hear(&sources);
    sources.agents = vec![text("agent.md", "---\ncompaction: {threshold: 73}\n---")];
    hear(&sources);
    sources.model = Some("claude-opus-4.5".into());
    let tables = "[model.\"claude-*\".trigger]\nat = \"75%\"\n[model.\"*\".trigger]\nat = \"74%\"\n";
    sources.user = Some(text("user.toml", &format!("{}{tables}", file("71%"))));
    hear(&sources);
    sources.environment = vec![("EPITOME_TRIGGER__AT".into(), "76%".into())];
    hear(&sources);
    sources.flags = vec![flag];
    hear(&sources);
    sources.overrides = file("78%").parse().expect("a table");
    hear(&sources);
    assert_eq!(
        heard,
        [
            "preset default",
            "user.toml: trigger.at",
            "project.toml: trigger.at",
            "agent.md: compaction.threshold",
            "user.toml [model.\"claude-*\"]: trigger.at",
            "environment: EPITOME_TRIGGER__AT",
            "command line: --set",
            "this call: trigger.at",
        ]
    );
}

#[test]
fn what_is_unset_by_a_stronger_source_is_unset() {
    let one = resolved(&project("preset = \"kaged\"\n[trigger]\ntarget = \"none\""));
    assert_eq!(
        (one.policy.trigger.target, source(&one, "trigger.target")),
        (None, "epitome.toml: trigger.target".into())
    );
}

#[test]
fn aliases_and_agents_are_passed_on() {
    let user = Some(text("user.toml", "[alias.fast]\nmodel = \"a\"\n[alias.slow]\nmodel = \"b\""));
    let one =
        resolved(&Sources { user, ..project("[alias.fast]\nmodel = \"c\"\n[agents]\nmain = \"a.md\"") });
    let expected = "[alias.fast]\nmodel = \"c\"\n[alias.slow]\nmodel = \"b\"".parse::<toml::Table>();
    assert_eq!(Some(&toml::Value::Table(one.aliases)), expected.expect("a table").get("alias"));
    assert_eq!(one.agents, "main = \"a.md\"".parse().expect("a table"));
}
