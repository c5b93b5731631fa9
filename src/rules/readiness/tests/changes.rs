//! Random changes of what an approval approved: none of them leaves it counting.

use super::*;

/// One random change of what stands under a statement.
fn change(promotion: &mut Promotion, field: u8, bytes: [u8; 32], number: u16) {
    let digest = Some(Digest(bytes));
    match field {
        0 => promotion.act = [Act::Revive, Act::Step, Act::Rollback, Act::Kill][usize::from(number % 4)],
        1 => promotion.key_id = format!("support.k{number}").parse().unwrap(),
        2 => promotion.environment = format!("e{number}").parse().unwrap(),
        3 => promotion.from_digest = digest.filter(|_| !number.is_multiple_of(4)),
        4 => promotion.to_digest = digest.filter(|_| !number.is_multiple_of(4)),
        5 => promotion.baseline_digest = digest,
        6 => promotion.plan = vec![PlanStep(BasisPoints::new(number % 10_000).unwrap(), None)],
        7 => promotion.safe_default_digest = digest.filter(|_| !number.is_multiple_of(4)),
        _ => promotion.policy_digest = Digest(bytes),
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: if std::env::var("PROVE").is_ok_and(|how| how == "full") { 10_000 } else { 500 },
        ..Default::default()
    })]

    #[test]
    fn no_approval_counts_after_any_change_of_what_it_approved(
        field in 0..9u8,
        bytes in proptest::prelude::any::<[u8; 32]>(),
        number in proptest::prelude::any::<u16>(),
        refit in proptest::prelude::any::<bool>(),
    ) {
        let mut scene = scene();
        let before = scene.promotion.statement;
        change(&mut scene.promotion, field, bytes, number);
        if refit {
            scene.promotion.statement = Statement::of(&scene.promotion).digest();
        }
        proptest::prop_assert_ne!(Statement::of(&scene.promotion).digest(), before);
        let ballot = Ballot::count(&scene.serving());
        proptest::prop_assert!(ballot.meeting("owner").is_empty() && ballot.meeting("safety").is_empty());
        proptest::prop_assert!(!scene.readiness().is_ready());
    }
}
