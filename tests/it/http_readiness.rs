//! What stands between a text and its serving, over HTTP: each kind of requirement alone, at every door to serving.

use crate::support::registry::{POLICY, Said, Served};
use countersign::clock::Clock;
use countersign::model::Approval;
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Promote,
    Revive,
    Step,
    SafeDefault,
    Rollback,
}

/// The one thing that is amiss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Draft,
    Quarantine,
    Killed,
    Gate,
    Approval,
    Order,
    NoDefault,
    BadDefault,
    HiddenText,
    MovedDefault,
    Expired,
    Held,
}

/// `production` asks for everything that a policy can ask for.
fn policy() -> String {
    POLICY.replace("acknowledge_hidden = true", "acknowledge_hidden = true\nsafe_default = \"required\"\nexpires = \"30m\"")
}

/// A key on which one door is about to be gone through, everything met but what cannot be put amiss later.
struct Case<'a> {
    served: &'a Served,
    clock: Clock,
    door: Door,
    fault: Fault,
    key: String,
    environment: &'static str,
    safe: String,
    to: String,
    promotion: String,
}

impl<'a> Case<'a> {
    async fn new(served: &'a Served, number: usize, door: Door, fault: Fault) -> Self {
        let key = format!("support.case{number}");
        served.key(&key).await;
        let safe = served.version(&key, "A safe answer.").await;
        if fault != Fault::NoDefault {
            served.into_production(&key, &safe, json!({ "environment": "@safe-default" })).await;
        }
        let environment = match (door, fault) {
            (Door::SafeDefault, _) => "@safe-default",
            // What is a draft cannot have served in the environment before.
            (_, Fault::Draft) => "dev",
            _ => "production",
        };
        let clock = served.registry.clock.clone();
        let (to, promotion) = (String::new(), String::new());
        let mut case = Self { served, clock, door, fault, key, environment, safe, to, promotion };
        case.prepare().await;
        case
    }

    async fn prepare(&mut self) {
        let (served, key) = (self.served, self.key.clone());
        let before = served.version(&key, "What served before.").await;
        served.into_dev(&key, &before).await;
        let killed = self.door == Door::Revive || (self.door, self.fault) == (Door::Promote, Fault::Killed);
        if self.environment == "production" && (killed || self.door == Door::Rollback) {
            served.into_production(&key, &before, json!({ "percent": 100 })).await;
        }
        if killed {
            self.kill(self.environment).await;
        }
        self.to = match (self.door, self.fault) {
            (Door::Rollback, _) => {
                let after = served.version(&key, "What serves now.").await;
                served.into_dev(&key, &after).await;
                served.into_production(&key, &after, json!({ "percent": 100 })).await;
                before
            }
            (_, Fault::Draft) => draft(served, &key).await,
            (_, Fault::HiddenText) => served.version(&key, "A sly\u{200b} answer.").await,
            _ => served.version(&key, "A new answer.").await,
        };
        if self.door == Door::Rollback {
            return;
        }
        if self.environment == "production" && self.fault != Fault::Order {
            served.into_dev(&key, &self.to).await;
        }
        served.passes(&self.to).await;
        self.open().await;
        if self.environment != "dev" {
            self.approve().await;
        }
        if self.door == Door::Step {
            self.apply().await.good();
        }
    }

    async fn open(&mut self) {
        let revive = self.door == Door::Revive;
        let mut wish =
            json!({ "key_id": self.key, "environment": self.environment, "to_digest": self.to, "rationale": "because" });
        if revive {
            wish["revive"] = json!(true);
        }
        // carol is no author: whoever opens it may be anybody with the right.
        let opened = self.served.post("carol", "/v1/promotions", wish).await.good();
        opened["promotion_id"].as_str().unwrap().clone_into(&mut self.promotion);
    }

