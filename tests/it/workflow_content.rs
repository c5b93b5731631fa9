//! The content verbs: keys, versions, verdicts, fragments, policy and tokens, and the one way in that they share.

use crate::support::engines::{Place, on_each_engine};
use crate::support::rows::{key_id, raw, read};
use crate::support::stage::{POLICY, Stage, caller, saving, text};
use countersign::model::{Actor, Code, Digest, GateStatus, PromotionState, Refusal, Scope, Timestamp, UnitType, VersionState};
use countersign::rules::canonical;
use countersign::wire::keys;
use countersign::wire::people::CreateToken as TokenBody;
use countersign::wire::versions::{self as versions, Imported, Reason, Submit};
use countersign::wire::world;
use countersign::workflow::{
    ApplyPolicy, CreateFragment, CreateKey, CreateToken, DiscardVersion, LiftVersion, QuarantineVersion, RecordRead,
    RecordVerdict, RevokeToken, SubmitVersion, UpdateKey,
};

const KEY: &str = "support.greeting";

fn code<T: std::fmt::Debug>(result: Result<T, Refusal>) -> Code {
    result.expect_err("it is refused").code
}

fn place_of<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
    result.expect_err("it is refused").path.unwrap_or_default()
}

fn reason(text: &str) -> Reason {
    Reason { rationale: text.into() }
}

fn making(name: &str, group: &str) -> CreateKey {
    let body = keys::CreateKey {
        key_id: key_id(name),
        owning_group: group.into(),
        unit_type: UnitType::User,
        confidential: false,
        description: "what it is for".into(),
    };
    CreateKey { body }
}

fn changing(body: keys::UpdateKey) -> UpdateKey {
    UpdateKey { key: key_id(KEY), body }
}

fn verdict(digest: Digest, score: Option<f64>) -> RecordVerdict {
    let body = versions::RecordVerdict {
        gate: "safety".into(),
        score,
        status: None,
        threshold: None,
        summary: String::new(),
        details_url: None,
    };
    RecordVerdict { digest, body }
}

#[test]
fn a_key_is_made_once_by_who_may() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        let made = stage.run("person:root", making(KEY, "owners")).await.unwrap();
        assert!(made.created);
        assert_eq!(made.seq, Some(2));
        assert_eq!(stage.registry.snapshot.get().key(&key_id(KEY)).unwrap().owning_group, "owners");
        let again = stage.run("person:root", making(KEY, "owners")).await.unwrap_err();
        assert_eq!((again.code, again.current.is_some()), (Code::Exists, true));
        assert_eq!(place_of(stage.run("person:root", making("a.b", "nobody")).await), "/owning_group");
        assert_eq!(code(stage.run("person:carol", making("a.b", "owners")).await), Code::Forbidden);
        let mut nul = making("a.b", "owners");
        nul.body.description = "a\0b".into();
        assert_eq!(place_of(stage.run("person:root", nul).await), "/description");
        let said = stage.said_after(1).await;
        assert_eq!(
            said.iter().map(|s| s.0.as_str()).collect::<Vec<_>>(),
            ["key.create", "access.denied"],
            "one event a mutation, one for the denied attempt, none for bad input"
        );
    });
}

#[test]
fn the_name_of_a_confidential_key_is_not_given_away_by_making_it_again() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key("support.secret", true).await;
        let hidden = stage.run("person:ida", making("support.secret", "owners")).await.unwrap_err();
        assert_eq!((hidden.code, hidden.current), (Code::Forbidden, None));
        assert_eq!(code(stage.save("person:eli", "support.secret", "x").await), Code::NotFound);
        assert_eq!(code(stage.save("person:eli", "support.nothing", "x").await), Code::NotFound);
    });
}

