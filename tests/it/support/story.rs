//! The steps of a change, over HTTP, as people take them.

use super::registry::{Served, text};
use serde_json::{Value, json};

impl Served {
    /// Makes a key that `owners` own.
    pub async fn key(&self, key: &str) {
        self.post("dee", "/v1/keys", json!({ "key_id": key, "owning_group": "owners" })).await.good();
    }

    /// Saves a text as dee and submits it; gives its digest.
    pub async fn version(&self, key: &str, body: &str) -> String {
        let saved = json!({ "content": text(key, body), "rationale": "because" });
        let saved = self.post("dee", &format!("/v1/keys/{key}/versions"), saved).await.good();
        let digest = saved["digest"].as_str().unwrap().to_owned();
        self.post("dee", &format!("/v1/versions/{digest}/submit"), json!({})).await.good();
        digest
    }

    /// Opens a promotion as dee; gives its id.
    pub async fn open(&self, key: &str, environment: &str, digest: &str, more: Value) -> String {
        let mut body = json!({ "key_id": key, "environment": environment, "to_digest": digest, "rationale": "because" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.post("dee", "/v1/promotions", body).await.good()["promotion_id"].as_str().unwrap().to_owned()
    }

    /// Reports that a version passes the accuracy gate.
    pub async fn passes(&self, digest: &str) {
        let verdict = json!({ "gate": "accuracy", "score": 0.95 });
        self.post("ci", &format!("/v1/versions/{digest}/verdicts"), verdict).await.good();
    }

    /// Approves as `who` what the server shows, its unusual characters acknowledged.
    pub async fn approve(&self, who: &str, id: &str) {
        let view = self.get(who, &format!("/v1/promotions/{id}")).await.good();
        let vote = json!({
            "verdict": "approve", "rationale": "read it", "statement": view["statement"], "acknowledged_hidden": view["hidden"],
        });
        self.post(who, &format!("/v1/promotions/{id}/approvals"), vote).await.good();
    }

    /// Applies as carol.
    pub async fn apply(&self, id: &str) -> Value {
        self.post("carol", &format!("/v1/promotions/{id}/apply"), json!({})).await.good()
    }

    /// The whole way of a digest into dev.
    pub async fn into_dev(&self, key: &str, digest: &str) {
        let id = self.open(key, "dev", digest, json!({})).await;
        self.apply(&id).await;
    }

    /// The whole way of a digest that serves in dev into production, as far as the plan's first share.
    pub async fn into_production(&self, key: &str, digest: &str, more: Value) -> Value {
        self.passes(digest).await;
        let id = self.open(key, "production", digest, more).await;
        self.approve("ana", &id).await;
        self.apply(&id).await
    }

    /// Acts on a pointer.
    pub async fn act(&self, who: &str, key: &str, environment: &str, act: &str, body: Value) -> super::registry::Said {
        self.post(who, &format!("/v1/keys/{key}/pointers/{environment}/{act}"), body).await
    }

    /// What a unit gets, as the application asks.
    pub async fn resolve(&self, key: &str, environment: &str, unit: &str) -> Value {
        self.post("web", &format!("/v1/environments/{environment}/resolve/{key}"), json!({ "unit": unit })).await.good()
    }
}
