//! The summaries made beforehand for the paths of one stored session: each is kept under the newest answered message of
//! its path, lent to whoever works on a path that goes on from there, and let go where others crowd it out.

use crate::session::Session;
use crate::speculation::Background;
use epitome_core::EntryId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Backgrounds of one stored session.
#[derive(Default)]
pub(super) struct Backgrounds {
    /// Each under its newest answered message; the one put there last is last.
    kept: Mutex<Vec<(Option<EntryId>, Background)>>,
}

/// As many are kept as paths are: a summary for a path that nobody has worked on since is paid for in vain.
const BACKGROUNDS_MAX: usize = 8;

/// What putting a background away has cost others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crowding {
    Nothing,
    /// A summary that was made or under way for another path.
    Lost,
}

impl Backgrounds {
    fn kept(&self) -> MutexGuard<'_, Vec<(Option<EntryId>, Background)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The background of a path, or of the one it goes on from.
    pub(super) fn lend(self: &Arc<Self>, session: &Session) -> BackgroundLoan {
        let mut kept = self.kept();
        let is_before =
            |key: Option<EntryId>| key.is_none_or(|id| session.history().binary_search(&id).is_ok());
        let found = kept.iter().enumerate().filter(|(_, (key, _))| is_before(*key));
        let deepest = found.max_by_key(|(_, (key, _))| *key).map(|(at, _)| at);
        let background = deepest.map(|at| kept.remove(at).1).unwrap_or_default();
        BackgroundLoan { owner: self.clone(), newest_answered: session.newest_answered(), background }
    }

    /// Keeps a background for the path's next request. Where there are too many the oldest is let go.
    fn put(&self, newest_answered: Option<EntryId>, background: Background) -> Crowding {
        if background.is_empty() {
            return Crowding::Nothing;
        }
        let mut kept = self.kept();
        kept.push((newest_answered, background));
        let oldest = (kept.len() > BACKGROUNDS_MAX).then(|| kept.remove(0).1);
        match oldest {
            Some(oldest) if oldest.has_summary() => Crowding::Lost,
            Some(_) | None => Crowding::Nothing,
        }
    }

    /// Ends all work. It holds the session through whom it tells, so it does not end by itself.
    pub(super) fn clear(&self) {
        let dropped = std::mem::take(&mut *self.kept());
        drop(dropped);
    }
}

/// A background while somebody works with it. A caller who gives up leaves it to the next.
pub(super) struct BackgroundLoan {
    owner: Arc<Backgrounds>,
    newest_answered: Option<EntryId>,
    background: Background,
}

impl BackgroundLoan {
    pub(super) fn put_back(mut self) -> Crowding {
        self.give_back()
    }

    fn give_back(&mut self) -> Crowding {
        self.owner.put(self.newest_answered, std::mem::take(&mut self.background))
    }
}

impl Drop for BackgroundLoan {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl std::ops::Deref for BackgroundLoan {
    type Target = Background;

    fn deref(&self) -> &Background {
        &self.background
    }
}

impl std::ops::DerefMut for BackgroundLoan {
    fn deref_mut(&mut self) -> &mut Background {
        &mut self.background
    }
}
