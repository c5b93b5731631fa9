//! One open dialog: what happens to it, message by message.

use super::arming::{Arming, Blocker, Moment, Read};
use super::desk::Kept;
use super::form::{Choice, Focus, Form};
use super::known::{Known, said};
use super::many::{self, Set};
use super::sending::Stage;
use super::sheet::Row;
use super::spec::{self, Ask, Spec};
use super::start::{draft_name, queries};
use super::{approve, draft, open, pointer, timing, wake_at};
use crate::model::{Environment, Timestamp};
use crate::tui::effect::{Answer, Done, Effect, Failure, Receipt, Slot};
use crate::tui::field::Field;
use crate::tui::frame;
use crate::tui::keymap::{Key, KeyCode, Press};
use crate::tui::msg::{DialogKind, DialogRequest, Followed, Msg, Notice};
use crate::tui::state::{Cx, Wire};
use std::time::Duration;

/// An open dialog.
#[derive(Debug)]
pub(crate) struct Dialog {
    /// What was asked for.
    pub(crate) request: DialogRequest,
    pub(super) environment: Option<Environment>,
    pub(super) arming: Arming,
    pub(super) known: Known,
    pub(super) form: Form,
    /// Why the last attempt did not work; stays until the next.
    pub(super) failure: Option<Failure>,
    /// Why the facts could not be read.
    pub(super) unread: Option<String>,
    /// Whether the registry takes nothing from this terminal: its token ended.
    signed_out: bool,
    /// Whether it was sent and is not answered.
    pub(super) waiting: bool,
    /// Whether the act that it is about keeps trying: a kill, or one that was left unanswered.
    pub(super) insists: bool,
    /// Whether the text was kept from before.
    pub(super) restored: bool,
    /// Rows that are scrolled away.
    pub(super) scroll: u16,
    /// What it shows and sends, as of the last message.
    pub(super) shown: Spec,
    /// What keeps it from being sent, in words, as of the last message.
    pub(super) blocked: Vec<String>,
    /// How the attempts stand: stage, seconds, attempts.
    pub(super) trying: Option<(Stage, u64, u32)>,
    /// The rows, where the act is for many.
    pub(super) set: Option<Set>,
    /// What became of each row: then there is nothing left but to look at it and leave.
    pub(super) results: Option<Vec<Row>>,
    pub(super) now: Timestamp,
    pub(super) steady: Moment,
    wake: Option<Moment>,
}

/// What a dialog did with a message.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What it wants done.
    pub(crate) effects: Vec<Effect>,
    /// Whether it is over.
    pub(crate) close: bool,
}

impl Dialog {
    pub(super) fn new(
        request: DialogRequest,
        environment: Option<Environment>,
        arming: Arming,
        known: Known,
        form: Form,
    ) -> Self {
        Self {
            request,
            environment,
            arming,
            known,
            form,
            failure: None,
            unread: None,
            signed_out: false,
            waiting: false,
            insists: false,
            restored: false,
            scroll: 0,
            shown: Spec::default(),
            blocked: Vec::new(),
            trying: None,
            set: None,
            results: None,
            now: Timestamp::default(),
            steady: Moment::ZERO,
            wake: None,
        }
    }

