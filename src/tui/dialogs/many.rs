//! One act on many rows: each row is read, judged and sent by itself, under one rationale and one typed token. Rows that
//! cannot be acted on leave the set with their reason; each row ends with an outcome of its own.

use super::approve;
use super::desk::{Desk, Kept};
use super::form::Choice;
use super::known::Known;
use super::sheet::{Row, Words};
use super::spec::{self, Ask, Spec, Token};
use super::start::{is_about_promotion, place};
use super::words::plural;
use crate::model::{Environment, Subject};
use crate::tui::effect::{Answer, Effect, Failure, Query, Receipt};
use crate::tui::msg::{DialogKind, DialogRequest, Followed};
use crate::tui::state::Cx;
use crate::tui::theme::Role;
use crate::wire::pointers::KillOutcome;
use std::collections::BTreeSet;
use uuid::Uuid;

/// The most rows of one act: what a person can still look through.
pub(crate) const MOST: usize = 100;
/// Acts that are under way at once.
const AT_ONCE: usize = 4;

/// How a row stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stand {
    /// Not read yet.
    Reading,
    /// It will be acted on.
    In,
    /// It left the set, and why.
    Out(String),
    /// Sent, not answered.
    Sent,
    /// Done, with its number where the answer says it.
    Done(Option<u64>),
    /// Refused, and why.
    Failed(String),
}

/// One row.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) request: DialogRequest,
    environment: Option<Environment>,
    ticket: Uuid,
    known: Known,
    unread: Option<String>,
    spec: Spec,
    pub(super) stand: Stand,
}

/// The rows of one act.
#[derive(Debug)]
pub(crate) struct Set {
    kind: DialogKind,
    pub(super) items: Vec<Item>,
    /// Whether the acts go out.
    begun: bool,
}

/// What the act is called: over the rows, on the button, when it is done.
fn names(kind: DialogKind) -> Option<(&'static str, &'static str, &'static str)> {
    Some(match kind {
        DialogKind::Approve => ("APPROVE", "Approve", "approved"),
        DialogKind::RequestChanges => ("REQUEST CHANGES of", "Request changes of", "requested changes of"),
        DialogKind::Comment => ("COMMENT on", "Comment on", "commented on"),
        DialogKind::Withdraw => ("WITHDRAW", "Withdraw", "withdrew"),
        DialogKind::SettleReview => ("REVIEW afterwards", "Close the reviews of", "reviewed"),
        DialogKind::Promote => ("PROMOTE", "Promote", "promoted"),
        DialogKind::Hold => ("HOLD", "Hold", "held"),
        DialogKind::Resume => ("RESUME", "Resume", "resumed"),
        DialogKind::Rollback => ("ROLL BACK", "Roll back", "rolled back"),
        _ => return None,
    })
}

impl Set {
    /// The rows of a request for many; none where it is for one.
    pub(super) fn of(request: &DialogRequest, cx: &mut Cx) -> Option<Self> {
        let item = |row: &DialogRequest| Item {
            environment: place(row, cx.session),
            ticket: cx.slots.ticket(),
            known: Known { promotion: row.promotion.clone().filter(|_| is_about_promotion(row.kind)), ..Known::default() },
            unread: None,
            spec: Spec::default(),
            stand: Stand::Reading,
            request: row.clone(),
        };
        let items: Vec<Item> = request.set.iter().take(MOST).map(item).collect();
        (!items.is_empty()).then_some(Self { kind: request.kind, items, begun: false })
    }

    /// What is read: one thing a row.
    pub(super) fn query(&self) -> Query {
        let one = |item: &Item| match (&item.known.promotion, &item.environment) {
            (Some(view), _) => Query::Promotion(view.promotion.promotion_id),
            (None, Some(environment)) => Query::Facts(item.request.key.clone(), environment.clone()),
            (None, None) => Query::History(item.request.key.clone()),
        };
        Query::Several(self.items.iter().map(one).collect())
    }

    /// What was read, in the order of the rows.
    pub(super) fn read(&mut self, answers: &[Result<Answer, Failure>]) {
        for (item, answer) in self.items.iter_mut().zip(answers) {
            match answer {
                Ok(answer) => {
                    item.known.take(answer);
                    item.unread = None;
                    if item.stand == Stand::Reading {
                        item.stand = Stand::In;
                    }
                }
                Err(failure) => {
                    item.unread = Some(failure.text.clone());
                    item.stand = Stand::Out(failure.text.clone());
                }
            }
        }
    }

