//! Readiness as tables: one scene in which everything is met, changed in one thing at a time.

mod changes;

use super::*;
use crate::model::policy::{ApprovalRule, FreezeWindow, GateRule, RoleGrant, Threshold};
use crate::model::{BasisPoints, Format, GateStatus, PlanStep, Quarantine, Role, UnitType, Verdict};
use uuid::Uuid;

fn person(name: &str) -> Actor {
    Actor::person(name)
}

fn d(letter: char) -> Digest {
    Digest([u8::try_from(letter).unwrap(); 32])
}

/// Everything that a [`Serving`] borrows.
#[derive(Clone)]
struct Scene {
    door: Door,
    key: ConfigKey,
    environment: Environment,
    to: Version,
    rule: EnvironmentRule,
    policy: Policy,
    pointer: Option<EnvironmentPointer>,
    promotion: Promotion,
    approvals: Vec<Approval>,
    verdicts: Vec<GateVerdict>,
    fragment_authors: Vec<Actor>,
    owners: BTreeMap<Actor, Vec<Actor>>,
    held_before: bool,
    soaked: Vec<Stretch>,
    hidden: Vec<HiddenSpan>,
    safe_default: Option<Version>,
    killed_in: Vec<Environment>,
}

impl Scene {
    fn readiness(&self) -> Readiness {
        may_serve(&self.serving())
    }

    fn serving(&self) -> Serving<'_> {
        Serving {
            door: self.door,
            key: &self.key,
            environment: &self.environment,
            to: &self.to,
            rule: &self.rule,
            policy: &self.policy,
            pointer: self.pointer.as_ref(),
            promotion: Some(&self.promotion),
            approvals: &self.approvals,
            verdicts: &self.verdicts,
            fragment_authors: &self.fragment_authors,
            owners: &self.owners,
            held_before: self.held_before,
            soaked: &self.soaked,
            hidden: &self.hidden,
            safe_default: self.safe_default.as_ref(),
            killed_in: &self.killed_in,
            now: Timestamp(1_000_000),
        }
    }

    /// Makes the promotion's row and its statement agree with the rest of the scene.
    fn seal(mut self) -> Self {
        self.promotion.policy_digest = policy_digest(&self.rule);
        self.promotion.statement = Statement::of(&self.promotion).digest();
        for vote in &mut self.approvals {
            vote.statement = Some(self.promotion.statement);
        }
        self
    }

    fn vote(&mut self, who: &str, gate: &str, verdict: Verdict) {
        self.approvals.push(Approval {
            approval_id: Uuid::from_u128(self.approvals.len() as u128),
            promotion_id: self.promotion.promotion_id,
            approver: who.parse().unwrap(),
            gate: gate.into(),
            verdict,
            at: Timestamp(i64::try_from(self.approvals.len()).unwrap()),
            rationale: "read it".into(),
            statement: Some(self.promotion.statement),
            head: None,
            acknowledged_hidden: self.hidden.clone(),
            groups: Vec::new(),
            login_method: "token".into(),
            owner: None,
            anchor: None,
            reply_to: None,
        });
    }

    fn status(&self, kind: ReadinessKind, name: &str) -> (ReadinessStatus, String, Vec<String>) {
        let found = self.readiness().0.into_iter().find(|item| item.kind == kind && item.name == name);
        found.map(|item| (item.status, item.reason, item.who)).unwrap()
    }
}

fn version(letter: char, author: &str) -> Version {
    Version {
        digest: d(letter),
        key_id: "support.greeting".parse().unwrap(),
        number: 1,
        author: person(author),
        submitter: None,
        rationale: "better".into(),
        model_pin: None,
        format: Format::Text,
        state: VersionState::Review,
        created_at: Timestamp(0),
        quarantine: None,
        discarded: false,
        authors: vec![person(author)],
    }
}

fn verdict(gate: &str, score: f64) -> GateVerdict {
    GateVerdict {
        verdict_id: Uuid::from_u128(1),
        digest: d('B'),
        gate_name: gate.into(),
        score: Some(score),
        threshold: Some(0.9),
        passed: score >= 0.9,
        status: if score >= 0.9 { GateStatus::Pass } else { GateStatus::Fail },
        reporter: Actor::service("ci"),
        attempt: 1,
        summary: String::new(),
        details_url: None,
        at: Timestamp(0),
    }
}

