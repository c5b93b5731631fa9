//! `approve`, `reject`, `comment`, `retract`, `override`, `close-review`, `note`.

use super::context::{Acts, Context};
use super::exit::{Done, Exit, Failure};
use super::output::{line, note};
use super::promote::{act_failed, promotion_text};
use super::review::Shown;
use super::seen::verified_head;
use super::select::promotion_id;
use crate::client::Client;
use crate::model::{ReadinessKind, Verdict};
use crate::wire::promotions::{Rationale, Vote};
use uuid::Uuid;

/// A vote and why
#[derive(Debug, clap::Args)]
pub struct VoteArgs {
    /// The promotion
    #[arg(value_parser = promotion_id)]
    pub id: Uuid,
    /// The gate; may be left out where only one fits
    #[arg(long)]
    pub gate: Option<String>,
    /// Why
    #[arg(long)]
    pub rationale: String,
    /// Accept the hidden characters that the review shows
    #[arg(long)]
    pub acknowledge_hidden: bool,
    /// Do not ask at a terminal, also where the environment is protected; a script is never asked
    #[arg(long)]
    pub yes: bool,
    /// Sent with the request: the same key and request act once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// Words on a promotion
#[derive(Debug, clap::Args)]
pub struct Words {
    /// The promotion
    #[arg(value_parser = promotion_id)]
    pub id: Uuid,
    /// The words
    #[arg(long, alias = "note")]
    pub rationale: String,
    /// Sent with the request: the same key and request act once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// The note that a kill owes
#[derive(Debug, clap::Args)]
pub struct Note {
    /// The kill's promotion
    #[arg(value_parser = promotion_id)]
    pub id: Uuid,
    /// What happened
    #[arg(long = "note", value_name = "NOTE")]
    pub words: String,
    /// Sent with the request: the same key and request act once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

impl VoteArgs {
    fn acts(&self) -> Acts {
        Acts { dry_run: false, yes: self.yes, idempotency_key: self.idempotency_key.clone() }
    }

    /// Votes. What an approval or override states is computed from the review that is printed to stderr before.
    pub async fn run(self, verdict: Verdict, context: &Context) -> Done {
        let client = context.client()?;
        let mut vote = Vote {
            verdict,
            gate: self.gate.clone(),
            rationale: self.rationale.clone(),
            statement: None,
            head: None,
            acknowledged_hidden: Vec::new(),
            anchor: None,
            reply_to: None,
        };
        if matches!(verdict, Verdict::Approve | Verdict::Override) {
            self.sign(&mut vote, context, &client).await?;
        }
        let key = context.idempotency(&self.acts());
        let row = client.vote(self.id, &vote, &key).await.map_err(|e| act_failed(e.into(), &key))?;
        context.out.answer(&row, |_, a| {
            let gate = if a.gate.is_empty() { String::new() } else { format!(" for {}", line(&a.gate)) };
            format!("{} {}{gate}", line(&a.approver.to_string()), a.verdict)
        })
    }

    /// Shows the promotion and fills in what was shown.
    async fn sign(&self, vote: &mut Vote, context: &Context, client: &Client) -> Done {
        let shown = Shown::fetch(client, self.id).await?;
        let statement = shown.statement()?;
        let p = &shown.view.promotion;
        if statement != p.statement {
            return Err(Failure::new(Exit::Integrity, "what was shown gives another statement than the promotion's"));
        }
        let mine = &shown.view.mine;
        if vote.verdict == Verdict::Approve {
            if let Some(refused) = &mine.approve_refused {
                return Err(Failure::new(Exit::Denied, format!("you cannot approve this: {refused}")));
            }
            let is_unmet = |gate: &String| {
                shown.view.readiness.unmet().any(|item| item.kind == ReadinessKind::Approval && item.name == *gate)
            };
            let unmet = mine.can_approve.iter().filter(|gate| is_unmet(gate)).count();
            if vote.gate.is_none() && mine.can_approve.len() > 1 && unmet != 1 {
                return Err(Failure::usage("more than one gate fits: name one with --gate")
                    .hint(format!("yours: {}", mine.can_approve.join(", "))));
            }
        }
        // The answer alone goes to stdout; what is signed is shown beside it.
        let beside = super::output::Output { color: false, ..context.out.clone() };
        note(&shown.text(&beside, false));
        if self.acknowledge_hidden {
            vote.acknowledged_hidden = shown.hidden().to_vec();
        } else if shown.view.rule.acknowledges_hidden() && !shown.hidden().is_empty() {
            let count = shown.hidden().len();
            let why = format!("it adds hidden characters in {count} places, which the policy wants acknowledged");
            return Err(Failure::new(Exit::Unmet, why).hint("look at them above, then add --acknowledge-hidden"));
        }
        let what = format!("{} {} in {}", vote.verdict, p.key_id, p.environment);
        context.confirm(shown.view.rule.is_protected(), &what, p.key_id.last_segment(), &self.acts())?;
        vote.statement = Some(statement);
        vote.head = verified_head(context, client).await?;
        Ok(())
    }
}

impl Words {
    fn key(&self, context: &Context) -> String {
        context.idempotency(&Acts { idempotency_key: self.idempotency_key.clone(), ..Acts::default() })
    }

    /// Comments.
    pub async fn comment(self, context: &Context) -> Done {
        let vote = Vote {
            verdict: Verdict::Comment,
            gate: None,
            rationale: self.rationale.clone(),
            statement: None,
            head: None,
            acknowledged_hidden: Vec::new(),
            anchor: None,
            reply_to: None,
        };
        let row = context.client()?.vote(self.id, &vote, &self.key(context)).await?;
        context.out.answer(&row, |_, a| format!("{} commented", line(&a.approver.to_string())))
    }

    /// Reviews what was done without approval beforehand.
    pub async fn close_review(self, context: &Context) -> Done {
        let body = Rationale { rationale: self.rationale.clone(), dry_run: false };
        let closed = context.client()?.review(self.id, &body, &self.key(context)).await?;
        context.out.answer(&closed, promotion_text)
    }
}

impl Note {
    pub async fn run(self, context: &Context) -> Done {
        let key = context.idempotency(&Acts { idempotency_key: self.idempotency_key, ..Acts::default() });
        let body = Rationale { rationale: self.words, dry_run: false };
        let noted = context.client()?.note(self.id, &body, &key).await?;
        context.out.answer(&noted, promotion_text)
    }
}
