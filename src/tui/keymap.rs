//! Keys as data: what a key press is, how it is written in a keymap, and which action it names in a scope.

use super::action::{Action, Danger, Scope};
use super::nearness::nearest;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyCode {
    /// A character as typed (with shift already applied).
    Char(char),
    /// Return.
    Enter,
    /// Tab.
    Tab,
    /// Shift and tab.
    BackTab,
    /// Escape.
    Esc,
    /// Backwards delete.
    Backspace,
    /// Forwards delete.
    Delete,
    /// Arrow.
    Left,
    /// Arrow.
    Right,
    /// Arrow.
    Up,
    /// Arrow.
    Down,
    /// Start of line.
    Home,
    /// End of line.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key.
    F(u8),
    /// Anything else: never bound.
    Other,
}

/// Names of keys that are not characters, as keymaps write them.
const NAMED: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("esc", KeyCode::Esc),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
];

/// Whether a key went down, is held, or came up. Terminals without the enhancement only ever press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Press {
    /// Went down.
    #[default]
    Down,
    /// Is held: never counts in a token.
    Repeat,
    /// Came up: never counts at all.
    Up,
}

/// One key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// What was pressed.
    pub code: KeyCode,
    /// With control.
    pub ctrl: bool,
    /// With alt.
    pub alt: bool,
    /// Down, held or up.
    pub press: Press,
}

impl Key {
    /// A plain press of `code`.
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false, alt: false, press: Press::Down }
    }
    /// A plain press of a character.
    pub const fn char(c: char) -> Self {
        Self::plain(KeyCode::Char(c))
    }
    /// A character with control.
    pub const fn ctrl(c: char) -> Self {
        Self { code: KeyCode::Char(c), ctrl: true, alt: false, press: Press::Down }
    }
    /// The same key as a first press, to be looked up in a keymap.
    #[must_use]
    pub const fn as_pressed(mut self) -> Self {
        self.press = Press::Down;
        self
    }
    /// The digit that it is, without control or alt.
    pub fn digit(self) -> Option<u64> {
        match self.code {
            KeyCode::Char(c) if !self.ctrl && !self.alt => c.to_digit(10).map(u64::from),
            _ => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            f.write_str("ctrl-")?;
        }
        if self.alt {
            f.write_str("alt-")?;
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(n) => write!(f, "f{n}"),
            _ => f.write_str("?"),
        }
    }
}

impl FromStr for Key {
    type Err = String;
    /// `x`, `X`, `space`, `ctrl-d`, `alt-x`, `pgdn`, `f10`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut rest, mut ctrl, mut alt) = (text, false, false);
        loop {
            if let Some(after) = rest.strip_prefix("ctrl-").filter(|a| !a.is_empty()) {
                (rest, ctrl) = (after, true);
            } else if let Some(after) = rest.strip_prefix("alt-").filter(|a| !a.is_empty()) {
                (rest, alt) = (after, true);
            } else {
                break;
            }
        }
        let named = NAMED.iter().find(|(name, _)| *name == rest).map(|(_, code)| *code);
        let function = || rest.strip_prefix('f').and_then(|n| n.parse().ok()).filter(|n| (1..=24).contains(n)).map(KeyCode::F);
        let mut chars = rest.chars();
        let one = match (chars.next(), chars.next()) {
            (Some(c), None) if !c.is_control() && c != ' ' => Some(KeyCode::Char(c)),
            _ => None,
        };
        let code = named.or(one).or_else(function).ok_or_else(|| {
            let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
            format!("{text:?} is no key; write a character, or one of {}", names.join(", "))
        })?;
        Ok(Self { code, ctrl, alt, press: Press::Down })
    }
}

/// Keys pressed one after the other.
pub type Chord = Vec<Key>;

