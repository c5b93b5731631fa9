//! Promotions and pointers, verb by verb, on both engines: what is refused and why, races, kills, rollbacks.

use super::support::engines::on_each_engine;
use super::support::world::{KEY, World, act, ballot, caller, env, key, kill, wish};
use countersign::model::{
    Action, BasisPoints, Code, Digest, GateStatus, KillReason, Promotion, PromotionState, ReadinessKind, Refusal, Verdict,
    VersionState,
};
use countersign::rules::statement::Statement;
use countersign::snapshot::load;
use countersign::wire::pointers::{Kill, KillMany, Rollback};
use countersign::wire::promotions::{OpenPromotion as Wish, Rationale};
use countersign::wire::versions::{Reason, Submit};
use countersign::workflow::{
    Applied, ApplyPromotion, CastVote, ExpirePromotions, KillPointer, NotePromotion, OpenPromotion, Opened, QuarantineVersion,
    RenewPromotion, ReviewPromotion, RollbackPointer, SubmitVersion, WithdrawPromotion, inbox, kill_many, view,
};

fn note(text: &str) -> Rationale {
    Rationale { rationale: text.into(), dry_run: false }
}

/// What blocks, as (kind, name).
fn unmet(refusal: &Refusal) -> Vec<(ReadinessKind, String)> {
    assert_eq!(refusal.code, Code::PolicyUnmet, "{refusal:?}");
    refusal.unmet.iter().map(|item| (item.kind, item.name.clone())).collect()
}

/// A version that dev served to everybody, a safe default, and a promotion to production with its two approvals.
async fn ready(world: &World, body: &str) -> (Digest, Promotion) {
    let safe = world.version("a safe answer").await;
    world.safe_default(safe).await;
    let digest = world.version(body).await;
    world.promote("dev", digest, 100.0).await;
    let row = world.open(wish("production", digest, None)).await.unwrap();
    world.approve(&row).await;
    (digest, row)
}

#[test]
fn a_promotion_that_meets_everything_moves_the_pointer_with_one_event() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (digest, row) = ready(&world, "hello").await;
        let before = world.events().await.len();
        let moved = world.apply(row.promotion_id).await.unwrap();
        let pointer = world.pointer("production").await.unwrap();
        assert_eq!((pointer.digest, pointer.rollout_pct, pointer.revision), (digest, BasisPoints::ALL, 1));
        assert_eq!(moved.pointer.as_ref(), Some(&pointer));
        let events = world.events().await;
        assert_eq!(events.len(), before + 1);
        let body = events.last().unwrap().body.clone().unwrap();
        assert_eq!((body.action, body.subject.0), (Action::PromotionApply, format!("promotion:{}", row.promotion_id)));
        assert_eq!(moved.seq, Some(events.last().unwrap().seq));
        let row = world.promotion(row.promotion_id).await;
        assert_eq!((row.state, row.applied_by.unwrap().to_string()), (PromotionState::Applied, "person:carol".into()));
        let mut tx = world.registry.db.read().await.unwrap();
        assert_eq!(tx.conn().version_get(&digest).await.unwrap().unwrap().state, VersionState::Published);
        drop(tx);
        world.check_chain().await;
    });
}

/// Undoes one thing that a ready promotion needs and expects that kind alone to refuse its apply.
async fn alone(world: &World, row: &Promotion, want: ReadinessKind, says: &str) {
    let refusal = world.apply(row.promotion_id).await.unwrap_err();
    let kinds: Vec<ReadinessKind> = unmet(&refusal).into_iter().map(|item| item.0).collect();
    assert_eq!(kinds, [want], "{refusal:#?}");
    assert!(refusal.unmet[0].reason.contains(says), "{:?} does not say {says:?}", refusal.unmet[0].reason);
    assert!(!refusal.unmet[0].who.is_empty(), "nobody can meet it");
    assert_eq!(world.promotion(row.promotion_id).await.state, PromotionState::Open, "nothing changed");
}

#[test]
fn a_draft_alone_refuses_apply() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let draft = world.draft("hello").await;
        let row = world.open(wish("dev", draft, None)).await.unwrap();
        alone(&world, &row, ReadinessKind::State, "a draft").await;
        world.run("person:fay", SubmitVersion { digest: draft, body: Submit::default() }).await.unwrap();
        world.apply(row.promotion_id).await.unwrap();
    });
}

#[test]
fn a_quarantine_alone_refuses_apply() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (digest, row) = ready(&world, "hello").await;
        let body = Reason { rationale: "it lies".into() };
        world.run("person:ana", QuarantineVersion { digest, body }).await.unwrap();
        alone(&world, &row, ReadinessKind::Quarantine, "person:ana").await;
    });
}

#[test]
fn a_killed_pointer_alone_refuses_apply() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, two) = (world.version("one").await, world.version("two").await);
        world.promote("dev", one, 100.0).await;
        world.kill("person:olga", "dev").await.unwrap();
        let row = world.open(wish("dev", two, None)).await.unwrap();
        alone(&world, &row, ReadinessKind::Killed, "only a revive").await;
    });
}

#[test]
fn a_gate_alone_refuses_apply_until_it_passes() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (digest, row) = ready(&world, "hello").await;
        for (score, status, says) in [
            (Some(0.5), None, "wrong side"),
            (None, Some(GateStatus::Error), "error"),
            (None, Some(GateStatus::Pending), "pending"),
        ] {
            world.report(digest, score, status).await.unwrap();
            alone(&world, &row, ReadinessKind::Gate, says).await;
        }
        world.report(digest, Some(0.9), None).await.unwrap();
        world.apply(row.promotion_id).await.unwrap();
    });
}

#[test]
fn a_missing_approval_alone_refuses_apply_and_names_who_can_give_it() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (_, row) = ready(&world, "hello").await;
        world.vote("person:ana", &row, Verdict::Retract, "").await.unwrap();
        alone(&world, &row, ReadinessKind::Approval, "0 of 1").await;
        let who = world.apply(row.promotion_id).await.unwrap_err().unmet[0].who.clone();
        assert_eq!(who, ["person:ana", "person:bob"], "fay wrote it");
        world.vote("person:bob", &row, Verdict::Reject, "owner").await.unwrap();
        world.vote("person:ana", &row, Verdict::Approve, "owner").await.unwrap();
        alone(&world, &row, ReadinessKind::Approval, "person:bob asks for changes").await;
        world.vote("person:bob", &row, Verdict::Retract, "owner").await.unwrap();
        world.apply(row.promotion_id).await.unwrap();
    });
}

#[test]
fn the_order_of_environments_alone_refuses_apply() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        ready(&world, "hello").await;
        let early = world.version("not in dev").await;
        let row = world.open(wish("production", early, None)).await.unwrap();
        world.approve(&row).await;
        alone(&world, &row, ReadinessKind::Order, "dev has not held").await;
        world.promote("dev", early, 50.0).await;
        alone(&world, &row, ReadinessKind::Order, "dev has not held").await;
        let whole = Wish { supersedes: None, ..wish("dev", early, Some(100.0)) };
        let whole = world.open(whole).await.unwrap();
        world.apply(whole.promotion_id).await.unwrap();
        world.apply(row.promotion_id).await.unwrap();
    });
}

