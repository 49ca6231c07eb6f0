//! Which entries are on the live branch, and what each entry's parent is.
//!
//! A walk along `parentUuid` drops records: with parallel calls each result hangs off its own call,
//! and the next reply off one of them. So the walk takes an exchange whole wherever it touches one.
//! The live branch is then a line in file order; what is abandoned hangs off it where it began.

use epitome_core::EntryId;
use std::collections::{HashMap, HashSet};

/// What is known of how entries hang together.
pub(super) struct Links {
    /// Each entry with an entry that one of its lines hangs off, in any order.
    pub ups: Vec<(EntryId, EntryId)>,
    /// For each entry the reply whose result it is.
    pub answers: Vec<Option<EntryId>>,
    /// The newest entry that others can follow.
    pub newest: Option<EntryId>,
}

/// Parents, and the end of the live branch.
pub(super) struct RecordTree {
    pub parents: Vec<Option<EntryId>>,
    pub leaf: Option<EntryId>,
}

impl Links {
    /// The tree whose live branch holds `last`, the entry of the newest message record.
    pub(super) fn tree(mut self, last: Option<EntryId>) -> RecordTree {
        self.ups.sort_unstable();
        let exchanges = self.exchanges();
        let live = self.live(last, &exchanges);
        let mut parents = Vec::with_capacity(self.answers.len());
        let mut before = None;
        for at in 0..self.answers.len() as u32 {
            let id = EntryId(at);
            if live.contains(&id) {
                parents.push(before.replace(id));
            } else {
                parents.push(self.above(id, &exchanges));
            }
        }
        RecordTree { parents, leaf: before }
    }

    /// Each reply that made calls, with the places of its results.
    fn exchanges(&self) -> HashMap<EntryId, Vec<EntryId>> {
        let mut exchanges: HashMap<EntryId, Vec<EntryId>> = HashMap::new();
        for (at, reply) in self.answers.iter().enumerate() {
            if let Some(reply) = reply {
                exchanges.entry(*reply).or_insert_with(|| vec![*reply]).push(EntryId(at as u32));
            }
        }
        exchanges
    }

    fn live(&self, last: Option<EntryId>, exchanges: &HashMap<EntryId, Vec<EntryId>>) -> HashSet<EntryId> {
        // A result may fill a place before the newest message without ending the branch there.
        let from_newest = self.reach(self.newest, exchanges);
        match last {
            Some(last) if !from_newest.contains(&last) => self.reach(Some(last), exchanges),
            Some(_) | None => from_newest,
        }
    }

    /// Everything that `from` follows on, exchanges taken whole.
    fn reach(&self, from: Option<EntryId>, exchanges: &HashMap<EntryId, Vec<EntryId>>) -> HashSet<EntryId> {
        let mut reached: HashSet<EntryId> = HashSet::new();
        let mut ahead: Vec<EntryId> = from.into_iter().collect();
        while let Some(id) = ahead.pop() {
            if !reached.insert(id) {
                continue;
            }
            ahead.extend(self.ups_of(id));
            ahead.extend(self.exchange_of(id, exchanges));
        }
        reached
    }

    fn ups_of(&self, id: EntryId) -> impl Iterator<Item = EntryId> + '_ {
        let from = self.ups.partition_point(|(child, _)| *child < id);
        self.ups[from..].iter().take_while(move |(child, _)| *child == id).map(|(_, up)| *up)
    }

    fn exchange_of<'e>(
        &self,
        id: EntryId,
        exchanges: &'e HashMap<EntryId, Vec<EntryId>>,
    ) -> impl Iterator<Item = EntryId> + use<'e> {
        let reply = self.answers.get(id.index()).copied().flatten().unwrap_or(id);
        exchanges.get(&reply).into_iter().flatten().copied()
    }

    /// The parent of an entry off the live branch: the end of what it hangs off, as far as it comes before.
    fn above(&self, id: EntryId, exchanges: &HashMap<EntryId, Vec<EntryId>>) -> Option<EntryId> {
        let own = self.exchange_of(id, exchanges);
        let theirs = self.ups_of(id).flat_map(|up| self.exchange_of(up, exchanges).chain([up]));
        own.chain(theirs).filter(|up| *up < id).max()
    }
}
