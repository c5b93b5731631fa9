//! Ending a token: one's own, one that one made, or as an admin any.

use super::work::{Outcome, Verb, Work};
use crate::model::{Action, Refusal, Subject, Token};
use crate::rules::access::Need;
use crate::snapshot::{Change, HeldToken};
use serde_json::json;

/// DELETE /v1/tokens/{token_id}.
#[derive(Debug, Clone)]
pub struct RevokeToken {
    /// `cs_` and 10 letters.
    pub token_id: String,
}

impl Verb for RevokeToken {
    type Answer = Token;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Token>, Refusal> {
        let stored = work.conn.token_get(&self.token_id).await?;
        let own = stored.as_ref().is_some_and(|s| s.token.actor == *work.actor() || s.token.owner == *work.actor());
        if !(own && work.caller.is_whole()) {
            work.allow(Need::Tokens, None, None)?;
        }
        let stored = stored.ok_or_else(Refusal::not_found)?;
        let (mut token, hash) = (stored.token, stored.secret_hash);
        if token.revoked_at.is_some() {
            return Ok(Outcome::unchanged(token));
        }
        work.conn.token_revoke(&token.token_id, work.at).await?;
        token.revoked_at = Some(work.at);
        let subject = Subject(format!("token:{}", token.token_id));
        let detail = json!({ "actor": token.actor, "owner": token.owner, "scope": token.scope });
        let change = Change::Token(Box::new(HeldToken { token: token.clone(), hash }));
        Ok(Outcome::done(token, Action::TokenRevoke, subject, &detail).changing([change]))
    }

    fn protects(&self) -> Option<Subject> {
        let named = self.token_id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        Some(Subject(format!("token:{}", if named { &self.token_id } else { "unknown" })))
    }

    fn holds_back(&self) -> bool {
        true
    }
}
