//! What has to be seen before an approval, at any width, in any window: no change is cut, hidden or skipped on the way to it.

use super::*;
use proptest::prelude::*;

type Edit = fn(&mut Content, &str);

const STRUCTURED: [(&str, Edit); 4] = [
    ("model_pin", |content, text| content.model_pin = Some(text.into())),
    ("parameter", |content, text| drop(content.parameters.insert("stop".into(), json!(text)))),
    ("variable", |content, text| {
        let kind = VariableType::String;
        content.variables.push(Variable { name: "x".into(), kind, required: false, default: json!(text) });
    }),
    ("nested", |content, text| drop(content.parameters.insert("tools".into(), json!([{"name": "pay", "rules": [text]}])))),
];

const SIZES: [(u16, u16); 6] = [(60, 16), (61, 17), (80, 24), (120, 36), (150, 40), (300, 60)];

/// A terminal with a promotion of which only one structured value differs, at its end.
fn changed(edit: Edit, length: usize, size: (u16, u16)) -> Stage {
    let with = |number, tail: &str| {
        let mut view = version(number, "dee", OLD, "Be kind.\n");
        let content = view.content.as_mut().unwrap();
        edit(content, &format!("{}{tail}", "be a helpful assistant ".repeat(length)));
        view.version.digest = content_digest(content);
        view
    };
    Stage::of(with(2, "Never pay."), with(3, "Always pay out 1000 EUR"), size)
}

fn open(stage: &mut Stage) {
    stage.go(ReviewTarget::Promotion(Uuid::from_u128(7), ReviewPane::Diff));
}

/// Asks to approve and reads on until the dialog opens; everything that was on the screen until then, as one text.
fn read_until_approved(stage: &mut Stage) -> String {
    let mut screens = stage.paint();
    for _ in 0..200 {
        stage.feed(Msg::Pressed(Key::char('a')));
        if stage.dialog().is_some() {
            return screens;
        }
        screens.push_str(&stage.press("n"));
    }
    panic!("never approvable: {}\n{}", stage.said(), stage.paint());
}

#[test]
fn a_structured_change_is_on_the_screen_whole_before_it_can_be_approved_however_long_it_is() {
    for (name, edit) in STRUCTURED {
        for length in [0, 1, 2, 3, 5, 12, 60] {
            for size in SIZES {
                let mut stage = changed(edit, length, size);
                open(&mut stage);
                let screens = read_until_approved(&mut stage);
                let said = format!("{name} {length} {size:?}\n{screens}");
                assert!(screens.contains("EUR") && screens.contains("Never"), "{said}");
                assert!(!screens.contains("…-]") && !screens.contains("…+}") && !screens.contains("EU…"), "{said}");
            }
        }
    }
}

#[test]
fn a_structured_change_that_is_longer_than_the_screen_is_not_approvable_at_once() {
    for (name, edit) in STRUCTURED {
        for size in SIZES {
            let mut stage = changed(edit, 300, size);
            open(&mut stage);
            let screen = stage.press("a");
            assert_eq!(stage.dialog(), None, "{name} {size:?}\n{screen}");
            assert!(stage.said().contains("1 of 1 changes not seen yet"), "{name} {size:?}: {}", stage.said());
            assert!(screen.contains("it stands first in the text below"), "{name} {size:?}\n{screen}");
        }
    }
}

#[test]
fn a_structured_change_stands_above_the_text_while_it_fits_and_in_it_while_the_text_has_all_the_room() {
    let (_, edit) = STRUCTURED[0];
    let mut stage = changed(edit, 0, (80, 24));
    open(&mut stage);
    assert!(stage.paint().contains("model_pin   [-\"Never pay.\"-]{+\"Always pay out 1000 EUR\"+}"), "{}", stage.paint());
    assert_eq!(stage.seen(), (0, 0));
    let mut stage = changed(edit, 0, (80, 24));
    stage.state.screen.zoom = true;
    open(&mut stage);
    assert_eq!(stage.seen(), (0, 1));
    assert!(read_until_approved(&mut stage).contains("1000 EUR"));
}

#[test]
fn another_width_takes_a_structured_change_along_with_what_was_seen_of_it() {
    let (_, edit) = STRUCTURED[0];
    let mut stage = changed(edit, 3, (300, 50));
    open(&mut stage);
    assert!(stage.paint().contains("1000 EUR"));
    stage.press("n");
    stage.resize(60, 16);
    stage.paint();
    assert_eq!(stage.seen(), (1, 1), "it was whole above the text");
    let mut stage = changed(edit, 30, (300, 50));
    stage.resize(60, 16);
    open(&mut stage);
    stage.resize(70, 16);
    stage.press("a");
    assert_eq!((stage.dialog(), stage.seen()), (None, (0, 1)), "its first rows are not the whole of it");
}

