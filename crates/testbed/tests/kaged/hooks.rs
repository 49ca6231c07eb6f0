//! Observers: when they are told, and what of their verdicts counts.

use super::{full, kaged};
use epitome_core::{
    Archive, CompactorPiece, CompactorReply, EntryId, Record, Strategy, UpcomingCompaction, Verdict,
};
use epitome_engine::{BoxFuture, Hook};
use epitome_testbed::{Bed, TestModel};
use std::sync::{Arc, Mutex, PoisonError};

/// An observer that notes when it is told of something, and offers a list that nobody asked it for.
#[derive(Default)]
struct Observer {
    /// How many calls the model had answered when it was told, and of what.
    told: Mutex<Vec<(&'static str, usize)>>,
    model: Mutex<Option<Arc<TestModel>>>,
}

impl Observer {
    fn note(&self, what: &'static str) {
        let model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = model.as_ref().map_or(0, |model| model.requests().len());
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push((what, calls));
    }

    fn told(&self) -> Vec<(&'static str, usize)> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Hook for Observer {
    fn name(&self) -> &str {
        "observer"
    }

    fn before<'a>(
        &'a self,
        _: &'a UpcomingCompaction,
        _: &'a dyn Archive,
    ) -> BoxFuture<'a, Result<Option<Verdict>, String>> {
        self.note("pre_compact");
        Box::pin(std::future::ready(Ok(None)))
    }

    fn transform<'a>(
        &'a self,
        messages: &'a [EntryId],
        _: &'a dyn Archive,
    ) -> BoxFuture<'a, Result<CompactorReply, String>> {
        self.note("transform");
        let list = messages.iter().take(1).map(|&id| CompactorPiece::Keep(id));
        Box::pin(std::future::ready(Ok(CompactorReply::of(list))))
    }

    fn after<'a>(&'a self, _: &'a Record) -> BoxFuture<'a, Result<(), String>> {
        self.note("post_compact");
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A full session watched by an observer that sees its model.
fn watched(strategy: Option<Strategy>) -> (Bed, Vec<EntryId>, Arc<Observer>) {
    let observer = Arc::new(Observer::default());
    let maker = kaged().hook(observer.clone());
    let maker =
        maker.set(|settings| settings.strategy = strategy.map_or(settings.strategy.clone(), |it| vec![it]));
    let (bed, ids) = full(maker);
    *observer.model.lock().unwrap_or_else(PoisonError::into_inner) = Some(bed.model.clone());
    (bed, ids, observer)
}

#[test]
fn k21_hooks_come_before_and_after_the_strategy() {
    let (mut bed, _, observer) = watched(None);
    let record = bed.prepare().expect("it is due");
    assert_eq!(record.outcome.name(), "compacted");
    assert_eq!(observer.told(), [("pre_compact", 0), ("post_compact", 1)]);
}

#[test]
fn k22_a_list_from_an_observer_is_ignored() {
    let (mut bed, ids, observer) = watched(Some(Strategy::Delegate));
    bed.prepare().expect("it is due");
    assert_eq!(observer.told(), [("pre_compact", 0), ("post_compact", 0)]);
    assert!(bed.in_view().len() > 1 && bed.in_view().last() == ids.last());
}
