//! What time decides, on both engines: soak, freeze, the registry's own steps, promotions that are left to it, broken glass.

use super::support::engines::{Place, on_each_engine};
use super::support::world::{POLICY, World, caller, env, key, wish};
use countersign::model::{
    Action, BasisPoints, Code, Digest, Promotion, PromotionState, ReadinessItem, ReadinessKind as Kind, ReadinessStatus,
    Timestamp, Verdict,
};
use countersign::wire::pointers::PointerView;
use countersign::wire::promotions::{OpenPromotion as Wish, Rationale};
use countersign::wire::versions::Reason;
use countersign::wire::world;
use countersign::workflow::{
    AdvanceRollout, Agenda, ApplyDue, ApplyPolicy, ApplyPromotion, ExpirePromotions, OpenPromotion, QuarantineVersion, Registry,
    RenewPromotion, ReviewPromotion, WithdrawPromotion, inbox, view,
};

/// [`POLICY`] with more fields in an environment.
fn policy_with(environment: &str, more: &str) -> String {
    let name = format!("name = \"{environment}\"");
    POLICY.replace(&name, &format!("{name}\n{more}"))
}

async fn world_with(place: &Place, environment: &str, more: &str) -> World {
    World::under(place, &policy_with(environment, more)).await
}

/// A safe default, a version that dev serves to everybody, and a promotion to production with its two approvals.
async fn approved(world: &World, more: impl FnOnce(Wish) -> Wish) -> (Digest, Promotion) {
    let safe = world.version("a safe answer").await;
    world.safe_default(safe).await;
    let digest = world.version("hello").await;
    world.promote("dev", digest, 100.0).await;
    let row = world.open(more(wish("production", digest, None))).await.unwrap();
    world.approve(&row).await;
    (digest, row)
}

