//! Settings in layers: who is heard, what another system's names mean, and what is refused.

mod layers;
mod limits;
mod systems;

use epitome_core::{Budget, Tokens};
use epitome_settings::{ResolvedPolicy, SourceText, Sources, resolve};

fn text(name: &str, text: &str) -> SourceText {
    SourceText { name: name.into(), text: text.to_owned() }
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

fn resolved(sources: &Sources) -> ResolvedPolicy {
    resolve(sources).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(sources: &Sources) -> String {
    resolve(sources).expect_err("it is refused").to_string()
}

fn source(resolved: &ResolvedPolicy, key: &str) -> String {
    resolved.source(key).map(ToString::to_string).unwrap_or_default()
}

/// Whether compaction is due at `tokens`, of a window of `window` with `reserve` kept for the answer.
fn is_due(resolved: &ResolvedPolicy, window: u64, reserve: u64, tokens: u64) -> bool {
    let budget = Budget {
        window: Tokens(window),
        fixed: Tokens::ZERO,
        reserve: Tokens(reserve),
        prompt_max: None,
        ..Budget::default()
    };
    budget.under(&resolved.policy).is_due(Tokens(tokens), &resolved.policy)
}

fn limit(resolved: &ResolvedPolicy, window: u64, reserve: u64) -> u64 {
    let budget = Budget {
        window: Tokens(window),
        fixed: Tokens::ZERO,
        reserve: Tokens(reserve),
        prompt_max: None,
        ..Budget::default()
    };
    budget.under(&resolved.policy).trigger_point(&resolved.policy).0
}
