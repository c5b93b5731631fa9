//! A promotion in few words: change, gates, approvals, readiness.

use crate::model::{
    Act, Approval, Digest, Promotion, PromotionState, ReadinessKind, ReadinessStatus, Timestamp, Verdict, Version,
};
use crate::rules::promotion::is_undo;
use crate::tui::widgets::age::until;
use crate::wire::promotions::PromotionView;
use std::collections::BTreeMap;

/// `v8→v9`, `new v1`, `revive v8`, `kill outage`.
pub(crate) fn change(view: &PromotionView, arrow: &str) -> String {
    let number = |v: &Option<Version>| v.as_ref().map(|v| format!("v{}", v.number));
    let short = |d: Option<Digest>| d.map_or_else(|| "none".to_owned(), |d| d.short()[..4].to_owned());
    let promotion = &view.promotion;
    let from = number(&view.from).unwrap_or_else(|| short(promotion.from_digest));
    let to = number(&view.to).unwrap_or_else(|| short(promotion.to_digest));
    match promotion.act {
        Act::Kill => format!("kill {}", promotion.reason.map_or("", |r| r.as_str())),
        Act::Revive if is_undo(promotion) => format!("undo kill {to}"),
        Act::Revive => format!("revive {to}"),
        Act::Rollback => format!("back {from}{arrow}{to}"),
        Act::Step => format!("step {}%", promotion.rollout_pct),
        Act::Promote if promotion.from_digest.is_none() => format!("new {to}"),
        Act::Promote if promotion.from_digest == promotion.to_digest => format!("{to} {}%", promotion.rollout_pct),
        Act::Promote => format!("{from}{arrow}{to}"),
        Act::Experiment => "experiment".into(),
    }
}

/// What the registry will do with a promotion by itself, or could not; and whether its opener overrode everything.
pub(crate) fn promise(promotion: &Promotion, now: Timestamp) -> Option<String> {
    let open = promotion.state == PromotionState::Open;
    match promotion.at_time {
        _ if promotion.break_glass => {
            let after = if open { "once it is applied" } else { "afterwards" };
            Some(format!("GLASS BROKEN: overrides all but quarantine; another person reviews it {after}"))
        }
        _ if promotion.missed => {
            let why = promotion.closed_reason.as_deref().unwrap_or("it was closed");
            Some(format!("MISSED: the registry was to apply it ({why}); renew it, or withdraw it to let it go"))
        }
        Some(at) if open && at > now => {
            Some(format!("the registry applies it {}, from {at} on, when all is met", until(now, at)))
        }
        Some(at) if open => Some(format!("due since {at}: the registry applies it as soon as all is met")),
        None if open && promotion.when_ready => Some("the registry applies it as soon as all is met".to_owned()),
        _ => None,
    }
}

/// When the registry applies an open promotion, in a word: `in 3h`, `due`, `auto` as soon as all is met.
pub(crate) fn schedule(promotion: &Promotion, now: Timestamp) -> Option<String> {
    let timed = promotion.state == PromotionState::Open && promotion.is_timed();
    timed.then(|| promotion.at_time.map_or_else(|| "auto".to_owned(), |at| until(now, at)))
}

/// `5+ 1x 2? 1!`: gates met, unmet, pending, overridden.
pub(crate) fn gates(view: &PromotionView) -> String {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for item in view.readiness.0.iter().filter(|i| i.kind == ReadinessKind::Gate) {
        *counts.entry(item.status as usize).or_default() += 1;
    }
    let signs = [
        (ReadinessStatus::Met, '+'),
        (ReadinessStatus::Unmet, 'x'),
        (ReadinessStatus::Pending, '?'),
        (ReadinessStatus::Overridden, '!'),
    ];
    let words: Vec<String> =
        signs.iter().filter_map(|(status, sign)| counts.get(&(*status as usize)).map(|n| format!("{n}{sign}"))).collect();
    if words.is_empty() { "-".into() } else { words.join(" ") }
}

/// Approvals that stand and approvals that are asked for.
pub(crate) fn approvals(view: &PromotionView) -> (usize, usize) {
    let asked = view.rule.approvals.iter().flatten().map(|a| a.count as usize).sum();
    let given = standing(view).filter(|a| a.verdict == Verdict::Approve).count();
    (given.min(asked), asked)
}

/// The newest verdict of each person on each gate.
pub(crate) fn standing(view: &PromotionView) -> impl Iterator<Item = &Approval> {
    let mut newest: BTreeMap<(String, &str), &Approval> = BTreeMap::new();
    for approval in view.approvals.iter().filter(|a| a.verdict != Verdict::Comment) {
        newest.insert((approval.approver.to_string(), &approval.gate), approval);
    }
    newest.into_values().filter(|a| a.verdict != Verdict::Retract)
}

/// Rejections that stand.
pub(crate) fn rejections(view: &PromotionView) -> impl Iterator<Item = &Approval> {
    standing(view).filter(|a| a.verdict == Verdict::Reject)
}

/// Whether a row contains every word of a lower-case filter: key, environment, actor, act, state.
pub(crate) fn matches(view: &PromotionView, filter: &str) -> bool {
    if filter.is_empty() {
        return true;
    }
    let p = &view.promotion;
    let text = format!("{} {} {} {} {} {}", p.key_id, p.environment, p.actor, p.act, p.state, p.rationale).to_lowercase();
    filter.split_whitespace().all(|word| text.contains(word))
}