/// Writes a chord as keymaps do: `g g`, `] u`.
pub fn chord_text(chord: &[Key]) -> String {
    // Two plain characters are what a person would say in one breath.
    let plain = chord.iter().all(|k| matches!(k.code, KeyCode::Char(c) if c != ' ') && !k.ctrl && !k.alt);
    chord.iter().map(Key::to_string).collect::<Vec<_>>().join(if plain { "" } else { " " })
}

/// What keys mean so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// An action.
    Action(Action),
    /// The beginning of a chord.
    Prefix,
    /// Nothing.
    Nothing,
}

/// The keys in force: scope, keys, action.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keymap {
    bound: BTreeMap<Scope, BTreeMap<Chord, Action>>,
}

/// A fault in a keymap file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Line from 1; 0 where the fault is what is missing.
    pub line: usize,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.problem)
    }
}

/// The default keymap, as TOML.
pub const DEFAULT: &str = include_str!("../../keymaps/default.toml");
/// More vim, as TOML; merged over the default.
pub const VIM: &str = include_str!("../../keymaps/vim.toml");

impl Keymap {
    /// The default keys.
    pub fn standard() -> Self {
        let mut keymap = Self::default();
        // A test holds that the built-in file has no fault.
        let _ = keymap.merge(DEFAULT);
        keymap
    }

    /// Merges a file over this map: an action that the file names loses its keys and gets those of the file; an empty
    /// list unbinds.
    ///
    /// # Errors
    /// Every fault, in the order of the file; the map is unchanged then.
    pub fn merge(&mut self, source: &str) -> Result<(), Vec<Fault>> {
        let mut merged = self.clone();
        let mut faults = Vec::new();
        let wishes = read(source, &mut faults);
        for wish in &wishes {
            if let Some(scope) = merged.bound.get_mut(&wish.scope) {
                scope.retain(|_, action| *action != wish.action);
            }
        }
        for wish in wishes {
            for chord in wish.chords {
                merged.bind(wish.scope, chord, wish.action, wish.line, &mut faults);
            }
        }
        merged.check_danger(&mut faults);
        if !faults.is_empty() {
            return Err(faults);
        }
        *self = merged;
        Ok(())
    }

    fn bind(&mut self, scope: Scope, chord: Chord, action: Action, line: usize, faults: &mut Vec<Fault>) {
        let text = chord_text(&chord);
        if action.danger() == Danger::Typed && scope != Scope::Danger && chord.len() < 2 {
            let problem = format!("`{action}` on the single key `{text}`: danger opens with `!` or `:`, never by one key");
            faults.push(Fault { line, problem });
            return;
        }
        let bound = self.bound.entry(scope).or_default();
        let clash = bound.iter().find(|(other, _)| other.starts_with(&chord) || chord.starts_with(other));
        if let Some((other, taken)) = clash.filter(|(_, taken)| **taken != action) {
            let other = chord_text(other);
            faults.push(Fault {
                line,
                problem: format!("`{text}` for `{action}` clashes with `{other}` for `{taken}` in [{}]", scope.id()),
            });
            return;
        }
        bound.insert(chord, action);
    }

    /// The danger menu and all that is in it must stay reachable: an on-call engineer relies on it.
    fn check_danger(&self, faults: &mut Vec<Fault>) {
        let hidden = Action::ALL
            .iter()
            .filter(|a| a.danger() == Danger::Typed || **a == Action::Danger)
            .filter(|a| self.chord_in(a.scope(), **a).is_none());
        faults
            .extend(hidden.map(|a| Fault { line: 0, problem: format!("`{a}` has no key: what a kill needs may not be hidden") }));
    }

    /// What `keys` mean in the first of `scopes` that knows them.
    pub fn find(&self, scopes: &[Scope], keys: &[Key]) -> Found {
        let mut prefix = false;
        for scope in scopes {
            let Some(bound) = self.bound.get(scope) else { continue };
            if let Some(action) = bound.get(keys) {
                return Found::Action(*action);
            }
            prefix = prefix || bound.keys().any(|chord| chord.len() > keys.len() && chord.starts_with(keys));
            if prefix {
                return Found::Prefix;
            }
        }
        Found::Nothing
    }

