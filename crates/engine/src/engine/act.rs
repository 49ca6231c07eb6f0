//! One act on a path of a stored session: the session is taken into memory under its lease, the path checked out, and what was appended
//! committed; where the store does not take that, the session is let go.

use super::shared_waiter::SharedWaiter;
use super::tree::SessionTree;
use super::{Checkout, Engine, PreparedSession};
use crate::driver::Driver;
use crate::error::EngineError;
use crate::event::Event;
use crate::ports::{BoxFuture, Clock, EventListener, RequestWaiter};
use crate::session::{Session, Step};
use crate::store::{SessionId, Store};
use epitome_core::{EntryId, rebuilds};
use std::sync::{Arc, PoisonError};

/// How far back an act looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// At what is in view.
    Live,
    /// At every entry.
    Whole,
}

impl Engine {
    /// A path to be looked at, with the originals of what is in view at hand and nothing done to it.
    pub async fn look(&self, checkout: &Checkout) -> Result<Session, EngineError> {
        self.look_at(checkout, Reach::Live).await
    }

    /// The same for whoever wants to know where it stands, and reads nothing.
    pub async fn glance(&self, checkout: &Checkout) -> Result<Session, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let session = self.check_out(&tree, checkout, Reach::Live).await?;
        tree.put_back(&session);
        Ok(session)
    }

    /// Has the originals of what a path has in view at hand, as it stands.
    pub async fn read_in_view(&self, session: SessionId, path: &Session) -> Result<(), EngineError> {
        let in_view: Vec<EntryId> = path.context().message_slots().map(|(id, ..)| id).collect();
        self.tree(session).await?.fill(&*self.store, path.archive(), &in_view).await
    }

    pub(super) async fn look_at(&self, checkout: &Checkout, reach: Reach) -> Result<Session, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let mut session = self.check_out(&tree, checkout, reach).await?;
        let read = tree.read_view(&*self.store, &mut session).await;
        // Checked out it was taken from its place, and with it what it remembers beside its log.
        tree.put_back(&session);
        read.map(|()| session)
    }

    pub(super) async fn act(
        &self,
        checkout: &Checkout,
        act: impl AsyncFnOnce(&Driver, &mut Session) -> Result<Step, EngineError>,
    ) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let mut session = self.check_out(&tree, checkout, Reach::Whole).await?;
        tree.read_all(&*self.store, &session, &[]).await?;
        let acted = act(&self.driver(&tree, checkout), &mut session).await;
        self.finish(&tree, checkout, session, acted).await
    }

    /// The driver of a checkout; what it tells before it waits for a person is stored at once, and what others wait for goes on
    /// when its own caller has gone.
    pub(super) fn driver(&self, tree: &Arc<SessionTree>, checkout: &Checkout) -> Driver {
        let (store, clock) = (self.store.clone(), checkout.driver.ports().clock.clone());
        let mut driver =
            checkout.driver.heard_by(Arc::new(StoreListener { store, tree: tree.clone(), clock }));
        if let Some(RequestWaiter { waiter, .. }) = &mut driver.ports_mut().waiter {
            *waiter = Arc::new(SharedWaiter { own: waiter.clone(), tree: tree.clone() });
        }
        driver
    }

    /// Commits what an act appended, whatever came of it, and keeps the path ready with what it remembers beside its log.
    pub(super) async fn finish(
        &self,
        tree: &Arc<SessionTree>,
        checkout: &Checkout,
        mut session: Session,
        acted: Result<Step, EngineError>,
    ) -> Result<PreparedSession, EngineError> {
        let time_ms = checkout.driver.ports().clock.unix_ms();
        let (mut step, failed) = match acted {
            Ok(step) => (step, None),
            Err(error) => (session.step(None), Some(error)),
        };
        let committed = tree.commit(&*self.store, &mut session, &mut step, time_ms).await;
        self.forget_unless_stored(tree, committed).await?;
        tree.put_back(&session);
        // What was only observed has a record too, and rebuilds nothing.
        let is_rebuilt = step.appended.iter().any(|one| rebuilds(&one.entry))
            && step.record.as_ref().is_some_and(|record| record.outcome.is_rebuilt());
        if tree.was_supplied() || is_rebuilt {
            tree.let_superseded_go(&session);
        }
        if is_rebuilt {
            self.keep_live(tree, &session).await;
        }
        failed.map_or(Ok(PreparedSession { step, session }), Err)
    }

    /// Has the store keep what is live of a session. Where it does not, the next to open it reads more.
    pub(super) async fn keep_live(&self, tree: &SessionTree, session: &Session) {
        if let Some(live) = session.live_part() {
            drop(self.store.keep_live(tree.lease(), live).await);
        }
    }

    /// Lets a session go from memory where the store did not take what was appended: what is in memory is more than what
    /// is stored, and the next act begins with what is. Where it was opened anew meanwhile, that one is others' and stays.
    pub(super) async fn forget_unless_stored<T>(
        &self,
        tree: &Arc<SessionTree>,
        committed: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if committed.is_err() {
            let _one_at_a_time = self.openings.lock().await;
            if self.remove(tree) {
                self.let_go(tree).await;
            }
        }
        committed
    }

    /// A path with the originals of what is shown in part, and as much of the log as acts on it look at.
    pub(super) async fn check_out(
        &self,
        tree: &Arc<SessionTree>,
        checkout: &Checkout,
        reach: Reach,
    ) -> Result<Session, EngineError> {
        let leaf = checkout.leaf.or(tree.leaf());
        if reach == Reach::Whole || !tree.has_path(leaf) {
            tree.open_whole(&*self.store).await?;
        }
        if let Some(unknown) = leaf.filter(|&leaf| tree.state().log.get(leaf).is_none()) {
            return Err(EngineError::NoEntry(unknown));
        }
        let mut session = tree.check_out_lent(&*self.store, leaf, checkout).await?;
        // Where there is room for what was superseded, it is in view again.
        if !session.log().is_whole() && session.timeline().ignores_any() {
            tree.open_whole(&*self.store).await?;
            session = tree.check_out_lent(&*self.store, leaf, checkout).await?;
        }
        tree.read_cut(&*self.store, &session).await?;
        Ok(session)
    }

    pub(super) async fn tree(&self, session: SessionId) -> Result<Arc<SessionTree>, EngineError> {
        if let Some(tree) = self.held(session).await? {
            return Ok(tree);
        }
        let _one_at_a_time = self.openings.lock().await;
        if let Some(tree) = self.held(session).await? {
            return Ok(tree);
        }
        // Leased before it is read: whoever held it before may have appended until then.
        let lease = self.take_lease(session).await?;
        let opened = match self.store.open(session).await {
            Ok(opened) => opened,
            Err(error) => {
                self.store.release(lease).await;
                return Err(error.into());
            }
        };
        let tree = Arc::new(SessionTree::new(lease, opened, self.defers, self.kept));
        self.live.lock().unwrap_or_else(PoisonError::into_inner).insert(session, tree.clone());
        Ok(tree)
    }

    /// A session that is in memory and still ours. Where others have had it since, what is in memory is of yesterday.
    pub(super) async fn held(&self, session: SessionId) -> Result<Option<Arc<SessionTree>>, EngineError> {
        let Some(tree) = self.live.lock().unwrap_or_else(PoisonError::into_inner).get(&session).cloned()
        else {
            return Ok(None);
        };
        if tree.was_held_lately() {
            return Ok(Some(tree));
        }
        if self.store.hold(tree.lease()).await? {
            tree.note_held();
            return Ok(Some(tree));
        }
        tree.backgrounds().clear();
        self.remove(&tree);
        Ok(None)
    }

    /// Takes a session out of memory, unless it was opened anew meanwhile; whether it was there.
    fn remove(&self, tree: &Arc<SessionTree>) -> bool {
        tree.state().is_closed = true;
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let is_there = live.get(&tree.id).is_some_and(|known| Arc::ptr_eq(known, tree));
        if is_there {
            live.remove(&tree.id);
        }
        is_there
    }
}

/// Stores what a session tells while an act on it goes on.
struct StoreListener {
    store: Arc<dyn Store>,
    tree: Arc<SessionTree>,
    clock: Arc<dyn Clock>,
}

impl EventListener for StoreListener {
    fn hear(&self, events: Vec<Event>) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(self.tree.tell(&*self.store, events, self.clock.unix_ms()))
    }
}
