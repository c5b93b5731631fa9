//! Calls about tokens.

use super::{Answer, Client, pages};
use crate::model::Token;
use crate::wire::people::{CreateToken, CreatedToken, LoginOffers};
use crate::wire::{Page, paths};

impl Client {
    /// All tokens that the caller may see.
    pub async fn tokens(&self) -> Answer<Vec<Token>> {
        pages::all(|cursor| async move { self.get::<Page<Token>>(&paths::tokens(), &pages::at(cursor)).await }).await
    }

    /// Where one can log in; needs no token.
    pub async fn login_offers(&self) -> Answer<LoginOffers> {
        self.get(&paths::login(), &()).await
    }

    /// Makes a token; the answer is the only time that its secret is seen.
    pub async fn create_token(&self, body: &CreateToken, idempotency: &str) -> Answer<CreatedToken> {
        self.post(&paths::tokens(), body, idempotency).await
    }

    /// Ends a token.
    pub async fn revoke_token(&self, token_id: &str, idempotency: &str) -> Answer<Token> {
        self.delete(&paths::token(token_id), idempotency).await
    }
}
