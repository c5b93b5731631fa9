//! The API document (OpenAPI 3.1): the route table says who may call, `operations` what each route takes and gives, the types
//! what that looks like, `examples.json` shows one of each.

mod operations;
mod page;

pub use page::page;

use super::error::{problem, status};
use super::router::{Access, TABLE};
use crate::model::{Code, Digest, Environment, KeyId, Refusal};
use crate::rules::access::Need;
use crate::wire::Problem;
use crate::wire::paths::template as t;
use operations::{AREAS, Gives, Operation, Shape};
use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, SchemaGenerator, transform::transform_subschemas};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;
use uuid::Uuid;

/// An example of each operation: `{"METHOD TEMPLATE": {"body": …, "answer": …}}`, taken from a registry.
const EXAMPLES: &str = include_str!("examples.json");
const DIGEST: &str = "sha256:5555555555555555555555555555555555555555555555555555555555555555";
const SCHEMAS: &str = "/components/schemas";
const ABOUT: &str = "Everything under `/v1` is strict: unknown fields and parameters are 422 with their place. Errors are \
    problems (RFC 9457) with a machine `code`, and mostly a `hint`. What is not there and what is not yours answer alike, with \
    404. `Idempotency-Key` makes a change safe to send again for 24 hours. Lists give `next_cursor`, to be sent as `cursor`; null \
    is the end.";

/// The document, made once.
pub fn document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(make);
    &DOCUMENT
}

fn make() -> Value {
    let mut writer = Writer::new();
    let mut paths: Map<String, Value> = Map::new();
    for (area, operation) in AREAS.iter().flat_map(|(area, _, rows)| rows.iter().map(move |row| (area, row))) {
        let path = paths.entry(operation.template).or_insert_with(|| json!({ "parameters": names(operation.template) }));
        path[operation.method] = writer.operation(area, operation);
    }
    let problem = writer.answer(SchemaGenerator::subschema_for::<Problem>);
    let mut schemas = writer.answers.take_definitions(true);
    schemas.values_mut().for_each(plain_words);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Countersign",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A prompt and configuration registry",
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "tags": AREAS.iter().map(|(name, about, _)| json!({ "name": name, "description": about })).collect::<Value>(),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": refusals(&problem),
            "headers": headers(),
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "A token `cs_…`, or one of an issuer that the policy names." },
                "basic": { "type": "http", "scheme": "basic", "description": "A token's id as user, its secret as password." },
                "key": { "type": "apiKey", "in": "header", "name": "X-API-Key", "description": "A token `cs_…`." },
                "ticket": { "type": "apiKey", "in": "query", "name": "ticket", "description": "As the bulk answer gives it." },
            },
        },
    })
}

/// Writes operations. What answers hold is named once for all; what is sent stands where it is sent, since the same type may ask
/// less of a sender than it promises to a reader.
struct Writer {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
    examples: Map<String, Value>,
}

