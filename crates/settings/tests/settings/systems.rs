//! What other systems' names mean under their presets, case by case.

use crate::{agent, environment, is_due, limit, project, refusal, resolved, source, text};
use epitome_core::policy::{Newest, TriggerMode, Writer};
use epitome_core::{Strategy, Tokens};
use epitome_settings::{FlagValue, Sources};

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
fn a25_no_agent_and_no_prompt_means_nobody_summarises() {
    let alone = agent("aura", "features:\n  compaction:\n    agent: ''\n    prompt: ''");
    let one = resolved(&alone);
    assert_eq!((&one.policy.summary.by, &one.policy.strategy[..]), (&Writer::Nobody, &[Strategy::Prune][..]));
    let flag = FlagValue { name: "--strategy".into(), key: "strategy".into(), text: "trim,drop".into() };
    let named = resolved(&Sources { flags: vec![flag], ..alone });
    assert_eq!(named.policy.strategy, [Strategy::Trim, Strategy::Drop]);
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
fn a27_without_a_name_of_its_own_an_agent_has_the_default_of_compaction_yaml() {
    let shared = text("compaction.yaml", "compaction:\n  agent: Compaction\n  threshold: 70\n");
    let by = |own: &str| {
        let agents = vec![shared.clone(), text("agent.md", &format!("---\nname: one\n{own}---\n"))];
        let one = resolved(&Sources { agents, ..project("preset = \"aura\"") });
        (one.policy.summary.by.clone(), one.policy.trigger.at.to_string())
    };
    let written = |name: &str| (Writer::Alias(name.into()), "70%".to_owned());
    assert_eq!(by(""), written("Compaction"));
    assert_eq!(by("features:\n  compaction:\n    agent: FastCompactor\n"), written("FastCompactor"));
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
}

#[test]
fn the_other_names_of_claude_code_2_1_count() {
    let stated = [("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "400000")];
    let one = resolved(&environment("claude-code@2.1", &stated));
    assert_eq!(one.policy.window.tokens, Some(Tokens(400_000)));
    assert_eq!(source(&one, "window.tokens"), "environment: CLAUDE_CODE_MAX_CONTEXT_TOKENS");
    let toml =
        "preset = \"claude-code@2.1\"\n[compaction]\nautoCompactWindow = 150000\nautoCompactEnabled = false";
    let set = resolved(&project(toml));
    assert_eq!((set.policy.window.most, set.policy.mode), (Some(Tokens(150_000)), TriggerMode::Off));
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
    assert_eq!(one.policy.mode, TriggerMode::Auto);
    assert_eq!(one.notes, ["environment: DISABLE_AUTO_COMPACT counts only with the preset claude-code"]);
    let other = resolved(&environment("claude-code@2.1", &[("DISABLE_AUTO_COMPACT", "1")]));
    assert_eq!(other.policy.mode, TriggerMode::Off);
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
fn k32_and_k33_what_is_pruned_can_be_set_by_kageds_names() {
    let config = "protectTokens: 9000\n    protectedTools: [read, fetch]\n    minimumSavings: 700";
    let one = resolved(&agent("kaged", &format!("compaction:\n  PruneConfig:\n    {config}")));
    let prune = &one.policy.prune;
    assert_eq!((prune.protect_results, prune.saving_min), (Some(Tokens(9_000)), Tokens(700)));
    assert_eq!(prune.tools_kept, ["read", "fetch"]);
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
    let overrides = "upper_threshold = 0.7\nstrategy = \"checkpoint\"".parse().expect("a table");
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
    assert_eq!(
        (one.policy.mode, one.policy.keep.newest),
        (TriggerMode::Off, Newest::TokensReached(Tokens(4_000)))
    );
}

#[test]
fn o1_and_o25_each_version_has_its_reserve() {
    let of = |preset: &str| limit(&resolved(&project(&format!("preset = \"{preset}\""))), 200_000, 0);
    assert_eq!([of("operator-use"), of("operator-use@2")], [191_808, 183_616]);
}
