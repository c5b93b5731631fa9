//! Colours by meaning: what a role looks like in a theme. Themes are TOML in `themes/`, each perhaps inheriting another.

use super::keymap::{Fault, line_of};
use super::nearness::nearest;
use ratatui::style::{Color, Modifier, Style};

macro_rules! roles {
    ($($variant:ident $id:literal $help:literal;)+) => {
        /// What a piece of the screen means.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Role { $(#[doc = $help] $variant),+ }
        impl Role {
            /// Every role.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The name in themes.
            pub fn id(self) -> &'static str { match self { $(Self::$variant => $id),+ } }
        }
    };
}

roles! {
    Text "text" "Ordinary text.";
    Dim "dim" "Less important text.";
    Strong "strong" "Headings, names.";
    Border "border" "Frames.";
    Focus "focus" "The frame of the focused pane.";
    Title "title" "Titles of panes.";
    Selected "selected" "The row under the cursor.";
    Marked "marked" "Rows that are marked.";
    Tab "tab" "The lit tab.";
    Key "key" "Keys in hints and menus.";
    Added "added" "Added text.";
    Removed "removed" "Removed text.";
    AddedLine "added_line" "A line of an added or edited paragraph.";
    RemovedLine "removed_line" "A line of a removed paragraph.";
    Moved "moved" "Moved paragraphs.";
    Token "token" "Visible tokens of invisible characters.";
    Lookalike "lookalike" "Letters that look like others.";
    Ok "ok" "Passed, live, verified.";
    Warning "warning" "Needs attention.";
    Danger "danger" "Failed, killed, dangerous.";
    Alarm "alarm" "Cannot be missed: a broken chain.";
    Protected "protected" "Names of protected environments.";
    Pending "pending" "Runs, waits.";
    Match "match" "What a search found.";
    Field "field" "A text field.";
    FieldFocus "field_focus" "The text field that has the keys.";
    Button "button" "A button.";
    ButtonFocus "button_focus" "The button that has the keys.";
    Variable "variable" "Template variables and tags.";
    Literal "literal" "Literals in JSON and templates.";
    Comment "comment" "Comments of people, notes on the text.";
}

/// How each role looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    /// Its name.
    pub name: String,
    styles: Vec<Style>,
}

/// The built-in themes by name, in the order in which `T` walks through them.
const BUILT_IN: &[(&str, &str)] = &[
    ("ansi", include_str!("../../themes/ansi.toml")),
    ("dark", include_str!("../../themes/dark.toml")),
    ("light", include_str!("../../themes/light.toml")),
    ("mono", include_str!("../../themes/mono.toml")),
];

/// The name of the theme after `name`: the built-in ones in a ring, with the person's own, where there is one.
pub fn next<'n>(name: &str, own: Option<&'n str>) -> &'n str {
    let built_in = names().map(|known| -> &'n str { known });
    let ring: Vec<&'n str> = built_in.chain(own).collect();
    let at = ring.iter().position(|known| *known == name).map_or(0, |at| at + 1);
    ring[at % ring.len()]
}

/// Names of the built-in themes.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

impl Theme {
    /// A built-in theme; the one of modifiers only where there is none of that name.
    pub fn built_in(name: &str) -> Self {
        let plain = Self { name: "mono".into(), styles: vec![Style::new(); Role::ALL.len()] };
        let Some((name, source)) = BUILT_IN.iter().find(|(n, _)| *n == name) else { return plain };
        // A test holds that the built-in files have no fault.
        Self::read(name, source).unwrap_or(plain)
    }

