//! What is printed: answers on stdout, all else on stderr; content from outside is made visible; JSON is the API's body.

use super::exit::{Done, Failure};
use crate::model::Timestamp;
use crate::rules::hidden;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

/// The shape of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Shape {
    /// For people.
    #[default]
    Table,
    /// The API's body.
    Json,
}

/// How a piece of text is marked on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A heading.
    Bold,
    /// Of less interest.
    Dim,
    /// Added.
    Added,
    /// Taken away.
    Removed,
    /// Wants attention.
    Warn,
}

/// Where answers go.
#[derive(Debug, Clone)]
pub struct Output {
    /// The shape of answers.
    pub shape: Shape,
    /// Whether escape sequences may be written: a terminal, and NO_COLOR is not set.
    pub color: bool,
    /// Whether stdout is a terminal.
    pub terminal: bool,
}

impl Output {
    /// Output to this process's stdout.
    pub fn new(shape: Shape) -> Self {
        let terminal = io::stdout().is_terminal();
        let plain =
            std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) || std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        Self { shape, color: terminal && !plain, terminal }
    }

    /// Whether answers are JSON.
    pub fn is_json(&self) -> bool {
        self.shape == Shape::Json
    }

    /// Prints the JSON body, or what `table` makes of the answer.
    pub fn answer<T: Serialize>(&self, answer: &T, table: impl FnOnce(&Self, &T) -> String) -> Done {
        if self.is_json() { self.json(answer) } else { self.text(&table(self, answer)) }
    }

    /// Prints a list: JSON as `{"items": […]}`, or what `table` makes of it.
    pub fn list<T: Serialize>(&self, items: &[T], table: impl FnOnce(&Self, &[T]) -> String) -> Done {
        if self.is_json() { self.json(&serde_json::json!({ "items": items })) } else { self.text(&table(self, items)) }
    }

    /// Prints one line of JSON.
    pub fn json(&self, answer: &impl Serialize) -> Done {
        let text = serde_json::to_string(answer).map_err(|e| Failure::failed(e.to_string()))?;
        self.text(&ascii_controls(&text))
    }

    /// Prints text that is safe already, with a newline at its end unless it is empty.
    pub fn text(&self, text: &str) -> Done {
        // In one piece, so that a reader of lines that goes away after the last one does not miss a newline.
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        self.raw(format!("{text}{newline}").as_bytes())
    }

    /// Prints bytes as they are.
    pub fn raw(&self, bytes: &[u8]) -> Done {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        Ok(out.flush()?)
    }

    /// Marks a piece of safe text, where the terminal can show it.
    pub fn mark(&self, mark: Mark, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let code = match mark {
            Mark::Bold => "1",
            Mark::Dim => "2",
            Mark::Added => "32",
            Mark::Removed => "31",
            Mark::Warn => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// One line of text from outside, made visible: nothing in it moves a cursor, and a newline shows as a token.
pub fn line(text: &str) -> String {
    hidden::visible(text).plain().replace('\n', "⏎")
}

/// Several lines of text from outside, each made visible.
pub fn lines(text: &str) -> String {
    text.split('\n').map(|l| hidden::visible(l).plain()).collect::<Vec<_>>().join("\n")
}

/// `1 file`, `2 files`.
pub fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A moment for people: to the second, which lists need and no more.
pub fn moment(at: Timestamp) -> String {
    let whole = at.to_string();
    whole.split_once('.').map_or_else(|| whole.clone(), |(seconds, _)| format!("{seconds}Z"))
}

/// Prints a note to stderr; a closed stderr is no error.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Columns of cells, each as wide as its widest; the last is not padded. Cells are safe text without marks.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with headings.
    pub fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|h| (*h).to_owned()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text, headings marked.
    pub fn text(&self, out: &Output) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> =
            (0..columns).map(|c| self.rows.iter().filter_map(|r| r.get(c)).map(|t| width(t)).max().unwrap_or(0)).collect();
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let pad = if column + 1 == row.len() { 0 } else { widths[column] + 2 - width(cell) };
                let _ = write!(line, "{cell}{:pad$}", "");
            }
            let line = line.trim_end();
            let _ = writeln!(text, "{}", if number == 0 { out.mark(Mark::Bold, line) } else { line.to_owned() });
        }
        text
    }
}

fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// JSON with every invisible or control character escaped, which is the same JSON and safe on a terminal.
fn ascii_controls(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if is_unsafe(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_for_a_terminal_is_the_same_json() {
        let hostile = "a\u{1b}[31mb\u{9b}2J\u{202e}c\u{200b}\u{e0041}é漢\u{7f}";
        let text = serde_json::to_string(hostile).unwrap();
        let safe = ascii_controls(&text);
        assert!(safe.chars().all(|c| !is_unsafe(c)), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), hostile);
    }

    #[test]
    fn columns_line_up_whatever_the_width_of_letters() {
        let out = Output { shape: Shape::Table, color: false, terminal: false };
        let mut table = Table::new(&["a", "b"]);
        table.row(["漢字".to_owned(), "x".to_owned()]);
        table.row(["lang".to_owned(), "y".to_owned()]);
        assert_eq!(table.text(&out), "a     b\n漢字  x\nlang  y\n");
    }
}
