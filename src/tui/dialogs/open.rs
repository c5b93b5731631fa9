//! Open a promotion of a version, or a revive after a kill. Nothing is served by it: it collects approvals.

use super::known::Known;
use super::sheet::{Row, Words};
use super::spec::{Ask, Spec};
use super::{blast, timing, words};
use crate::model::{BasisPoints, Digest, Version, VersionState};
use crate::tui::effect::Call;
use crate::tui::msg::DialogKind;
use crate::tui::theme::Role;
use crate::wire::promotions::OpenPromotion;

/// Versions that can be chosen, the likeliest first: the one asked for, what a rollback would take, then the newest; a
/// killed one last, since a revive of it must be meant.
pub(super) fn candidates(known: &Known, asked: Option<Digest>) -> Vec<Version> {
    let fit = |v: &&Version| v.state != VersionState::Draft && v.quarantine.is_none() && !v.discarded;
    let mut versions: Vec<Version> =
        known.facts.iter().flat_map(|f| f.history.versions.iter().map(|row| &row.version)).filter(fit).cloned().collect();
    let back = known.view().and_then(|view| view.rollback_to);
    let killed = known.pointer().filter(|now| now.killed).map(|now| now.digest);
    let rank = |d: Digest| (Some(d) == killed, Some(d) != asked, Some(d) != back);
    versions.sort_by_key(|v| (rank(v.digest), std::cmp::Reverse(v.number)));
    versions
}

/// How a candidate reads in the choice.
pub(super) fn label(version: &Version) -> String {
    words::short(version)
}

/// See [`super::spec::of`].
pub(super) fn spec(ask: &Ask) -> Spec {
    let revive = ask.request.kind == DialogKind::Revive;
    let key = &ask.request.key;
    let (title, verb) = if revive { ("REVIVE in", "revive") } else { ("OPEN a promotion to", "promote") };
    let mut spec = Spec {
        title: title.into(),
        why: "Why  (required, goes to the audit log)",
        why_required: true,
        button: if revive { "Open the revive" } else { "Open" }.into(),
        grave: revive,
        token: ask.segment_token(revive && ask.is_protected()),
        ..Spec::default()
    };
    let Some(environment) = ask.environment else {
        spec.blocked.push("no environment was named: `promote KEY@SEL --env E`".into());
        return spec;
    };
    let chosen = ask.form.choice.as_ref().and_then(|choice| choice.chosen());
    let candidates = candidates(ask.known, ask.request.digest);
    let to = chosen.and_then(|chosen| candidates.iter().find(|v| label(v) == chosen));
    let (share, bad_share) = share(ask);
    let timing = timing::read(ask, environment);
    spec.rows = rows(ask, to, share, &timing.then);
    spec.blocked.extend(bad_share.into_iter().chain(timing.blocked));
    if revive && ask.known.pointer().is_some_and(|pointer| !pointer.killed) {
        spec.blocked.push("this pointer is not killed: there is nothing to revive".into());
    }
    if !revive && ask.known.pointer().is_some_and(|pointer| pointer.killed) {
        spec.blocked.push("this pointer is killed: revive it (!v)".into());
    }
    let Some(to) = to else {
        if ask.known.facts.is_some() {
            spec.blocked.push("no version can be promoted: all are drafts, discarded or quarantined".into());
        }
        return spec;
    };
    let flag = share.map(|share| format!(" --percent {share}")).unwrap_or_default() + &timing.flag;
    let running = ask.known.view().and_then(|view| view.running).filter(|_| !revive);
    spec.command = format!("countersign {verb} {key}@v{} --env {environment}{flag} {}", to.number, ask.rationale_flag());
    spec.task = format!("open the {verb} of {key} {} in {environment}", words::short(to));
    let waits = if timing.flag.is_empty() { "it waits in the Inbox" } else { "the registry applies it" };
    spec.done = format!("opened the {verb} of {key} {} in {environment}: {waits}", words::short(to));
    spec.call = Some(Call::Open(Box::new(OpenPromotion {
        key_id: key.clone(),
        environment: environment.clone(),
        to_digest: to.digest,
        rationale: ask.form.reason(),
        percent: share,
        plan: None,
        supersedes: running,
        change: None,
        revive,
        baseline: None,
        at_time: timing.at_time,
        when_ready: timing.when_ready,
        break_glass: false,
        dry_run: false,
    })));
    spec
}

/// The share that was typed; none where the policy's plan is taken.
fn share(ask: &Ask) -> (Option<BasisPoints>, Option<String>) {
    let typed = ask.form.share.as_ref().map(crate::tui::field::Field::text).unwrap_or_default();
    if typed.trim().is_empty() {
        return (None, None);
    }
    match typed.parse::<BasisPoints>() {
        Ok(share) if share == BasisPoints::ZERO => (None, Some("a share of 0 % serves nobody".into())),
        Ok(share) => (Some(share), None),
        Err(e) => (None, Some(e.to_string())),
    }
}

fn rows(ask: &Ask, to: Option<&Version>, share: Option<BasisPoints>, then: &str) -> Vec<Row> {
    let known = ask.known;
    let mut rows = vec![match known.pointer() {
        Some(now) if now.killed => Row::named("now", &format!("KILLED: everybody gets {}", known.name(safe(known)))),
        Some(now) => Row::named("now", &format!("{}   {} %", known.name(Some(&now.digest)), now.rollout_pct)),
        None => Row::named("now", "nothing is served here"),
    }];
    let open = known.facts.iter().flat_map(|facts| &facts.open);
    rows.extend(open.map(|view| {
        let text = format!(
            "! open already: {} to {}; !p applies it when it is ready",
            view.promotion.act,
            known.name(view.promotion.to_digest.as_ref())
        );
        Row::Line(Words::of(Role::Warning, &text))
    }));
    if let Some(to) = to {
        let killed = known.pointer().is_some_and(|now| now.killed && now.digest == to.digest);
        let mark = if killed { "   the one that was killed" } else { "" };
        rows.push(Row::Named("to", Words::text(&words::version(to, ask.now)).and(Role::Danger, mark)));
        let baseline = match known.pointer() {
            Some(now) if now.killed => safe(known).copied(),
            Some(now) if now.rollout_pct == BasisPoints::ALL => Some(now.digest),
            Some(now) => now.baseline_digest,
            None => None,
        };
        rows.push(Row::named(
            "plan",
            &share.map_or_else(|| "the policy's plan (or type a share)".into(), |s| format!("{s} %, at once")),
        ));
        rows.push(Row::named("then", then));
        rows.push(Row::Blank);
        let movers = match share {
            Some(share) => blast::promotion(known, Some(&to.digest), share, baseline.as_ref()),
            None => vec!["nothing is served by opening it: it collects gates and approvals first".into()],
        };
        rows.extend(blast::rows(known, &movers));
        if let Some(view) = known.view().filter(|view| view.running.is_some() && ask.request.kind == DialogKind::Open) {
            rows.push(Row::item(&format!("replaces the rollout that runs at {} %", view.pointer.rollout_pct)));
        }
    }
    rows
}

fn safe(known: &Known) -> Option<&Digest> {
    known.view()?.safe_default_digest.as_ref()
}