    async fn approve(&self) {
        let path = format!("/v1/promotions/{}", self.promotion);
        let view = self.served.get("ana", &path).await.good();
        if self.fault == Fault::HiddenText {
            let blind = json!({ "verdict": "approve", "rationale": "read it", "statement": view["statement"] });
            let refused = self.served.post("ana", &format!("{path}/approvals"), blind).await;
            assert_eq!(kinds(&refused), ["hidden_text"], "an approval that acknowledges nothing");
        }
        self.served.approve("ana", &self.promotion).await;
    }

    async fn apply(&self) -> Said {
        self.served.post("carol", &format!("/v1/promotions/{}/apply", self.promotion), json!({})).await
    }

    async fn pointer(&self, who: &str, act: &str, body: Value) -> Said {
        self.served.act(who, &self.key, self.environment, act, body).await
    }

    async fn kill(&self, environment: &str) {
        self.served.act("olga", &self.key, environment, "kill", json!({ "reason": "test", "note": "wrong" })).await.good();
    }

    async fn mark(&self, who: &str, digest: &str, how: &str) {
        self.served.post(who, &format!("/v1/versions/{digest}/{how}"), json!({ "rationale": "because" })).await.good();
    }

    /// Puts the one thing amiss that was not from the start.
    async fn spoil(&self) {
        match (self.fault, self.door) {
            (Fault::Draft | Fault::Order | Fault::NoDefault, _) | (Fault::Killed, Door::Promote) => {}
            (Fault::Quarantine, _) => self.mark("ana", &self.to, "quarantine").await,
            (Fault::BadDefault, _) => self.mark("ana", &self.safe, "quarantine").await,
            (Fault::Killed, Door::SafeDefault) => self.kill("dev").await,
            (Fault::Killed, _) => self.kill("production").await,
            (Fault::Gate, _) => {
                let verdict = json!({ "gate": "accuracy", "score": 0.5 });
                self.served.post("ci", &format!("/v1/versions/{}/verdicts", self.to), verdict).await.good();
            }
            (Fault::Approval, _) => {
                let vote = json!({ "verdict": "retract", "rationale": "not so sure" });
                self.served.post("ana", &format!("/v1/promotions/{}/approvals", self.promotion), vote).await.good();
            }
            (Fault::HiddenText, _) => self.blind().await,
            (Fault::MovedDefault, _) => {
                let other = self.served.version(&self.key, "Another safe answer.").await;
                self.served.into_production(&self.key, &other, json!({ "environment": "@safe-default" })).await;
            }
            (Fault::Expired, _) => self.clock.set(self.clock.now().plus_seconds(1800)),
            (Fault::Held, _) => drop(self.pointer("olga", "hold", json!({})).await.good()),
        }
    }

