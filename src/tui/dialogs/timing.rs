//! Who applies a promotion that is being opened: a person, or the registry, when all is met or from a moment on.

use super::form::{Choice, Form};
use super::spec::Ask;
use crate::model::{Environment, EnvironmentRule, Role, Timestamp};
use crate::rules::policy::matches;
use crate::tui::field::{Field, Lines};
use crate::tui::msg::Filled;
use crate::tui::state::Link;
use crate::tui::widgets::age::{absolute, span, until};

/// A person applies it.
const BY_HAND: &str = "by hand";
/// The registry applies it as soon as all is met.
const WHEN_READY: &str = "when ready";
/// The registry applies it from a moment on.
const AT_A_TIME: &str = "at a time";

/// The registry's clock, as far as it is known: it decides what is in the future.
pub(super) fn server_now(link: &Link, now: Timestamp) -> Timestamp {
    now.plus_seconds(link.skew)
}

/// Asks who applies it, as a command line has answered it or by hand.
pub(super) fn begin(form: &mut Form, filled: &Filled, now: Timestamp) {
    let mut choice = Choice::of("Applied", [BY_HAND, WHEN_READY, AT_A_TIME].map(str::to_owned));
    choice.take(match (filled.when_ready, &filled.at) {
        (true, _) => WHEN_READY,
        (false, Some(_)) => AT_A_TIME,
        (false, None) => BY_HAND,
    });
    form.timing = Some(choice);
    chosen(form, now);
    if let (Some(at), Some(text)) = (&mut form.at, &filled.at) {
        *at = at.clone().with(text);
    }
}

/// A time is asked for where one was chosen; it begins as the next full hour, which shows how one is written.
pub(super) fn chosen(form: &mut Form, now: Timestamp) {
    const HOUR: i64 = 3_600_000_000;
    if form.timing.as_ref().and_then(Choice::chosen) != Some(AT_A_TIME) {
        form.at = None;
        return;
    }
    form.at.get_or_insert_with(|| {
        let next = Timestamp((now.0.div_euclid(HOUR) + 1).saturating_mul(HOUR)).to_string();
        Field::new(Lines::One).with(&next.replace(":00.000000Z", "Z"))
    });
}

/// What was chosen, as it is sent and said.
#[derive(Debug, Default)]
pub(super) struct Timing {
    /// From when on.
    pub(super) at_time: Option<Timestamp>,
    /// As soon as all is met.
    pub(super) when_ready: bool,
    /// What the command line says of it, with a blank before; nothing where a person applies it.
    pub(super) flag: String,
    /// What follows from it.
    pub(super) then: String,
    /// Why the registry would refuse it.
    pub(super) blocked: Option<String>,
}

/// What the form says, judged as the registry will.
pub(super) fn read(ask: &Ask, environment: &Environment) -> Timing {
    let rule = ask.known.facts.as_ref().and_then(|facts| facts.rule.as_ref());
    let expires = rule.map(EnvironmentRule::expires_seconds);
    match ask.form.timing.as_ref().and_then(Choice::chosen) {
        Some(WHEN_READY) => {
            let end = expires.map(|seconds| format!(", until it expires in {}", span(seconds))).unwrap_or_default();
            Timing {
                when_ready: true,
                flag: " --when-ready".into(),
                then: format!("applied by the registry as soon as all is met{end}"),
                blocked: may_not(ask, environment),
                ..Timing::default()
            }
        }
        Some(AT_A_TIME) => at_a_time(ask, environment, expires),
        _ => Timing { then: "a releaser applies it with !p".into(), ..Timing::default() },
    }
}

fn at_a_time(ask: &Ask, environment: &Environment, expires: Option<i64>) -> Timing {
    let typed = ask.form.at.as_ref().map(Field::text).unwrap_or_default();
    let typed = typed.trim();
    let now = server_now(ask.link, ask.now);
    let at = Timestamp::typed(typed);
    let when = at
        .as_ref()
        .map_or_else(|_| "a time that is not named yet".to_owned(), |at| format!("{} ({})", moment(*at), until(now, *at)));
    let blocked = match (&at, expires) {
        (Err(wrong), _) => Some(wrong.to_string()),
        (Ok(at), _) if *at <= now => Some("this time is not in the future".to_owned()),
        (Ok(at), Some(seconds)) if *at >= now.plus_seconds(seconds) => {
            Some(format!("the promotion would expire before that, in {}", span(seconds)))
        }
        _ => may_not(ask, environment),
    };
    Timing {
        at_time: at.ok(),
        when_ready: false,
        flag: format!(" --at {}", super::spec::quoted(typed)),
        then: format!("applied from {when}, once all is met"),
        blocked,
    }
}

/// `2026-12-01 08:00:00 +00:00`: a moment without a doubt.
fn moment(at: Timestamp) -> String {
    absolute(at, 0)
}

