//! What a person fills in: a choice, a share, who applies it, a rationale, a token; and which of them has the keys.

use crate::tui::field::{Field, Lines};
use crate::tui::keymap::{Key, KeyCode};

/// What has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Focus {
    /// One of a few.
    Choice,
    /// A share in percent.
    Share,
    /// Who applies it, and on what.
    Timing,
    /// From when on the registry applies it.
    At,
    /// The text of a new version.
    Body,
    /// The rationale, or a kill's note.
    Why,
    /// The token.
    Token,
    /// Leaves.
    Cancel,
    /// Acts.
    Act,
}

/// One of a few: by its letter, or with the arrows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// What is chosen: `Reason`, `Gate`.
    pub(crate) label: &'static str,
    /// Letter and word of each.
    pub(crate) items: Vec<(Option<char>, String)>,
    /// Which is chosen; none at first where a person must say.
    pub(crate) at: Option<usize>,
}

impl Choice {
    /// A choice of which the first is taken unless said otherwise.
    pub(crate) fn of(label: &'static str, items: impl IntoIterator<Item = String>) -> Self {
        Self { label, items: items.into_iter().map(|text| (None, text)).collect(), at: Some(0) }
    }
    /// The chosen word.
    pub(crate) fn chosen(&self) -> Option<&str> {
        self.items.get(self.at?).map(|item| item.1.as_str())
    }
    /// Takes the item with this word, where there is one.
    pub(crate) fn take(&mut self, word: &str) {
        self.at = self.items.iter().position(|item| item.1 == word).or(self.at);
    }
    /// Takes a key; whether it meant something.
    fn key(&mut self, key: &Key) -> bool {
        let count = self.items.len();
        if count == 0 || key.ctrl || key.alt {
            return false;
        }
        match key.code {
            KeyCode::Char(c) if self.items.iter().any(|item| item.0 == Some(c)) => {
                self.at = self.items.iter().position(|item| item.0 == Some(c));
            }
            KeyCode::Right | KeyCode::Down | KeyCode::Char(' ') => self.at = Some(self.at.map_or(0, |at| (at + 1) % count)),
            KeyCode::Left | KeyCode::Up => self.at = Some(self.at.map_or(count - 1, |at| (at + count - 1) % count)),
            _ => return false,
        }
        true
    }
}

/// What is filled in.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    /// One of a few, where there is something to choose.
    pub(crate) choice: Option<Choice>,
    /// A share in percent, where one is asked for.
    pub(crate) share: Option<Field>,
    /// Who applies it, where that can be left to the registry.
    pub(crate) timing: Option<Choice>,
    /// From when on, where a time was chosen.
    pub(crate) at: Option<Field>,
    /// The text of a new version.
    pub(crate) body: Option<Field>,
    /// The rationale or note, where one is asked for.
    pub(crate) why: Option<Field>,
    /// Whether a token is asked for.
    pub(crate) token: bool,
    /// Whether the token comes before the rationale: a kill.
    pub(crate) token_first: bool,
    /// Whether a letter just made the choice: another letter is meant for what comes next.
    pub(crate) chose: bool,
    /// What has the keys.
    pub(crate) focus: Focus,
}

impl Form {
    /// A form with a rationale (or none) that has the keys.
    pub(crate) fn new(with_why: bool) -> Self {
        let why = with_why.then(|| Field::new(Lines::Many));
        let focus = if with_why { Focus::Why } else { Focus::Cancel };
        Self {
            choice: None,
            share: None,
            timing: None,
            at: None,
            body: None,
            why,
            token: false,
            token_first: false,
            chose: false,
            focus,
        }
    }

    /// The rationale as typed, without blanks around it.
    pub(crate) fn reason(&self) -> String {
        self.why.as_ref().map(|why| why.text().trim().to_owned()).unwrap_or_default()
    }

    /// Whether a text of many lines has the keys.
    pub(crate) fn is_writing(&self) -> bool {
        matches!(self.focus, Focus::Why | Focus::Body)
    }