fn policy() -> Policy {
    let group = |names: &[&str]| names.iter().map(|name| person(name)).collect();
    let grant = |who: &str, role| RoleGrant { who: who.into(), role, namespace: None, environment: None };
    Policy {
        groups: BTreeMap::from([
            ("owners".to_owned(), group(&["ana", "bob", "dee"])),
            ("safety".to_owned(), group(&["bob", "eve"])),
        ]),
        roles: vec![grant("group:owners", Role::Approver), grant("group:safety", Role::Approver)],
        persons: BTreeMap::from([("ana".to_owned(), vec![person("ana.work")])]),
        ..Policy::default()
    }
}

fn rule() -> EnvironmentRule {
    let gate = GateRule {
        threshold: Threshold::AtLeast(0.9),
        reporters: vec![Actor::service("ci")],
        override_group: Some("safety".into()),
    };
    let approvals = vec![
        ApprovalRule { gate: "owner".into(), group: "@owning".into(), count: 1 },
        ApprovalRule { gate: "safety".into(), group: "safety".into(), count: 1 },
    ];
    let bare = serde_json::json!({"name": "production", "after": "staging", "safe_default": "required", "acknowledge_hidden": true,
        "gates": ["quality"], "gate": {}});
    EnvironmentRule {
        approvals: Some(approvals),
        gate: BTreeMap::from([("quality".to_owned(), gate)]),
        ..serde_json::from_value(bare).unwrap()
    }
}

fn pointer() -> EnvironmentPointer {
    EnvironmentPointer {
        key_id: "support.greeting".parse().unwrap(),
        environment: "production".parse().unwrap(),
        digest: d('A'),
        rollout_pct: BasisPoints::ALL,
        killed: false,
        updated_at: Timestamp(0),
        revision: 3,
        baseline_digest: None,
        held: false,
        plan: vec![PlanStep(BasisPoints::ALL, None)],
        next_step_at: None,
    }
}

fn promotion() -> Promotion {
    Promotion {
        promotion_id: Uuid::from_u128(7),
        key_id: "support.greeting".parse().unwrap(),
        from_digest: Some(d('A')),
        to_digest: Some(d('B')),
        environment: "production".parse().unwrap(),
        actor: person("gil"),
        kind: crate::model::PromotionKind::Promote,
        at: Timestamp(0),
        act: Act::Promote,
        state: PromotionState::Open,
        rationale: "ship".into(),
        reason: None,
        rollout_pct: BasisPoints::ALL,
        plan: vec![PlanStep(BasisPoints::ALL, None)],
        baseline_digest: None,
        safe_default_digest: Some(d('S')),
        pointer_revision: 3,
        policy_digest: Digest::ZERO,
        statement: Digest::ZERO,
        supersedes: None,
        change: None,
        expires_at: Some(Timestamp(2_000_000)),
        applied_at: None,
        applied_by: None,
        reviewed_by: None,
        reviewed_at: None,
        review_owed: false,
        note_due_at: None,
        at_time: None,
        when_ready: false,
        break_glass: false,
        missed: false,
        closed_reason: None,
    }
}

/// Everything is met: written by fay, opened by gil, approved by ana (owner) and eve (safety).
fn scene() -> Scene {
    let key = ConfigKey {
        key_id: "support.greeting".parse().unwrap(),
        namespace: "support".into(),
        owning_group: "owners".into(),
        unit_type: UnitType::User,
        confidential: false,
        safe_default_digest: Some(d('S')),
        description: String::new(),
        archived: false,
        created_at: Timestamp(0),
    };
    let mut scene = Scene {
        door: Door::Promote,
        key,
        environment: "production".parse().unwrap(),
        to: version('B', "fay"),
        rule: rule(),
        policy: policy(),
        pointer: Some(pointer()),
        promotion: promotion(),
        approvals: Vec::new(),
        verdicts: vec![verdict("quality", 0.95)],
        fragment_authors: vec![person("hal")],
        owners: BTreeMap::from([(Actor::service("ci"), vec![person("ivy")])]),
        held_before: true,
        soaked: vec![Stretch { since: Timestamp(0), until: None }],
        hidden: vec![HiddenSpan { path: "/body".into(), start: 4, code_points: "U+200B".into() }],
        safe_default: Some(version('S', "fay")),
        killed_in: Vec::new(),
    };
    scene.vote("person:ana", "owner", Verdict::Approve);
    scene.vote("person:eve", "safety", Verdict::Approve);
    scene.seal()
}