#[test]
fn a_missing_safe_default_alone_refuses_apply() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let digest = world.version("hello").await;
        world.promote("dev", digest, 100.0).await;
        let row = world.open(wish("production", digest, None)).await.unwrap();
        world.approve(&row).await;
        alone(&world, &row, ReadinessKind::SafeDefault, "no safe default").await;
    });
}

#[test]
fn a_changed_safe_default_alone_refuses_apply_until_it_is_renewed() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (_, row) = ready(&world, "hello").await;
        let other = world.version("another safe answer").await;
        world.safe_default(other).await;
        alone(&world, &row, ReadinessKind::Pointer, "safe default has changed").await;
        let mut tx = world.registry.db.read().await.unwrap();
        let snapshot = world.registry.snapshot.get();
        let shown =
            view::promotion(&world.registry, &mut tx.conn(), &snapshot, &caller("person:bob"), row.clone()).await.unwrap();
        assert!(shown.mine.approve_refused.unwrap().contains("safe default has changed"), "nobody is asked to approve it");
        drop(tx);
        assert!(
            matches!(world.vote("person:bob", &row, Verdict::Approve, "owner").await, Err(no) if no.code == Code::PolicyUnmet)
        );
        let renewed = world.run("person:fay", RenewPromotion { id: row.promotion_id, body: note("") }).await.unwrap();
        assert_eq!((renewed.supersedes, renewed.safe_default_digest), (Some(row.promotion_id), Some(other)));
        assert_eq!(world.promotion(row.promotion_id).await.state, PromotionState::Stale);
        world.approve(&renewed).await;
        world.apply(renewed.promotion_id).await.unwrap();
        let said = world.events().await.into_iter().rev().find_map(|e| e.body.filter(|b| b.action == Action::PromotionRenew));
        assert_eq!(said.unwrap().detail["changed"], serde_json::json!(["safe_default"]));
    });
}

#[test]
fn hidden_text_must_be_acknowledged_exactly() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (_, _) = ready(&world, "hello").await;
        let sly = world.version("hel\u{200b}lo").await;
        world.promote("dev", sly, 100.0).await;
        let row = world.open(wish("production", sly, None)).await.unwrap();
        let refusal = world.vote("person:ana", &row, Verdict::Approve, "owner").await.unwrap_err();
        assert_eq!(unmet(&refusal), [(ReadinessKind::HiddenText, "hidden_text".into())]);
        let spans: Vec<countersign::model::approval::HiddenSpan> = serde_json::from_value(refusal.current.unwrap()).unwrap();
        assert_eq!(spans.len(), 1);
        let mut other = spans.clone();
        other[0].start += 1;
        let vote = |who: &'static str, gate: &'static str, spans: &[countersign::model::approval::HiddenSpan]| {
            let mut body = ballot(&row, Verdict::Approve, gate);
            body.acknowledged_hidden = spans.to_vec();
            world.run(who, CastVote { id: row.promotion_id, body })
        };
        assert_eq!(vote("person:ana", "owner", &other).await.unwrap_err().code, Code::PolicyUnmet);
        vote("person:ana", "owner", &spans).await.unwrap();
        vote("person:eve", "safety", &spans).await.unwrap();
        // A row that acknowledged nothing, as an older policy would have let through.
        let blind = countersign::model::Approval {
            approval_id: world.clock.uuid(),
            acknowledged_hidden: Vec::new(),
            at: world.now(),
            ..vote("person:ana", "owner", &spans).await.unwrap()
        };
        let mut tx = world.registry.db.begin().await.unwrap();
        tx.conn().approval_put(&blind).await.unwrap();
        tx.commit().await.unwrap();
        alone(&world, &row, ReadinessKind::HiddenText, "not acknowledged by 1").await;
        vote("person:ana", "owner", &spans).await.unwrap();
        world.apply(row.promotion_id).await.unwrap();
    });
}

#[test]
fn a_held_rollout_and_a_shut_gate_refuse_a_step_up_but_never_a_step_down() {
    on_each_engine(async |place| {
        let gated = super::support::world::POLICY.replace("name = \"stage\"", "name = \"stage\"\ngates = [\"quality\"]");
        let world = World::under(place, &gated).await;
        let one = world.version("one").await;
        let row = world.open(wish("stage", one, None)).await.unwrap();
        world.apply(row.promotion_id).await.unwrap();
        world.hold("person:olga", "stage").await.unwrap();
        let refusal = world.step("person:carol", "stage", false, None).await.unwrap_err();
        assert_eq!(unmet(&refusal), [(ReadinessKind::Held, "held".into())]);
        assert_eq!(refusal.unmet[0].who, ["role:releaser"]);
        assert_eq!(world.hold("person:olga", "stage").await.unwrap().seq, None, "held already");
        world.resume("person:carol", "stage").await.unwrap();
        world.report(one, Some(0.1), None).await.unwrap();
        let refusal = world.step("person:carol", "stage", false, None).await.unwrap_err();
        assert_eq!(unmet(&refusal), [(ReadinessKind::Gate, "quality".into())]);
        let body = Reason { rationale: "bad".into() };
        world.run("person:ana", QuarantineVersion { digest: one, body }).await.unwrap();
        let moved = world.step("person:olga", "stage", true, Some(1.5)).await.unwrap();
        assert_eq!(moved.pointer.unwrap().rollout_pct.get(), 150);
        world.check_chain().await;
    });
}

#[test]
fn a_plan_is_stepped_without_skipping_until_everybody_has_it() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, two) = (world.version("one").await, world.version("two").await);
        world.promote("stage", one, 100.0).await;
        let row = world.open(wish("stage", two, None)).await.unwrap();
        assert_eq!(row.baseline_digest, Some(one));
        world.apply(row.promotion_id).await.unwrap();
        let code = async |to: f64| world.step("person:carol", "stage", false, Some(to)).await.unwrap_err().code;
        assert_eq!((code(100.0).await, code(30.0).await), (Code::Invalid, Code::Invalid));
        assert_eq!(world.step("person:olga", "stage", false, None).await.unwrap_err().code, Code::Forbidden);
        let half = world.step("person:carol", "stage", false, None).await.unwrap().pointer.unwrap();
        assert_eq!((half.rollout_pct.get(), half.baseline_digest), (5000, Some(one)));
        let whole = world.step("person:carol", "stage", false, Some(100.0)).await.unwrap().pointer.unwrap();
        assert_eq!((whole.rollout_pct, whole.baseline_digest, whole.next_step_at), (BasisPoints::ALL, None, None));
        assert_eq!(world.step("person:carol", "stage", false, None).await.unwrap_err().code, Code::WrongState);
        assert_eq!(world.step("person:olga", "stage", true, Some(5.0)).await.unwrap_err().code, Code::WrongState);
        world.check_chain().await;
    });
}

