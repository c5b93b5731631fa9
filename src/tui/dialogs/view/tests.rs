//! Dialogs as they are drawn: snapshots at both sizes, small windows, hostile text.

use super::super::fixture::{Bench, digest, facts, failure, key, promotion};
use super::*;
use crate::tui::effect::{Answer, FailureKind, Slot};
use crate::tui::keymap::Keymap;
use crate::tui::msg::{DialogRequest, Msg};
use crate::tui::state::Screen;
use crate::tui::theme::Theme;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// The dialog of a bench, drawn.
fn drawn(bench: &Bench, width: u16, height: u16, screen: &Screen) -> String {
    static KEPT: std::sync::LazyLock<(Theme, Keymap)> =
        std::sync::LazyLock::new(|| (Theme::built_in("mono"), Keymap::standard()));
    let (theme, keymap) = &*KEPT;
    let look = Look { theme, screen, session: &bench.session, link: &bench.link, keymap, now: super::super::fixture::NOON };
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, frame.area(), bench.dialog.as_ref().unwrap(), &look)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_kill_dialog_at_both_sizes() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready().typing("o⇥pro");
    insta::assert_snapshot!("kill_80x24", drawn(&bench, 80, 24, &Screen::default()));
    insta::assert_snapshot!("kill_120x36", drawn(&bench, 120, 36, &Screen::default()));
    bench.typing("d§");
    bench.answer(Err(failure(FailureKind::Unreachable)));
    insta::assert_snapshot!("kill_not_yet_80x24", drawn(&bench, 80, 24, &Screen::default()));
}

#[test]
fn a_kill_without_an_answer_says_so_and_what_to_do_by_hand_within_seconds() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready().typing("o⇥prod§").wait(1_000);
    let sizes = [(60, 16), (80, 24), (120, 36), (59, 15), (40, 12)];
    for (width, height) in sizes {
        let screen = drawn(&bench, width, height, &Screen::default());
        assert!(screen.contains("waiting for the registry") && !screen.contains("NOT YET"), "{screen}");
    }
    bench.wait(2_000);
    for (width, height) in sizes {
        let screen = drawn(&bench, width, height, &Screen::default());
        let words = screen.split_whitespace().filter(|word| *word != "║").collect::<Vec<_>>().join(" ");
        assert!(screen.contains("NOT YET IN EFFECT"), "{screen}");
        let command = "by hand: countersign kill support.refund.system --env prod --reason outage";
        assert!(words.contains(command), "{width}x{height}\n{screen}");
    }
}

#[test]
fn what_is_approved_stands_whole_where_the_window_is_smallest_and_names_are_long() {
    let mut bench = Bench::new();
    let mut view = promotion();
    view.promotion.key_id = format!("support.{}.{}", "a".repeat(40), "b".repeat(40)).parse().unwrap();
    view.promotion.statement = super::super::spec::shown_statement(&view).digest();
    let mut request = DialogRequest::new(DialogKind::Approve, view.promotion.key_id.clone());
    request.environment = Some("prod".parse().unwrap());
    request.promotion = Some(Box::new(view.clone()));
    request.seen = Some(crate::tui::msg::Seen { changes: 3, total: 3, acknowledged: Vec::new() });
    bench.open_request(request).tell(&Msg::Painted).wait(200);
    bench.read(Slot::Dialog, Answer::Promotion(Box::new(view)));
    bench.read(Slot::DialogExtra, Answer::Facts(Box::new(facts()))).typing("ok");
    for (width, height) in [(60, 16), (80, 24), (120, 36)] {
        let screen = drawn(&bench, width, height, &Screen::default());
        let plan = super::super::words::steps(&promotion().promotion.plan);
        for text in ["[PROD]", "from ", "to ", &plan] {
            assert!(screen.contains(text), "{width}x{height} {text}\n{screen}");
        }
        assert!(!screen.contains('…') || screen.matches('…').count() <= 2, "{screen}");
        let whole = screen.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "");
        assert!(whole.contains(&"b".repeat(40)), "{screen}");
    }
}

