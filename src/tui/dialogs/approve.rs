//! Approve, request changes, comment, override a gate: verdicts on an open promotion.

use super::sheet::{Row, Words};
use super::spec::{Ask, Spec, promotion_rows, quoted, readiness_rows, shown_statement, signed_row};
use super::words;
use crate::model::{PromotionState, Verdict};
use crate::tui::effect::Call;
use crate::tui::msg::DialogKind;
use crate::tui::theme::Role;
use crate::wire::promotions::{PromotionView, Vote};

/// The verdict that a kind of dialog casts.
fn verdict(kind: DialogKind) -> Verdict {
    match kind {
        DialogKind::Approve => Verdict::Approve,
        DialogKind::RequestChanges => Verdict::Reject,
        DialogKind::Override => Verdict::Override,
        _ => Verdict::Comment,
    }
}

/// The gates among which a person chooses; one that is taken without asking where there is no other.
pub(super) fn gates(kind: DialogKind, view: &PromotionView) -> Vec<String> {
    match kind {
        DialogKind::Approve | DialogKind::RequestChanges => view.mine.can_approve.clone(),
        DialogKind::Override => view.mine.can_override.clone(),
        _ => Vec::new(),
    }
}

/// See [`super::spec::of`].
pub(super) fn spec(ask: &Ask) -> Spec {
    let kind = ask.request.kind;
    let verdict = verdict(kind);
    let (title, button, command) = match verdict {
        Verdict::Approve => ("APPROVE for", "Approve", "approve"),
        Verdict::Reject => ("REQUEST CHANGES for", "Request changes", "reject"),
        Verdict::Override => ("OVERRIDE a gate for", "Override", "override"),
        _ => ("COMMENT on", "Comment", "comment"),
    };
    let key = &ask.request.key;
    let mut spec = Spec {
        title: title.into(),
        why: if verdict == Verdict::Comment { "Comment" } else { "Why  (required, goes to the audit log)" },
        why_required: true,
        button: button.into(),
        grave: verdict == Verdict::Override,
        token: ask.segment_token(verdict == Verdict::Override),
        ..Spec::default()
    };
    let Some(view) = &ask.known.promotion else {
        spec.blocked.push("no promotion is open here: nothing to say a word on".into());
        return spec;
    };
    let gate = ask.form.choice.as_ref().and_then(|choice| choice.chosen()).map(str::to_owned);
    let gate_flag = gate.as_ref().map(|gate| format!(" --gate {}", quoted(gate))).unwrap_or_default();
    let id = view.promotion.promotion_id;
    spec.command = format!("countersign {command} {id}{gate_flag} {}", ask.rationale_flag());
    let on_gate = gate.as_ref().map(|gate| format!(" on {gate}")).unwrap_or_default();
    spec.task = format!("{} {key} for {}{on_gate}", button.to_lowercase(), ask.place());
    spec.done = match verdict {
        Verdict::Approve => format!("approved {key} for {}{on_gate}", ask.place()),
        Verdict::Reject => format!("requested changes of {key} for {}", ask.place()),
        Verdict::Override => format!("overrode {} for {key} in {}", gate.as_deref().unwrap_or("the gate"), ask.place()),
        _ => format!("commented on {key}"),
    };
    spec.rows = rows(ask, view, verdict);
    spec.blocked = blocked(ask, view, verdict, gate.as_deref());
    spec.call = Some(Call::Vote(id, vote(ask, view, verdict, gate)));
    spec
}

fn vote(ask: &Ask, view: &PromotionView, verdict: Verdict, gate: Option<String>) -> Vote {
    let signs = matches!(verdict, Verdict::Approve | Verdict::Override);
    let acknowledged = ask.request.seen.as_ref().filter(|_| signs).map(|seen| seen.acknowledged.clone()).unwrap_or_default();
    Vote {
        verdict,
        gate: gate.filter(|_| verdict != Verdict::Comment),
        rationale: ask.form.reason(),
        statement: signs.then(|| shown_statement(view).digest()),
        head: ask.link.verified_head(),
        acknowledged_hidden: acknowledged,
        anchor: ask.request.anchor,
        reply_to: ask.request.reply_to,
    }
}

