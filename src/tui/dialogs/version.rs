//! Acts on a version: quarantine, lift, submit for review.

use super::sheet::Row;
use super::spec::{Ask, Spec, one_line};
use super::words;
use crate::model::{Environment, VersionState};
use crate::tui::effect::Call;
use crate::tui::msg::DialogKind;
use crate::wire::versions::{Reason, Submit};

/// The first item of a submission's choice of an environment.
pub(super) const NOWHERE: &str = "no promotion";

/// See [`super::spec::of`].
pub(super) fn spec(ask: &Ask) -> Spec {
    let kind = ask.request.kind;
    let key = &ask.request.key;
    let (title, button, command) = match kind {
        DialogKind::Quarantine => ("QUARANTINE a version of", "Quarantine", "quarantine"),
        DialogKind::Lift => ("LIFT the quarantine of", "Lift", "lift"),
        _ => ("SUBMIT for review", "Submit", "submit"),
    };
    let marks = kind != DialogKind::Submit;
    let mut spec = Spec {
        title: title.into(),
        why: if marks { "Why  (required, goes to the audit log)" } else { "Why  (the version's own rationale unless given)" },
        why_required: marks,
        button: button.into(),
        grave: marks,
        token: ask.segment_token(marks),
        ..Spec::default()
    };
    let Some(view) = &ask.known.version else { return spec };
    let version = &view.version;
    spec.rows = vec![
        Row::named("what", &words::version(version, ask.now)),
        Row::named("state", state_words(version.state)),
        Row::named("why", &one_line(&version.rationale)),
    ];
    if let Some(mark) = &version.quarantine {
        let text = format!("since {} by {}: {}", words::age(mark.at, ask.now), words::who(&mark.by), one_line(&mark.reason));
        spec.rows.push(Row::named("mark", &text));
    }
    spec.command = format!("countersign {command} {key}@v{} {}", version.number, ask.rationale_flag());
    spec.task = format!("{command} {key} {}", words::short(version));
    let reason = Reason { rationale: ask.form.reason() };
    match kind {
        DialogKind::Quarantine => {
            spec.rows.push(Row::Blank);
            spec.rows.push(Row::line("It cannot come to serve anywhere until another person lifts the mark."));
            spec.rows.push(Row::line("Where it serves now it goes on serving: a kill (!k) stops that."));
            spec.done = format!("quarantined {key} {}", words::short(version));
            if version.quarantine.is_some() {
                spec.blocked.push("it is quarantined already".into());
            }
            spec.call = Some(Call::Quarantine(version.digest, reason));
        }
        DialogKind::Lift => {
            spec.rows.push(Row::Blank);
            spec.rows.push(Row::line("It may be promoted again; nothing that is served changes by this."));
            spec.done = format!("lifted the quarantine of {key} {}", words::short(version));
            match &version.quarantine {
                None => spec.blocked.push("it is not quarantined".into()),
                Some(mark) if ask.session.me.as_ref().is_some_and(|me| me.actor == mark.by) => {
                    spec.blocked.push("you set the mark: another person lifts it".into());
                }
                Some(_) => {}
            }
            spec.call = Some(Call::Lift(version.digest, reason));
        }
        _ => submit(ask, &mut spec),
    }
    spec
}

fn submit(ask: &Ask, spec: &mut Spec) {
    let Some(version) = ask.known.version.as_ref().map(|view| &view.version) else { return };
    let chosen = ask.form.choice.as_ref().and_then(|choice| choice.chosen()).filter(|word| *word != NOWHERE);
    let environment: Option<Environment> = chosen.and_then(|word| word.parse().ok());
    let rationale = Some(ask.form.reason()).filter(|text| !text.is_empty());
    let flag = environment.as_ref().map(|e| format!(" --env {e}")).unwrap_or_default();
    spec.command = format!("countersign submit {}@v{}{flag}", ask.request.key, version.number);
    let what = environment.as_ref().map_or_else(|| "for review".to_owned(), |e| format!("for review, with a promotion to {e}"));
    spec.task = format!("submit {} v{} {what}", ask.request.key, version.number);
    spec.done = format!("submitted {} v{} {what}", ask.request.key, version.number);
    if version.state != VersionState::Draft && environment.is_none() {
        spec.blocked.push(format!("it is {} already: choose an environment to open a promotion", version.state));
    }
    spec.call = Some(Call::Submit(version.digest, Submit { environment, rationale }));
}

fn state_words(state: VersionState) -> &'static str {
    match state {
        VersionState::Draft => "draft: cannot be promoted yet",
        VersionState::Review => "review",
        VersionState::Published => "published: it served somewhere",
    }
}