impl Writer {
    fn new() -> Self {
        let of = |contract, inline| {
            let settings = SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = SCHEMAS.into();
                settings.meta_schema = None;
                settings.contract = contract;
                settings.inline_subschemas = inline;
            });
            settings.into_generator()
        };
        let (requests, answers) = (of(Contract::Deserialize, true), of(Contract::Serialize, false));
        Self { requests, answers, examples: serde_json::from_str(EXAMPLES).unwrap_or_default() }
    }

    fn request(&mut self, shape: Shape) -> Value {
        let mut schema = shape(&mut self.requests).to_value();
        if let Some(members) = schema.as_object_mut() {
            members.remove("title");
        }
        plain_words(&mut schema);
        schema
    }

    fn answer(&mut self, shape: Shape) -> Value {
        let mut schema = shape(&mut self.answers).to_value();
        plain_words(&mut schema);
        schema
    }

    fn operation(&mut self, area: &str, operation: &Operation) -> Value {
        let row = TABLE.iter().find(|route| (route.method, route.template) == (operation.method, operation.template));
        let access = row.map_or(Access::Open, |route| route.access);
        let example = self.examples.remove(&format!("{} {}", operation.method, operation.template)).unwrap_or_default();
        let mut written = json!({
            "operationId": id(operation),
            "summary": operation.summary,
            "tags": [area],
            "security": security(access),
            "parameters": self.parameters(operation, access),
            "responses": self.responses(operation, access, &example),
        });
        if let Some(shape) = operation.body {
            let content = with(json!({ "schema": self.request(shape) }), example.get("body"));
            let required = content["schema"]["required"].is_array();
            written["requestBody"] = json!({ "required": required, "content": { "application/json": content } });
        }
        written
    }

    /// The query, and headers that say something.
    fn parameters(&mut self, operation: &Operation, access: Access) -> Vec<Value> {
        let mut parameters = Vec::new();
        let query = operation.query.map(|shape| self.request(shape)).unwrap_or_default();
        for (name, schema) in query["properties"].as_object().into_iter().flatten() {
            let required = query["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
            let mut schema = present(schema.clone());
            let description = schema.as_object_mut().and_then(|members| members.remove("description"));
            let mut parameter = json!({ "name": name, "in": "query", "required": required, "schema": schema });
            if let Some(description) = description {
                parameter["description"] = description;
            }
            parameters.push(parameter);
        }
        let header = |name: &str, about: &str, schema: Value| json!({ "name": name, "in": "header", "description": about, "schema": schema });
        if matches!(access, Access::Verb(_)) && operation.template != t::KILL_MANY {
            let about = "The same key with the same body gives the first answer again for 24 hours.";
            parameters.push(header(
                "Idempotency-Key",
                about,
                json!({ "type": "string", "pattern": "^[!-~]([\\t -~]{0,253}[!-~])?$" }),
            ));
        }
        if is_tagged(operation) {
            let about = "The `ETag` of an earlier answer: 304 where it still holds.";
            parameters.push(header("If-None-Match", about, json!({ "type": "string" })));
        }
        if operation.template == t::STREAM {
            let about = "The number of the last audit event that was received; counts more than `after`.";
            parameters.push(header("Last-Event-ID", about, json!({ "type": "integer", "minimum": 0 })));
        }
        parameters
    }

    fn responses(&mut self, operation: &Operation, access: Access, example: &Value) -> Value {
        let (media, schema) = match operation.gives {
            Gives::Json(shape) => ("application/json", self.answer(shape)),
            Gives::Text(media) => (media, json!({ "type": "string" })),
        };
        let mut headers = json!({ "X-Request-Id": component("headers", "X-Request-Id") });
        let more: &[&str] = match access {
            Access::Verb(_) => &["Countersign-Seq", "Idempotency-Replayed"],
            _ if is_tagged(operation) => &["ETag"],
            _ => &[],
        };
        for name in more {
            headers[*name] = component("headers", name);
        }
        let content = json!({ media: with(json!({ "schema": schema }), example.get("answer")) });
        let done = |about: &str| json!({ "description": about, "headers": headers, "content": content });
        let mut responses = json!({ "200": done("Done.") });
        if operation.makes {
            responses["201"] = done("Made.");
        }
        if is_tagged(operation) {
            responses["304"] = json!({ "description": "As it was.", "headers": headers });
        }
        for status in refused_with(operation, access) {
            responses[status.to_string()] = component("responses", &format!("Refused{status}"));
        }
        if let Some((shape, statuses)) = operation.fails {
            let (own, problem) = (self.answer(shape), self.answer(SchemaGenerator::subschema_for::<Problem>));
            for status in statuses {
                let mut content = json!({ "application/json": { "schema": own } });
                // Who is stopped at the door gets a problem, as everywhere.
                if responses.get(status.to_string()).is_some() {
                    content["application/problem+json"] = json!({ "schema": problem });
                }
                let headers = json!({ "X-Request-Id": component("headers", "X-Request-Id") });
                let about = "Refused, in words of the protocol's own.";
                responses[status.to_string()] = json!({ "description": about, "headers": headers, "content": content });
            }
        }
        responses
    }
}

