//! Calls about promotions and their approvals.

use super::{Answer, Client, check, pages};
use crate::model::{Approval, Promotion};
use crate::wire::promotions::{
    AskPreview, DryRun, ListPromotions, Moved, OpenPromotion, Preview, PromotionView, Rationale, Vote,
};
use crate::wire::{Page, paths};
use uuid::Uuid;

impl Client {
    /// One page of promotions, newest first.
    pub async fn promotions(&self, ask: &ListPromotions) -> Answer<Page<PromotionView>> {
        let page: Page<PromotionView> = self.get(&paths::promotions(), ask).await?;
        page.items.iter().try_for_each(|view| check::statement(&view.promotion))?;
        Ok(page)
    }

    /// All promotions that match.
    pub async fn all_promotions(&self, ask: &ListPromotions) -> Answer<Vec<PromotionView>> {
        pages::all(|cursor| {
            let ask = ListPromotions { cursor, limit: ask.limit.or(Some(1000)), ..ask.clone() };
            async move { self.promotions(&ask).await }
        })
        .await
    }

    /// One promotion with everything that a reviewer needs.
    pub async fn promotion(&self, id: Uuid) -> Answer<PromotionView> {
        let view: PromotionView = self.get(&paths::promotion(id), &()).await?;
        check::statement(&view.promotion)?;
        Ok(view)
    }

    /// Opens a promotion (or a revive); `body.dry_run` is switched off.
    pub async fn open_promotion(&self, body: &OpenPromotion, idempotency: &str) -> Answer<Promotion> {
        self.post(&paths::promotions(), &OpenPromotion { dry_run: false, ..body.clone() }, idempotency).await
    }

    /// What opening would do.
    pub async fn preview_promotion(&self, body: &OpenPromotion, idempotency: &str) -> Answer<DryRun> {
        self.post(&paths::promotions(), &OpenPromotion { dry_run: true, ..body.clone() }, idempotency).await
    }

    /// What a change would do to units.
    pub async fn preview(&self, body: &AskPreview) -> Answer<Preview> {
        self.ask(&paths::preview(), body).await
    }

    /// A verdict, override, comment or retraction.
    pub async fn vote(&self, id: Uuid, body: &Vote, idempotency: &str) -> Answer<Approval> {
        self.post(&paths::approvals(id), body, idempotency).await
    }

    /// Lets a promotion take effect.
    pub async fn apply(&self, id: Uuid, body: &Rationale, idempotency: &str) -> Answer<Moved> {
        self.post(&paths::apply(id), &Rationale { dry_run: false, ..body.clone() }, idempotency).await
    }

    /// What applying would do.
    pub async fn preview_apply(&self, id: Uuid, idempotency: &str) -> Answer<DryRun> {
        self.post(&paths::apply(id), &Rationale { dry_run: true, ..Rationale::default() }, idempotency).await
    }

    /// Takes an open promotion back.
    pub async fn withdraw(&self, id: Uuid, body: &Rationale, idempotency: &str) -> Answer<Promotion> {
        self.post(&paths::withdraw(id), body, idempotency).await
    }

    /// Opens a new promotion in place of this one.
    pub async fn renew(&self, id: Uuid, body: &Rationale, idempotency: &str) -> Answer<Promotion> {
        self.post(&paths::renew(id), body, idempotency).await
    }

    /// Reviews what was done without approval beforehand.
    pub async fn review(&self, id: Uuid, body: &Rationale, idempotency: &str) -> Answer<Promotion> {
        self.post(&paths::review(id), body, idempotency).await
    }

    /// Gives the note that a kill owed.
    pub async fn note(&self, id: Uuid, body: &Rationale, idempotency: &str) -> Answer<Promotion> {
        self.post(&paths::note(id), body, idempotency).await
    }
}
