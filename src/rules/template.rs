//! The template subset: checked on the syntax tree, rendered strictly.
//!
//! What it leaves out is what Jinja's readers (minijinja, Python's jinja2, nunjucks) do differently, or what could run code.

mod engine;
mod lexical;
mod plain;
mod subset;

pub use plain::{bare_names, plain};
pub use subset::is_variable_name;

use crate::model::{Content, Format, Refusal, Variable, VariableType};
use minijinja::syntax::SyntaxConfig;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What a template uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Used {
    /// Declared variables that it reads.
    pub variables: BTreeSet<String>,
    /// Fragments that it includes.
    pub fragments: BTreeSet<String>,
    /// Variables that may be absent and are read without a `default` filter.
    pub unguarded: BTreeSet<String>,
}

impl Used {
    /// Adds what another text uses.
    pub fn add(&mut self, other: Self) {
        self.variables.extend(other.variables);
        self.fragments.extend(other.fragments);
        self.unguarded.extend(other.unguarded);
    }
}

/// Checks that a template stays in the subset and uses only declared variables and pinned fragments.
///
/// # Errors
/// `invalid` with line and column in the detail; the caller sets the path.
pub fn check(source: &str, variables: &[Variable], fragment_names: &BTreeSet<String>) -> Result<Used, Refusal> {
    lexical::check(source)?;
    subset::check(source, variables, fragment_names)
}

/// Jinja's plain syntax; the newline at the end of a text stays.
fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default()
}

/// A refusal of the place `offset` (in bytes) of a template.
fn wrong(source: &str, offset: usize, what: impl std::fmt::Display) -> Refusal {
    let before = source.get(..offset).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    Refusal::invalid("", format!("line {line}, column {column}: {what}"))
}

/// Whether a value fits a variable's type. 1.0 is an integer, since it is the same content as 1.
pub fn fits(kind: VariableType, value: &Value) -> bool {
    match kind {
        VariableType::String => value.is_string(),
        VariableType::Integer => value.as_f64().is_some_and(|n| n.fract() == 0.0 && n.abs() <= 9_007_199_254_740_991.0),
        VariableType::Number => value.is_number(),
        VariableType::Boolean => value.is_boolean(),
        VariableType::Json => true,
    }
}

/// Renders a content with the bodies of its fragments and the values of its variables; the text of `text`, the rendering of
/// `template`; for `chat` the rendered messages, and for `json` the body, as JSON text.
///
/// # Errors
/// `invalid` for a missing, undeclared or ill-typed variable, for output that readers would write differently, and for a
/// template that does too much work.
pub fn render(content: &Content, fragments: &BTreeMap<String, String>, vars: &Map<String, Value>) -> Result<String, Refusal> {
    match (content.format, &content.body) {
        (Format::Text, Value::String(text)) => Ok(text.clone()),
        (Format::Json, body) => Ok(body.to_string()),
        (Format::Template, Value::String(source)) => {
            engine::Renderer::new(fragments, given(&content.variables, vars)?).render(source).map_err(|e| at("/body", e))
        }
        (Format::Chat, Value::Array(messages)) => {
            let renderer = engine::Renderer::new(fragments, given(&content.variables, vars)?);
            let mut out = Vec::new();
            for (index, message) in messages.iter().enumerate() {
                out.push(match message.get("content").and_then(Value::as_str) {
                    Some(source) => {
                        let text = renderer.render(source).map_err(|e| at(&format!("/body/{index}/content"), e))?;
                        json!({ "role": message.get("role"), "content": text })
                    }
                    None => message.clone(),
                });
            }
            Ok(Value::Array(out).to_string())
        }
        _ => Err(Refusal::invalid("/body", format!("the body is not one of the format {}", content.format))),
    }
}

fn at(path: &str, refusal: Refusal) -> Refusal {
    Refusal { path: Some(path.to_owned()), ..refusal }
}