    /// Every message while it is open: keys, pastes, paints, ticks, answers of its slots, its receipts, the stream.
    pub(crate) fn update(&mut self, msg: &Msg, cx: &mut Cx) -> Outcome {
        let mut out = Outcome::default();
        match msg {
            Msg::Painted => self.arming.painted(cx.steady),
            Msg::Pressed(key) => self.pressed(key, cx, &mut out),
            Msg::Pasted(text) => self.pasted(text, cx, &mut out),
            Msg::Edited(Some(text)) => self.edited(text, cx, &mut out),
            Msg::Loaded { slot, answer, .. } if queries(self).iter().any(|(asked, _)| asked == slot) => match answer {
                Ok(answer) => self.read(answer, cx),
                Err(failure) => self.unread = Some(failure.text.clone()),
            },
            Msg::Sent { ticket, receipt } if self.set.is_some() => self.one_answered(*ticket, receipt, cx, &mut out),
            Msg::Sent { receipt: Ok(Receipt { done: Done::Kills(outcomes), .. }), ticket }
                if Some(*ticket) == self.ticket() && self.waiting =>
            {
                self.results = Some(many::kills(outcomes));
                self.waiting = false;
                out.effects.push(cx.desk.keep(&draft_name(&self.request, self.environment.as_ref()), None));
            }
            Msg::Sent { ticket, receipt } if Some(*ticket) == self.ticket() && self.waiting => {
                self.answered(receipt.as_ref().err(), cx, &mut out);
            }
            Msg::Followed(followed) => self.followed(followed),
            _ => {}
        }
        if out.close {
            let of_rows = self.set.iter().flat_map(Set::under_way);
            for ticket in self.ticket().into_iter().chain(of_rows) {
                cx.desk.unwatch(ticket);
            }
            if self.results.is_some() || self.waiting && self.set.is_some() {
                out.effects.push(Effect::Tell(Box::new(Msg::Settled)));
            }
            out.effects.extend([Effect::Cancel(Slot::Dialog), Effect::Cancel(Slot::DialogExtra)]);
        } else {
            out.effects.extend(self.refresh(cx));
        }
        out
    }

    /// The ticket of the act: its own, or that of the act that it is about.
    fn ticket(&self) -> Option<uuid::Uuid> {
        self.request.ticket.or(Some(self.arming.idempotency()))
    }

    /// Computes what it shows anew, asks for facts where they are due, and for a wake-up.
    pub(super) fn refresh(&mut self, cx: &mut Cx) -> Vec<Effect> {
        (self.now, self.steady) = (cx.now, cx.steady);
        self.arming.set_live(cx.link.is_live());
        self.signed_out = cx.link.wire == Wire::SignedOut;
        self.arming.set_read_only(cx.session.read_only);
        let ask = Ask {
            request: &self.request,
            environment: self.environment.as_ref(),
            known: &self.known,
            form: &self.form,
            session: cx.session,
            link: cx.link,
            desk: cx.desk,
            now: cx.now,
        };
        self.shown = match &mut self.set {
            Some(set) => {
                set.judge(&ask);
                many::spec(set)
            }
            None => spec::of(&ask),
        };
        if let Some(results) = &self.results {
            self.shown.rows.clone_from(results);
            (self.shown.token, self.shown.blocked) = (None, Vec::new());
        }
        if cx.session.is_held_back() && !self.request.kind.holds_back() {
            self.shown.blocked.insert(0, "the registry is read-only: until it is released, it only holds back".into());
        }
        if frame::is_too_small(cx.screen.width, cx.screen.height) && !self.request.kind.holds_back() {
            self.shown.blocked.insert(0, "the window is too small to show what this does".into());
        }
        let token = self.shown.token.as_ref().map(|token| token.text.clone());
        if self.arming.expected() != token.as_deref() {
            self.form.token = token.is_some();
            self.arming.expect(token);
            self.form.settle();
        }
        self.blocked = self.blockers();
        let act = self.ticket().and_then(|ticket| cx.desk.act(ticket));
        self.trying = act.map(|a| (a.sending.stage(), a.sending.trying_for(cx.steady).as_secs(), a.sending.attempts()));
        let mut effects = Vec::new();
        if self.arming.wants_facts(cx.steady) {
            effects.extend(queries(self).into_iter().map(|(slot, query)| cx.slots.load(slot, query)));
        }
        if self.wake.is_none_or(|at| cx.steady >= at) {
            // Ages move by the second; what opens, opens a tenth of a second after its first frame.
            let at = cx.steady + if self.blocked.is_empty() { Duration::from_secs(1) } else { Duration::from_millis(250) };
            self.wake = Some(at);
            effects.push(wake_at(at, cx));
        }
        effects
    }

    /// Whether the rationale is there where one is required, and everything is chosen that must be.
    fn is_reasoned(&self) -> bool {
        let chosen = self.form.choice.as_ref().is_none_or(|choice| choice.at.is_some());
        let written = !self.shown.why_required || self.form.why.as_ref().is_none_or(|why| !why.is_blank());
        chosen && written
    }