#[test]
fn what_a_key_buckets_is_fixed_once_a_pointer_exists() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let tenants = || changing(keys::UpdateKey { unit_type: Some(UnitType::Tenant), ..Default::default() });
        assert_eq!(stage.run("person:root", tenants()).await.unwrap().answer.unit_type, UnitType::Tenant);
        let unchanged = stage.run("person:root", tenants()).await.unwrap();
        assert_eq!(unchanged.seq, None, "nothing changed, so nothing is said");
        let version = stage.submitted(KEY, "one").await;
        let pointer = crate::support::rows::pointer(KEY, "dev", version.digest);
        crate::support::rows::write(&place.db, async |c| c.pointer_put(&pointer).await.unwrap()).await;
        let users = changing(keys::UpdateKey { unit_type: Some(UnitType::User), ..Default::default() });
        assert_eq!(code(stage.run("person:root", users).await), Code::WrongState);
    });
}

#[test]
fn showing_a_confidential_key_takes_two_people_of_its_group_within_a_day() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, true).await;
        let show = || changing(keys::UpdateKey { confidential: Some(false), ..Default::default() });
        let confidential = || stage.registry.snapshot.get().key(&key_id(KEY)).unwrap().confidential;
        assert_eq!(code(stage.run("person:root", show()).await), Code::NotFound, "an admin does not even see it");
        let first = stage.run("person:ana", show()).await.unwrap();
        assert!(first.answer.confidential && first.seq.is_some(), "the first one is an event");
        assert_eq!(stage.run("person:ana", show()).await.unwrap().seq, None, "the same person does not count twice");
        assert_eq!(code(stage.run("person:ana2", show()).await), Code::NotFound, "nor does their other account");
        assert!(confidential());
        stage.registry.clock.set("2026-12-01T12:00:01Z".parse().unwrap());
        assert!(stage.run("person:bob", show()).await.unwrap().answer.confidential, "a day is over: this is a first one");
        assert!(!stage.run("person:dee", show()).await.unwrap().answer.confidential);
        assert!(!confidential());
        let hide = changing(keys::UpdateKey { confidential: Some(true), ..Default::default() });
        assert!(stage.run("person:dee", hide).await.unwrap().answer.confidential, "hiding it takes one");
        assert!(stage.run("person:ana", show()).await.unwrap().answer.confidential, "what was fulfilled counts no more");
    });
}

#[test]
fn a_new_owner_takes_one_of_each_group() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let give = || changing(keys::UpdateKey { owning_group: Some("search".into()), ..Default::default() });
        let owner = || stage.registry.snapshot.get().key(&key_id(KEY)).unwrap().owning_group.clone();
        assert_eq!(code(stage.run("person:carol", give()).await), Code::Forbidden);
        assert_eq!(code(stage.run("person:root", give()).await), Code::Forbidden, "an admin is in neither group");
        stage.run("person:ana", give()).await.unwrap();
        stage.run("person:dee", give()).await.unwrap();
        assert_eq!(owner(), "owners", "two of the old owner's group are not one of each");
        stage.run("person:rita", give()).await.unwrap();
        assert_eq!(owner(), "search", "rita is of the new owner's group");
        let unknown = changing(keys::UpdateKey { owning_group: Some("nobody".into()), ..Default::default() });
        assert_eq!(place_of(stage.run("person:rita", unknown).await), "/owning_group");
    });
}

#[test]
fn the_same_content_is_the_same_version_and_another_author_of_it() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let first = stage.save("person:dee", KEY, "Hello").await.unwrap();
        let digest = first.answer.version.digest;
        assert_eq!((first.created, first.answer.version.number, first.answer.version.state), (true, 1, VersionState::Draft));
        assert_eq!(digest, canonical::content_digest(&text(KEY, "Hello")));
        let stored = read(&place.db, async |c| c.content_get(&digest).await.unwrap().unwrap()).await;
        assert_eq!(canonical::sha256(&stored), digest, "the stored bytes are what was hashed");
        let again = stage.save("person:dee", KEY, "Hello").await.unwrap();
        assert_eq!((again.created, again.seq, again.answer.version.digest), (false, None, digest));
        let other = stage.save("person:eli", KEY, "Hello").await.unwrap();
        assert!(!other.created && other.seq.is_some());
        assert_eq!(other.answer.version.authors, [Actor::person("dee"), Actor::person("eli")]);
        assert_eq!(other.answer.version.author, Actor::person("dee"));
        assert!(other.answer.warnings.iter().any(|w| w.contains("person:dee")), "{:?}", other.answer.warnings);
        let mut pinned = text(KEY, "Hello");
        pinned.model_pin = Some("m-2".into());
        let pinned = stage.run("person:dee", saving(pinned)).await.unwrap().answer.version;
        assert_eq!((pinned.number, pinned.digest == digest), (2, false), "another model is another content");
        let said: Vec<String> = stage.said_after(2).await.into_iter().map(|s| s.0).collect();
        assert_eq!(said, ["version.draft", "version.author", "version.draft"]);
    });
}

