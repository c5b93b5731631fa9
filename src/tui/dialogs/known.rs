//! What a dialog has read: it shows these facts, pins them, and computes what is signed from them.

use super::arming::{Difference, Pin};
use super::spec::label;
use super::words;
use crate::model::{Digest, Environment, EnvironmentPointer, UnitType, Verdict, Version};
use crate::tui::effect::{Answer, Facts};
use crate::wire::pointers::{PointerView, Reach};
use crate::wire::promotions::PromotionView;
use crate::wire::versions::VersionView;

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The promotion that it is about.
    pub(crate) promotion: Option<Box<PromotionView>>,
    /// Pointer, history and open promotions of the key.
    pub(crate) facts: Option<Box<Facts>>,
    /// The version that it is about.
    pub(crate) version: Option<Box<VersionView>>,
}

impl Known {
    /// Takes an answer; whether it was one of those that a dialog asks for.
    pub(crate) fn take(&mut self, answer: &Answer) -> bool {
        match answer {
            Answer::Promotion(view) => self.promotion = Some(view.clone()),
            Answer::Facts(facts) => self.facts = Some(facts.clone()),
            Answer::Version(view) => self.version = Some(view.clone()),
            _ => return false,
        }
        true
    }

    /// The pointer with what is known around it.
    pub(crate) fn view(&self) -> Option<&PointerView> {
        self.facts.as_ref()?.pointer.as_ref()
    }

    /// The pointer's row.
    pub(crate) fn pointer(&self) -> Option<&EnvironmentPointer> {
        self.view().map(|view| &view.pointer).or_else(|| self.promotion.as_ref()?.pointer.as_ref())
    }

    /// How much the pointer is used.
    pub(crate) fn reach(&self) -> Option<&Reach> {
        self.view().map(|view| &view.reach).or_else(|| self.promotion.as_ref().map(|view| &view.reach))
    }

    /// What is bucketed; users until it is known.
    pub(crate) fn unit(&self) -> UnitType {
        self.view()
            .map(|view| view.unit_type)
            .or_else(|| self.facts.as_ref().map(|f| f.history.key.unit_type))
            .unwrap_or_default()
    }

    /// Whether the environment is protected, once known.
    pub(crate) fn is_protected(&self) -> Option<bool> {
        self.view().map(|view| view.protected).or_else(|| Some(self.promotion.as_ref()?.rule.protected.unwrap_or(false)))
    }

    /// The version with this digest, where it was read.
    pub(crate) fn version_of(&self, digest: &Digest) -> Option<&Version> {
        let of_promotion = self.promotion.iter().flat_map(|view| view.to.iter().chain(view.from.iter()));
        let of_pointer = self.view().into_iter().flat_map(|v| [&v.version, &v.baseline, &v.safe_default]).flatten();
        let of_history = self.facts.iter().flat_map(|facts| facts.history.versions.iter().map(|row| &row.version));
        let alone = self.version.iter().map(|view| &view.version);
        of_promotion.chain(of_pointer).chain(alone).chain(of_history).find(|version| version.digest == *digest)
    }

    /// `v4 e07a19c4d2b1`, or the digits alone where the version was not read; `no value` where there is none.
    pub(crate) fn name(&self, digest: Option<&Digest>) -> String {
        match digest {
            Some(digest) => self.version_of(digest).map_or_else(|| digest.short(), words::short),
            None => "no value (the code's default)".into(),
        }
    }

    /// The environments in which the key has a pointer.
    pub(crate) fn served(&self) -> Vec<Environment> {
        self.facts.iter().flat_map(|facts| facts.history.pointers.iter().map(|p| p.environment.clone())).collect()
    }

    /// What a decision rests on, to be compared with what is read later.
    pub(crate) fn pin(&self) -> Pin {
        let mut pin = Pin { revision: self.pointer().map_or(0, |pointer| pointer.revision), ..Pin::default() };
        let mut put = |name: String, value: String| drop(pin.parts.insert(name, value));
        if let Some(view) = &self.promotion {
            put("promotion".into(), view.promotion.state.to_string());
            put("statement".into(), view.promotion.statement.short());
            put("policy".into(), crate::rules::statement::policy_digest(&view.rule).short());
            for verdict in &view.verdicts {
                put(format!("gate {}", verdict.gate_name), verdict.status.to_string());
            }
            for vote in view.approvals.iter().filter(|vote| vote.verdict != Verdict::Comment) {
                put(format!("{} on {}", words::who(&vote.approver), vote.gate), vote.verdict.to_string());
            }
            for item in &view.readiness.0 {
                put(label(item), item.status.to_string());
            }
        }
        // A promotion's statement covers these.
        if let Some(view) = self.view().filter(|_| self.promotion.is_none()) {
            put("safe default".into(), self.name(view.safe_default_digest.as_ref()));
            put("rollback".into(), self.name(view.rollback_to.as_ref()));
        }
        if let Some(view) = &self.version {
            put("state".into(), view.version.state.to_string());
            put("quarantine".into(), if view.version.quarantine.is_some() { "set" } else { "none" }.into());
        }
        pin
    }

    /// Who moved the pointer last, in words.
    pub(crate) fn moved_by(&self) -> Option<String> {
        let by = self.view()?.moved_by.clone()?;
        Some(by.strip_prefix("person:").unwrap_or(&by).to_owned())
    }
}

/// Differences in words: `gate toxicity: pass → fail`.
pub(crate) fn said(differences: &[Difference]) -> String {
    let none = "—".to_owned();
    let one = |d: &Difference| format!("{}: {} → {}", d.name, d.was.as_ref().unwrap_or(&none), d.is.as_ref().unwrap_or(&none));
    let mut words: Vec<String> = differences.iter().take(3).map(one).collect();
    if differences.len() > 3 {
        words.push(format!("{} more", differences.len() - 3));
    }
    words.join(" · ")
}