    fn blockers(&self) -> Vec<String> {
        let protocol = self.arming.blockers(self.steady, self.is_reasoned());
        let words = protocol.iter().map(|blocker| self.blocker(blocker));
        self.shown.blocked.iter().cloned().chain(words).collect()
    }

    fn blocker(&self, blocker: &Blocker) -> String {
        match blocker {
            Blocker::ReadOnly => "this terminal is read-only".into(),
            Blocker::Opening => "opening".into(),
            Blocker::Reading => self.unread.as_ref().map_or("reading the facts".into(), |why| format!("not read: {why}")),
            Blocker::Changed(by) => {
                let what = said(self.arming.differences());
                let what = if what.is_empty() { String::new() } else { format!(" ({what})") };
                format!("changed by {by}{what}: ctrl-r takes the new facts")
            }
            Blocker::Stale => "the facts are older than 30 s, ctrl-r".into(),
            Blocker::Offline if self.signed_out => "not signed in: the token ended or was revoked".into(),
            Blocker::Offline => "the registry does not answer".into(),
            Blocker::Reason if self.form.choice.as_ref().is_some_and(|choice| choice.at.is_none()) => {
                format!("choose: {}", self.form.choice.as_ref().map_or("", |choice| choice.label).to_lowercase())
            }
            Blocker::Reason => "say why".into(),
            Blocker::Token => self.arming.token_notice().map_or("type the token".into(), str::to_owned),
            Blocker::Sent => "sent".into(),
        }
    }

    /// Facts that were read: shown, pinned, compared with what was pinned.
    fn read(&mut self, answer: &Answer, cx: &Cx) {
        if let (Some(set), Answer::Several(answers)) = (&mut self.set, answer) {
            set.read(answers);
            self.unread = None;
            let pin = set.pin();
            self.arming.facts(cx.steady, pin, "the registry");
            return;
        }
        let first = self.known.version.is_none();
        if !self.known.take(answer) {
            return;
        }
        self.unread = None;
        let content = self.known.version.as_ref().and_then(|view| view.content.as_ref());
        if let (Some(body), Some(content)) = (self.form.body.as_mut().filter(|body| first && body.is_blank()), content) {
            *body = body.clone().with(&draft::body_of(content)).at_start();
        }
        self.find_promotion();
        if !self.is_complete() {
            return;
        }
        let by = self.known.moved_by().unwrap_or_else(|| "the registry".into());
        if self.arming.facts(cx.steady, self.known.pin(), &by) == Read::Late {
            return;
        }
        self.choices();
    }

    /// Promote without a promotion named: the open one of the version, else the only one.
    fn find_promotion(&mut self) {
        if self.request.kind != DialogKind::Promote && self.request.kind != DialogKind::Override || self.known.promotion.is_some()
        {
            return;
        }
        let Some(facts) = &self.known.facts else { return };
        let of_version = facts.open.iter().find(|view| view.promotion.to_digest == self.request.digest);
        let only = facts.open.first().filter(|_| facts.open.len() == 1);
        let ready = facts.open.iter().find(|view| view.readiness.is_ready());
        self.known.promotion = of_version.or(ready).or(only).cloned().map(Box::new);
        self.request.promotion.clone_from(&self.known.promotion);
    }

    /// Whether everything that the dialog reads was read at least once.
    fn is_complete(&self) -> bool {
        let has = |slot: &Slot| match slot {
            // What a promotion says of itself is enough to act on; the rest gives names and reach.
            Slot::DialogExtra => self.known.facts.is_some() || self.known.promotion.is_some(),
            _ => self.known.promotion.is_some() || self.known.version.is_some(),
        };
        queries(self).iter().all(|(slot, _)| has(slot))
    }

