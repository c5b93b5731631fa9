//! Acts on a pointer: roll back, step up and down, hold, resume, take a kill back.

use super::known::Known;
use super::sheet::Row;
use super::spec::{Ask, Spec};
use super::{blast, words};
use crate::model::{BasisPoints, EnvironmentPointer};
use crate::tui::effect::Call;
use crate::tui::msg::DialogKind;
use crate::wire::pointers::{Act, Rollback, StepTo};

/// The shares to which a rollout can be stepped, the next one first: up, a step of the plan is never left out.
pub(super) fn shares(kind: DialogKind, known: &Known) -> Vec<BasisPoints> {
    let Some(now) = known.pointer() else { return Vec::new() };
    let plan = now.plan.iter().map(|step| step.0);
    match kind {
        DialogKind::StepUp => plan.filter(|share| *share > now.rollout_pct).take(1).collect(),
        DialogKind::StepDown => {
            let mut below: Vec<BasisPoints> = plan.filter(|share| *share < now.rollout_pct).collect();
            below.reverse();
            below
        }
        _ => Vec::new(),
    }
}

/// See [`super::spec::of`].
pub(super) fn spec(ask: &Ask) -> Spec {
    let kind = ask.request.kind;
    let protected = ask.is_protected();
    let (title, button) = match kind {
        DialogKind::Rollback => ("ROLL BACK", "Roll back now"),
        DialogKind::StepUp => ("STEP UP in", "Step up"),
        DialogKind::StepDown => ("STEP DOWN in", "Step down"),
        DialogKind::Resume => ("RESUME the rollout in", "Resume"),
        DialogKind::UndoKill => ("UNDO THE KILL in", "Undo the kill"),
        _ => ("HOLD the rollout in", "Hold"),
    };
    let environment_token = || {
        let text = ask.environment?.to_string();
        Some(super::spec::Token { text, asks: "Type the environment to arm:" })
    };
    let mut spec = Spec {
        title: title.into(),
        why: "Why  (required, goes to the audit log)",
        why_required: kind != DialogKind::Hold,
        button: button.into(),
        grave: true,
        token: match kind {
            DialogKind::Rollback => environment_token().filter(|_| protected),
            DialogKind::StepUp | DialogKind::StepDown => ask.segment_token(protected),
            DialogKind::Hold => None,
            _ => ask.segment_token(true),
        },
        ..Spec::default()
    };
    let (Some(environment), Some(now)) = (ask.environment, ask.known.pointer()) else {
        if ask.known.facts.is_some() {
            spec.blocked.push("nothing is served here: there is no pointer to move".into());
        }
        return spec;
    };
    spec.rows = state_rows(ask, now);
    let key = ask.request.key.clone();
    let flag = ask.rationale_flag();
    let seen_revision = Some(now.revision);
    let rationale = ask.form.reason();
    let act = Act { rationale: rationale.clone(), seen_revision, dry_run: false };
    match kind {
        DialogKind::Rollback => rollback(ask, now, &mut spec),
        DialogKind::StepUp | DialogKind::StepDown => step(ask, now, &mut spec),
        DialogKind::UndoKill => undo(ask, now, act, &mut spec),
        DialogKind::Resume => {
            spec.command = format!("countersign resume {key} --env {environment} {flag}");
            spec.task = format!("resume {key} in {environment}");
            spec.done = format!("resumed {key} in {environment}");
            if !now.held {
                spec.blocked.push("this rollout is not held".into());
            }
            spec.rows.push(Row::line("steps may be taken again; nothing that is served changes by this alone"));
            spec.call = Some(Call::Resume(key, environment.clone(), act));
        }
        _ => {
            spec.command = format!("countersign hold {key} --env {environment}");
            spec.task = format!("hold {key} in {environment}");
            spec.done = format!("held {key} in {environment}: no step until it is resumed");
            spec.call = Some(Call::Hold(key, environment.clone(), act));
        }
    }
    spec
}

fn state_rows(ask: &Ask, now: &EnvironmentPointer) -> Vec<Row> {
    let known = ask.known;
    let mut text = format!("{}   {} %", known.name(Some(&now.digest)), now.rollout_pct);
    if now.rollout_pct != BasisPoints::ALL {
        text = format!("{text}, the others {}", known.name(now.baseline_digest.as_ref()));
    }
    if now.killed {
        text = format!("KILLED: everybody gets {}", known.name(known.view().and_then(|v| v.safe_default_digest.as_ref())));
    }
    if now.held {
        text.push_str(" · held");
    }
    let by = known.moved_by().map(|by| format!(" by {by}")).unwrap_or_default();
    let mut rows = vec![Row::named("now", &text), Row::named("since", &format!("{}{by}", words::age(now.updated_at, ask.now)))];
    if !now.plan.is_empty() {
        rows.push(Row::named("plan", &words::plan(&now.plan)));
    }
    rows
}