/// Whether an answer carries an `ETag`.
fn is_tagged(operation: &Operation) -> bool {
    let bulk = [t::OFREP_FLAGS, t::ENV_OFREP_FLAGS].contains(&operation.template);
    bulk || (operation.method == "get" && matches!(operation.gives, Gives::Json(_)))
}

/// With what a route can refuse beside what is its own.
fn refused_with(operation: &Operation, access: Access) -> Vec<u16> {
    let mut codes = vec![Code::Timeout, Code::Unavailable];
    let asks_for_somebody = !matches!(access, Access::Open);
    let strict = operation.template.starts_with("/v1/");
    if asks_for_somebody {
        codes.extend([Code::Unauthenticated, Code::Forbidden, Code::NotFound, Code::RateLimited]);
    }
    if operation.body.is_some() {
        codes.push(Code::TooLarge);
    }
    if strict {
        codes.push(Code::Invalid);
    }
    if strict && operation.body.is_some() {
        codes.push(Code::UnsupportedMedia);
    }
    match access {
        Access::Verb(_) => codes.extend([Code::WrongState, Code::PreconditionFailed, Code::DiskFull]),
        // Selectors can fit two versions; the read of a confidential text is recorded, which can be refused.
        Access::Read(Need::Read) => codes.extend([Code::Ambiguous, Code::DiskFull]),
        _ => {}
    }
    let mut statuses: Vec<u16> = codes.into_iter().map(|code| status(code).as_u16()).collect();
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

/// A response for each status of a problem, with the codes that it may carry.
fn refusals(schema: &Value) -> Value {
    let mut responses = Map::new();
    for code in Code::ALL {
        let status = status(*code).as_u16();
        let others = Code::ALL.iter().filter(|other| super::error::status(**other).as_u16() == status);
        let words: Vec<String> = others.map(|code| format!("`{code}`")).collect();
        let mut headers = json!({ "X-Request-Id": component("headers", "X-Request-Id") });
        if *code == Code::RateLimited {
            headers["Retry-After"] = component("headers", "Retry-After");
        }
        let example = problem(Refusal::new(*code, "what happened, for people"));
        let content = json!({ "application/problem+json": { "schema": schema, "example": example } });
        let response = json!({ "description": words.join(", "), "headers": headers, "content": content });
        responses.entry(format!("Refused{status}")).or_insert(response);
    }
    responses.into()
}

fn headers() -> Value {
    let header =
        |about: &str, required: bool, schema: Value| json!({ "description": about, "required": required, "schema": schema });
    json!({
        "X-Request-Id": header("Names the request in the server's log.", true, json!({ "type": "string", "pattern": "^[0-9a-f]{32}$" })),
        "ETag": header("Names the answer, for `If-None-Match`.", true, json!({ "type": "string" })),
        "Countersign-Seq": header("Number of the audit event, where something changed.", false, json!({ "type": "integer", "minimum": 1 })),
        "Idempotency-Replayed": header("The first answer again.", false, json!({ "const": "true" })),
        "Retry-After": header("Seconds to wait.", true, json!({ "type": "integer", "minimum": 1 })),
    })
}

/// A content with its example.
fn with(mut content: Value, example: Option<&Value>) -> Value {
    if let Some(example) = example {
        content["example"] = example.clone();
    }
    content
}

fn component(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// `get_keys_key_history`
fn id(operation: &Operation) -> String {
    let words = operation.template.split(['/', '{', '}', '-', '.']).filter(|word| !word.is_empty() && *word != "v1");
    std::iter::once(operation.method).chain(words).collect::<Vec<_>>().join("_")
}

fn security(access: Access) -> Value {
    match access {
        Access::Open => json!([]),
        Access::Ticket => json!([{ "ticket": [] }]),
        Access::Foreign(_) => json!([{ "bearer": [] }, { "basic": [] }, { "key": [] }]),
        Access::Anyone | Access::Known | Access::Mine | Access::Read(_) | Access::Verb(_) => json!([{ "bearer": [] }]),
    }
}

/// The names in a path.
fn names(template: &str) -> Vec<Value> {
    let names = template.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name: &str| {
        let word = json!({ "type": "string", "minLength": 1 });
        let (about, schema, example) = match name {
            "key" => ("A key.", looks::<KeyId>(), "support.refund.system"),
            "environment" => ("An environment of the policy.", looks::<Environment>(), "production"),
            "selector" => ("`vN`, a digest or six or more of its hex digits, or an environment.", word, "v1"),
            "digest" => ("A version's digest.", looks::<Digest>(), DIGEST),
            "fragment" if template == t::FRAGMENT => ("A revision's digest.", looks::<Digest>(), DIGEST),
            "fragment" => ("A fragment's name.", word, "tone"),
            "token_id" => ("`cs_` and ten letters.", word, "cs_a2b3c4d5e6"),
            _ => ("Its id.", looks::<Uuid>(), "01938a1e-0000-7000-8000-000000000000"),
        };
        json!({ "name": name, "in": "path", "required": true, "description": about, "schema": schema, "example": example })
    };
    names.map(parameter).collect()
}

/// How a name looks.
fn looks<T: JsonSchema>() -> Value {
    T::json_schema(&mut SchemaGenerator::default()).to_value()
}

/// The schema of a parameter that is there: null is for those that are not.
fn present(mut schema: Value) -> Value {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = &kinds[..] {
            schema["type"] = only.clone();
        }
    }
    if let Some(Value::Array(kinds)) = schema.get_mut("anyOf") {
        kinds.retain(|kind| kind["type"] != "null");
    }
    if let Some(members) = schema.as_object_mut().filter(|members| members.get("default") == Some(&Value::Null)) {
        members.remove("default");
    }
    schema
}

/// Descriptions come from the code's own: links to other items mean nothing here.
fn plain_words(schema: &mut Value) {
    fn plain(schema: &mut schemars::Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace("[`", "`").replace("`]", "`");
        }
        transform_subschemas(&mut plain, schema);
    }
    if let Ok(schema) = schema.try_into() {
        plain(schema);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_has_an_operation_and_every_operation_a_route() {
        let of = |method: &str, template: &str| format!("{method} {template}");
        let mut routes: Vec<String> = TABLE.iter().map(|route| of(route.method, route.template)).collect();
        let operations = AREAS.iter().flat_map(|(_, _, rows)| rows.iter());
        let mut described: Vec<String> = operations.map(|row| of(row.method, row.template)).collect();
        routes.sort();
        described.sort();
        assert_eq!(described, routes);
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_and_examples() {
        let mut ids = std::collections::BTreeSet::new();
        for (path, methods) in document()["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap().iter().filter(|(method, _)| *method != "parameters") {
                assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{method} {path}");
                let media = operation["responses"]["200"]["content"].as_object().unwrap().values().next().unwrap();
                assert!(media.get("example").is_some(), "{method} {path} shows no answer");
                if let Some(body) = operation.get("requestBody") {
                    assert!(body["content"]["application/json"]["example"].is_object(), "{method} {path} shows no body");
                }
            }
        }
        let examples: Map<String, Value> = serde_json::from_str(EXAMPLES).unwrap();
        assert_eq!(examples.len(), ids.len(), "an example of no operation");
    }

    #[test]
    fn whatever_is_referred_to_is_there() {
        let text = document().to_string();
        let targets = text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap());
        let missing: Vec<&str> = targets.filter(|target| document().pointer(target).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
