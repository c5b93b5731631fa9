//! Colours by meaning: what a role looks like in a theme. Themes are TOML in `themes/`.

use ratatui::style::Style;

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
#[derive(Debug, Clone)]
pub struct Theme {
    /// Its name.
    pub name: String,
    styles: Vec<Style>,
}

impl Theme {
    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }
}