fn rollback(ask: &Ask, now: &EnvironmentPointer, spec: &mut Spec) {
    let (key, place) = (ask.request.key.clone(), ask.place());
    let to =
        ask.request.digest.filter(|digest| *digest != now.digest).or_else(|| ask.known.view().and_then(|view| view.rollback_to));
    spec.command = format!("countersign rollback {key} --env {place} {}", ask.rationale_flag());
    spec.task = format!("roll back {key} in {place}");
    if now.killed {
        spec.blocked.push("this pointer is killed: a rollback cannot clear that; revive it (!v)".into());
    }
    let Some(to) = to else {
        spec.blocked.push("nothing served here before: there is no digest to go back to".into());
        return;
    };
    let words = ask.known.version_of(&to).map_or_else(|| to.short(), |version| words::version(version, ask.now));
    spec.rows.insert(1, Row::named("to", &words));
    spec.rows.push(Row::Blank);
    spec.rows.extend(blast::rows(ask.known, &blast::rollback(ask.known, now, Some(&to))));
    stales(ask, &mut spec.rows);
    spec.done = format!("rolled back {key} in {place} to {}", ask.known.name(Some(&to)));
    let (rationale, seen_revision) = (ask.form.reason(), Some(now.revision));
    let body = Rollback { to_digest: Some(to), rationale, seen_revision, dry_run: false };
    spec.call = Some(Call::Rollback(key, now.environment.clone(), body));
}

fn step(ask: &Ask, now: &EnvironmentPointer, spec: &mut Spec) {
    let (key, place) = (ask.request.key.clone(), ask.place());
    let down = ask.request.kind == DialogKind::StepDown;
    if now.killed {
        spec.blocked.push("this pointer is killed: revive it (!v)".into());
        return;
    }
    let chosen = ask.form.choice.as_ref().and_then(|choice| choice.chosen());
    let Some(to) = chosen.and_then(|text| text.parse::<BasisPoints>().ok()) else {
        let end = if down { "the plan has no smaller share" } else { "the rollout is at the end of its plan" };
        spec.blocked.push(end.into());
        return;
    };
    if now.held && !down {
        spec.blocked.push("this rollout is held: resume it first (!u)".into());
    }
    if let (false, Some(at)) = (down, now.next_step_at.filter(|at| *at > ask.now)) {
        let minutes = at.seconds_since(ask.now) / 60 + 1;
        spec.rows.push(Row::line(&format!("the plan lets this share bake for another {minutes} min: this steps early")));
    }
    spec.rows.push(Row::Blank);
    spec.rows.extend(blast::rows(ask.known, &blast::step(ask.known, now, to)));
    spec.button = format!("{} to {to} %", spec.button);
    let flag = if down { " --down" } else { "" };
    spec.command = format!("countersign step {key} --env {place}{flag} --to {to} {}", ask.rationale_flag());
    spec.task = format!("step {key} to {to} % in {place}");
    spec.done = format!("stepped {key} to {to} % in {place}");
    let (rationale, seen_revision) = (ask.form.reason(), Some(now.revision));
    let body = StepTo { to: Some(to), down, rationale, seen_revision, dry_run: false };
    spec.call = Some(Call::Step(key, now.environment.clone(), body));
}

fn undo(ask: &Ask, now: &EnvironmentPointer, act: Act, spec: &mut Spec) {
    let (key, place) = (ask.request.key.clone(), ask.place());
    spec.command = format!("countersign undo-kill {key} --env {place} {}", ask.rationale_flag());
    spec.task = format!("undo the kill of {key} in {place}");
    spec.done = format!("took the kill of {key} in {place} back");
    if !now.killed {
        spec.blocked.push("this pointer is not killed".into());
        return;
    }
    match ask.known.view().and_then(|view| view.undo_kill_until) {
        Some(until) if until > ask.now => {
            let left = until.seconds_since(ask.now);
            let text = format!("{} min {} s; after that only a revive (!v) serves again", left / 60, left % 60);
            spec.rows.push(Row::named("left", &text));
        }
        _ => spec.blocked.push("only your own kill of the last 10 minutes can be taken back; revive it (!v)".into()),
    }
    let back = format!("everybody gets what was served before: {} at {} %", ask.known.name(Some(&now.digest)), now.rollout_pct);
    spec.rows.push(Row::Blank);
    spec.rows.extend(blast::rows(ask.known, &[back, "kill and undo are reviewed afterwards by someone else".into()]));
    spec.call = Some(Call::UndoKill(key, now.environment.clone(), act));
}

/// Open promotions that the act makes stale.
pub(super) fn stales(ask: &Ask, rows: &mut Vec<Row>) {
    let open = ask.known.view().map_or(0, |view| usize::try_from(view.open_promotions).unwrap_or(0));
    if open > 0 {
        rows.push(Row::item(&words::stale(open)));
    }
}
