//! Which window is chosen, how one is learned, and what sizes depend on.

use super::{Assembly, RefusalFigures, WindowFacts, WindowSource};
use epitome_core::{Policy, Tokens};
use epitome_tokens::ModelSpec;
use std::sync::Arc;

fn assembly(stated: u64) -> Assembly {
    let known = WindowFacts { stated: Some(Tokens(stated)), ..WindowFacts::default() };
    Assembly::new(Arc::new(Policy::default()), ModelSpec::guess("unheard-of"), known).expect("it is stated")
}

#[test]
fn a_refusal_tells_the_window_and_how_the_provider_counts() {
    let learned = |limit: Option<u64>, requested: Option<u64>| {
        let figures = RefusalFigures { limit: limit.map(Tokens), requested: requested.map(Tokens) };
        let mut assembly = assembly(32_000);
        assembly.learn(Tokens(24_000), figures);
        (assembly.window().tokens.0, assembly.budget().history_max().0)
    };
    let (limit, asked) = (Some(30_000), Some(36_000));
    // The window as the provider says it, and what it is by our count.
    assert_eq!(
        [learned(limit, asked), learned(None, asked), learned(limit, None), learned(None, None)],
        [(30_000, 20_000), (32_000, 21_333), (18_000, 18_000), (18_000, 18_000)]
    );
    assert_eq!(learned(limit, Some(90_000)), (8_000, 8_000), "nobody counts four times as much");
}

#[test]
fn what_is_no_window_is_not_believed_whoever_learned_it() {
    let learned = |tokens: u64| {
        let known = WindowFacts { learned: Some(Tokens(tokens)), ..WindowFacts::default() };
        let model = epitome_tokens::Catalog::built_in().find("claude-sonnet-4-5");
        let assembly = Assembly::new(Arc::new(Policy::default()), model, known).expect("it is known");
        (assembly.window().tokens, assembly.window().from)
    };
    assert_eq!(learned(49), learned(u64::MAX));
    assert_eq!(learned(49).1, WindowSource::Catalog);
    assert_eq!(learned(40_000), (Tokens(40_000), WindowSource::Learned));
}

#[test]
fn what_a_transcript_shows_counts_before_the_catalog_and_behind_what_it_records() {
    let window = |known: WindowFacts| {
        let model = epitome_tokens::Catalog::built_in().find("claude-opus-4-6");
        let window = Assembly::new(Arc::new(Policy::default()), model, known).expect("it is known").window();
        (window.tokens.0, window.from)
    };
    let shown = WindowFacts { shown: Some(Tokens(200_000)), ..WindowFacts::default() };
    let recorded = WindowFacts { recorded: Some(Tokens(400_000)), ..shown };
    assert_eq!(
        [window(WindowFacts::default()), window(shown), window(recorded)],
        [
            (1_000_000, WindowSource::Catalog),
            (200_000, WindowSource::Evidence),
            (400_000, WindowSource::Provider)
        ]
    );
}

#[test]
fn sizes_are_kept_apart_by_all_that_they_depend_on() {
    let key = |model: &str, image_tokens: Option<u64>| {
        let mut settings = epitome_core::Settings::default();
        settings.count.image_tokens = image_tokens;
        let policy = Policy::try_from(settings).expect("sound settings");
        let model = epitome_tokens::Catalog::built_in().find(model);
        let known = WindowFacts { stated: Some(Tokens(32_000)), ..WindowFacts::default() };
        Assembly::new(policy.into(), model, known).expect("it is stated").sizes_key().clone()
    };
    let plain = key("claude-sonnet-4-5", None);
    assert_eq!(plain, key("claude-sonnet-4-5", None));
    assert_ne!(plain, key("claude-sonnet-4-5", Some(100)));
    assert_ne!(key("claude-sonnet-4-5", Some(100)), key("claude-sonnet-4-5", Some(5_000)));
    assert_ne!(plain, key("gpt-4o", None));
}

#[test]
fn a_sentinel_in_an_error_says_no_more_than_a_refusal_without_numbers() {
    for figure in [0, 1, 1 << 63, u64::MAX] {
        let figures = RefusalFigures { limit: Some(Tokens(figure)), requested: Some(Tokens(figure)) };
        let mut assembly = assembly(32_000);
        assembly.learn(Tokens(24_000), figures);
        assert_eq!(assembly.window().tokens, Tokens(18_000), "{figure}");
    }
}

#[test]
fn a_model_nobody_knows_has_the_policys_guess_or_is_refused() {
    let unknown = |tokens: Option<u64>| {
        let mut settings = Policy::default().settings().clone();
        settings.window.unknown = tokens.map(Tokens);
        let policy = Arc::new(Policy::try_from(settings).expect("the settings are sound"));
        Assembly::new(policy, ModelSpec::guess("unheard-of"), WindowFacts::default())
    };
    let guessed = unknown(Some(7_000)).expect("the policy guesses").window();
    assert_eq!(
        (guessed.tokens, guessed.from, guessed.reported()),
        (Tokens(7_000), WindowSource::Guess, None)
    );
    let refused = unknown(None).expect_err("nobody knows").to_string();
    assert_eq!(
        refused,
        "the window of `unheard-of` is not known, and `window.unknown` is not set; set `window.tokens`"
    );
}
