//! One open dialog: what happens to it, message by message.

use super::arming::{Arming, Blocker, Moment, Read};
use super::desk::Kept;
use super::form::{Choice, Focus, Form};
use super::known::{Known, said};
use super::sending::Stage;
use super::spec::{self, Ask, Spec};
use super::start::{draft_name, queries};
use super::{approve, draft, open, pointer, wake_at};
use crate::model::{Environment, Timestamp};
use crate::tui::effect::{Effect, Failure, Slot};
use crate::tui::field::Field;
use crate::tui::keymap::{Key, KeyCode, Press};
use crate::tui::msg::{DialogKind, DialogRequest, Followed, Msg};
use crate::tui::state::Cx;
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
            waiting: false,
            insists: false,
            restored: false,
            scroll: 0,
            shown: Spec::default(),
            blocked: Vec::new(),
            trying: None,
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
            Msg::Sent { ticket, receipt } if Some(*ticket) == self.ticket() && self.waiting => {
                self.answered(receipt.as_ref().err(), cx, &mut out);
            }
            Msg::Followed(followed) => self.followed(followed),
            _ => {}
        }
        if out.close {
            if let Some(ticket) = self.ticket() {
                cx.desk.unwatch(ticket);
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
        self.shown = spec::of(&ask);
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
    fn read(&mut self, answer: &crate::tui::effect::Answer, cx: &Cx) {
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
            KeyCode::PageDown if !self.form.is_writing() => self.scroll = self.scroll.saturating_add(5),
            KeyCode::PageUp if !self.form.is_writing() => self.scroll = self.scroll.saturating_sub(5),
            _ if self.form.focus == Focus::Token => self.token_key(key, cx),
            KeyCode::Char(c @ ('[' | ']')) if !self.form.is_writing() && self.form.focus != Focus::Share => {
                self.other_place(c == ']', cx);
            }
            KeyCode::Left | KeyCode::Right if matches!(self.form.focus, Focus::Cancel | Focus::Act) => {
                self.form.focus = if self.form.focus == Focus::Act { Focus::Cancel } else { Focus::Act };
            }
            _ => {
                if self.form.key(key) && self.form.is_writing() {
                    out.effects.push(self.keep(cx));
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
            Focus::Choice | Focus::Cancel | Focus::Act => {}
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
        // What was typed since the last frame counts.
        out.effects.extend(self.refresh(cx));
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
mod tests {
    use super::super::fixture::{Bench, digest, event, facts, failure, key, pointer, promotion, written};
    use super::*;
    use crate::model::{Code, KillReason, Refusal, Verdict};
    use crate::tui::effect::{Answer, Call, Done, FailureKind, Receipt};
    use crate::tui::state::Wire;
    use crate::wire::Problem;

    fn killed() -> Receipt {
        Receipt { seq: Some(18_444), done: Done::Voted }
    }

    fn conflict() -> Failure {
        let problem = Problem::of(Refusal::new(Code::PointerMoved, "the pointer moved"), 409);
        Failure { problem: Some(Box::new(problem)), ..failure(FailureKind::Refused) }
    }

    fn kill_of(bench: &Bench) -> crate::wire::pointers::Kill {
        match bench.sent().last() {
            Some((_, Call::Kill(_, _, kill))) => kill.clone(),
            other => panic!("no kill was sent: {other:?}"),
        }
    }

    #[test]
    fn a_kill_is_two_keys_a_reason_a_tab_the_token_and_ctrl_s() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Kill).ready().typing("o⇥prod§");
        let kill = kill_of(&bench);
        assert_eq!((kill.reason, kill.note, kill.seen_revision), (KillReason::Outage, None, Some(41)));
        bench.answer(Ok(killed()));
        assert!(bench.dialog.is_none());
        assert_eq!(bench.said(), ["killed support.refund.system in prod #18444"]);
    }

    #[test]
    fn keys_that_were_typed_before_the_dialog_was_painted_do_nothing() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Kill).typing("o⇥prod§");
        bench.tell(&Msg::Painted).typing("§").wait(100);
        assert_eq!(bench.sent(), []);
        let dialog = bench.dialog.as_ref().unwrap();
        assert_eq!((dialog.arming.typed(), dialog.arming.dropped(), dialog.form.focus), ("", 8, Focus::Choice));
        bench.typing("o⇥prod§");
        assert_eq!(bench.sent().len(), 1);
    }

    #[test]
    fn a_paste_does_nothing_but_fill_a_text() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Kill).ready();
        bench.tell(&Msg::Pasted("!ko\tprod\u{13}".into())).typing("o⇥");
        bench.tell(&Msg::Pasted("prod".into())).typing("§");
        assert_eq!(bench.sent(), []);
        assert!(bench.blocked()[0].contains("paste"), "{:?}", bench.blocked());
        bench.typing("prod⇥");
        bench.tell(&Msg::Pasted("INC-1\nand more\u{13}".into())).typing("§");
        assert_eq!(kill_of(&bench).note.as_deref(), Some("INC-1\nand more"));
    }

    #[test]
    fn held_keys_do_nothing() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Kill).ready();
        for key in
            [Key::char('o'), Key::plain(KeyCode::Tab)].into_iter().chain("prod".chars().map(Key::char)).chain([Key::ctrl('s')])
        {
            bench.key(key);
            for _ in 0..3 {
                bench.steady += Duration::from_millis(33);
                // With the enhancement the terminal says so; without, it presses.
                bench.key(Key { press: Press::Repeat, ..key }).key(Key { press: Press::Up, ..key });
                bench.key(key);
            }
        }
        assert_eq!(bench.sent(), []);
    }

    #[test]
    fn two_hundred_updates_a_second_do_not_disturb_a_kill() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Kill).ready();
        let mut moved = pointer();
        for key in
            [Key::char('o'), Key::plain(KeyCode::Tab)].into_iter().chain("prod".chars().map(Key::char)).chain([Key::ctrl('s')])
        {
            for _ in 0..20 {
                bench.steady += Duration::from_millis(5);
                moved.revision += 1;
                bench.tell(&Msg::Followed(Followed::Pointer(Box::new(moved.clone()))));
            }
            bench.key(key);
        }
        assert_eq!(bench.sent().len(), 1);
    }

    #[test]
    fn a_kill_needs_neither_facts_nor_a_registry_to_be_armed() {
        let mut bench = Bench::new();
        bench.link.wire = Wire::Reconnecting(3);
        bench.open(DialogKind::Kill).tell(&Msg::Painted).wait(200).typing("s⇥prod§");
        assert_eq!((kill_of(&bench).reason, kill_of(&bench).seen_revision), (KillReason::Safety, None));
        bench.answer(Err(failure(FailureKind::Unreachable)));
        assert!(bench.dialog.is_some());
        assert!(matches!(bench.dialog.as_ref().unwrap().trying, Some((Stage::Again(_), ..))));
        let first = kill_of(&bench);
        bench.wait(1_000);
        assert_eq!(bench.sent().len(), 2, "it keeps trying");
        assert_eq!(bench.sent()[0], bench.sent()[1], "with the same key and the same words");
        assert_eq!(kill_of(&bench), first);
        bench.answer(Ok(killed()));
        assert!(bench.dialog.is_none());
        bench.wait(60_000);
        assert_eq!(bench.sent().len(), 2, "once it is in effect nothing more is sent");
    }

    #[test]
    fn esc_lets_a_kill_go_on_behind_and_the_status_line_says_so() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Kill).ready().typing("o⇥prod§");
        bench.answer(Err(failure(FailureKind::Unreachable))).typing("⎋");
        assert!(bench.dialog.is_none());
        let banner = bench.desk.banner(bench.steady).unwrap();
        assert!(banner.contains("NOT YET IN EFFECT") && banner.contains("kill support.refund.system in prod"), "{banner}");
        bench.wait(5_000);
        assert_eq!(bench.sent().len(), 2);
        bench.answer(Ok(killed()));
        assert_eq!(bench.said(), ["killed support.refund.system in prod #18444"]);
        assert_eq!(bench.desk.banner(bench.steady), None);
    }

    #[test]
    fn a_kill_can_be_aimed_elsewhere_which_starts_the_token_over() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Kill).tell(&Msg::Painted).wait(200).typing("o⇥prod]");
        let dialog = bench.dialog.as_ref().unwrap();
        assert_eq!((dialog.arming.expected(), dialog.arming.typed()), (Some("stage"), ""));
        bench.typing("prod§");
        assert_eq!(bench.sent(), [], "the other environment's name does not arm");
        bench.typing("⇥⇥⇥⇥⇥");
        bench.tell(&Msg::Pressed(Key::ctrl('u'))).typing("stage§");
        assert!(matches!(bench.sent().last(), Some((_, Call::Kill(_, environment, _))) if environment.as_str() == "stage"));
    }

    #[test]
    fn an_approval_signs_what_the_dialog_shows() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Approve).ready().typing("tone ok§");
        let Some((_, Call::Vote(id, vote))) = bench.sent().pop() else { panic!("no vote") };
        assert_eq!(id, promotion().promotion.promotion_id);
        assert_eq!((vote.verdict, vote.gate.as_deref(), vote.rationale.as_str()), (Verdict::Approve, Some("safety"), "tone ok"));
        assert_eq!(vote.statement, Some(promotion().promotion.statement));
    }

    #[test]
    fn what_would_sign_something_else_than_the_registry_asks_for_is_not_sent() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Approve).ready();
        let mut other = promotion();
        other.rule.expires = Some(60);
        bench.key(Key::ctrl('r')).read(Slot::Dialog, Answer::Promotion(Box::new(other))).typing("ok§");
        assert_eq!(bench.sent(), []);
        assert!(bench.blocked()[0].contains("not what the registry asks you to sign"), "{:?}", bench.blocked());
    }

    #[test]
    fn approve_waits_for_the_reader_and_says_for_what() {
        let mut refused = promotion();
        refused.mine.can_approve.clear();
        refused.mine.approve_refused = Some("you are an author of it".into());
        let mut hidden = promotion();
        hidden.hidden = vec![crate::model::approval::HiddenSpan { path: "/body".into(), start: 3, code_points: "U+200B".into() }];
        let seen = |changes| crate::tui::msg::Seen { changes, total: 3, acknowledged: Vec::new() };
        let cases = [
            (promotion(), None, "read the change first"),
            (promotion(), Some(seen(2)), "1 change not yet seen"),
            (refused, Some(seen(3)), "you are an author of it"),
            (hidden, Some(seen(3)), "invisible characters are not acknowledged"),
        ];
        for (view, seen, why) in cases {
            let mut bench = Bench::new();
            let mut request = DialogRequest::new(DialogKind::Approve, key());
            (request.promotion, request.seen) = (Some(Box::new(view.clone())), seen);
            bench.open_request(request).tell(&Msg::Painted).wait(200);
            bench.read(Slot::Dialog, Answer::Promotion(Box::new(view))).typing("ok§");
            assert_eq!(bench.sent(), [], "{why}");
            assert!(bench.blocked()[0].contains(why), "{:?}", bench.blocked());
        }
    }

    #[test]
    fn a_rationale_of_blanks_is_none() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Approve).ready().typing("  §");
        assert_eq!((bench.sent(), bench.blocked()), (vec![], vec!["say why".to_owned()]));
    }

    #[test]
    fn another_revision_disarms_a_rollback_until_ctrl_r() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Rollback).ready().typing("bad answers⇥prod");
        assert_eq!(bench.blocked(), Vec::<String>::new());
        let mut moved = facts();
        let view = moved.pointer.as_mut().unwrap();
        (view.pointer.revision, view.moved_by) = (42, Some("person:bob".into()));
        bench.tell(&Msg::Followed(Followed::Pointer(Box::new(view.pointer.clone()))));
        bench.read(Slot::DialogExtra, Answer::Facts(Box::new(moved.clone()))).typing("§");
        assert_eq!(bench.sent(), []);
        assert_eq!(bench.blocked(), ["changed by bob (revision: 41 → 42): ctrl-r takes the new facts"]);
        bench.key(Key::ctrl('r')).read(Slot::DialogExtra, Answer::Facts(Box::new(moved))).typing("§");
        assert_eq!(bench.blocked(), ["type the token"], "the token starts over, the rationale stays");
        bench.typing("prod§");
        let Some((_, Call::Rollback(_, _, body))) = bench.sent().pop() else { panic!("no rollback") };
        assert_eq!((body.seen_revision, body.to_digest, body.rationale.as_str()), (Some(42), Some(digest(3)), "bad answers"));
    }

    #[test]
    fn a_conflict_keeps_the_dialog_and_the_rationale_and_clears_the_token() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Rollback).ready().typing("bad answers⇥prod§");
        bench.answer(Err(conflict()));
        let mut moved = facts();
        moved.pointer.as_mut().unwrap().pointer.revision = 42;
        let loads = |b: &Bench| b.effects.iter().filter(|e| matches!(e, Effect::Load { .. })).count();
        assert!(loads(&bench) >= 2, "the facts are read again at once");
        bench.read(Slot::DialogExtra, Answer::Facts(Box::new(moved)));
        let dialog = bench.dialog.as_ref().unwrap();
        assert_eq!((dialog.form.reason().as_str(), dialog.arming.typed()), ("bad answers", ""));
        assert_eq!(dialog.arming.differences().len(), 1, "what differs is marked");
        assert!(dialog.failure.is_some());
        bench.typing("prod§");
        assert_eq!(bench.sent().len(), 2);
        assert_eq!(bench.sent()[0].0, bench.sent()[1].0, "one key for all attempts of a dialog");
    }

    #[test]
    fn a_timeout_is_an_unknown_outcome_and_asks_again_with_the_same_key() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Approve).ready().typing("ok§");
        bench.answer(Err(failure(FailureKind::Timeout)));
        assert!(bench.dialog.as_ref().unwrap().waiting);
        bench.typing("§§§");
        assert_eq!(bench.sent().len(), 1, "the person cannot send it a second time");
        bench.wait(2_000);
        assert_eq!((bench.sent().len(), bench.sent()[0] == bench.sent()[1]), (2, true));
        bench.answer(Ok(Receipt { seq: Some(7), done: Done::Voted }));
        assert_eq!(bench.said(), ["approved support.refund.system for prod on safety #7"]);
    }

    #[test]
    fn what_never_left_can_be_sent_again_by_the_person() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Approve).ready().typing("ok§");
        bench.answer(Err(failure(FailureKind::Unreachable)));
        assert_eq!(bench.blocked(), Vec::<String>::new());
        bench.wait(9_000);
        assert_eq!(bench.sent().len(), 1, "only a kill keeps trying");
        bench.typing("§");
        assert_eq!(bench.sent().len(), 2);
    }

    #[test]
    fn a_failure_stays_until_the_next_attempt() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Approve).ready().typing("ok§");
        bench.answer(Err(failure(FailureKind::Refused))).wait(60_000);
        assert_eq!(bench.dialog.as_ref().unwrap().failure.as_ref().unwrap().text, "no answer");
    }

    #[test]
    fn esc_keeps_the_text_as_a_draft_and_success_forgets_it() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Approve).ready().typing("half a sen⎋");
        assert!(bench.dialog.is_none());
        bench.open(DialogKind::Approve);
        let dialog = bench.dialog.as_ref().unwrap();
        assert!(dialog.restored);
        assert_eq!(dialog.form.reason(), "half a sen");
        bench.ready().typing("tence§").answer(Ok(Receipt { seq: None, done: Done::Voted }));
        bench.open(DialogKind::Approve);
        assert_eq!(bench.dialog.as_ref().unwrap().form.reason(), "");
        let last = bench.effects.iter().rev().find_map(|effect| match effect {
            Effect::Draft { name, text } if name.starts_with("approve.") => Some(text.clone()),
            _ => None,
        });
        assert_eq!(last, Some(None), "on disk too");
    }

    #[test]
    fn an_act_left_unanswered_by_an_earlier_process_is_not_sent_unasked() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Kill).ready().typing("o⇥prod§");
        let kept: std::collections::BTreeMap<String, String> = bench
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Draft { name, text: Some(text) } => Some((name.clone(), text.clone())),
                _ => None,
            })
            .collect();
        let first = bench.sent().pop().unwrap();
        let mut bench = Bench::new();
        bench.desk = super::super::desk::Desk::new(kept, bench.steady);
        bench.wait(60_000);
        assert_eq!(bench.sent(), []);
        let request = bench.with(|_, cx| {
            let mut desk = std::mem::take(cx.desk);
            let request = desk.asks(cx);
            *cx.desk = desk;
            request
        });
        bench.open_request(request.unwrap()).tell(&Msg::Painted).wait(200);
        assert!(bench.text().contains("kill support.refund.system in prod"), "{}", bench.text());
        assert!(bench.text().contains("BY HAND"));
        bench.typing("§");
        assert_eq!(bench.sent(), [], "a kill asks for its token here too");
        bench.key(Key::plain(KeyCode::BackTab)).typing("prod§");
        assert_eq!(bench.sent(), [first], "the same act with the same key");
        bench.answer(Ok(killed()));
        assert!(bench.dialog.is_none());
    }

    #[test]
    fn an_act_for_another_registry_is_left_alone() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Kill).ready().typing("o⇥prod§");
        let name = format!("act.{}", bench.sent()[0].0);
        let text = bench.desk.draft(&name).unwrap().replace("http://127.0.0.1:1", "http://elsewhere");
        bench.desk = super::super::desk::Desk::new([(name, text)].into(), bench.steady);
        let request = bench.with(|_, cx| {
            let mut desk = std::mem::take(cx.desk);
            desk.asks(cx)
        });
        assert_eq!(request, None);
    }

    #[test]
    fn read_only_sends_nothing_not_even_a_kill_or_a_hold() {
        let mut bench = Bench::new();
        bench.session.read_only = true;
        bench.open(DialogKind::Kill).ready().typing("o⇥prod§");
        assert_eq!(bench.blocked(), ["this terminal is read-only"]);
        bench.open(DialogKind::Hold);
        assert_eq!(bench.sent(), []);
    }

    #[test]
    fn hold_is_done_at_once() {
        let mut bench = Bench::new();
        bench.open(DialogKind::Hold);
        assert!(bench.dialog.is_none());
        assert!(matches!(bench.sent()[..], [(_, Call::Hold(..))]));
    }

    #[test]
    fn promote_finds_the_open_promotion_and_asks_for_the_last_segment() {
        let mut bench = Bench::new();
        let mut request = DialogRequest::new(DialogKind::Promote, key());
        request.environment = Some("prod".parse().unwrap());
        bench.open_request(request).ready().read(Slot::Dialog, Answer::Promotion(Box::new(promotion())));
        assert_eq!(bench.blocked(), ["type the token"]);
        assert!(bench.text().contains("the 5 % of users on v4 040404040404 lose it"), "{}", bench.text());
        bench.typing("⇥system§");
        assert!(matches!(bench.sent()[..], [(_, Call::Apply(..))]));
    }

    #[test]
    fn a_step_goes_to_the_next_share_of_the_plan_with_the_revision_that_was_shown() {
        let mut bench = Bench::new();
        bench.open(DialogKind::StepUp).ready().typing("guards are fine⇥system§");
        let Some((_, Call::Step(_, _, body))) = bench.sent().pop() else { panic!("no step: {:?}", bench.blocked()) };
        assert_eq!((body.to.map(crate::model::BasisPoints::get), body.down, body.seen_revision), (Some(2_500), false, Some(41)));
    }

    #[test]
    fn a_revive_offers_what_served_before_and_the_killed_one_last() {
        let mut bench = Bench::new();
        let mut request = DialogRequest::new(DialogKind::Revive, key());
        (request.environment, request.digest) = (Some("prod".parse().unwrap()), Some(digest(4)));
        let mut facts = facts();
        facts.pointer.as_mut().unwrap().pointer.killed = true;
        bench.open_request(request).tell(&Msg::Painted).wait(200).read(Slot::DialogExtra, Answer::Facts(Box::new(facts)));
        let choice = bench.dialog.as_ref().unwrap().form.choice.clone().unwrap();
        assert_eq!((choice.chosen(), choice.items.last().unwrap().1.as_str()), (Some("v3 030303030303"), "v4 040404040404"));
        assert!(bench.text().contains("open already: promote to"), "{}", bench.text());
        bench.typing("calm again⇥system§");
        let Some((_, Call::Open(body))) = bench.sent().pop() else { panic!("not opened: {:?}", bench.blocked()) };
        assert_eq!((body.revive, body.to_digest, body.percent), (true, digest(3), None));
    }

    #[test]
    fn a_new_version_keeps_all_but_the_text_and_survives_esc() {
        let open = |bench: &mut Bench| {
            let mut request = DialogRequest::new(DialogKind::Draft, key());
            request.digest = Some(digest(4));
            bench.open_request(request).tell(&Msg::Painted).wait(200);
            bench.read(Slot::Dialog, Answer::Version(Box::new(written())));
        };
        let mut bench = Bench::new();
        open(&mut bench);
        assert_eq!(bench.dialog.as_ref().unwrap().form.body.as_ref().unwrap().text(), "Refunds take {{ days }} days.\n");
        assert_eq!(bench.blocked()[0], "nothing is changed yet");
        bench.key(Key { ctrl: true, ..Key::plain(KeyCode::Char('e')) }).typing("Ask.⎋");
        open(&mut bench);
        bench.typing("⇥shorter§");
        let Some((_, Call::Save(_, body))) = bench.sent().pop() else { panic!("not saved: {:?}", bench.blocked()) };
        let kept = written().content.unwrap();
        assert_eq!(body.content.body, "Refunds take {{ days }} days.Ask.\n");
        assert_eq!((&body.content.variables, &body.content.model_pin), (&kept.variables, &kept.model_pin));
        assert_eq!(body.rationale, "shorter");
    }

    #[test]
    fn a_new_version_that_would_be_refused_says_why_while_it_is_written() {
        let mut bench = Bench::new();
        let mut request = DialogRequest::new(DialogKind::Draft, key());
        request.digest = Some(digest(4));
        bench.open_request(request).tell(&Msg::Painted).wait(200);
        bench.read(Slot::Dialog, Answer::Version(Box::new(written()))).typing("{{ nobody }}⇥why§");
        assert_eq!(bench.sent(), []);
        assert!(bench.blocked()[0].contains("nobody"), "{:?}", bench.blocked());
    }

    #[test]
    fn an_answer_without_a_number_takes_it_from_the_stream_whichever_comes_first() {
        let voted = || Ok(Receipt { seq: None, done: Done::Voted });
        let told = |seq, actor| Msg::Followed(Followed::Audit(Box::new(event(seq, actor))));
        let mut bench = Bench::new();
        bench.open(DialogKind::Approve).ready().tell(&told(7, "ana")).typing("ok§");
        bench.tell(&told(8, "bob")).tell(&told(9, "ana")).answer(voted());
        assert_eq!(bench.said(), ["approved support.refund.system for prod on safety #9"]);
        let mut bench = Bench::new();
        bench.open(DialogKind::Approve).ready().typing("ok§").answer(voted());
        bench.tell(&told(8, "bob")).tell(&told(9, "ana")).tell(&told(10, "ana"));
        let text = "approved support.refund.system for prod on safety";
        assert_eq!(bench.said(), [text.to_owned(), format!("{text} #9")]);
    }
}
