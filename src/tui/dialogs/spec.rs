//! What a kind of dialog shows and sends, computed anew from what is known and filled in. One file a kind beside this one.

use super::form::Form;
use super::known::Known;
use super::sheet::{Row, Words};
use super::words;
use super::{after, approve, draft, kill, open, pointer, promote, unanswered, version};
use crate::model::{
    BasisPoints, Environment, PromotionState, ReadinessItem, ReadinessKind, ReadinessStatus, Timestamp, UnitType,
};
use crate::tui::effect::Call;
use crate::tui::msg::{DialogKind, DialogRequest};
use crate::tui::state::{Link, Session};
use crate::tui::theme::Role;
use crate::wire::promotions::PromotionView;

/// Everything that a kind of dialog may look at.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    /// What was asked for.
    pub(super) request: &'a DialogRequest,
    /// Where; a kill's can be changed.
    pub(super) environment: Option<&'a Environment>,
    /// What was read.
    pub(super) known: &'a Known,
    /// What is filled in.
    pub(super) form: &'a Form,
    /// Who and where.
    pub(super) session: &'a Session,
    /// The connection, the chain.
    pub(super) link: &'a Link,
    /// Acts that were not answered.
    pub(super) desk: &'a super::desk::Desk,
    /// This moment, on the wall.
    pub(super) now: Timestamp,
}

/// What a dialog shows and sends.
#[derive(Debug, Default)]
pub(super) struct Spec {
    /// `KILL in`; the environment follows where there is one.
    pub(super) title: String,
    /// What is read.
    pub(super) rows: Vec<Row>,
    /// What stands over the rationale; none where none is asked for.
    pub(super) why: &'static str,
    /// Whether the rationale must not be blank.
    pub(super) why_required: bool,
    /// What must be typed.
    pub(super) token: Option<Token>,
    /// What the button says.
    pub(super) button: String,
    /// Why it cannot be done, beyond the protocol.
    pub(super) blocked: Vec<String>,
    /// The command line that does the same.
    pub(super) command: String,
    /// What it is, in words: `kill support.refund.system in prod`.
    pub(super) task: String,
    /// What is said when it is done.
    pub(super) done: String,
    /// What is sent.
    pub(super) call: Option<Call>,
    /// Whether it changes what is served, or marks it: a double frame.
    pub(super) grave: bool,
}

/// What must be typed, and how it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The text.
    pub(super) text: String,
    /// `Type the environment to arm:`
    pub(super) asks: &'static str,
}

/// What a dialog of this kind shows and sends now.
pub(super) fn of(ask: &Ask) -> Spec {
    use DialogKind as K;
    match ask.request.kind {
        K::Approve | K::RequestChanges | K::Comment | K::Override => approve::spec(ask),
        K::Promote => promote::spec(ask),
        K::Open | K::Revive => open::spec(ask),
        K::Rollback | K::StepUp | K::StepDown | K::Resume | K::UndoKill | K::Hold => pointer::spec(ask),
        K::Kill => kill::spec(ask),
        K::Quarantine | K::Lift | K::Submit => version::spec(ask),
        K::Draft => draft::spec(ask),
        K::Withdraw | K::SettleReview | K::SettleNote => after::spec(ask),
        K::Unanswered => unanswered::spec(ask),
    }
}

impl Ask<'_> {
    /// The environment's name, or a dash.
    pub(super) fn place(&self) -> &str {
        self.environment.map_or("—", Environment::as_str)
    }

    /// Whether the environment is protected; what is not known is.
    pub(super) fn is_protected(&self) -> bool {
        let by_policy = self.environment.map(|e| e.is_safe_default() || self.session.is_protected(e));
        self.known.is_protected().or(by_policy).unwrap_or(true) || by_policy == Some(true)
    }

    /// The key's last segment, where the act is dangerous here.
    pub(super) fn segment_token(&self, asked: bool) -> Option<Token> {
        asked.then(|| Token { text: self.request.key.last_segment().to_owned(), asks: "Type the key's last segment to arm:" })
    }

    /// `--rationale '…'` as a shell would read it.
    pub(super) fn rationale_flag(&self) -> String {
        let reason = self.form.reason();
        if reason.is_empty() { "--rationale …".into() } else { format!("--rationale {}", quoted(&reason)) }
    }
}

/// A word as a shell reads it.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | ':' | '/' | ',');
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\n', " ").replace('\'', r"'\''"))
}