#[test]
fn a_version_that_is_not_one_is_refused_with_its_place() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let check = async |path: &str, change: fn(&mut countersign::workflow::SaveVersion)| {
            let mut verb = saving(text(KEY, "Hello"));
            change(&mut verb);
            assert_eq!(place_of(stage.run("person:dee", verb).await), path);
        };
        check("/rationale", |v| v.body.rationale = " \n".into()).await;
        check("/rationale", |v| v.body.rationale = "a\0".into()).await;
        check("/content/key", |v| v.body.content.key = "a.b".parse().unwrap()).await;
        check("/content/body", |v| v.body.content.body = 3.into()).await;
        check("/content/model_pin", |v| v.body.content.model_pin = Some("\0".into())).await;
        check("/content/fragments/tone", |v| {
            v.body.content.format = countersign::model::Format::Template;
            v.body.content.body = "{% include \"tone\" %}".into();
            v.body.content.fragments.insert("tone".into(), Digest([3; 32]));
        })
        .await;
        assert_eq!(code(stage.save("person:carol", KEY, "x").await), Code::Forbidden);
        assert_eq!(stage.events().await.len(), 2, "nothing was written");
    });
}

#[test]
fn an_import_names_its_author_and_is_ready_for_review() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let importing = |author: &str, at: &str| {
            let mut verb = saving(text(KEY, "from git"));
            let author = author.parse().unwrap();
            verb.body.imported = Some(Imported { author, created_at: at.parse().unwrap() });
            verb
        };
        let early = "2024-02-03T04:05:06Z";
        assert_eq!(code(stage.run("person:dee", importing("git:Ann B", early)).await), Code::Forbidden);
        assert_eq!(place_of(stage.run("person:ida", importing("person:ana", early)).await), "/imported/author");
        assert_eq!(place_of(stage.run("person:ida", importing("git:A", "2999-01-01T00:00:00Z")).await), "/imported/created_at");
        let saved = stage.run("person:ida", importing("git:Ann B", early)).await.unwrap();
        let version = saved.answer.version;
        assert_eq!((version.author.to_string().as_str(), version.state), ("git:Ann B", VersionState::Review));
        assert_eq!((version.submitter, version.created_at), (Some(Actor::person("ida")), early.parse().unwrap()));
        let second = stage.run("person:ida", importing("git:Ann B", early)).await.unwrap();
        assert_eq!((second.created, second.seq), (false, None), "a second import finds nothing new");
    });
}

#[test]
fn submitting_moves_a_draft_once_and_opens_its_promotion_in_the_same_event() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let digest = stage.save("person:dee", KEY, "Hello").await.unwrap().answer.version.digest;
        let submit = |environment: Option<&str>| {
            let environment = environment.map(|name| name.parse().unwrap());
            SubmitVersion { digest, body: Submit { environment, rationale: None } }
        };
        let nowhere = stage.run("person:dee", submit(Some("moon"))).await;
        assert!(nowhere.is_err());
        let state = read(&place.db, async |c| c.version_get(&digest).await.unwrap().unwrap().state).await;
        assert_eq!(state, VersionState::Draft, "both or none");
        let before = stage.events().await.len();
        let submitted = stage.run("person:eli", submit(Some("production"))).await.unwrap();
        let promotion = submitted.answer.promotion.unwrap();
        assert_eq!((submitted.answer.version.state, promotion.state), (VersionState::Review, PromotionState::Open));
        assert_eq!(submitted.answer.version.submitter, Some(Actor::person("eli")), "who is not its author");
        let said = stage.said_after(u64::try_from(before).unwrap()).await;
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0].0, "version.submit");
        assert_eq!(stage.run("person:dee", submit(None)).await.unwrap().seq, None, "submitting again is nothing");
    });
}