/// Expects that one kind alone to refuse an apply; gives the item.
async fn alone(world: &World, row: &Promotion, want: Kind) -> ReadinessItem {
    let refusal = world.apply(row.promotion_id).await.unwrap_err();
    assert_eq!(refusal.code, Code::PolicyUnmet, "{refusal:?}");
    let kinds: Vec<Kind> = refusal.unmet.iter().map(|item| item.kind).collect();
    assert_eq!(kinds, [want], "{refusal:#?}");
    assert_eq!(world.promotion(row.promotion_id).await.state, PromotionState::Open, "nothing changed");
    refusal.unmet[0].clone()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn because() -> Rationale {
    Rationale { rationale: "because".into(), dry_run: false }
}

/// One turn of a fresh agenda, as after a restart.
async fn turn(world: &World) -> Option<Timestamp> {
    Agenda::default().turn(&world.registry).await.unwrap()
}

async fn shown(world: &World, who: &str, environment: &str) -> PointerView {
    let (mut tx, snapshot) = (world.registry.db.read().await.unwrap(), world.registry.snapshot.get());
    let pointer = tx.conn().pointer_get(&key(), &env(environment)).await.unwrap().unwrap();
    view::pointer(&world.registry, &mut tx.conn(), &snapshot, &caller(who), pointer).await.unwrap()
}

#[test]
fn a_soak_alone_refuses_apply_until_it_is_over_and_says_when() {
    on_each_engine(async |place| {
        let world = world_with(place, "production", "soak = \"24h\"").await;
        let (_, row) = approved(&world, |wish| wish).await;
        world.later(3600);
        let item = alone(&world, &row, Kind::Soak).await;
        assert_eq!(
            item.reason,
            "dev has held it at 100 % since 2026-11-30 12:00:00 UTC; it takes 24h, until 2026-12-01 12:00:00 UTC"
        );
        assert_eq!(item.until, Some(at("2026-12-01T12:00:00Z")));
        // A kill breaks the soak; taken back, it begins anew.
        world.kill("person:olga", "dev").await.unwrap();
        let item = alone(&world, &row, Kind::Soak).await;
        assert!(item.reason.contains("only; it takes 24h without a break"), "{}", item.reason);
        world.later(60);
        world.undo_kill("person:olga", "dev").await.unwrap();
        world.clock.set(at("2026-12-01T13:00:59.999999Z"));
        assert_eq!(alone(&world, &row, Kind::Soak).await.until, Some(at("2026-12-01T13:01:00Z")));
        world.clock.set(at("2026-12-01T13:01:00Z"));
        world.apply(row.promotion_id).await.unwrap();
        // Another digest soaks for itself.
        let newer = world.version("newer").await;
        world.promote("dev", newer, 100.0).await;
        let row = world.open(wish("production", newer, None)).await.unwrap();
        world.approve(&row).await;
        alone(&world, &row, Kind::Soak).await;
        world.check_chain().await;
    });
}

#[test]
fn a_freeze_alone_refuses_apply_and_never_stands_in_the_way_of_less() {
    on_each_engine(async |place| {
        let freeze = "freeze = [{ tz = \"Europe/Berlin\", weekly = \"fri 16:00-mon 08:00\" }]";
        let source = policy_with("production", freeze).replace(
            "name = \"stage\"",
            "name = \"stage\"\nfreeze = [{ tz = \"Europe/Berlin\", weekly = \"fri 16:00-mon 08:00\" }]",
        );
        let world = World::under(place, &source).await;
        let (digest, row) = approved(&world, |wish| wish).await;
        world.promote("stage", digest, 100.0).await;
        let newer = world.version("newer").await;
        let rolling = world.open(wish("stage", newer, None)).await.unwrap();
        world.apply(rolling.promotion_id).await.unwrap();
        // Friday, 16:00 in Berlin.
        world.clock.set(at("2026-12-04T14:59:59.999999Z"));
        let waiting = world.open(wish("production", digest, Some(50.0))).await.unwrap();
        world.approve(&waiting).await;
        world.clock.set(at("2026-12-04T15:00:00Z"));
        let item = alone(&world, &row, Kind::Freeze).await;
        assert!(
            item.reason.starts_with("frozen until Mon 2026-12-07 08:00 Europe/Berlin, 2026-12-07 07:00:00 UTC"),
            "{}",
            item.reason
        );
        assert_eq!(item.until, Some(at("2026-12-07T07:00:00Z")));
        let up = world.step("person:carol", "stage", false, None).await.unwrap_err();
        assert_eq!(up.unmet.iter().map(|item| item.kind).collect::<Vec<_>>(), [Kind::Freeze]);
        // Less is never frozen.
        world.hold("person:olga", "stage").await.unwrap();
        world.resume("person:carol", "stage").await.unwrap();
        world.step("person:olga", "stage", true, Some(5.0)).await.unwrap();
        world.kill("person:olga", "stage").await.unwrap();
        world.undo_kill("person:olga", "stage").await.unwrap();
        world.rollback("person:olga", "stage", None).await.unwrap();
        // A revive is.
        world.kill("person:olga", "stage").await.unwrap();
        let revive = world.open(Wish { revive: true, ..wish("stage", digest, Some(100.0)) }).await.unwrap();
        alone(&world, &revive, Kind::Freeze).await;
        world.clock.set(at("2026-12-07T06:59:59.999999Z"));
        alone(&world, &revive, Kind::Freeze).await;
        world.clock.set(at("2026-12-07T07:00:00Z"));
        world.apply(revive.promotion_id).await.unwrap();
        world.check_chain().await;
    });
}

/// A rollout in stage, at 25 %, that the registry goes on with.
async fn rolling(world: &World) -> Digest {
    let digest = world.version("hello").await;
    let row = world.open(wish("stage", digest, None)).await.unwrap();
    world.apply(row.promotion_id).await.unwrap();
    digest
}

fn percent(percent: f64) -> BasisPoints {
    BasisPoints::from_percent(percent).unwrap()
}

#[test]
fn the_registry_takes_each_step_when_its_bake_is_over() {
    on_each_engine(async |place| {
        let world = world_with(place, "stage", "advance = \"auto\"").await;
        rolling(&world).await;
        let begin = world.now();
        let mut agenda = Agenda::default();
        for (wait, share) in [(0, 25.0), (1799, 25.0), (1, 50.0), (1799, 50.0), (1, 100.0)] {
            world.later(wait);
            agenda.turn(&world.registry).await.unwrap();
            assert_eq!(world.pointer("stage").await.unwrap().rollout_pct, percent(share), "{}", world.now());
        }
        assert_eq!(world.now(), begin.plus_seconds(3600));
        let events = world.events().await;
        let steps: Vec<_> = events.iter().filter_map(|e| e.body.as_ref()).filter(|b| b.action == Action::PointerStep).collect();
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[0].actor.to_string(), "system:rollout");
        assert_eq!(steps[0].detail["rationale"], "the bake of 25 % is over");
        assert_eq!(agenda.turn(&world.registry).await.unwrap(), None, "nothing is left to do");
        world.check_chain().await;
    });
}

