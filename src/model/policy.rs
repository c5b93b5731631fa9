//! The policy in force: environments, gates, groups, roles, persons. `rules::policy` reads it from TOML.

use super::oidc::{Issuer, OidcGroup};
use super::promotion::words;
use super::{Actor, Plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::{fmt, str::FromStr};

words! {
    /// What a grant allows; `rules::access` says which route needs which.
    Role ("role") {
        /// Reads everything of a namespace that is not confidential.
        Reader = "reader",
        /// Drafts, submits, opens.
        Author = "author",
        /// Approves, quarantines, lifts, closes reviews.
        Approver = "approver",
        /// Applies, steps, revives, opens, kills.
        Releaser = "releaser",
        /// Kills, rolls back, holds, steps down, quarantines.
        Oncall = "oncall",
        /// Reports gate verdicts.
        Evaluator = "evaluator",
        /// Imports with foreign authors.
        Importer = "importer",
        /// An application that resolves.
        Service = "service",
        /// A browser that resolves.
        Public = "public",
        /// Sees unit hashes.
        Privacy = "privacy",
        /// All audit, policy, tokens; no content.
        Auditor = "auditor",
        /// Policy and tokens; moves nothing.
        Admin = "admin",
    }
}

/// Which side of a threshold is right.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// The score must not exceed it.
    AtMost(f64),
    /// The score must reach it.
    AtLeast(f64),
}

impl Threshold {
    /// The number itself.
    pub fn value(self) -> f64 {
        match self {
            Self::AtMost(x) | Self::AtLeast(x) => x,
        }
    }
    /// Whether `score` is on the right side; NaN never is.
    pub fn admits(self, score: f64) -> bool {
        match self {
            Self::AtMost(x) => score <= x,
            Self::AtLeast(x) => score >= x,
        }
    }
}

/// `[gate.NAME]`: an evaluation gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateRule {
    /// Direction and threshold.
    #[serde(flatten)]
    pub threshold: Threshold,
    /// Who may report; sorted.
    pub reporters: Vec<Actor>,
    /// The group whose members may override it for one promotion.
    #[serde(rename = "override")]
    pub override_group: Option<String>,
}

/// One entry of an environment's `approvals`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRule {
    /// The approval gate's name.
    pub gate: String,
    /// A policy group, or `@owning` for the key's owning group.
    pub group: String,
    /// How many distinct persons.
    pub count: u32,
}

/// One freeze window: either `from` and `to`, or `weekly`, on the clocks of a time zone. Texts as the policy gives them, so that
/// everybody hashes the same; `rules::freeze` reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FreezeWindow {
    /// An IANA name: `Europe/Berlin`.
    pub tz: String,
    /// The first local time that is frozen, `2026-12-24T18:00:00`.
    pub from: Option<String>,
    /// The first local time that is not.
    pub to: Option<String>,
    /// `fri 16:00-mon 08:00`, every week.
    pub weekly: Option<String>,
}

/// The merged `[[environment]]` object for one key: every field present, null where unset, with the gates that it names.
/// Its JCS digest is the `policy_digest` of promotions. Durations are whole seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentRule {
    /// The environment.
    pub name: String,
    /// Dangerous acts ask more here; the last protected one rules safe defaults.
    pub protected: Option<bool>,
    /// The environment that must have held the digest at 100 % before.
    pub after: Option<String>,
    /// For how long, in seconds.
    pub soak: Option<i64>,
    /// The default plan of promotions.
    pub plan: Option<Plan>,
    /// Evaluation gates.
    pub gates: Option<Vec<String>>,
    /// Approval gates.
    pub approvals: Option<Vec<ApprovalRule>>,
    /// When nothing new comes to serve.
    pub freeze: Option<Vec<FreezeWindow>>,
    /// `required` or `optional`.
    pub safe_default: Option<String>,
    /// Seconds until an open promotion expires.
    pub expires: Option<i64>,
    /// Whether invisible characters must be acknowledged by each counted approval.
    pub acknowledge_hidden: Option<bool>,
    /// `auto`: the server takes the plan's steps; `manual` unless set.
    pub advance: Option<String>,
    /// Roles that may override all requirements of a promotion at once, but quarantine; sorted.
    pub break_glass: Option<Vec<Role>>,
    /// Not supported yet, always null.
    pub guards: Option<Vec<serde_json::Value>>,
    /// Another name for readers.
    pub alias: Option<String>,
    /// The evaluation gates that `gates` names.
    pub gate: BTreeMap<String, GateRule>,
}