    /// A row that acknowledged nothing, as an older policy would have let through.
    async fn blind(&self) {
        let mut tx = self.served.registry.db.begin().await.unwrap();
        let given = tx.conn().approval_list(self.promotion.parse().unwrap()).await.unwrap().pop().unwrap();
        let approval_id = self.clock.uuid();
        let blind = Approval { approval_id, acknowledged_hidden: Vec::new(), at: self.clock.now(), ..given };
        tx.conn().approval_put(&blind).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Puts right what was amiss, where that leads through the same door.
    async fn mend(&mut self) -> bool {
        match (self.fault, self.door) {
            (Fault::Draft, _) => {
                drop(self.served.post("dee", &format!("/v1/versions/{}/submit", self.to), json!({})).await.good());
            }
            (Fault::Quarantine, _) => self.mark("bob", &self.to, "lift").await,
            (Fault::BadDefault, _) => self.mark("bob", &self.safe, "lift").await,
            (Fault::Killed, Door::SafeDefault) => {
                let undo = json!({ "rationale": "by mistake" });
                self.served.act("olga", &self.key, "dev", "undo-kill", undo).await.good();
            }
            (Fault::Gate, _) => self.served.passes(&self.to).await,
            (Fault::Approval, _) => self.served.approve("bob", &self.promotion).await,
            (Fault::Order, _) => self.served.into_dev(&self.key, &self.to).await,
            (Fault::HiddenText, Door::Promote | Door::Revive | Door::SafeDefault) => {
                self.served.approve("ana", &self.promotion).await;
            }
            (Fault::MovedDefault, _) => {
                let renew = format!("/v1/promotions/{}/renew", self.promotion);
                let renewed = self.served.post("carol", &renew, json!({})).await.good();
                renewed["promotion_id"].as_str().unwrap().clone_into(&mut self.promotion);
                self.approve().await;
            }
            (Fault::Expired, _) => self.clock.set(self.clock.now().plus_seconds(-1800)),
            (Fault::Held, _) => drop(self.pointer("carol", "resume", json!({ "rationale": "go on" })).await.good()),
            _ => return false,
        }
        true
    }

    async fn go(&self) -> Said {
        match self.door {
            Door::Promote | Door::Revive | Door::SafeDefault => self.apply().await,
            Door::Step => self.pointer("carol", "step", json!({ "rationale": "looks good" })).await,
            Door::Rollback => {
                self.pointer("olga", "rollback", json!({ "to_digest": self.to, "rationale": "it was better" })).await
            }
        }
    }

    /// What a refusal must leave as it is.
    async fn stands(&self) -> (Value, Value, Value) {
        let key = self.served.get("rita", &format!("/v1/keys/{}", self.key)).await.good();
        let pointers = self.served.get("rita", &format!("/v1/keys/{}/history", self.key)).await;
        let state = match self.promotion.as_str() {
            "" => Value::Null,
            id => self.served.get("rita", &format!("/v1/promotions/{id}")).await.good()["state"].clone(),
        };
        (key["safe_default_digest"].clone(), json!(pointers.text), state)
    }
}

async fn draft(served: &Served, key: &str) -> String {
    let content = json!({ "key": key, "format": "text", "body": "Half an answer." });
    let saved = json!({ "content": content, "rationale": "because" });
    let saved = served.post("dee", &format!("/v1/keys/{key}/versions"), saved).await.good();
    saved["digest"].as_str().unwrap().to_owned()
}

/// The kinds that a refusal says are unmet.
fn kinds(refused: &Said) -> Vec<String> {
    assert_eq!(refused.refused(), (409, "policy_unmet".into()), "{}", refused.text);
    refused.json()["unmet"].as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap().to_owned()).collect()
}