#[test]
fn the_promote_dialog_at_both_sizes() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Promote).ready().typing("Policy 4.2 exception; support lead asked for it.⇥syst");
    insta::assert_snapshot!("promote_80x24", drawn(&bench, 80, 24, &Screen::default()));
    insta::assert_snapshot!("promote_120x36", drawn(&bench, 120, 36, &Screen::default()));
}

#[test]
fn a_promotion_left_to_the_registry_at_both_sizes() {
    let mut bench = Bench::new();
    let mut request = DialogRequest::new(DialogKind::Open, key());
    (request.environment, request.digest) = (Some("prod".parse().unwrap()), Some(digest(3)));
    request.filled.at = Some("2026-12-01T09:00[Europe/Berlin]".into());
    bench.open_request(request).tell(&Msg::Painted).wait(200);
    bench.read(Slot::DialogExtra, Answer::Facts(Box::new(facts()))).typing("Nobody is up then.");
    insta::assert_snapshot!("open_80x24", drawn(&bench, 80, 24, &Screen::default()));
    insta::assert_snapshot!("open_120x36", drawn(&bench, 120, 36, &Screen::default()));
}

#[test]
fn the_approve_dialog_says_why_its_author_cannot_approve() {
    let mut bench = Bench::new();
    let mut view = promotion();
    view.mine.can_approve.clear();
    view.mine.approve_refused = Some("you are an author of this version".into());
    bench.open(DialogKind::Approve).tell(&Msg::Painted).wait(200);
    bench.read(Slot::Dialog, Answer::Promotion(Box::new(view)));
    let screen = drawn(&bench, 80, 24, &Screen::default());
    assert!(screen.contains("you cannot approve this: you are an author of this version"), "{screen}");
    insta::assert_snapshot!("approve_refused_80x24", screen);
}

#[test]
fn a_rationale_with_invisible_characters_shows_and_counts_them() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Comment).ready();
    bench.tell(&Msg::Pasted("see\u{200b} INC-1\u{202e}".into()));
    let screen = drawn(&bench, 80, 24, &Screen::default());
    assert!(screen.contains("see‹U+200B› INC-1‹U+202E›"), "{screen}");
    assert!(screen.contains("! 2 invisible characters in this text: U+200B, U+202E"), "{screen}");
}

#[test]
fn a_kill_is_legible_in_any_window() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready().typing("o⇥pro");
    for (width, height) in [(59, 15), (40, 8), (30, 5)] {
        let screen = drawn(&bench, width, height, &Screen::default());
        for text in ["KILL", "[PROD]", "got"] {
            assert!(screen.contains(text) || width < 40, "{width}x{height}: {text}\n{screen}");
        }
    }
}

#[test]
fn no_size_panics_and_ascii_stays_ascii() {
    let mut bench = Bench::new();
    for kind in [DialogKind::Kill, DialogKind::Promote, DialogKind::Revive] {
        bench.open(kind).ready();
        for width in [0, 1, 2, 13, 30, 55, 56, 60, 64, 65, 80, 130] {
            for height in [0, 1, 3, 6, 13, 14, 15, 20, 21, 24, 40] {
                drawn(&bench, width.max(1), height.max(1), &Screen::default());
            }
        }
    }
    bench.open(DialogKind::Kill).ready().typing("o⇥pro");
    let frame: String = drawn(&bench, 80, 24, &Screen { ascii: true, ..Screen::default() });
    assert!(frame.contains("#= KILL") || frame.contains("# KILL"), "{frame}");
}

#[test]
fn hostile_text_is_drawn_as_tokens_only() {
    let hostile = "x\u{1b}[31m\u{202e}evil\u{200b}\u{7}";
    let mut bench = Bench::new();
    let mut view = promotion();
    view.promotion.rationale = hostile.into();
    bench.open(DialogKind::Promote).tell(&Msg::Painted).wait(200);
    bench.read(Slot::Dialog, Answer::Promotion(Box::new(view)));
    let screen = drawn(&bench, 120, 36, &Screen::default());
    assert!(screen.contains("‹U+001B›") && screen.contains("‹U+202E›"), "{screen}");
    assert!(!screen.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}' || c == '\u{200b}'));
}