/// The variables that a template sees: what was given, and the defaults of what was not; those with neither are undefined.
fn given(variables: &[Variable], vars: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    if let Some(name) = vars.keys().find(|name| !variables.iter().any(|v| v.name == **name)) {
        return Err(Refusal::invalid(format!("/{name}"), format!("there is no variable {name:?}")));
    }
    let mut out = Map::new();
    for variable in variables {
        let name = &variable.name;
        match vars.get(name) {
            Some(value) if fits(variable.kind, value) => out.insert(name.clone(), value.clone()),
            Some(_) => {
                return Err(Refusal::invalid(format!("/{name}"), format!("{name} is not of the type {}", variable.kind)));
            }
            None if !variable.default.is_null() => out.insert(name.clone(), variable.default.clone()),
            None if variable.required => {
                return Err(Refusal::invalid(format!("/{name}"), format!("the variable {name} is required")));
            }
            None => None,
        };
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, kind: VariableType) -> Variable {
        Variable { name: name.into(), kind, required: true, default: Value::Null }
    }
    fn declared() -> Vec<Variable> {
        use VariableType::{Boolean, Integer, Json, Number, String};
        [("name", String), ("n", Integer), ("x", Number), ("flag", Boolean), ("data", Json)]
            .map(|(name, kind)| variable(name, kind))
            .to_vec()
    }
    fn names(of: &[&str]) -> BTreeSet<String> {
        of.iter().map(|name| (*name).to_owned()).collect()
    }
    fn content(body: &str, variables: Vec<Variable>) -> Content {
        Content {
            key: "a.b".parse().unwrap(),
            format: Format::Template,
            body: body.into(),
            model_pin: None,
            parameters: Map::new(),
            fragments: BTreeMap::new(),
            variables,
            schema: 1,
        }
    }

    #[derive(serde::Deserialize)]
    struct Vectors {
        renders: Vec<Vector>,
    }
    #[derive(serde::Deserialize)]
    struct Vector {
        name: String,
        template: String,
        variables: Vec<Variable>,
        fragments: BTreeMap<String, String>,
        vars: Map<String, Value>,
        rendered: String,
    }

    #[test]
    fn a_text_that_is_all_tags_is_checked_in_time_that_grows_with_its_length() {
        let took = |tags: usize| {
            let source = "{{ name }}".repeat(tags);
            let once = || {
                let begin = std::time::Instant::now();
                check(&source, &declared(), &BTreeSet::new()).unwrap();
                begin.elapsed()
            };
            (0..3).map(|_| once()).min().unwrap()
        };
        let (short, long) = (took(1_000), took(20_000));
        // 20 times as long, not 400 times.
        assert!(long < short * 100, "{short:?} for 1,000 tags, {long:?} for 20,000");
    }

    #[test]
    fn golden_templates_are_in_the_subset_and_render_as_other_readers_render_them() {
        let vectors: Vectors = serde_json::from_str(include_str!("../../fixtures/golden/render.json")).unwrap();
        assert!(vectors.renders.len() > 40);
        for v in vectors.renders {
            let pinned = v.fragments.keys().cloned().collect();
            let used = check(&v.template, &v.variables, &pinned);
            assert!(used.is_ok(), "{}: {:?}", v.name, used.err());
            for body in v.fragments.values() {
                check(body, &v.variables, &BTreeSet::new()).unwrap();
            }
            let rendered = render(&content(&v.template, v.variables), &v.fragments, &v.vars);
            assert_eq!(rendered.as_deref(), Ok(v.rendered.as_str()), "{}", v.name);
        }
    }

    /// Template, and how the refusal begins.
    const OUTSIDE: &[(&str, &str)] = &[
        ("{{ name() }}", "line 1, column 4: calls are not"),
        ("a\nb {{ data.f(1) }}", "line 2, column 10: calls are not"),
        ("{{ name.__class__ }}", "line 1, column 4: the member \"__class__\" begins with an underscore"),
        ("{{ data.a.__class__.__mro__ }}", "line 1, column 10: the member \"__mro__\" begins"),
        ("{{ data['__class__'] }}", "line 1, column 4: brackets after a name are not"),
        ("{{ data[0] }}", "line 1, column 4: brackets after a name are not"),
        ("{{ data[1:] }}", "line 1, column 4: slices are not"),
        ("{{ data.constructor }}", "line 1, column 4: the member \"constructor\" is something else"),
        ("{{ data.items }}", "line 1, column 4: the member \"items\" is something else"),
        ("{{ data.none }}", "line 1, column 4: the member \"none\" is something else"),
        ("{{ data.true.x }}", "line 1, column 4: the member \"true\" is something else"),
        ("{{ _name }}", "line 1, column 4: \"_name\" begins with an underscore"),
        ("{{ other }}", "line 1, column 4: \"other\" is not declared"),
        ("{{ loop.index }}", "line 1, column 4: \"loop\" is not declared"),
        ("{{ range(3) }}", "line 1, column 4: calls are not"),
        ("é {{ other }}", "line 1, column 6: \"other\" is not declared"),
        ("{% import \"x\" as y %}", "line 1, column 4: imports are not"),
        ("{% from \"x\" import y %}", "line 1, column 4: imports are not"),
        ("{% extends \"x\" %}", "line 1, column 4: `extends` is not"),
        ("{% block x %}{% endblock %}", "line 1, column 4: `block` is not"),
        ("{% macro f() %}{% endmacro %}", "line 1, column 4: unknown statement"),
        ("{% call f() %}{% endcall %}", "line 1, column 4: unknown statement"),
        ("{% set a = 1 %}", "line 1, column 4: `set` is not"),
        ("{% set a %}x{% endset %}", "line 1, column 4: `set` is not"),
        ("{% with a = 1 %}{% endwith %}", "line 1, column 4: `with` is not"),
        ("{% do name() %}", "line 1, column 4: `do` is not"),
        ("{% autoescape true %}{% endautoescape %}", "line 1, column 4: `autoescape` is not"),
        ("{% filter upper %}{% endfilter %}", "line 1, column 4: `filter` blocks are not"),
        ("{% raw %}{{ x }}{% endraw %}", "line 1, column 1: raw blocks are not"),
        ("{%- raw -%}{% endraw %}", "line 1, column 1: raw blocks are not"),
        ("a\n{# hidden #}", "line 2, column 1: comments are not"),
        ("{#- hidden #}", "line 1, column 1: comments are not"),
        ("a #} b", "line 1, column 3: readers stumble over `#}`"),
        ("{{ name }}#}", "line 1, column 11: readers stumble over `#}`"),
        ("{%+ if flag %}{% endif %}", "line 1, column 3: `+` at the edge"),
        ("{% if flag +%}{% endif %}", "line 1, column 12: `+` at the edge"),
        ("{{ name | safe }}", "line 1, column 11: the filter \"safe\" is not"),
        ("{{ name | replace(\"a\", \"b\") }}", "line 1, column 11: the filter \"replace\" is not"),
        ("{{ data | map(attribute=\"x\") }}", "line 1, column 11: a named argument is not"),
        ("{{ data | join(name) }}", "line 1, column 11: `join` does not take these arguments"),
        ("{{ name | trim(\"x\") }}", "line 1, column 11: `trim` does not take these arguments"),
        ("{{ data | tojson(2) }}", "line 1, column 11: `tojson` does not take these arguments"),
        ("{{ name | default }}", "line 1, column 11: `default` does not take these arguments"),
        ("{{ n | upper }}", "line 1, column 8: `upper` takes a text"),
        ("{{ name | length }}", "line 1, column 11: readers count the length"),
        ("{{ name | join }}", "line 1, column 11: `join` takes a list"),
        ("{% include name %}", "line 1, column 4: an include is the literal name"),
        ("{% include \"a\" ~ name %}", "line 1, column 4: an include is the literal name"),
        ("{% include [\"tone\", \"x\"] %}", "line 1, column 4: an include is the literal name"),
        ("{% include \"tone\" ignore missing %}", "line 1, column 4: an include is the literal name"),
        ("{% include \"tone\" without context %}", "line 1, column 4: an include is the literal name"),
        ("{% include \"other\" %}", "line 1, column 12: the fragment \"other\" is not pinned"),
        ("{{ n + 1 }}", "line 1, column 4: arithmetic is not"),
        ("{{ -n }}", "line 1, column 4: arithmetic is not"),
        ("{{ name ~ name }}", "line 1, column 4: `~` is not"),
        ("{{ name if flag else name }}", "line 1, column 4: `if` inside an expression is not"),
        ("{% if name in data %}{% endif %}", "line 1, column 7: `in` is not"),
        ("{% if name not in data %}{% endif %}", "line 1, column 7: `in` is not"),
        ("{% if name is defined %}{% endif %}", "line 1, column 15: tests with `is` are not"),
        ("{% if 1 < n < 3 %}{% endif %}", "line 1, column 7: readers read chained comparisons"),
        ("{% if not n == 3 %}{% endif %}", "line 1, column 7: readers bind `not`"),
        ("{% if n == \"3\" %}{% endif %}", "line 1, column 7: the two sides are of different types"),
        ("{% if flag == 1 %}{% endif %}", "line 1, column 7: the two sides are of different types"),
        ("{% if flag < true %}{% endif %}", "line 1, column 7: only numbers and texts have an order"),
        ("{% if data %}{% endif %}", "line 1, column 7: an empty list is true to some"),
        ("{% if not data %}{% endif %}", "line 1, column 11: an empty list is true to some"),
        ("{% if data == data %}{% endif %}", "line 1, column 7: readers compare lists"),
        ("{{ data }}", "line 1, column 4: readers write lists and objects differently"),
        ("{{ flag }}", "line 1, column 4: readers write booleans differently"),
        ("{{ n == 1 }}", "line 1, column 4: readers write booleans differently"),
        ("{{ none }}", "line 1, column 4: readers write none differently"),
        ("{{ name.first }}", "line 1, column 4: only json variables have members"),
        ("{{ [1] }}", "line 1, column 4: list literals are not"),
        ("{{ {\"a\": 1} }}", "line 1, column 4: object literals are not"),
        ("{{ (1, 2) }}", "line 1, column 4: tuples are not"),
        ("{% if flag == True %}{% endif %}", "line 1, column 15: write true instead of True"),
        ("{% if data.a == null %}{% endif %}", "line 1, column 17: write none instead of null"),
        ("{{ \"\\u0041\" }}", "line 1, column 4: a text in a tag knows the escapes"),
        ("{{ 1.0 }}", "line 1, column 4: readers write this number differently"),
        ("{{ 0.00000001 }}", "line 1, column 4: readers write this number differently"),
        ("{{ 9007199254740993 }}", "line 1, column 4: readers write this number differently"),
        ("{% for a, b in data %}{% endfor %}", "line 1, column 8: a loop over pairs is not"),
        ("{% for a in name %}{% endfor %}", "line 1, column 13: a loop goes over a list"),
        ("{% for a in range(3) %}{% endfor %}", "line 1, column 13: a loop goes over a list"),
        ("{% for a in data if a %}{% endfor %}", "line 1, column 4: `recursive` and `if` in a loop"),
        ("{% for a in data recursive %}{% endfor %}", "line 1, column 4: `recursive` and `if` in a loop"),
        ("{% for a in data %}{% else %}x{% endfor %}", "line 1, column 4: `else` of a loop is not"),
        ("{% for name in data %}{% endfor %}", "line 1, column 8: \"name\" cannot name the item"),
        ("{% for _a in data %}{% endfor %}", "line 1, column 8: \"_a\" cannot name the item"),
        ("{% for loop in data %}{% endfor %}", "line 1, column 8: "),
        ("{% for a in data %}{% endfor %}{{ a }}", "line 1, column 35: \"a\" is not declared"),
        ("{{ name", "line 1, column 4: unexpected end of input"),
        ("{% if flag %}", "line 1, column 12: unexpected end of input"),
        ("{% endif %}", "line 1, column 4: "),
        ("{{ }}", "line 1, column 4: "),
    ];

    #[test]
    fn what_is_outside_of_the_subset_is_refused_with_line_and_column() {
        let mut differ = Vec::new();
        for (template, complaint) in OUTSIDE {
            match check(template, &declared(), &names(&["tone"])) {
                Err(refusal) if refusal.detail.starts_with(complaint) => {}
                other => differ.push(format!("{template}: {complaint}\n  but: {other:?}")),
            }
        }
        assert!(differ.is_empty(), "{}", differ.join("\n"));
    }

    #[test]
    fn what_is_used_and_what_may_be_absent_is_told() {
        let mut variables = declared();
        variables[0].required = false;
        let used = check("{{ name }}{{ n }}{% include \"tone\" %}", &variables, &names(&["tone", "other"])).unwrap();
        assert_eq!((used.variables, used.fragments), (names(&["n", "name"]), names(&["tone"])));
        assert_eq!(used.unguarded, names(&["name"]));
        assert!(check("{{ name | default(\"\") }}", &variables, &names(&[])).unwrap().unguarded.is_empty());
    }

    #[test]
    fn rendering_refuses_what_is_missing_undeclared_or_ill_typed() {
        let shown = |vars: Value| {
            let vars = vars.as_object().unwrap().clone();
            render(&content("{{ name }}{{ n }}", declared()[..2].to_vec()), &BTreeMap::new(), &vars).map_err(|e| e.to_string())
        };
        assert_eq!(shown(json!({ "name": "a", "n": 1 })), Ok("a1".into()));
        assert_eq!(shown(json!({ "name": "a", "n": 1.0 })), Ok("a1".into()));
        for (vars, complaint) in [
            (json!({ "n": 1 }), "the variable name is required (at /name)"),
            (json!({ "name": "a", "n": 1, "m": 2 }), "there is no variable \"m\" (at /m)"),
            (json!({ "name": 1, "n": 1 }), "name is not of the type string (at /name)"),
            (json!({ "name": "a", "n": 1.5 }), "n is not of the type integer (at /n)"),
            (json!({ "name": "a", "n": "1" }), "n is not of the type integer (at /n)"),
        ] {
            assert_eq!(shown(vars), Err(complaint.into()));
        }
    }

    #[test]
    fn rendering_refuses_output_that_readers_write_differently() {
        for (template, data, complaint) in [
            ("{{ data.a }}", json!({ "a": true }), "line 1, column 4: readers write a bool differently"),
            ("{{ data.a }}", json!({ "a": null }), "line 1, column 4: readers write a none differently"),
            ("{{ data.a }}", json!({ "a": [1] }), "line 1, column 4: readers write a sequence differently"),
            ("{{ data.a }}", json!({ "a": {} }), "line 1, column 4: readers write a "),
            ("{{ data.a }}", json!({}), "line 1, column 4: a value is undefined here"),
            ("{{ data.a.b }}", json!({}), "line 1, column 8: a value is undefined here"),
            ("{% if data.a %}{% endif %}", json!({}), "line 1, column 7: a value is undefined here"),
            ("{{ data.a | upper }}", json!({}), "line 1, column 13: a value is undefined here"),
            ("{{ data.a | length }}", json!({ "a": "text" }), "line 1, column 13: only lists have a length"),
            ("{{ data.a | join }}", json!({ "a": [[1]] }), "line 1, column 13: readers write a sequence in a list differently"),
            ("{% for a in data %}{% endfor %}", json!({ "b": 1 }), "line 1, column 13: "),
            ("{{ data.a }}", json!({ "a": 1e300 }), "data holds a number that readers write differently"),
            ("{{ data.a }}", json!({ "a": [{ "b": 1.5e-9 }] }), "data holds a number that readers write differently"),
        ] {
            let vars = Map::from_iter([("data".to_owned(), data)]);
            let refusal = render(&content(template, declared()[4..].to_vec()), &BTreeMap::new(), &vars).unwrap_err();
            assert!(refusal.detail.starts_with(complaint), "{template}: {refusal}");
            assert_eq!(refusal.path.as_deref(), Some("/body"));
        }
    }

    #[test]
    fn a_template_that_does_too_much_work_is_stopped() {
        let list: Vec<u32> = (0..1000).collect();
        let vars = Map::from_iter([("data".to_owned(), json!(list))]);
        let template = "{% for a in data %}{% for b in data %}{% for c in data %}x{% endfor %}{% endfor %}{% endfor %}";
        let refusal = render(&content(template, declared()[4..].to_vec()), &BTreeMap::new(), &vars).unwrap_err();
        assert!(refusal.detail.contains("too much work"), "{refusal}");
    }

    #[test]
    fn deeply_nested_source_is_refused_and_does_not_overflow() {
        for source in ["{% if flag %}".repeat(5000), format!("{{{{ {}name", "(".repeat(50_000)), "{{ not ".repeat(20_000)] {
            assert!(check(&source, &declared(), &BTreeSet::new()).is_err());
        }
        let not = format!("{{% if {}flag %}}{{% endif %}}", "not ".repeat(20_000));
        assert!(check(&not, &declared(), &BTreeSet::new()).is_err());
        let members = format!("{{{{ data{} }}}}", ".a".repeat(20_000));
        assert!(check(&members, &declared(), &BTreeSet::new()).is_err());
    }
}
