//! Making room after a provider refused a path's request, for its tokens, its bytes or its pictures.

use super::preparation::return_background;
use super::{Checkout, Engine, PreparedSession};
use crate::assembly::RefusalFigures;
use crate::driver::Recovery;
use crate::error::EngineError;
use crate::session::Step;
use epitome_core::Tokens;

impl Engine {
    /// Makes room after a provider refused the path's request as too long, having learned from its figures; the
    /// reason where nothing could be done.
    pub async fn overflow(
        &self,
        checkout: &Checkout,
        figures: RefusalFigures,
        over: Option<Tokens>,
    ) -> Result<(PreparedSession, Result<(), String>), EngineError> {
        let tree = self.tree(checkout.session).await?;
        let (mut session, claim) = self.claim(&tree, checkout, None).await?;
        session.learn(figures);
        let driver = self.driver(&tree, checkout);
        let mut background = tree.backgrounds().lend(&session);
        let mut verdict = Ok(());
        let recovered = background.recover(&driver, &mut session, over).await;
        let acted = recovered.map(|recovery| settle_recovery(recovery, &mut verdict));
        let acted = return_background(background, &mut session, acted);
        let prepared = self.end_claimed(&tree, checkout, session, acted, claim).await?;
        Ok((prepared, verdict))
    }

    /// Has pictures give way to labels after a provider refused the path's request for its bytes or pictures; the reason
    /// where nothing could be done, and then the path is held.
    pub async fn shed_pictures(
        &self,
        checkout: &Checkout,
        bytes_max: Option<u64>,
    ) -> Result<(PreparedSession, Result<(), String>), EngineError> {
        let mut verdict = Ok(());
        let acted = self.act(checkout, async |driver, session| {
            Ok(settle_recovery(driver.shed_pictures(session, bytes_max)?, &mut verdict))
        });
        let prepared = acted.await?;
        Ok((prepared, verdict))
    }
}

/// What a recovery did, and why it was in vain where it was.
fn settle_recovery(recovery: Recovery, verdict: &mut Result<(), String>) -> Step {
    match recovery {
        Recovery::Retry(step) => *step,
        Recovery::Surface { why, step } => {
            *verdict = Err(why);
            *step
        }
    }
}
