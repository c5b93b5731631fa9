//! Guards of single acts that stand behind others: each case gets past those and is stopped by one alone.

use super::support::engines::on_each_engine;
use super::support::policy::WORLD;
use super::support::rows::raw;
use super::support::world::{World, ballot, env, key, wish};
use countersign::model::{Code, Digest, PromotionState, Refusal, Scope, Token, Verdict};
use countersign::storage::Engine;
use countersign::wire::pointers::{Act, Rollback, StepTo};
use countersign::wire::promotions::{Moved, OpenPromotion, Rationale, Vote};
use countersign::wire::versions::Reason;
use countersign::workflow::{
    ApplyPromotion, CastVote, DiscardVersion, HoldPointer, QuarantineVersion, ResumePointer, ReviewPromotion, RollbackPointer,
    StepPointer, UndoKill,
};

fn code(found: Result<Moved, Refusal>) -> Option<Code> {
    found.err().map(|refusal| refusal.code)
}

/// A rollout of `two` over `one` in stage, at its first share.
async fn rollout(world: &World) -> (Digest, Digest) {
    let (one, two) = (world.version("one").await, world.version("two").await);
    world.promote("stage", one, 100.0).await;
    let row = world.open(wish("stage", two, None)).await.unwrap();
    world.apply(row.promotion_id).await.unwrap();
    (one, two)
}

#[test]
fn an_act_on_a_revision_that_is_no_longer_is_refused() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        rollout(&world).await;
        let (key, environment, rationale) = (key(), env("stage"), "because".to_owned());
        let act = |seen| Act { rationale: rationale.clone(), seen_revision: Some(seen), ..Act::default() };
        let step = |down, seen| StepPointer {
            key: key.clone(),
            environment: environment.clone(),
            body: StepTo { down, rationale: rationale.clone(), seen_revision: Some(seen), ..StepTo::default() },
        };
        let back = |seen| RollbackPointer {
            key: key.clone(),
            environment: environment.clone(),
            body: Rollback { rationale: rationale.clone(), seen_revision: Some(seen), ..Rollback::default() },
        };
        let hold = |seen| HoldPointer { key: key.clone(), environment: environment.clone(), body: act(seen) };
        let resume = |seen| ResumePointer { key: key.clone(), environment: environment.clone(), body: act(seen) };
        let undo = |seen| UndoKill { key: key.clone(), environment: environment.clone(), body: act(seen) };
        let moved = Some(Code::PointerMoved);
        assert_eq!(code(world.run("person:carol", step(false, 1)).await), moved, "a step");
        world.run("person:carol", step(false, 2)).await.unwrap();
        assert_eq!(code(world.run("person:carol", step(true, 2)).await), moved, "a step down");
        world.run("person:carol", step(true, 3)).await.unwrap();
        assert_eq!(code(world.run("person:carol", hold(3)).await), moved, "a hold");
        world.run("person:carol", hold(4)).await.unwrap();
        assert_eq!(code(world.run("person:carol", resume(4)).await), moved, "a resume");
        world.run("person:carol", resume(5)).await.unwrap();
        world.kill("person:carol", "stage").await.unwrap();
        assert_eq!(code(world.run("person:carol", undo(6)).await), moved, "an undone kill");
        world.run("person:carol", undo(7)).await.unwrap();
        assert_eq!(code(world.run("person:carol", back(7)).await), moved, "a rollback");
        world.run("person:carol", back(8)).await.unwrap();
    });
}

#[test]
fn only_what_runs_is_held_and_only_what_is_held_and_runs_goes_on() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, _) = rollout(&world).await;
        assert_eq!(code(world.resume("person:carol", "stage").await), Some(Code::WrongState), "it is not held");
        world.hold("person:olga", "stage").await.unwrap();
        world.kill("person:olga", "stage").await.unwrap();
        assert_eq!(code(world.resume("person:carol", "stage").await), Some(Code::Killed), "held and killed");
        assert_eq!(code(world.hold("person:olga", "stage").await), Some(Code::Killed));
        world.undo_kill("person:olga", "stage").await.unwrap();
        world.rollback("person:olga", "stage", None).await.unwrap();
        let pointer = world.pointer("stage").await.unwrap();
        assert_eq!((pointer.digest, pointer.held), (one, true));
        assert_eq!(code(world.resume("person:carol", "stage").await), Some(Code::WrongState), "nothing runs there");
        world.promote("dev", one, 100.0).await;
        assert_eq!(code(world.hold("person:olga", "dev").await), Some(Code::WrongState), "everybody has it");
    });
}

