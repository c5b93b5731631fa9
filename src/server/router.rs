//! The whole route table on one page: method, path, who may, handler. What is not here is closed.

use super::handlers::{
    audit, docs, feeds, fragments, health, keys, langfuse, metrics, mirror, ofrep, ofrep_events, people, pointers, promotions,
    proofs, report, resolve, stream, versions, webhooks, world,
};
use super::{App, auth, error::Rejection, middleware};
use crate::model::{Code, Refusal};
use crate::rules::access::Need;
use crate::wire::paths::template as t;
use axum::Router;
use axum::http::Method;
use axum::routing::{delete, get, patch, post};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody, without a token.
    Open,
    /// Every valid token but one that only kills.
    Anyone,
    /// The same, but one that is public.
    Known,
    /// The same, but one that only resolves.
    Mine,
    /// A read: whoever has the right somewhere; the handler leaves out what the caller may not see.
    Read(Need),
    /// A read by a foreign protocol, with its ways to send a token.
    Foreign(Need),
    /// Whoever holds a ticket that the registry wrote; the handler reads it.
    Ticket,
    /// A change: the verb decides, on the key and environment, in its transaction.
    Verb(Need),
}

/// One row of the route table.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// `get`, `post`, `patch` or `delete`.
    pub method: &'static str,
    /// The path's template.
    pub template: &'static str,
    /// Who may.
    pub access: Access,
}

macro_rules! routes {
    ($($method:ident $template:ident, $access:expr => $handler:path;)+) => {
        /// Every route.
        pub const TABLE: &[Route] =
            &[$(Route { method: stringify!($method), template: t::$template, access: $access }),+];
        fn routed() -> Router<App> {
            Router::new()$(.route(t::$template, $method($handler)))+
        }
    };
}

use Access::{Anyone, Foreign, Known, Mine, Open, Read, Ticket, Verb};

routes! {
    get    HEALTHZ,             Open                     => health::healthz;
    get    READYZ,              Open                     => health::readyz;
    get    READYZ_WRITE,        Open                     => health::readyz_write;

    get    OPENAPI,             Open                     => docs::openapi;
    get    DOCS,                Open                     => docs::page;

    get    METRICS,             Read(Need::Read)         => metrics::metrics;
    get    LOGIN,               Open                     => people::login;

    get    ENVIRONMENTS,        Known                    => world::environments;
    get    ME,                  Anyone                   => people::me;
    get    POLICY,              Read(Need::PolicyRead)   => world::policy;
    post   POLICY,              Verb(Need::Policy)       => world::apply_policy;
    post   POLICY_EXPLAIN,      Read(Need::PolicyRead)   => world::explain_policy;
    get    TOKENS,              Mine                     => people::list;
    post   TOKENS,              Verb(Need::Tokens)       => people::create;
    delete TOKEN,               Verb(Need::Tokens)       => people::revoke;

    get    WEBHOOKS,            Read(Need::Webhooks)     => webhooks::list;
    post   WEBHOOKS,            Verb(Need::Webhooks)     => webhooks::create;
    delete WEBHOOK,             Verb(Need::Webhooks)     => webhooks::delete;
    get    WEBHOOK_DELIVERIES,  Read(Need::Webhooks)     => webhooks::deliveries;
    post   WEBHOOK_RETRY,       Verb(Need::Webhooks)     => webhooks::retry;

    get    KEYS,                Read(Need::Read)         => keys::list;
    post   KEYS,                Verb(Need::CreateKey)    => keys::create;
    get    KEY,                 Read(Need::Read)         => keys::show;
    patch  KEY,                 Verb(Need::KeyAdmin)     => keys::update;
    get    KEY_HISTORY,         Read(Need::Read)         => keys::history;

    get    VERSIONS,            Read(Need::Read)         => versions::list;
    post   VERSIONS,            Verb(Need::Draft)        => versions::save;
    get    VERSION_BY_SELECTOR, Read(Need::Read)         => versions::by_selector;
    get    VERSION,             Read(Need::Read)         => versions::show;
    get    DIFF,                Read(Need::Read)         => versions::diff;
    post   SUBMIT,              Verb(Need::Draft)        => versions::submit;
    post   DISCARD,             Verb(Need::Draft)        => versions::discard;
    post   QUARANTINE,          Verb(Need::Quarantine)   => versions::quarantine;
    post   LIFT,                Verb(Need::Lift)         => versions::lift;
    get    SERVED,              Read(Need::Read)         => versions::served;
    get    VERDICTS,            Read(Need::Read)         => versions::verdicts;
    post   VERDICTS,            Verb(Need::Report)       => versions::record_verdict;

    get    FRAGMENTS,           Read(Need::Read)         => fragments::list;
    post   FRAGMENTS,           Verb(Need::Draft)        => fragments::create;
    get    FRAGMENT,            Read(Need::Read)         => fragments::show;
    get    FRAGMENT_USERS,      Read(Need::Read)         => fragments::users;

    get    POINTERS,            Read(Need::Read)         => pointers::list;
    get    POINTER,             Read(Need::Read)         => pointers::show;
    post   STEP,                Verb(Need::Step)         => pointers::step;
    post   HOLD,                Verb(Need::Hold)         => pointers::hold;
    post   RESUME,              Verb(Need::Resume)       => pointers::resume;
    post   ROLLBACK,            Verb(Need::Rollback)     => pointers::rollback;
    post   KILL,                Verb(Need::Kill)         => pointers::kill;
    post   UNDO_KILL,           Verb(Need::UndoKill)     => pointers::undo_kill;
    post   KILL_MANY,           Verb(Need::Kill)         => pointers::kill_many;

    get    PROMOTIONS,          Read(Need::Read)         => promotions::list;
    post   PROMOTIONS,          Verb(Need::Open)         => promotions::open;
    post   PREVIEW,             Read(Need::Read)         => promotions::preview;
    get    PROMOTION,           Read(Need::Read)         => promotions::show;
    post   APPROVALS,           Verb(Need::Comment)      => promotions::vote;
    post   APPLY,               Verb(Need::Apply)        => promotions::apply;
    post   WITHDRAW,            Verb(Need::Withdraw)     => promotions::withdraw;
    post   RENEW,               Verb(Need::Open)         => promotions::renew;
    post   REVIEW,              Verb(Need::CloseReview)  => promotions::review;
    post   NOTE,                Verb(Need::Note)         => promotions::note;

    get    RESOLVE,             Read(Need::Resolve)      => resolve::without_unit;
    post   RESOLVE,             Read(Need::Resolve)      => resolve::resolve;
    post   EXPLAIN,             Read(Need::Resolve)      => resolve::explain;

    post   OFREP_FLAGS,         Foreign(Need::Resolve)   => ofrep::flags;
    post   OFREP_FLAG,          Foreign(Need::Resolve)   => ofrep::flag;
    post   ENV_OFREP_FLAGS,     Foreign(Need::Resolve)   => ofrep::flags;
    post   ENV_OFREP_FLAG,      Foreign(Need::Resolve)   => ofrep::flag;
    get    LANGFUSE_PROMPT,     Foreign(Need::Resolve)   => langfuse::prompt;
    get    OFREP_EVENTS,        Ticket                   => ofrep_events::follow;

    post   AS_OF,               Read(Need::Read)         => resolve::as_of;

    get    AUDIT,               Read(Need::Audit)        => audit::list;
    get    AUDIT_HEAD,          Read(Need::Audit)        => audit::head;
    get    AUDIT_CHECKPOINT,    Read(Need::Audit)        => proofs::checkpoint;
    get    AUDIT_KEY,           Read(Need::Audit)        => proofs::key;
    get    AUDIT_EXPORT,        Read(Need::Audit)        => feeds::export;
    get    AUDIT_REPORT,        Read(Need::Audit)        => report::report;
    get    BUNDLE,              Read(Need::Resolve)      => proofs::bundle;
    get    MIRROR,              Read(Need::TokensRead)   => mirror::show;
    get    STREAM,              Known                    => stream::follow;
}

