//! How a dialog begins: where it acts, what it asks for, what was left in it before.

use super::arming::{Arming, Rules};
use super::desk::Kept;
use super::dialog::Dialog;
use super::form::{Choice, Focus, Form};
use super::known::Known;
use super::many::Set;
use super::{draft, kill, timing, version};
use crate::model::Environment;
use crate::tui::effect::{Call, Effect, Query, Slot};
use crate::tui::field::{Field, Lines};
use crate::tui::msg::{DialogKind, DialogRequest, Msg, Notice};
use crate::tui::state::{Cx, Session};
use crate::wire::pointers::Act;

impl Dialog {
    /// Opens the dialog that was asked for; the effects fetch what it pins. None where there is nothing to ask: holding
    /// is safe and done at once, and what cannot be done is said in the status line.
    pub(crate) fn open(request: DialogRequest, cx: &mut Cx) -> (Option<Box<Self>>, Vec<Effect>) {
        if request.kind == DialogKind::Hold && request.set.is_empty() {
            return (None, hold(&request, cx));
        }
        let environment = place(&request, cx.session);
        let insists = request.ticket.and_then(|ticket| cx.desk.act(ticket)).is_some_and(|act| act.kept.insists);
        let mut form = form(&request, insists, cx);
        let mut restored = false;
        let name = draft_name(&request, environment.as_ref());
        if let Some(why) = form.why.as_mut() {
            let kept = cx.desk.draft(&name).map(str::to_owned);
            restored = request.filled.rationale.is_none() && kept.is_some();
            let text = request.filled.rationale.clone().or(kept).unwrap_or_default();
            *why = why.clone().with(&text);
        }
        if let Some(body) = form.body.as_mut()
            && let Some(text) = cx.desk.draft(&format!("{name}.body"))
        {
            *body = body.clone().with(text);
            restored = true;
        }
        let rules = if request.set.is_empty() { rules(request.kind) } else { Rules::Pinned };
        let set = Set::of(&request, cx);
        let environment = environment.filter(|_| set.is_none());
        let arming = Arming::open(rules, None, cx.slots.ticket(), cx.steady);
        let promotion = request.promotion.clone().filter(|_| is_about_promotion(request.kind) && set.is_none());
        let known = Known { promotion, ..Known::default() };
        let mut dialog = Box::new(Self::new(request, environment, arming, known, form));
        dialog.restored = restored;
        dialog.set = set;
        dialog.insists = insists;
        let effects = dialog.refresh(cx);
        (Some(dialog), effects)
    }
}

/// Comments, notes and kills do not wait for facts; everything else does.
fn rules(kind: DialogKind) -> Rules {
    match kind {
        DialogKind::Kill | DialogKind::Comment | DialogKind::SettleNote | DialogKind::Unanswered | DialogKind::Draft => {
            Rules::Kill
        }
        _ => Rules::Pinned,
    }
}

/// Where it acts: the row's environment, else the first protected one, else the first.
pub(super) fn place(request: &DialogRequest, session: &Session) -> Option<Environment> {
    let of_promotion = request.promotion.as_ref().map(|view| view.promotion.environment.clone());
    request.environment.clone().or(of_promotion).or_else(|| first_protected(session))
}

fn first_protected(session: &Session) -> Option<Environment> {
    let environments = &session.world.as_ref()?.environments;
    environments.iter().find(|e| e.protected).or_else(|| environments.first())?.name.parse().ok()
}

fn form(request: &DialogRequest, insists: bool, cx: &Cx) -> Form {
    let mut form = Form::new(request.kind != DialogKind::Unanswered);
    if !request.set.is_empty() {
        return form;
    }
    match request.kind {
        DialogKind::Kill => {
            form.choice = Some(kill::reasons(request.filled.reason));
            (form.token, form.token_first) = (true, true);
            form.focus = if request.filled.reason.is_some() { Focus::Token } else { Focus::Choice };
        }
        DialogKind::Unanswered if insists => {
            (form.token, form.focus) = (true, Focus::Token);
        }
        DialogKind::Open | DialogKind::Revive => {
            form.share = Some(Field::new(Lines::One).with(request.filled.to.as_deref().unwrap_or("")));
            timing::begin(&mut form, &request.filled, timing::server_now(cx.link, cx.now));
        }
        DialogKind::Draft => {
            form.body = Some(Field::new(Lines::Many));
            form.choice = request.digest.is_none().then(|| Choice::of("Format", draft::FORMATS.iter().map(ToString::to_string)));
            form.focus = Focus::Body;
        }
        DialogKind::Submit => {
            let names = cx.session.world.iter().flat_map(|world| world.environments.iter().map(|e| e.name.clone()));
            let mut choice = Choice::of("Promote to", std::iter::once(version::NOWHERE.to_owned()).chain(names));
            if let Some(environment) = &request.environment {
                choice.take(environment.as_str());
            }
            form.choice = Some(choice);
            form.focus = Focus::Choice;
        }
        _ => {}
    }
    form
}