#[test]
fn a_running_rollout_is_crossed_only_by_its_name() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, two, three) = (world.version("one").await, world.version("two").await, world.version("three").await);
        world.promote("stage", one, 100.0).await;
        let running = world.open(wish("stage", two, None)).await.unwrap();
        world.apply(running.promotion_id).await.unwrap();
        let refusal = world.open(wish("stage", three, None)).await.unwrap_err();
        assert_eq!(refusal.code, Code::RolloutInProgress);
        assert!(refusal.hint.unwrap().contains(&running.promotion_id.to_string()));
        let named = Wish { supersedes: Some(running.promotion_id), ..wish("stage", three, None) };
        let row = world.open(named).await.unwrap();
        assert_eq!(row.baseline_digest, Some(one), "a partial rollout's baseline is kept");
        assert_eq!(world.open(wish("stage", two, Some(25.0))).await.unwrap_err().code, Code::NoChange);
        world.apply(row.promotion_id).await.unwrap();
    });
}

#[test]
fn of_64_promotions_applied_at_once_one_wins_and_the_others_name_it() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let base = world.version("base").await;
        world.promote("dev", base, 100.0).await;
        let mut rows = Vec::new();
        for number in 0..64 {
            let digest = world.version(&format!("text {number}")).await;
            rows.push(world.open(wish("dev", digest, None)).await.unwrap().promotion_id);
        }
        let before = world.events().await.len();
        let race = rows.iter().map(|id| world.apply(*id));
        let outcomes = futures_util::future::join_all(race).await;
        let won: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
        assert_eq!(won.len(), 1);
        let winner = won[0].promotion.promotion_id;
        let mut staled = won[0].staled.clone();
        staled.push(winner);
        staled.sort();
        rows.sort();
        assert_eq!(staled, rows, "every other one is stale, listed in the one event");
        for lost in outcomes.into_iter().filter_map(Result::err) {
            assert_eq!(lost.code, Code::PointerMoved);
            assert_eq!(lost.current.unwrap()["promotion_id"], serde_json::json!(winner));
        }
        for id in rows.iter().filter(|id| **id != winner) {
            assert_eq!(world.promotion(*id).await.state, PromotionState::Stale);
        }
        assert_eq!(world.events().await.len(), before + 1);
        world.check_chain().await;
    });
}

#[test]
fn one_promotion_applied_64_times_at_once_takes_effect_once() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let digest = world.version("hello").await;
        let row = world.open(wish("dev", digest, None)).await.unwrap();
        let before = world.events().await.len();
        let race = (0..64).map(|_| world.apply(row.promotion_id));
        let outcomes = futures_util::future::join_all(race).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        assert!(outcomes.into_iter().filter_map(Result::err).all(|lost| lost.code == Code::AlreadyApplied));
        assert_eq!((world.events().await.len(), world.pointer("dev").await.unwrap().revision), (before + 1, 1));
    });
}

#[test]
fn a_second_rollback_goes_further_back_and_a_third_says_there_is_nothing() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, two, three) = (world.version("one").await, world.version("two").await, world.version("three").await);
        for digest in [one, two, three] {
            world.promote("dev", digest, 100.0).await;
        }
        let open = world.open(wish("dev", one, None)).await.unwrap();
        let back = world.rollback("person:olga", "dev", None).await.unwrap();
        let pointer = back.pointer.unwrap();
        assert_eq!((pointer.digest, pointer.held, pointer.rollout_pct), (two, true, BasisPoints::ALL));
        assert_eq!(back.staled, [open.promotion_id]);
        let closed = world.promotion(open.promotion_id).await;
        assert_eq!(closed.closed_reason.unwrap(), format!("rollback by person:olga #{}", back.seq.unwrap()));
        assert_eq!(world.rollback("person:olga", "dev", None).await.unwrap().pointer.unwrap().digest, one);
        let events = world.events().await.len();
        assert_eq!(world.rollback("person:olga", "dev", None).await.unwrap_err().code, Code::NoHistory);
        assert_eq!(world.rollback("person:olga", "dev", Some(one)).await.unwrap_err().code, Code::NoChange);
        assert_eq!(world.events().await.len(), events, "it changed nothing");
        let again = world.open(wish("dev", two, None)).await.unwrap();
        assert!(!world.apply(again.promotion_id).await.unwrap().pointer.unwrap().held, "a person promoted again");
        world.check_chain().await;
    });
}

#[test]
fn a_rollback_is_refused_what_may_serve_refuses() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, two, three) = (world.version("one").await, world.version("two").await, world.version("three").await);
        for digest in [one, two, three] {
            world.promote("dev", digest, 100.0).await;
        }
        let body = Reason { rationale: "bad".into() };
        world.run("person:ana", QuarantineVersion { digest: two, body }).await.unwrap();
        let refusal = world.rollback("person:olga", "dev", Some(two)).await.unwrap_err();
        assert_eq!(unmet(&refusal), [(ReadinessKind::Quarantine, "quarantine".into())]);
        let missed = Rollback { rationale: "bad".into(), seen_revision: Some(2), ..Rollback::default() };
        let verb = RollbackPointer { key: key(), environment: env("dev"), body: missed };
        assert_eq!(world.run("person:olga", verb).await.unwrap_err().code, Code::PointerMoved);
        assert_eq!(world.rollback("person:fay", "dev", None).await.unwrap_err().code, Code::Forbidden);
        assert_eq!(world.rollback("person:olga", "stage", None).await.unwrap_err().code, Code::NotFound);
        let pointer = world.rollback("person:olga", "dev", None).await.unwrap().pointer.unwrap();
        assert_eq!(pointer.digest, one, "the quarantined one is passed by");
        world.kill("person:olga", "dev").await.unwrap();
        assert_eq!(world.rollback("person:olga", "dev", None).await.unwrap_err().code, Code::Killed);
    });
}