/// What a promotion says of itself: from, to, baseline, safe default, plan, why, policy and statement.
pub(super) fn promotion_rows(view: &PromotionView, known: &Known, now: Timestamp) -> Vec<Row> {
    let promotion = &view.promotion;
    // The pointer is as it is now: what it says of the digest before is true until the promotion took effect.
    let now_serves =
        view.pointer.as_ref().filter(|p| promotion.state == PromotionState::Open && Some(p.digest) == promotion.from_digest);
    let serving = match now_serves {
        Some(p) if p.killed => "   KILLED".to_owned(),
        Some(p) => format!("   {} %", p.rollout_pct),
        None => String::new(),
    };
    let from = view.from.as_ref().map_or_else(|| known.name(promotion.from_digest.as_ref()), |v| words::version(v, now));
    let to = view.to.as_ref().map_or_else(|| known.name(promotion.to_digest.as_ref()), |v| words::version(v, now));
    let outside = if promotion.rollout_pct == BasisPoints::ALL {
        String::new()
    } else {
        format!("   the others get {}", known.name(promotion.baseline_digest.as_ref()))
    };
    let mut rows = vec![
        Row::named("from", &format!("{from}{serving}")),
        Row::named("to", &to),
        Row::named("plan", &format!("{}{outside}", words::steps(&promotion.plan))),
        Row::named("safe", &format!("after a kill everybody gets {}", known.name(promotion.safe_default_digest.as_ref()))),
        Row::Named(
            "why",
            Words::text(&one_line(&promotion.rationale)).and(Role::Dim, &format!("  — {}", words::who(&promotion.actor))),
        ),
    ];
    let overridden = view.readiness.0.iter().filter(|item| item.status == ReadinessStatus::Overridden);
    rows.extend(overridden.map(|item| Row::Line(sign(item))));
    rows
}

/// What is signed, as hashes: `statement 3f0b… · policy 77b0…`.
pub(super) fn signed_row(view: &PromotionView) -> Row {
    let policy = crate::rules::statement::policy_digest(&view.rule);
    Row::Named("signs", Words::of(Role::Dim, &format!("{} · policy {}", shown_statement(view).digest().short(), policy.short())))
}

/// The statement, computed from what the dialog shows (R9): the policy's digest from the rule, the rest from the rows.
pub(super) fn shown_statement(view: &PromotionView) -> crate::rules::statement::Statement {
    let mut statement = crate::rules::statement::Statement::of(&view.promotion);
    statement.policy_digest = crate::rules::statement::policy_digest(&view.rule);
    statement.to = view.to.as_ref().map(|version| version.digest).or(statement.to);
    statement.from = view.from.as_ref().map(|version| version.digest).or(statement.from);
    statement
}

/// Readiness: what is met in short, what is not with its reason and who can meet it.
pub(super) fn readiness_rows(view: &PromotionView) -> Vec<Row> {
    let mut met = Vec::new();
    let mut rows = Vec::new();
    for item in &view.readiness.0 {
        if item.status == ReadinessStatus::Met {
            // `+ quarantine` would read as what it is not.
            let by_reason = matches!(
                item.kind,
                ReadinessKind::State | ReadinessKind::Quarantine | ReadinessKind::Killed | ReadinessKind::Held
            );
            let word = if by_reason { item.reason.clone() } else { label(item) };
            met.push(Words::of(Role::Ok, "+ ").then(&word));
        } else {
            rows.push(Row::Line(sign(item)));
        }
    }
    if !met.is_empty() {
        rows.push(Row::Items(met));
    }
    rows
}

/// What is required: `gate tone`, `order`.
pub(super) fn label(item: &ReadinessItem) -> String {
    let kind = item.kind.as_str().replace('_', " ");
    if item.name == item.kind.as_str() { kind } else { format!("{kind} {}", item.name) }
}

fn sign(item: &ReadinessItem) -> Words {
    let (role, sign) = match item.status {
        ReadinessStatus::Met => (Role::Ok, "+ "),
        ReadinessStatus::Unmet => (Role::Danger, "x "),
        ReadinessStatus::Pending => (Role::Pending, "? "),
        ReadinessStatus::Overridden => (Role::Warning, "! "),
    };
    let who = if item.who.is_empty() || item.status == ReadinessStatus::Overridden {
        String::new()
    } else {
        let names: Vec<&str> = item.who.iter().map(|w| w.strip_prefix("person:").unwrap_or(w)).collect();
        format!("  ({})", names.join(", "))
    };
    Words::of(role, sign).then(&label(item)).and(Role::Dim, &format!(": {}{who}", item.reason))
}

/// A text in one line, cut where it gets long.
pub(super) fn one_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match joined.char_indices().nth(160) {
        Some((at, _)) => format!("{}…", &joined[..at]),
        None => joined,
    }
}

/// `users`
pub(super) fn units(unit: UnitType) -> &'static str {
    match unit {
        UnitType::User => "users",
        UnitType::Session => "sessions",
        UnitType::Tenant => "tenants",
    }
}
