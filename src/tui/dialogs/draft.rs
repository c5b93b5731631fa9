//! Write a new version: the text of one that is there, or an empty one. Everything but the text is taken over from it.

use super::sheet::{Row, Words};
use super::spec::{Ask, Spec};
use super::words;
use crate::model::{Content, Digest, Format, Fragment};
use crate::rules::content::check;
use crate::tui::effect::Call;
use crate::tui::theme::Role;
use crate::wire::versions::{CreateVersion, VersionView};
use serde_json::Value;
use std::collections::BTreeMap;

/// The formats in which one can begin anew.
pub(super) const FORMATS: [Format; 4] = [Format::Text, Format::Template, Format::Chat, Format::Json];

/// A version's body as it is edited: a text as it stands, anything else as indented JSON.
pub(super) fn body_of(content: &Content) -> String {
    match &content.body {
        Value::String(text) if content.format != Format::Json => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// See [`super::spec::of`].
pub(super) fn spec(ask: &Ask) -> Spec {
    let key = &ask.request.key;
    let mut spec = Spec {
        title: "NEW VERSION of".into(),
        why: "Why  (required: what changes for whom)",
        why_required: true,
        button: "Save the draft".into(),
        task: format!("save a version of {key}"),
        done: format!("saved {key}"),
        command: format!("countersign draft {key} --file FILE {}", ask.rationale_flag()),
        ..Spec::default()
    };
    let base = ask.known.version.as_deref();
    if ask.request.digest.is_some() && base.is_none() {
        spec.blocked.push("reading the version".into());
        return spec;
    }
    let text = ask.form.body.as_ref().map(crate::tui::field::Field::text).unwrap_or_default();
    spec.rows = rows(ask, base, &text);
    let checked = content(ask, base, &text).and_then(|content| {
        let fragments: BTreeMap<Digest, Fragment> =
            base.iter().flat_map(|view| &view.fragment_bodies).map(|f| (f.digest, f.clone())).collect();
        check(content, &fragments).map_err(|refusal| refusal.detail)
    });
    match checked {
        Err(why) => spec.blocked.push(why),
        Ok(checked) if base.is_some_and(|view| view.version.digest == checked.digest) => {
            spec.blocked.push("nothing is changed yet".into());
        }
        Ok(checked) => {
            let warnings = checked.warnings.iter().map(|w| Row::Line(Words::of(Role::Warning, &format!("! {w}"))));
            spec.rows.extend(warnings);
            spec.rows.push(Row::Named("digest", Words::of(Role::Dim, &format!(" {}", checked.digest.short()))));
            let body = CreateVersion { content: checked.content, rationale: ask.form.reason(), imported: None };
            spec.call = Some(Call::Save(key.clone(), Box::new(body)));
        }
    }
    spec
}

fn rows(ask: &Ask, base: Option<&VersionView>, text: &str) -> Vec<Row> {
    let Some(view) = base else {
        return vec![Row::line(
            "The first text of this key in this format; variables and fragments come by `countersign draft`.",
        )];
    };
    let mut rows = vec![Row::named("from", &format!("{} · {}", words::version(&view.version, ask.now), view.version.format))];
    if let Some(content) = &view.content {
        let pins: Vec<&str> = content.fragments.keys().map(String::as_str).collect();
        let variables: Vec<&str> = content.variables.iter().map(|v| v.name.as_str()).collect();
        let model = content.model_pin.as_deref().unwrap_or("none");
        let list = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        rows.push(Row::named("keeps", &format!("model {model} · variables {} · fragments {}", list(&variables), list(&pins))));
        let lost =
            ask.form.body.as_ref().is_some_and(|_| body_of(content).chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        if lost && !text.is_empty() {
            rows.push(Row::Line(Words::of(
                Role::Warning,
                "! control characters (line ends of another kind, too) are left out here",
            )));
        }
    }
    rows
}

/// The content as it would be saved.
fn content(ask: &Ask, base: Option<&VersionView>, text: &str) -> Result<Content, String> {
    let kept = match base {
        Some(view) => Some(view.content.as_ref().ok_or("you may not read this version's text")?),
        None => None,
    };
    let chosen = ask.form.choice.as_ref().and_then(|choice| choice.chosen());
    let format = kept
        .map(|content| content.format)
        .or_else(|| FORMATS.into_iter().find(|format| Some(format.to_string().as_str()) == chosen))
        .unwrap_or(Format::Text);
    let body = match format {
        Format::Text | Format::Template => Value::String(text.to_owned()),
        Format::Chat | Format::Json => crate::rules::canonical::parse_strict(text.as_bytes())
            .map_err(|refusal| format!("not JSON yet: {}", refusal.detail))?,
    };
    Ok(match kept {
        Some(kept) => Content { body, ..kept.clone() },
        None => Content {
            key: ask.request.key.clone(),
            format,
            body,
            model_pin: None,
            parameters: serde_json::Map::new(),
            fragments: BTreeMap::new(),
            variables: Vec::new(),
            schema: 1,
        },
    })
}