/// Leaving it to the registry takes the right to apply it: as far as the caller's roles tell.
fn may_not(ask: &Ask, environment: &Environment) -> Option<String> {
    let me = ask.session.me.as_ref()?;
    let may = me.roles.iter().any(|grant| {
        grant.role == Role::Releaser
            && grant.namespace.as_ref().is_none_or(|pattern| matches(pattern, ask.request.key.namespace()))
            && (environment.is_safe_default() || grant.environment.as_ref().is_none_or(|name| name == environment.as_str()))
    });
    (!may).then(|| "leaving it to the registry takes the right to apply it: a releaser's".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Bench, NOON, digest, facts, key};
    use crate::tui::effect::{Answer, Call, Slot};
    use crate::tui::keymap::{Key, KeyCode};
    use crate::tui::msg::{DialogKind, DialogRequest, Msg};
    use crate::wire::promotions::OpenPromotion;

    /// The dialog that opens a promotion of v3, with the rationale written and the choice of who applies it in front.
    fn bench(fill: impl FnOnce(&mut DialogRequest)) -> Bench {
        let mut bench = Bench::new();
        let mut request = DialogRequest::new(DialogKind::Open, key());
        (request.environment, request.digest) = (Some("prod".parse().unwrap()), Some(digest(3)));
        fill(&mut request);
        bench.open_request(request).tell(&Msg::Painted).wait(200);
        bench.read(Slot::DialogExtra, Answer::Facts(Box::new(facts()))).typing("calm hours").key(Key::plain(KeyCode::BackTab));
        bench
    }

    fn opened(bench: &mut Bench) -> OpenPromotion {
        bench.typing("§");
        match bench.sent().pop() {
            Some((_, Call::Open(body))) => *body,
            other => panic!("{other:?}: {:?}", bench.blocked()),
        }
    }

    fn rewrite(bench: &mut Bench, text: &str) {
        bench.key(Key::ctrl('u')).typing(text);
    }

    #[test]
    fn a_promotion_is_applied_by_hand_unless_a_person_says_otherwise() {
        let mut bench = bench(|_| {});
        assert!(bench.text().contains("a releaser applies it"), "{}", bench.text());
        let body = opened(&mut bench);
        assert_eq!((body.when_ready, body.at_time), (false, None));
    }

    #[test]
    fn it_can_be_left_to_the_registry_when_all_is_met() {
        let mut bench = bench(|_| {});
        bench.typing(" ");
        assert!(bench.text().contains("as soon as all is met, until it expires in 14d"), "{}", bench.text());
        assert!(bench.dialog.as_ref().unwrap().shown.command.contains("--when-ready"));
        let body = opened(&mut bench);
        assert_eq!((body.when_ready, body.at_time), (true, None));
    }

    #[test]
    fn a_time_begins_as_the_next_full_hour_and_takes_a_zone() {
        let mut bench = bench(|_| {});
        bench.typing("  ⇥");
        assert!(bench.text().contains("from 2026-11-30 13:00:00 +00:00 (in 58m), once"), "{}", bench.text());
        rewrite(&mut bench, "2026-12-01T09:30[Europe/Berlin]");
        assert!(bench.text().contains("applied from 2026-12-01 08:30:00 +00:00 (in 20h), once"), "{}", bench.text());
        let body = opened(&mut bench);
        assert_eq!((body.when_ready, body.at_time), (false, Some("2026-12-01T08:30:00Z".parse().unwrap())));
    }

    #[test]
    fn a_time_that_the_registry_would_refuse_is_refused_here_with_the_reason() {
        for (text, why) in [
            ("tomorrow", "is neither 2026-12-01T08:00Z"),
            ("", "is neither"),
            ("2026-11-30T11:59Z", "not in the future"),
            ("2026-12-14T13:00Z", "would expire before that, in 14d"),
        ] {
            let mut bench = bench(|_| {});
            bench.typing("  ⇥");
            rewrite(&mut bench, text);
            assert!(bench.blocked()[0].contains(why), "{text}: {:?}", bench.blocked());
            bench.typing("§");
            assert_eq!(bench.sent(), [], "{text}");
        }
    }

    #[test]
    fn the_registrys_clock_decides_what_is_in_the_future() {
        let mut bench = bench(|_| {});
        bench.link.skew = 7_200;
        bench.typing("  ⇥");
        rewrite(&mut bench, "2026-11-30T13:30Z");
        assert!(bench.blocked()[0].contains("not in the future"), "{:?}", bench.blocked());
        assert_eq!(NOON.to_string(), "2026-11-30T12:00:00.000000Z");
    }

    #[test]
    fn who_may_not_apply_it_may_not_leave_it_to_the_registry() {
        let mut bench = bench(|_| {});
        bench.session.me.as_mut().unwrap().roles.clear();
        assert_eq!(bench.wait(10).blocked(), [""; 0], "by hand it can be opened");
        bench.typing(" ");
        assert!(bench.blocked()[0].contains("takes the right to apply it"), "{:?}", bench.blocked());
    }

    #[test]
    fn a_command_line_fills_it_in() {
        let mut at = bench(|request| request.filled.at = Some("2026-12-01T08:00Z".into()));
        assert_eq!(opened(&mut at).at_time, Some("2026-12-01T08:00:00Z".parse().unwrap()));
        let mut ready = bench(|request| request.filled.when_ready = true);
        assert!(opened(&mut ready).when_ready);
    }
}