    /// What each row would send, and whether it stays in the set; nothing changes once the acts go out.
    pub(super) fn judge(&mut self, ask: &Ask) {
        for item in self.items.iter_mut().filter(|_| !self.begun) {
            let view = item.known.promotion.as_deref();
            let gates = view.map(|view| approve::gates(item.request.kind, view)).unwrap_or_default();
            let mut form = ask.form.clone();
            form.choice = (gates.len() == 1).then(|| Choice::of("Gate", gates.iter().cloned()));
            let (request, environment) = (&item.request, item.environment.as_ref());
            let mut spec = spec::of(&Ask { request, environment, known: &item.known, form: &form, ..*ask });
            if gates.len() > 1 {
                spec.blocked.insert(0, "more than one gate waits for you: open it and choose".into());
            }
            item.spec = spec;
            item.stand = match (&item.stand, &item.unread, item.spec.blocked.first()) {
                (Stand::Reading, ..) => Stand::Reading,
                (_, Some(why), _) | (_, None, Some(why)) => Stand::Out(why.clone()),
                _ if item.spec.call.is_none() => Stand::Out("there is nothing to do here".into()),
                _ => Stand::In,
            };
        }
    }

    fn count(&self, is: impl Fn(&Stand) -> bool) -> usize {
        self.items.iter().filter(|item| is(&item.stand)).count()
    }

    /// What the decision rests on, row by row.
    pub(super) fn pin(&self) -> super::arming::Pin {
        let mut pin = super::arming::Pin::default();
        for item in self.items.iter().filter(|item| item.unread.is_none()) {
            let known = item.known.pin();
            let facts = crate::rules::canonical::sha256(format!("{:?}", known.parts).as_bytes()).short();
            pin.parts.insert(item.name(), format!("revision {} ({})", known.revision, &facts[..4]));
        }
        pin
    }

    /// Whether the stream speaks of one of the rows.
    pub(super) fn concerns(&self, followed: &Followed) -> bool {
        self.items.iter().any(|item| match followed {
            Followed::Pointer(pointer) => {
                pointer.key_id == item.request.key && Some(&pointer.environment) == item.environment.as_ref()
            }
            Followed::Audit(event) => event.body.as_ref().is_some_and(|body| {
                let promotion = item.known.promotion.as_ref().map(|view| Subject::promotion(view.promotion.promotion_id));
                body.subject == Subject::key(&item.request.key) || Some(&body.subject) == promotion.as_ref()
            }),
            _ => false,
        })
    }

    /// Sends what may go out now.
    pub(super) fn send(&mut self, cx: &mut Cx) -> Vec<Effect> {
        self.begun = true;
        let mut effects = Vec::new();
        let mut free = AT_ONCE.saturating_sub(self.count(|stand| *stand == Stand::Sent));
        for item in &mut self.items {
            if free == 0 {
                break;
            }
            let Some(call) = item.spec.call.clone().filter(|_| item.stand == Stand::In) else { continue };
            let kept = Kept {
                ticket: item.ticket,
                server: cx.session.server.clone(),
                call,
                key: item.request.key.clone(),
                environment: item.environment.clone(),
                title: item.spec.task.clone(),
                done: item.spec.done.clone(),
                command: item.spec.command.clone(),
                insists: false,
            };
            effects.extend(cx.desk.send(kept, true, cx.steady));
            item.stand = Stand::Sent;
            free -= 1;
        }
        effects
    }

    /// An answer to one of the acts; whether it was. One whose outcome is unknown is tried again and stays as it is.
    pub(super) fn answered(&mut self, ticket: Uuid, receipt: &Result<Receipt, Failure>, desk: &Desk) -> bool {
        let Some(item) = self.items.iter_mut().find(|item| item.ticket == ticket) else { return false };
        item.stand = match receipt {
            Ok(receipt) => Stand::Done(receipt.seq),
            Err(_) if desk.act(ticket).is_some() => Stand::Sent,
            Err(failure) => Stand::Failed(failure.text.clone()),
        };
        true
    }

    /// Whether everything that was to be done is answered.
    pub(super) fn is_over(&self) -> bool {
        self.begun && self.count(|stand| matches!(stand, Stand::In | Stand::Sent | Stand::Reading)) == 0
    }

    /// Acts that are not answered.
    pub(super) fn under_way(&self) -> impl Iterator<Item = Uuid> {
        self.items.iter().filter(|item| item.stand == Stand::Sent).map(|item| item.ticket)
    }

    /// `approved 4 of 5`, with what was left out.
    pub(super) fn said(&self) -> String {
        let (_, _, done) = names(self.kind).unwrap_or_default();
        let worked = self.count(|stand| matches!(stand, Stand::Done(_)));
        let tried = worked + self.count(|stand| matches!(stand, Stand::Failed(_) | Stand::Sent | Stand::In));
        format!("{done} {worked} of {}", plural(tried, "row"))
    }

