//! What the demo holds at its first start, made through the HTTP API alone, each act by the one who may.

mod script;

use super::People;
use crate::cli::exit::{Done, Failure};
use crate::client::Client;
use crate::model::approval::HiddenSpan;
use crate::model::{BasisPoints, Content, Digest, Environment, GateStatus, KeyId, Promotion, Verdict};
use crate::rules::statement::Statement;
use crate::wire::keys::CreateKey;
use crate::wire::pointers::{Kill, StepTo};
use crate::wire::promotions::{OpenPromotion, Rationale, Vote};
use crate::wire::versions::{CreateFragment, CreateVersion, RecordVerdict, Submit};
use script::{KeyScript, OpenScript, Road, Script, VersionScript};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use uuid::Uuid;

/// The demo's policy.
pub const POLICY: &str = include_str!("../../../fixtures/demo/policy.toml");

/// The teams' prompts and configurations; what the last one leaves waiting is the newest.
const TEAMS: [&str; 2] =
    [include_str!("../../../fixtures/demo/search.toml"), include_str!("../../../fixtures/demo/support.toml")];

/// The person who gets the first token, as admin, and makes everybody else's: so nobody who reviews or writes owns a token
/// that acted for another.
pub const ADMIN: &str = "olga";

/// Every account that gets a token: persons and services of [`POLICY`].
pub const ACCOUNTS: &[&str] = &[
    "person:ana",
    "person:bob",
    "person:carol",
    "person:dee",
    "person:erin",
    "person:olga",
    "service:ci",
    "service:colleague",
    "service:helpdesk-api",
    "service:chat-edge",
    "service:search-frontend",
];

/// Fills an empty registry. `progress` gets a line for each thing made.
///
/// # Errors
/// What the registry refuses; the content and the policy are at odds then.
pub async fn seed(people: &People, progress: &(dyn Fn(&str) + Sync)) -> Done {
    let clients = ACCOUNTS.iter().map(|account| Ok(((*account).to_owned(), people.client(account)?)));
    let seeder = Seeder { clients: clients.collect::<Result<_, Failure>>()?, acts: AtomicUsize::new(0) };
    for team in TEAMS {
        seeder.team(&Script::read(team)?, progress).await?;
    }
    Ok(())
}

/// What approvers say when there is nothing to discuss.
const AGREED: [&str; 5] = [
    "Read the diff and tried it on ten cases; agreed.",
    "Matches the change that we discussed.",
    "Small and clear; nothing else moves.",
    "Checked the variables against the callers.",
    "Same behaviour as in staging for two days.",
];

struct Seeder {
    clients: BTreeMap<String, Client>,
    /// Counts acts: idempotency keys, and which of the usual words come next.
    acts: AtomicUsize,
}

/// A key whose history is being made.
struct Making<'a> {
    key: &'a KeyScript,
    /// Digests by version number, from 1.
    digests: Vec<Digest>,
}

impl Making<'_> {
    fn id(&self) -> &KeyId {
        &self.key.id
    }

    /// Digest of version `number`.
    fn digest(&self, number: usize) -> Result<Digest, Failure> {
        let found = number.checked_sub(1).and_then(|at| self.digests.get(at)).copied();
        found.ok_or_else(|| Failure::failed(format!("{} has no version {number}", self.key.id)))
    }

    /// Who approves for the owners and for the release; never the author, never Ana, to whom the open ones are left.
    fn reviewers(&self) -> [(&'static str, &'static str); 2] {
        match self.key.group.as_str() {
            "support-ai" => [("bob", "owners"), ("erin", "release")],
            _ => [("erin", "owners"), ("bob", "release")],
        }
    }
}

impl Seeder {
    fn client(&self, who: &str) -> Result<&Client, Failure> {
        let found = self.clients.get(who).or_else(|| self.clients.get(&format!("person:{who}")));
        found.ok_or_else(|| Failure::failed(format!("the demo has no account {who:?}")))
    }

    fn next(&self) -> String {
        format!("demo-seed-{}", self.acts.fetch_add(1, Ordering::Relaxed))
    }

    fn agreed(&self) -> String {
        AGREED[self.acts.load(Ordering::Relaxed) % AGREED.len()].to_owned()
    }