#[test]
fn a_rollout_by_hand_or_held_or_killed_is_left_alone() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        rolling(&world).await;
        world.later(7200);
        assert_eq!(turn(&world).await, None);
        assert_eq!(world.pointer("stage").await.unwrap().revision, 1, "manual unless the policy says auto");
        let another = place.another().await;
        let world = world_with(&another, "stage", "advance = \"auto\"").await;
        rolling(&world).await;
        world.hold("person:olga", "stage").await.unwrap();
        world.later(7200);
        turn(&world).await;
        assert_eq!(world.pointer("stage").await.unwrap().rollout_pct, percent(25.0));
        world.resume("person:carol", "stage").await.unwrap();
        world.kill("person:olga", "stage").await.unwrap();
        world.later(7200);
        assert_eq!(turn(&world).await, None);
        let pointer = world.pointer("stage").await.unwrap();
        assert_eq!((pointer.killed, pointer.rollout_pct), (true, percent(25.0)));
    });
}

#[test]
fn a_step_that_is_not_ready_pauses_says_why_and_goes_on_with_what_it_waited_for() {
    on_each_engine(async |place| {
        let more = "advance = \"auto\"\ngates = [\"quality\"]";
        let world = world_with(place, "stage", more).await;
        let digest = rolling(&world).await;
        world.report(digest, Some(0.5), None).await.unwrap();
        let mut agenda = Agenda::default();
        world.later(1800);
        assert_eq!(agenda.turn(&world.registry).await.unwrap(), None, "time alone will not do it");
        assert_eq!(world.pointer("stage").await.unwrap().rollout_pct, percent(25.0));
        let next = shown(&world, "person:carol", "stage").await.next.unwrap();
        assert_eq!((next.to, next.auto), (percent(50.0), true));
        assert!(next.waits[0].reason.contains("wrong side"), "{:?}", next.waits);
        // The event that opens the gate brings it back.
        world.report(digest, Some(0.95), None).await.unwrap();
        agenda.turn(&world.registry).await.unwrap();
        assert_eq!(world.pointer("stage").await.unwrap().rollout_pct, percent(50.0));
        let next = shown(&world, "person:carol", "stage").await.next.unwrap();
        assert_eq!((next.at, next.waits), (Some(world.now().plus_seconds(1800)), vec![]));
        world.check_chain().await;
    });
}

#[test]
fn a_step_that_a_freeze_stops_goes_on_when_it_ends() {
    on_each_engine(async |place| {
        let more = "advance = \"auto\"\nfreeze = [{ tz = \"UTC\", from = 2026-11-30T12:10:00, to = 2026-11-30T18:00:00 }]";
        let world = world_with(place, "stage", more).await;
        rolling(&world).await;
        let mut agenda = Agenda::default();
        world.later(1800);
        let next = agenda.turn(&world.registry).await.unwrap();
        assert_eq!(next, Some(at("2026-11-30T18:00:00Z")), "it knows when to look again");
        world.clock.set(at("2026-11-30T17:59:59.999999Z"));
        agenda.turn(&world.registry).await.unwrap();
        assert_eq!(world.pointer("stage").await.unwrap().rollout_pct, percent(25.0));
        world.clock.set(at("2026-11-30T18:00:00Z"));
        agenda.turn(&world.registry).await.unwrap();
        assert_eq!(world.pointer("stage").await.unwrap().rollout_pct, percent(50.0));
    });
}