#[test]
fn only_an_author_discards_and_saving_again_shows_it_again() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let digest = stage.save("person:dee", KEY, "Hello").await.unwrap().answer.version.digest;
        let discard = || DiscardVersion { digest, body: reason("no use") };
        assert_eq!(code(stage.run("person:eli", discard()).await), Code::Forbidden);
        assert!(stage.run("person:dee", discard()).await.unwrap().answer.discarded);
        assert_eq!(stage.run("person:dee", discard()).await.unwrap().seq, None);
        let submit = SubmitVersion { digest, body: Submit::default() };
        assert_eq!(code(stage.run("person:dee", submit.clone()).await), Code::WrongState);
        let again = stage.save("person:dee", KEY, "Hello").await.unwrap();
        assert!(!again.answer.version.discarded && again.seq.is_some());
        let open = SubmitVersion { digest, body: Submit { environment: Some("dev".parse().unwrap()), rationale: None } };
        stage.run("person:dee", open).await.unwrap();
        let refused = stage.run("person:dee", discard()).await.unwrap_err();
        assert_eq!((refused.code, refused.current.is_some()), (Code::WrongState, true), "a promotion of it is open");
        crate::support::rows::write(&place.db, async |c| c.version_state_set(&digest, VersionState::Published).await.unwrap())
            .await;
        assert_eq!(code(stage.run("person:dee", discard()).await), Code::WrongState, "published for good");
    });
}

#[test]
fn a_quarantine_is_lifted_by_another_person() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let digest = stage.submitted(KEY, "Hello").await.digest;
        let mark = |text: &str| QuarantineVersion { digest, body: reason(text) };
        let lift = || LiftVersion { digest, body: reason("fine after all") };
        assert_eq!(code(stage.run("person:ana", lift()).await), Code::WrongState);
        assert_eq!(code(stage.run("person:dee", mark("bad")).await), Code::Forbidden);
        assert_eq!(place_of(stage.run("person:ana", mark("  ")).await), "/rationale");
        let marked = stage.run("person:ana", mark("leaks names")).await.unwrap().answer;
        assert_eq!(marked.quarantine.unwrap().by, Actor::person("ana"));
        assert_eq!(stage.run("person:olaf", mark("again")).await.unwrap().seq, None);
        assert_eq!(code(stage.run("person:ana", lift()).await), Code::Forbidden);
        assert_eq!(code(stage.run("person:olaf", lift()).await), Code::Forbidden, "being on call marks, but does not lift");
        assert!(stage.run("person:bob", lift()).await.unwrap().answer.quarantine.is_none());
        assert!(read(&place.db, async |c| c.version_quarantined().await.unwrap()).await.is_empty());
    });
}

#[test]
fn a_verdict_is_only_ever_added_by_a_reporter_of_the_policy() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let digest = stage.submitted(KEY, "Hello").await.digest;
        assert_eq!(code(stage.run("person:dee", verdict(digest, Some(0.0))).await), Code::Forbidden);
        let bad = stage.run("service:ci", verdict(digest, Some(0.2))).await.unwrap();
        assert_eq!((bad.created, bad.answer.status, bad.answer.attempt, bad.answer.passed), (true, GateStatus::Fail, 1, false));
        let good = stage.run("service:ci", verdict(digest, Some(0.1))).await.unwrap().answer;
        assert_eq!((good.status, good.attempt, good.threshold), (GateStatus::Pass, 2, Some(0.1)));
        let check = async |path: &str, change: fn(&mut versions::RecordVerdict)| {
            let mut verb = verdict(digest, Some(0.05));
            change(&mut verb.body);
            assert_eq!(place_of(stage.run("service:ci", verb).await), path);
        };
        check("/gate", |b| b.gate = "none".into()).await;
        check("/threshold", |b| b.threshold = Some(0.9)).await;
        check("/status", |b| (b.score, b.status) = (Some(0.5), Some(GateStatus::Pass))).await;
        check("/score", |b| b.score = None).await;
        check("/summary", |b| b.summary = "x".repeat(4097)).await;
        check("/summary", |b| b.summary = "\0".into()).await;
        check("/details_url", |b| b.details_url = Some("http://plain".into())).await;
        check("/details_url", |b| b.details_url = Some("https://x/\u{1b}[2J".into())).await;
        let unknown = verdict(Digest([9; 32]), Some(0.0));
        assert_eq!(code(stage.run("service:ci", unknown).await), Code::NotFound);
        assert_eq!(read(&place.db, async |c| c.verdict_list(&digest).await.unwrap().len()).await, 2);
    });
}

