//! The desk: texts that were not sent, and acts that were sent and not answered. Both outlive a dialog and a restart.
//!
//! A dialog hands its act over; the desk sends it, sends it again where it must, says how it ended, and keeps it on disk
//! (`act.TICKET` among the drafts) until it is answered.

use super::arming::Moment;
use super::sending::{NO_ANSWER, Outcome, Sending, Stage};
use crate::model::{Environment, KeyId, Subject};
use crate::tui::effect::{Call, Done, Effect, Failure};
use crate::tui::msg::{DialogKind, DialogRequest, Followed, Msg, Notice};
use crate::tui::state::Cx;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use uuid::Uuid;

/// An act as it is kept on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The Idempotency-Key of every attempt.
    pub(crate) ticket: Uuid,
    /// The registry that it is for: an act is never sent to another.
    pub(crate) server: String,
    /// What is sent.
    pub(crate) call: Call,
    /// The key that it is about.
    pub(crate) key: KeyId,
    /// Where.
    pub(crate) environment: Option<Environment>,
    /// What it is, in words: `kill support.refund.system in prod`.
    pub(crate) title: String,
    /// What is said when it is done: `killed support.refund.system in prod`.
    pub(crate) done: String,
    /// The command line that does the same.
    pub(crate) command: String,
    /// Whether it keeps trying while the registry is away: a kill.
    pub(crate) insists: bool,
}

/// An act that was sent and not answered.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    /// The act.
    pub(crate) kept: Kept,
    /// Its attempts.
    pub(crate) sending: Sending,
    /// Whether an open dialog shows it (and its failure).
    pub(crate) watched: bool,
    /// Whether the person was asked about it and said later.
    snoozed: bool,
    /// What the last attempt came to.
    pub(crate) last: Option<Failure>,
    /// When it was first sent.
    sent_at: Moment,
    /// When it is looked at again while it waits for its answer.
    wake: Option<Moment>,
}

/// Texts that were not sent, and acts that were not answered.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    texts: BTreeMap<String, String>,
    acts: Vec<Act>,
    numbers: Numbers,
}

/// Numbers of audit events for answers that carry none: the stream tells them, before the answer or after it.
#[derive(Debug, Default)]
struct Numbers {
    /// The person's own newest events: when they came, what they are about, their number.
    mine: VecDeque<(Moment, String, u64)>,
    /// What was said without its number: about what, and until when the number is worth saying.
    open: Option<(String, String, Moment)>,
}

impl Numbers {
    /// An event of the person's own; a notice that waited for its number.
    fn note(&mut self, subject: &str, seq: u64, now: Moment) -> Option<Notice> {
        self.mine.push_back((now, subject.to_owned(), seq));
        if self.mine.len() > 16 {
            self.mine.pop_front();
        }
        let (about, _, until) = self.open.as_ref()?;
        if about != subject || now > *until {
            return None;
        }
        self.open.take().map(|(_, text, _)| Notice::done(text, Some(seq)))
    }

    /// The number of an act about `subject` that was sent at `sent`, where it is known; else `text` waits for it.
    fn find(&mut self, subject: String, text: &str, sent: Moment, now: Moment) -> Option<u64> {
        let known = self.mine.iter().rev().find(|(at, about, _)| *about == subject && *at >= sent).map(|event| event.2);
        self.open = known.is_none().then(|| (subject, text.to_owned(), now + Duration::from_secs(5)));
        known
    }
}

impl Desk {
    /// The desk as an earlier process left it: `texts` by name, as [`crate::tui::drafts::Drafts`] read them.
    pub(crate) fn new(texts: BTreeMap<String, String>, now: Moment) -> Self {
        let left =
            texts.iter().filter(|(name, _)| name.starts_with("act.")).filter_map(|(_, text)| serde_json::from_str(text).ok());
        let acts = left
            .map(|kept: Kept| Act {
                sending: Sending::left_over(kept.insists, now),
                watched: false,
                snoozed: false,
                last: None,
                sent_at: now,
                wake: None,
                kept,
            })
            .collect();
        Self { texts, acts, numbers: Numbers::default() }
    }