    /// Everything that can have the keys, in the order of tab.
    pub(crate) fn stops(&self) -> Vec<Focus> {
        let mut stops = Vec::new();
        stops.extend(self.choice.as_ref().filter(|c| c.items.len() > 1 || c.at.is_none()).map(|_| Focus::Choice));
        stops.extend(self.share.as_ref().map(|_| Focus::Share));
        stops.extend(self.timing.as_ref().map(|_| Focus::Timing));
        stops.extend(self.at.as_ref().map(|_| Focus::At));
        stops.extend(self.body.as_ref().map(|_| Focus::Body));
        let (why, token) = (self.why.as_ref().map(|_| Focus::Why), self.token.then_some(Focus::Token));
        stops.extend(if self.token_first { [token, why] } else { [why, token] }.into_iter().flatten());
        stops.extend([Focus::Cancel, Focus::Act]);
        stops
    }

    /// Gives the keys to the next or the one before.
    pub(crate) fn step(&mut self, back: bool) {
        let stops = self.stops();
        let at = stops.iter().position(|stop| *stop == self.focus).unwrap_or(0);
        let next = if back { at + stops.len() - 1 } else { at + 1 } % stops.len();
        self.focus = stops[next];
        self.chose = false;
    }

    /// Gives the keys to the token where a reason was just chosen by its letter and another letter follows: somebody in a
    /// hurry types the environment at once, and none of its letters may choose another reason. The same letter again is a
    /// finger that stayed too long.
    pub(crate) fn moves_on(&mut self, key: &Key) -> bool {
        let KeyCode::Char(c) = key.code else { return false };
        let same = self.choice.as_ref().and_then(|choice| choice.items.get(choice.at?)?.0) == Some(c);
        let moves = self.chose && self.focus == Focus::Choice && self.token && self.token_first;
        if !moves || same || key.ctrl || key.alt || c == ' ' {
            return false;
        }
        self.focus = Focus::Token;
        self.chose = false;
        true
    }

    /// Keeps the keys on something that is there.
    pub(crate) fn settle(&mut self) {
        let stops = self.stops();
        if !stops.contains(&self.focus) {
            self.focus = stops[0];
        }
    }

    /// Takes a key for the choice or the texts; whether it meant something to them.
    pub(crate) fn key(&mut self, key: &Key) -> bool {
        match self.focus {
            Focus::Choice => {
                let took = self.choice.as_mut().is_some_and(|choice| choice.key(key));
                self.chose = took && matches!(key.code, KeyCode::Char(c) if c != ' ');
                took
            }
            Focus::Share => self.share.as_mut().is_some_and(|field| field.key(key)),
            Focus::Timing => self.timing.as_mut().is_some_and(|choice| choice.key(key)),
            Focus::At => self.at.as_mut().is_some_and(|field| field.key(key)),
            Focus::Body => self.body.as_mut().is_some_and(|field| field.key(key)),
            Focus::Why => self.why.as_mut().is_some_and(|field| field.key(key)),
            Focus::Token | Focus::Cancel | Focus::Act => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_asks_for_reason_then_token_then_note_then_buttons() {
        let mut form = Form::new(true);
        form.choice = Some(Choice { at: None, ..Choice::of("Reason", ["outage".to_owned(), "test".to_owned()]) });
        (form.token, form.token_first) = (true, true);
        assert_eq!(form.stops(), [Focus::Choice, Focus::Token, Focus::Why, Focus::Cancel, Focus::Act]);
        form.token_first = false;
        assert_eq!(form.stops(), [Focus::Choice, Focus::Why, Focus::Token, Focus::Cancel, Focus::Act]);
    }

    #[test]
    fn cancel_comes_before_the_act_and_tab_goes_round() {
        let mut form = Form::new(true);
        let mut seen = vec![form.focus];
        for _ in 0..3 {
            form.step(false);
            seen.push(form.focus);
        }
        assert_eq!(seen, [Focus::Why, Focus::Cancel, Focus::Act, Focus::Why]);
        form.step(true);
        assert_eq!(form.focus, Focus::Act);
    }

    #[test]
    fn a_choice_is_made_by_letter_or_arrow_and_nothing_else() {
        let mut choice =
            Choice { label: "Reason", items: vec![(Some('o'), "outage".into()), (Some('q'), "quality".into())], at: None };
        assert!(!choice.key(&Key::char('p')));
        assert!(!choice.key(&Key::ctrl('o')));
        assert_eq!(choice.chosen(), None);
        assert!(choice.key(&Key::char('q')));
        assert_eq!(choice.chosen(), Some("quality"));
        assert!(choice.key(&Key::plain(KeyCode::Right)));
        assert_eq!(choice.chosen(), Some("outage"));
    }
}