/// Changes one thing and expects exactly these kinds to block.
fn check(what: &str, change: impl FnOnce(&mut Scene), blocking: &[ReadinessKind], reason: &str) {
    let mut scene = scene();
    change(&mut scene);
    let readiness = scene.readiness();
    let kinds: Vec<ReadinessKind> = readiness.unmet().map(|item| item.kind).collect();
    assert_eq!(kinds, blocking, "{what}: {readiness:#?}");
    if let Some(item) = readiness.unmet().next() {
        assert!(item.reason.contains(reason), "{what}: {:?} does not say {reason:?}", item.reason);
        assert!(!item.who.is_empty(), "{what}: nobody can meet it");
    }
}

use ReadinessKind as K;

#[test]
fn each_kind_alone_blocks_and_says_why() {
    check("nothing", |_| {}, &[], "");
    check("draft", |s| s.to.state = VersionState::Draft, &[K::State], "a draft");
    check("discarded", |s| s.to.discarded = true, &[K::State], "discarded");
    let mark = Quarantine { by: person("ana"), reason: "bad".into(), at: Timestamp(0) };
    let marked = mark.clone();
    check("quarantine", |s| s.to.quarantine = Some(marked), &[K::Quarantine], "person:ana");
    check("killed", |s| s.pointer.as_mut().unwrap().killed = true, &[K::Killed], "only a revive");
    check("order", |s| s.held_before = false, &[K::Order], "staging has not held");
    check("no safe default", |s| s.safe_default = None, &[K::SafeDefault], "no safe default");
    check("bad safe default", |s| s.safe_default.as_mut().unwrap().quarantine = Some(mark), &[K::SafeDefault], "quarantined");
    check("held does not count here", |s| s.pointer.as_mut().unwrap().held = true, &[], "");
    let blind = |s: &mut Scene| s.approvals[0].acknowledged_hidden.clear();
    check("hidden text", blind, &[K::HiddenText], "not acknowledged by 1 of 2");
    let other = |s: &mut Scene| s.approvals[0].acknowledged_hidden[0].start = 5;
    check("other hidden text", other, &[K::HiddenText], "not acknowledged");
    let more = |s: &mut Scene| s.approvals[0].acknowledged_hidden.push(s.hidden[0].clone());
    check("more than shown", more, &[K::HiddenText], "not acknowledged");
    check("a gate", |s| s.verdicts.clear(), &[K::Gate], "missing");
    check("an approval", |s| drop(s.approvals.pop()), &[K::Approval], "0 of 1 approvals by group safety");
    check("revision", |s| s.pointer.as_mut().unwrap().revision = 4, &[K::Pointer], "moved");
    check("digest", |s| s.pointer.as_mut().unwrap().digest = d('C'), &[K::Pointer], "moved");
    check("pointer gone", |s| s.pointer = None, &[K::Pointer], "moved");
    check("safe default moved", |s| s.key.safe_default_digest = Some(d('T')), &[K::Pointer], "safe default has changed");
    check("policy", |s| s.rule.expires = Some(5), &[K::Pointer], "policy has changed");
    check("expired", |s| s.promotion.expires_at = Some(Timestamp(1_000_000)), &[K::Pointer], "expired");
    check("closed", |s| s.promotion.state = PromotionState::Stale, &[K::Pointer], "is stale");
    check("a statement of something else", |s| s.promotion.statement = d('X'), &[K::Pointer], "statement");
}

