//! Opening a promotion: the wish, its plan and baseline, and the statement that approvers will sign (R8, R9, R11).

use super::apply::breaks_glass;
use super::facts::{Asked, Facts, gather, rule_of};
use super::rollback::unfit;
use super::work::{Outcome, Verb, Work, no_nul, not_blank};
use crate::model::{
    Action, BasisPoints, ConfigKey, Digest, EnvironmentPointer, EnvironmentRule, Promotion, PromotionState, Refusal, Standing,
    Subject, Version,
};
use crate::rules::access::Need;
use crate::rules::promotion::{self, Opening, Wish, proven};
use crate::rules::readiness::Door;
use crate::rules::statement::{Statement, policy_digest};
use crate::wire::promotions::{self as wire, DryRun};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Longest name of a ticket, in characters.
const CHANGE_LIMIT: usize = 200;

/// POST /v1/promotions.
#[derive(Debug, Clone)]
pub struct OpenPromotion {
    /// The request.
    pub body: wire::OpenPromotion,
}

/// The answer: the promotion (201), or with `dry_run` what it would be (200).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Opened {
    /// What would be opened, and what stands in its way.
    DryRun(Box<DryRun>),
    /// The opened promotion.
    Promotion(Box<Promotion>),
}

impl Verb for OpenPromotion {
    type Answer = Opened;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Opened>, Refusal> {
        let facts = prepare(work, &self.body).await?;
        let Some(row) = facts.asked.promotion.clone() else { return Err(Refusal::not_found()) };
        if self.body.dry_run {
            let pointer = pointer_after(&facts, &row);
            let would = DryRun { readiness: facts.readiness(), pointer, promotion: row };
            return Ok(Outcome::unchanged(Opened::DryRun(Box::new(would))));
        }
        work.conn.promotion_put(&row).await?;
        let (subject, detail) = (Subject::promotion(row.promotion_id), detail(&row));
        Ok(Outcome::done(Opened::Promotion(Box::new(row)), Action::PromotionOpen, subject, &detail).created())
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::key(&self.body.key_id))
    }
}

/// Opens a promotion within another verb's transaction; that verb's one event says so with [`detail`].
///
/// # Errors
/// As POST /v1/promotions.
pub async fn open_within(work: &mut Work<'_>, body: &wire::OpenPromotion) -> Result<Promotion, Refusal> {
    let facts = prepare(work, body).await?;
    let Some(row) = facts.asked.promotion else { return Err(Refusal::not_found()) };
    work.conn.promotion_put(&row).await?;
    Ok(row)
}

/// What an event says of an opened promotion.
pub fn detail(row: &Promotion) -> serde_json::Value {
    json!({
        "promotion_id": row.promotion_id, "act": row.act, "key_id": row.key_id, "environment": row.environment,
        "from": row.from_digest, "to": row.to_digest, "baseline": row.baseline_digest, "plan": row.plan,
        "statement": row.statement, "rationale": row.rationale, "supersedes": row.supersedes, "change": row.change,
        "at_time": row.at_time, "when_ready": row.when_ready, "break_glass": row.break_glass,
    })
}

/// The pointer as applying the promotion now would leave it; none for a safe default.
pub(super) fn pointer_after(facts: &Facts, row: &Promotion) -> Option<EnvironmentPointer> {
    if row.environment.is_safe_default() {
        return None;
    }
    Some(promotion::applied(row, facts.pointer.as_ref(), facts.asked.to.digest, facts.now))
}

/// Judges the wish and gathers what its readiness depends on; `facts.asked.promotion` is the row, not yet written.
pub(super) async fn prepare(work: &mut Work<'_>, body: &wire::OpenPromotion) -> Result<Facts, Refusal> {
    not_blank("/rationale", &body.rationale)?;
    if let Some(change) = &body.change {
        not_blank("/change", change)?;
        no_nul("/change", change)?;
        if change.chars().count() > CHANGE_LIMIT {
            return Err(Refusal::invalid("/change", format!("is longer than {CHANGE_LIMIT} characters")));
        }
    }
    let key = work.key(&body.key_id).await?;
    may_open(work, &key, body)?;
    let rule = rule_of(&work.policy, &key, &body.environment)?;
    timing(work, &rule, body)?;
    let to = version_of(work, &key, &body.to_digest, "/to_digest").await?;
    let wish = wish(work, &key, &rule, body).await?;
    let row = row(work, &key, &rule, body, wish);
    let asked =
        Asked { door: Door::of(row.act, &row.environment), key, environment: row.environment.clone(), to, promotion: Some(row) };
    gather(&mut work.conn, &work.policy, work.at, asked).await
}

