//! Every path once: the router's template and the client's builder.

use crate::model::{Digest, Environment, KeyId};
use uuid::Uuid;

macro_rules! paths {
    ($($(#[$m:meta])* $name:ident = $template:literal => $build:ident($($arg:ident : $t:ty),*);)+) => {
        /// Templates for the router, `{name}` for parameters.
        pub mod template {
            $($(#[$m])* pub const $name: &str = $template;)+
            /// Every template: what the route matrix enumerates.
            pub const ALL: &[&str] = &[$($name),+];
        }
        $(
            $(#[$m])*
            pub fn $build($($arg: $t),*) -> String {
                #[allow(unused_mut, reason = "paths without parameters")]
                let mut path = String::from($template);
                $( path = path.replace(concat!("{", stringify!($arg), "}"), &$arg.to_string()); )*
                path
            }
        )+
    };
}

paths! {
    /// The process lives.
    HEALTHZ = "/healthz" => healthz();
    /// Reads work: the snapshot is loaded and within its staleness budget.
    READYZ = "/readyz" => readyz();
    /// Writes work: database, migrations, chain head.
    READYZ_WRITE = "/readyz/write" => readyz_write();
    /// The API document.
    OPENAPI = "/openapi.json" => openapi();
    /// The same as a page.
    DOCS = "/docs" => docs();
    /// Counts and state for Prometheus.
    METRICS = "/metrics" => metrics();
    /// Environments in the policy's order.
    ENVIRONMENTS = "/v1/environments" => environments();
    /// The policy, or its merged rule for a key.
    POLICY = "/v1/policy" => policy();
    /// Where one can log in, for who has no token yet.
    LOGIN = "/v1/login" => login();
    /// A merged rule, where it comes from, and what it means now.
    POLICY_EXPLAIN = "/v1/policy/explain" => policy_explain();
    /// Who the caller is.
    ME = "/v1/me" => me();
    /// Keys.
    KEYS = "/v1/keys" => keys();
    /// One key.
    KEY = "/v1/keys/{key}" => key(key: &KeyId);
    /// A key with versions, pointers, promotions.
    KEY_HISTORY = "/v1/keys/{key}/history" => key_history(key: &KeyId);
    /// Versions of a key.
    VERSIONS = "/v1/keys/{key}/versions" => versions(key: &KeyId);
    /// The difference of two versions (`from`, `to`: selectors).
    DIFF = "/v1/keys/{key}/diff" => diff(key: &KeyId);
    /// One version by selector: `GET /v1/keys/{key}/versions/{selector}`.
    VERSION_BY_SELECTOR = "/v1/keys/{key}/versions/{selector}" => version_by_selector(key: &KeyId, selector: &str);
    /// One version by digest.
    VERSION = "/v1/versions/{digest}" => version(digest: &Digest);
    /// To review.
    SUBMIT = "/v1/versions/{digest}/submit" => submit(digest: &Digest);
    /// Hide.
    DISCARD = "/v1/versions/{digest}/discard" => discard(digest: &Digest);
    /// Mark.
    QUARANTINE = "/v1/versions/{digest}/quarantine" => quarantine(digest: &Digest);
    /// Lift the mark.
    LIFT = "/v1/versions/{digest}/lift" => lift(digest: &Digest);
    /// Where and when it served.
    SERVED = "/v1/versions/{digest}/served" => served(digest: &Digest);
    /// Gate verdicts of a version.
    VERDICTS = "/v1/versions/{digest}/verdicts" => verdicts(digest: &Digest);
    /// Fragments.
    FRAGMENTS = "/v1/fragments" => fragments();
    /// One fragment revision by digest.
    FRAGMENT = "/v1/fragments/{fragment}" => fragment(fragment: &Digest);
    /// Who pins a fragment.
    FRAGMENT_USERS = "/v1/fragments/{fragment}/users" => fragment_users(fragment: &str);
    /// Pointers.
    POINTERS = "/v1/pointers" => pointers();
    /// One pointer.
    POINTER = "/v1/keys/{key}/pointers/{environment}" => pointer(key: &KeyId, environment: &Environment);
    /// Back to what served before.
    ROLLBACK = "/v1/keys/{key}/pointers/{environment}/rollback" => rollback(key: &KeyId, environment: &Environment);
    /// The kill switch.
    KILL = "/v1/keys/{key}/pointers/{environment}/kill" => kill(key: &KeyId, environment: &Environment);
    /// Take one's kill back.
    UNDO_KILL = "/v1/keys/{key}/pointers/{environment}/undo-kill" => undo_kill(key: &KeyId, environment: &Environment);
    /// Step.
    STEP = "/v1/keys/{key}/pointers/{environment}/step" => step(key: &KeyId, environment: &Environment);
    /// Hold.
    HOLD = "/v1/keys/{key}/pointers/{environment}/hold" => hold(key: &KeyId, environment: &Environment);
    /// Go on.
    RESUME = "/v1/keys/{key}/pointers/{environment}/resume" => resume(key: &KeyId, environment: &Environment);
    /// Many kills.
    KILL_MANY = "/v1/kill" => kill_many();
    /// Promotions (a revive is a promotion with `revive: true`).
    PROMOTIONS = "/v1/promotions" => promotions();
    /// What a change would do to units.
    PREVIEW = "/v1/promotions/preview" => preview();
    /// One promotion.
    PROMOTION = "/v1/promotions/{id}" => promotion(id: Uuid);
    /// Votes and comments.
    APPROVALS = "/v1/promotions/{id}/approvals" => approvals(id: Uuid);
    /// Take effect.
    APPLY = "/v1/promotions/{id}/apply" => apply(id: Uuid);
    /// Take back.
    WITHDRAW = "/v1/promotions/{id}/withdraw" => withdraw(id: Uuid);
    /// Open anew.
    RENEW = "/v1/promotions/{id}/renew" => renew(id: Uuid);
    /// Review afterwards.
    REVIEW = "/v1/promotions/{id}/review" => review(id: Uuid);
    /// The note that a kill owed.
    NOTE = "/v1/promotions/{id}/note" => note(id: Uuid);
    /// What a unit gets.
    RESOLVE = "/v1/environments/{environment}/resolve/{key}" => resolve(environment: &Environment, key: &KeyId);
    /// … and why.
    EXPLAIN = "/v1/environments/{environment}/resolve/{key}/explain" => explain(environment: &Environment, key: &KeyId);
    /// What a unit got at an earlier time.
    AS_OF = "/v1/environments/{environment}/resolve/{key}/as-of" => as_of(environment: &Environment, key: &KeyId);
    /// Audit events.
    AUDIT = "/v1/audit" => audit();
    /// The chain's head.
    AUDIT_HEAD = "/v1/audit/head" => audit_head();
    /// The head, signed.
    AUDIT_CHECKPOINT = "/v1/audit/checkpoint" => audit_checkpoint();
    /// The key that signs.
    AUDIT_KEY = "/v1/audit/key" => audit_key();
    /// All events, one a line.
    AUDIT_EXPORT = "/v1/audit/export" => audit_export();
    /// What came to serve, who let it, and why, as CSV.
    AUDIT_REPORT = "/v1/audit/report" => audit_report();
    /// What an environment serves, whole and signed.
    BUNDLE = "/v1/environments/{environment}/bundle" => bundle(environment: &Environment);
    /// All that a relay needs, signed.
    MIRROR = "/v1/mirror" => mirror();
    /// Live events.
    STREAM = "/v1/stream" => stream();
    /// Tokens.
    TOKENS = "/v1/tokens" => tokens();
    /// Receivers of notices.
    WEBHOOKS = "/v1/webhooks" => webhooks();
    /// One receiver.
    WEBHOOK = "/v1/webhooks/{webhook_id}" => webhook(webhook_id: Uuid);
    /// What it has not taken.
    WEBHOOK_DELIVERIES = "/v1/webhooks/{webhook_id}/deliveries" => webhook_deliveries(webhook_id: Uuid);
    /// Send again what was given up.
    WEBHOOK_RETRY = "/v1/webhooks/{webhook_id}/retry" => webhook_retry(webhook_id: Uuid);
    /// One token.
    TOKEN = "/v1/tokens/{token_id}" => token(token_id: &str);
    /// OFREP: every key that the caller may resolve, in the environment of its token.
    OFREP_FLAGS = "/ofrep/v1/evaluate/flags" => ofrep_flags();
    /// OFREP: one key.
    OFREP_FLAG = "/ofrep/v1/evaluate/flags/{key}" => ofrep_flag(key: &KeyId);
    /// OFREP, with the environment in the base URL.
    ENV_OFREP_FLAGS = "/env/{environment}/ofrep/v1/evaluate/flags" => env_ofrep_flags(environment: &Environment);
    /// … of one key.
    ENV_OFREP_FLAG = "/env/{environment}/ofrep/v1/evaluate/flags/{key}" => env_ofrep_flag(environment: &Environment, key: &KeyId);
    /// OFREP: says when to ask again; the `ticket` of the bulk answer opens it.
    OFREP_EVENTS = "/ofrep/v1/events" => ofrep_events();
    /// Langfuse's read of a prompt (`label`: an environment or its alias; `version`: a number).
    LANGFUSE_PROMPT = "/api/public/v2/prompts/{key}" => langfuse_prompt(key: &KeyId);
}