#[test]
fn a_gate_opens_only_for_a_pass_and_says_why_it_is_shut() {
    let gate = |what: &str, change: fn(&mut GateVerdict), reason: &str| {
        check(what, |s| change(&mut s.verdicts[0]), &[K::Gate], reason);
    };
    gate("pending", |v| v.status = GateStatus::Pending, "pending");
    gate("error", |v| v.status = GateStatus::Error, "error");
    gate("NaN", |v| v.score = Some(f64::NAN), "NaN, not a number");
    gate("no score", |v| v.score = None, "no score");
    gate("another threshold", |v| v.threshold = Some(0.5), "another threshold: 0.5, the policy says 0.9");
    gate("no threshold", |v| v.threshold = None, "no threshold");
    gate("foreign reporter", |v| v.reporter = Actor::service("rogue"), "service:rogue");
    gate("wrong side", |v| v.score = Some(0.89), "wrong side of at least 0.9");
    gate("fail", |v| v.status = GateStatus::Fail, "fail");
    gate("not passed", |v| v.passed = false, "fail");
    gate("another version's", |v| v.digest = d('A'), "another version");
    let owned = |s: &mut Scene| drop(s.owners.insert(Actor::service("ci"), vec![person("fay")]));
    check("the author's own reporter", owned, &[K::Gate], "service:ci, which person:fay owns");
    let at_most = |s: &mut Scene| {
        s.rule.gate.get_mut("quality").unwrap().threshold = Threshold::AtMost(0.9);
        *s = s.clone().seal();
    };
    check("the other direction", at_most, &[K::Gate], "wrong side of at most 0.9");
    let newer = |s: &mut Scene| s.verdicts.push(GateVerdict { attempt: 2, ..verdict("quality", 0.1) });
    check("the newest counts", newer, &[K::Gate], "wrong side");
    let newer = |s: &mut Scene| s.verdicts.insert(0, GateVerdict { attempt: 2, ..verdict("quality", 0.1) });
    check("the newest counts, in any order", newer, &[K::Gate], "wrong side");
    let undefined = |s: &mut Scene| {
        s.rule.gate.clear();
        *s = s.clone().seal();
    };
    let mut scene = scene();
    undefined(&mut scene);
    assert_eq!(scene.status(K::Gate, "quality").0, ReadinessStatus::Unmet);
}

#[test]
fn pending_is_pending_and_the_rest_is_unmet() {
    let mut scene = scene();
    scene.verdicts[0].status = GateStatus::Pending;
    assert_eq!(scene.status(K::Gate, "quality").0, ReadinessStatus::Pending);
    assert_eq!(scene.status(K::Gate, "quality").2, ["service:ci", "group:safety"]);
    scene.verdicts[0].status = GateStatus::Error;
    assert_eq!(scene.status(K::Gate, "quality").0, ReadinessStatus::Unmet);
}

#[test]
fn four_eyes_count_neither_authors_nor_their_other_names_nor_owners_of_their_tokens() {
    let blocked = |what: &str, change: fn(&mut Scene)| check(what, change, &[K::Approval], "0 of 1 approvals by group owners");
    blocked("the author", |s| s.to.author = person("ana"));
    blocked("another author of the same content", |s| s.to.authors.push(person("ana")));
    blocked("the submitter", |s| s.to.submitter = Some(person("ana")));
    blocked("an author of a pinned fragment", |s| s.fragment_authors.push(person("ana")));
    blocked("the author under another name", |s| s.to.authors.push(person("ana.work")));
    blocked("an owner of a token of the author", |s| {
        s.owners.insert(person("fay"), vec![person("ana")]);
    });
    blocked("an owner, under another name, of a token of the submitter", |s| {
        s.to.submitter = Some(Actor::service("bot"));
        s.owners.insert(Actor::service("bot"), vec![person("ana.work")]);
    });
    blocked("an owner of a token of a fragment's author", |s| {
        s.owners.insert(person("hal"), vec![person("ana")]);
    });
    blocked("an owner of a token of who opened it", |s| {
        s.owners.insert(person("gil"), vec![person("ana")]);
    });
    blocked("whoever uses a token of the author's", |s| s.approvals[0].owner = Some(person("fay")));
    blocked("whoever uses a token of the author's, made under another name", |s| {
        s.to.authors.push(person("bob"));
        s.policy.persons.insert("bob".to_owned(), vec![person("bob.work")]);
        s.approvals[0].owner = Some(person("bob.work"));
    });
    blocked("whoever uses a token of another who approved", |s| s.approvals[0].owner = Some(person("eve")));
    blocked("who left the group", |s| s.policy.groups.get_mut("owners").unwrap().retain(|who| *who != person("ana")));
    blocked("who lost the role", |s| s.policy.roles[0].who = "person:bob".into());
    blocked("a service, though the policy counts it among the owners", |s| {
        s.policy.groups.get_mut("owners").unwrap().push(Actor::service("bot"));
        s.approvals[0].approver = Actor::service("bot");
    });
    blocked("a retracted approval", |s| s.vote("person:ana", "owner", Verdict::Retract));
    blocked("a retraction under another name", |s| s.vote("person:ana.work", "owner", Verdict::Retract));
    blocked("an approval of another statement", |s| s.approvals[0].statement = Some(d('X')));
    blocked("an approval without a statement", |s| s.approvals[0].statement = None);
    let opener = |s: &mut Scene| s.promotion.actor = person("ana");
    check("who opened the promotion", opener, &[K::Approval], "0 of 1 approvals by group owners");
    let alias = |s: &mut Scene| s.approvals[0].approver = person("ana.work");
    let mut scene = scene();
    alias(&mut scene);
    scene.policy.roles.push(RoleGrant {
        who: "person:ana.work".into(),
        role: Role::Approver,
        namespace: None,
        environment: None,
    });
    assert!(scene.readiness().is_ready(), "another account of a member counts as the member");
}