/// The router with all that lies around it: identity, limits, conditional reads, request ids.
pub fn router(app: App) -> Router {
    let guarded = routed().route_layer(axum::middleware::from_fn_with_state(app.clone(), auth::guard));
    middleware::around(guarded.fallback(nothing_here).method_not_allowed_fallback(not_this_way), &app.reading).with_state(app)
}

/// The row of a route; `HEAD` is answered like `GET`.
pub fn access(method: &Method, template: &str) -> Option<Access> {
    place(method, template).map(|place| TABLE[place].access)
}

/// Where that row stands in the table.
pub fn place(method: &Method, template: &str) -> Option<usize> {
    static ROWS: LazyLock<HashMap<(&str, Method), usize>> = LazyLock::new(|| {
        let method = |name: &str| Method::from_bytes(name.to_uppercase().as_bytes()).unwrap_or_default();
        TABLE.iter().enumerate().map(|(place, route)| ((route.template, method(route.method)), place)).collect()
    });
    let method = if method == Method::HEAD { Method::GET } else { method.clone() };
    ROWS.get(&(template, method)).copied()
}

async fn nothing_here() -> Rejection {
    Rejection(Refusal::not_found())
}

/// The answer to a method that a path does not take.
pub async fn not_this_way() -> Rejection {
    Rejection(Refusal::new(Code::MethodNotAllowed, "this path does not take that method"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_routed_and_every_route_stands_once() {
        for template in t::ALL {
            assert!(TABLE.iter().any(|route| route.template == *template), "{template} is not routed");
        }
        for (at, route) in TABLE.iter().enumerate() {
            assert!(t::ALL.contains(&route.template));
            let same = |other: &&Route| (other.method, other.template) == (route.method, route.template);
            assert!(!TABLE[..at].iter().any(|other| same(&other)), "{} {} stands twice", route.method, route.template);
        }
    }

    #[test]
    fn only_health_the_document_and_where_to_log_in_are_open_and_a_route_without_a_row_is_closed() {
        let open: Vec<&str> = TABLE.iter().filter(|r| r.access == Open).map(|r| r.template).collect();
        assert_eq!(open, [t::HEALTHZ, t::READYZ, t::READYZ_WRITE, t::OPENAPI, t::DOCS, t::LOGIN]);
        assert_eq!(access(&Method::HEAD, t::KEYS), Some(Read(Need::Read)));
        assert_eq!(access(&Method::PUT, t::KEYS), None);
        assert_eq!(access(&Method::GET, "/v1/nothing"), None);
    }

    #[test]
    fn whatever_changes_something_is_decided_by_its_verb() {
        for route in TABLE.iter().filter(|route| route.method != "get") {
            let asks = matches!(route.template, t::RESOLVE | t::EXPLAIN | t::AS_OF | t::PREVIEW | t::POLICY_EXPLAIN)
                || matches!(route.access, Foreign(Need::Resolve));
            assert_eq!(matches!(route.access, Verb(_)), !asks, "{} {}", route.method, route.template);
        }
    }
}