    /// What can be chosen follows what was read; what was chosen stays chosen where it is still there.
    fn choices(&mut self) {
        let kind = self.request.kind;
        let items: Vec<String> = match kind {
            DialogKind::Approve | DialogKind::RequestChanges | DialogKind::Override => {
                self.known.promotion.as_ref().map(|view| approve::gates(kind, view)).unwrap_or_default()
            }
            DialogKind::Open | DialogKind::Revive => {
                open::candidates(&self.known, self.request.digest).iter().take(50).map(open::label).collect()
            }
            DialogKind::StepUp | DialogKind::StepDown => {
                pointer::shares(kind, &self.known).iter().map(|share| format!("{share} %")).collect()
            }
            _ => return,
        };
        let label = match kind {
            DialogKind::Open | DialogKind::Revive => "Version",
            DialogKind::StepUp | DialogKind::StepDown => "To",
            _ => "Gate",
        };
        let before = self.form.choice.as_ref().and_then(|choice| choice.chosen().map(str::to_owned));
        let wanted = before.or_else(|| self.request.filled.gate.clone()).or_else(|| self.request.filled.to.clone());
        let mut choice = Choice::of(label, items);
        if let Some(wanted) = wanted {
            choice.take(&wanted);
        }
        if choice.items.is_empty() {
            choice.at = None;
        }
        self.form.choice = Some(choice).filter(|choice| !choice.items.is_empty());
        self.form.settle();
    }

    fn followed(&mut self, followed: &Followed) {
        if let Some(set) = &self.set {
            if !self.waiting && set.concerns(followed) {
                self.arming.hurry("the registry");
            }
            return;
        }
        match followed {
            Followed::Pointer(pointer) => {
                let mine = pointer.key_id == self.request.key && Some(&pointer.environment) == self.environment.as_ref();
                self.arming.stream(if mine { pointer.revision } else { 0 }, "the registry");
            }
            Followed::Audit(event) => {
                let Some(body) = &event.body else { return };
                let promotion = self.known.promotion.as_ref().map(|view| view.promotion.promotion_id);
                let about = |subject: &str| match subject.split_once(':') {
                    Some(("key", key)) => key == self.request.key.as_str(),
                    Some(("promotion", id)) => promotion.is_some_and(|mine| mine.to_string() == id),
                    Some(("digest", digest)) => self
                        .known
                        .promotion
                        .as_ref()
                        .is_some_and(|view| view.promotion.to_digest.is_some_and(|to| to.to_string() == digest)),
                    _ => false,
                };
                if about(&body.subject.0) {
                    self.arming.hurry(&super::words::who(&body.actor));
                }
            }
            _ => {}
        }
    }

    fn pressed(&mut self, key: &Key, cx: &mut Cx, out: &mut Outcome) {
        let source = source(key.press);
        if !self.arming.admits(cx.steady, source) {
            return;
        }
        let pressed = key.press == Press::Down;
        let is_submit = (key.ctrl && key.code == KeyCode::Char('s')) || key.code == KeyCode::F(10);
        if self.results.is_some() {
            match key.code {
                KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') => out.close |= pressed,
                KeyCode::PageDown | KeyCode::Down | KeyCode::Char('j') => self.scroll = self.scroll.saturating_add(1),
                KeyCode::PageUp | KeyCode::Up | KeyCode::Char('k') => self.scroll = self.scroll.saturating_sub(1),
                _ => {}
            }
            return;
        }
        if key.code == KeyCode::Esc || (key.ctrl && key.code == KeyCode::Char('c')) {
            out.close |= pressed;
            return;
        }
        if self.waiting {
            if pressed && is_submit && matches!(self.trying, Some((Stage::Asking, ..))) {
                out.effects.extend(self.ticket().map(|ticket| cx.desk.confirm(ticket, cx.steady)).unwrap_or_default());
            }
            return;
        }
        match key.code {
            _ if is_submit => {
                if pressed {
                    self.submit(cx, out);
                }
            }
            KeyCode::Tab => self.form.step(false),
            KeyCode::BackTab => self.form.step(true),
            KeyCode::F(5) => self.arming.accept(),
            KeyCode::Char('r') if key.ctrl => self.arming.accept(),
            KeyCode::Char('g') if key.ctrl => out.effects.extend(self.written().map(|field| Effect::Edit(field.text()))),
            KeyCode::Enter if self.form.focus == Focus::Cancel => out.close |= pressed,
            KeyCode::Enter if self.form.focus == Focus::Act => {
                if pressed {
                    self.submit(cx, out);
                }
            }
            KeyCode::Enter if !self.form.is_writing() => self.form.step(false),
            // A rationale has a line or three: pages are those of what is read above it.
            KeyCode::PageDown if self.form.focus != Focus::Body => self.scroll = self.scroll.saturating_add(5),
            KeyCode::PageUp if self.form.focus != Focus::Body => self.scroll = self.scroll.saturating_sub(5),
            _ if self.form.focus == Focus::Token || (pressed && self.form.moves_on(key)) => self.token_key(key, cx),
            KeyCode::Char(c @ ('[' | ']')) if !self.form.is_writing() && !matches!(self.form.focus, Focus::Share | Focus::At) => {
                self.other_place(c == ']', cx);
            }
            KeyCode::Left | KeyCode::Right if matches!(self.form.focus, Focus::Cancel | Focus::Act) => {
                self.form.focus = if self.form.focus == Focus::Act { Focus::Cancel } else { Focus::Act };
            }
            _ => {
                let took = self.form.key(key);
                if took && self.form.is_writing() {
                    out.effects.push(self.keep(cx));
                }
                if took && self.form.focus == Focus::Timing {
                    timing::chosen(&mut self.form, timing::server_now(cx.link, cx.now));
                }
            }
        }
    }