#[test]
fn a_fragment_revision_is_its_content_and_its_name_belongs_to_a_group() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let make = |name: &str, body: &str, group: &str| {
            let body = versions::CreateFragment { name: name.into(), body: body.into(), owning_group: group.into() };
            CreateFragment { body }
        };
        let made = stage.run("person:eli", make("tone.core", "Be brief.\n", "owners")).await.unwrap();
        assert!(made.created);
        assert_eq!(made.answer.digest, canonical::fragment_digest("tone.core", "Be brief.\n"));
        let again = stage.run("person:dee", make("tone.core", "Be brief.\n", "owners")).await.unwrap();
        assert_eq!((again.seq, again.answer.author), (None, Actor::person("eli")));
        assert_eq!(code(stage.run("person:dee", make("tone.core", "x", "search")).await), Code::Exists);
        assert_eq!(place_of(stage.run("person:dee", make("Tone", "x", "owners")).await), "/name");
        assert_eq!(place_of(stage.run("person:dee", make("tone", "x", "nobody")).await), "/owning_group");
        assert_eq!(code(stage.run("person:carol", make("tone", "x", "owners")).await), Code::Forbidden);
        let mut content = text(KEY, "");
        content.format = countersign::model::Format::Template;
        content.body = "Hi.\n{% include \"tone.core\" %}".into();
        content.fragments.insert("tone.core".into(), made.answer.digest);
        let saved = stage.run("person:dee", saving(content)).await.unwrap().answer;
        assert_eq!(saved.fragment_bodies, [made.answer]);
        let authors = read(&place.db, async |c| c.version_fragment_authors(&saved.version.digest).await.unwrap()).await;
        assert_eq!(authors, [Actor::person("eli")]);
    });
}

#[test]
fn fragments_that_are_pinned_together_are_no_longer_than_a_text_may_be() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let mut content = text(KEY, "");
        content.format = countersign::model::Format::Template;
        content.body = "x".into();
        for name in ["one", "two"] {
            let body = versions::CreateFragment { name: name.into(), body: "x".repeat(600_000), owning_group: "owners".into() };
            let made = stage.run("person:eli", CreateFragment { body }).await.unwrap().answer;
            assert_eq!(stage.run("person:dee", saving(content.clone())).await.map(|_| ()), Ok(()), "{name}");
            content.fragments.insert(name.into(), made.digest);
        }
        assert_eq!(place_of(stage.run("person:dee", saving(content)).await), "/content/fragments");
    });
}

