//! After the fact: review a kill or an override, give a kill's note, take one's own promotion back.

use super::sheet::Row;
use super::spec::{Ask, Spec, one_line, promotion_rows};
use super::words;
use crate::model::{PromotionKind, PromotionState};
use crate::rules::hidden::is_blank;
use crate::rules::promotion::said;
use crate::tui::effect::Call;
use crate::tui::msg::DialogKind;
use crate::wire::promotions::{PromotionView, Rationale};

/// See [`super::spec::of`].
pub(super) fn spec(ask: &Ask) -> Spec {
    let kind = ask.request.kind;
    let key = &ask.request.key;
    let (title, button, why, command) = match kind {
        DialogKind::SettleReview => {
            ("REVIEW afterwards", "Close the review", "Finding  (required, goes to the audit log)", "close-review")
        }
        DialogKind::SettleNote => ("NOTE of the kill in", "Give the note", "Note  (required, goes to the audit log)", "note"),
        _ => ("WITHDRAW from", "Withdraw", "Why  (goes to the audit log)", "withdraw"),
    };
    let mut spec =
        Spec { title: title.into(), why, why_required: kind != DialogKind::Withdraw, button: button.into(), ..Spec::default() };
    let Some(view) = &ask.known.promotion else { return spec };
    let promotion = &view.promotion;
    let id = promotion.promotion_id;
    spec.rows =
        if promotion.kind == PromotionKind::Kill { kill_rows(ask, view) } else { promotion_rows(view, ask.known, ask.now) };
    let flag =
        if kind == DialogKind::SettleNote { ask.rationale_flag().replace("--rationale", "--note") } else { ask.rationale_flag() };
    spec.command = format!("countersign {command} {id} {flag}");
    let body = Rationale { rationale: ask.form.reason(), dry_run: false };
    let what = format!("the {} of {key} in {}", said(promotion), ask.place());
    match kind {
        DialogKind::SettleReview => {
            (spec.task, spec.done) = (format!("review {what}"), format!("reviewed {what}"));
            if !promotion.review_owed || promotion.reviewed_at.is_some() {
                spec.blocked.push("no review is owed".into());
            } else if !view.mine.can_review {
                spec.blocked.push("another on-call engineer or approver closes this review, not who acted".into());
            }
            spec.call = Some(Call::Review(id, body));
        }
        DialogKind::SettleNote => {
            (spec.task, spec.done) = (format!("note on {what}"), format!("gave the note on {what}"));
            if let Some(due) = promotion.note_due_at {
                spec.rows.push(Row::named("due", &format!("in {} h", (due.seconds_since(ask.now) / 3_600).max(0))));
            }
            if !view.mine.owes_note {
                spec.blocked.push("you owe no note here".into());
            }
            spec.call = Some(Call::Note(id, body));
        }
        _ => {
            (spec.task, spec.done) = (format!("withdraw {what}"), format!("withdrew {what}"));
            if promotion.state != PromotionState::Open {
                spec.blocked.push(format!("the promotion is {}", promotion.state));
            } else if !view.mine.opened {
                spec.blocked.push(format!("{} opened it: only they, or an admin, take it back", words::who(&promotion.actor)));
            }
            spec.call = Some(Call::Withdraw(id, body));
        }
    }
    spec
}

fn kill_rows(ask: &Ask, view: &PromotionView) -> Vec<Row> {
    let promotion = &view.promotion;
    let at = promotion.applied_at.unwrap_or(promotion.at);
    let reason = promotion.reason.map_or("no reason", |reason| reason.as_str());
    let note = if is_blank(&promotion.rationale) { "owed".to_owned() } else { one_line(&promotion.rationale) };
    vec![
        Row::named("who", &format!("{}, {}", words::who(&promotion.actor), words::age(at, ask.now))),
        Row::named("what", &format!("{} of {} for {reason}", promotion.act, ask.known.name(promotion.from_digest.as_ref()))),
        Row::named("then", &format!("everybody got {}", ask.known.name(promotion.to_digest.as_ref()))),
        Row::named("note", &note),
    ]
}
