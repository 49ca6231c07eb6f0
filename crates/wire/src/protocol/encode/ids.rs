//! Ids of calls on the wire: kept as they came wherever the protocol takes them, unique in a request.
//!
//! Ids are given in the order of the conversation, so a later call never changes an earlier one's id.

use crate::validate::is_plain_id;
use std::collections::{HashMap, HashSet};

/// What a protocol asks of ids and tool names.
#[derive(Clone, Copy)]
pub(super) struct Naming {
    /// Ids longer than this are replaced by a hash.
    pub(super) id_bytes_max: usize,
    /// Whether ids are letters, digits, `_` and `-` only.
    pub(super) is_plain: bool,
    /// Names longer than this are cut.
    pub(super) name_bytes_max: usize,
}

/// The ids given so far in one request.
pub(super) struct Ids {
    naming: Naming,
    used: HashSet<String>,
    /// How often each id was asked for.
    asked: HashMap<String, u32>,
}

impl Ids {
    pub(super) fn new(naming: Naming) -> Self {
        Self { naming, used: HashSet::new(), asked: HashMap::new() }
    }

    /// The wire id of the next call that its model named `id`.
    pub(super) fn give(&mut self, id: &str) -> String {
        let clean = self.naming.clean(id);
        let times = self.asked.entry(clean.clone()).or_default();
        // Each try is a new id and `used` is finite, so one is free.
        loop {
            *times += 1;
            let candidate = if *times == 1 { clean.clone() } else { format!("{clean}_{times}") };
            let candidate = self.naming.fit(candidate);
            if self.used.insert(candidate.clone()) {
                return candidate;
            }
        }
    }

    /// Whether the next call that its model named `id` would be given that very id.
    pub(super) fn is_free(&self, id: &str) -> bool {
        self.naming.fit(self.naming.clean(id)) == id
            && !self.used.contains(id)
            && !self.asked.contains_key(id)
    }

    /// Takes an id that cannot be changed; false where it is taken already.
    pub(super) fn claim(&mut self, id: &str) -> bool {
        self.used.insert(id.to_owned())
    }

    /// A tool's name as the protocol takes it.
    pub(super) fn name(&self, name: &str) -> String {
        self.naming.name(name)
    }
}

impl Naming {
    fn clean(self, id: &str) -> String {
        if id.is_empty() {
            return "call".into();
        }
        if self.is_plain && !is_plain_id(id) { plain(id) } else { id.to_owned() }
    }

    fn fit(self, id: String) -> String {
        if id.len() <= self.id_bytes_max {
            return id;
        }
        format!("call_{}", &blake3::hash(id.as_bytes()).to_hex()[..32])
    }

    /// A name of letters, digits, `_` and `-`: every protocol refuses others.
    pub(super) fn name(self, name: &str) -> String {
        let mut name = if name.is_empty() { "unnamed".into() } else { plain(name) };
        name.truncate(self.name_bytes_max);
        name
    }
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::{Ids, Naming};

    fn ids(is_plain: bool) -> Ids {
        Ids::new(Naming { id_bytes_max: 40, is_plain, name_bytes_max: 8 })
    }

    #[test]
    fn a_repeated_id_is_told_apart_by_how_often_it_came() {
        let mut ids = ids(true);
        assert_eq!(["a", "b", "a", "a_2", "a"].map(|id| ids.give(id)), ["a", "b", "a_2", "a_2_2", "a_3"]);
    }

    #[test]
    fn ids_the_protocol_refuses_are_mapped() {
        let mut ids = ids(true);
        assert_eq!(["call_1|fc_2", "", "é"].map(|id| ids.give(id)), ["call_1_fc_2", "call", "_"]);
        let long = "x".repeat(41);
        assert_eq!(ids.give(&long), "call_1df11036c0287ea4a5b96c27531e58c0");
    }

    #[test]
    fn ids_the_protocol_takes_stay_as_they_came() {
        assert_eq!(ids(false).give("call_1|fc_2"), "call_1|fc_2");
    }

    #[test]
    fn names_are_plain_and_short() {
        assert_eq!(["", "a.b", "123456789"].map(|name| ids(true).name(name)), ["unnamed", "a_b", "12345678"]);
    }
}