#[test]
fn a_kill_absorbs_until_a_revive_and_then_nobody_gets_what_was_killed() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (a, b, safe) = (world.version("a").await, world.version("b").await, world.version("safe").await);
        world.safe_default(safe).await;
        world.promote("stage", a, 100.0).await;
        let open = world.open(wish("stage", b, Some(100.0))).await.unwrap();
        let killed = world.kill("person:olga", "stage").await.unwrap();
        assert_eq!((killed.promotion.to_digest, killed.staled.as_slice()), (Some(safe), &[open.promotion_id][..]));
        let pointer = killed.pointer.unwrap();
        assert_eq!((pointer.killed, pointer.digest, pointer.rollout_pct), (true, a, BasisPoints::ALL));
        let again = world.kill("person:carol", "stage").await.unwrap();
        assert_eq!((again.seq, again.promotion.promotion_id), (None, killed.promotion.promotion_id));
        for other in [
            world.step("person:carol", "stage", false, None).await.unwrap_err(),
            world.step("person:carol", "stage", true, Some(1.0)).await.unwrap_err(),
            world.hold("person:olga", "stage").await.unwrap_err(),
            world.rollback("person:olga", "stage", None).await.unwrap_err(),
        ] {
            assert_eq!(other.code, Code::Killed);
        }
        let revive = Wish { revive: true, ..wish("stage", b, Some(25.0)) };
        assert_eq!(world.run("person:fay", OpenPromotion { body: revive.clone() }).await.unwrap_err().code, Code::Forbidden);
        let row = world.open(revive).await.unwrap();
        assert_eq!(row.baseline_digest, Some(safe));
        let moved = world.apply(row.promotion_id).await.unwrap();
        assert!(moved.promotion.review_owed && !moved.pointer.unwrap().killed);
        assert!(world.events().await.last().unwrap().body.as_ref().unwrap().action == Action::PointerRevive);
        let snapshot = world.registry.snapshot.get();
        let mut got = std::collections::BTreeMap::<Option<Digest>, u32>::new();
        for unit in 0..10_000 {
            let unit = format!("user-{unit}");
            let found = snapshot.resolve(&key(), &env("stage"), Some(&unit), false).unwrap().unwrap();
            *got.entry(found.served.map(|served| served.digest)).or_default() += 1;
        }
        assert_eq!(got.keys().copied().collect::<Vec<_>>().len(), 2, "{got:?}");
        assert!(!got.contains_key(&Some(a)), "{got:?}");
        assert!((2_200..2_800).contains(&got[&Some(b)]) && got.contains_key(&Some(safe)), "{got:?}");
        assert_eq!(world.rollback("person:olga", "stage", None).await.unwrap_err().code, Code::NoHistory);
        assert_eq!(world.rollback("person:olga", "stage", Some(a)).await.unwrap_err().code, Code::WrongState);
        world.check_chain().await;
    });
}

#[test]
fn a_safe_default_that_was_killed_serves_no_later_kill_until_it_is_approved_again() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (a, b, c) = (world.version("a").await, world.version("b").await, world.version("c").await);
        // What a kill of the pointer serves: as its row says, as the snapshot says, as it says after a restart.
        let killed = async || {
            let to = world.kill("person:olga", "stage").await.unwrap().promotion.to_digest;
            let reloaded = load(&world.registry.db, *world.registry.snapshot.get().pepper()).await.unwrap();
            for snapshot in [&*world.registry.snapshot.get(), &reloaded] {
                let found = snapshot.resolve(&key(), &env("stage"), None, false).unwrap().unwrap();
                assert_eq!(found.served.map(|served| served.digest), to);
            }
            to
        };
        let revive = async |to: Digest, percent: f64| {
            let row = world.open(Wish { revive: true, ..wish("stage", to, Some(percent)) }).await.unwrap();
            world.apply(row.promotion_id).await.unwrap().pointer.unwrap().baseline_digest
        };
        world.safe_default(a).await;
        world.promote("stage", a, 100.0).await;
        assert_eq!(killed().await, None, "it is the killed digest itself");
        assert_eq!(revive(b, 25.0).await, None, "nobody outside the share gets it either");
        assert_eq!(killed().await, None, "it was killed before");
        let named = Wish { revive: true, baseline: Some(a), ..wish("stage", b, Some(25.0)) };
        assert_eq!(world.open(named).await.unwrap_err().path.as_deref(), Some("/baseline"));
        revive(b, 100.0).await;
        for safe in [c, a] {
            world.safe_default(safe).await;
            assert_eq!(killed().await, Some(safe), "it was approved as safe default");
            assert_eq!(revive(b, 50.0).await, Some(safe));
        }
        assert_eq!(killed().await, Some(a));
        revive(a, 100.0).await;
        assert_eq!(killed().await, None);
        revive(a, 100.0).await;
        world.promote("stage", b, 100.0).await;
        assert_eq!(killed().await, Some(a), "it was revived by an approval of its own");
        world.check_chain().await;
    });
}

#[test]
fn a_kill_takes_one_person_with_the_right_and_no_more() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let one = world.version("one").await;
        world.promote("dev", one, 100.0).await;
        for (who, code) in [("person:fay", Code::Forbidden), ("person:ana", Code::Forbidden), ("person:root", Code::Forbidden)] {
            assert_eq!(world.kill(who, "dev").await.unwrap_err().code, code, "{who}");
        }
        assert_eq!(world.kill("person:olga", "stage").await.unwrap_err().code, Code::NotFound, "no pointer");
        let only = countersign::rules::access::Caller { scope: countersign::model::Scope::Kill, ..caller("person:olga") };
        let verb = KillPointer { key: key(), environment: env("dev"), body: Kill { note: None, ..kill() } };
        let moved = world.registry.run(&only, None, verb).await.unwrap().answer;
        let row = moved.promotion;
        assert_eq!(row.note_due_at, Some(world.now().plus_seconds(86_400)));
        assert!(row.review_owed && row.reason == Some(KillReason::Quality));
        let review = |who: &'static str| world.run(who, ReviewPromotion { id: row.promotion_id, body: note("looked at it") });
        assert_eq!(review("person:olga").await.unwrap_err().code, Code::Forbidden, "who killed");
        assert_eq!(review("person:carol").await.unwrap_err().code, Code::Forbidden, "neither approver nor on call");
        assert_eq!(review("person:ana").await.unwrap().reviewed_by.unwrap().to_string(), "person:ana");
        assert_eq!(review("person:bob").await.unwrap_err().code, Code::WrongState, "reviewed");
        let noted = NotePromotion { id: row.promotion_id, body: note("answers were wrong") };
        assert_eq!(world.run("person:olga", noted.clone()).await.unwrap().rationale, "answers were wrong");
        assert_eq!(world.run("person:olga", noted).await.unwrap_err().code, Code::WrongState);
        world.check_chain().await;
    });
}

#[test]
fn a_kill_is_taken_back_by_its_own_person_within_ten_minutes() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, two) = (world.version("one").await, world.version("two").await);
        world.promote("stage", one, 100.0).await;
        let row = world.open(wish("stage", two, None)).await.unwrap();
        let before = world.apply(row.promotion_id).await.unwrap().pointer.unwrap();
        world.later(60);
        world.kill("person:olga", "stage").await.unwrap();
        world.later(300);
        assert_eq!(world.undo_kill("person:carol", "stage").await.unwrap_err().code, Code::Forbidden);
        let undone = world.undo_kill("person:olga", "stage").await.unwrap();
        let after = undone.pointer.unwrap();
        assert_eq!(
            countersign::model::EnvironmentPointer { revision: before.revision, updated_at: before.updated_at, ..after.clone() },
            before
        );
        assert!(undone.promotion.review_owed);
        assert_eq!(world.undo_kill("person:olga", "stage").await.unwrap_err().code, Code::WrongState);
        assert_eq!(world.step("person:carol", "stage", false, None).await.unwrap().pointer.unwrap().rollout_pct.get(), 5000);
        world.kill("person:olga", "stage").await.unwrap();
        world.later(600);
        assert_eq!(world.undo_kill("person:olga", "stage").await.unwrap_err().code, Code::WrongState, "too late");
        world.check_chain().await;
    });
}