/// Whether the dialog is about an open or past promotion, not about a pointer or a version.
pub(super) fn is_about_promotion(kind: DialogKind) -> bool {
    use DialogKind as K;
    matches!(
        kind,
        K::Approve | K::RequestChanges | K::Comment | K::Promote | K::Override | K::Withdraw | K::SettleReview | K::SettleNote
    )
}

/// Whether the dialog is about a version.
fn is_about_version(kind: DialogKind) -> bool {
    matches!(kind, DialogKind::Quarantine | DialogKind::Lift | DialogKind::Submit | DialogKind::Draft)
}

/// The name under which the text of a dialog is kept: one a kind and target.
pub(super) fn draft_name(request: &DialogRequest, environment: Option<&Environment>) -> String {
    let kind = format!("{:?}", request.kind).to_lowercase();
    if !request.set.is_empty() {
        return format!("{kind}.many");
    }
    let target = match (&request.promotion, request.digest) {
        (Some(view), _) if is_about_promotion(request.kind) => view.promotion.promotion_id.to_string(),
        (_, Some(digest)) if is_about_version(request.kind) => digest.short(),
        _ => environment.map_or_else(String::new, ToString::to_string),
    };
    let mut name = format!("{kind}.{}.{target}", request.key);
    if name.len() > 230 {
        // Long keys: their digest tells them apart.
        name = format!("{kind}.{}.{target}", crate::rules::canonical::sha256(request.key.as_str().as_bytes()).hex());
    }
    name
}

/// What a kind of dialog reads.
pub(super) fn queries(dialog: &Dialog) -> Vec<(Slot, Query)> {
    if let Some(set) = &dialog.set {
        return vec![(Slot::Dialog, set.query())];
    }
    let key = dialog.request.key.clone();
    let facts = dialog.environment.clone().filter(|e| !e.is_safe_default()).map(|e| (Slot::DialogExtra, Query::Facts(key, e)));
    let promotion = dialog.known.promotion.as_ref().map(|view| (Slot::Dialog, Query::Promotion(view.promotion.promotion_id)));
    match dialog.request.kind {
        DialogKind::Comment | DialogKind::Withdraw | DialogKind::SettleReview | DialogKind::SettleNote => {
            promotion.into_iter().collect()
        }
        DialogKind::Approve | DialogKind::RequestChanges | DialogKind::Promote | DialogKind::Override => {
            promotion.into_iter().chain(facts).collect()
        }
        DialogKind::Quarantine | DialogKind::Lift | DialogKind::Submit | DialogKind::Draft => {
            dialog.request.digest.map(|digest| (Slot::Dialog, Query::Version(digest))).into_iter().collect()
        }
        DialogKind::Unanswered => Vec::new(),
        _ => facts.into_iter().collect(),
    }
}

/// Holding is safe: it is sent at once, and the status line says how it ended.
fn hold(request: &DialogRequest, cx: &mut Cx) -> Vec<Effect> {
    let say = |notice| vec![Effect::Tell(Box::new(Msg::Said(notice)))];
    if cx.session.read_only {
        return say(Notice::error("hold: this terminal is read-only"));
    }
    let Some(environment) = request.environment.clone() else {
        return say(Notice::error("hold: no environment was named"));
    };
    let key = request.key.clone();
    let rationale = request.filled.rationale.clone().unwrap_or_default();
    let kept = Kept {
        ticket: cx.slots.ticket(),
        server: cx.session.server.clone(),
        call: Call::Hold(key.clone(), environment.clone(), Act { rationale, seen_revision: None, dry_run: false }),
        title: format!("hold {key} in {environment}"),
        done: format!("held {key} in {environment}: no step until it is resumed (!u)"),
        command: format!("countersign hold {key} --env {environment}"),
        insists: false,
        environment: Some(environment),
        key,
    };
    cx.desk.send(kept, false, cx.steady)
}
