//! Kill: stop serving at once. Arms on token and reason alone; what it shows is marked "as of".

use super::form::Choice;
use super::sheet::{Row, Words};
use super::spec::{Ask, Spec, Token, quoted};
use super::words;
use crate::model::{BasisPoints, KeyId, KillReason, Scope, Timestamp};
use crate::rules::access::Need;
use crate::rules::policy::matches;
use crate::tui::effect::Call;
use crate::tui::theme::Role;
use crate::wire::pointers::{Kill, KillMany};

/// Reasons by their letter; none is taken for granted.
pub(super) fn reasons(filled: Option<KillReason>) -> Choice {
    let item = |reason: &KillReason| (reason.as_str().chars().next(), reason.to_string());
    let mut choice = Choice { label: "Reason", items: KillReason::ALL.iter().map(item).collect(), at: None };
    if let Some(reason) = filled {
        choice.take(reason.as_str());
    }
    choice
}

/// See [`super::spec::of`].
pub(super) fn spec(ask: &Ask) -> Spec {
    let many = ask.request.more.len() > 1;
    let key = &ask.request.key;
    let what = if many { words::plural(ask.request.more.len(), "key") } else { key.to_string() };
    let mut spec = Spec {
        title: "KILL in".into(),
        why: "Note    optional now, owed within 24 h",
        button: "Kill now".into(),
        grave: true,
        rows: rows(ask),
        ..Spec::default()
    };
    let Some(environment) = ask.environment else {
        spec.blocked.push("no environment is known yet: name one, `:kill KEY --env E`".into());
        return spec;
    };
    spec.token = Some(if many {
        Token { text: what.clone(), asks: "Type how many to arm:" }
    } else {
        Token { text: environment.to_string(), asks: "Type the environment to arm:" }
    });
    let reason = ask.form.choice.as_ref().and_then(|choice| choice.chosen()).and_then(|word| word.parse::<KillReason>().ok());
    let note = Some(ask.form.reason()).filter(|note| !note.is_empty());
    let keys =
        if many { ask.request.more.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ") } else { key.to_string() };
    let note_flag = note.as_ref().map(|note| format!(" --note {}", quoted(note))).unwrap_or_default();
    let reason_word = reason.map_or("…", KillReason::as_str);
    spec.command = format!("countersign kill {keys} --env {environment} --reason {reason_word}{note_flag}");
    spec.task = format!("kill {what} in {environment}");
    spec.done = format!("killed {what} in {environment}");
    spec.call = reason.map(|reason| {
        if many {
            let keys: Vec<String> = ask.request.more.iter().map(ToString::to_string).collect();
            let expected_count = u32::try_from(keys.len()).unwrap_or(u32::MAX);
            return Call::KillMany(KillMany {
                environment: environment.clone(),
                keys,
                namespace: None,
                expected_count,
                reason,
                note,
            });
        }
        let seen_revision = ask.known.pointer().filter(|p| p.environment == *environment).map(|pointer| pointer.revision);
        let issued_at = Some(Timestamp(ask.now.0.saturating_add(ask.link.skew.saturating_mul(1_000_000))));
        Call::Kill(key.clone(), environment.clone(), Kill { reason, note, issued_at, seen_revision, dry_run: false })
    });
    spec
}

/// Whether, as far as this terminal knows, the registry will take a kill from here. It decides nothing: a kill is never
/// kept back by what may have changed meanwhile.
fn may(ask: &Ask) -> bool {
    let (Some(me), Some(environment)) = (&ask.session.me, ask.environment) else { return true };
    let token = matches!(me.scope, Scope::Full | Scope::Kill) && me.environment.as_ref().is_none_or(|own| own == environment);
    let keys = if ask.request.more.len() > 1 { &ask.request.more[..] } else { std::slice::from_ref(&ask.request.key) };
    let granted = |key: &KeyId| {
        me.roles.iter().filter(|grant| Need::Kill.roles().contains(&grant.role)).any(|grant| {
            grant.environment.as_ref().is_none_or(|place| place == environment.as_str())
                && grant.namespace.as_ref().is_none_or(|pattern| matches(pattern, key.namespace()))
        })
    };
    token && keys.iter().all(granted)
}

fn rows(ask: &Ask) -> Vec<Row> {
    let mut rows = facts(ask);
    if !may(ask) {
        let roles: Vec<&str> = Need::Kill.roles().iter().map(|role| role.as_str()).collect();
        let text = format!("! you may not kill here, as far as is known: call a {}", roles.join(" or "));
        rows.insert(0, Row::Line(Words::of(Role::Danger, &text)));
    }
    rows
}

fn facts(ask: &Ask) -> Vec<Row> {
    let known = ask.known;
    if ask.request.more.len() > 1 {
        let names: Vec<&str> = ask.request.more.iter().map(KeyId::as_str).collect();
        return vec![
            Row::named("keys", &names.join(", ")),
            Row::named("after", "the safe default of each for EVERY unit, sticky until revived"),
            Row::named("also", "ends their plans; their open promotions go stale"),
        ];
    }
    let Some(now) = known.pointer() else {
        let text = if known.facts.is_some() { "nothing is served here" } else { "not read yet: a kill does not wait for it" };
        return vec![
            Row::named("now", text),
            Row::named("after", "the safe default for EVERY unit, sticky until revived"),
            Row::Blank,
            Row::Blank,
        ];
    };
    let safe = known.view().and_then(|view| view.safe_default_digest.as_ref());
    let serves = if now.killed {
        format!("KILLED already: everybody gets {}", known.name(safe))
    } else if now.rollout_pct == BasisPoints::ALL {
        format!("{}   100 %", known.name(Some(&now.digest)))
    } else {
        format!(
            "{}   {} %, the others {}",
            known.name(Some(&now.digest)),
            now.rollout_pct,
            known.name(now.baseline_digest.as_ref())
        )
    };
    // One that is the killed digest itself, or quarantined, counts as none.
    let bad = safe.is_some_and(|d| *d == now.digest || known.version_of(d).is_some_and(|v| v.quarantine.is_some()));
    let after = match safe.filter(|_| !bad) {
        Some(safe) => Words::text("safe default ").and(Role::Strong, &known.name(Some(safe))).then(" for "),
        None => Words::of(Role::Warning, "NO safe default: no value (the code's default) ").then("for "),
    };
    let mut also = Vec::new();
    if now.rollout_pct != BasisPoints::ALL && !now.killed {
        also.push(format!("ends the plan {}", words::plan(&now.plan)));
    }
    let open = known.view().map_or(0, |view| usize::try_from(view.open_promotions).unwrap_or(0));
    if open > 0 {
        also.push(words::stale(open));
    }
    if also.is_empty() {
        also.push("no plan runs, no promotion is open".into());
    }
    vec![
        Row::named("now", &serves),
        Row::Named("after", after.and(Role::Strong, "EVERY").then(" unit, sticky until revived")),
        Row::named("reach", &known.reach().map_or_else(|| "not known".into(), words::reach)),
        Row::named("also", &also.join("; ")),
    ]
}