    /// Reads a theme; `inherits = "NAME"` begins with the styles of a built-in one.
    ///
    /// # Errors
    /// Every fault with its line; also a colour that cannot be read on its background.
    pub fn read(name: &str, source: &str) -> Result<Self, Vec<Fault>> {
        let table = toml::de::DeTable::parse(source).map_err(|error| {
            let line = error.span().map_or(0, |s| line_of(source, s.start));
            vec![Fault { line, problem: error.message().to_owned() }]
        })?;
        let (mut faults, mut styles) = (Vec::new(), vec![Style::new(); Role::ALL.len()]);
        let parent = table.get_ref().iter().find(|(k, _)| k.get_ref() == "inherits");
        if let Some((_, parent)) = parent {
            let parent_name = parent.get_ref().as_str().unwrap_or_default();
            if let Some((parent, _)) = BUILT_IN.iter().find(|(n, _)| *n == parent_name && *n != name) {
                styles = Self::built_in(parent).styles;
            } else {
                let line = line_of(source, parent.span().start);
                let near = nearest(parent_name, names());
                faults.push(Fault { line, problem: format!("there is no built-in theme {parent_name:?} to inherit{near}") });
            }
        }
        for (key, value) in table.get_ref() {
            let (line, id) = (line_of(source, key.span().start), key.get_ref().as_ref());
            if id == "inherits" {
                continue;
            }
            let Some(role) = Role::ALL.iter().copied().find(|r| r.id() == id) else {
                let near = nearest(id, Role::ALL.iter().map(|r| r.id()));
                faults.push(Fault { line, problem: format!("there is no role `{id}`{near}") });
                continue;
            };
            match value.get_ref().as_str().ok_or_else(|| "a style is a text".to_owned()).and_then(style) {
                Ok(style) => {
                    styles[role as usize] = style;
                    faults.extend(unreadable(role, style).map(|problem| Fault { line, problem }));
                }
                Err(problem) => faults.push(Fault { line, problem: format!("{id}: {problem}") }),
            }
        }
        if faults.is_empty() { Ok(Self { name: name.to_owned(), styles }) } else { Err(faults) }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }
}

/// Every fault of a theme file: what `countersign theme check` prints.
pub fn check(source: &str) -> Vec<Fault> {
    Theme::read("the file", source).err().unwrap_or_default()
}

/// `red on #101010 bold underline`: a colour, a background, modifiers; each may be left out.
fn style(text: &str) -> Result<Style, String> {
    let mut style = Style::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        style = match word {
            "bold" => style.add_modifier(Modifier::BOLD),
            "dim" => style.add_modifier(Modifier::DIM),
            "italic" => style.add_modifier(Modifier::ITALIC),
            "underline" => style.add_modifier(Modifier::UNDERLINED),
            "reverse" => style.add_modifier(Modifier::REVERSED),
            "strike" => style.add_modifier(Modifier::CROSSED_OUT),
            "on" => style.bg(colour(words.next().unwrap_or_default())?),
            other => style.fg(colour(other)?),
        };
    }
    Ok(style)
}

fn colour(word: &str) -> Result<Color, String> {
    let hint = "is no colour: write a name like `red` or `bright-blue`, a number from 0 to 255, or #rrggbb";
    let word = word.strip_prefix("bright-").map_or_else(|| word.to_owned(), |rest| format!("light{rest}"));
    word.parse::<Color>().map_err(|_| format!("{word:?} {hint}"))
}

/// Whether a style says both of its colours and they are too near to be read: 4.5 to 1 for text (WCAG 2.2, 1.4.3).
fn unreadable(role: Role, style: Style) -> Option<String> {
    let (Some(Color::Rgb(r, g, b)), Some(Color::Rgb(br, bg, bb))) = (style.fg, style.bg) else { return None };
    let ratio = contrast((r, g, b), (br, bg, bb));
    (ratio < 4.5).then(|| format!("{}: a contrast of {ratio:.1} to 1 cannot be read; 4.5 is the least", role.id()))
}

