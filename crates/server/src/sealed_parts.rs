//! What a session was refused for by parts that are sealed: thinking bound to the words before it, items that its provider can no
//! longer read. How the request goes on without them is decided once and kept to, so that replies made since stay bound to what was sent.

use epitome_core::{EntryId, Form};
use serde::{Deserialize, Serialize};

/// What of a session's replies is left out, and what its provider is told of the rest. It is stored with the session, so that a server
/// that is restarted, or another replica, goes on as this one would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SealedParts {
    /// Replies up to this one are shown without thinking.
    unthinking_until: Option<EntryId>,
    /// Replies up to this one are shown without what only the provider can read.
    unsealed_until: Option<EntryId>,
    /// Whether thinking is known to be bound: a compaction keeps none of what was thought before it.
    pub(crate) is_bound: bool,
    /// Whether the provider is told to drop what is bound to other words.
    pub(crate) drops_unbound: bool,
}

impl SealedParts {
    /// What was stored; nothing where that cannot be read, which costs one more refusal.
    pub(crate) fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// What is to be stored; nothing where nothing was refused.
    pub(crate) fn written(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Both together: of two replicas each may have been refused something.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            unthinking_until: self.unthinking_until.max(other.unthinking_until),
            unsealed_until: self.unsealed_until.max(other.unsealed_until),
            is_bound: self.is_bound || other.is_bound,
            drops_unbound: self.drops_unbound || other.drops_unbound,
        }
    }

    /// After a refusal of bound thinking, with `newest` at the end of the path. Where every reply must begin with thinking it can not be
    /// left out, and the provider is told to drop it.
    pub(crate) fn leave_thinking_out(&mut self, newest: Option<EntryId>, must_think: bool) {
        if must_think {
            self.drops_unbound = true;
        } else {
            self.is_bound = true;
            self.unthinking_until = self.unthinking_until.max(newest);
        }
    }

    /// Before a refusal of an endpoint that is known to bind thinking, with a compaction in view.
    pub(crate) fn expect_binding(&mut self, must_think: bool) {
        if must_think {
            self.drops_unbound = true;
        } else {
            self.is_bound = true;
        }
    }

    /// After a refusal of items that the provider cannot read.
    pub(crate) fn leave_sealed_out(&mut self, newest: Option<EntryId>) {
        self.unthinking_until = self.unthinking_until.max(newest);
        self.unsealed_until = self.unsealed_until.max(newest);
    }

    /// Whether anything is left out of some reply.
    pub(crate) fn is_any(&self) -> bool {
        self.unthinking_until.is_some() || self.unsealed_until.is_some()
    }

    /// What is left out of this reply beside what its form leaves out.
    pub(crate) fn form_of(&self, reply: EntryId) -> Form {
        let thinking = self.unthinking_until.is_some_and(|until| reply <= until);
        let opaque = self.unsealed_until.is_some_and(|until| reply <= until);
        Form { thinking, opaque, ..Form::WHOLE }
    }
}

#[cfg(test)]
mod tests {
    use super::SealedParts;
    use epitome_core::{EntryId, Form};

    #[test]
    fn what_was_refused_stays_out_and_what_comes_later_stays_in() {
        let mut parts = SealedParts::default();
        parts.leave_thinking_out(Some(EntryId(7)), false);
        let thinking = Form { thinking: true, ..Form::WHOLE };
        assert_eq!([7, 8].map(|id| parts.form_of(EntryId(id))), [thinking, Form::WHOLE]);
        parts.leave_thinking_out(Some(EntryId(9)), true);
        assert_eq!((parts.form_of(EntryId(8)), parts.drops_unbound), (Form::WHOLE, true));
        parts.leave_sealed_out(Some(EntryId(3)));
        let both = Form { opaque: true, ..thinking };
        assert_eq!([3, 4].map(|id| parts.form_of(EntryId(id))), [both, thinking]);
        assert_eq!(SealedParts::read(&parts.written()), parts);
        assert_eq!((SealedParts::read("{"), SealedParts::default().written()), Default::default());
    }
}