#[test]
fn a_kill_serves_no_safe_default_that_is_quarantined() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, safe) = (world.version("one").await, world.version("safe").await);
        world.safe_default(safe).await;
        world.promote("dev", one, 100.0).await;
        let body = Reason { rationale: "bad".into() };
        world.run("person:ana", QuarantineVersion { digest: safe, body }).await.unwrap();
        assert_eq!(world.kill("person:olga", "dev").await.unwrap().promotion.to_digest, None);
        let snapshot = world.registry.snapshot.get();
        assert!(snapshot.resolve(&key(), &env("dev"), Some("u"), false).unwrap().unwrap().served.is_none());
    });
}

#[test]
fn programs_authors_and_the_misinformed_are_stopped_one_by_one() {
    on_each_engine(async |place| {
        let more = [("service:bot", "approver"), ("service:bot", "oncall"), ("person:bob", "author")];
        let world = World::under(place, &format!("{WORLD}{}", roles(&more))).await;
        let digest = world.version("hello").await;
        assert_eq!(world.draft_by("person:bob", "hello").await, digest, "bob is an author of it too");
        world.report(digest, Some(0.1), None).await.unwrap();
        let row = world.open(wish("production", digest, None)).await.unwrap();
        let told = async |who: &str, vote: Vote| {
            let refusal = world.run(who, CastVote { id: row.promotion_id, body: vote }).await.unwrap_err();
            (refusal.code, refusal.detail)
        };
        let (code, why) = told("service:bot", ballot(&row, Verdict::Approve, "owner")).await;
        assert_eq!((code, why.as_str()), (Code::Forbidden, "only persons approve, reject or override"));
        let (code, why) = told("person:bob", ballot(&row, Verdict::Override, "quality")).await;
        assert_eq!((code, why.as_str()), (Code::Forbidden, "you are an author of this version"));
        let other = Vote { statement: Some(Digest([9; 32])), ..ballot(&row, Verdict::Override, "quality") };
        assert_eq!(told("person:eve", other).await.0, Code::StatementMismatch);
        world.vote("person:eve", &row, Verdict::Override, "quality").await.unwrap();
        world.promote("dev", digest, 100.0).await;
        let killed = world.kill("person:olga", "dev").await.unwrap().promotion.promotion_id;
        let body = Rationale { rationale: "looked at it".into(), dry_run: false };
        let refusal = world.run("service:bot", ReviewPromotion { id: killed, body }).await.unwrap_err();
        assert_eq!((refusal.code, refusal.detail.as_str()), (Code::Forbidden, "only a person reviews"));
    });
}

/// Roles to add to a policy.
fn roles(of: &[(&str, &str)]) -> String {
    of.iter().map(|(who, role)| format!("[[role]]\nwho = \"{who}\"\nrole = \"{role}\"\n")).collect::<Vec<_>>().concat()
}

#[test]
fn a_review_takes_somebody_who_did_none_of_it() {
    on_each_engine(async |place| {
        let more =
            [("person:sam", "releaser"), ("person:sam", "oncall"), ("person:ana", "oncall"), ("person:ana.work", "approver")];
        let world = World::under(place, &format!("{WORLD}{}", roles(&more))).await;
        let (one, two) = (world.version("one").await, world.version("two").await);
        world.promote("dev", one, 100.0).await;
        let killed = world.kill("person:ana", "dev").await.unwrap().promotion.promotion_id;
        let revive = world.open(OpenPromotion { revive: true, ..wish("dev", two, None) }).await.unwrap().promotion_id;
        let apply = |who: &'static str, id| world.run(who, ApplyPromotion { id, body: Rationale::default() });
        for who in ["person:fay", "person:ana", "person:olga", "person:root", "service:ci"] {
            assert_eq!(apply(who, revive).await.unwrap_err().code, Code::Forbidden, "{who} releases nothing");
        }
        apply("person:sam", revive).await.unwrap();
        let review = |who: &'static str, id| {
            let body = Rationale { rationale: "looked at it".into(), dry_run: false };
            world.run(who, ReviewPromotion { id, body })
        };
        for (who, id) in [("person:ana", killed), ("person:ana.work", killed), ("person:sam", revive)] {
            let refusal = review(who, id).await.unwrap_err();
            assert_eq!((refusal.code, refusal.detail.as_str()), (Code::Forbidden, "you did what is to be reviewed"), "{who}");
        }
        review("person:sam", killed).await.unwrap();
        review("person:ana.work", revive).await.unwrap();
    });
}

