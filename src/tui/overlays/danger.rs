//! The danger menu behind `!`: every act that changes what is served, what it would hit, and why some cannot be done here.
//!
//! ```text
//! ╔ ! support.refund.system  [PROD] ══════════════════════════════╗
//! ║ k  kill          Stop serving at once …                       ║
//! ║ p  promote       no open promotion here                       ║
//! ```

use super::{Effect, Frame, Look, Rect, State, at_the_foot};
use crate::model::{Act, PromotionState};
use crate::tui::action::{Action, Danger};
use crate::tui::msg::{DialogKind, DialogRequest, Msg, Notice};
use crate::tui::state::{Room, Subject};
use crate::tui::theme::Role;
use crate::tui::update::{say, subject, tell};
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;

/// The acts, the urgent ones first.
const ORDER: [Action; 11] = [
    Action::DangerKill,
    Action::DangerRollback,
    Action::DangerPromote,
    Action::DangerStepUp,
    Action::DangerStepDown,
    Action::DangerResume,
    Action::DangerRevive,
    Action::DangerUndoKill,
    Action::DangerOverride,
    Action::DangerQuarantine,
    Action::DangerLift,
];

/// The dialog of an act on a subject, or why there is none.
fn request(action: Action, subject: &Subject) -> Result<DialogRequest, &'static str> {
    let open = subject.promotion.as_deref().filter(|p| p.promotion.state == PromotionState::Open);
    let kind = match action {
        Action::DangerKill => DialogKind::Kill,
        Action::DangerRollback => DialogKind::Rollback,
        Action::DangerPromote if subject.marked.len() > 1 => DialogKind::Promote,
        Action::DangerPromote if open.is_some_and(|p| p.promotion.act == Act::Revive) => DialogKind::Promote,
        Action::DangerPromote if open.is_some() => DialogKind::Promote,
        Action::DangerPromote if subject.digest.is_some() => DialogKind::Open,
        Action::DangerPromote => return Err("no open promotion and no version here"),
        Action::DangerStepUp => DialogKind::StepUp,
        Action::DangerStepDown => DialogKind::StepDown,
        Action::DangerResume => DialogKind::Resume,
        Action::DangerRevive => DialogKind::Revive,
        Action::DangerUndoKill => DialogKind::UndoKill,
        Action::DangerOverride if open.is_none() => return Err("overrides belong to an open promotion: open one first"),
        Action::DangerOverride => DialogKind::Override,
        Action::DangerQuarantine | Action::DangerLift if subject.digest.is_none() => return Err("no version here"),
        Action::DangerQuarantine => DialogKind::Quarantine,
        Action::DangerLift => DialogKind::Lift,
        _ => return Err("not a dangerous act"),
    };
    subject.dialog(kind).ok_or("no key here")
}

/// An act was chosen, by key or palette.
pub(crate) fn chosen(state: &mut State, action: Action) -> Vec<Effect> {
    debug_assert_eq!(action.danger(), Danger::Typed);
    match request(action, &subject(state)) {
        Ok(request) => vec![tell(Msg::DialogAsked(Box::new(request)))],
        Err(why) => vec![say(Notice::error(format!("cannot {}: {why}", action.title())))],
    }
}

/// Draws the menu at the foot of the screen.
pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let subject = subject(state);
    let height = u16::try_from(ORDER.len()).unwrap_or(0) + 2;
    let area = at_the_foot(area, 78, height);
    let key = subject.key.as_ref().map_or("", |k| k.as_str());
    let protected = subject.environment.as_ref().is_some_and(|e| look.session.is_protected(e));
    let mut title = Row::new(area.width.saturating_sub(6), look).word("! ", Role::Danger).outside_word(key, Role::Strong);
    if let Some(environment) = &subject.environment {
        let text = crate::tui::widgets::environment(environment.as_str(), protected);
        title = title.word("  ", Role::Text).outside_word(&text, if protected { Role::Protected } else { Role::Text });
    }
    if subject.marked.len() > 1 {
        title = title.word(format!("  and {} marked rows: one dialog for all", subject.marked.len()), Role::Warning);
    }
    let inside = Pane::new(title.words()).foot("esc leaves").double(protected).focused(true).draw_over(frame, area, look);
    for (n, action) in ORDER.iter().enumerate() {
        let Some(y) = u16::try_from(n).ok().filter(|n| *n < inside.height) else { break };
        let line = entry(*action, &subject, inside.width, state.room, look);
        frame.put(line, Rect { y: inside.y + y, height: 1, ..inside });
    }
}

fn entry(action: Action, subject: &Subject, width: u16, _room: Room, look: &Look) -> ratatui::text::Line<'static> {
    let key = look.keymap.text(action).unwrap_or_default();
    let row = Row::new(width, look).word(" ", Role::Text);
    match request(action, subject) {
        Ok(_) => row.own(key, 3, Role::Danger).own(action.title(), 14, Role::Strong).word(action.help(), Role::Text),
        Err(why) => row.own(key, 3, Role::Dim).own(action.title(), 14, Role::Dim).word(format!("({why})"), Role::Dim),
    }
    .line()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dangerous_act_is_in_the_menu() {
        for action in Action::ALL.iter().filter(|a| a.danger() == Danger::Typed) {
            assert!(ORDER.contains(action), "{action}");
        }
    }

    #[test]
    fn a_kill_needs_nothing_but_a_key() {
        let subject = Subject { key: Some("support.greeting".parse().unwrap()), ..Subject::default() };
        assert_eq!(request(Action::DangerKill, &subject).unwrap().kind, DialogKind::Kill);
        assert!(request(Action::DangerPromote, &subject).is_err());
        assert!(request(Action::DangerKill, &Subject::default()).is_err());
    }
}
