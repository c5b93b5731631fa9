//! After a command: what the registry told of its audit chain is verified from the remembered head on, and remembered (R26).

use super::context::Context;
use super::exit::{Done, Exit, Failure};
use super::output::{line, note};
use crate::client::{Client, VerifyError, contact};
use crate::model::{Code, Digest};
use crate::rules::chain::Break;

/// The chain's head, verified from the remembered one on; none where the caller may not read the audit trail.
///
/// # Errors
/// As [`contact`]; and a chain that ends before what the registry told of: an act's own event is in it.
pub async fn verified_head(context: &Context, client: &Client) -> Result<Option<Digest>, VerifyError> {
    let heard = client.heard();
    match contact(client, Some(&context.pins())).await {
        Ok(found) if found.head.seq < heard => {
            let why = format!("the registry told of event #{heard} and does not have it");
            Err(VerifyError::Broken(Break { seq: found.head.seq + 1, why }))
        }
        Ok(found) => Ok((found.head.seq > 0).then_some(found.head.event_id)),
        Err(VerifyError::Client(e)) if e.code() == Some(Code::Forbidden) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Ends a command that acted, or read the trail: afterwards, so that an alarm never keeps a kill from being sent. Of a command that
/// was carried out and `holds_back`, the alarm is told, and it ends well all the same.
pub async fn remember(context: &Context, done: Done, holds_back: bool) -> Done {
    let told_already = done.as_ref().is_err_and(|failure| failure.exit == Exit::Integrity);
    let Some(client) = context.used_client().filter(|client| client.heard() > 0 && !told_already) else { return done };
    let alarm: Failure = match verified_head(context, client).await {
        Ok(_) => return done,
        Err(VerifyError::Client(error)) => {
            note(&format!("the audit chain could not be verified: {}", line(&error.to_string())));
            return done;
        }
        Err(broken) => broken.into(),
    };
    match done {
        Ok(()) if holds_back => {
            super::tell(&alarm);
            return Ok(());
        }
        Ok(()) => note("the command was carried out; afterwards the audit chain was looked at"),
        Err(failure) => super::tell(&failure),
    }
    Err(alarm)
}