    /// `3 of 8`: answered, and all that go out.
    pub(super) fn progress(&self) -> String {
        let answered = self.count(|stand| matches!(stand, Stand::Done(_) | Stand::Failed(_)));
        format!("{answered} of {}", answered + self.count(|stand| matches!(stand, Stand::In | Stand::Sent)))
    }

    /// How much the rows that stay in the set are used.
    fn reach(&self) -> Row {
        if self.count(|stand| *stand == Stand::Reading) > 0 {
            return Row::named("reach", "reading");
        }
        let (mut per_minute, mut services) = (0, BTreeSet::new());
        for reach in self.items.iter().filter(|item| item.stand == Stand::In).filter_map(|item| item.known.reach()) {
            per_minute += reach.per_minute;
            services.extend(&reach.services);
        }
        Row::named("reach", &format!("{per_minute} resolves a minute on {}", plural(services.len(), "service")))
    }
}

impl Item {
    fn name(&self) -> String {
        let environment = self.environment.as_ref().map_or("", Environment::as_str);
        format!("{} {environment}", self.request.key)
    }

    fn row(&self) -> Row {
        let (role, sign, why) = match &self.stand {
            Stand::Reading => (Role::Pending, "? ", "reading".to_owned()),
            Stand::In => (Role::Ok, "+ ", String::new()),
            Stand::Out(why) => (Role::Dim, "- ", format!("left out: {why}")),
            Stand::Sent => (Role::Pending, "? ", "sent".into()),
            Stand::Done(seq) => (Role::Ok, "+ ", format!("done{}", seq.map(|n| format!(" #{n}")).unwrap_or_default())),
            Stand::Failed(why) => (Role::Danger, "x ", why.clone()),
        };
        let words = Words::of(role, sign).and(if role == Role::Dim { Role::Dim } else { Role::Strong }, &self.name());
        Row::Line(if why.is_empty() { words } else { words.and(role, &format!("  {why}")) })
    }
}

/// How each row stands.
pub(super) fn rows(set: &Set) -> Vec<Row> {
    set.items.iter().map(Item::row).collect()
}

/// See [`super::spec::of`].
pub(super) fn spec(set: &Set) -> Spec {
    // What is not read yet counts until it is known to leave.
    let ready = set.count(|stand| matches!(stand, Stand::In | Stand::Reading));
    let rows = rows(set);
    let Some((title, button, _)) = names(set.kind) else {
        let blocked = vec!["this act takes one row at a time: esc here, and esc again clears the marks".to_owned()];
        return Spec { title: "MARKED ROWS".into(), rows, blocked, grave: true, ..Spec::default() };
    };
    let counted = plural(ready, "key");
    let first = set.items.iter().find(|item| item.stand == Stand::In).or(set.items.first()).map(|item| &item.spec);
    let mut spec = Spec {
        title: format!("{title} {} marked", plural(set.items.len(), "row")),
        why: first.map_or("Why", |spec| spec.why),
        why_required: first.is_none_or(|spec| spec.why_required),
        token: Some(Token { text: counted.clone(), asks: "Type how many to arm:" }),
        button: format!("{button} {counted}"),
        command: first.map(|spec| format!("{}  (one each)", spec.command)).unwrap_or_default(),
        grave: true,
        ..Spec::default()
    };
    spec.rows.push(set.reach());
    spec.rows.extend(rows);
    if ready == 0 && !set.begun {
        (spec.token, spec.blocked) = (None, vec!["no row is left: see the reasons above".into()]);
    }
    spec
}

/// What became of many kills, key by key.
pub(super) fn kills(outcomes: &[KillOutcome]) -> Vec<Row> {
    let row = |outcome: &KillOutcome| {
        let key = outcome.key_id.as_str();
        match (&outcome.moved, &outcome.problem) {
            (_, Some(problem)) => {
                Words::of(Role::Danger, "x ").and(Role::Strong, key).and(Role::Danger, &format!("  {}", problem.detail))
            }
            (moved, None) => {
                let seq = moved.as_ref().and_then(|moved| moved.seq);
                let what = seq.map_or("  killed already".to_owned(), |seq| format!("  killed #{seq}"));
                Words::of(Role::Ok, "+ ").and(Role::Strong, key).and(Role::Ok, &what)
            }
        }
    };
    outcomes.iter().map(|outcome| Row::Line(row(outcome))).collect()
}
