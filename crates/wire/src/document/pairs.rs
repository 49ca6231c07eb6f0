//! Whether calls and results find each other: each result answers the nearest call of its id before it.

use epitome_core::{CallId, EntryId, Item};
use std::collections::{BTreeMap, HashSet};

/// The calls of one conversation met so far.
#[derive(Default)]
pub(crate) struct Pairs {
    /// Calls not answered yet, with the message that made them.
    open: BTreeMap<CallId, EntryId>,
    seen: HashSet<CallId>,
    repeated: HashSet<CallId>,
    unanswered: Vec<(EntryId, CallId)>,
}

impl Pairs {
    /// Takes up a message; says what does not fit.
    pub(crate) fn take(&mut self, id: EntryId, item: &Item) -> Vec<String> {
        let faults = item.answers.iter().filter_map(|call| self.answer(call)).collect();
        for call in &item.calls {
            self.call(id, call);
        }
        faults
    }

    fn answer(&mut self, call: &CallId) -> Option<String> {
        if self.open.remove(call).is_some() {
            return None;
        }
        Some(if self.seen.contains(call) {
            format!("the call `{call}` is answered once more; both answers are kept")
        } else {
            format!("a result answers the call `{call}`, which nobody made before it; it is kept")
        })
    }

    fn call(&mut self, id: EntryId, call: &CallId) {
        if !self.seen.insert(call.clone()) {
            self.repeated.insert(call.clone());
        }
        if let Some(earlier) = self.open.insert(call.clone(), id) {
            self.unanswered.push((earlier, call.clone()));
        }
    }

    /// What is left to say at the end.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.unanswered.extend(self.open.into_iter().map(|(call, id)| (id, call)));
        self.unanswered.sort();
        let silent =
            self.unanswered.iter().map(|(id, call)| format!("the call `{call}` of {id} has no result"));
        let repeated = (!self.repeated.is_empty()).then(|| {
            let count = self.repeated.len();
            format!("call ids used more than once: {count}; each result answers the nearest call before it")
        });
        silent.chain(repeated).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Pairs;
    use epitome_core::{Author, CallId, EntryId, Item, Role};

    fn item(calls: &[&str], answers: &[&str]) -> Item {
        let ids = |ids: &[&str]| ids.iter().map(|&id| CallId::from(id)).collect();
        Item { role: Role::Assistant, author: Author::Model, calls: ids(calls), answers: ids(answers) }
    }

    fn faults(items: &[Item]) -> Vec<String> {
        let mut pairs = Pairs::default();
        let mut all: Vec<String> =
            (0..).zip(items).flat_map(|(at, item)| pairs.take(EntryId(at), item)).collect();
        all.extend(pairs.finish());
        all
    }

    #[test]
    fn pairs_that_fit_say_nothing() {
        assert!(faults(&[item(&["a", "b"], &[]), item(&[], &["b"]), item(&[], &["a"])]).is_empty());
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let odd = [item(&[], &["z"]), item(&["a"], &[]), item(&["a", "b"], &[]), item(&[], &["a", "a"])];
        insta::assert_snapshot!(faults(&odd).join("\n"), @r"
        a result answers the call `z`, which nobody made before it; it is kept
        the call `a` is answered once more; both answers are kept
        the call `a` of m0001 has no result
        the call `b` of m0002 has no result
        call ids used more than once: 1; each result answers the nearest call before it
        ");
    }
}