#[test]
fn of_two_that_take_the_same_step_one_does() {
    on_each_engine(async |place| {
        let world = world_with(place, "stage", "advance = \"auto\"").await;
        rolling(&world).await;
        world.later(1800);
        let other = Registry::load(place.db.clone(), countersign::snapshot::Pepper([7; 32]), world.clock.clone()).await.unwrap();
        let verb = || AdvanceRollout { key: key(), environment: env("stage") };
        let system = AdvanceRollout::caller();
        let (one, two) = tokio::join!(world.registry.run(&system, None, verb()), other.run(&system, None, verb()));
        let stepped = [one.unwrap(), two.unwrap()].iter().filter(|done| done.answer.moved.is_some()).count();
        assert_eq!(stepped, 1);
        let pointer = world.pointer("stage").await.unwrap();
        assert_eq!((pointer.rollout_pct, pointer.revision), (percent(50.0), 2));
    });
}

#[test]
fn a_scheduled_promotion_is_applied_when_its_time_comes_by_whoever_runs_then() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let time = world.now().plus_seconds(3600);
        let (digest, row) = approved(&world, |wish| Wish { at_time: Some(time), ..wish }).await;
        let mut agenda = Agenda::default();
        assert_eq!(agenda.turn(&world.registry).await.unwrap(), Some(time));
        world.clock.set(Timestamp(time.0 - 1));
        agenda.turn(&world.registry).await.unwrap();
        assert_eq!(world.pointer("production").await, None, "not before");
        world.clock.set(time);
        assert_eq!(turn(&world).await, None, "an agenda after a restart knows of it too");
        let pointer = world.pointer("production").await.unwrap();
        assert_eq!(pointer.digest, digest);
        let row = world.promotion(row.promotion_id).await;
        assert_eq!(row.applied_by.unwrap().to_string(), "system:schedule");
        assert_eq!((row.state, row.missed, row.review_owed), (PromotionState::Applied, false, false));
        world.check_chain().await;
    });
}

#[test]
fn a_promotion_that_is_left_to_the_registry_is_applied_with_the_last_thing_that_it_waits_for() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (digest, row) = approved(&world, |wish| Wish { when_ready: true, ..wish }).await;
        world.vote("person:eve", &row, Verdict::Reject, "safety").await.unwrap();
        world.report(digest, Some(0.2), None).await.unwrap();
        let mut agenda = Agenda::default();
        agenda.turn(&world.registry).await.unwrap();
        world.vote("person:eve", &row, Verdict::Approve, "safety").await.unwrap();
        agenda.turn(&world.registry).await.unwrap();
        assert_eq!(world.promotion(row.promotion_id).await.state, PromotionState::Open, "the gate is shut");
        world.report(digest, Some(0.95), None).await.unwrap();
        agenda.turn(&world.registry).await.unwrap();
        assert_eq!(world.promotion(row.promotion_id).await.state, PromotionState::Applied);
        world.check_chain().await;
    });
}

#[test]
fn one_that_is_due_and_not_ready_waits_says_so_to_its_opener_and_never_applies_after_it_expired() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let time = world.now().plus_seconds(3600);
        let (_, row) = approved(&world, |wish| Wish { at_time: Some(time), ..wish }).await;
        world.vote("person:ana", &row, Verdict::Retract, "owner").await.unwrap();
        let mut agenda = Agenda::default();
        world.clock.set(time);
        agenda.turn(&world.registry).await.unwrap();
        assert_eq!(world.promotion(row.promotion_id).await.state, PromotionState::Open);
        assert!(awaits(&world, "person:carol", &row).await, "who opened it sees what is unmet");
        assert!(!awaits(&world, "person:olga", &row).await);
        // Ready too late.
        world.clock.set(row.expires_at.unwrap());
        world.vote("person:ana", &row, Verdict::Approve, "owner").await.unwrap_err();
        agenda.turn(&world.registry).await.unwrap();
        assert_eq!(world.run("system:schedule", ApplyDue { id: row.promotion_id }).await.unwrap(), None);
        world.run("system:expiry", ExpirePromotions).await.unwrap();
        let row = world.promotion(row.promotion_id).await;
        assert_eq!((row.state, row.missed), (PromotionState::Expired, true));
        assert_eq!(world.pointer("production").await, None);
    });
}

/// Whether an open promotion waits for somebody, on the short list and by its view.
async fn awaits(world: &World, who: &str, row: &Promotion) -> bool {
    let (mut tx, snapshot) = (world.registry.db.read().await.unwrap(), world.registry.snapshot.get());
    let short = inbox::shortlist(&mut tx.conn(), &snapshot, &caller(who), world.now(), vec![row.clone()]).await.unwrap();
    let view = view::promotion(&world.registry, &mut tx.conn(), &snapshot, &caller(who), row.clone()).await.unwrap();
    let awaits = inbox::awaits(&view, world.now());
    assert!(!awaits || !short.is_empty(), "what awaits is on the short list");
    awaits
}

