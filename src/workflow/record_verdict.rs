//! Recording what an evaluation pipeline found (R5).

use super::work::{Outcome, Verb, Work, no_nul};
use crate::model::policy::GateRule;
use crate::model::{Action, Digest, GateStatus, GateVerdict, Refusal, Subject};
use crate::rules::access::Need;
use crate::wire::versions as wire;
use serde_json::json;

/// Most bytes of a summary.
const SUMMARY: usize = 4096;
/// Most bytes of a link.
const LINK: usize = 2048;

/// POST /v1/versions/{digest}/verdicts.
#[derive(Debug, Clone)]
pub struct RecordVerdict {
    /// The version.
    pub digest: Digest,
    /// The request.
    pub body: wire::RecordVerdict,
}

impl Verb for RecordVerdict {
    type Answer = GateVerdict;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<GateVerdict>, Refusal> {
        let (key, version) = work.version(&self.digest).await?;
        work.allow(Need::Report, Some(&key), None)?;
        let policy = work.policy.clone();
        let Some(rule) = policy.gates.get(&self.body.gate) else {
            let known: Vec<&str> = policy.gates.keys().map(String::as_str).collect();
            return Err(Refusal::invalid("/gate", "is not an evaluation gate of the policy").hint(known.join(", ")));
        };
        if !rule.reporters.contains(work.actor()) {
            let reporters: Vec<String> = rule.reporters.iter().map(ToString::to_string).collect();
            let detail = format!("{} is not a reporter of the gate {}", work.actor(), self.body.gate);
            return Err(work.deny("report a gate verdict", detail).hint(format!("reporters: {}", reporters.join(", "))));
        }
        let status = judge(&self.body, rule)?;
        let verdict = GateVerdict {
            verdict_id: work.uuid(),
            digest: self.digest,
            gate_name: self.body.gate.clone(),
            score: self.body.score,
            threshold: Some(rule.threshold.value()),
            passed: status == GateStatus::Pass,
            status,
            reporter: work.actor().clone(),
            attempt: work.conn.verdict_attempts(&self.digest, &self.body.gate).await? + 1,
            summary: self.body.summary.clone(),
            details_url: self.body.details_url.clone(),
            at: work.at,
        };
        work.conn.verdict_put(&verdict).await?;
        let detail = json!({
            "key_id": version.key_id, "number": version.number, "verdict_id": verdict.verdict_id, "gate": verdict.gate_name,
            "status": status, "score": verdict.score, "threshold": verdict.threshold, "attempt": verdict.attempt,
        });
        Ok(Outcome::done(verdict, Action::VerdictRecord, Subject::digest(&self.digest), &detail).created())
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::digest(&self.digest))
    }
}

/// The status that a report has: the score decides between pass and fail, and nothing opens a gate from the wrong side.
fn judge(body: &wire::RecordVerdict, rule: &GateRule) -> Result<GateStatus, Refusal> {
    let policy = rule.threshold.value();
    if body.threshold.is_some_and(|threshold| threshold.total_cmp(&policy).is_ne()) {
        return Err(Refusal::invalid("/threshold", format!("is not the policy's, which is {policy}"))
            .hint("judge by the policy's threshold, or leave it out"));
    }
    if body.summary.len() > SUMMARY {
        return Err(Refusal::invalid("/summary", format!("is longer than {SUMMARY} bytes")));
    }
    no_nul("/summary", &body.summary)?;
    if let Some(link) = &body.details_url {
        no_nul("/details_url", link)?;
        if !link.starts_with("https://") || link.len() > LINK || link.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(Refusal::invalid("/details_url", format!("is not an https link of at most {LINK} bytes")));
        }
    }
    let right = body.score.map(|score| rule.threshold.admits(score));
    match (body.status, right) {
        (Some(GateStatus::Pending), Some(_)) => Err(Refusal::invalid("/score", "does not go with the status pending")),
        (Some(status @ (GateStatus::Pending | GateStatus::Error)), _) => Ok(status),
        (_, None) => Err(Refusal::invalid("/score", "is needed unless the status is pending or error")),
        (Some(GateStatus::Pass), Some(false)) => {
            Err(Refusal::invalid("/status", format!("cannot be pass: the score is on the wrong side of {policy}")))
        }
        (Some(GateStatus::Fail), Some(_)) | (None, Some(false)) => Ok(GateStatus::Fail),
        (Some(GateStatus::Pass) | None, Some(true)) => Ok(GateStatus::Pass),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::policy::Threshold;

    #[test]
    fn the_score_decides_and_nothing_passes_from_the_wrong_side() {
        let rule = |threshold| GateRule { threshold, reporters: Vec::new(), override_group: None };
        let body = |score: Option<f64>, status: Option<GateStatus>, threshold: Option<f64>| wire::RecordVerdict {
            gate: "safety".into(),
            score,
            status,
            threshold,
            summary: String::new(),
            details_url: None,
        };
        let most = rule(Threshold::AtMost(0.1));
        let least = rule(Threshold::AtLeast(0.9));
        let check = |rule: &GateRule, body: wire::RecordVerdict, want: Result<GateStatus, &str>| {
            let got = judge(&body, rule).map_err(|refusal| refusal.path.unwrap_or_default());
            assert_eq!(got, want.map_err(str::to_owned), "{body:?}");
        };
        check(&most, body(Some(0.1), None, None), Ok(GateStatus::Pass));
        check(&most, body(Some(0.11), None, None), Ok(GateStatus::Fail));
        check(&least, body(Some(0.9), None, Some(0.9)), Ok(GateStatus::Pass));
        check(&least, body(Some(0.89), None, None), Ok(GateStatus::Fail));
        check(&least, body(Some(f64::NAN), None, None), Ok(GateStatus::Fail));
        check(&least, body(Some(0.5), Some(GateStatus::Pass), None), Err("/status"));
        check(&least, body(Some(0.95), Some(GateStatus::Fail), None), Ok(GateStatus::Fail));
        check(&least, body(Some(0.95), None, Some(0.5)), Err("/threshold"));
        check(&least, body(None, None, None), Err("/score"));
        check(&least, body(None, Some(GateStatus::Pass), None), Err("/score"));
        check(&least, body(None, Some(GateStatus::Pending), None), Ok(GateStatus::Pending));
        check(&least, body(Some(1.0), Some(GateStatus::Pending), None), Err("/score"));
        check(&least, body(None, Some(GateStatus::Error), None), Ok(GateStatus::Error));
    }
}
