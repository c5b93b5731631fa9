//! The demo as a whole: what its first start makes, that it lives, and that a second start keeps its state.

use crate::support::program::program;
use countersign::client::Client;
use countersign::model::{BasisPoints, GateStatus, PromotionState, ReadinessKind, ReadinessStatus, Verdict};
use countersign::rules::chain;
use countersign::rules::statement::Statement;
use countersign::wire::keys::ListKeys;
use countersign::wire::pointers::{Kill, ListPointers, StepTo};
use countersign::wire::promotions::{ListPromotions, PromotionView, Rationale, Vote};
use countersign::wire::world::ListAudit;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

struct Demo {
    child: Child,
    server: String,
    tokens: serde_json::Value,
}

impl Demo {
    fn start(home: &Path) -> Self {
        let mut child = program(home).args(["demo", "--no-tui"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let server = lines.next().and_then(Result::ok).unwrap_or_else(|| {
            let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
            panic!("the demo does not start: {said}")
        });
        let tokens = lines.next().unwrap().unwrap();
        let tokens = std::fs::read(tokens.strip_prefix("tokens ").unwrap()).unwrap();
        countersign::client::init_tls();
        Self { child, server, tokens: serde_json::from_slice(&tokens).unwrap() }
    }

    fn client(&self, actor: &str) -> Client {
        Client::new(&self.server, self.tokens["tokens"][actor].as_str()).unwrap()
    }

    fn end(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn open() -> ListPromotions {
    ListPromotions { state: Some("open".into()), ..ListPromotions::default() }
}

fn find<'a>(views: &'a [PromotionView], key: &str) -> &'a PromotionView {
    views.iter().find(|view| view.promotion.key_id.as_str() == key).unwrap_or_else(|| panic!("no open promotion of {key}"))
}

#[tokio::test]
async fn each_promotion_that_waits_needs_one_vote_that_ana_can_give() {
    let home = tempfile::tempdir().unwrap();
    let demo = Demo::start(home.path());
    let ana = demo.client("person:ana");
    let views = ana.all_promotions(&open()).await.unwrap();
    let views: Vec<_> = views.into_iter().filter(|view| view.promotion.key_id.as_str() != "search.suggest.chips").collect();
    assert_eq!(views.len(), 10);
    assert_eq!(views[0].promotion.key_id.as_str(), "support.refund.system", "the first thing to see");
    for view in &views {
        let key = &view.promotion.key_id;
        assert_eq!(view.mine.can_approve.len(), 1, "{key}");
        assert_eq!(view.mine.approve_refused, None, "{key}");
        let missing = view.readiness.unmet().filter(|item| item.kind == ReadinessKind::Approval);
        assert_eq!(missing.map(|item| item.name.clone()).collect::<Vec<_>>(), view.mine.can_approve, "{key}");
        assert!(view.to.as_ref().unwrap().authors.iter().all(|author| author.to_string() != "person:ana"), "{key}");
    }
    // A gate that fails, one that still runs, and one that nobody started.
    let gates = |key: &str| {
        let unmet = find(&views, key).readiness.unmet().filter(|item| item.kind == ReadinessKind::Gate).cloned();
        unmet.map(|item| (item.name, item.status)).collect::<Vec<_>>()
    };
    assert_eq!(gates("search.rerank.config"), [("latency".to_owned(), ReadinessStatus::Unmet)]);
    assert_eq!(find(&views, "search.rerank.config").mine.can_override, ["latency"]);
    assert_eq!(gates("support.triage.chat"), [("toxicity".to_owned(), ReadinessStatus::Pending)]);
    assert_eq!(gates("support.handover.summary"), [("groundedness".to_owned(), ReadinessStatus::Unmet)]);
    let handover = &find(&views, "support.handover.summary").verdicts;
    assert!(handover.iter().all(|verdict| verdict.gate_name != "groundedness" && verdict.status == GateStatus::Pass));
    assert_eq!(find(&views, "support.greeting.opening").hidden[0].code_points, "U+200B");
    // Ana sees the confidential key; a reader of everything does not.
    assert!(views.iter().any(|view| view.promotion.key_id.as_str() == "support.fraud.signals"));
    let hidden = demo.client("service:colleague").key(&"support.fraud.signals".parse().unwrap()).await;
    assert_eq!(hidden.unwrap_err().code(), Some(countersign::model::Code::NotFound));
}

#[tokio::test]
async fn the_journey_of_a_change_goes_from_a_vote_to_the_kill_switch() {
    let home = tempfile::tempdir().unwrap();
    let demo = Demo::start(home.path());
    let (ana, carol) = (demo.client("person:ana"), demo.client("person:carol"));
    let views = ana.all_promotions(&open()).await.unwrap();
    let waiting = find(&views, "support.refund.system");
    let vote = Vote {
        verdict: Verdict::Approve,
        gate: waiting.mine.can_approve.first().cloned(),
        rationale: "Read to the end".into(),
        statement: Some(Statement::of(&waiting.promotion).digest()),
        head: None,
        acknowledged_hidden: Vec::new(),
        anchor: None,
        reply_to: None,
    };
    let id = waiting.promotion.promotion_id;
    ana.vote(id, &vote, "vote").await.unwrap();
    let why = Rationale { rationale: "Everything is met".into(), dry_run: false };
    carol.apply(id, &why, "apply").await.unwrap();
    let (key, production) = (waiting.promotion.key_id.clone(), waiting.promotion.environment.clone());
    let mut shares = Vec::new();
    for step in ["one", "two"] {
        let body = StepTo { rationale: "Quiet".into(), ..StepTo::default() };
        shares.push(carol.step(&key, &production, &body, step).await.unwrap().pointer.unwrap().rollout_pct.to_string());
    }
    assert_eq!(shares, ["25", "50"]);
    let reason = countersign::model::KillReason::Quality;
    let kill = Kill { reason, note: None, issued_at: None, seen_revision: None, dry_run: false };
    carol.kill(&key, &production, &kill, "kill").await.unwrap();
    let safe = ana.key(&key).await.unwrap().key.safe_default_digest;
    let resolved = demo.client("service:helpdesk-api").resolve(&production, &key, Some("unit-1")).await.unwrap();
    assert_eq!((resolved.killed, resolved.digest), (true, safe));
}

#[tokio::test]
async fn a_second_start_keeps_the_state_and_the_chain() {
    let home = tempfile::tempdir().unwrap();
    let demo = Demo::start(home.path());
    let ana = demo.client("person:ana");
    let keys = ana.all_keys(&ListKeys::default()).await.unwrap();
    assert_eq!(keys.len(), 12);
    for row in &keys {
        assert!(row.versions >= 5, "{}", row.key.key_id);
    }
    let partial = ListPointers { show: Some("partial".into()), ..ListPointers::default() };
    let shown: Vec<_> = ana.all_pointers(&partial).await.unwrap().into_iter().map(|view| view.pointer).collect();
    let state: Vec<_> = shown.iter().map(|p| (p.key_id.as_str(), p.rollout_pct, p.killed)).collect();
    let share = |percent| BasisPoints::from_percent(percent).unwrap();
    let expected = [("search.snippet.summary", share(25.0), false), ("support.discount.offer", share(100.0), true)];
    assert_eq!(state, expected);
    let owed = ListPromotions { owed: Some("me".into()), ..ListPromotions::default() };
    let owed = ana.all_promotions(&owed).await.unwrap();
    assert_eq!(owed.iter().map(|v| v.promotion.key_id.as_str()).collect::<Vec<_>>(), ["support.discount.offer"]);
    assert_eq!(owed[0].promotion.state, PromotionState::Applied);
    let head = ana.audit_head().await.unwrap();
    demo.end();

    let again = Demo::start(home.path());
    let ana = again.client("person:ana");
    assert_eq!(ana.all_pointers(&partial).await.unwrap().len(), 2);
    let mut verified = chain::EMPTY;
    while verified.seq < head.seq {
        let ask = ListAudit { after: Some(verified.seq), limit: Some(1000), ..ListAudit::default() };
        for event in ana.audit(&ask).await.unwrap().items {
            verified = chain::verify(&verified, &event).unwrap();
            if verified.seq == head.seq {
                assert_eq!(verified.event_id, head.event_id);
            }
        }
    }
    again.end();
}