impl EnvironmentRule {
    /// Whether dangerous acts ask more here.
    pub fn is_protected(&self) -> bool {
        self.protected.unwrap_or(false)
    }
    /// Whether a promotion needs a safe default that can serve.
    pub fn requires_safe_default(&self) -> bool {
        self.safe_default.as_deref() == Some("required")
    }
    /// Whether invisible characters must be acknowledged.
    pub fn acknowledges_hidden(&self) -> bool {
        self.acknowledge_hidden.unwrap_or(false)
    }
    /// Whether the server takes the steps of a plan by itself.
    pub fn advances(&self) -> bool {
        self.advance.as_deref() == Some("auto")
    }
    /// Seconds until an open promotion expires: 14 days unless set.
    pub fn expires_seconds(&self) -> i64 {
        self.expires.unwrap_or(14 * 24 * 3600)
    }
}

/// `[[environment.for]]`: fields that replace the environment's for keys of a namespace.
#[derive(Debug, Clone, PartialEq)]
pub struct EnvironmentOverride {
    /// A pattern: literal segments, perhaps ending in `*` (one segment) or `**` (any number).
    pub namespace: String,
    /// Fields that are set replace the environment's, whole.
    pub fields: EnvironmentFields,
    /// On which line each field that is set stands.
    pub lines: BTreeMap<String, usize>,
}

/// The settable fields of an environment, each perhaps unset.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EnvironmentFields {
    /// See [`EnvironmentRule::protected`].
    pub protected: Option<bool>,
    /// See [`EnvironmentRule::after`].
    pub after: Option<String>,
    /// See [`EnvironmentRule::soak`].
    pub soak: Option<i64>,
    /// See [`EnvironmentRule::plan`].
    pub plan: Option<Plan>,
    /// See [`EnvironmentRule::gates`].
    pub gates: Option<Vec<String>>,
    /// See [`EnvironmentRule::approvals`].
    pub approvals: Option<Vec<ApprovalRule>>,
    /// See [`EnvironmentRule::freeze`].
    pub freeze: Option<Vec<FreezeWindow>>,
    /// See [`EnvironmentRule::safe_default`].
    pub safe_default: Option<String>,
    /// See [`EnvironmentRule::expires`].
    pub expires: Option<i64>,
    /// See [`EnvironmentRule::acknowledge_hidden`].
    pub acknowledge_hidden: Option<bool>,
    /// See [`EnvironmentRule::advance`].
    pub advance: Option<String>,
    /// See [`EnvironmentRule::break_glass`].
    pub break_glass: Option<Vec<Role>>,
    /// See [`EnvironmentRule::alias`].
    pub alias: Option<String>,
}

/// `[[environment]]`, in the policy's order.
#[derive(Debug, Clone, PartialEq)]
pub struct EnvironmentPolicy {
    /// The environment's name.
    pub name: String,
    /// Its fields.
    pub fields: EnvironmentFields,
    /// On which line each field that is set stands.
    pub lines: BTreeMap<String, usize>,
    /// Its replacements for namespaces.
    pub overrides: Vec<EnvironmentOverride>,
}

/// `[[role]]`: who has a role where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleGrant {
    /// `person:…`, `service:…` or `group:…`.
    pub who: String,
    /// The role.
    pub role: Role,
    /// A namespace pattern; unset = everywhere.
    pub namespace: Option<String>,
    /// An environment; unset = everywhere.
    pub environment: Option<String>,
}

/// A policy that was read and found consistent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// The TOML as it was given.
    pub source: String,
    /// Environments in order: the last protected one is the strictest.
    pub environments: Vec<EnvironmentPolicy>,
    /// Evaluation gates by name.
    pub gates: BTreeMap<String, GateRule>,
    /// Members of groups; sorted. Those of groups in `oidc_groups` are whom their issuer said within a day.
    pub groups: BTreeMap<String, Vec<Actor>>,
    /// Groups whose members an issuer says.
    pub oidc_groups: BTreeMap<String, OidcGroup>,
    /// Those whom an issuer said to be in a group, but too long ago to count; sorted.
    pub lapsed: BTreeMap<String, Vec<Actor>>,
    /// Whose tokens prove who somebody is, by name.
    pub issuers: BTreeMap<String, Issuer>,
    /// Grants.
    pub roles: Vec<RoleGrant>,
    /// Other accounts of one person, by `person:` name.
    pub persons: BTreeMap<String, Vec<Actor>>,
    /// Whether changing the policy takes a second admin.
    pub second_admin: bool,
}
