//! Walking TOML with its places: typed reading of tables whose every complaint names the line.

use crate::model::Refusal;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A complaint about a line of the policy.
pub(super) fn wrong(source: &str, span: &Range<usize>, what: impl Display) -> Refusal {
    Refusal::invalid("/policy", format!("line {}: {what}", line(source, span)))
}

/// The line on which a span begins, from 1.
fn line(source: &str, span: &Range<usize>) -> usize {
    source.get(..span.start).unwrap_or(source).matches('\n').count() + 1
}

/// A value and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    source: &'a str,
    name: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Node<'a> {
    pub(super) fn wrong(&self, what: impl Display) -> Refusal {
        wrong(self.source, &self.value.span(), what)
    }

    fn kind(&self, want: &str) -> Refusal {
        self.wrong(format_args!("`{}` is not {want}", self.name))
    }

    pub(super) fn text(&self) -> Result<&'a str, Refusal> {
        self.value.get_ref().as_str().ok_or_else(|| self.kind("a text in quotes"))
    }

    pub(super) fn boolean(&self) -> Result<bool, Refusal> {
        self.value.get_ref().as_bool().ok_or_else(|| self.kind("true or false"))
    }

    /// A finite number, written with or without a fraction.
    pub(super) fn number(&self) -> Result<f64, Refusal> {
        let text = match self.value.get_ref() {
            DeValue::Integer(n) if n.radix() == 10 => n.as_str(),
            DeValue::Float(n) => n.as_str(),
            _ => return Err(self.kind("a number")),
        };
        text.parse::<f64>().ok().filter(|n| n.is_finite()).ok_or_else(|| self.kind("a finite number"))
    }

    pub(super) fn count(&self) -> Result<u32, Refusal> {
        let count = match self.value.get_ref() {
            DeValue::Integer(n) if n.radix() == 10 => n.as_str().parse::<u32>().ok(),
            _ => None,
        };
        count.filter(|n| (1..=100).contains(n)).ok_or_else(|| self.kind("a whole number from 1 to 100"))
    }

    /// Anything that reads itself from text: actors, roles, environments.
    pub(super) fn parsed<T: FromStr<Err: Display>>(&self) -> Result<T, Refusal> {
        let text = self.text()?;
        text.parse().map_err(|e| self.wrong(format_args!("{text:?}: {e}")))
    }

    /// A duration as text (`90s`, `30m`, `24h`, `14d`), in seconds, above zero.
    pub(super) fn duration(&self) -> Result<i64, Refusal> {
        let bad = || self.wrong(format_args!("`{}` is not a duration above zero like \"30m\", \"24h\" or \"14d\"", self.name));
        let text = self.text().map_err(|_| bad())?;
        let unit = match text.chars().next_back() {
            Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some('d') => 86_400,
            _ => return Err(bad()),
        };
        let digits = &text[..text.len() - 1];
        let digits = Some(digits).filter(|d| d.len() <= 9 && d.bytes().all(|b| b.is_ascii_digit()));
        digits.and_then(|d| d.parse::<i64>().ok()).map(|n| n * unit).filter(|n| *n > 0).ok_or_else(bad)
    }

    /// A local date and time, as TOML writes it or as a text; in the one form in which it is hashed.
    pub(super) fn local_time(&self) -> Result<String, Refusal> {
        let bad = || self.kind("a local date and time like 2026-12-24T18:00:00, without an offset");
        let text = match self.value.get_ref() {
            DeValue::Datetime(at) => at.to_string(),
            other => other.as_str().ok_or_else(bad)?.to_owned(),
        };
        crate::rules::freeze::local(&text).map(|at| at.to_string()).ok_or_else(bad)
    }

    pub(super) fn list(&self) -> Result<Vec<Node<'a>>, Refusal> {
        let items = self.value.get_ref().as_array().ok_or_else(|| self.kind("a list in brackets"))?;
        Ok(items.iter().map(|value| Node { value, ..*self }).collect())
    }

    pub(super) fn table(&self) -> Result<Table<'a>, Refusal> {
        let entries = self.value.get_ref().as_table().ok_or_else(|| self.kind("a table"))?;
        Ok(Table { source: self.source, span: self.value.span(), entries })
    }

    /// A list of texts that each stand once; `read` reads and checks one.
    pub(super) fn set<T>(&self, read: impl Fn(&Node<'a>) -> Result<T, Refusal>) -> Result<Vec<T>, Refusal> {
        let mut seen = BTreeSet::new();
        let mut out = Vec::new();
        for item in self.list()? {
            let text = item.text()?;
            if !seen.insert(text) {
                return Err(item.wrong(format_args!("{text:?} stands twice in `{}`", self.name)));
            }
            out.push(read(&item)?);
        }
        Ok(out)
    }
}