#[test]
fn a_scheduled_promotion_whose_pointer_moved_is_stale_never_applied_and_owed_to_its_opener() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let time = world.now().plus_seconds(3600);
        let (digest, row) = approved(&world, |wish| Wish { at_time: Some(time), ..wish }).await;
        let other = world.open(wish("production", digest, Some(50.0))).await.unwrap();
        world.approve(&other).await;
        world.apply(other.promotion_id).await.unwrap();
        let stale = world.promotion(row.promotion_id).await;
        assert_eq!((stale.state, stale.missed), (PromotionState::Stale, true));
        world.clock.set(time);
        turn(&world).await;
        assert_eq!(world.run("system:schedule", ApplyDue { id: row.promotion_id }).await.unwrap(), None);
        assert_eq!(world.pointer("production").await.unwrap().revision, 1, "never applied");
        let owed = async || {
            let mut tx = world.registry.db.read().await.unwrap();
            let rows = tx.conn().promotion_owed(None, 10).await.unwrap();
            rows.into_iter().map(|row| row.promotion_id).collect::<Vec<_>>()
        };
        assert_eq!(owed().await, [row.promotion_id]);
        // Let go by its opener: it stays stale, and is owed no longer.
        let withdraw = || WithdrawPromotion { id: row.promotion_id, body: because() };
        assert_eq!(world.run("person:fay", withdraw()).await.unwrap_err().code, Code::Forbidden);
        let gone = world.run("person:carol", withdraw()).await.unwrap();
        assert_eq!((gone.state, gone.missed), (PromotionState::Stale, false));
        assert!(owed().await.is_empty());
        assert_eq!(world.run("person:carol", withdraw()).await.unwrap_err().code, Code::PromotionClosed);
        world.check_chain().await;
    });
}

#[test]
fn what_was_missed_is_settled_by_renewing_it_and_a_time_that_passed_is_not_renewed() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let time = world.now().plus_seconds(3600);
        let (digest, row) = approved(&world, |wish| Wish { at_time: Some(time), ..wish }).await;
        let other = world.open(wish("production", digest, Some(50.0))).await.unwrap();
        world.approve(&other).await;
        world.apply(other.promotion_id).await.unwrap();
        world.later(7200);
        let renewed = world.run("person:carol", RenewPromotion { id: row.promotion_id, body: because() }).await.unwrap();
        assert_eq!((renewed.at_time, renewed.is_timed()), (None, false));
        assert!(!world.promotion(row.promotion_id).await.missed);
        let last = world.events().await.pop().unwrap().body.unwrap();
        assert_eq!(last.detail["changed"], serde_json::json!(["from", "at_time"]));
    });
}

#[test]
fn the_registry_applies_nothing_that_its_opener_may_not_apply() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let time = world.now().plus_seconds(3600);
        let digest = world.version("hello").await;
        for body in
            [Wish { when_ready: true, ..wish("dev", digest, None) }, Wish { at_time: Some(time), ..wish("dev", digest, None) }]
        {
            let refused = world.run("person:fay", OpenPromotion { body }).await.unwrap_err();
            assert_eq!(refused.code, Code::Forbidden);
            assert!(refused.hint.unwrap().contains("takes the right to apply"));
        }
        // Carol may when it is opened, and not any more when it is due.
        let row = world.open(Wish { at_time: Some(time), ..wish("dev", digest, None) }).await.unwrap();
        let source = POLICY.replace("who = \"person:carol\"", "who = \"person:dan\"");
        let body = world::ApplyPolicy { source, rationale: "carol left".into(), dry_run: false };
        world.run("person:root", ApplyPolicy { body }).await.unwrap();
        world.clock.set(time);
        assert_eq!(turn(&world).await, None);
        assert_eq!(world.run("system:schedule", ApplyDue { id: row.promotion_id }).await.unwrap(), None);
        assert_eq!(world.promotion(row.promotion_id).await.state, PromotionState::Open);
        assert!(awaits(&world, "person:dan", &row).await, "another who may apply it can");
    });
}

