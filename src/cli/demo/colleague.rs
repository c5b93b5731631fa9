//! A colleague who works beside you: verdicts, comments, approvals now and then, and applications that resolve.
//!
//! Acts only through the HTTP API, on one key that is the colleague's own; elsewhere it only comments. So nothing that waits
//! for you is done by somebody else.

use super::People;
use super::seed::{said, wish};
use crate::cli::exit::{Done, Failure};
use crate::client::{Answer, Client, ClientError};
use crate::clock::Clock;
use crate::model::{BasisPoints, Digest, Environment, KeyId, Verdict, VersionState};
use crate::rules::statement::Statement;
use crate::wire::pointers::ListPointers;
use crate::wire::promotions::{ListPromotions, Rationale};
use crate::wire::versions::RecordVerdict;
use std::time::Duration;

/// The key with which the colleague tries things out.
const OWN: &str = "search.suggest.chips";
/// Between two acts at first, and once the demo has run for a while.
const BRISK: Duration = Duration::from_secs(8);
const CALM: Duration = Duration::from_mins(1);
/// How many acts are brisk.
const BRISK_ACTS: usize = 80;
/// Between two resolves.
const TRAFFIC: Duration = Duration::from_millis(250);
/// Calls in a row that found no registry, until it is gone for good.
const GONE: usize = 120;

/// What the colleague remarks on promotions that wait.
const REMARKS: [&str; 5] = [
    "Compared fifty answers before and after: three differ, all for the better.",
    "The tone is right. I would shorten the second sentence, but that can wait.",
    "Ran it against last week's complaints: it would have helped in eleven of forty.",
    "Nothing to add from my side.",
    "Please watch the error rate for the first half hour after it is applied.",
];

/// Works through the HTTP API until the process ends or the registry is gone for good.
///
/// # Errors
/// An account that the demo does not have; a registry that does not come back.
pub async fn work(people: &People) -> Done {
    let colleague = Colleague {
        own: OWN.parse()?,
        clock: Clock::System,
        me: people.client("service:colleague")?,
        erin: people.client("person:erin")?,
        run: hex::encode(Clock::System.bytes::<8>()),
    };
    let services = Services {
        clock: Clock::System,
        helpdesk: people.client("service:helpdesk-api")?,
        chat: people.client("service:chat-edge")?,
        search: people.client("service:search-frontend")?,
    };
    tokio::select! {
        gone = colleague.acts() => gone,
        gone = services.traffic(&colleague.me) => gone,
    }
}

/// Counts calls in a row that found no registry.
#[derive(Default)]
struct Patience(usize);

