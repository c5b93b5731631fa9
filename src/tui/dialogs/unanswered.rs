//! An act whose answer never came: it is not sent again unless the person says so; what to do by hand is said.

use super::sheet::{Row, Words};
use super::spec::{Ask, Spec, Token};
use crate::tui::theme::Role;

/// See [`super::spec::of`].
pub(super) fn spec(ask: &Ask) -> Spec {
    let act = ask.request.ticket.and_then(|ticket| ask.desk.act(ticket));
    let mut spec = Spec { title: "NOT ANSWERED".into(), button: "Send again".into(), grave: true, ..Spec::default() };
    let Some(act) = act else {
        spec.blocked.push("it was answered meanwhile".into());
        return spec;
    };
    let kept = &act.kept;
    let unknown = if kept.insists { "NOT YET IN EFFECT as far as is known" } else { "outcome unknown" };
    spec.rows = vec![
        Row::Named("act", Words::of(Role::Strong, &kept.title)),
        Row::Named("state", Words::of(Role::Danger, unknown)),
        Row::Blank,
        Row::line("It was sent and no answer came. Sending it again uses the same key: it takes effect once."),
    ];
    if kept.insists {
        spec.rows.push(Row::Blank);
        spec.rows.extend(by_hand(&kept.command));
        spec.token = ask.environment.map(|e| Token { text: e.to_string(), asks: "Type the environment to arm:" });
    }
    spec.command.clone_from(&kept.command);
    spec.task.clone_from(&kept.title);
    spec.done.clone_from(&kept.done);
    spec.call = Some(kept.call.clone());
    spec
}

/// What a person can do where the registry cannot be reached.
pub(super) fn by_hand(command: &str) -> Vec<Row> {
    vec![
        Row::Heading("BY HAND, if the registry stays away"),
        Row::item("1 run the command below from a machine that reaches the registry"),
        Row::item("2 or on the registry's own host, against 127.0.0.1"),
        Row::item("3 or let the applications fall back to the default in their code"),
        Row::Item(Words::of(Role::Dim, &format!("$ {command}"))),
    ]
}