#[test]
fn times_that_can_never_come_are_refused_with_their_place() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let digest = world.version("hello").await;
        let path = async |body: Wish| world.open(body).await.unwrap_err().path.unwrap();
        let scheduled = |at: Timestamp| Wish { at_time: Some(at), ..wish("dev", digest, None) };
        let now = world.now();
        assert_eq!(path(scheduled(now)).await, "/at_time");
        assert_eq!(path(scheduled(now.plus_seconds(14 * 86_400))).await, "/at_time", "it would have expired");
        assert_eq!(path(Wish { when_ready: true, ..scheduled(now.plus_seconds(60)) }).await, "/when_ready");
        world.open(scheduled(now.plus_seconds(14 * 86_400 - 1))).await.unwrap();
    });
}

#[test]
fn whoever_the_policy_names_breaks_the_glass_and_another_reviews_it_afterwards() {
    on_each_engine(async |place| {
        let world = world_with(place, "production", "break_glass = [\"oncall\"]").await;
        let digest = world.draft("hello").await;
        let broken = Wish { break_glass: true, ..wish("production", digest, None) };
        for who in ["person:carol", "person:fay", "person:root"] {
            let refused = world.run(who, OpenPromotion { body: broken.clone() }).await.unwrap_err();
            assert_eq!(refused.code, Code::Forbidden, "{who}");
            assert_eq!(refused.hint.as_deref(), Some("it takes a person with the role oncall there"));
        }
        let timed = Wish { when_ready: true, ..broken.clone() };
        let refused = world.run("person:olga", OpenPromotion { body: timed }).await.unwrap_err();
        assert!(matches!(refused.path.as_deref(), Some("/break_glass")) || refused.code == Code::Forbidden);
        let opened = world.run("person:olga", OpenPromotion { body: broken.clone() }).await.unwrap();
        let countersign::workflow::Opened::Promotion(row) = opened else { panic!("opened") };
        // Olga, on call, may apply nothing else.
        let plain = world.open(wish("dev", digest, None)).await.unwrap();
        let apply = |id| ApplyPromotion { id, body: Rationale::default() };
        assert_eq!(world.run("person:olga", apply(plain.promotion_id)).await.unwrap_err().code, Code::Forbidden);
        // A quarantine is stronger.
        let mark = QuarantineVersion { digest, body: Reason { rationale: "it lies".into() } };
        world.run("person:ana", mark).await.unwrap();
        let item = {
            let refusal = world.run("person:olga", apply(row.promotion_id)).await.unwrap_err();
            assert_eq!(refusal.unmet.len(), 1, "{refusal:?}");
            refusal.unmet[0].clone()
        };
        assert_eq!(item.kind, Kind::Quarantine);
        let lift = countersign::workflow::LiftVersion { digest, body: Reason { rationale: "it does not".into() } };
        world.run("person:eve", lift).await.unwrap();

        let mut tx = world.registry.db.read().await.unwrap();
        let snapshot = world.registry.snapshot.get();
        let view =
            view::promotion(&world.registry, &mut tx.conn(), &snapshot, &caller("person:olga"), *row.clone()).await.unwrap();
        drop(tx);
        assert!(view.mine.can_apply && view.readiness.is_ready());
        let said = view.readiness.0.iter().find(|item| item.kind == Kind::Gate).unwrap();
        assert_eq!(said.status, ReadinessStatus::Overridden);
        assert!(said.reason.starts_with("person:olga broke the glass (missing"), "{}", said.reason);
        world.run("person:olga", apply(row.promotion_id)).await.unwrap();
        let row = world.promotion(row.promotion_id).await;
        assert!(row.break_glass && row.review_owed);
        let review = || ReviewPromotion { id: row.promotion_id, body: because() };
        assert_eq!(world.run("person:olga", review()).await.unwrap_err().code, Code::Forbidden, "not by who did it");
        assert!(!world.run("person:bob", review()).await.unwrap().review_owed);
        let opened = world.events().await.into_iter().filter_map(|e| e.body).find(|b| b.action == Action::PromotionOpen).unwrap();
        assert_eq!(opened.detail["break_glass"], true);
        world.check_chain().await;
    });
}
