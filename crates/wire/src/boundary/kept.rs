//! Which messages a compaction keeps, spelled out.

use super::Boundary;
use crate::Conversation;
use epitome_core::{Entry, EntryId, Log, Tail};
use std::collections::HashSet;

/// The messages of the branch that ends in the conversation's leaf.
pub(crate) fn branch_messages(conversation: &Conversation) -> Vec<EntryId> {
    let branch = conversation.leaf.map_or_else(Vec::new, |leaf| conversation.log.branch(leaf));
    branch.into_iter().filter(|id| conversation.log.item(*id).is_some()).collect()
}

/// The messages that stand after the summary, in order.
pub(crate) fn kept_tail(conversation: &Conversation, boundary: &Boundary) -> Vec<EntryId> {
    let tail = match &boundary.tail {
        Tail::Nothing => Vec::new(),
        Tail::From(first) => in_view(conversation).into_iter().filter(|id| id >= first).collect(),
        Tail::These(ids) => ids.clone(),
    };
    tail.into_iter().filter(|id| !boundary.before.contains(id)).collect()
}

/// The messages in view at the leaf.
fn in_view(conversation: &Conversation) -> Vec<EntryId> {
    let log = &conversation.log;
    let branch = conversation.leaf.map_or_else(Vec::new, |leaf| log.branch(leaf));
    let undone: HashSet<EntryId> = branch.iter().filter_map(|id| undone_by(log, *id)).collect();
    let mut view: Vec<EntryId> = Vec::new();
    for id in branch.into_iter().filter(|id| !undone.contains(id)) {
        match log.get(id) {
            Some(Entry::Message(_)) => view.push(id),
            Some(Entry::Compaction(compaction)) => {
                let tail = match &compaction.tail {
                    Tail::Nothing => Vec::new(),
                    Tail::From(first) => view.into_iter().filter(|id| id >= first).collect(),
                    Tail::These(ids) => ids.clone(),
                };
                let tail =
                    tail.into_iter().filter(|id| log.item(*id).is_some() && !compaction.before.contains(id));
                view = compaction.before.iter().copied().chain(tail).collect();
            }
            Some(Entry::Edit(_) | Entry::Undo { .. } | Entry::Note { .. }) | None => {}
        }
    }
    view
}

fn undone_by(log: &Log, id: EntryId) -> Option<EntryId> {
    match log.get(id)? {
        Entry::Undo { of } => Some(*of),
        Entry::Message(_) | Entry::Compaction(_) | Entry::Edit(_) | Entry::Note { .. } => None,
    }
}