impl Patience {
    /// Whether to go on. A refusal is no reason to stop: the world moves while one works.
    async fn after<T>(&mut self, answer: &Answer<T>) -> Done {
        match answer {
            Err(e @ (ClientError::Unreachable { .. } | ClientError::Timeout { .. })) => {
                self.0 += 1;
                if self.0 >= GONE {
                    return Err(Failure::failed(e.to_string()));
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            _ => self.0 = 0,
        }
        Ok(())
    }
}

fn drawn(clock: &Clock, below: usize) -> usize {
    usize::from(u16::from_be_bytes(clock.bytes())) % below.max(1)
}

struct Colleague {
    own: KeyId,
    clock: Clock,
    me: Client,
    /// Approves what the colleague opens.
    erin: Client,
    /// Sets the idempotency keys of this process apart from those of others.
    run: String,
}

impl Colleague {
    fn key(&self, act: usize, part: &str) -> String {
        format!("colleague-{}-{act}-{part}", self.run)
    }

    async fn acts(&self) -> Done {
        let mut patience = Patience::default();
        for act in 0_usize.. {
            tokio::time::sleep(if act < BRISK_ACTS { BRISK } else { CALM }).await;
            let done = match act % 4 {
                0 => self.remark(act).await,
                1 => self.try_out(act).await,
                2 => self.measure(act).await,
                _ => self.pass_on(act).await,
            };
            patience.after(&done).await?;
        }
        Ok(())
    }

    /// A comment on a promotion that waits and on which the colleague has not said anything yet.
    async fn remark(&self, act: usize) -> Answer<()> {
        let open = ListPromotions { state: Some("open".into()), ..ListPromotions::default() };
        let me = self.me.me().await?.actor;
        let waiting = self.me.all_promotions(&open).await?;
        let silent = waiting.iter().find(|view| view.approvals.iter().all(|row| row.approver != me));
        if let Some(view) = silent {
            let remark = said(Verdict::Comment, REMARKS[(act / 4) % REMARKS.len()]);
            self.me.vote(view.promotion.promotion_id, &remark, &self.key(act, "remark")).await?;
        }
        Ok(())
    }

    /// Another version of the own key to dev.
    async fn try_out(&self, act: usize) -> Answer<()> {
        let dev = environment("dev")?;
        let serving = self.me.pointer(&self.own, &dev).await?.pointer.digest;
        let versions = self.me.versions(&self.own).await?;
        let others: Vec<Digest> = versions
            .iter()
            .map(|row| &row.version)
            .filter(|version| version.digest != serving && version.state != VersionState::Draft && version.quarantine.is_none())
            .map(|version| version.digest)
            .collect();
        let Some(to) = others.get(drawn(&self.clock, others.len())) else { return Ok(()) };
        self.promote(act, dev, *to, "Trying another wording").await
    }

    /// An evaluation of what dev serves.
    async fn measure(&self, act: usize) -> Answer<()> {
        let digest = self.me.pointer(&self.own, &environment("dev")?).await?.pointer.digest;
        // 0.68 to 0.87: now and then below the threshold of 0.70.
        let score = f64::from(68 + u32::try_from(drawn(&self.clock, 20)).unwrap_or(0)) / 100.0;
        let body = RecordVerdict {
            gate: "relevance".into(),
            score: Some(score),
            status: None,
            threshold: None,
            summary: format!("forty searches by hand: {score}"),
            details_url: None,
        };
        self.me.record_verdict(&digest, &body, &self.key(act, "measure")).await.map(drop)
    }

    /// What dev serves goes to staging, with an approval.
    async fn pass_on(&self, act: usize) -> Answer<()> {
        let digest = self.me.pointer(&self.own, &environment("dev")?).await?.pointer.digest;
        self.promote(act, environment("staging")?, digest, "Good enough for staging").await
    }

    async fn promote(&self, act: usize, environment: Environment, to: Digest, why: &str) -> Answer<()> {
        let approved = environment.as_str() == "staging";
        let mut body = wish(&self.own, environment, to, why);
        body.percent = Some(BasisPoints::ALL);
        let opened = self.me.open_promotion(&body, &self.key(act, "open")).await?;
        if approved {
            let mut vote = said(Verdict::Approve, "Saw it in dev; go on");
            vote.statement = Some(Statement::of(&opened).digest());
            self.erin.vote(opened.promotion_id, &vote, &self.key(act, "vote")).await?;
        }
        let rationale = Rationale { rationale: why.to_owned(), dry_run: false };
        self.me.apply(opened.promotion_id, &rationale, &self.key(act, "apply")).await.map(drop)
    }
}

fn environment(name: &str) -> Answer<Environment> {
    name.parse().map_err(|e: crate::model::IdError| ClientError::Protocol(e.to_string()))
}

/// The applications.
struct Services {
    clock: Clock,
    helpdesk: Client,
    chat: Client,
    search: Client,
}

impl Services {
    /// Resolves what production serves, for one of five thousand units, a few times a second.
    async fn traffic(&self, reader: &Client) -> Done {
        let mut patience = Patience::default();
        let production: Environment = "production".parse()?;
        let mut keys: Vec<KeyId> = Vec::new();
        for call in 0_usize.. {
            tokio::time::sleep(TRAFFIC).await;
            if call % 400 == 0 {
                let ask = ListPointers { environment: Some(production.to_string()), ..ListPointers::default() };
                let pointers = reader.all_pointers(&ask).await;
                patience.after(&pointers).await?;
                keys = pointers.map_or(keys, |found| found.into_iter().map(|view| view.pointer.key_id).collect());
            }
            let Some(key) = keys.get(drawn(&self.clock, keys.len())) else { continue };
            let client = match key.namespace().split('.').next() {
                Some("search") => &self.search,
                _ if call % 2 == 0 => &self.helpdesk,
                _ => &self.chat,
            };
            let unit = format!("unit-{}", drawn(&self.clock, 5000));
            patience.after(&client.resolve(&production, key, Some(&unit)).await).await?;
        }
        Ok(())
    }
}