#[test]
fn a_policy_takes_force_at_once_and_makes_stale_what_it_judges_otherwise() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        let digest = stage.save("person:dee", KEY, "Hello").await.unwrap().answer.version.digest;
        let mut ids = Vec::new();
        for environment in ["dev", "production"] {
            let body = Submit { environment: Some(environment.parse().unwrap()), rationale: None };
            let submitted = stage.run("person:dee", SubmitVersion { digest, body }).await.unwrap();
            ids.push(submitted.answer.promotion.unwrap().promotion_id);
        }
        let apply = |source: &str, rationale: &str, dry_run: bool| ApplyPolicy {
            body: world::ApplyPolicy { source: source.into(), rationale: rationale.into(), dry_run },
        };
        let stricter = POLICY.replace("at_most = 0.1", "at_most = 0.05");
        assert_eq!(code(stage.run("person:dee", apply(&stricter, "why", false)).await), Code::Forbidden);
        assert_eq!(place_of(stage.run("person:root", apply(&stricter, " ", false)).await), "/rationale");
        let broken = stage.run("person:root", apply("environment = [\n{ nam = 1 }]", "why", false)).await.unwrap_err();
        assert!(broken.detail.contains("line"), "{broken}");
        let nobody = POLICY.replace("role = \"admin\"", "role = \"auditor\"");
        assert_eq!(code(stage.run("person:root", apply(&nobody, "why", false)).await), Code::Invalid);
        assert_eq!(stage.run("person:root", apply(&stricter, "", true)).await.unwrap().seq, None, "a dry run");
        assert_eq!(stage.run("person:root", apply(POLICY, "why", false)).await.unwrap().seq, None, "the same policy");
        stage.run("person:root", apply(&stricter, "too many leaks", false)).await.unwrap();
        assert_eq!(stage.registry.snapshot.get().policy_digest(), canonical::sha256(stricter.as_bytes()));
        let states = read(&place.db, async |c| {
            let mut states = Vec::new();
            for id in &ids {
                states.push(c.promotion_get(*id).await.unwrap().unwrap().state);
            }
            states
        })
        .await;
        assert_eq!(states, [PromotionState::Open, PromotionState::Stale], "only production's rule names the gate");
        let last = stage.events().await.pop().unwrap().body.unwrap();
        assert_eq!(last.detail["staled"], serde_json::json!([ids[1]]));
        // What runs next is judged by it.
        let judged = stage.run("service:ci", verdict(digest, Some(0.07))).await.unwrap().answer;
        assert_eq!((judged.threshold, judged.passed), (Some(0.05), false));
    });
}

#[test]
fn a_token_is_made_for_oneself_or_by_an_admin_and_its_secret_is_kept_nowhere() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        let make = |actor: &str, scope: Scope, days: Option<u32>| CreateToken {
            body: TokenBody { scope, expires_days: days, ..TokenBody::of(actor.parse().unwrap()) },
        };
        let own = stage.retry("person:dee", "k", 1, make("person:dee", Scope::Full, None)).await.unwrap().answer;
        assert_eq!(own.token.expires_at, own.token.created_at.plus_seconds(90 * 24 * 3600));
        assert!(countersign::workflow::token_text::is_whole(&own.secret));
        let held = stage.registry.snapshot.get().token(&own.token.token_id).unwrap().hash;
        assert_eq!(held, canonical::sha256(own.secret.as_bytes()));
        let again = stage.retry("person:dee", "k", 1, make("person:dee", Scope::Full, None)).await.unwrap();
        assert_eq!((again.replayed, again.answer.secret.as_str()), (true, ""), "the secret is seen once");
        assert_eq!(again.answer.token, own.token);
        for (who, verb) in [
            ("person:dee", make("person:ana", Scope::Full, None)),
            ("person:dee", make("service:ci", Scope::Read, None)),
            ("service:ci", make("service:ci", Scope::Full, None)),
        ] {
            assert_eq!(code(stage.run(who, verb).await), Code::Forbidden);
        }
        for (path, verb) in [
            ("/actor", make("person:stranger", Scope::Full, None)),
            ("/actor", make("git:Ann", Scope::Full, None)),
            ("/actor", make("system:rollout", Scope::Full, None)),
            ("/expires_days", make("person:ana", Scope::Full, Some(0))),
            ("/expires_days", make("person:ana", Scope::Full, Some(3651))),
        ] {
            assert_eq!(place_of(stage.run("person:root", verb).await), path);
        }
        let mut small = caller("person:dee");
        small.scope = Scope::Kill;
        let grown = stage.registry.run(&small, None, make("person:dee", Scope::Full, None)).await;
        assert_eq!(code(grown), Code::Forbidden, "a small token does not make a large one");
        let ci = stage.run("person:root", make("service:ci", Scope::Full, None)).await.unwrap().answer.token;
        assert_eq!(ci.owner, Actor::person("root"));
        assert!(stage.run("person:root", make("service:ci", Scope::Read, None)).await.is_ok());
        let revoke = |id: &str| RevokeToken { token_id: id.into() };
        assert_eq!(code(stage.run("person:ana", revoke(&own.token.token_id)).await), Code::Forbidden);
        assert_eq!(code(stage.run("person:ana", revoke("cs_nothere\0")).await), Code::Forbidden);
        assert_eq!(code(stage.run("person:root", revoke("cs_nothere\0")).await), Code::NotFound);
        assert!(stage.run("person:dee", revoke(&own.token.token_id)).await.unwrap().answer.revoked_at.is_some());
        assert_eq!(stage.run("person:root", revoke(&own.token.token_id)).await.unwrap().seq, None);
        assert!(stage.registry.snapshot.get().token(&own.token.token_id).unwrap().token.revoked_at.is_some());
        let said = format!("{:?}", stage.events().await);
        assert!(!said.contains(&own.secret[14..]), "no event holds the secret");
    });
}

