//! Which row a name finds, and whose word counts.

use epitome_tokens::{Catalog, Counter, ImageDetail, ModelSpec, PixelSize, SpecSource, SpecValue, Vendor};

fn find(id: &str) -> ModelSpec {
    Catalog::built_in().find(id)
}

/// `name → row, tokenizer, window`, a line each.
fn rows(ids: &[&str]) -> String {
    let line = |id: &&str| {
        let model = find(id);
        let row = model.row.as_deref().unwrap_or("-");
        format!("{id} → {row}, {}, {}", model.tokenizer.name(), model.window_tokens.value)
    };
    ids.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_model_is_found_by_any_of_its_spellings() {
    insta::assert_snapshot!(rows(&[
        "claude-opus-4-5",
        "claude-opus-4-5-20251101",
        "Claude-Opus-4.5",
        "anthropic/claude-opus-4.5",
        "openrouter/anthropic/claude-opus-4.5:beta",
        "bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0",
        "vertex_ai/claude-opus-4-5@20251101",
        "claude-opus-4-5[1m]",
        "openai/openrouter-llama-4-maverick",
        "meta-llama/llama-3.1-70b-instruct:free",
        "ft:gpt-4o-mini:my-org::abc123",
    ]), @"
    claude-opus-4-5 → claude-opus-4-5, claude, 200000
    claude-opus-4-5-20251101 → claude-opus-4-5, claude, 200000
    Claude-Opus-4.5 → claude-opus-4-5, claude, 200000
    anthropic/claude-opus-4.5 → claude-opus-4-5, claude, 200000
    openrouter/anthropic/claude-opus-4.5:beta → claude-opus-4-5, claude, 200000
    bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0 → claude-opus-4-5, claude, 200000
    vertex_ai/claude-opus-4-5@20251101 → claude-opus-4-5, claude, 200000
    claude-opus-4-5[1m] → claude-opus-4-5, claude, 1000000
    openai/openrouter-llama-4-maverick → llama-4-maverick, llama3, 1000000
    meta-llama/llama-3.1-70b-instruct:free → llama-3.1-70b, llama3, 128000
    ft:gpt-4o-mini:my-org::abc123 → gpt-4o-mini, o200k_base, 128000
    ");
}

#[test]
fn the_longest_match_wins() {
    insta::assert_snapshot!(rows(&[
        "gpt-4",
        "gpt-4o",
        "gpt-4o-mini-2024-07-18",
        "gpt-4.1-nano",
        "gpt-4-1106-preview",
        "gpt-5.1-codex",
        "gpt-5.4-mini",
        "o3-mini",
        "claude-sonnet-4-20250514",
        "claude-sonnet-4-5-20250929",
        "claude-9-opus",
        "gemini-3-flash-preview",
        "deepseek-v3-2-251201",
        "kimi-k2.5",
        "qwen3-coder-480b-a35b-instruct",
    ]), @"
    gpt-4 → gpt-4, cl100k_base, 8192
    gpt-4o → gpt-4o, o200k_base, 128000
    gpt-4o-mini-2024-07-18 → gpt-4o-mini, o200k_base, 128000
    gpt-4.1-nano → gpt-4.1-nano, o200k_base, 1047576
    gpt-4-1106-preview → gpt-4-turbo, cl100k_base, 128000
    gpt-5.1-codex → gpt-5, o200k_base, 400000
    gpt-5.4-mini → gpt-5.4-mini, o200k_base, 400000
    o3-mini → o3-mini, o200k_base, 200000
    claude-sonnet-4-20250514 → claude-sonnet-4, claude, 200000
    claude-sonnet-4-5-20250929 → claude-sonnet-4-5, claude, 200000
    claude-9-opus → claude, claude47, 200000
    gemini-3-flash-preview → gemini-3-flash, gemini, 1048576
    deepseek-v3-2-251201 → deepseek-chat, deepseek_v3, 128000
    kimi-k2.5 → kimi-k2.5, kimi_k2, 262144
    qwen3-coder-480b-a35b-instruct → qwen3-coder, qwen2, 262144
    ");
}

#[test]
fn words_of_foreign_names_are_no_models_of_ours() {
    for foreign in
        ["opus-mt-en-de", "my-opus-finetune", "magnum-opus-35b", "haiku-writer", "team-o3-eval", "sonnet-gpt"]
    {
        assert_eq!(find(foreign).row, None, "{foreign}");
    }
    insta::assert_snapshot!(rows(&[
        "opus",
        "haiku",
        "o3",
        "openai/o3-2025-04-16",
        "azure-o3",
        "us.anthropic.claude-future-1",
        "gemini-ultra",
    ]), @"
    opus → claude-opus-5, claude47, 1000000
    haiku → claude-haiku-4-5, claude, 200000
    o3 → o3, o200k_base, 200000
    openai/o3-2025-04-16 → o3, o200k_base, 200000
    azure-o3 → o3, o200k_base, 200000
    us.anthropic.claude-future-1 → claude, claude47, 200000
    gemini-ultra → gemini, gemini, 1048576
    ");
}

#[test]
fn a_beta_asks_for_a_longer_window_where_the_model_has_one() {
    let window = |id: &str, betas: &str| find(id).with_betas(betas).window_tokens.value;
    let beta = "fine-grained-tool-streaming-2025-05-14, context-1m-2025-08-07";
    assert_eq!(
        [window("claude-sonnet-4-5", beta), window("claude-sonnet-4-5", "other")],
        [1_000_000, 200_000]
    );
    assert_eq!([window("claude-haiku-4-5", beta), window("claude-opus-5", beta)], [200_000, 1_000_000]);
    let own = "[[model]]\nmatch = ['claude-sonnet-4-5']\nwindow = 150_000\n";
    let stated = Catalog::built_in().with_overrides(own).expect("well formed").find("claude-sonnet-4-5");
    assert_eq!(stated.with_betas(beta).window_tokens.value, 150_000, "the operator's word comes first");
}

#[test]
fn a_model_nobody_knows_is_a_guess_and_says_so() {
    let model = find("my-own-finetune");
    assert_eq!(model, ModelSpec::guess("my-own-finetune"));
    assert_eq!(model.window_tokens, SpecValue::new(128_000, SpecSource::Guess));
}

#[test]
fn an_override_changes_only_what_it_names() {
    let own = "[[model]]\nmatch = ['claude-opus-4-5']\nwindow = 150_000\n";
    let model = Catalog::built_in().with_overrides(own).expect("well formed").find("claude-opus-4.5");
    let expected =
        ModelSpec { window_tokens: SpecValue::new(150_000, SpecSource::Explicit), ..find("claude-opus-4.5") };
    assert_eq!(model, expected);
}

#[test]
fn an_override_makes_an_unknown_model_known() {
    let own = "[[model]]\nmatch = ['my-own']\nprovider = 'openai'\ntokenizer = 'qwen2'\nwindow = 32_768\n";
    let model = Catalog::built_in().with_overrides(own).expect("well formed").find("my-own-finetune");
    assert_eq!((model.provider, model.tokenizer.name()), (Vendor::Openai, "qwen2"));
    assert_eq!(model.window_tokens, SpecValue::new(32_768, SpecSource::Explicit));
}

#[test]
fn a_key_nobody_knows_is_an_error() {
    let own = "[[model]]\nmatch = ['gpt-5']\nwindow_size = 1\n";
    let error = Catalog::built_in().with_overrides(own).expect_err("no such key");
    let cause = std::error::Error::source(&error).expect("the parser's words").to_string();
    assert!(cause.contains("unknown field `window_size`"), "{cause}");
}

#[test]
fn a_tokenizer_nobody_knows_is_an_error() {
    let own = "[[model]]\nmatch = ['gpt-5']\ntokenizer = 'abacus'\n";
    assert!(Catalog::built_in().with_overrides(own).is_err());
}

#[test]
fn a_counter_follows_its_model() {
    let counted = |id: &str| {
        let counter = Counter::for_model(&find(id));
        let image = counter.count_image(PixelSize { width: 1920, height: 1080 }, ImageDetail::High);
        (counter.method().to_string(), image, counter.tool_overhead(1))
    };
    assert_eq!(counted("claude-opus-4-6"), ("estimate(claude,±20%)".to_owned(), 1560, 497));
    assert_eq!(counted("claude-opus-5"), ("estimate(claude47,±15%)".to_owned(), 2691, 286));
    let method = if cfg!(feature = "tokenizers") { "o200k_base" } else { "estimate(o200k,±15%)" };
    assert_eq!(counted("gpt-4o"), (method.to_owned(), 1105, 0));
    assert_eq!(counted("my-own-finetune"), ("estimate(unknown,±30%)".to_owned(), 1600, 0));
}

#[test]
fn every_row_says_where_it_comes_from_and_makes_sense() {
    for model in Catalog::built_in().models() {
        let id = &model.id;
        assert!(model.origin.is_some(), "{id} has no source or date");
        assert!(
            model.window_tokens.value >= model.output_tokens_max.map_or(0, |output| output.value),
            "{id}"
        );
        if let Some(SpecValue { value: prices, .. }) = model.prices {
            let rates = prices.rates;
            assert!(rates.cache_read <= rates.input && rates.input <= rates.cache_write_5m, "{id}");
            assert!(prices.long.is_none_or(|long| long.rates.input > rates.input), "{id}");
        }
    }
}

#[test]
fn models_are_worked_out_once_and_anew_with_overrides() {
    let catalog = Catalog::built_in().clone();
    let (first, second) = (catalog.models(), catalog.models());
    assert!(std::ptr::eq(first, second), "they were worked out twice");
    let with_one =
        catalog.with_overrides("[[model]]\nmatch = [\"my-own\"]\nwindow = 12345\n").expect("it can be read");
    assert_eq!(with_one.models().len(), first.len() + 1);
    assert_eq!(with_one.models().last().map(|model| model.window_tokens.value), Some(12_345));
}

#[cfg(feature = "open-vocabularies")]
#[test]
fn every_exact_tokenizer_of_the_catalog_is_built_in() {
    for model in Catalog::built_in().models() {
        match model.tokenizer {
            epitome_tokens::Tokenizer::Exact(encoding) => assert!(encoding.is_built_in(), "{}", model.id),
            epitome_tokens::Tokenizer::Estimate(_) => {}
        }
    }
}

#[test]
fn every_row_says_who_said_so_and_when() {
    let table = include_str!("../data/models.toml");
    for row in table.split("[[model]]").skip(1) {
        let value = |key: &str| {
            let line = row.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            line.and_then(|line| line.strip_suffix('"')).unwrap_or_else(|| panic!("no `{key}` in {row}"))
        };
        let (source, as_of) = (value("source"), value("as_of"));
        assert!(as_of.len() == 7 && as_of.as_bytes()[4] == b'-', "{row}");
        assert!(!source.contains("memory"), "what nobody looked up is to say `unchecked`: {row}");
    }
}

#[test]
fn the_windows_of_a_provider_are_those_its_models_are_had_with() {
    let catalog = Catalog::built_in();
    assert_eq!(catalog.windows_of(Vendor::Anthropic), [200_000, 1_000_000]);
    let all = catalog.windows_of(Vendor::Unknown);
    assert!(all.is_sorted() && all.contains(&128_000) && all.contains(&1_000_000), "{all:?}");
}
