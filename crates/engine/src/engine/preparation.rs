//! What is done to a path before a call, at the end of a turn and between: the right to compact a prefix is claimed where that is due, a
//! driver acts, and what came of it is committed.

use super::act::Reach;
use super::backgrounds::{BackgroundLoan, Crowding};
use super::prefix_jobs::PrefixClaim;
use super::tree::SessionTree;
use super::{Checkout, Engine, PreparedSession};
use crate::check::LookPoint;
use crate::driver::TurnEnd;
use crate::error::EngineError;
use crate::pre_passes::wants_pass;
use crate::session::{Session, Step};
use crate::speculation::CROWDED_OUT;
use std::sync::Arc;

/// As often a path waits for others that are at work on a prefix of it. What one of them makes is enough for all, unless it
/// fails: this is more than the paths that wait for one prefix, sub-agents of a large fleet included.
const CLAIM_WAITS_MAX: usize = 64;

impl Engine {
    /// Everything that is to be done before a call: pre-passes, the warning, a compaction where it is due. One that
    /// another path makes of the same prefix is waited for and used.
    pub async fn prepare(&self, checkout: &Checkout) -> Result<PreparedSession, EngineError> {
        self.prepare_at(checkout, LookPoint::Call).await
    }

    /// The same at another point.
    pub async fn prepare_at(
        &self,
        checkout: &Checkout,
        point: LookPoint,
    ) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let (mut session, claim) = self.claim(&tree, checkout, Some(point)).await?;
        let acted = self.act_at(&tree, checkout, &mut session, point).await;
        self.end_claimed(&tree, checkout, session, acted, claim).await
    }

    /// Does what [`Self::prepare`] does where nothing is compacted or edited and no summary is begun beforehand; else it does nothing,
    /// and returns none.
    pub async fn prepare_if_calm(&self, checkout: &Checkout) -> Result<Option<PreparedSession>, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let mut session = self.check_out(&tree, checkout, self.reach(checkout)).await?;
        if !session.is_calm_at(LookPoint::Call) {
            tree.put_back(&session);
            return Ok(None);
        }
        let acted = self.act_at(&tree, checkout, &mut session, LookPoint::Call).await;
        self.finish(&tree, checkout, session, acted).await.map(Some)
    }

    /// Whether nothing is compacted or edited at some point, and no summary begun beforehand.
    pub async fn is_calm_at(&self, checkout: &Checkout, point: LookPoint) -> Result<bool, EngineError> {
        Ok(self.glance(checkout).await?.is_calm_at(point))
    }

    /// How far back whoever acts on a path looks at least: a summary that is begun in the background reads the originals of all of it.
    fn reach(&self, checkout: &Checkout) -> Reach {
        let speculates = self.spawn.is_some() && checkout.assembly.policy().speculate.enabled;
        if speculates { Reach::Whole } else { Reach::Live }
    }

    /// What a driver does at some point, and the background of its path with it.
    async fn act_at(
        &self,
        tree: &Arc<SessionTree>,
        checkout: &Checkout,
        session: &mut Session,
        point: LookPoint,
    ) -> Result<Step, EngineError> {
        let driver = self.driver(tree, checkout);
        let Some(spawn) = &self.spawn else { return driver.prepare_at(session, point).await };
        let mut background = tree.backgrounds().lend(session);
        let acted = background.prepare_at(&driver, session, point, &**spawn).await;
        return_background(background, session, acted)
    }

    /// A turn has ended: what the policy wants done then is done, once for all who say so of the same turn.
    pub async fn end_turn(&self, checkout: &Checkout, end: TurnEnd) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let (mut session, claim) = self.claim(&tree, checkout, Some(LookPoint::TurnEnd)).await?;
        let driver = self.driver(&tree, checkout);
        let acted = match &self.spawn {
            Some(spawn) => {
                let mut background = tree.backgrounds().lend(&session);
                let acted = background.end_turn(&driver, &mut session, end, &**spawn).await;
                return_background(background, &mut session, acted)
            }
            None => driver.end_turn(&mut session, end).await,
        };
        self.end_claimed(&tree, checkout, session, acted, claim).await
    }

    /// A path, and the right to compact it where that is due at this point, or anyway where none is said. Where somebody is at work on
    /// a prefix of it, what comes of that is waited for; where that has not helped too often, the path is compacted beside them.
    pub(super) async fn claim(
        &self,
        tree: &Arc<SessionTree>,
        checkout: &Checkout,
        point: Option<LookPoint>,
    ) -> Result<(Session, Option<PrefixClaim>), EngineError> {
        let is_due = |session: &Session| point.map_or(Ok(true), |point| session.needs_compaction(point));
        let covers = |session: &Session| if is_due(session)? { session.covers() } else { Ok(None) };
        let reads = |session: &Session| point.is_none_or(|point| session.reads_originals_at(point));
        for _ in 0..CLAIM_WAITS_MAX {
            let mut session = self.check_out(tree, checkout, self.reach(checkout)).await?;
            if reads(&session) {
                if !session.log().is_whole() {
                    session = self.check_out(tree, checkout, Reach::Whole).await?;
                }
                tree.read_all(&*self.store, &session, &[]).await.inspect_err(|_| tree.put_back(&session))?;
            } else if point.is_some_and(|point| wants_pass(&session, point)) {
                let read = tree.read_view(&*self.store, &mut session).await;
                read.inspect_err(|_| tree.put_back(&session))?;
            }
            let covered = covers(&session).inspect_err(|_| tree.put_back(&session))?;
            match covered.map(|anchor| tree.claim(anchor, session.history())) {
                Some(Err(others)) => {
                    tree.put_back(&session);
                    let _counted = tree.crowd().enter();
                    drop(checkout.driver.while_awaited(others.lock()).await?);
                }
                Some(Ok(claim)) => return Ok((session, Some(claim))),
                None => return Ok((session, None)),
            }
        }
        let session = self.check_out(tree, checkout, Reach::Whole).await?;
        tree.read_all(&*self.store, &session, &[]).await?;
        Ok((session, None))
    }

    /// What [`Self::prepare`] would do before a call, with nothing done and nobody asked who takes time or money: where a compaction is
    /// due, the record of it, which is kept as observed.
    pub async fn observe(&self, checkout: &Checkout) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let mut session = self.check_out(&tree, checkout, Reach::Live).await?;
        if session.check_observed().is_due() {
            session = self.check_out(&tree, checkout, Reach::Whole).await?;
            tree.read_all(&*self.store, &session, &[]).await.inspect_err(|_| tree.put_back(&session))?;
        }
        let acted = checkout.driver.observe(&mut session).await;
        self.finish(&tree, checkout, session, acted).await
    }

    /// Finishes an act that may have compacted. Where it did, what was said meanwhile is delivered once nobody can take the
    /// session for being compacted any more.
    pub(super) async fn end_claimed(
        &self,
        tree: &Arc<SessionTree>,
        checkout: &Checkout,
        session: Session,
        acted: Result<Step, EngineError>,
        claim: Option<PrefixClaim>,
    ) -> Result<PreparedSession, EngineError> {
        let prepared = self.finish(tree, checkout, session, acted).await;
        if let Some(claim) = claim {
            drop(claim);
            self.deliver_to(tree, checkout.driver.ports().clock.unix_ms()).await?;
        }
        prepared
    }
}

/// Gives a background back for the path's next request, and tells where another was lost by that.
pub(super) fn return_background(
    background: BackgroundLoan,
    session: &mut Session,
    acted: Result<Step, EngineError>,
) -> Result<Step, EngineError> {
    if background.put_back() == Crowding::Lost {
        session.waste(CROWDED_OUT);
    }
    let mut step = acted?;
    step.events.extend(session.take_events());
    Ok(step)
}