    fn chord_in(&self, scope: Scope, action: Action) -> Option<&Chord> {
        let bound = self.bound.get(&scope)?;
        bound.iter().filter(|(_, a)| **a == action).map(|(chord, _)| chord).min_by_key(|chord| rank(chord))
    }

    /// The shortest way to say an action in its own scope, as text; `None` when it is not bound.
    pub fn text(&self, action: Action) -> Option<String> {
        self.chord_in(action.scope(), action).map(|c| chord_text(c))
    }

    /// All keys of an action in its own scope.
    pub fn texts(&self, action: Action) -> Vec<String> {
        let Some(bound) = self.bound.get(&action.scope()) else { return Vec::new() };
        let mut chords: Vec<&Chord> = bound.iter().filter(|(_, a)| **a == action).map(|(chord, _)| chord).collect();
        chords.sort_by_key(|chord| rank(chord));
        chords.into_iter().map(|c| chord_text(c)).collect()
    }
}

/// Letters before names, short before long: what a hint shows.
fn rank(chord: &[Key]) -> (usize, bool, bool) {
    let letter = |k: &Key| matches!(k.code, KeyCode::Char(_));
    (chord.len(), chord.iter().any(|k| k.ctrl || k.alt), !chord.iter().all(letter))
}

/// One line of a keymap file.
struct Wish {
    scope: Scope,
    action: Action,
    chords: Vec<Chord>,
    line: usize,
}

/// The line of a byte, from 1.
pub(super) fn line_of(source: &str, at: usize) -> usize {
    source[..at.min(source.len())].matches('\n').count() + 1
}

fn read(source: &str, faults: &mut Vec<Fault>) -> Vec<Wish> {
    let table = match toml::de::DeTable::parse(source) {
        Ok(table) => table,
        Err(error) => {
            let line = error.span().map_or(0, |s| line_of(source, s.start));
            faults.push(Fault { line, problem: error.message().to_owned() });
            return Vec::new();
        }
    };
    let mut wishes = Vec::new();
    for (name, section) in table.get_ref() {
        let line = line_of(source, name.span().start);
        let Some(scope) = Scope::ALL.iter().copied().find(|s| s.id() == name.get_ref().as_ref()) else {
            let near = nearest(name.get_ref(), Scope::ALL.iter().map(|s| s.id()));
            faults.push(Fault { line, problem: format!("[{}] is no scope{near}", name.get_ref()) });
            continue;
        };
        let toml::de::DeValue::Table(entries) = section.get_ref() else {
            faults.push(Fault { line, problem: format!("`{}` is a scope: write [{0}] and actions below", scope.id()) });
            continue;
        };
        for (action, chords) in entries {
            let line = line_of(source, action.span().start);
            match (named(scope, action.get_ref()), chord_list(chords.get_ref())) {
                (Ok(action), Ok(chords)) => wishes.push(Wish { scope, action, chords, line }),
                (action, chords) => {
                    faults.extend([action.err(), chords.err()].into_iter().flatten().map(|problem| Fault { line, problem }));
                }
            }
        }
    }
    wishes
}

/// The action that a scope calls `name`: without the scope in front, or in full.
fn named(scope: Scope, name: &str) -> Result<Action, String> {
    let short = |a: &Action| a.scope() == scope && a.short_id() == name;
    let full = |a: &Action| a.id() == name;
    Action::ALL.iter().copied().find(|a| short(a)).or_else(|| Action::ALL.iter().copied().find(|a| full(a))).ok_or_else(|| {
        let near = nearest(name, Action::ALL.iter().filter(|a| a.scope() == scope).map(|a| a.short_id()));
        format!("[{}] has no action `{name}`{near}", scope.id())
    })
}

