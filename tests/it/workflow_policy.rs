//! Changing the policy by two admins, and what a changed policy does to approvals, on both engines.

use super::support::engines::on_each_engine;
use super::support::world::{POLICY, World, ballot, key, wish};
use countersign::model::{Action, Code, PromotionState, ReadinessKind, Refusal, Verdict};
use countersign::rules::access::Caller;
use countersign::wire::world::{self, PolicyText};
use countersign::workflow::{ApplyPolicy, CastVote};

/// root and dan are admins, and a change takes both.
fn two() -> String {
    format!("{POLICY}\n[[role]]\nwho = \"person:dan\"\nrole = \"admin\"\n[policy]\nsecond_admin = true\n")
}

async fn apply(world: &World, who: &str, source: &str) -> Result<PolicyText, Refusal> {
    let body = world::ApplyPolicy { source: source.into(), rationale: "because".into(), dry_run: false };
    world.run(who, ApplyPolicy { body }).await
}

fn in_force(world: &World) -> String {
    world.registry.snapshot.get().policy().source.clone()
}

#[test]
fn a_policy_that_asks_for_it_is_changed_by_two_admins_within_a_day_and_so_is_turning_that_off() {
    on_each_engine(async |place| {
        let world = World::under(place, &two()).await;
        let wanted = two().replace("second_admin = true", "second_admin = false");
        let until = world.now().plus_seconds(86_400);
        let first = apply(&world, "person:root", &wanted).await.unwrap();
        assert_eq!(first.waits_until, Some(until));
        assert_eq!(in_force(&world), two(), "nothing changed yet");
        let body = world.events().await.pop().unwrap().body.unwrap();
        assert_eq!(
            (body.action, body.detail["waits_for"].as_str()),
            (Action::PolicyApply, Some("a second admin, with the same file"))
        );
        // The same person again is nobody else, and another file is another change.
        let events = world.events().await.len();
        assert_eq!(apply(&world, "person:root", &wanted).await.unwrap().waits_until, Some(until));
        assert_eq!(world.events().await.len(), events);
        let other = format!("{wanted}# another\n");
        assert!(apply(&world, "person:dan", &other).await.unwrap().waits_until.is_some());
        assert_eq!(in_force(&world), two());
        // Root made a token for dan: that is root again.
        let lent = Caller { owner: "person:root".parse().unwrap(), ..Caller::whole("person:dan".parse().unwrap()) };
        let body = world::ApplyPolicy { source: wanted.clone(), rationale: "because".into(), dry_run: false };
        let again = world.registry.run(&lent, None, ApplyPolicy { body }).await.unwrap().answer;
        assert_eq!((again.waits_until.is_some(), in_force(&world)), (true, two()));
        let second = apply(&world, "person:dan", &wanted).await.unwrap();
        assert_eq!((second.waits_until, in_force(&world)), (None, wanted.clone()));
        let body = world.events().await.pop().unwrap().body.unwrap();
        assert_eq!((body.actor.to_string().as_str(), body.detail["first_admin"].as_str()), ("person:dan", Some("person:root")));
        // From now on one is enough.
        assert_eq!(apply(&world, "person:root", &other).await.unwrap().waits_until, None);
        world.check_chain().await;
    });
}

#[test]
fn a_wish_is_forgotten_after_a_day_and_when_the_policy_it_was_about_is_another() {
    on_each_engine(async |place| {
        let world = World::under(place, &two()).await;
        let (one, two_more) = (format!("{}# one\n", two()), format!("{}# two\n", two()));
        apply(&world, "person:root", &one).await.unwrap();
        world.later(86_400);
        assert!(apply(&world, "person:dan", &one).await.unwrap().waits_until.is_some(), "too late: a first wish again");
        apply(&world, "person:root", &two_more).await.unwrap();
        apply(&world, "person:dan", &two_more).await.unwrap();
        assert_eq!(in_force(&world), two_more);
        // dan's wish for `one` was made on another policy.
        assert!(apply(&world, "person:root", &one).await.unwrap().waits_until.is_some());
        assert_eq!(in_force(&world), two_more);
    });
}

#[test]
fn who_is_no_admin_is_neither_of_the_two() {
    on_each_engine(async |place| {
        let world = World::under(place, &two()).await;
        let wanted = format!("{}# one\n", two());
        for who in ["person:carol", "service:ci"] {
            assert_eq!(apply(&world, who, &wanted).await.unwrap_err().code, Code::Forbidden, "{who}");
        }
        apply(&world, "person:root", &wanted).await.unwrap();
        assert_eq!(apply(&world, "person:carol", &wanted).await.unwrap_err().code, Code::Forbidden);
        assert_eq!(in_force(&world), two());
    });
}

#[test]
fn an_approver_who_left_the_group_between_approval_and_apply_does_not_count() {
    on_each_engine(async |place| {
        // Whatever else she may: it is the group that counts.
        let source = format!("{POLICY}\n[[role]]\nwho = \"person:eve\"\nrole = \"approver\"\n");
        let world = World::under(place, &source).await;
        let safe = world.version("a safe answer").await;
        world.safe_default(safe).await;
        let digest = world.version("hello").await;
        world.promote("dev", digest, 100.0).await;
        let row = world.open(wish("production", digest, None)).await.unwrap();
        world.approve(&row).await;
        // eve approved for safety; the group is not part of what was approved, so the promotion stays open.
        apply(&world, "person:root", &source.replace("\"person:bob\", \"person:eve\"", "\"person:bob\"")).await.unwrap();
        assert_eq!(world.promotion(row.promotion_id).await.state, PromotionState::Open);
        let refusal = world.apply(row.promotion_id).await.unwrap_err();
        assert_eq!(refusal.unmet.len(), 1, "{refusal:?}");
        assert_eq!((refusal.unmet[0].kind, refusal.unmet[0].name.as_str()), (ReadinessKind::Approval, "safety"));
        assert_eq!(refusal.unmet[0].reason, "0 of 1 approvals by group safety");
        assert_eq!(refusal.unmet[0].who, ["person:bob"]);
    });
}

#[test]
fn one_person_in_two_groups_or_with_two_accounts_meets_one_requirement() {
    on_each_engine(async |place| {
        // Both gates by two accounts of ana, and bob in both groups.
        let source = POLICY.replace("\"person:bob\", \"person:eve\"", "\"person:bob\", \"person:ana.work\"");
        let source = source.replace(
            "who = \"group:safety\"",
            "who = \"person:ana.work\"\nrole = \"approver\"\n[[role]]\nwho = \"group:safety\"",
        );
        let world = World::under(place, &source).await;
        let safe = world.version("a safe answer").await;
        let row = world.open(wish("@safe-default", safe, None)).await.unwrap();
        world.vote("person:ana", &row, Verdict::Approve, "owner").await.unwrap();
        let second = CastVote { id: row.promotion_id, body: ballot(&row, Verdict::Approve, "safety") };
        world.run("person:ana.work", second).await.unwrap();
        let refusal = world.apply(row.promotion_id).await.unwrap_err();
        assert_eq!(refusal.unmet.len(), 1, "one person, one requirement: {refusal:?}");
        world.vote("person:bob", &row, Verdict::Approve, "owner").await.unwrap();
        world.apply(row.promotion_id).await.unwrap();
        assert_eq!(world.registry.snapshot.get().key(&key()).unwrap().safe_default_digest, Some(safe));
    });
}