/// Goes through each door with one thing amiss: refused with that reason alone, by whom it can be met, and nothing changed;
/// put right, the same door opens.
async fn check(served: &Served, rows: &[(Door, Fault, &str, &str, &str)]) {
    for (number, (door, fault, kind, says, who)) in rows.iter().enumerate() {
        let what = format!("{door:?} with {fault:?}");
        let mut case = Case::new(served, number, *door, *fault).await;
        case.spoil().await;
        let (head, stood) = (served.head().await, case.stands().await);
        let refused = case.go().await;
        assert_eq!(kinds(&refused), [*kind], "{what}: {}", refused.text);
        let item = refused.json()["unmet"][0].clone();
        assert!(item["reason"].as_str().unwrap().contains(says), "{what}: {item}");
        let names: Vec<&str> = item["who"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert!(names.contains(who), "{what}: {item}");
        assert_eq!((served.head().await, case.stands().await), (head, stood), "{what}: nothing changed");
        if case.mend().await {
            case.go().await.good();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_requirement_alone_shuts_each_door_and_names_who_can_meet_it() {
    use Door::{Promote, Revive, Rollback, SafeDefault, Step};
    let served = Served::with_policy(&policy()).await;
    let quarantined = "quarantined by person:ana";
    let (bad_default, unseen) = ("the key's safe default is quarantined", "not acknowledged by 1 of 1 approvals");
    check(
        &served,
        &[
            (Promote, Fault::Draft, "state", "a draft", "person:dee"),
            (Promote, Fault::Quarantine, "quarantine", quarantined, "role:approver"),
            (Promote, Fault::Killed, "killed", "only a revive serves again", "role:releaser"),
            (Promote, Fault::Gate, "gate", "0.5 is on the wrong side of at least 0.9", "service:ci"),
            (Promote, Fault::Gate, "gate", "", "group:owners"),
            (Promote, Fault::Approval, "approval", "0 of 1 approvals by group owners", "person:bob"),
            (Promote, Fault::Order, "order", "dev has not held", "role:releaser"),
            (Promote, Fault::NoDefault, "safe_default", "no safe default", "role:releaser"),
            (Promote, Fault::BadDefault, "safe_default", bad_default, "role:releaser"),
            (Promote, Fault::HiddenText, "hidden_text", unseen, "person:ana"),
            (Promote, Fault::MovedDefault, "pointer", "safe default has changed", "person:carol"),
            (Revive, Fault::Draft, "state", "a draft", "person:dee"),
            (Revive, Fault::Quarantine, "quarantine", quarantined, "role:approver"),
            (Revive, Fault::Gate, "gate", "wrong side", "service:ci"),
            (Revive, Fault::Approval, "approval", "0 of 1", "person:ana"),
            (Revive, Fault::Order, "order", "dev has not held", "role:releaser"),
            (Revive, Fault::BadDefault, "safe_default", bad_default, "role:releaser"),
            (Revive, Fault::HiddenText, "hidden_text", unseen, "person:ana"),
            (Step, Fault::Quarantine, "quarantine", quarantined, "role:approver"),
            (Step, Fault::Gate, "gate", "wrong side", "service:ci"),
            (Step, Fault::BadDefault, "safe_default", bad_default, "role:releaser"),
            (Step, Fault::HiddenText, "hidden_text", unseen, "person:ana"),
            (Step, Fault::Held, "held", "resume it first", "role:releaser"),
            (SafeDefault, Fault::Draft, "state", "a draft", "person:dee"),
            (SafeDefault, Fault::Quarantine, "quarantine", quarantined, "role:approver"),
            (SafeDefault, Fault::Killed, "killed", "killed in dev", "role:releaser"),
            (SafeDefault, Fault::Gate, "gate", "wrong side", "service:ci"),
            (SafeDefault, Fault::Approval, "approval", "0 of 1", "person:ana"),
            (SafeDefault, Fault::HiddenText, "hidden_text", unseen, "person:ana"),
            (Rollback, Fault::Quarantine, "quarantine", quarantined, "role:approver"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_that_is_too_old_shuts_every_door_that_it_opens() {
    let served = Served::on(&policy(), Clock::fixed("2026-11-30T12:00:00Z".parse().unwrap())).await;
    let row = |door| (door, Fault::Expired, "pointer", "has expired", "person:carol");
    check(&served, &[row(Door::Promote), row(Door::Revive), row(Door::SafeDefault)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_shuts_the_doors_at_once() {
    let served = Served::with_policy(&policy()).await;
    for (number, door) in [Door::Step, Door::Rollback].into_iter().enumerate() {
        let case = Case::new(&served, number, door, Fault::Killed).await;
        case.spoil().await;
        let head = served.head().await;
        let refused = case.go().await;
        assert_eq!(refused.refused(), (409, "killed".into()), "{door:?}");
        assert!(refused.json()["hint"].as_str().unwrap().contains("only a revive"), "{}", refused.text);
        assert_eq!(served.head().await, head, "{door:?}");
    }
    // What was opened to revive revives nothing that lives again by itself.
    let case = Case::new(&served, 2, Door::Revive, Fault::Killed).await;
    case.pointer("olga", "undo-kill", json!({ "rationale": "by mistake" })).await.good();
    assert_eq!(case.go().await.refused(), (409, "pointer_moved".into()));
    let wish = json!({
        "key_id": case.key, "environment": "production", "to_digest": case.to, "rationale": "because", "revive": true,
    });
    assert_eq!(served.post("carol", "/v1/promotions", wish).await.refused(), (409, "wrong_state".into()));
}