#[test]
fn a_kill_that_was_sent_before_a_revive_is_refused() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, two) = (world.version("one").await, world.version("two").await);
        world.promote("dev", one, 100.0).await;
        let decided = world.now();
        world.later(5);
        world.kill("person:olga", "dev").await.unwrap();
        let late = |issued_at, seen_revision| {
            let body = Kill { issued_at, seen_revision, ..kill() };
            world.run("person:carol", KillPointer { key: key(), environment: env("dev"), body })
        };
        assert_eq!(late(Some(decided), Some(1)).await.unwrap().seq, None, "it is killed: that is what was asked for");
        let row = world.open(Wish { revive: true, ..wish("dev", two, None) }).await.unwrap();
        world.later(5);
        world.apply(row.promotion_id).await.unwrap();
        assert_eq!(late(Some(decided), None).await.unwrap_err().code, Code::PointerMoved);
        let refusal = late(Some(world.now()), Some(1)).await.unwrap_err();
        assert_eq!(refusal.code, Code::PointerMoved);
        assert!(refusal.detail.contains("since revision 1, which this kill was decided on"), "{}", refusal.detail);
        assert!(!world.pointer("dev").await.unwrap().killed);
        late(Some(decided), Some(3)).await.unwrap();
        assert!(world.pointer("dev").await.unwrap().killed);
    });
}

#[test]
fn many_keys_are_killed_when_the_count_is_what_was_seen() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let one = world.version("one").await;
        world.promote("dev", one, 100.0).await;
        let many = |keys: &[&str], namespace: Option<&str>, expected_count: u32| KillMany {
            environment: env("dev"),
            keys: keys.iter().map(|&key| key.to_owned()).collect(),
            namespace: namespace.map(|pattern| pattern.parse().unwrap()),
            expected_count,
            reason: KillReason::Outage,
            note: None,
        };
        let kill = |body: KillMany| {
            let caller = caller("person:olga");
            let registry = world.registry.clone();
            async move { kill_many(&registry, &caller, body, |refusal| countersign::wire::Problem::of(refusal, 404)).await }
        };
        assert_eq!(kill(many(&[], Some("support.**"), 2)).await.unwrap_err().code, Code::PreconditionFailed);
        assert_eq!(kill(many(&[], None, 0)).await.unwrap_err().code, Code::Invalid);
        assert_eq!(kill(many(&[KEY], Some("**"), 1)).await.unwrap_err().code, Code::Invalid);
        assert!(!world.pointer("dev").await.unwrap().killed);
        let done = kill(many(&["support.nothing", KEY, "Support.Typo", KEY], None, 3)).await.unwrap();
        let outcomes: Vec<_> = done.iter().map(|one| (one.key_id.as_str(), one.problem.as_ref().map(|p| p.code))).collect();
        assert_eq!(
            outcomes,
            [("Support.Typo", Some(Code::Invalid)), (KEY, None), ("support.nothing", Some(Code::NotFound))],
            "what fails holds nothing else up"
        );
        assert_eq!(kill(many(&[KEY, KEY], None, 2)).await.unwrap().len(), 1, "a double counts once, however it was counted");
        assert_eq!(kill(many(&[], Some("support.**"), 1)).await.unwrap()[0].moved.as_ref().unwrap().seq, None);
    });
}

#[test]
fn approvals_are_refused_to_authors_outsiders_and_programs() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let digest = world.version("hello").await;
        world.draft_by("person:fay", "hello").await;
        let row = world.open(wish("production", digest, None)).await.unwrap();
        let refused = async |who: &str, verdict: Verdict, gate: &str| {
            let refusal = world.vote(who, &row, verdict, gate).await.unwrap_err();
            (refusal.code, refusal.detail)
        };
        let (code, detail) = refused("person:fay", Verdict::Approve, "owner").await;
        assert_eq!((code, detail.as_str()), (Code::Forbidden, "you are an author of this version"));
        assert_eq!(refused("person:carol", Verdict::Approve, "owner").await.0, Code::Forbidden, "no approver");
        assert_eq!(refused("person:eve", Verdict::Approve, "owner").await.0, Code::Forbidden, "another group");
        assert_eq!(refused("service:ci", Verdict::Approve, "owner").await.0, Code::Forbidden, "a program");
        assert_eq!(refused("person:ana", Verdict::Approve, "nothing").await.0, Code::Invalid, "no such gate");
        assert_eq!(refused("person:ana", Verdict::Override, "quality").await.0, Code::Forbidden, "may not override");
        assert_eq!(refused("person:ana", Verdict::Retract, "owner").await.0, Code::NoChange, "nothing to take back");
        let both = world.vote("person:bob", &row, Verdict::Approve, "").await.unwrap_err();
        assert_eq!(both.path.as_deref(), Some("/gate"), "bob fits two");
        world.vote("person:ana", &row, Verdict::Approve, "").await.unwrap();
        let left = world.vote("person:bob", &row, Verdict::Approve, "").await.unwrap();
        assert_eq!(left.gate, "safety", "ana met the other");
        let none_left = world.vote("person:bob", &row, Verdict::Approve, "").await.unwrap_err();
        assert_eq!(none_left.path.as_deref(), Some("/gate"), "both are met");
        let blank = CastVote {
            id: row.promotion_id,
            body: countersign::wire::promotions::Vote { rationale: " \n".into(), ..ballot(&row, Verdict::Comment, "") },
        };
        assert_eq!(world.run("person:ana", blank).await.unwrap_err().path.as_deref(), Some("/rationale"));
        let denied = world.events().await.into_iter().filter(|e| e.body.as_ref().unwrap().action == Action::AccessDenied).count();
        assert!(denied >= 4, "{denied} attempts were recorded");
    });
}

#[test]
fn an_approval_of_another_statement_is_refused() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let digest = world.version("hello").await;
        let row = world.open(wish("production", digest, None)).await.unwrap();
        let other = Promotion { baseline_digest: Some(digest), ..row.clone() };
        let refusal = world.vote("person:ana", &other, Verdict::Approve, "owner").await.unwrap_err();
        assert_eq!(refusal.code, Code::StatementMismatch);
        assert_eq!(refusal.current.unwrap()["to"], serde_json::json!(digest));
        let mut none = ballot(&row, Verdict::Approve, "owner");
        none.statement = None;
        let refusal = world.run("person:ana", CastVote { id: row.promotion_id, body: none }).await.unwrap_err();
        assert_eq!(refusal.path.as_deref(), Some("/statement"));
        assert_eq!(Statement::of(&row).digest(), row.statement);
    });
}