    fn token_key(&mut self, key: &Key, cx: &Cx) {
        match key.code {
            KeyCode::Char('u' | 'w') if key.ctrl => self.arming.clear_token(),
            KeyCode::Char('h') if key.ctrl => self.arming.erase_token(),
            KeyCode::Char(c @ ('[' | ']')) if self.request.kind == DialogKind::Kill => self.other_place(c == ']', cx),
            KeyCode::Char(c) if !key.ctrl && !key.alt => self.arming.type_token(cx.steady, c, source(key.press)),
            KeyCode::Backspace => self.arming.erase_token(),
            _ => {}
        }
    }

    /// A kill in another environment: those in which the key is served, else all. The token starts over.
    fn other_place(&mut self, forward: bool, cx: &Cx) {
        if self.request.kind != DialogKind::Kill {
            return;
        }
        let mut places = self.known.served();
        if places.is_empty() {
            places = cx.session.world.iter().flat_map(|w| w.environments.iter().filter_map(|e| e.name.parse().ok())).collect();
        }
        if places.is_empty() {
            return;
        }
        let at = places.iter().position(|place| Some(place) == self.environment.as_ref());
        let next = match (at, forward) {
            (None, _) => 0,
            (Some(at), true) => (at + 1) % places.len(),
            (Some(at), false) => (at + places.len() - 1) % places.len(),
        };
        self.environment = Some(places[next].clone());
        if let Some(facts) = &mut self.known.facts {
            // The pointer of the other environment is read anew; the history stays.
            facts.pointer = None;
        }
        self.arming.clear_token();
        self.arming.elsewhere();
    }

    fn pasted(&mut self, text: &str, cx: &mut Cx, out: &mut Outcome) {
        if !self.arming.admits(cx.steady, super::arming::Source::Paste) || self.waiting {
            return;
        }
        match self.form.focus {
            Focus::Why | Focus::Body => {
                if let Some(field) = self.writing() {
                    field.paste(text);
                    out.effects.push(self.keep(cx));
                }
            }
            Focus::Token => text.chars().take(1).for_each(|c| self.arming.type_token(cx.steady, c, super::arming::Source::Paste)),
            Focus::Share => self.form.share.iter_mut().for_each(|share| share.paste(text)),
            Focus::At => self.form.at.iter_mut().for_each(|at| at.paste(text)),
            Focus::Choice | Focus::Timing | Focus::Cancel | Focus::Act => {}
        }
    }

    fn edited(&mut self, text: &str, cx: &mut Cx, out: &mut Outcome) {
        let is_body = self.form.body.is_some() && self.form.focus != Focus::Why;
        if let Some(field) = self.writing() {
            *field = field.clone().with(if is_body { text } else { text.trim_end() });
            out.effects.push(self.keep(cx));
        }
    }