/// A table and where it stands.
#[derive(Clone)]
pub(super) struct Table<'a> {
    source: &'a str,
    span: Range<usize>,
    entries: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    /// The whole document.
    pub(super) fn document(source: &'a str, entries: &'a DeTable<'a>) -> Self {
        Self { source, span: 0..0, entries }
    }

    /// A complaint about the line where the table begins.
    pub(super) fn wrong(&self, what: impl Display) -> Refusal {
        wrong(self.source, &self.span, what)
    }

    /// Refuses names that are not `known`, and those in `later` as not supported.
    pub(super) fn only(&self, known: &[&str], later: &[&str]) -> Result<(), Refusal> {
        // In the order of the text, so that the first complaint is about the first place.
        let mut names: Vec<_> = self.entries.iter().map(|(name, _)| (name.span(), name.get_ref().as_ref())).collect();
        names.sort_by_key(|(span, _)| span.start);
        for (span, name) in names {
            if later.contains(&name) {
                return Err(wrong(self.source, &span, format_args!("`{name}` is not supported by this version")));
            }
            if !known.contains(&name) {
                let known = known.join(", ");
                return Err(wrong(self.source, &span, format_args!("`{name}` is unknown here; known are {known}")));
            }
        }
        Ok(())
    }

    /// On which line each of `names` that is there stands.
    pub(super) fn lines(&self, names: &[&str]) -> BTreeMap<String, usize> {
        let named = self.entries.iter().filter(|(name, _)| names.contains(&name.get_ref().as_ref()));
        named.map(|(name, _)| (name.get_ref().to_string(), line(self.source, &name.span()))).collect()
    }

    pub(super) fn get(&self, name: &'a str) -> Option<Node<'a>> {
        self.entries.get(name).map(|value| Node { source: self.source, name, value })
    }

    pub(super) fn need(&self, name: &'a str) -> Result<Node<'a>, Refusal> {
        self.get(name).ok_or_else(|| self.wrong(format_args!("`{name}` is missing")))
    }

    /// Reads a member when it is there.
    pub(super) fn maybe<T>(
        &self,
        name: &'a str,
        read: impl FnOnce(&Node<'a>) -> Result<T, Refusal>,
    ) -> Result<Option<T>, Refusal> {
        self.get(name).as_ref().map(read).transpose()
    }

    /// The tables of `[[name]]`, none when it is not there.
    pub(super) fn tables(&self, name: &'a str) -> Result<Vec<Table<'a>>, Refusal> {
        match self.get(name) {
            Some(node) => node.list()?.iter().map(Node::table).collect(),
            None => Ok(Vec::new()),
        }
    }

    /// The tables of `[name.X]` by X, each X one key segment.
    pub(super) fn named(&self, name: &'a str) -> Result<Vec<(&'a str, Table<'a>)>, Refusal> {
        let Some(node) = self.get(name) else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        for (key, value) in node.table()?.entries {
            let key_text = key.get_ref().as_ref();
            if !is_segment(key_text) {
                let what = format_args!("{key_text:?} is not a name: lower-case letters, digits, `_` and `-`, 60 at most");
                return Err(wrong(self.source, &key.span(), what));
            }
            let table = Node { source: self.source, name: key_text, value }.table()?;
            out.push((key_text, Table { span: key.span(), ..table }));
        }
        Ok(out)
    }
}

/// One key segment of 60 bytes at most.
pub(super) fn is_segment(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 60 && text.bytes().next().is_some_and(inside) && text.bytes().all(|b| inside(b) || b == b'_' || b == b'-')
}