#[test]
fn an_approval_says_who_can_still_give_it() {
    let mut scene = scene();
    scene.approvals.remove(0);
    scene.to.authors.push(person("dee"));
    assert_eq!(scene.status(K::Approval, "owner").2, ["person:ana", "person:bob"], "dee is an author");
    scene.to.authors.extend([person("ana"), person("bob")]);
    assert_eq!(scene.status(K::Approval, "owner").2, ["group:owners"], "nobody is left");
}

#[test]
fn one_person_meets_one_requirement_and_persons_are_matched_to_as_many_as_can_be() {
    let votes = |votes: &[(&str, &str)]| {
        let mut scene = scene();
        scene.approvals.clear();
        for (who, gate) in votes {
            scene.vote(who, gate, Verdict::Approve);
        }
        scene.readiness().unmet().filter(|item| item.kind == K::Approval).count()
    };
    assert_eq!(votes(&[("person:bob", "owner"), ("person:bob", "safety")]), 1, "one person, two requirements");
    assert_eq!(votes(&[("person:bob", "owner"), ("person:bob", "safety"), ("person:ana", "owner")]), 0, "bob is moved to safety");
    assert_eq!(votes(&[("person:bob", "owner"), ("person:bob", "safety"), ("person:eve", "safety")]), 0, "bob stays with owner");
    assert_eq!(votes(&[("person:ana", "owner"), ("person:ana.work", "owner")]), 1, "safety is missing");
    assert_eq!(votes(&[("person:eve", "owner"), ("person:bob", "safety")]), 1, "eve is no owner");
}

#[test]
fn two_of_a_group_are_two_persons_not_two_accounts() {
    let two = |second: &str| {
        let mut scene = scene();
        scene.rule.approvals.as_mut().unwrap()[0].count = 2;
        scene.policy.roles.push(RoleGrant { who: second.into(), role: Role::Approver, namespace: None, environment: None });
        scene.vote(second, "owner", Verdict::Approve);
        scene.seal().readiness().is_ready()
    };
    assert!(!two("person:ana"), "the same person twice");
    assert!(!two("person:ana.work"), "the same person under another name");
    assert!(two("person:bob"));
}

#[test]
fn a_reject_blocks_until_the_same_persons_newer_word() {
    let after = |votes: &[(&str, Verdict)]| {
        let mut scene = scene();
        for (who, verdict) in votes {
            scene.vote(who, "owner", *verdict);
        }
        let (status, reason, who) = scene.status(K::Approval, "owner");
        (status == ReadinessStatus::Met, reason, who)
    };
    let rejected = after(&[("person:bob", Verdict::Reject)]);
    assert_eq!(rejected, (false, "person:bob asks for changes".into(), vec!["person:bob".into()]));
    assert!(!after(&[("person:bob", Verdict::Reject), ("person:dee", Verdict::Approve)]).0, "another person's yes");
    assert!(!after(&[("person:bob", Verdict::Reject), ("person:bob", Verdict::Comment)]).0, "a comment is no verdict");
    assert!(after(&[("person:bob", Verdict::Reject), ("person:bob", Verdict::Approve)]).0);
    assert!(after(&[("person:bob", Verdict::Reject), ("person:bob", Verdict::Retract)]).0);
    assert!(!after(&[("person:ana", Verdict::Reject)]).0, "who approved before says no now");
    assert!(!after(&[("person:fay", Verdict::Reject)]).0, "an author may say no");
}

