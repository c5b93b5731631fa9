//! What a view is given beside its state: theme, signs, time, session.

use super::keymap::Keymap;
use super::state::{Link, Screen, Session, Wire};
use super::theme::{Role, Theme};
use crate::model::Timestamp;
use ratatui::style::Style;

/// Theme, signs, time, session.
pub(crate) struct Look<'a> {
    /// Colours by meaning.
    pub(crate) theme: &'a Theme,
    /// Size, signs.
    pub(crate) screen: &'a Screen,
    /// Who and where.
    pub(crate) session: &'a Session,
    /// The connection, the chain.
    pub(crate) link: &'a Link,
    /// The keys in force.
    pub(crate) keymap: &'a Keymap,
    /// This moment.
    pub(crate) now: Timestamp,
}

impl Look<'_> {
    /// The style of a role.
    pub(crate) fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }
    /// What stands where rows will stand once they are fetched; without a token none will.
    pub(crate) fn awaited(&self, what: &'static str) -> &'static str {
        if self.link.wire == Wire::SignedOut { " not signed in: nothing can be read" } else { what }
    }
    /// One of two signs: the second where only ASCII can be shown.
    pub(crate) fn sign<'s>(&self, unicode: &'s str, ascii: &'s str) -> &'s str {
        if self.screen.ascii { ascii } else { unicode }
    }
}