    /// The draft kept under `name`.
    pub(crate) fn draft(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// Keeps (or forgets) a draft, here and on disk.
    pub(crate) fn keep(&mut self, name: &str, text: Option<String>) -> Effect {
        match &text {
            Some(text) => self.texts.insert(name.to_owned(), text.clone()),
            None => self.texts.remove(name),
        };
        Effect::Draft { name: name.to_owned(), text }
    }

    /// The act with this ticket, while it is not answered.
    pub(crate) fn act(&self, ticket: Uuid) -> Option<&Act> {
        self.acts.iter().find(|act| act.kept.ticket == ticket)
    }

    fn act_mut(&mut self, ticket: Uuid) -> Option<&mut Act> {
        self.acts.iter_mut().find(|act| act.kept.ticket == ticket)
    }

    /// Sends an act for the first time; a watched one leaves its failure to its dialog.
    pub(crate) fn send(&mut self, kept: Kept, watched: bool, now: Moment) -> Vec<Effect> {
        let mut sending = Sending::new(kept.insists);
        sending.sent(now);
        let send = Effect::Send { ticket: kept.ticket, call: Box::new(kept.call.clone()) };
        let keep = self.keep(&name(kept.ticket), serde_json::to_string(&kept).ok());
        self.acts.retain(|act| act.kept.ticket != kept.ticket);
        self.acts.push(Act { kept, sending, watched, snoozed: false, last: None, sent_at: now, wake: None });
        vec![keep, send]
    }

    /// The dialog that watched an act closed: from here on the status line says what becomes of it.
    pub(crate) fn unwatch(&mut self, ticket: Uuid) {
        if let Some(act) = self.act_mut(ticket) {
            act.watched = false;
            act.snoozed = act.sending.stage() == Stage::Asking;
        }
    }

    /// The person was asked about an act and wants it sent again.
    pub(crate) fn confirm(&mut self, ticket: Uuid, cx_steady: Moment) -> Vec<Effect> {
        let Some(act) = self.act_mut(ticket) else { return Vec::new() };
        act.sending.confirm(cx_steady);
        act.watched = true;
        act.send_if_due(cx_steady).into_iter().collect()
    }

    /// The person gives an act up: it is not sent again, whatever became of it.
    pub(crate) fn forget(&mut self, ticket: Uuid) -> Vec<Effect> {
        self.acts.retain(|act| act.kept.ticket != ticket);
        vec![self.keep(&name(ticket), None)]
    }

    /// What the status line says as long as some act is not known to be in effect.
    pub(crate) fn banner(&self, now: Moment) -> Option<String> {
        let act = self.acts.iter().filter(|act| !act.watched).max_by_key(|act| act.kept.insists)?;
        let title = &act.kept.title;
        let tried = act.sending.trying_for(now);
        let seconds = tried.as_secs();
        match act.sending.stage() {
            Stage::Waiting if act.sending.attempts() < 2 && !(act.kept.insists && tried >= NO_ANSWER) => None,
            Stage::Asking => Some(format!("{title}: outcome unknown, and not sent again unless you say so")),
            _ if act.kept.insists => {
                let first = act.sending.stage() == Stage::Waiting && act.sending.attempts() < 2;
                let known = if first || act.sending.is_uncertain() { " as far as is known" } else { "" };
                Some(format!("{title}: NOT YET IN EFFECT{known}, trying for {seconds} s"))
            }
            _ => Some(format!("{title}: outcome unknown, asking again with the same key ({seconds} s)")),
        }
    }

    /// Every message, before the dialog sees it: answers, ticks, the stream.
    pub(crate) fn update(&mut self, msg: &Msg, cx: &Cx) -> Vec<Effect> {
        let mut effects = self.hear(msg, cx);
        // How long a kill has had no answer is said by the second, whether or not anything else happens.
        let waits = |act: &&mut Act| act.kept.insists && act.sending.stage() == Stage::Waiting;
        for act in self.acts.iter_mut().filter(waits).filter(|act| act.wake.is_none_or(|at| cx.steady >= at)) {
            let at = cx.steady + Duration::from_secs(1);
            act.wake = Some(at);
            effects.push(super::wake_at(at, cx));
        }
        effects
    }

    fn hear(&mut self, msg: &Msg, cx: &Cx) -> Vec<Effect> {
        match msg {
            Msg::Sent { ticket, receipt } => self.answered(*ticket, receipt, cx),
            Msg::Followed(Followed::Connected { .. }) => {
                self.acts.iter_mut().for_each(|act| act.snoozed = false);
                self.back(cx)
            }
            Msg::Followed(Followed::Heartbeat(_)) => self.back(cx),
            Msg::Followed(Followed::Audit(event)) => {
                let body = event.body.as_ref().filter(|body| cx.session.me.as_ref().is_some_and(|me| me.actor == body.actor));
                let late = body.and_then(|body| self.numbers.note(&body.subject.0, event.seq, cx.steady));
                late.map(tell).into_iter().collect()
            }
            Msg::Ticked => self.acts.iter_mut().filter_map(|act| act.send_if_due(cx.steady)).collect(),
            _ => Vec::new(),
        }
    }

    /// A dialog about an act that waits for the person's word, once they are signed in to its registry.
    pub(crate) fn asks(&mut self, cx: &Cx) -> Option<DialogRequest> {
        cx.session.me.as_ref()?;
        let server = cx.session.server.as_str();
        let asking =
            |act: &&mut Act| act.sending.stage() == Stage::Asking && !act.snoozed && !act.watched && act.kept.server == server;
        let act = self.acts.iter_mut().find(asking)?;
        act.watched = true;
        let mut request = DialogRequest::new(DialogKind::Unanswered, act.kept.key.clone());
        request.environment.clone_from(&act.kept.environment);
        request.ticket = Some(act.kept.ticket);
        Some(request)
    }

    /// The registry answers again.
    fn back(&mut self, cx: &Cx) -> Vec<Effect> {
        let again = |act: &mut Act| {
            act.sending.back(cx.steady);
            act.send_if_due(cx.steady)
        };
        self.acts.iter_mut().filter_map(again).collect()
    }

    fn answered(&mut self, ticket: Uuid, receipt: &Result<crate::tui::effect::Receipt, Failure>, cx: &Cx) -> Vec<Effect> {
        let Some(act) = self.act_mut(ticket) else { return Vec::new() };
        act.last = receipt.as_ref().err().cloned();
        let outcome = act.sending.answered(cx.steady, receipt.as_ref().err());
        let mut effects = Vec::new();
        match outcome {
            Outcome::Unknown => {
                if let Stage::Again(at) = act.sending.stage() {
                    effects.push(super::wake_at(at, cx));
                }
                return effects;
            }
            Outcome::Done => {
                if let Ok(receipt) = receipt {
                    let text = said(&act.kept.done, &receipt.done);
                    let (about, sent) = (subject(&act.kept.call, &receipt.done), act.sent_at);
                    let seq = receipt.seq.or_else(|| self.numbers.find(about?, &text, sent, cx.steady));
                    effects.push(tell(Notice::done(text, seq)));
                }
            }
            Outcome::Conflict | Outcome::Failed if !act.watched => {
                let why = act.last.as_ref().map_or_else(String::new, |failure| failure.text.clone());
                effects.push(tell(Notice::error(format!("{}: {why}", act.kept.title))));
            }
            Outcome::Conflict | Outcome::Failed => {}
        }
        effects.extend(self.forget(ticket));
        effects
    }
}

impl Act {
    fn send_if_due(&mut self, now: Moment) -> Option<Effect> {
        self.sending.is_due(now).then(|| {
            self.sending.sent(now);
            Effect::Send { ticket: self.kept.ticket, call: Box::new(self.kept.call.clone()) }
        })
    }
}

/// What is said of a success: of many kills, how many worked.
fn said(done: &str, what: &Done) -> String {
    match what {
        Done::Kills(outcomes) => {
            let worked = outcomes.iter().filter(|o| o.problem.is_none()).count();
            format!("{done}: {worked} of {}", outcomes.len())
        }
        Done::Version(version) if done.starts_with("saved ") => {
            format!("{done} v{} {} ({}): S submits it", version.number, version.digest.short(), version.state)
        }
        _ => done.to_owned(),
    }
}

/// What the audit event of an act is about, where the answer does not number it.
fn subject(call: &Call, done: &Done) -> Option<String> {
    match (call, done) {
        (_, Done::Submitted(submitted)) if submitted.promotion.is_some() => {
            submitted.promotion.as_ref().map(|promotion| Subject::promotion(promotion.promotion_id).0)
        }
        (_, Done::Promotion(promotion)) => Some(Subject::promotion(promotion.promotion_id).0),
        (Call::Vote(id, _) | Call::Withdraw(id, _) | Call::Review(id, _) | Call::Note(id, _), _) => {
            Some(Subject::promotion(*id).0)
        }
        (Call::Save(..), Done::Version(version)) => Some(Subject::digest(&version.digest).0),
        (Call::Submit(digest, _) | Call::Discard(digest, _) | Call::Quarantine(digest, _) | Call::Lift(digest, _), _) => {
            Some(Subject::digest(digest).0)
        }
        _ => None,
    }
}

fn name(ticket: Uuid) -> String {
    format!("act.{ticket}")
}

fn tell(notice: Notice) -> Effect {
    Effect::Tell(Box::new(Msg::Said(notice)))
}