#[test]
fn a_version_that_served_is_not_discarded() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, two) = (world.version("one").await, world.version("two").await);
        world.promote("dev", one, 100.0).await;
        world.promote("dev", two, 100.0).await;
        let discard = |digest| {
            let body = Reason { rationale: "no use".into() };
            world.run("person:fay", DiscardVersion { digest, body })
        };
        assert_eq!(discard(one).await.unwrap_err().code, Code::WrongState);
        let three = world.version("three").await;
        assert!(discard(three).await.unwrap().discarded);
    });
}

#[test]
fn a_program_that_an_author_owns_opens_no_gate_for_what_that_author_wrote() {
    on_each_engine(async |place| {
        let gated = WORLD.replace("name = \"stage\"", "name = \"stage\"\ngates = [\"quality\"]");
        let world = World::under(place, &gated).await;
        let digest = world.version("hello").await;
        let row = world.open(wish("stage", digest, None)).await.unwrap();
        let author = ApplyPromotion { id: row.promotion_id, body: Rationale::default() };
        assert_eq!(world.run("person:fay", author).await.unwrap_err().code, Code::Forbidden, "an author releases nothing");
        let token = Token {
            token_id: "cs_ci".into(),
            actor: "service:ci".parse().unwrap(),
            owner: "person:fay".parse().unwrap(),
            scope: Scope::Full,
            environment: None,
            note: String::new(),
            created_at: world.now(),
            expires_at: world.now(),
            revoked_at: None,
        };
        let mut tx = world.registry.db.begin().await.unwrap();
        tx.conn().token_put(&token, &Digest([1; 32])).await.unwrap();
        tx.commit().await.unwrap();
        let refusal = world.apply(row.promotion_id).await.unwrap_err();
        assert_eq!(refusal.unmet.len(), 1, "{refusal:?}");
        assert!(refusal.unmet[0].reason.contains("service:ci, which person:fay owns"), "{refusal:?}");
    });
}

#[test]
fn content_that_is_not_what_its_digest_says_never_comes_to_serve() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let digest = world.version("hello").await;
        let row = world.open(wish("dev", digest, None)).await.unwrap();
        let statements = match place.db.engine() {
            Engine::Sqlite => [
                "DROP TRIGGER version_no_rewrite",
                "UPDATE version SET content = CAST(replace(CAST(content AS TEXT), 'hello', 'howdy') AS BLOB)",
            ],
            Engine::Postgres => [
                "ALTER TABLE version DISABLE TRIGGER USER",
                "UPDATE version SET content = convert_to(replace(convert_from(content, 'UTF8'), 'hello', 'howdy'), 'UTF8')",
            ],
        };
        for sql in statements {
            raw(&place.db, sql.to_owned()).await.unwrap();
        }
        assert_eq!(world.apply(row.promotion_id).await.unwrap_err().code, Code::Internal);
        assert_eq!(world.pointer("dev").await, None);
        assert_eq!(world.promotion(row.promotion_id).await.state, PromotionState::Open);
    });
}

#[test]
fn a_pointer_that_moved_behind_the_registrys_back_is_not_swapped() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let (one, two) = (world.version("one").await, world.version("two").await);
        world.promote("dev", one, 100.0).await;
        let row = world.open(wish("dev", two, None)).await.unwrap();
        let moved = |by: i64| raw(&place.db, format!("UPDATE environment_pointer SET revision = revision + {by}"));
        moved(1).await.unwrap();
        let refusal = world.apply(row.promotion_id).await.unwrap_err();
        assert_eq!(refusal.code, Code::PointerMoved, "a loser hears of a winner, not of a list: {refusal:?}");
        moved(-1).await.unwrap();
        // Between the look and the swap, in the very transaction: only the swap itself can see it.
        if place.db.engine() == Engine::Sqlite {
            let sql = "CREATE TRIGGER sly AFTER UPDATE OF state ON promotion \
                       BEGIN UPDATE environment_pointer SET revision = revision + 1; END";
            raw(&place.db, sql.to_owned()).await.unwrap();
            assert_eq!(world.apply(row.promotion_id).await.unwrap_err().code, Code::PointerMoved);
            assert_eq!(world.promotion(row.promotion_id).await.state, PromotionState::Open, "all of it was undone");
            raw(&place.db, "DROP TRIGGER sly".to_owned()).await.unwrap();
        }
        let before = world.pointer("dev").await.unwrap();
        assert_eq!((before.digest, before.revision), (one, 1));
        world.apply(row.promotion_id).await.unwrap();
        world.check_chain().await;
    });
}