#[test]
fn an_overridden_gate_lets_apply_and_is_reviewed_afterwards_by_another_person() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (digest, row) = ready(&world, "hello").await;
        world.report(digest, Some(0.1), None).await.unwrap();
        world.vote("person:bob", &row, Verdict::Override, "quality").await.unwrap();
        let moved = world.apply(row.promotion_id).await.unwrap();
        assert!(moved.promotion.review_owed);
        let review = |who: &'static str| world.run(who, ReviewPromotion { id: row.promotion_id, body: note("it is fine") });
        assert_eq!(review("person:bob").await.unwrap_err().code, Code::Forbidden, "who overrode");
        assert!(!review("person:ana").await.unwrap().review_owed);
    });
}

#[test]
fn closed_promotions_take_comments_only() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, two) = (world.version("one").await, world.version("two").await);
        let row = world.open(wish("production", one, None)).await.unwrap();
        let withdraw = |who: &'static str| world.run(who, WithdrawPromotion { id: row.promotion_id, body: note("") });
        assert_eq!(withdraw("person:fay").await.unwrap_err().code, Code::Forbidden, "carol opened it");
        assert_eq!(withdraw("person:carol").await.unwrap().state, PromotionState::Withdrawn);
        assert_eq!(withdraw("person:root").await.unwrap_err().code, Code::PromotionClosed);
        let vote = world.vote("person:ana", &row, Verdict::Approve, "owner").await;
        assert_eq!(vote.unwrap_err().code, Code::PromotionClosed);
        assert_eq!(world.apply(row.promotion_id).await.unwrap_err().code, Code::PromotionClosed);
        world.vote("person:ana", &row, Verdict::Comment, "").await.unwrap();
        let other = world.open(wish("dev", two, None)).await.unwrap();
        let admin = WithdrawPromotion { id: other.promotion_id, body: note("") };
        assert_eq!(world.run("person:root", admin).await.unwrap().state, PromotionState::Withdrawn, "an admin may");
        let renewed = world.run("person:carol", RenewPromotion { id: other.promotion_id, body: note("again") }).await.unwrap();
        assert_eq!((renewed.to_digest, renewed.rationale.as_str()), (Some(two), "again"));
        let open = RenewPromotion { id: renewed.promotion_id, body: note("") };
        assert_eq!(world.run("person:carol", open).await.unwrap_err().code, Code::WrongState, "it is still open");
    });
}

#[test]
fn promotions_expire_one_event_each() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let digest = world.version("hello").await;
        let row = world.open(wish("production", digest, None)).await.unwrap();
        let later = world.open(wish("dev", digest, None)).await.unwrap();
        world.approve(&row).await;
        let expire = async || world.registry.run(&ExpirePromotions::caller(), None, ExpirePromotions).await.unwrap();
        assert_eq!(expire().await.answer, None);
        world.later(7 * 86_400);
        let refusal = world.apply(row.promotion_id).await.unwrap_err();
        assert!(unmet(&refusal).contains(&(ReadinessKind::Pointer, "pointer".into())), "too old, even before the job ran");
        assert_eq!(expire().await.answer, Some(row.promotion_id));
        assert_eq!((expire().await.answer, expire().await.seq), (None, None));
        assert_eq!(world.promotion(row.promotion_id).await.state, PromotionState::Expired);
        assert_eq!(world.promotion(later.promotion_id).await.state, PromotionState::Open, "14 days unless the policy says so");
    });
}

#[test]
fn a_dry_run_says_what_would_be_and_changes_nothing() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let digest = world.version("hello").await;
        let events = world.events().await.len();
        let body = Wish { dry_run: true, ..wish("production", digest, None) };
        let Opened::DryRun(would) = world.run("person:carol", OpenPromotion { body }).await.unwrap() else { panic!("it opened") };
        let kinds: Vec<ReadinessKind> = would.readiness.unmet().map(|item| item.kind).collect();
        assert_eq!(kinds, [ReadinessKind::Approval, ReadinessKind::Approval, ReadinessKind::Order, ReadinessKind::SafeDefault]);
        assert_eq!(would.pointer.unwrap().digest, digest);
        let row = world.open(wish("dev", digest, None)).await.unwrap();
        let dry = ApplyPromotion { id: row.promotion_id, body: Rationale { dry_run: true, ..Rationale::default() } };
        let Applied::DryRun(would) = world.run("person:carol", dry).await.unwrap() else { panic!("it moved") };
        assert!(would.readiness.is_ready());
        assert_eq!((world.pointer("dev").await, world.events().await.len()), (None, events + 1));
        world.apply(row.promotion_id).await.unwrap();
        let verb = KillPointer { key: key(), environment: env("dev"), body: Kill { dry_run: true, ..kill() } };
        let would = world.run("person:olga", verb).await.unwrap();
        assert!(would.pointer.unwrap().killed && would.seq.is_none());
        assert!(!world.pointer("dev").await.unwrap().killed);
    });
}

#[test]
fn bad_wishes_name_their_place_and_open_nothing() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let digest = world.version("hello").await;
        let path = async |body: Wish| world.open(body).await.unwrap_err().path.unwrap();
        assert_eq!(path(Wish { rationale: "\t \n".into(), ..wish("dev", digest, None) }).await, "/rationale");
        assert_eq!(path(Wish { rationale: "a\0b".into(), ..wish("dev", digest, None) }).await, "/rationale");
        assert_eq!(path(Wish { change: Some("x".repeat(201)), ..wish("dev", digest, None) }).await, "/change");
        assert_eq!(path(wish("nowhere", digest, None)).await, "/environment");
        assert_eq!(path(wish("dev", Digest([9; 32]), None)).await, "/to_digest");
        assert_eq!(path(Wish { plan: Some(vec![]), ..wish("dev", digest, None) }).await, "/plan");
        assert_eq!(path(Wish { plan: Some(vec![]), ..wish("dev", digest, Some(5.0)) }).await, "/plan");
        assert_eq!(path(Wish { baseline: Some(Digest([9; 32])), ..wish("dev", digest, None) }).await, "/baseline");
        let elsewhere = Wish { key_id: "support.nothing".parse().unwrap(), ..wish("dev", digest, None) };
        assert_eq!(world.open(elsewhere).await.unwrap_err().code, Code::NotFound);
        let mut tx = world.registry.db.read().await.unwrap();
        assert_eq!(tx.conn().promotion_open_list(None, 10).await.unwrap(), []);
    });
}