/// Who may open it so: by breaking the glass, whoever the policy names; to leave it to the registry, only who may apply it.
fn may_open(work: &mut Work<'_>, key: &ConfigKey, body: &wire::OpenPromotion) -> Result<(), Refusal> {
    if body.break_glass {
        let may = breaks_glass(&work.policy, work.caller, key, &body.environment);
        if may.is_err() {
            work.denied = Some("break the glass".to_owned());
        }
        may?;
    } else {
        work.allow(if body.revive { Need::Revive } else { Need::Open }, Some(key), Some(&body.environment))?;
    }
    if body.at_time.is_some() || body.when_ready {
        let need = if body.revive { Need::Revive } else { Need::Apply };
        let may = work.allow(need, Some(key), Some(&body.environment));
        may.map_err(|refusal| refusal.hint("leaving it to the registry takes the right to apply it; open it without"))?;
    }
    Ok(())
}

/// Whether what is left to the registry can ever be applied by it.
fn timing(work: &Work<'_>, rule: &EnvironmentRule, body: &wire::OpenPromotion) -> Result<(), Refusal> {
    if body.break_glass && (body.when_ready || body.at_time.is_some()) {
        return Err(Refusal::invalid("/break_glass", "waits for nothing: leave `at_time` and `when_ready` out"));
    }
    let Some(at) = body.at_time else { return Ok(()) };
    if body.when_ready {
        return Err(Refusal::invalid("/when_ready", "give `at_time` or `when_ready`, not both")
            .hint("one with `at_time` is applied from then on, as soon as everything is met"));
    }
    let expires = work.at.plus_seconds(rule.expires_seconds());
    if at <= work.at {
        return Err(Refusal::invalid("/at_time", format!("{at} is not in the future")).hint(format!("now is {}", work.at)));
    }
    if at >= expires {
        let late = format!("{at} is after the promotion would expire, {expires}");
        return Err(Refusal::invalid("/at_time", late).hint("open it later, or nearer to its time"));
    }
    Ok(())
}

/// A version of the key; another key's is not told apart from none.
async fn version_of(work: &mut Work<'_>, key: &ConfigKey, digest: &Digest, path: &str) -> Result<Version, Refusal> {
    let found = work.conn.version_get(digest).await?.filter(|version| version.key_id == key.key_id);
    found.ok_or_else(|| Refusal::invalid(path, format!("{} has no version {digest}", key.key_id)))
}

async fn wish(work: &mut Work<'_>, key: &ConfigKey, rule: &EnvironmentRule, body: &wire::OpenPromotion) -> Result<Wish, Refusal> {
    let (id, environment) = (&key.key_id, &body.environment);
    let pointer = work.conn.pointer_get(id, environment).await?;
    let decided = work.conn.applied_decided(id, environment).await?;
    if let Some(baseline) = &body.baseline {
        version_of(work, key, baseline, "/baseline").await?;
    }
    let named = [body.baseline, key.safe_default_digest];
    let held = pointer.as_ref().map(|pointer| [Some(pointer.digest), pointer.baseline_digest]).unwrap_or_default();
    let mut unfit = unfit(&mut work.conn, named.into_iter().chain(held).flatten()).await?;
    // What was killed here comes back by an approval of its own, not as the safe default that nobody looked at again.
    if let Some(safe) = key.safe_default_digest
        && work.conn.applied_distrusted(id, environment, &safe).await?
    {
        unfit.insert(safe);
    }
    let standing = match &body.baseline {
        Some(baseline) => work.conn.applied_standing(id, environment, baseline).await?,
        None => Standing::default(),
    };
    let running = pointer.as_ref().and_then(|pointer| promotion::running(pointer, decided)).map(|row| row.promotion_id);
    promotion::open(&Opening {
        key,
        environment,
        rule,
        pointer: pointer.as_ref(),
        running,
        unfit: &|digest| unfit.contains(digest),
        proven: proven(standing),
        to: body.to_digest,
        revive: body.revive,
        percent: body.percent,
        plan: body.plan.as_ref(),
        baseline: body.baseline,
        supersedes: body.supersedes,
    })
}

fn row(work: &Work<'_>, key: &ConfigKey, rule: &EnvironmentRule, body: &wire::OpenPromotion, wish: Wish) -> Promotion {
    let mut row = Promotion {
        promotion_id: work.uuid(),
        key_id: key.key_id.clone(),
        from_digest: wish.from,
        to_digest: Some(body.to_digest),
        environment: body.environment.clone(),
        actor: work.caller.actor.clone(),
        kind: wish.act.kind(),
        at: work.at,
        act: wish.act,
        state: PromotionState::Open,
        rationale: body.rationale.clone(),
        reason: None,
        rollout_pct: wish.plan.first().map_or(BasisPoints::ALL, |step| step.0),
        plan: wish.plan,
        baseline_digest: wish.baseline,
        safe_default_digest: key.safe_default_digest,
        pointer_revision: wish.revision,
        policy_digest: policy_digest(rule),
        statement: Digest::ZERO,
        supersedes: body.supersedes,
        change: body.change.clone(),
        expires_at: Some(work.at.plus_seconds(rule.expires_seconds())),
        applied_at: None,
        applied_by: None,
        reviewed_by: None,
        reviewed_at: None,
        review_owed: false,
        note_due_at: None,
        at_time: body.at_time,
        when_ready: body.when_ready,
        break_glass: body.break_glass,
        missed: false,
        closed_reason: None,
    };
    row.statement = Statement::of(&row).digest();
    row
}