#[test]
fn a_retry_gets_the_first_answer_and_another_body_is_refused() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        let first = stage.retry("person:root", "key-1", 1, making(KEY, "owners")).await.unwrap();
        let again = stage.retry("person:root", "key-1", 1, making(KEY, "owners")).await.unwrap();
        assert_eq!((again.answer, again.created, again.seq), (first.answer, true, first.seq));
        assert!(again.replayed && !first.replayed);
        let other = stage.retry("person:root", "key-1", 2, making("a.b", "owners")).await;
        assert_eq!(code(other), Code::IdempotencyReused);
        assert!(
            stage.retry("person:ida", "key-1", 2, making("a.b", "owners")).await.is_ok(),
            "another caller's key is another key"
        );
        stage.registry.clock.set("2026-12-01T12:00:01Z".parse().unwrap());
        let late = stage.retry("person:root", "key-1", 2, making("a.c", "owners")).await.unwrap();
        assert!(!late.replayed, "a day later the key is free");
        let replayed = stage.retry("person:root", "key-1", 2, making("a.c", "owners")).await.unwrap();
        assert!(replayed.replayed);
        assert_eq!(stage.events().await.len(), 4);
    });
}

#[test]
fn fifty_at_once_with_one_key_have_one_effect() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        let all = (0..50).map(|_| stage.retry("person:root", "storm", 1, making(KEY, "owners")));
        let answers = futures_util::future::join_all(all).await;
        let fresh = answers.iter().filter(|answer| !answer.as_ref().unwrap().replayed).count();
        assert_eq!(fresh, 1);
        assert_eq!(stage.events().await.len(), 2);
    });
}

#[test]
fn a_clock_that_runs_backwards_does_not_turn_the_chain_back() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key("a.one", false).await;
        stage.registry.clock.set(Timestamp(0));
        stage.key("a.two", false).await;
        let events = stage.events().await;
        assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let two = stage.registry.snapshot.get().key(&key_id("a.two")).unwrap().created_at;
        assert_eq!(two, events[2].at, "rows and events tell one time");
    });
}

#[test]
fn followers_are_woken_with_the_newest_number() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        let mut follower = stage.registry.wake.subscribe();
        assert_eq!(*follower.borrow_and_update(), 1);
        stage.key(KEY, false).await;
        assert_eq!(*follower.borrow_and_update(), 2);
    });
}

#[test]
fn a_full_disk_says_so_reads_go_on_and_writes_resume_without_a_restart() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let place = Place::sqlite().await;
        let stage = Stage::on(&place).await;
        stage.key(KEY, false).await;
        let pages = |count: i64| raw(&place.db, format!("PRAGMA max_page_count = {count}"));
        // The engine answers as it does when the disk has no page left.
        pages(1).await.unwrap();
        let large = "x".repeat(200_000);
        let refused = stage.save("person:dee", KEY, &large).await.unwrap_err();
        assert_eq!(refused.code, Code::DiskFull, "{refused}");
        assert_eq!(read(&place.db, async |c| c.version_newest_number(&key_id(KEY)).await.unwrap()).await, 0);
        assert_eq!(stage.events().await.len(), 2, "nothing was written");
        pages(1_000_000).await.unwrap();
        assert!(stage.save("person:dee", KEY, &large).await.unwrap().created);
    });
}

