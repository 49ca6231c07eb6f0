//! Names and what they come to.

use super::{AliasError, Aliases, distance};
use crate::{Provider, World};
use epitome_core::Tokens;
use epitome_engine::{FrozenClock, Model};
use epitome_tokens::Catalog;
use epitome_wire::Protocol;
use std::sync::Arc;

const TABLE: &str = r#"
[cheap]
provider = "compatible"
protocol = "anthropic"
base_url = "http://127.0.0.1:9/v1"
model = "claude-haiku-4-5"
key_env = "CHEAP_KEY"
window = 50000
output_max = 1000
parallel = true
reasoning = "low"

[lost]
provider = "compatible"
model = "x"

[odd]
provider = "compatible"
base_url = "ftp://nowhere"
model = "x"

[told]
provider = "compatible"
base_url = "https://me:hunter2@gateway.example/v1"
model = "x"
"#;

fn find(name: &str, keys: &[(&str, &str)]) -> Result<Provider, AliasError> {
    let aliases: Aliases = toml::from_str(TABLE).expect("the test wrote it");
    let world = World::new(Arc::new(FrozenClock)).expect("a client can be made");
    let environment =
        |name: &str| keys.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    aliases.provider(name, Catalog::built_in(), &environment, &world)
}

fn refused(name: &str, keys: &[(&str, &str)]) -> String {
    find(name, keys).map(|provider| provider.name().to_owned()).expect_err("it is no provider").to_string()
}

#[test]
fn an_alias_says_all_there_is_to_say() {
    let provider = find("cheap", &[("CHEAP_KEY", "sk-cheap-1")]).expect("it is in the table");
    let figures = (provider.window(), provider.output_max(), provider.takes_parallel());
    assert_eq!(figures, (Tokens(50_000), Tokens(1_000), true));
    assert_eq!(
        (provider.name(), provider.protocol(), provider.model_id()),
        ("cheap", Protocol::Anthropic, "claude-haiku-4-5")
    );
    assert!(!format!("{provider:?}").contains("sk-cheap-1"), "{provider:?}");
}

#[test]
fn a_provider_and_its_model_need_no_alias() {
    let hosted = find("anthropic/claude-opus-4-5", &[("ANTHROPIC_API_KEY", "sk-1")]).expect("it is known");
    let local = find("ollama/qwen3:8b", &[]).expect("it needs no key");
    let routed =
        find("openrouter/anthropic/claude-opus-4.5", &[("OPENROUTER_API_KEY", "sk-2")]).expect("known");
    let told =
        [hosted, local, routed].map(|it| (it.model_id().to_owned(), it.protocol(), it.takes_parallel()));
    assert_eq!(
        told,
        [
            ("claude-opus-4-5".to_owned(), Protocol::Anthropic, true),
            ("qwen3:8b".to_owned(), Protocol::OpenaiChat, false),
            ("anthropic/claude-opus-4.5".to_owned(), Protocol::OpenaiChat, true),
        ]
    );
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    assert_eq!(
        [refused("chaep", &[]), refused("cheap", &[]), refused("lost", &[]), refused("odd", &[])],
        [
            "there is no model alias `chaep` (did you mean `cheap`?); name one of yours, or write provider/model, such as anthropic/claude-opus-4-5",
            "the key for `cheap` is not set; put it in the environment variable CHEAP_KEY",
            "`lost` has no address; give it a `base_url`",
            "the `base_url` of `odd` is no http address; write it as http://127.0.0.1:8000/v1",
        ]
    );
    let garbled = refused("cheap", &[("CHEAP_KEY", "sk\nsecret")]);
    assert_eq!(
        garbled,
        "the key for `cheap` in the environment variable CHEAP_KEY holds characters no key has; set it again"
    );
    assert!(refused("zzzzzzzzz", &[]).starts_with("there is no model alias `zzzzzzzzz`; name one"));
}

#[test]
fn a_password_in_an_address_is_refused_and_not_repeated() {
    assert_eq!(
        refused("told", &[]),
        "the `base_url` of `told` holds a name or password; take it out, and name the variable that holds it in `key_env`"
    );
}

#[test]
fn distance_counts_letters() {
    assert_eq!([distance("cheap", "chaep"), distance("a", ""), distance("kitten", "sitting")], [2, 1, 3]);
}