#[test]
fn the_view_tells_each_person_what_they_can_do() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (digest, row) = ready(&world, "hello").await;
        world.vote("person:ana", &row, Verdict::Retract, "").await.unwrap();
        let see = async |who: &str| {
            let (mut tx, snapshot) = (world.registry.db.read().await.unwrap(), world.registry.snapshot.get());
            let row = tx.conn().promotion_get(row.promotion_id).await.unwrap().unwrap();
            let short = inbox::shortlist(&mut tx.conn(), &snapshot, &caller(who), world.now(), vec![row.clone()]).await.unwrap();
            let view = view::promotion(&world.registry, &mut tx.conn(), &snapshot, &caller(who), row).await.unwrap();
            assert!(!inbox::awaits(&view, world.now()) || !short.is_empty(), "{who}: what awaits is on the short list");
            view
        };
        let fay = see("person:fay").await;
        assert_eq!(fay.mine.approve_refused.as_deref(), Some("you are an author of this version"));
        assert!(!inbox::awaits(&fay, world.now()));
        let ana = see("person:ana").await;
        assert_eq!((ana.mine.can_approve.as_slice(), inbox::awaits(&ana, world.now())), (&["owner".to_owned()][..], true));
        let eve = see("person:eve").await;
        assert!(eve.mine.approve_refused.as_ref().unwrap().starts_with("you meet safety already"), "{:?}", eve.mine);
        let carol = see("person:carol").await;
        assert!(carol.mine.can_apply && carol.mine.opened && !inbox::awaits(&carol, world.now()), "not ready");
        world.vote("person:ana", &row, Verdict::Approve, "owner").await.unwrap();
        assert!(inbox::awaits(&see("person:carol").await, world.now()), "ready to apply");
        assert!(!inbox::awaits(&see("person:ana").await, world.now()), "ana has approved");
        world.report(digest, Some(0.1), None).await.unwrap();
        let bob = see("person:bob").await;
        assert_eq!(bob.mine.can_override, ["quality"]);
        assert!(bob.mine.can_approve.is_empty(), "others gave what is asked for");
        world.vote("person:bob", &row, Verdict::Reject, "owner").await.unwrap();
        assert!(inbox::awaits(&see("person:carol").await, world.now()), "who opened it hears of a no");
        let mut tx = world.registry.db.read().await.unwrap();
        let snapshot = world.registry.snapshot.get();
        let rows = vec![world.promotion(row.promotion_id).await];
        for who in ["person:olga", "person:root", "service:ci", "person:eve"] {
            let short = inbox::shortlist(&mut tx.conn(), &snapshot, &caller(who), world.now(), rows.clone()).await.unwrap();
            assert_eq!(short, [], "{who}");
        }
        let pointer = tx.conn().pointer_get(&key(), &env("dev")).await.unwrap().unwrap();
        let shown = view::pointer(&world.registry, &mut tx.conn(), &snapshot, &caller("person:olga"), pointer).await.unwrap();
        assert_eq!((shown.moved_by.as_deref(), shown.rollback_to, shown.running), (Some("person:carol"), None, None));
    });
}

#[test]
fn the_view_of_a_pointer_says_where_a_rollback_goes_and_until_when_a_kill_can_be_taken_back() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, two) = (world.version("one").await, world.version("two").await);
        world.promote("stage", one, 100.0).await;
        let row = world.open(wish("stage", two, None)).await.unwrap();
        world.apply(row.promotion_id).await.unwrap();
        let see = async |who: &str| {
            let pointer = world.pointer("stage").await.unwrap();
            let (mut tx, snapshot) = (world.registry.db.read().await.unwrap(), world.registry.snapshot.get());
            view::pointer(&world.registry, &mut tx.conn(), &snapshot, &caller(who), pointer).await.unwrap()
        };
        let shown = see("person:olga").await;
        assert_eq!((shown.rollback_to, shown.running), (Some(one), Some(row.promotion_id)));
        assert_eq!(shown.baseline.unwrap().digest, one);
        world.kill("person:olga", "stage").await.unwrap();
        assert_eq!(see("person:olga").await.undo_kill_until, Some(world.now().plus_seconds(600)));
        assert_eq!(see("person:carol").await.undo_kill_until, None, "another person killed");
        world.later(601);
        assert_eq!(see("person:olga").await.undo_kill_until, None);
        assert_eq!(act().seen_revision, None);
    });
}

#[test]
fn submitting_with_an_environment_opens_the_promotion_in_the_same_event() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let digest = world.draft("hello").await;
        let events = world.events().await.len();
        let body = Submit { environment: Some(env("dev")), rationale: None };
        let done = world.run("person:fay", SubmitVersion { digest, body }).await.unwrap();
        let row = done.promotion.unwrap();
        assert_eq!((done.version.state, row.to_digest, row.state), (VersionState::Review, Some(digest), PromotionState::Open));
        let after = world.events().await;
        assert_eq!(after.len(), events + 1);
        let body = after.last().unwrap().body.clone().unwrap();
        assert_eq!(
            (body.action, &body.detail["promotion"]["promotion_id"]),
            (Action::VersionSubmit, &serde_json::json!(row.promotion_id))
        );
    });
}

#[test]
fn an_inbox_of_many_promotions_reads_only_what_may_wait() {
    let many = if std::env::var("PROVE").is_ok_and(|how| how == "full") { 10_000 } else { 300 };
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let digest = world.version("hello").await;
        let row = world.open(wish("production", digest, None)).await.unwrap();
        let mut tx = world.registry.db.begin().await.unwrap();
        for _ in 1..many {
            let row = Promotion { promotion_id: world.clock.uuid(), ..row.clone() };
            tx.conn().promotion_put(&row).await.unwrap();
        }
        tx.commit().await.unwrap();
        let snapshot = world.registry.snapshot.get();
        let mut tx = world.registry.db.read().await.unwrap();
        let begun = std::time::Instant::now();
        let rows = tx.conn().promotion_open_list(None, many).await.unwrap();
        let short = async |tx: &mut countersign::storage::Tx, who: &str| {
            inbox::shortlist(&mut tx.conn(), &snapshot, &caller(who), world.now(), rows.clone()).await.unwrap().len()
        };
        assert_eq!((short(&mut tx, "person:carol").await, short(&mut tx, "person:olga").await), (0, 0));
        println!("{many} open promotions glanced at twice in {:?}", begun.elapsed());
        assert_eq!(short(&mut tx, "person:ana").await, rows.len());
        drop(tx);
        world.approve(&row).await;
        let mut tx = world.registry.db.read().await.unwrap();
        assert_eq!((short(&mut tx, "person:carol").await, short(&mut tx, "person:ana").await), (1, rows.len() - 1));
    });
}

/// Runs statements behind the registry's back.
async fn tamper(place: &super::support::engines::Place, sqlite: &[&str], postgres: &[&str]) {
    let run = |sql: &str| sqlx::AssertSqlSafe(sql.to_owned());
    match place.db.engine() {
        countersign::storage::Engine::Sqlite => {
            let pool = sqlx::SqlitePool::connect(&place.url).await.unwrap();
            for sql in sqlite {
                sqlx::query(run(sql)).execute(&pool).await.unwrap();
            }
            pool.close().await;
        }
        countersign::storage::Engine::Postgres => {
            let pool = sqlx::PgPool::connect(&place.url).await.unwrap();
            for sql in postgres {
                sqlx::query(run(sql)).execute(&pool).await.unwrap();
            }
            pool.close().await;
        }
    }
}