#[test]
fn on_a_full_disk_a_kill_takes_the_reserve_and_nothing_else_does() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let place = Place::sqlite().await;
        let stage = Stage::on(&place).await;
        stage.key(KEY, false).await;
        let version = stage.submitted(KEY, "one").await;
        let served = crate::support::rows::pointer(KEY, "dev", version.digest);
        crate::support::rows::write(&place.db, async |c| c.pointer_put(&served).await.unwrap()).await;
        let reserve = place.dir.path().join("registry.db-reserve");
        let taken = || std::fs::metadata(&reserve).map_or(0, |there| there.len());
        assert_eq!(taken(), 1024 * 1024);
        let full = || raw(&place.db, "PRAGMA max_page_count = 1".to_owned());
        full().await.unwrap();
        assert_eq!(code(stage.save("person:dee", KEY, &"x".repeat(100_000)).await), Code::DiskFull);
        assert_eq!(taken(), 1024 * 1024, "saving a version is no reason to give it up");
        full().await.unwrap();
        let body = countersign::wire::pointers::Kill {
            reason: countersign::model::KillReason::Safety,
            note: Some("y".repeat(16_000)),
            issued_at: None,
            seen_revision: None,
            dry_run: false,
        };
        let kill = countersign::workflow::KillPointer { key: key_id(KEY), environment: "dev".parse().unwrap(), body };
        let killed = stage.run("person:olaf", kill).await.unwrap();
        assert!(killed.answer.pointer.unwrap().killed);
        assert_eq!(taken(), 0, "the room went to the kill");
        stage.registry.forget_answers().await.unwrap();
        assert_eq!(taken(), 1024 * 1024, "and is taken again when there is some");
    });
}

#[test]
fn a_database_that_is_away_is_unavailable_and_the_snapshot_answers_on() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, false).await;
        place.db.close().await;
        assert_eq!(code(stage.run("person:root", making("a.b", "owners")).await), Code::Unavailable);
        assert!(stage.registry.snapshot.get().key(&key_id(KEY)).is_some());
    });
}

#[test]
fn what_was_committed_is_published_when_the_caller_has_gone_away() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        let mut follower = stage.registry.wake.subscribe();
        follower.borrow_and_update();
        let who = caller("person:root");
        let call = stage.registry.run(&who, None, making(KEY, "owners"));
        // Polled once, so that the verb has begun, and dropped: the connection broke.
        assert!(futures_util::FutureExt::now_or_never(call).is_none());
        follower.changed().await.unwrap();
        assert!(stage.registry.snapshot.get().key(&key_id(KEY)).is_some());
    });
}

#[test]
fn reading_a_confidential_text_is_an_event_once_an_hour() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.key(KEY, true).await;
        stage.key("support.open", false).await;
        let secret = stage.save("person:dee", KEY, "Hello").await.unwrap().answer.version.digest;
        let open = stage.save("person:dee", "support.open", "Hello").await.unwrap().answer.version.digest;
        let reads = async |who: &str, digest: Digest| stage.run(who, RecordRead { digest }).await.map(|read| read.seq.is_some());
        assert_eq!(reads("person:ana", secret).await, Ok(true));
        assert_eq!(reads("person:ana", secret).await, Ok(false), "the record still stands");
        assert_eq!(reads("person:bob", secret).await, Ok(true));
        assert_eq!(reads("person:ana", open).await, Ok(false));
        assert_eq!(reads("person:eli", secret).await.unwrap_err().code, Code::NotFound);
        stage.registry.clock.set("2026-11-30T13:00:01Z".parse().unwrap());
        assert_eq!(reads("person:ana", secret).await, Ok(true));
        let last = stage.said_after(5).await;
        assert!(last.iter().all(|said| said.0 == "content.read" && said.1 == format!("digest:{secret}")), "{last:?}");
        assert_eq!(last.len(), 3);
    });
}

#[test]
fn answers_that_are_too_old_are_forgotten() {
    on_each_engine(async |place| {
        let stage = Stage::on(place).await;
        stage.retry("person:root", "key-1", 1, making(KEY, "owners")).await.unwrap();
        assert_eq!(stage.registry.forget_answers().await.unwrap(), 0);
        stage.registry.clock.set("2026-12-01T12:00:01Z".parse().unwrap());
        assert_eq!(stage.registry.forget_answers().await.unwrap(), 1);
        assert_eq!(stage.events().await.len(), 2, "and no event says so");
    });
}
