//! `diff`: what changed between two versions, for people: structure first, then paragraphs with word marks.

use super::context::Context;
use super::exit::{Done, Failure};
use super::output::{Mark, Output, line, lines};
use super::select::KeyAt;
use crate::model::KeyId;
use crate::model::diff::{Block, BlockKind, Change, ContentDiff, TextDiff};
use crate::rules::hidden::Bodies;
use crate::rules::structure;
use crate::wire::versions::VersionView;
use std::fmt::Write as _;

/// Shows what changed between two versions of a key
#[derive(Debug, clap::Args)]
pub struct Diff {
    /// The key
    pub key: KeyId,
    /// The old version: a digest, 6 or more of its digits, vN, or an environment
    pub from: String,
    /// The new version
    pub to: String,
    /// Unchanged paragraphs too
    #[arg(long)]
    pub expand: bool,
    /// One column (the only way so far)
    #[arg(long, hide = true)]
    pub unified: bool,
    /// The difference as JSON, like --output json
    #[arg(long)]
    pub json: bool,
}

impl Diff {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let at = |selector: &str| -> Result<KeyAt, Failure> { Ok(format!("{}@{selector}", self.key).parse()?) };
        let (from, to) = (at(&self.from)?.find(&client).await?, at(&self.to)?.find(&client).await?);
        let diff = between(Some(&from), &to)?;
        if self.json || context.out.is_json() {
            return context.out.json(&diff);
        }
        context.out.text(&diff_text(&context.out, &diff, self.expand))
    }
}

/// The bodies of the fragments that a version pins, by name.
pub fn bodies(view: &VersionView) -> Bodies {
    view.fragment_bodies.iter().map(|f| (f.name.clone(), f.body.clone())).collect()
}

/// The difference of two versions, computed here from what was verified here.
///
/// # Errors
/// A content that the caller may not read.
pub fn between(from: Option<&VersionView>, to: &VersionView) -> Result<ContentDiff, Failure> {
    let denied = || Failure::new(super::exit::Exit::Denied, "its text is not yours to read");
    let new = to.content.as_ref().ok_or_else(denied)?;
    let old = match from {
        Some(view) => Some(view.content.as_ref().ok_or_else(denied)?),
        None => None,
    };
    let old_bodies = from.map(bodies).unwrap_or_default();
    Ok(structure::content_diff(old, new, &old_bodies, &bodies(to)))
}

/// A difference as text.
pub fn diff_text(out: &Output, diff: &ContentDiff, expand: bool) -> String {
    let mut text = String::new();
    for field in &diff.fields {
        let _ = writeln!(text, "{}", out.mark(Mark::Bold, &line(&field.path)));
        if let Some(old) = &field.old {
            let _ = writeln!(text, "{}", out.mark(Mark::Removed, &format!("- {}", line(old))));
        }
        if let Some(new) = &field.new {
            let _ = writeln!(text, "{}", out.mark(Mark::Added, &format!("+ {}", line(new))));
        }
        if let Some(note) = &field.note {
            let _ = writeln!(text, "  {}", out.mark(Mark::Warn, &line(note)));
        }
    }
    for (path, of) in &diff.texts {
        if of.blocks.iter().all(|b| b.kind == BlockKind::Equal) && of.notes.is_empty() && !expand {
            continue;
        }
        let _ = writeln!(text, "{}", out.mark(Mark::Bold, &line(path)));
        text.push_str(&prose_text(out, of, expand));
    }
    for span in &diff.hidden {
        let words = format!("hidden {} in {} at character {}", span.code_points, line(&span.path), span.start);
        let _ = writeln!(text, "{}", out.mark(Mark::Warn, &words));
    }
    for (path, words) in &diff.lookalikes {
        let _ = writeln!(text, "{}", out.mark(Mark::Warn, &format!("look-alike in {}: {}", line(path), line(words))));
    }
    if text.is_empty() {
        text.push_str("no difference\n");
    }
    text
}

fn prose_text(out: &Output, of: &TextDiff, expand: bool) -> String {
    let mut text = String::new();
    let mut unchanged = 0;
    for block in &of.blocks {
        if block.kind == BlockKind::Equal && !expand {
            unchanged += 1;
            continue;
        }
        skipped(out, &mut text, &mut unchanged);
        text.push_str(&block_text(out, block));
    }
    skipped(out, &mut text, &mut unchanged);
    for note in &of.notes {
        let _ = writeln!(text, "  {}", out.mark(Mark::Warn, &line(note)));
    }
    if of.approximate {
        let _ = writeln!(text, "  {}", out.mark(Mark::Dim, "large: word marks are coarse"));
    }
    text
}

fn skipped(out: &Output, text: &mut String, unchanged: &mut u32) {
    if *unchanged > 0 {
        let plural = if *unchanged == 1 { "" } else { "s" };
        let _ = writeln!(text, "{}", out.mark(Mark::Dim, &format!("  … {unchanged} paragraph{plural} unchanged")));
    }
    *unchanged = 0;
}

fn block_text(out: &Output, block: &Block) -> String {
    let (sign, mark) = match block.kind {
        BlockKind::Equal => (' ', None),
        BlockKind::Deleted => ('-', Some(Mark::Removed)),
        BlockKind::Inserted => ('+', Some(Mark::Added)),
        BlockKind::Edited | BlockKind::Replaced | BlockKind::Whitespace => ('~', None),
    };
    let marked: String = match mark {
        // The whole block has one fate: its sign says it.
        Some(_) | None if sign != '~' => block.runs.iter().map(|run| lines(&run.text)).collect(),
        _ => block.runs.iter().map(|run| run_text(out, run.change, &run.text)).collect(),
    };
    let mut text = String::new();
    if let Some(moved) = block.moved {
        let _ = writeln!(text, "{}", out.mark(Mark::Dim, &format!("  ⇅ moved, ¶{moved}")));
    }
    for shown in marked.trim_end_matches('\n').split('\n') {
        let full = format!("{sign} {shown}");
        let _ = writeln!(text, "{}", mark.map_or(full.clone(), |mark| out.mark(mark, &full)));
    }
    text
}

/// A run with its fate: `[-old-]` and `{+new+}`, coloured where that shows.
fn run_text(out: &Output, change: Change, text: &str) -> String {
    let each = |mark: Mark, open: &str, close: &str| {
        // A line break inside a mark would lose the mark's colour on the next line.
        lines(text)
            .split('\n')
            .map(|l| if l.is_empty() { String::new() } else { out.mark(mark, &format!("{open}{l}{close}")) })
            .collect::<Vec<_>>()
            .join("\n")
    };
    match change {
        Change::Equal => lines(text),
        Change::Delete => each(Mark::Removed, "[-", "-]"),
        Change::Insert => each(Mark::Added, "{+", "+}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::Shape;
    use crate::model::diff::Run;

    #[test]
    fn marks_are_readable_without_colour_and_hostile_text_is_shown() {
        let out = Output { shape: Shape::Table, color: false, terminal: false };
        let run = |change, text: &str| Run { change, text: text.into() };
        let block = Block {
            kind: BlockKind::Edited,
            old: Some(1),
            new: Some(1),
            moved: None,
            runs: vec![
                run(Change::Equal, "Say "),
                run(Change::Delete, "no"),
                run(Change::Insert, "\u{1b}[2J"),
                run(Change::Equal, ".\n\n"),
            ],
        };
        let text = block_text(&out, &block);
        assert!(text.starts_with("~ Say [-no-]{+‹U+001B›[2J+}."), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
    }
}