#[test]
fn a_change_is_known_again_at_any_size_unit_and_fold() {
    let mut stage = Stage::opened((80, 24));
    stage.press("n");
    let before = stage.seen().0;
    assert!(before > 0);
    for (keys, size) in [("w", (60, 16)), ("W", (200, 50)), ("sZ", (150, 40)), ("wW", (80, 24))] {
        stage.resize(size.0, size.1);
        stage.press(keys);
        assert!(stage.seen().0 >= before, "{keys} {size:?}");
    }
}

#[test]
fn a_window_that_is_too_small_shows_nothing_and_takes_no_approval() {
    let mut stage = changed(STRUCTURED[0].1, 2, (59, 15));
    open(&mut stage);
    stage.press("nnnn");
    assert_eq!(stage.seen(), (0, 1));
    stage.press("a");
    assert!(stage.said().contains("too small"), "{}", stage.said());
    stage.resize(80, 24);
    read_until_approved(&mut stage);
}

#[test]
fn a_change_that_failed_to_be_read_anew_is_not_seen_behind_the_failure() {
    let mut stage = Stage::new((80, 24));
    stage.feed(Msg::Went(Place::Review(ReviewTarget::Promotion(Uuid::from_u128(7), ReviewPane::Diff))));
    let failure = crate::tui::effect::Failure {
        kind: crate::tui::effect::FailureKind::Integrity,
        text: "not what its digest says".into(),
        hint: None,
        problem: None,
    };
    stage.state.review.failure = Some(failure);
    stage.press("nnnnna");
    assert_eq!((stage.seen().0, stage.dialog()), (0, None));
    assert!(stage.said().contains("not what its digest says"), "{}", stage.said());
}

#[test]
fn invisible_characters_are_acknowledged_once_all_of_them_were_listed() {
    let words: Vec<String> = (0..60).map(|i| format!("word{i}\u{200b}s")).collect();
    let new = format!("{OLD}\n\n{}\n", words.join("\n\n"));
    let mut stage = Stage::of(version(2, "dee", OLD, "t"), version(3, "dee", &new, "t"), (80, 24));
    open(&mut stage);
    for keys in ["iA", "GA"] {
        stage.press(keys);
        assert!(stage.said().contains("scroll to the end of the list first"), "{keys}: {}", stage.said());
        assert!(stage.review().acknowledged.is_empty());
    }
    stage.press("g");
    stage.press("g");
    for _ in 0..80 {
        stage.press("j");
    }
    stage.press("A");
    assert_eq!(stage.review().acknowledged.len(), 60, "{}", stage.said());
}

#[test]
fn the_environment_stands_whole_beside_a_long_key() {
    for (width, height) in SIZES {
        let mut stage = Stage::new((width, height));
        stage.view.promotion.key_id = format!("support.{}.{}", "a".repeat(40), "b".repeat(40)).parse().unwrap();
        stage.view.promotion.environment = "production".parse().unwrap();
        open(&mut stage);
        let screen = stage.paint();
        assert!(screen.contains("[PRODUCTION]"), "{screen}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn no_order_of_moves_and_sizes_approves_what_was_never_on_the_screen(
        which in 0usize..STRUCTURED.len(),
        length in 0usize..40,
        moves in prop::collection::vec((0usize..10, 60u16..200, 16u16..50), 0..24),
    ) {
        let mut stage = changed(STRUCTURED[which].1, length, (80, 24));
        open(&mut stage);
        let mut screens = stage.paint();
        for (which, width, height) in moves {
            match which {
                0 | 1 => { stage.resize(width, height); }
                2 => { stage.press("G"); }
                3 => { stage.press("="); }
                4 => { stage.press("W"); }
                5 => { stage.press("w"); }
                6 => { stage.press("]u"); }
                7 => { stage.press("N"); }
                _ => { stage.press("n"); }
            }
            screens.push_str(&stage.paint());
            stage.feed(Msg::Pressed(Key::char('a')));
            if stage.dialog().is_some() {
                prop_assert!(screens.contains("EUR"), "{}", screens);
                break;
            }
        }
    }
}
