//! The verbs: one transaction, one audit event each.

pub mod apply;
pub mod approve;
pub mod command;
pub mod expire;
mod fault;
pub mod hold;
pub mod kill;
pub mod note;
pub mod open_promotion;
pub mod renew;
pub mod resume;
pub mod review;
pub mod rollback;
pub mod step;
pub mod undo_kill;
pub mod withdraw;
pub mod work;

pub use apply::{Applied, ApplyPromotion};
pub use approve::CastVote;
pub use command::{Answered, Idempotency, Registry};
pub use expire::ExpirePromotions;
pub use hold::HoldPointer;
pub use kill::KillPointer;
pub use note::NotePromotion;
pub use open_promotion::{OpenPromotion, Opened};
pub use renew::RenewPromotion;
pub use resume::ResumePointer;
pub use review::ReviewPromotion;
pub use rollback::RollbackPointer;
pub use step::StepPointer;
pub use undo_kill::UndoKill;
pub use withdraw::WithdrawPromotion;
pub use work::{Deed, Outcome, Verb, Work};