    async fn team(&self, script: &Script, progress: &(dyn Fn(&str) + Sync)) -> Done {
        let dee = self.client("dee")?;
        let mut revisions: BTreeMap<String, Vec<Digest>> = BTreeMap::new();
        for fragment in &script.fragment {
            for body in &fragment.revisions {
                let (name, owning_group) = (fragment.name.clone(), fragment.group.clone());
                let made = dee.create_fragment(&CreateFragment { name, body: body.clone(), owning_group }, &self.next()).await?;
                revisions.entry(fragment.name.clone()).or_default().push(made.digest);
            }
        }
        let mut made = Vec::new();
        for key in &script.key {
            let history = self.history(key, &revisions).await;
            made.push(history.map_err(|e| Failure { message: format!("{}: {}", key.id, e.message), ..e })?);
            progress(&format!("{}: {} versions", key.id, key.version.len()));
        }
        // What waits comes last and backwards, so that the first key of the file is the newest.
        for making in made.iter().rev() {
            self.waiting(making).await.map_err(|e| Failure { message: format!("{}: {}", making.key.id, e.message), ..e })?;
        }
        Ok(())
    }

    /// The key, its versions in order, each as far as it went.
    async fn history<'a>(&self, key: &'a KeyScript, revisions: &BTreeMap<String, Vec<Digest>>) -> Result<Making<'a>, Failure> {
        let dee = self.client("dee")?;
        let body = CreateKey {
            key_id: key.id.clone(),
            owning_group: key.group.clone(),
            unit_type: key.unit,
            confidential: key.confidential,
            description: key.description.clone(),
        };
        dee.create_key(&body, &self.next()).await?;
        let mut making = Making { key, digests: Vec::new() };
        let mut before: Option<Content> = None;
        for (at, version) in key.version.iter().enumerate() {
            let content = version.content(&key.id, before.as_ref(), revisions)?;
            let body = CreateVersion { content: content.clone(), rationale: version.why.clone(), imported: None };
            let saved = dee.create_version(&key.id, &body, &self.next()).await?;
            making.digests.push(saved.version.digest);
            before = Some(content);
            self.verdicts(&saved.version.digest, version).await?;
            self.road(&making, at + 1, version).await?;
        }
        Ok(making)
    }

    async fn verdicts(&self, digest: &Digest, version: &VersionScript) -> Done {
        let ci = self.client("service:ci")?;
        let verdict = |gate: &str| RecordVerdict {
            gate: gate.to_owned(),
            score: None,
            status: None,
            threshold: None,
            summary: String::new(),
            details_url: None,
        };
        for (gate, score) in &version.scores {
            let summary = format!("evaluation set of 2,000 cases: {gate} {score}");
            let body = RecordVerdict { score: Some(*score), summary, ..verdict(gate) };
            ci.record_verdict(digest, &body, &self.next()).await?;
        }
        for (gate, summary) in &version.pending {
            let body = RecordVerdict { status: Some(GateStatus::Pending), summary: summary.clone(), ..verdict(gate) };
            ci.record_verdict(digest, &body, &self.next()).await?;
        }
        Ok(())
    }

    /// Submits a version and takes it as far as it went.
    async fn road(&self, making: &Making<'_>, number: usize, version: &VersionScript) -> Done {
        let digest = making.digest(number)?;
        if version.road == Road::Draft {
            return Ok(());
        }
        self.client("dee")?.submit_version(&digest, &Submit::default(), &self.next()).await?;
        let [owners, release] = making.reviewers();
        if number == making.key.safe_default {
            let why = "What everybody gets when we have to stop";
            self.carry(making, digest, Environment::safe_default(), why, &[owners, release]).await?;
        }
        let all = Some(BasisPoints::ALL);
        for (least, environment, votes) in [
            (Road::Dev, "dev", &[][..]),
            (Road::Staging, "staging", &[owners][..]),
            (Road::Production, "production", &[owners, release][..]),
        ] {
            if version.road >= least {
                let opened = self.open(making, digest, environment.parse()?, &version.why, all).await?;
                self.approve_and_apply(&opened, votes).await?;
            }
        }
        if version.road == Road::Rollout {
            let opened = self.open(making, digest, "production".parse()?, &version.why, None).await?;
            self.approve_and_apply(&opened, &[owners, release]).await?;
            self.step_until(making, BasisPoints::from_percent(version.rollout.unwrap_or(5.0))?).await?;
        }
        Ok(())
    }

    /// Opens, approves and applies to everybody.
    async fn carry(&self, making: &Making<'_>, to: Digest, at: Environment, why: &str, votes: &[(&str, &str)]) -> Done {
        let opened = self.open(making, to, at, why, Some(BasisPoints::ALL)).await?;
        self.approve_and_apply(&opened, votes).await
    }

    async fn open(
        &self,
        making: &Making<'_>,
        to_digest: Digest,
        environment: Environment,
        why: &str,
        percent: Option<BasisPoints>,
    ) -> Result<Promotion, Failure> {
        let body = OpenPromotion { percent, ..wish(making.id(), environment, to_digest, why) };
        Ok(self.client("dee")?.open_promotion(&body, &self.next()).await?)
    }

    async fn approve_and_apply(&self, opened: &Promotion, votes: &[(&str, &str)]) -> Done {
        for (who, gate) in votes {
            self.approve(opened, (who, gate, &self.agreed()), Vec::new()).await?;
        }
        let rationale = Rationale { rationale: format!("{}: everything is met", opened.environment), dry_run: false };
        self.client("carol")?.apply(opened.promotion_id, &rationale, &self.next()).await?;
        Ok(())
    }

    /// An approval of exactly what the promotion's row says.
    async fn approve(&self, opened: &Promotion, (who, gate, why): (&str, &str, &str), hidden: Vec<HiddenSpan>) -> Done {
        let body = Vote {
            gate: Some(gate.to_owned()),
            statement: Some(Statement::of(opened).digest()),
            acknowledged_hidden: hidden,
            ..said(Verdict::Approve, why)
        };
        self.client(who)?.vote(opened.promotion_id, &body, &self.next()).await?;
        Ok(())
    }

    async fn step_until(&self, making: &Making<'_>, share: BasisPoints) -> Done {
        let (carol, environment) = (self.client("carol")?, "production".parse()?);
        let mut reached = carol.pointer(making.id(), &environment).await?.pointer.rollout_pct;
        while reached < share {
            let body = StepTo { rationale: "Quiet so far; the next share of the plan".into(), ..StepTo::default() };
            let moved = carol.step(making.id(), &environment, &body, &self.next()).await?;
            reached = moved.pointer.map_or(share, |pointer| pointer.rollout_pct);
        }
        Ok(())
    }

    /// Promotions that wait for a vote, and what was killed.
    async fn waiting(&self, making: &Making<'_>) -> Done {
        for (at, version) in making.key.version.iter().enumerate() {
            if let Some(open) = &version.open {
                self.left_open(making, making.digest(at + 1)?, open).await?;
            }
        }
        let Some(killed) = &making.key.killed else { return Ok(()) };
        let carol = self.client("carol")?;
        let kill =
            Kill { reason: killed.reason, note: Some(killed.note.clone()), issued_at: None, seen_revision: None, dry_run: false };
        carol.kill(making.id(), &killed.environment, &kill, &self.next()).await?;
        let revive = &killed.revive;
        let body = OpenPromotion {
            percent: Some(BasisPoints::from_percent(revive.percent)?),
            change: Some(revive.change.clone()),
            revive: true,
            ..wish(making.id(), killed.environment.clone(), making.digest(revive.version)?, &revive.why)
        };
        let opened = carol.open_promotion(&body, &self.next()).await?;
        for (who, gate, why) in &revive.approvals {
            self.approve(&opened, (who, gate, why), Vec::new()).await?;
        }
        Ok(())
    }

    async fn left_open(&self, making: &Making<'_>, to: Digest, open: &OpenScript) -> Done {
        let environment = open.environment.clone().map_or_else(|| "production".parse(), Ok)?;
        let body = OpenPromotion { change: open.change.clone(), ..wish(making.id(), environment, to, &open.why) };
        let opened = self.client("dee")?.open_promotion(&body, &self.next()).await?;
        for (who, gate, why) in &open.approvals {
            self.approve(&opened, (who, gate, why), Vec::new()).await?;
        }
        if let Some((who, gate, why)) = &open.hidden_by {
            let shown = self.client(who)?.promotion(opened.promotion_id).await?;
            self.approve(&opened, (who, gate, why), shown.hidden).await?;
        }
        for (who, words) in &open.comments {
            self.client(who)?.vote(opened.promotion_id, &said(Verdict::Comment, words), &self.next()).await?;
        }
        Ok(())
    }
}

/// A wish with the policy's plan.
pub(super) fn wish(key: &KeyId, environment: Environment, to_digest: Digest, why: &str) -> OpenPromotion {
    OpenPromotion {
        key_id: key.clone(),
        environment,
        to_digest,
        rationale: why.to_owned(),
        percent: None,
        plan: None,
        supersedes: None::<Uuid>,
        change: None,
        revive: false,
        baseline: None,
        at_time: None,
        when_ready: false,
        break_glass: false,
        dry_run: false,
    }
}

/// A verdict and its reason.
pub(super) fn said(verdict: Verdict, why: &str) -> Vote {
    Vote {
        verdict,
        gate: None,
        rationale: why.to_owned(),
        statement: None,
        head: None,
        acknowledged_hidden: Vec::new(),
        anchor: None,
        reply_to: None,
    }
}
