//! Asks the registry: each request of `update` as calls of the client, each answer as data.

use crate::client::{Client, ClientError, Pins, VerifyError, verify_from};
use crate::model::{Code, Digest};
use crate::tui::effect::{Answer, Call, Done, Extent, Facts, Failure, FailureKind, InboxLists, Query, Receipt};
use crate::tui::msg::{Asked, Contact, Followed};
use crate::tui::rooms::keys::Slim;
use crate::wire::keys::ListKeys;
use crate::wire::promotions::{ListPromotions, PromotionView};
use uuid::Uuid;

/// Reads.
pub(super) async fn read(client: &Client, pins: Option<&Pins>, query: Query) -> Result<Answer, Failure> {
    Ok(match query {
        Query::Session => {
            let (me, world) = tokio::try_join!(client.me(), client.world()).map_err(failure)?;
            Answer::Session(Box::new(me), Box::new(world))
        }
        Query::Inbox(extent) => Answer::Inbox(Box::new(inbox(client, extent).await.map_err(failure)?)),
        Query::Promotion(id) => Answer::Promotion(Box::new(client.promotion(id).await.map_err(failure)?)),
        Query::Promotions(ask) => Answer::Promotions(client.all_promotions(&ask).await.map_err(failure)?),
        Query::Version(digest) => Answer::Version(Box::new(client.version(&digest).await.map_err(failure)?)),
        Query::Pair(from, to) => pair(client, from, to).await.map_err(failure)?,
        Query::Keys(ask) => Answer::Keys(keys(client, ask).await.map_err(failure)?),
        Query::History(key) => Answer::History(Box::new(client.key_history(&key).await.map_err(failure)?)),
        Query::Pointers(ask) => Answer::Pointers(client.all_pointers(&ask).await.map_err(failure)?),
        Query::Facts(key, environment) => {
            let ask = ListPromotions {
                state: Some("open".into()),
                key: Some(key.clone()),
                environment: Some(environment.to_string()),
                ..ListPromotions::default()
            };
            let pointer = async { perhaps(client.pointer(&key, &environment).await) };
            let rule = async { perhaps(client.policy_rule(&key, &environment).await) };
            let (pointer, history, open, rule) =
                tokio::try_join!(pointer, client.key_history(&key), client.all_promotions(&ask), rule).map_err(failure)?;
            Answer::Facts(Box::new(Facts { pointer, history, open, rule }))
        }
        Query::Several(queries) => {
            let mut answers = Vec::new();
            for query in queries {
                answers.push(Box::pin(read(client, pins, query)).await);
            }
            Answer::Several(answers)
        }
        Query::Explain(Asked { key, environment, unit }) => {
            let answer = client.explain(&environment, &key, unit.as_deref()).await.map_err(failure)?;
            Answer::Explained(Box::new(answer))
        }
        Query::Events(ask) => Answer::Events(client.audit(&ask).await.map_err(failure)?),
        Query::Verify(from) => match verify_from(client, pins, from).await {
            Ok(head) => Answer::Verified(from.max(1), head),
            Err(VerifyError::Broken(broken)) => Answer::Broken { seq: broken.seq, why: broken.why },
            Err(VerifyError::Client(error)) => return Err(failure(error)),
            Err(error) => return Err(plain(FailureKind::Protocol, error.to_string())),
        },
    })
}

/// Rows of one page of a long list: what is read at once, and what a connection keeps room for, stays small.
const PAGE: u32 = 500;
/// Promotions of one page: each is a few kilobytes.
const PROMOTIONS: u32 = 100;

/// All keys, page by page, each slimmed before the next is read: ten thousand of them are held.
async fn keys(client: &Client, mut ask: ListKeys) -> Result<Vec<Slim>, ClientError> {
    let mut rows = Vec::new();
    ask.limit = Some(PAGE);
    loop {
        let page = client.keys(&ask).await?;
        rows.extend(page.items.into_iter().map(Slim::of));
        match page.next_cursor {
            Some(next) if ask.cursor.as_ref() != Some(&next) => ask.cursor = Some(next),
            _ => return Ok(rows),
        }
    }
}

