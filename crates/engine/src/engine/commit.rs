//! Bringing home what was appended on a copy of a path: as it is where nobody else has appended meanwhile, else behind
//! what they appended, under new ids. What the store does not take is the engine's to deal with.

use super::tree::{SessionTree, TreeState, is_message};
use crate::error::EngineError;
use crate::session::{AppendedEntry, Session, Step};
use crate::store::{CommitBatch, Durability, Store};
use epitome_core::{Archive as _, Entry, EntryId, Log, Mark};
use std::collections::HashMap;
use std::sync::Arc;

impl SessionTree {
    /// Brings home what a copy has appended: as it is where nobody else has appended meanwhile, else behind what
    /// they appended.
    pub(super) async fn commit(
        &self,
        store: &dyn Store,
        session: &mut Session,
        step: &mut Step,
        time_ms: Option<u64>,
    ) -> Result<Renumbering, EngineError> {
        if step.appended.is_empty() && step.events.is_empty() {
            return Ok(Renumbering::default());
        }
        let _in_order = self.commits.lock().await;
        let is_alone = self.is_unchanged_since(session, step);
        if !is_alone {
            self.read_edited(store, session, &step.appended).await?;
        }
        let (expected, renumbering, batch) = {
            let mut state = self.state();
            let expected = state.log.len();
            let renumbering = if is_alone {
                state.log = session.timeline().log().clone();
                Renumbering::default()
            } else {
                self.bring_behind(&mut state, session, step)?
            };
            state.take_sizes(session, step);
            let mut batch = batch_of(step, time_ms);
            for one in step.appended.iter().filter(|one| is_message(&one.entry)) {
                let message = session.archive().message(one.id)?;
                self.archive.put_shared(one.id, message.clone());
                batch.messages.push((one.id, message));
            }
            batch.leaf = session.leaf().filter(|_| !batch.messages.is_empty());
            self.keep_superseded(session, step, &mut batch);
            state.leaf = batch.leaf.or(state.leaf);
            (expected, renumbering, batch)
        };
        self.put(store, expected, batch).await?;
        Ok(renumbering)
    }

    /// Whether nobody has appended since a copy was checked out. A copy of what was live must not take the place of the whole, where
    /// others have opened that meanwhile.
    fn is_unchanged_since(&self, session: &Session, step: &Step) -> bool {
        let state = self.state();
        session.log().is_whole() == state.log.is_whole()
            && session.log().len() - step.appended.len() == state.log.len()
    }

    /// Appends what a copy has appended behind what others did meanwhile; the copy, its step and the originals of new
    /// messages go by the new ids from here on.
    fn bring_behind(
        &self,
        state: &mut TreeState,
        session: &mut Session,
        step: &mut Step,
    ) -> Result<Renumbering, EngineError> {
        // On a copy of the log: what fails from here on must leave nothing behind that is not stored.
        let mut log = Log::clone(&state.log);
        let (appended, renumbering) = rebase(&mut log, &step.appended)?;
        let own = session.archive();
        let moved = step.appended.iter().zip(&appended).filter(|(old, _)| is_message(&old.entry));
        let moved: Vec<(EntryId, EntryId)> = moved.map(|(old, new)| (old.id, new.id)).collect();
        let messages: Result<Vec<_>, _> = moved.iter().map(|(old, _)| own.message(*old)).collect();
        own.remove(&moved.iter().map(|(old, _)| *old).collect::<Vec<_>>());
        for ((_, new), message) in moved.into_iter().zip(messages?) {
            own.put_shared(new, message);
        }
        step.appended = appended;
        step.events.iter_mut().for_each(|event| event.renumber(|id| renumbering.id(id)));
        let sizes = state.sizes[session.assembly().sizes_key()].clone();
        let leaf = session.leaf().map(|leaf| renumbering.id(leaf));
        session.rebase(Arc::new(log), sizes, leaf)?;
        state.log = session.timeline().log().clone();
        Ok(renumbering)
    }
}

/// The ids that entries were given behind what others had appended.
#[derive(Debug, Default)]
pub(super) struct Renumbering(HashMap<EntryId, EntryId>);

impl Renumbering {
    /// The id that an entry has now.
    pub(super) fn id(&self, old: EntryId) -> EntryId {
        self.0.get(&old).copied().unwrap_or(old)
    }
}

/// Appends entries behind what others appended meanwhile; those that name each other go on doing so.
fn rebase(
    log: &mut Log,
    appended: &[AppendedEntry],
) -> Result<(Vec<AppendedEntry>, Renumbering), EngineError> {
    let mut moved: HashMap<EntryId, EntryId> = HashMap::new();
    let mut rebased = Vec::with_capacity(appended.len());
    for AppendedEntry { id: old, parent, entry } in appended {
        let at = |id: EntryId| moved.get(&id).copied().unwrap_or(id);
        let parent = parent.map(at);
        let (id, entry) = match entry {
            Entry::Mark(mark) => {
                let mark = mark.with_targets(at);
                (log.mark(parent, mark.clone())?, Entry::Mark(mark))
            }
            entry @ (Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. }) => {
                (log.append(parent, entry.clone())?, entry.clone())
            }
        };
        moved.insert(*old, id);
        rebased.push(AppendedEntry { id, parent, entry });
    }
    Ok((rebased, Renumbering(moved)))
}

/// The batch that commits a step; the originals of its messages are put in by the tree.
fn batch_of(step: &Step, time_ms: Option<u64>) -> CommitBatch {
    CommitBatch {
        entries: step.appended.clone(),
        events: step.events.clone(),
        durability: durability_of(step),
        time_ms,
        ..CommitBatch::default()
    }
}

/// What a provider said of a call is told again with the next one; everything else is not.
fn durability_of(step: &Step) -> Durability {
    let is_usage = |one: &AppendedEntry| matches!(one.entry, Entry::Mark(Mark::Usage(_)));
    if step.events.is_empty() && step.appended.iter().all(is_usage) {
        Durability::System
    } else {
        Durability::Disk
    }
}