fn rows(ask: &Ask, view: &PromotionView, verdict: Verdict) -> Vec<Row> {
    let mut rows = promotion_rows(view, ask.known, ask.now);
    if let Some((place, at)) = view.mine.approved_before.as_ref().filter(|_| verdict == Verdict::Approve) {
        rows.push(Row::Named(
            "past",
            Words::of(Role::Ok, &format!("you approved this digest in {place} {}", words::age(*at, ask.now))),
        ));
    }
    if verdict == Verdict::Comment {
        return rows;
    }
    if let (true, Some(reach)) = (matches!(verdict, Verdict::Approve | Verdict::Override), ask.known.reach()) {
        rows.push(Row::named("reach", &words::reach(reach)));
        rows.push(signed_row(view));
    }
    rows.push(Row::Blank);
    rows.push(Row::Heading("CHECKS"));
    rows.extend(readiness_rows(view));
    rows.extend(hidden_row(ask, view));
    rows
}

/// Invisible characters: how many, and whether this person acknowledged them.
fn hidden_row(ask: &Ask, view: &PromotionView) -> Option<Row> {
    let count = view.hidden.len();
    let missing = missing(ask, view);
    (count > 0).then(|| {
        let what = words::plural(count, "invisible character");
        if missing == 0 {
            Row::Line(Words::of(Role::Ok, "+ ").then(&format!("{what} acknowledged by you")))
        } else {
            Row::Line(
                Words::of(Role::Warning, "! ").then(&format!("{what}, {missing} not acknowledged (i, then A, in the diff)")),
            )
        }
    })
}

/// How many invisible characters were not acknowledged.
fn missing(ask: &Ask, view: &PromotionView) -> usize {
    let acknowledged = ask.request.seen.as_ref().map(|seen| seen.acknowledged.as_slice()).unwrap_or_default();
    view.hidden.iter().filter(|span| !acknowledged.contains(span)).count()
}

fn blocked(ask: &Ask, view: &PromotionView, verdict: Verdict, gate: Option<&str>) -> Vec<String> {
    let mut blocked = Vec::new();
    if verdict == Verdict::Comment {
        return blocked;
    }
    if view.promotion.state != PromotionState::Open {
        blocked.push(format!("the promotion is {}: only comments are taken", view.promotion.state));
    }
    if verdict != Verdict::Reject && shown_statement(view).digest() != view.promotion.statement {
        blocked.push("what is shown is not what the registry asks you to sign: the policy or the versions differ".into());
    }
    match verdict {
        Verdict::Approve => {
            blocked.extend(view.mine.approve_refused.as_ref().map(|why| format!("you cannot approve this: {why}")));
            if view.mine.approve_refused.is_none() && gate.is_none() {
                blocked.push("no approval gate waits for you".into());
            }
            match &ask.request.seen {
                None => blocked.push("read the change first: esc, then enter".into()),
                Some(seen) if seen.changes < seen.total => {
                    let left = seen.total - seen.changes;
                    blocked.push(format!("{} not yet seen: esc, then ]u", words::plural(left, "change")));
                }
                Some(_) => {}
            }
            if view.rule.acknowledge_hidden == Some(true) && missing(ask, view) > 0 {
                blocked.push("invisible characters are not acknowledged: esc, then i and A".into());
            }
        }
        Verdict::Override if gate.is_none() => blocked.push("there is no gate here that you may override".into()),
        Verdict::Reject if gate.is_none() && view.mine.can_approve.is_empty() => {
            blocked.extend(
                view.mine.approve_refused.as_ref().map(|why| format!("you cannot vote on this: {why}; comment instead (c)")),
            );
        }
        _ => {}
    }
    blocked
}
