//! Every screen as it is drawn, with styles, at both reference sizes; and at every other size without a fault.

use super::bench::{Bench, history, row};
use crate::tui::action::Action;
use crate::tui::effect::{Answer, Slot};
use crate::tui::msg::{Followed, Msg, Notice};
use ratatui::style::Modifier;

/// Every screen by name, from a terminal that has everything.
pub(super) fn screens() -> Vec<(&'static str, Bench)> {
    let inbox = Bench::full();
    let mut keys = Bench::full();
    keys.keys("2");
    let names = ["billing.dunning.user", "support.refund.system", "support.refund.tone", "support.triage.router"];
    keys.answer(Slot::Keys, Answer::Keys(names.map(row).to_vec())).keys("j j j");
    keys.answer(Slot::History, Answer::History(Box::new(history())));
    let mut tree = Bench::full();
    tree.keys("2").answer(Slot::Keys, Answer::Keys(names.map(row).to_vec()));
    keys.keys("enter");
    let mut rollouts = Bench::full();
    rollouts.keys("3");
    let mut audit = Bench::full();
    audit.keys("5");
    let mut record = Bench::full();
    record.keys("5 j enter");
    let event = super::bench::event(39);
    record.answer(Slot::Record, Answer::Events(crate::wire::Page { items: vec![event], next_cursor: None }));
    let mut review = Bench::full();
    review.keys("enter");
    let over = |keys: &str| {
        let mut bench = Bench::full();
        bench.keys(keys);
        bench
    };
    let mut stale = Bench::full();
    stale.tell(Msg::Followed(Followed::Broken { seq: 17, why: "prev_hash is not that of #16".into() }));
    stale.tell(Msg::Followed(Followed::Lost { attempt: 3, retry_in: 2000, why: None, signed_out: false }));
    stale.tell(Msg::Said(Notice::error("failed to withdraw: only the person who opened it can")));
    vec![
        ("inbox", inbox),
        ("tree", tree),
        ("history", keys),
        ("rollouts", rollouts),
        ("audit", audit),
        ("record", record),
        ("review", review),
        ("help", over("?")),
        ("palette", over(":")),
        ("goto", over("ctrl-p")),
        ("danger", over("!")),
        ("copy", over("y")),
        ("errors", over("E")),
        ("alarm", stale),
    ]
}

#[test]
fn every_screen_looks_as_it_did() {
    for (name, mut bench) in screens() {
        // Review has snapshots of its own.
        if name == "review" {
            continue;
        }
        for (width, height) in [(80, 24), (120, 36)] {
            bench.size(width, height);
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), bench.picture());
        }
    }
}

/// A small generator (Lehmer, 48271), so that a failure can be repeated.
fn random(seed: &mut u64) -> u64 {
    *seed = *seed * 48_271 % 2_147_483_647;
    *seed
}

#[test]
fn no_size_of_the_window_breaks_a_screen() {
    let mut seed = 20_261_130;
    for (name, mut bench) in screens() {
        for n in 0..40 {
            let most = if n % 8 == 0 { 500 } else { 130 };
            let (width, height) = (random(&mut seed) % (most + 1), random(&mut seed) % (most / 2 + 1));
            bench.size(u16::try_from(width).unwrap(), u16::try_from(height).unwrap());
            let area = bench.cells().area;
            assert_eq!((u64::from(area.width), u64::from(area.height)), (width, height), "{name}");
        }
        for (width, height) in [(0, 0), (1, 1), (60, 16), (59, 16), (60, 15), (300, 100), (3, 40), (200, 2)] {
            bench.size(width, height).cells();
        }
    }
}

#[test]
fn without_colour_the_selected_row_is_told_by_reverse_video_and_by_a_sign() {
    for (name, mut bench) in screens() {
        if !["inbox", "tree", "history", "rollouts", "audit"].contains(&name) {
            continue;
        }
        bench.state.screen.theme = "mono".into();
        let cells = bench.size(120, 36).cells();
        let mut selected = 0;
        for y in 0..cells.area.height {
            let row = (0..cells.area.width).filter(|x| cells[(*x, y)].modifier.contains(Modifier::REVERSED));
            let row: Vec<u16> = row.collect();
            let sign = row.first().is_some_and(|x| cells[(*x, y)].symbol() == ">");
            selected += usize::from(sign && row.len() > 20);
            for x in 0..cells.area.width {
                let cell = &cells[(x, y)];
                assert_eq!((cell.fg, cell.bg), Default::default(), "{name} has a colour at {x},{y}");
            }
        }
        assert!(selected >= 1, "{name} shows no selected row");
    }
}

#[test]
fn where_only_ascii_can_be_shown_nothing_else_is() {
    for (name, mut bench) in screens() {
        bench.state.screen.ascii = true;
        for (width, height) in [(80, 24), (120, 36)] {
            let text = bench.size(width, height).text();
            let strange: Vec<char> = text.chars().filter(|c| !c.is_ascii()).collect();
            assert!(strange.is_empty(), "{name}: {strange:?}\n{text}");
        }
    }
}

#[test]
fn help_is_reachable_and_names_every_action_of_the_room() {
    let mut bench = Bench::full();
    bench.size(80, 24).keys("?");
    assert!(bench.text().contains("for your approval") || bench.text().contains("help"));
    bench.typed("kill");
    let text = bench.text();
    assert!(text.contains("!k") && text.contains("Stop serving at once"), "{text}");
    bench.keys("esc");
    assert!(bench.state.modal.is_none());
    assert!(Action::ALL.len() > 60);
}

#[test]
fn a_small_window_says_so_and_kill_help_and_leaving_work_in_it() {
    let mut bench = Bench::full();
    bench.size(40, 10);
    assert!(bench.text().contains("40x10: too small"), "{}", bench.text());
    bench.keys("! k");
    assert!(matches!(bench.state.modal, Some(crate::tui::state::Modal::Dialog(_))));
}