/// What is not there is an answer too.
fn perhaps<T>(answer: Result<T, ClientError>) -> Result<Option<T>, ClientError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.code() == Some(Code::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn inbox(client: &Client, extent: Extent) -> Result<InboxLists, ClientError> {
    let owed = ListPromotions { owed: Some("me".into()), ..ListPromotions::default() };
    let awaiting = ListPromotions { awaiting: Some("me".into()), limit: Some(PROMOTIONS), ..ListPromotions::default() };
    let open = ListPromotions { state: Some("open".into()), limit: Some(PROMOTIONS), ..ListPromotions::default() };
    let (waiting, owed, open, whole) = match extent {
        Extent::Newest(most) => {
            let (awaiting, open) =
                (ListPromotions { limit: Some(most), ..awaiting }, ListPromotions { limit: Some(most), ..open });
            let (waiting, owed, open) =
                tokio::try_join!(client.promotions(&awaiting), client.all_promotions(&owed), client.promotions(&open))?;
            let whole = waiting.next_cursor.is_none() && open.next_cursor.is_none();
            (waiting.items, owed, open.items, whole)
        }
        Extent::Whole => {
            let (waiting, owed, open) =
                tokio::try_join!(client.all_promotions(&awaiting), client.all_promotions(&owed), client.all_promotions(&open))?;
            (waiting, owed, open, true)
        }
    };
    let mine = |p: &PromotionView| waiting.iter().chain(&owed).any(|w| w.promotion.promotion_id == p.promotion.promotion_id);
    let others = open.into_iter().filter(|p| !mine(p)).collect();
    Ok(InboxLists { waiting, owed, others, whole })
}

async fn pair(client: &Client, from: Option<Digest>, to: Digest) -> Result<Answer, ClientError> {
    let old = async {
        match &from {
            Some(digest) => client.version(digest).await.map(|v| Some(Box::new(v))),
            None => Ok(None),
        }
    };
    let (from, to) = tokio::try_join!(old, client.version(&to))?;
    Ok(Answer::Pair(from, Box::new(to)))
}

/// Changes; `ticket` is the Idempotency-Key.
pub(super) async fn send(client: &Client, ticket: Uuid, call: Call) -> Result<Receipt, Failure> {
    let key = ticket.to_string();
    let moved = |m: crate::wire::promotions::Moved| Receipt { seq: m.seq, done: Done::Moved(Box::new(m)) };
    let promotion = |p| Receipt { seq: None, done: Done::Promotion(Box::new(p)) };
    let version = |v| Receipt { seq: None, done: Done::Version(Box::new(v)) };
    let answer = match call {
        Call::Vote(id, body) => client.vote(id, &body, &key).await.map(|_| Receipt { seq: None, done: Done::Voted }),
        Call::Apply(id, body) => client.apply(id, &body, &key).await.map(moved),
        Call::Withdraw(id, body) => client.withdraw(id, &body, &key).await.map(promotion),
        Call::Renew(id, body) => client.renew(id, &body, &key).await.map(promotion),
        Call::Review(id, body) => client.review(id, &body, &key).await.map(promotion),
        Call::Note(id, body) => client.note(id, &body, &key).await.map(promotion),
        Call::Open(body) => client.open_promotion(&body, &key).await.map(promotion),
        Call::Step(k, e, body) => client.step(&k, &e, &body, &key).await.map(moved),
        Call::Hold(k, e, body) => client.hold(&k, &e, &body, &key).await.map(moved),
        Call::Resume(k, e, body) => client.resume(&k, &e, &body, &key).await.map(moved),
        Call::Rollback(k, e, body) => client.rollback(&k, &e, &body, &key).await.map(moved),
        Call::Kill(k, e, body) => client.kill(&k, &e, &body, &key).await.map(moved),
        Call::KillMany(body) => client.kill_many(&body, &key).await.map(|kills| Receipt { seq: None, done: Done::Kills(kills) }),
        Call::UndoKill(k, e, body) => client.undo_kill(&k, &e, &body, &key).await.map(moved),
        Call::Save(k, body) => client.create_version(&k, &body, &key).await.map(|v| version(v.version)),
        Call::Submit(digest, body) => {
            client.submit_version(&digest, &body, &key).await.map(|s| Receipt { seq: None, done: Done::Submitted(Box::new(s)) })
        }
        Call::Discard(digest, body) => client.discard_version(&digest, &body, &key).await.map(version),
        Call::Quarantine(digest, body) => client.quarantine_version(&digest, &body, &key).await.map(version),
        Call::Lift(digest, body) => client.lift_version(&digest, &body, &key).await.map(version),
    };
    answer.map_err(failure)
}

/// The stream's word in the terminal's own type; `attempt` counts lost connections in a row.
pub(super) fn followed(event: crate::client::Followed, attempt: &mut u32) -> Followed {
    use crate::client::Followed as F;
    match event {
        F::Connected(contact) => {
            *attempt = 0;
            let contact = contact.map(|c| Contact { from: c.from, head: c.head, first: c.first });
            Followed::Connected { contact }
        }
        F::Audit(event) => Followed::Audit(event),
        F::Pointer(pointer) => Followed::Pointer(pointer),
        F::Heartbeat(head) => Followed::Heartbeat(head),
        F::Accepted => Followed::Accepted,
        F::Broken(broken) => Followed::Broken { seq: broken.seq, why: broken.why },
        F::Lost { retry_in, error } => {
            *attempt += 1;
            let away = matches!(error, ClientError::Unreachable { .. } | ClientError::Timeout { .. });
            let busy = matches!(error.code(), Some(Code::Unavailable | Code::Timeout | Code::Internal));
            let why = (!away && !busy).then(|| error.to_string());
            let signed_out = error.code() == Some(Code::Unauthenticated);
            let retry_in = u64::try_from(retry_in.as_millis()).unwrap_or(u64::MAX);
            Followed::Lost { attempt: *attempt, retry_in, why, signed_out }
        }
    }
}

fn plain(kind: FailureKind, text: String) -> Failure {
    Failure { kind, text, hint: None, problem: None }
}

fn failure(error: ClientError) -> Failure {
    let kind = match &error {
        ClientError::Unreachable { .. } => FailureKind::Unreachable,
        ClientError::Timeout { .. } => FailureKind::Timeout,
        ClientError::Problem(problem) if matches!(problem.code, Code::Unavailable | Code::Timeout) => FailureKind::Unreachable,
        ClientError::Problem(_) | ClientError::Refused(_) | ClientError::Login(_) | ClientError::Unproven { .. } => {
            FailureKind::Refused
        }
        ClientError::Integrity(_) => FailureKind::Integrity,
        ClientError::Protocol(_) => FailureKind::Protocol,
    };
    let text = error.to_string();
    match error {
        ClientError::Problem(problem) => Failure { kind, text, hint: problem.hint.clone(), problem: Some(problem) },
        _ => plain(kind, text),
    }
}
