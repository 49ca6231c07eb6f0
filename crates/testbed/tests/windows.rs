//! Whose window counts: what settings state, what a provider says, what the catalog knows, and a guess.

use epitome_core::{Author, Message, Role, Tokens};
use epitome_engine::{Assembly, NoWindow, Session, WindowFacts, WindowSource};
use epitome_settings::{ResolvedPolicy, SourceText, Sources, resolve};
use epitome_tokens::{ModelSpec, SpecSource};

fn text(name: &str, text: &str) -> SourceText {
    SourceText { name: name.into(), text: text.to_owned() }
}

fn project(toml: &str) -> Sources {
    Sources { project: Some(text("epitome.toml", toml)), ..Sources::default() }
}

fn resolved(sources: &Sources) -> ResolvedPolicy {
    resolve(sources).unwrap_or_else(|error| panic!("{error}"))
}

/// A model whose window is said to be `tokens` by `source`.
fn model(tokens: u64, source: SpecSource) -> ModelSpec {
    let mut model = ModelSpec::guess("llama-3");
    (model.window_tokens.value, model.window_tokens.source) = (tokens, source);
    model
}

fn listed(tokens: u64) -> WindowFacts {
    WindowFacts { recorded: Some(Tokens(tokens)), ..WindowFacts::default() }
}

/// What a session goes by.
fn assembled(one: &ResolvedPolicy, model: ModelSpec, known: WindowFacts) -> Result<Assembly, NoWindow> {
    Assembly::new(one.policy.clone(), model, known)
}

fn window(one: &ResolvedPolicy, model: ModelSpec, known: WindowFacts) -> (u64, WindowSource) {
    let window = assembled(one, model, known).expect("it is known or guessed").window();
    (window.tokens.0, window.from)
}

/// The size of the first request that is due, in a session that grows word by word.
fn due_from(assembly: Assembly) -> (Tokens, Tokens) {
    let mut session = Session::empty(assembly);
    let mut before = Tokens::ZERO;
    // Lines of over a hundred tokens: more than any window here holds.
    for _ in 0..5_000 {
        let check = session.check();
        if check.trigger.is_some() {
            return (before, check.tokens);
        }
        before = check.tokens;
        let said = Message::text(Role::User, Author::Person, "and one more line of words ".repeat(20));
        session.append(said).expect("all is in memory");
    }
    panic!("nothing was ever due")
}

/// Whether the first request that is due is the first to come to `limit`.
fn is_due_first_at(assembly: Assembly, limit: u64) -> bool {
    let (before, due) = due_from(assembly);
    before < Tokens(limit) && due >= Tokens(limit)
}

#[test]
fn a8_an_agents_window_goes_before_the_providers() {
    let agents = vec![text("agent.md", "---\nname: one\ncontext: 32000\n---\n")];
    let one = resolved(&Sources { agents, ..project("preset = \"aura\"") });
    let (model, known) = (model(200_000, SpecSource::Catalog), listed(200_000));
    assert_eq!(window(&one, model.clone(), known), (32_000, WindowSource::Explicit));
    assert!(is_due_first_at(assembled(&one, model, known).expect("it is stated"), 25_600));
}

#[test]
fn k29_an_unknown_model_has_a_guessed_window_that_is_not_reported() {
    let one = resolved(&project("preset = \"kaged\""));
    let unknown = ModelSpec::guess("a-model-of-tomorrow");
    let assembly = assembled(&one, unknown, WindowFacts::default()).expect("a guess");
    let window = assembly.window();
    assert_eq!((window.tokens, window.from, window.reported()), (Tokens(128_000), WindowSource::Guess, None));
    // What is measured is measured against the guess.
    assert_eq!(Session::empty(assembly.clone()).check().window, Tokens(128_000));
    assert!(is_due_first_at(assembly, 108_800));
}

#[test]
fn k30_an_operators_window_for_a_model_counts() {
    let mut sources = project("preset = \"kaged\"\n[model.\"llama-*\"]\nmaxInputTokens = 50000");
    sources.model = Some("ollama/llama-3".into());
    let one = resolved(&sources);
    let (model, known) = (model(8_192, SpecSource::Catalog), WindowFacts::default());
    assert_eq!(window(&one, model.clone(), known), (50_000, WindowSource::Explicit));
    assert!(is_due_first_at(assembled(&one, model, known).expect("it is stated"), 42_500));
    let source = one.source("window.tokens").map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("epitome.toml [model.\"llama-*\"]: maxInputTokens"));
}

#[test]
fn l76_a_stated_window_goes_before_what_is_learned_listed_and_known() {
    let stated = resolved(&project("[window]\ntokens = 32768"));
    let plain = resolved(&Sources::default());
    let flag = WindowFacts { stated: Some(Tokens(16_000)), ..WindowFacts::default() };
    let catalog = || model(1_000_000, SpecSource::Catalog);
    let learned = model(262_144, SpecSource::Learned);
    assert_eq!(
        [
            window(&stated, catalog(), flag),
            window(&stated, catalog(), WindowFacts::default()),
            window(&plain, learned, listed(400_000)),
            window(&plain, catalog(), listed(400_000)),
            window(&plain, catalog(), WindowFacts::default()),
        ],
        [
            (16_000, WindowSource::Explicit),
            (32_768, WindowSource::Explicit),
            (262_144, WindowSource::Learned),
            (400_000, WindowSource::Provider),
            (1_000_000, WindowSource::Catalog),
        ]
    );
}

#[test]
fn l77_an_unknown_window_is_a_guess_and_is_called_one() {
    let plain = resolved(&Sources::default());
    let unknown = || ModelSpec::guess("llama-3");
    assert_eq!(window(&plain, unknown(), WindowFacts::default()), (128_000, WindowSource::Guess));
    let aura = resolved(&project("preset = \"aura\""));
    let refused = assembled(&aura, unknown(), WindowFacts::default()).expect_err("no guess");
    assert_eq!(
        refused.to_string(),
        "the window of `llama-3` is not known, and `window.unknown` is not set; set `window.tokens`"
    );
}