/// Contrast of two colours, 1 to 21 (WCAG 2.2, relative luminance).
fn contrast(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
    let linear = |c: u8| {
        let c = f64::from(c) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(source: &str) -> String {
        check(source).iter().map(Fault::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_built_in_themes_have_no_fault_and_say_every_role() {
        for (name, source) in BUILT_IN {
            assert!(Theme::read(name, source).is_ok(), "{name}: {}", faults(source));
            let theme = Theme::built_in(name);
            for role in Role::ALL.iter().filter(|r| !matches!(r, Role::Text | Role::Field)) {
                assert_ne!(theme.style(*role), Style::new(), "{name} does not say {}", role.id());
            }
        }
    }

    #[test]
    fn everything_in_dark_and_light_can_be_read_on_the_background_that_they_are_made_for() {
        for (name, background) in [("dark", (0x12, 0x14, 0x18)), ("light", (0xfb, 0xfb, 0xf8))] {
            let theme = Theme::built_in(name);
            for role in Role::ALL.iter().filter(|r| !matches!(r, Role::Border)) {
                let style = theme.style(*role);
                let fg = match style.fg {
                    Some(Color::Rgb(r, g, b)) => (r, g, b),
                    other => panic!("{name}: {} has the colour {other:?}", role.id()),
                };
                let bg = if let Some(Color::Rgb(r, g, b)) = style.bg { (r, g, b) } else { background };
                assert!(contrast(fg, bg) >= 4.5, "{name}: {} has {:.2}", role.id(), contrast(fg, bg));
            }
        }
    }

    /// Deuteranopia after Viénot, Brettel and Mollon (1999): green and red cones see the same.
    fn deuteranope((r, g, b): (u8, u8, u8)) -> (f64, f64, f64) {
        let (r, g, b) = (f64::from(r), f64::from(g), f64::from(b));
        let both = 0.292_75 * r + 0.707_25 * g;
        (both, both, -0.022_34 * r + 0.022_34 * g + b)
    }

    #[test]
    fn added_and_removed_stay_apart_without_the_green_cone() {
        for name in ["dark", "light"] {
            let theme = Theme::built_in(name);
            for (one, other) in [(Role::Added, Role::Removed), (Role::Ok, Role::Danger), (Role::AddedLine, Role::RemovedLine)] {
                let seen = |role| match theme.style(role).fg {
                    Some(Color::Rgb(r, g, b)) => deuteranope((r, g, b)),
                    other => panic!("{other:?}"),
                };
                let (a, b) = (seen(one), seen(other));
                let apart = ((a.0 - b.0).powi(2) + (a.1 - b.1).powi(2) + (a.2 - b.2).powi(2)).sqrt();
                assert!(apart > 60.0, "{name}: {} and {} are {apart:.0} apart", one.id(), other.id());
            }
        }
    }

    #[test]
    fn mono_uses_no_colour_at_all() {
        let theme = Theme::built_in("mono");
        for role in Role::ALL {
            let style = theme.style(*role);
            assert_eq!((style.fg, style.bg), (None, None), "{}", role.id());
        }
        assert!(theme.style(Role::Selected).add_modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn a_fault_names_its_line_and_what_was_meant() {
        for (source, wanted) in [
            ("inherits = \"drak\"", "line 1: there is no built-in theme \"drak\" to inherit; did you mean `dark`?"),
            ("warnig = \"red\"", "there is no role `warnig`; did you mean `warning`?"),
            ("inherits = \"dark\"\nwarning = \"reddish\"", "line 2: warning: \"reddish\" is no colour"),
            ("warning = \"#777777 on #888888\"", "cannot be read"),
            ("warning = 7", "a style is a text"),
        ] {
            assert!(faults(source).contains(wanted), "{source}\n{}", faults(source));
        }
        assert_eq!(faults("inherits = \"dark\"\nwarning = \"bright-yellow bold\""), "");
    }

    #[test]
    fn the_themes_follow_each_other_in_a_ring() {
        let walk: Vec<&str> = std::iter::successors(Some("ansi"), |n| Some(next(n, None))).take(5).collect();
        assert_eq!(walk, ["ansi", "dark", "light", "mono", "ansi"]);
        let walk: Vec<&str> = std::iter::successors(Some("mine"), |n| Some(next(n, Some("mine")))).take(6).collect();
        assert_eq!(walk, ["mine", "ansi", "dark", "light", "mono", "mine"]);
    }
}