    /// The text that an editor is for: the one that has the keys, else the body, else the rationale.
    fn written(&self) -> Option<&Field> {
        self.form.body.as_ref().filter(|_| self.form.focus != Focus::Why).or(self.form.why.as_ref())
    }

    fn writing(&mut self) -> Option<&mut Field> {
        if self.form.focus == Focus::Why { self.form.why.as_mut() } else { self.form.body.as_mut().or(self.form.why.as_mut()) }
    }

    /// Keeps the text as a draft.
    fn keep(&self, cx: &mut Cx) -> Effect {
        let name = draft_name(&self.request, self.environment.as_ref());
        let is_body = self.form.body.is_some() && self.form.focus != Focus::Why;
        let field = if is_body { self.form.body.as_ref() } else { self.form.why.as_ref() };
        let text = field.map(Field::text).filter(|text| !text.trim().is_empty());
        cx.desk.keep(&if is_body { format!("{name}.body") } else { name }, text)
    }

    fn submit(&mut self, cx: &mut Cx, out: &mut Outcome) {
        let reasoned = self.is_reasoned();
        // What was typed since the last frame counts.
        out.effects.extend(self.refresh(cx));
        if let Some(set) = &mut self.set {
            let ready = self.shown.blocked.is_empty() && self.shown.token.is_some();
            if ready && self.arming.send(cx.steady, reasoned).is_some() {
                self.waiting = true;
                out.effects.extend(set.send(cx));
            }
            return;
        }
        let Some(call) = self.shown.call.clone().filter(|_| self.shown.blocked.is_empty()) else { return };
        let Some(ticket) = self.arming.send(cx.steady, self.is_reasoned()) else { return };
        self.failure = None;
        self.waiting = true;
        if let Some(left) = self.request.ticket {
            out.effects.extend(cx.desk.confirm(left, cx.steady));
            return;
        }
        let kept = Kept {
            ticket,
            server: cx.session.server.clone(),
            call,
            key: self.request.key.clone(),
            environment: self.environment.clone(),
            title: self.shown.task.clone(),
            done: self.shown.done.clone(),
            command: self.shown.command.clone(),
            insists: self.request.kind == DialogKind::Kill,
        };
        self.insists = kept.insists;
        out.effects.extend(cx.desk.send(kept, true, cx.steady));
    }

    /// One row of many is answered: the next goes out; after the last one each outcome is shown.
    fn one_answered(&mut self, ticket: uuid::Uuid, receipt: &Result<Receipt, Failure>, cx: &mut Cx, out: &mut Outcome) {
        let Some(set) = self.set.as_mut().filter(|_| self.waiting) else { return };
        if !set.answered(ticket, receipt, cx.desk) {
            return;
        }
        out.effects.extend(set.send(cx));
        if set.is_over() {
            self.waiting = false;
            self.results = Some(many::rows(set));
            out.effects.push(Effect::Tell(Box::new(Msg::Said(Notice::done(set.said(), None)))));
            out.effects.push(cx.desk.keep(&draft_name(&self.request, None), None));
        }
    }

    /// The desk has seen the answer already: it forgot the act, or keeps trying.
    fn answered(&mut self, failure: Option<&Failure>, cx: &mut Cx, out: &mut Outcome) {
        let Some(failure) = failure else {
            let name = draft_name(&self.request, self.environment.as_ref());
            out.effects.push(cx.desk.keep(&name, None));
            if self.form.body.is_some() {
                out.effects.push(cx.desk.keep(&format!("{name}.body"), None));
            }
            out.close = true;
            return;
        };
        self.failure = Some(failure.clone());
        if self.ticket().is_some_and(|ticket| cx.desk.act(ticket).is_some()) {
            return;
        }
        self.waiting = false;
        let conflict = failure.problem.as_ref().is_some_and(|p| p.status == 409 || p.status == 412);
        if conflict { self.arming.refused() } else { self.arming.unsend() }
    }
}

fn source(press: Press) -> super::arming::Source {
    match press {
        Press::Down => super::arming::Source::Press,
        Press::Repeat => super::arming::Source::Repeat,
        Press::Up => super::arming::Source::Release,
    }
}

#[cfg(test)]
mod tests;
