//! Work on the processor that Review wants done off the loop: word marks, wrapping.

use super::page::{Options, Page, blank, page};
use crate::model::approval::HiddenSpan;
use crate::model::diff::ContentDiff;
use crate::model::{Content, Format};
use crate::rules::hidden::{Bodies, content_spans};
use crate::rules::prose::BUDGET;
use crate::rules::structure::content_diff_by;
use crate::wire::versions::VersionView;
use serde_json::Value;
use std::sync::Arc;

/// What shall be worked out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    /// What is compared from; none: everything is new.
    pub(crate) from: Option<Arc<VersionView>>,
    /// What is compared to.
    pub(crate) to: Arc<VersionView>,
    /// How.
    pub(crate) options: Options,
    /// What was worked out before of the same versions: only the layout has to be made again.
    pub(crate) known: Option<Arc<ContentDiff>>,
}

/// What was worked out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Worked {
    /// The difference.
    pub(crate) diff: Arc<ContentDiff>,
    /// Its lines.
    pub(crate) page: Arc<Page>,
    /// Invisible characters in what was added, whatever is expanded.
    pub(crate) hidden: Vec<HiddenSpan>,
}

/// Works it out; runs on a worker thread.
pub(crate) fn perform(work: Work) -> Worked {
    let (old_bodies, new_bodies) = (work.from.as_deref().map(bodies).unwrap_or_default(), bodies(&work.to));
    let from = work.from.as_deref().and_then(|v| v.content.as_ref());
    let nothing = Arc::new(ContentDiff { fields: Vec::new(), texts: Vec::new(), hidden: Vec::new(), lookalikes: Vec::new() });
    let unreadable = work.from.as_deref().is_some_and(|v| v.content.is_none());
    let Some(to) = work.to.content.as_ref().filter(|_| !unreadable) else {
        let page =
            Arc::new(blank(work.options, "the content is confidential, and not yours to read: what changed cannot be shown"));
        return Worked { page, diff: nothing, hidden: Vec::new() };
    };
    let none = Bodies::new();
    let diff = work.known.unwrap_or_else(|| {
        Arc::new(if work.options.effective {
            let (old, new) = (from.map(|from| expanded(from, &old_bodies)), expanded(to, &new_bodies));
            content_diff_by(old.as_ref(), &new, (&none, &none), work.options.unit, BUDGET)
        } else {
            content_diff_by(from, to, (&old_bodies, &new_bodies), work.options.unit, BUDGET)
        })
    });
    let hidden = if work.options.effective { content_spans(from, to, &old_bodies, &new_bodies) } else { diff.hidden.clone() };
    Worked { page: Arc::new(page(&diff, work.options)), diff, hidden }
}

/// The bodies of the fragments that a version pins, by name.
pub(crate) fn bodies(version: &VersionView) -> Bodies {
    version.fragment_bodies.iter().map(|f| (f.name.clone(), f.body.clone())).collect()
}

/// The content with its fragments in the places where they are included.
fn expanded(content: &Content, bodies: &Bodies) -> Content {
    let mut content = content.clone();
    match (content.format, &mut content.body) {
        (Format::Template, Value::String(text)) => *text = expand(text, bodies),
        (Format::Chat, Value::Array(messages)) => {
            for text in messages.iter_mut().filter_map(|m| m.get_mut("content")) {
                if let Value::String(text) = text {
                    *text = expand(text, bodies);
                }
            }
        }
        _ => {}
    }
    content
}

/// Puts bodies in the place of `{% include "name" %}`.
fn expand(text: &str, bodies: &Bodies) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let end = tag.find("%}").map_or(tag.len(), |end| end + 2);
        let name = tag[..end].trim_start_matches("{%").trim_end_matches("%}").trim_matches(['-', '+', ' ', '\n', '\t']);
        let body =
            name.strip_prefix("include").map(|name| name.trim().trim_matches(['"', '\''])).and_then(|name| bodies.get(name));
        out.push_str(body.map_or(&tag[..end], String::as_str));
        rest = &tag[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_expanded_where_they_are_included() {
        let bodies = Bodies::from([("tone.core".to_owned(), "Be kind.".to_owned())]);
        for (text, expected) in [
            ("a {% include \"tone.core\" %} b", "a Be kind. b"),
            ("{%- include 'tone.core' -%}", "Be kind."),
            ("{% include \"other\" %}", "{% include \"other\" %}"),
            ("{% if x %}y{% endif %}", "{% if x %}y{% endif %}"),
            ("{% never closed", "{% never closed"),
        ] {
            assert_eq!(expand(text, &bodies), expected);
        }
    }
}
