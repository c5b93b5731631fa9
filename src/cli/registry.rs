//! The commands that talk to a registry over its API.

use super::context::Context;
use super::exit::Done;
use super::pointer::PlainAct;
use super::version::Fate;
use super::{
    audit, bundle, diff, draft, fragment, grep, import, key, login, look, pointer, policy, preview, promote, resolve, review,
    seen, served, token, version, vote, webhook,
};
use crate::model::Verdict;

/// Commands that talk to a registry.
#[derive(Debug, clap::Subcommand)]
pub enum RegistryCommand {
    Login(login::Login),
    /// Forgets the token on this machine
    Logout,
    /// Says who you are to the registry
    Whoami,
    /// Prints where files are kept
    Paths,
    #[command(subcommand)]
    Token(token::TokenCommand),
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    #[command(subcommand)]
    Key(key::Key),
    Keys(key::Keys),
    Show(key::Show),
    Versions(key::Versions),
    Cat(version::Cat),
    Diff(diff::Diff),
    #[command(subcommand)]
    Fragment(fragment::FragmentCommand),
    Draft(draft::Draft),
    Submit(version::SubmitArgs),
    /// Hides a version of yours
    Discard(version::Because),
    /// Marks a version so that it cannot come to serve
    Quarantine(version::Because),
    /// Lifts another person's mark
    Lift(version::Because),
    Verdict(version::VerdictArgs),
    Promote(promote::Promote),
    Revive(promote::Revive),
    Inbox(review::Inbox),
    Review(review::Review),
    /// Approves what the review shows, which is printed to stderr
    Approve(vote::VoteArgs),
    /// Blocks a promotion until you take it back
    Reject(vote::VoteArgs),
    /// Takes your vote back
    Retract(vote::VoteArgs),
    /// Opens one evaluation gate for one promotion; reviewed afterwards
    Override(vote::VoteArgs),
    /// Says something about a promotion
    Comment(vote::Words),
    /// Reviews a kill, undo-kill, revive or override afterwards
    CloseReview(vote::Words),
    /// Gives the note that a kill owes
    Note(vote::Note),
    Apply(promote::Apply),
    Withdraw(promote::Withdraw),
    Wait(promote::Wait),
    Step(pointer::Step),
    /// Holds the steps of a rollout
    Hold(pointer::HoldArgs),
    /// Lets a held rollout go on
    Resume(pointer::Plain),
    #[command(subcommand)]
    Rollout(pointer::Rollout),
    Rollback(pointer::RollbackArgs),
    Kill(pointer::KillArgs),
    /// Takes your own kill back, within ten minutes
    UndoKill(pointer::Plain),
    Resolve(resolve::Resolve),
    Where(served::Where),
    Changes(served::Changes),
    Grep(grep::Grep),
    Preview(preview::Preview),
    #[command(subcommand)]
    Audit(audit::Audit),
    Export(bundle::Export),
    #[command(subcommand)]
    Webhook(webhook::WebhookCommand),
    #[command(subcommand)]
    Import(import::Import),
    #[command(subcommand)]
    Keymap(look::KeymapCommand),
    #[command(subcommand)]
    Theme(look::ThemeCommand),
}

impl RegistryCommand {
    /// Runs the command; what it was told of the audit chain is verified and remembered.
    pub async fn run(self, context: &Context) -> Done {
        // What holds back or only speaks was asked for because something is wrong: that it was done is what its end says.
        let holds_back = matches!(self, Self::Kill(_) | Self::Hold(_) | Self::Rollback(_) | Self::Comment(_));
        let done = self.act(context).await;
        seen::remember(context, done, holds_back).await
    }

    async fn act(self, context: &Context) -> Done {
        match self {
            Self::Login(args) => args.run(context).await,
            Self::Logout => login::logout(context),
            Self::Whoami => login::whoami(context).await,
            Self::Paths => login::paths(context),
            Self::Token(args) => args.run(context).await,
            Self::Policy(args) => args.run(context).await,
            Self::Key(args) => args.run(context).await,
            Self::Keys(args) => args.run(context).await,
            Self::Show(args) => args.run(context).await,
            Self::Versions(args) => args.run(context).await,
            Self::Cat(args) => args.run(context).await,
            Self::Diff(args) => args.run(context).await,
            Self::Fragment(args) => args.run(context).await,
            Self::Draft(args) => args.run(context).await,
            Self::Submit(args) => args.run(context).await,
            Self::Discard(args) => args.run(Fate::Discard, context).await,
            Self::Quarantine(args) => args.run(Fate::Quarantine, context).await,
            Self::Lift(args) => args.run(Fate::Lift, context).await,
            Self::Verdict(args) => args.run(context).await,
            Self::Resolve(args) => args.run(context).await,
            Self::Where(args) => args.run(context).await,
            Self::Changes(args) => args.run(context).await,
            Self::Grep(args) => args.run(context).await,
            Self::Preview(args) => args.run(context).await,
            Self::Audit(args) => args.run(context).await,
            Self::Export(args) => args.run(context).await,
            Self::Webhook(args) => args.run(context).await,
            Self::Import(args) => args.run(context).await,
            Self::Keymap(args) => args.run(context),
            Self::Theme(args) => args.run(context),
            act => act.promote(context).await,
        }
    }

    /// The commands about promotions and pointers.
    async fn promote(self, context: &Context) -> Done {
        match self {
            Self::Promote(args) => args.run(context).await,
            Self::Revive(args) => args.run(context).await,
            Self::Inbox(args) => args.run(context).await,
            Self::Review(args) => args.run(context).await,
            Self::Approve(args) => args.run(Verdict::Approve, context).await,
            Self::Reject(args) => args.run(Verdict::Reject, context).await,
            Self::Retract(args) => args.run(Verdict::Retract, context).await,
            Self::Override(args) => args.run(Verdict::Override, context).await,
            Self::Comment(args) => args.comment(context).await,
            Self::CloseReview(args) => args.close_review(context).await,
            Self::Note(args) => args.run(context).await,
            Self::Apply(args) => args.run(context).await,
            Self::Withdraw(args) => args.run(context).await,
            Self::Wait(args) => args.run(context).await,
            Self::Step(args) => args.run(context).await,
            Self::Hold(args) => args.run(context).await,
            Self::Resume(args) => args.run(PlainAct::Resume, context).await,
            Self::UndoKill(args) => args.run(PlainAct::UndoKill, context).await,
            Self::Rollout(args) => args.run(context).await,
            Self::Rollback(args) => args.run(context).await,
            Self::Kill(args) => args.run(context).await,
            // Everything else is in `run`.
            _ => Ok(()),
        }
    }
}