#[test]
fn an_override_opens_one_gate_and_uses_its_person_up() {
    let overriding = |who: &str| {
        let mut scene = scene();
        scene.verdicts[0].score = Some(0.1);
        scene.vote(who, "quality", Verdict::Override);
        scene
    };
    let open = overriding("person:bob");
    assert!(open.readiness().is_ready());
    let (status, reason, _) = open.status(K::Gate, "quality");
    assert_eq!(status, ReadinessStatus::Overridden);
    assert!(reason.contains("person:bob") && reason.contains("wrong side"), "{reason}");
    assert!(!overriding("person:dee").readiness().is_ready(), "dee is not in the group that may");
    assert!(!overriding("person:eve").readiness().is_ready(), "eve meets `safety` already");
    let mut author = overriding("person:bob");
    author.to.authors.push(person("bob"));
    assert!(!author.readiness().is_ready(), "authors override nothing");
    let mut stale = overriding("person:bob");
    stale.approvals.last_mut().unwrap().statement = Some(d('X'));
    assert!(!stale.readiness().is_ready(), "given on another statement");
    let mut approve = overriding("person:bob");
    approve.approvals.last_mut().unwrap().verdict = Verdict::Approve;
    assert!(!approve.readiness().is_ready(), "an approval is no override");
    let mut nobody = overriding("person:bob");
    nobody.rule.gate.get_mut("quality").unwrap().override_group = None;
    assert!(!nobody.seal().readiness().is_ready(), "the policy names no group");
}

