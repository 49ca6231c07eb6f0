//! Compactions that somebody asks for: made, previewed with nothing appended, or sketched with nobody asked.

use super::act::Reach;
use super::preparation::return_background;
use super::{Checkout, Engine, PreparedSession};
use crate::driver::{CompactOptions, PlanSketch};
use crate::error::EngineError;
use epitome_core::{Record, Trigger};
use std::sync::Arc;

impl Engine {
    /// Compacts by hand, or for another reason than a check. Of two who ask at once the second finds it done.
    pub async fn compact(
        &self,
        checkout: &Checkout,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let (mut session, claim) = self.claim(&tree, checkout, None).await?;
        let driver = self.driver(&tree, checkout);
        let mut background = tree.backgrounds().lend(&session);
        let acted = background.compact_with(&driver, &mut session, trigger, options).await;
        let acted = return_background(background, &mut session, acted);
        self.end_claimed(&tree, checkout, session, acted, claim).await
    }

    /// What a compaction would come to, with nothing appended.
    pub async fn preview(
        &self,
        checkout: &Checkout,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Arc<Record>, EngineError> {
        let session = self.look_at(checkout, Reach::Whole).await?;
        self.tree(checkout.session).await?.read_all(&*self.store, &session, &[]).await?;
        checkout.driver.preview(&session, trigger, options).await
    }

    /// What a compaction would set out to do, with nobody asked.
    pub async fn sketch(
        &self,
        checkout: &Checkout,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Option<PlanSketch>, EngineError> {
        let session = self.look_at(checkout, Reach::Whole).await?;
        self.tree(checkout.session).await?.read_all(&*self.store, &session, &[]).await?;
        checkout.driver.sketch(&session, trigger, options)
    }
}
