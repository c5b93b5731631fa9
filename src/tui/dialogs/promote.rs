//! Promote: apply an open promotion.

use super::sheet::{Row, Words};
use super::spec::{Ask, Spec, promotion_rows, readiness_rows, signed_row};
use super::{blast, words};
use crate::model::{Act, PromotionState};
use crate::tui::effect::Call;
use crate::tui::theme::Role;
use crate::wire::promotions::{PromotionView, Rationale};

/// See [`super::spec::of`].
pub(super) fn spec(ask: &Ask) -> Spec {
    let key = &ask.request.key;
    let mut spec = Spec {
        title: "PROMOTE to".into(),
        why: "Why now  (goes to the audit log)",
        grave: true,
        button: "Promote".into(),
        token: ask.segment_token(ask.is_protected()),
        ..Spec::default()
    };
    let Some(view) = &ask.known.promotion else {
        if ask.known.facts.is_some() {
            spec.blocked
                .push("no promotion is open here: open one from the version's row in Keys (`promote KEY@SEL --env E`)".into());
        }
        return spec;
    };
    let promotion = &view.promotion;
    let verb = if promotion.act == Act::Revive { "revive" } else { "promote" };
    spec.title = format!("{} to", verb.to_uppercase());
    spec.button = format!("{} to {} %", if promotion.act == Act::Revive { "Revive" } else { "Promote" }, promotion.rollout_pct);
    spec.rows = rows(ask, view);
    if promotion.state != PromotionState::Open {
        spec.blocked.push(format!("the promotion is {}", promotion.state));
    }
    if !view.mine.can_apply {
        spec.blocked.push("you may not apply promotions here: a releaser may".into());
    }
    let unmet = view.readiness.unmet().count();
    if unmet > 0 {
        spec.blocked.push(format!("not ready: {} above", words::plural(unmet, "requirement")));
    }
    spec.command = format!("countersign apply {} {}", promotion.promotion_id, ask.rationale_flag());
    spec.task = format!("{verb} {key} to {} %  in {}", promotion.rollout_pct, ask.place());
    spec.done = format!("{verb}d {key} to {} % in {}", promotion.rollout_pct, ask.place());
    spec.call = Some(Call::Apply(promotion.promotion_id, Rationale { rationale: ask.form.reason(), dry_run: false }));
    spec
}

fn rows(ask: &Ask, view: &PromotionView) -> Vec<Row> {
    let promotion = &view.promotion;
    let mut rows = promotion_rows(view, ask.known, ask.now);
    rows.push(Row::Blank);
    let mut movers = if promotion.environment.is_safe_default() {
        vec!["nothing that is served changes; a kill from now on serves it to everybody".to_owned()]
    } else {
        blast::promotion(ask.known, promotion.to_digest.as_ref(), promotion.rollout_pct, promotion.baseline_digest.as_ref())
    };
    if let Some(from) = view.from.as_ref().filter(|_| !promotion.environment.is_safe_default()) {
        movers.push(format!("undo: !r rolls back to {}", words::short(from)));
    }
    let others = ask
        .known
        .facts
        .as_ref()
        .map_or(0, |f| f.open.iter().filter(|o| o.promotion.promotion_id != promotion.promotion_id).count());
    if others > 0 {
        movers.push(format!("of this pointer, {}", words::stale(others)));
    }
    rows.extend(blast::rows(ask.known, &movers));
    rows.push(Row::Blank);
    rows.push(Row::Heading("CHECKS"));
    rows.extend(readiness_rows(view));
    let votes: Vec<String> = view
        .approvals
        .iter()
        .filter(|a| !a.gate.is_empty())
        .map(|a| format!("{} {} {}", words::who(&a.approver), a.verdict, a.gate))
        .collect();
    if !votes.is_empty() {
        rows.push(Row::Line(Words::of(Role::Dim, &format!("votes: {}", votes.join(" · ")))));
    }
    rows.push(signed_row(view));
    rows
}