/// What is changed, and how.
type Tampering = (&'static str, fn(&mut Promotion));

#[test]
fn approvals_count_for_their_statement_only() {
    let changes: [Tampering; 8] = [
        ("act", |p| p.act = Act::Revive),
        ("key", |p| p.key_id = "support.other".parse().unwrap()),
        ("environment", |p| p.environment = "staging".parse().unwrap()),
        ("from", |p| p.from_digest = None),
        ("to", |p| p.to_digest = Some(d('C'))),
        ("baseline", |p| p.baseline_digest = Some(d('A'))),
        ("plan", |p| p.plan = vec![PlanStep(BasisPoints::ZERO, None)]),
        ("policy", |p| p.policy_digest = d('P')),
    ];
    for (what, change) in changes {
        let mut scene = scene();
        change(&mut scene.promotion);
        let blocked: Vec<(K, String)> = scene.readiness().unmet().map(|item| (item.kind, item.name.clone())).collect();
        assert!(blocked.contains(&(K::Approval, "owner".into())) && blocked.contains(&(K::Approval, "safety".into())), "{what}");
        scene.promotion.statement = Statement::of(&scene.promotion).digest();
        assert!(!scene.readiness().is_ready(), "{what}, with the row's statement made to fit");
    }
}

#[test]
fn hidden_text_waits_for_approvals_only_where_the_policy_asks() {
    let mut scene = scene();
    scene.approvals.clear();
    assert_eq!(scene.status(K::HiddenText, "hidden_text").0, ReadinessStatus::Unmet);
    scene.rule.acknowledge_hidden = None;
    let (status, reason, _) = scene.status(K::HiddenText, "hidden_text");
    assert_eq!((status, reason.starts_with("1 unusual")), (ReadinessStatus::Met, true));
    scene.hidden.clear();
    assert_eq!(scene.status(K::HiddenText, "hidden_text").1, "no unusual characters");
}

#[test]
fn a_revive_needs_a_killed_pointer_and_nothing_less_than_a_promotion() {
    let mut scene = scene();
    scene.door = Door::Revive;
    assert_eq!(scene.status(K::Killed, "killed").0, ReadinessStatus::Unmet);
    scene.pointer.as_mut().unwrap().killed = true;
    assert!(scene.readiness().is_ready());
    scene.approvals.clear();
    assert!(!scene.readiness().is_ready());
}

#[test]
fn a_safe_default_is_frozen_while_a_pointer_of_the_key_is_killed() {
    let mut scene = scene();
    scene.door = Door::SafeDefault;
    scene.environment = Environment::safe_default();
    scene.promotion.environment = Environment::safe_default();
    scene.promotion.from_digest = Some(d('S'));
    scene.promotion.pointer_revision = 0;
    let mut scene = scene.seal();
    (scene.held_before, scene.safe_default) = (false, None);
    assert!(scene.readiness().is_ready(), "{:#?}", scene.readiness());
    scene.killed_in = vec!["staging".parse().unwrap()];
    assert!(scene.status(K::Killed, "killed").1.contains("staging"));
}

#[test]
fn a_step_serves_what_was_approved_and_rolls_out_or_nothing() {
    let mut scene = scene();
    scene.door = Door::Step;
    scene.promotion.state = PromotionState::Applied;
    assert_eq!(scene.status(K::Pointer, "pointer").0, ReadinessStatus::Unmet, "the pointer holds A, B was applied");
    scene.pointer.as_mut().unwrap().digest = d('B');
    assert!(scene.readiness().is_ready());
    scene.pointer.as_mut().unwrap().held = true;
    assert_eq!(scene.status(K::Held, "held").0, ReadinessStatus::Unmet);
    scene.pointer.as_mut().unwrap().held = false;
    let unopened = may_serve(&Serving { promotion: None, ..scene.serving() });
    let kinds: Vec<K> = unopened.unmet().map(|item| item.kind).collect();
    assert!(kinds.contains(&K::Pointer), "no applied promotion put it there: {unopened:#?}");
}

#[test]
fn every_door_asks_for_its_kinds() {
    let all = ReadinessKind::ALL;
    let but = |left_out: &[K]| all.iter().copied().filter(|kind| !left_out.contains(kind)).collect::<Vec<K>>();
    for (door, want) in [
        (Door::Promote, but(&[K::Held])),
        (Door::Revive, but(&[K::Held])),
        (Door::Step, but(&[K::Approval, K::Order])),
        (Door::SafeDefault, but(&[K::Order, K::Soak, K::SafeDefault, K::Held])),
        (Door::Rollback, vec![K::State, K::Quarantine, K::Killed, K::Pointer]),
        (Door::Kill, vec![]),
        (Door::UndoKill, vec![]),
        (Door::Hold, vec![]),
        (Door::StepDown, vec![]),
    ] {
        let mut scene = Scene { door, ..scene() };
        (scene.rule.soak, scene.rule.freeze) = (Some(1), Some(vec![weekend()]));
        let mut kinds: Vec<K> = scene.readiness().0.iter().map(|item| item.kind).collect();
        let sorted = kinds.is_sorted();
        kinds.dedup();
        assert_eq!((kinds, sorted), (want, true), "{door:?}");
    }
}

/// The scene's moment, 1970-01-01, was a Thursday.
fn weekend() -> FreezeWindow {
    FreezeWindow { tz: "UTC".into(), from: None, to: None, weekly: Some("fri 16:00-mon 08:00".into()) }
}

#[test]
fn a_soak_is_met_by_one_stretch_that_is_long_enough_and_says_until_when_it_is_not() {
    let stretch = |since: i64, until: Option<i64>| Stretch { since: Timestamp(since), until: until.map(Timestamp) };
    let second = 1_000_000;
    for (stretches, blocks, says, until) in [
        (vec![stretch(0, None)], false, "staging held it at 100 % for 1s from 1970-01-01 00:00:00 UTC on", None),
        (vec![stretch(-5 * second, Some(-4 * second))], false, "for 1s from", None),
        (
            vec![stretch(1, None)],
            true,
            "since 1970-01-01 00:00:00 UTC; it takes 1s, until 1970-01-01 00:00:01 UTC",
            Some(second + 1),
        ),
        (
            vec![stretch(-3, Some(-2)), stretch(-1, Some(0))],
            true,
            "from 1969-12-31 23:59:59 UTC to 1970-01-01 00:00:00 UTC only",
            None,
        ),
        (vec![], true, "has not held this digest", None),
    ] {
        let mut scene = scene();
        (scene.rule.soak, scene.soaked) = (Some(1), stretches);
        let readiness = scene.seal().readiness();
        let item = readiness.0.iter().find(|item| item.kind == K::Soak).unwrap();
        assert!(item.reason.contains(says), "{:?} does not say {says:?}", item.reason);
        assert_eq!((readiness.is_ready(), item.until), (!blocks, until.map(Timestamp)));
        assert_eq!(readiness.ready_at(), until.map(Timestamp));
    }
}

#[test]
fn a_freeze_blocks_what_makes_more_serve_and_nothing_that_makes_less() {
    let week = FreezeWindow { weekly: Some("thu 00:00-thu 12:00".into()), ..weekend() };
    for (door, blocks) in [
        (Door::Promote, true),
        (Door::Revive, true),
        (Door::Step, true),
        (Door::SafeDefault, true),
        (Door::Rollback, false),
        (Door::Kill, false),
        (Door::UndoKill, false),
        (Door::Hold, false),
        (Door::StepDown, false),
    ] {
        let mut scene = scene();
        (scene.door, scene.rule.freeze) = (door, Some(vec![weekend(), week.clone()]));
        let readiness = scene.seal().readiness();
        let frozen: Vec<_> = readiness.unmet().filter(|item| item.kind == K::Freeze).collect();
        assert_eq!(frozen.len(), usize::from(blocks), "{door:?}");
        for item in frozen {
            assert!(item.reason.starts_with("frozen until Thu 1970-01-01 12:00 UTC"), "{}", item.reason);
            assert_eq!(item.until, Some("1970-01-01T12:00:00Z".parse().unwrap()));
        }
    }
}

#[test]
fn broken_glass_opens_all_but_quarantine_and_what_no_word_can_change() {
    let mut scene = scene();
    scene.rule.break_glass = Some(vec![Role::Oncall]);
    scene.rule.freeze = Some(vec![FreezeWindow { weekly: Some("thu 00:00-thu 12:00".into()), ..weekend() }]);
    (scene.rule.soak, scene.soaked) = (Some(60), vec![]);
    scene.policy.roles.push(RoleGrant { who: "person:gil".into(), role: Role::Oncall, namespace: None, environment: None });
    scene.promotion.break_glass = true;
    let mut scene = scene.seal();
    (scene.held_before, scene.safe_default) = (false, None);
    (scene.approvals, scene.verdicts) = (Vec::new(), Vec::new());
    scene.to.state = VersionState::Draft;
    let readiness = scene.readiness();
    assert!(readiness.is_ready(), "{:?}", readiness.unmet().collect::<Vec<_>>());
    let overridden: Vec<K> = readiness.0.iter().filter(|i| i.status == ReadinessStatus::Overridden).map(|i| i.kind).collect();
    assert_eq!(
        overridden,
        [K::State, K::Gate, K::Approval, K::Approval, K::Order, K::Soak, K::Freeze, K::SafeDefault, K::HiddenText]
    );
    let gate = scene.status(K::Gate, "quality");
    assert_eq!(gate.1, "person:gil broke the glass (missing: nothing was reported yet)");

    let blocked = |what: &str, change: fn(&mut Scene), kind: K| {
        let mut changed = scene.clone();
        change(&mut changed);
        let kinds: Vec<K> = changed.readiness().unmet().map(|item| item.kind).collect();
        assert_eq!(kinds, [kind], "{what}");
    };
    blocked(
        "quarantined",
        |s| s.to.quarantine = Some(Quarantine { by: person("ana"), reason: "bad".into(), at: Timestamp(0) }),
        K::Quarantine,
    );
    blocked("killed", |s| s.pointer.as_mut().unwrap().killed = true, K::Killed);
    blocked("moved", |s| s.pointer.as_mut().unwrap().revision += 1, K::Pointer);
    blocked("discarded", |s| s.to.discarded = true, K::State);
    scene.policy.roles.pop();
    assert!(!scene.readiness().is_ready(), "who broke it may not any more");
}
