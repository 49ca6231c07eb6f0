//! Whether calls and results find each other: each result answers the nearest call of its id before it.

use epitome_core::{CallId, EntryId, Item};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The calls of one conversation met so far.
#[derive(Default)]
pub(crate) struct Pairs {
    /// Calls not answered yet, with the message that made them.
    open: BTreeMap<CallId, EntryId>,
    /// How often each id has been called on this path.
    seen: HashMap<CallId, u32>,
    repeated: HashSet<CallId>,
    /// What was called, answered and given up on this path, in order.
    steps: Vec<PairStep>,
    /// Calls that nobody answered, of which the path has left its last trace.
    unanswered: Vec<(EntryId, CallId)>,
}

/// A change of what is open, by the message `at`: enough to take it back.
struct PairStep {
    at: EntryId,
    call: CallId,
    change: PairChange,
}

enum PairChange {
    /// It was called; an earlier call of that id was open still.
    Called { earlier: Option<EntryId> },
    /// The call of this message was answered.
    Answered { made: EntryId },
}

impl Pairs {
    /// Takes up a message; says what does not fit.
    pub(crate) fn take(&mut self, id: EntryId, item: &Item) -> Vec<String> {
        let faults = item.answers.iter().filter_map(|call| self.answer(id, call)).collect();
        for call in &item.calls {
            self.call(id, call);
        }
        faults
    }

    fn answer(&mut self, at: EntryId, call: &CallId) -> Option<String> {
        if let Some(made) = self.open.remove(call) {
            self.steps.push(PairStep { at, call: call.clone(), change: PairChange::Answered { made } });
            return None;
        }
        Some(if self.seen.contains_key(call) {
            format!("the call `{call}` is answered once more; both answers are kept")
        } else {
            format!("a result answers the call `{call}`, which nobody made before it; it is kept")
        })
    }

    fn call(&mut self, at: EntryId, call: &CallId) {
        let times = self.seen.entry(call.clone()).or_default();
        *times += 1;
        if *times > 1 {
            self.repeated.insert(call.clone());
        }
        let earlier = self.open.insert(call.clone(), at);
        self.steps.push(PairStep { at, call: call.clone(), change: PairChange::Called { earlier } });
    }

    /// Whether a call has been made and answered.
    pub(crate) fn is_answered(&self, call: &CallId) -> bool {
        self.seen.contains_key(call) && !self.open.contains_key(call)
    }

    /// Takes back what the messages behind `tip` did: they are off the path.
    pub(crate) fn go_back(&mut self, tip: Option<EntryId>) {
        while let Some(PairStep { call, change, .. }) = self.steps.pop_if(|step| Some(step.at) > tip) {
            match change {
                PairChange::Answered { made } => drop(self.open.insert(call, made)),
                PairChange::Called { earlier } => self.take_back(call, earlier),
            }
        }
    }

    fn take_back(&mut self, call: CallId, earlier: Option<EntryId>) {
        let times = self.seen.remove(&call).unwrap_or(0);
        self.seen.extend((times > 1).then(|| (call.clone(), times - 1)));
        match earlier {
            Some(earlier) => drop(self.open.insert(call, earlier)),
            None => drop(self.open.remove(&call)),
        }
    }

    /// Leaves all calls behind: a new history begins, in which their ids may stand again.
    pub(crate) fn leave(&mut self) {
        self.give_up();
        self.seen.clear();
    }

    /// Nobody will answer what is open, nor what was called once more before it was answered.
    fn give_up(&mut self) {
        for PairStep { call, change, .. } in self.steps.drain(..) {
            if let PairChange::Called { earlier: Some(earlier) } = change {
                self.unanswered.push((earlier, call));
            }
        }
        self.unanswered.extend(std::mem::take(&mut self.open).into_iter().map(|(call, id)| (id, call)));
    }

    /// What is left to say at the end.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.give_up();
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
    fn what_was_taken_back_may_be_called_and_answered_anew() {
        let mut pairs = Pairs::default();
        let take = |pairs: &mut Pairs, at, item: Item| pairs.take(EntryId(at), &item);
        let mut faults = take(&mut pairs, 0, item(&["a"], &[]));
        faults.extend(take(&mut pairs, 1, item(&["b"], &["a"])));
        pairs.go_back(Some(EntryId(0)));
        assert!(!pairs.is_answered(&CallId::from("a")));
        faults.extend(take(&mut pairs, 2, item(&["b"], &["a"])));
        faults.extend(take(&mut pairs, 3, item(&[], &["b"])));
        pairs.leave();
        faults.extend(take(&mut pairs, 4, item(&["a", "b"], &[])));
        faults.extend(pairs.finish());
        assert_eq!(faults, ["the call `a` of m0004 has no result", "the call `b` of m0004 has no result"]);
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