fn chord_list(value: &toml::de::DeValue) -> Result<Vec<Chord>, String> {
    let toml::de::DeValue::Array(items) = value else { return Err("keys are a list, like [\"x\", \"ctrl-x\"]".into()) };
    items
        .iter()
        .map(|item| match item.get_ref() {
            toml::de::DeValue::String(text) if !text.trim().is_empty() => text.split_whitespace().map(str::parse).collect(),
            _ => Err("a key is a text, like \"x\" or \"g g\"".into()),
        })
        .collect()
}

/// Every fault of a keymap file that is merged over the default: what `countersign keymap check` prints.
pub fn check(source: &str) -> Vec<Fault> {
    Keymap::standard().merge(source).err().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(source: &str) -> String {
        check(source).iter().map(Fault::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_built_in_keymaps_have_no_fault() {
        assert_eq!(Keymap::default().merge(DEFAULT), Ok(()));
        assert_eq!(faults(VIM), "");
    }

    #[test]
    fn every_action_has_a_key_or_is_found_in_the_palette() {
        let keymap = Keymap::standard();
        let unbound: Vec<&str> = Action::ALL.iter().filter(|a| keymap.text(**a).is_none()).map(|a| a.id()).collect();
        assert_eq!(unbound, Vec::<&str>::new());
    }

    #[test]
    fn a_fault_names_its_line_and_what_was_meant() {
        for (source, wanted) in [
            ("[inbox]\naprove = [\"a\"]", "line 2: [inbox] has no action `aprove`; did you mean `approve`?"),
            ("[inbx]\nopen = [\"o\"]", "line 1: [inbx] is no scope; did you mean `inbox`?"),
            ("[inbox]\nopen = [\"hyper-x\"]", "line 2: \"hyper-x\" is no key"),
            ("[inbox]\nopen = \"o\"", "keys are a list"),
            ("[inbox]\napprove = [\"x\"]", "clashes with `x` for `inbox-reject`"),
            ("[review]\nnext = [\"]\"]", "clashes with"),
            ("[inbox]\nopen = [", "line 2"),
        ] {
            assert!(faults(source).contains(wanted), "{source}\n{}", faults(source));
        }
    }

    #[test]
    fn danger_is_never_on_a_single_key_and_never_hidden() {
        assert!(faults("[inbox]\ndanger-kill = [\"k\"]").contains("never by one key"));
        assert!(faults("[global]\ndanger = []").contains("`danger` has no key"));
        assert!(faults("[danger]\nkill = []").contains("`danger-kill` has no key"));
        assert_eq!(faults("[inbox]\ndanger-kill = [\"K K\"]"), "");
    }

    #[test]
    fn a_file_replaces_the_keys_of_the_actions_that_it_names_only() {
        let mut keymap = Keymap::standard();
        keymap.merge("[inbox]\napprove = [\"A\"]\ncomment = []").unwrap();
        let one = |c| keymap.find(&[Scope::Inbox, Scope::Global], &[Key::char(c)]);
        assert_eq!(one('A'), Found::Action(Action::InboxApprove));
        assert_eq!((one('a'), one('c')), (Found::Nothing, Found::Nothing));
        assert_eq!(one('x'), Found::Action(Action::InboxReject));
    }

    #[test]
    fn a_rooms_scope_comes_before_the_global_one() {
        let keymap = Keymap::standard();
        let both = [Scope::Review, Scope::Global];
        assert_eq!(keymap.find(&both, &[Key::char('n')]), Found::Action(Action::ReviewNext));
        assert_eq!(keymap.find(&both, &[Key::char('j')]), Found::Action(Action::Down));
        assert_eq!(keymap.find(&both, &[Key::char(']')]), Found::Prefix);
        assert_eq!(keymap.find(&both, &[Key::char(']'), Key::char('u')]), Found::Action(Action::ReviewNextUnseen));
    }

    #[test]
    fn keys_read_back_as_they_are_written() {
        for text in ["x", "X", "ctrl-d", "alt-x", "space", "pgdn", "f10", "-", "ctrl--", "shift-tab"] {
            assert_eq!(text.parse::<Key>().unwrap().to_string(), text);
        }
    }
}
