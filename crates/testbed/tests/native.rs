//! The providers' own compaction as a strategy: what comes back is kept beside a twin that people, and
//! other models, can read.

use epitome_core::{Record, Strategy, Trigger};
use epitome_engine::{FrozenClock, SummaryModel};
use epitome_provider::{Aliases, World};
use epitome_testbed::{Bed, Maker};
use epitome_tokens::Catalog;
use epitome_upstream::{Script, Upstream};
use std::sync::Arc;

/// A session whose provider compacts by itself, at `base_url`.
fn bed(base_url: &str, protocol: &str, model: &str) -> Bed {
    let table = format!(
        "[m]\nprovider = \"compatible\"\nprotocol = \"{protocol}\"\nbase_url = \"{base_url}\"\nmodel = \"{model}\"\n"
    );
    let aliases: Aliases = toml::from_str(&table).expect("the test wrote it");
    let world = World::new(Arc::new(FrozenClock)).expect("a client can be made");
    let provider = aliases.provider("m", Catalog::built_in(), &|_| Some("key".into()), &world);
    let provider = Arc::new(provider.expect("the alias is in the table"));
    Maker::new("default", 20_000)
        .set(|settings| settings.strategy = vec![Strategy::Native, Strategy::Summarize])
        .no_model()
        .ports(|ports| {
            ports.model = Some(SummaryModel { model: provider, is_warm: false, is_native: true });
        })
        .bed()
}

async fn compacted(protocol: &str, model: &str) -> (Bed, Arc<Record>) {
    let upstream = Upstream::start(Script::default()).await.expect("a socket can be had");
    let version = if protocol == "anthropic" { "" } else { "/v1" };
    let mut bed = bed(&format!("{}{version}", upstream.base_url), protocol, model);
    bed.talk(60, 300);
    let step = bed.driver.compact(&mut bed.session, Trigger::Threshold).await.expect("it completes");
    upstream.stop().await;
    (bed, step.record.expect("one was asked for"))
}

/// The kind of the provider's item, where the newest compaction holds one.
fn native_kind(bed: &Bed) -> Option<String> {
    let newest = bed.session.compactions().last()?;
    let compaction = bed.session.log().compaction(*newest)?;
    compaction.native.as_ref().map(|item| item.kind.to_string())
}

#[tokio::test]
async fn anthropics_own_compaction_is_kept_with_its_readable_text() {
    let (bed, record) = compacted("anthropic", "claude-opus-4-5").await;
    let change = record.change().expect("something was made");
    assert_eq!(
        (record.outcome.name(), change.strategy, &record.fallbacks),
        ("compacted", Strategy::Native, &vec![])
    );
    assert_eq!(native_kind(&bed), Some("compaction".into()));
    assert_eq!(record.spent.calls, 1);
}

#[tokio::test]
async fn openais_sealed_item_gets_a_twin_that_can_be_read() {
    let (bed, record) = compacted("openai-responses", "gpt-5").await;
    let change = record.change().expect("something was made");
    assert_eq!(
        (record.outcome.name(), change.strategy, &record.fallbacks),
        ("compacted", Strategy::Native, &vec![])
    );
    assert_eq!(native_kind(&bed), Some("compaction".into()));
    let summary = change.summary.as_deref().expect("there is a twin");
    assert!(summary.contains("lorem ipsum"), "the twin says what was said: {summary}");
}

#[tokio::test]
async fn a_provider_without_it_is_passed_over() {
    let mut bed = Maker::new("default", 20_000)
        .set(|settings| settings.strategy = vec![Strategy::Native, Strategy::Summarize])
        .bed();
    bed.talk(60, 300);
    let record = bed.compact(Trigger::Threshold);
    let change = record.change().expect("something was made");
    assert_eq!(change.strategy, Strategy::Summarize);
    assert_eq!(record.fallbacks[0].strategy, Strategy::Native);
}
