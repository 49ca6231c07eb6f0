//! Names told without their lines: code that says nothing by itself is not quoted for a name in it. The list says in which
//! entry each name stands.

use super::page::{Section, Spot, SummaryPage};
use crate::{EntryId, Tokens};
use std::collections::{BTreeMap, HashSet};

/// Names by the entry they stand in, with room for them set aside on a page.
#[derive(Default)]
pub(super) struct NameList {
    by_entry: BTreeMap<Option<EntryId>, Vec<(u32, String)>>,
    listed: HashSet<u32>,
}

/// What `m0123 names: ` takes.
const HEAD_TOKENS: Tokens = Tokens(7);
/// What stands between two names.
const JOINT_TOKENS: Tokens = Tokens(1);
/// Behind all lines.
const ORDER: u64 = u64::MAX / 2;

impl NameList {
    /// Lists the name of a fact, where it is not listed and there is room.
    pub(super) fn add(
        &mut self,
        page: &mut SummaryPage<'_>,
        id: Option<EntryId>,
        (fact, name): (u32, String),
        quota: &mut Tokens,
    ) {
        let more = if self.by_entry.contains_key(&id) { JOINT_TOKENS } else { HEAD_TOKENS };
        if !self.listed.contains(&fact) && page.reserve(Section::Lines, &name, more, quota) {
            self.listed.insert(fact);
            self.by_entry.entry(id).or_default().push((fact, name));
        }
    }

    /// Takes names off the list that a line tells now.
    pub(super) fn withdraw(&mut self, page: &mut SummaryPage<'_>, told: &[u32], quota: &mut Tokens) {
        if !told.iter().any(|fact| self.listed.contains(fact)) {
            return;
        }
        for names in self.by_entry.values_mut() {
            names.retain(|(fact, name)| {
                let is_told = told.contains(fact);
                if is_told {
                    page.release(Section::Lines, name, JOINT_TOKENS, quota);
                }
                !is_told
            });
        }
    }

    /// Puts the list on the page.
    pub(super) fn write(self, page: &mut SummaryPage<'_>) {
        let filled = self.by_entry.into_iter().filter(|(_, names)| !names.is_empty());
        for (order, (id, names)) in filled.enumerate() {
            let names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
            let pointer = id.map(|id| format!("{id} ")).unwrap_or_default();
            let spot = Spot::new(Section::Lines, ORDER + order as u64, id);
            page.put(spot, &format!("{pointer}names: {}", names.join(", ")));
        }
    }
}
