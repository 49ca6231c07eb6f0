//! Whose window counts: what settings state, what a provider says, what the catalog knows, and a guess.

use epitome_core::{Budget, Tokens};
use epitome_engine::{Known, Window, WindowFrom};
use epitome_settings::{Resolved, Sources, Text, resolve};
use epitome_tokens as tokens;

fn text(name: &str, text: &str) -> Text {
    Text { name: name.into(), text: text.to_owned() }
}

fn project(toml: &str) -> Sources {
    Sources { project: Some(text("epitome.toml", toml)), ..Sources::default() }
}

fn resolved(sources: &Sources) -> Resolved {
    resolve(sources).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether compaction is due at `tokens` of a window of `window`.
fn is_due(resolved: &Resolved, window: u64, tokens: u64) -> bool {
    let budget = Budget::new(Tokens(window), Tokens::ZERO, Tokens::ZERO);
    budget.under(&resolved.policy).is_due(Tokens(tokens), &resolved.policy)
}

fn known(catalog: u64, source: tokens::Source) -> Known {
    Known { flag: None, provider: None, catalog: tokens::Sourced::new(catalog, source) }
}

fn window(resolved: &Resolved, known: &Known) -> (u64, WindowFrom) {
    let window = Window::choose(known, &resolved.policy).expect("it is known or guessed");
    (window.tokens.0, window.from)
}

#[test]
fn a8_an_agents_window_goes_before_the_providers() {
    let agents = vec![text("agent.md", "---\nname: one\ncontext: 32000\n---\n")];
    let one = resolved(&Sources { agents, ..project("preset = \"aura\"") });
    let known = Known { provider: Some(Tokens(200_000)), ..known(200_000, tokens::Source::Catalog) };
    assert_eq!(window(&one, &known), (32_000, WindowFrom::Explicit));
    assert_eq!([25_599, 25_600].map(|tokens| is_due(&one, 32_000, tokens)), [false, true]);
}

#[test]
fn k29_an_unknown_model_has_a_guessed_window_that_is_not_reported() {
    let one = resolved(&project("preset = \"kaged\""));
    let window = Window::choose(&known(128_000, tokens::Source::Guess), &one.policy).expect("a guess");
    assert_eq!((window.tokens, window.reported()), (Tokens(128_000), None));
}

#[test]
fn k30_an_operators_window_for_a_model_counts() {
    let mut sources = project("preset = \"kaged\"\n[model.\"llama-*\"]\nmaxInputTokens = 50000");
    sources.model = Some("ollama/llama-3".into());
    let one = resolved(&sources);
    assert_eq!(window(&one, &known(8_192, tokens::Source::Catalog)), (50_000, WindowFrom::Explicit));
    assert_eq!([42_499, 42_500].map(|tokens| is_due(&one, 50_000, tokens)), [false, true]);
    let source = one.source("window.tokens").map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("epitome.toml [model.\"llama-*\"]: maxInputTokens"));
}

#[test]
fn l76_a_stated_window_goes_before_what_is_learned_listed_and_known() {
    let stated = resolved(&project("[window]\ntokens = 32768"));
    let plain = resolved(&Sources::default());
    let flag = Some(Tokens(16_000));
    let listed = Some(Tokens(400_000));
    let catalog = known(1_000_000, tokens::Source::Catalog);
    let learned = known(262_144, tokens::Source::Learned);
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
    assert_eq!(window(&plain, &known(128_000, tokens::Source::Guess)), (128_000, WindowFrom::Guess));
    let aura = resolved(&project("preset = \"aura\""));
    let refused = Window::choose(&known(128_000, tokens::Source::Guess), &aura.policy).expect_err("no guess");
    assert_eq!(
        refused.to_string(),
        "the model's window is not known, and `window.unknown` is not set; set `window.tokens`"
    );
}
