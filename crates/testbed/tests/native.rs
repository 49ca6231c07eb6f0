//! The providers' own compaction as a strategy: what comes back is kept beside a twin that people, and
//! other models, can read.

use epitome_core::{Entry, Strategy, Trigger};
use epitome_engine::{Happened, Stopped};
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
    let world = World::new(Arc::new(Stopped)).expect("a client can be made");
    let provider = aliases.provider("m", Catalog::built_in(), &|_| Some("key".into()), &world);
    let provider = Arc::new(provider.expect("the alias is in the table"));
    Maker::new("default", 20_000)
        .set(|settings| settings.strategy = vec![Strategy::Native, Strategy::Summarize])
        .no_model()
        .asks(|asks| {
            asks.model = Some(provider);
            asks.native = true;
        })
        .bed()
}

async fn compacted(protocol: &str, model: &str) -> (Bed, epitome_engine::Report) {
    let upstream = Upstream::start(Script::default()).await.expect("a socket can be had");
    let version = if protocol == "anthropic" { "" } else { "/v1" };
    let mut bed = bed(&format!("{}{version}", upstream.base_url), protocol, model);
    bed.talk(60, 300);
    let report = bed.session.compact(Trigger::Threshold).await.expect("it completes");
    upstream.stop().await;
    (bed, report)
}

/// The kind of the provider's item, where the newest compaction holds one.
fn native_kind(bed: &Bed) -> Option<String> {
    let newest = bed.session.compactions().last()?;
    match bed.session.log().get(*newest)? {
        Entry::Compaction(compaction) => compaction.native.as_ref().map(|item| item.kind.to_string()),
        Entry::Message(_) | Entry::Edit(_) | Entry::Undo { .. } | Entry::Note { .. } => None,
    }
}

#[tokio::test]
async fn anthropics_own_compaction_is_kept_with_its_readable_text() {
    let (bed, report) = compacted("anthropic", "claude-opus-4-5").await;
    let made = report.record.expect("something was made");
    assert_eq!(
        (report.outcome, made.strategy, made.fallbacks),
        (Happened::Compacted, Strategy::Native, vec![])
    );
    assert_eq!(native_kind(&bed), Some("compaction".into()));
    assert_eq!(report.spent.calls, 1);
}

#[tokio::test]
async fn openais_sealed_item_gets_a_twin_that_can_be_read() {
    let (bed, report) = compacted("openai-responses", "gpt-5").await;
    let made = report.record.expect("something was made");
    assert_eq!(
        (report.outcome, made.strategy, made.fallbacks),
        (Happened::Compacted, Strategy::Native, vec![])
    );
    assert_eq!(native_kind(&bed), Some("compaction".into()));
    let summary = made.summary.expect("there is a twin");
    assert!(summary.contains("lorem ipsum"), "the twin says what was said: {summary}");
}

#[tokio::test]
async fn a_provider_without_it_is_passed_over() {
    let mut bed = Maker::new("default", 20_000)
        .set(|settings| settings.strategy = vec![Strategy::Native, Strategy::Summarize])
        .bed();
    bed.talk(60, 300);
    let report = bed.compact(Trigger::Threshold);
    let made = report.record.expect("something was made");
    assert_eq!(made.strategy, Strategy::Summarize);
    assert_eq!(made.fallbacks[0].strategy, Strategy::Native);
}