#[test]
fn a_kill_works_on_a_database_whose_chain_and_rows_were_broken() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, safe) = (world.version("one").await, world.version("safe").await);
        world.safe_default(safe).await;
        world.promote("dev", one, 100.0).await;
        let shared = [
            "UPDATE audit_event SET actor = 'person:mallory' WHERE seq = 2",
            "UPDATE audit_event SET prev_hash = 'nonsense' WHERE seq = 3",
            "DELETE FROM audit_event WHERE seq = (SELECT seq FROM audit_head)",
            "UPDATE config_key SET created_at = 1, owning_group = 'nobody'",
            "UPDATE promotion SET plan = 'not json' WHERE state = 'applied'",
            "UPDATE version SET submitter = 'not an actor'",
        ];
        let sqlite: Vec<&str> =
            ["DROP TRIGGER audit_event_no_update", "DROP TRIGGER audit_event_no_delete"].into_iter().chain(shared).collect();
        let postgres: Vec<&str> = ["ALTER TABLE audit_event DISABLE TRIGGER USER"].into_iter().chain(shared).collect();
        tamper(place, &sqlite, &postgres).await;
        assert!(world.rollback("person:olga", "dev", None).await.is_err(), "the history does not read");
        let late = Kill { issued_at: Some(world.now()), seen_revision: Some(1), ..kill() };
        let verb = KillPointer { key: key(), environment: env("dev"), body: late };
        let moved = world.run("person:olga", verb).await.unwrap();
        assert!(moved.seq.is_some() && moved.pointer.unwrap().killed && world.pointer("dev").await.unwrap().killed);
        let snapshot = world.registry.snapshot.get();
        let got = snapshot.resolve(&key(), &env("dev"), None, false).unwrap().unwrap();
        assert_eq!(got.served.map(|served| served.digest), Some(safe), "everybody gets the safe default at once");
        assert_eq!(world.kill("person:olga", "dev").await.unwrap().seq, None, "a second kill is not an error either");
    });
}

#[test]
fn a_safe_default_is_frozen_while_the_key_is_killed_anywhere_and_takes_the_last_protected_rules() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (safe, other) = (world.version("safe").await, world.version("other").await);
        world.promote("dev", other, 100.0).await;
        let row = world.open(wish("@safe-default", safe, None)).await.unwrap();
        let missing = unmet(&world.apply(row.promotion_id).await.unwrap_err());
        let approvals = [(ReadinessKind::Approval, "owner".to_owned()), (ReadinessKind::Approval, "safety".to_owned())];
        assert_eq!(missing, approvals, "production's approvals; neither order nor safe default");
        world.approve(&row).await;
        world.kill("person:olga", "dev").await.unwrap();
        alone(&world, &row, ReadinessKind::Killed, "frozen while the key is killed in dev").await;
        world.undo_kill("person:olga", "dev").await.unwrap();
        let rival = world.open(wish("@safe-default", other, None)).await.unwrap();
        let moved = world.apply(row.promotion_id).await.unwrap();
        assert_eq!((moved.pointer, moved.staled.as_slice()), (None, &[rival.promotion_id][..]));
        assert_eq!(world.registry.snapshot.get().key(&key()).unwrap().safe_default_digest, Some(safe));
        assert_eq!(world.apply(rival.promotion_id).await.unwrap_err().code, Code::PointerMoved);
        let body = Wish { percent: Some(BasisPoints::new(5000).unwrap()), ..wish("@safe-default", other, None) };
        assert_eq!(world.open(body).await.unwrap_err().path.as_deref(), Some("/plan"));
        world.check_chain().await;
    });
}

#[test]
fn four_eyes_are_kept_from_owners_of_tokens_and_authors_of_fragments() {
    on_each_engine(async |place| {
        let bot = "[[role]]\nwho = \"service:bot\"\nrole = \"author\"\n[[role]]\nwho = \"person:bob\"\nrole = \"author\"\n";
        let world = World::under(place, &format!("{}{bot}", super::support::world::POLICY)).await;
        let token = countersign::model::Token {
            token_id: "cs_bot".into(),
            actor: "service:bot".parse().unwrap(),
            owner: "person:ana.work".parse().unwrap(),
            scope: countersign::model::Scope::Full,
            environment: None,
            note: String::new(),
            created_at: world.now(),
            expires_at: world.now(),
            revoked_at: None,
        };
        let mut tx = world.registry.db.begin().await.unwrap();
        tx.conn().token_put(&token, &Digest([1; 32])).await.unwrap();
        tx.commit().await.unwrap();
        let by_bot = world.draft_by("service:bot", "written by a program").await;
        let row = world.open(wish("production", by_bot, None)).await.unwrap();
        let refused =
            async |who: &str, row: &Promotion| world.vote(who, row, Verdict::Approve, "owner").await.unwrap_err().detail;
        assert_eq!(refused("person:ana", &row).await, "you are an owner of a token that acts for service:bot");
        world.vote("person:bob", &row, Verdict::Approve, "owner").await.unwrap();
        let body = countersign::wire::versions::CreateFragment {
            name: "tone".into(),
            body: "Be kind.".into(),
            owning_group: "owners".into(),
        };
        let tone = world.run("person:bob", countersign::workflow::CreateFragment { body }).await.unwrap();
        let content = countersign::model::Content {
            key: key(),
            format: countersign::model::Format::Template,
            body: "{% include \"tone\" %}".into(),
            model_pin: None,
            parameters: serde_json::Map::new(),
            fragments: std::collections::BTreeMap::from([("tone".to_owned(), tone.digest)]),
            variables: Vec::new(),
            schema: 1,
        };
        let body = countersign::wire::versions::CreateVersion { content, rationale: "kinder".into(), imported: None };
        let saved = world.run("person:fay", countersign::workflow::SaveVersion { key: key(), body }).await.unwrap();
        let row = world.open(wish("production", saved.version.digest, None)).await.unwrap();
        assert_eq!(refused("person:bob", &row).await, "you are an author of a fragment that it pins");
        world.vote("person:ana", &row, Verdict::Approve, "owner").await.unwrap();
        let again = world.draft_by("person:fay", "same words").await;
        assert_eq!(world.draft_by("person:bob", "same words").await, again);
        let row = world.open(wish("production", again, None)).await.unwrap();
        assert_eq!(refused("person:bob", &row).await, "you are an author of this version");
        let mine = world.run("person:bob", OpenPromotion { body: wish("dev", by_bot, None) }).await.unwrap();
        let Opened::Promotion(mine) = mine else { panic!("a dry run was not asked for") };
        assert_eq!(mine.actor.to_string(), "person:bob");
    });
}
