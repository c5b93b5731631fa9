//! One answer for a unit, whoever asks where: a registry and a relay of it, by resolving, explaining, OFREP of one key and of all,
//! the command line, and stock clients of other languages; and the readers of `fixtures/clients` prove what they got.
//!
//! `fixtures/clients/install` makes the clients runnable; without it these tests say so and leave them out, but where
//! CLIENTS=required. The one of `fixtures/clients/rust` takes part where CLIENTS_RUST names its program: it compiles for longer
//! than all else. `PROVE=full` asks for 10,000 units in place of 200.

use crate::support::near::{Near, RELAY, pepper};
use crate::support::program::program;
use crate::support::registry::{Served, said, token_of};
use countersign::client::Client;
use countersign::model::bundle::SignedBundle;
use countersign::rules;
use countersign::rules::canonical::{content_digest, fragment_digest};
use countersign::rules::note::Signer;
use futures_util::{StreamExt as _, stream};
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::TempDir;

/// One environment, which is the applications' by their role; nothing stands in the way of a promotion.
const POLICY: &str = r#"
[[environment]]
name = "production"
alias = "live"

[group.owners]
members = ["person:dee"]

[[role]]
who = "person:dee"
role = "author"
[[role]]
who = "person:carol"
role = "releaser"
[[role]]
who = "person:olga"
role = "oncall"
[[role]]
who = "person:root"
role = "admin"
[[role]]
who = "service:web"
role = "service"
environment = "production"
"#;
const PRODUCTION: &str = "production";
/// Whose token the applications have, as [`Served`] knows its owner: it only resolves, so that a relay knows it too.
const APP: &str = "web-resolves";
/// The key at [`SHARE`], and what OFREP calls it.
const PARTIAL: &str = "clients.partial";
const SHARE: f64 = 0.375;
const BULK: &str = "/ofrep/v1/evaluate/flags";

fn clients() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/clients")
}

/// Whether the clients are installed; says so where they are not.
fn installed() -> bool {
    let there = clients().join("installed").exists();
    let required = std::env::var("CLIENTS").is_ok_and(|how| how == "required");
    assert!(there || !required, "the stock clients are not installed: run fixtures/clients/install");
    if !there {
        // Past the capture of a test that passes: who skips a proof should know.
        let _ = writeln!(std::io::stderr(), "skipped: the stock clients are not installed (fixtures/clients/install)");
    }
    there
}

fn units() -> Vec<String> {
    let many = if std::env::var("PROVE").is_ok_and(|how| how == "full") { 10_000 } else { 200 };
    (0..many).map(|unit| format!("unité-{unit}")).collect()
}

/// A registry whose keys stand in every state, and what each client is to get of it.
struct Stage {
    served: Served,
    cases: Vec<Value>,
    rendered: Vec<Value>,
    langfuse: Vec<Value>,
    contents: Map<String, Value>,
    fragments: Map<String, Value>,
}

impl Stage {
    async fn start() -> Self {
        let served = Served::with_policy(&format!("{POLICY}{RELAY}")).await;
        let mut fragments = Map::new();
        let tone = json!({ "name": "tone", "body": "Be kind.", "owning_group": "owners" });
        served.post("dee", "/v1/fragments", tone).await.good();
        fragments.insert(fragment_digest("tone", "Be kind.").to_string(), json!({ "name": "tone", "body": "Be kind." }));
        Self { served, cases: Vec::new(), rendered: Vec::new(), langfuse: Vec::new(), contents: Map::new(), fragments }
    }

    /// Saves and submits a content; gives its digest.
    async fn version(&mut self, key: &str, mut content: Value) -> String {
        content["key"] = json!(key);
        let saved = json!({ "content": content, "rationale": "because" });
        let saved = self.served.post("dee", &format!("/v1/keys/{key}/versions"), saved).await.good();
        let digest = saved["digest"].as_str().unwrap().to_owned();
        self.served.post("dee", &format!("/v1/versions/{digest}/submit"), json!({})).await.good();
        let stored = self.served.get("dee", &format!("/v1/versions/{digest}")).await.good()["content"].clone();
        self.contents.insert(digest.clone(), stored);
        digest
    }

    async fn promote(&mut self, key: &str, environment: &str, digest: &str, more: Value) {
        let id = self.served.open(key, environment, digest, more).await;
        self.served.apply(&id).await;
    }

    /// A key that serves a content to everybody.
    async fn serve(&mut self, key: &str, content: Value) -> String {
        self.served.key(key).await;
        let digest = self.version(key, content).await;
        self.promote(key, PRODUCTION, &digest, json!({})).await;
        digest
    }

    /// What clients are to get of a prompt: its content with the bodies of its fragments.
    fn prompt(&self, digest: &str) -> Value {
        let mut value = self.contents[digest].clone();
        let pinned = value["fragments"].as_object().unwrap().iter();
        let bodies: Map<String, Value> =
            pinned.map(|(name, pin)| (name.clone(), self.fragments[pin.as_str().unwrap()]["body"].clone())).collect();
        value["fragment_bodies"] = Value::Object(bodies);
        value
    }

    fn case(&mut self, key: &str, kind: &str, default: &Value, (value, reason): (&Value, &str), digest: Option<&str>) {
        self.cases
            .push(json!({ "key": key, "type": kind, "default": default, "value": value, "reason": reason, "digest": digest }));
    }

    fn renders(&mut self, key: &str, digest: &str, values: &Value, text: &Value) {
        self.rendered.push(json!({ "key": key, "digest": digest, "values": values, "text": text }));
    }

    async fn prompts(&mut self) {
        let name = json!({ "name": "name", "type": "string", "required": true });
        let pin = fragment_digest("tone", "Be kind.").to_string();
        let text = json!({ "format": "text", "body": "Grüße, 👋 and {braces}\r\n", "model_pin": "m-1",
            "parameters": { "temperature": 0.5, "top": 3, "tiny": 1e-7 } });
        let text = self.serve("clients.text", text).await;
        let template = json!({ "format": "template", "body": "{{ greeting }}, {{ name | upper }}! {% include \"tone\" %}\n",
            "fragments": { "tone": pin }, "variables": [
                { "name": "greeting", "type": "string", "required": false, "default": "Hello" }, name ] });
        let template = self.serve("clients.template", template).await;
        let plain = json!({ "format": "template", "body": "Hello {{ name }}", "variables": [name], "model_pin": "m-2" });
        let plain = self.serve("clients.plain", plain).await;
        let chat = json!({ "format": "chat", "variables": [name], "body": [
            { "role": "system", "content": "You are {{ name }}." }, { "placeholder": "history" }, { "role": "user", "content": "Go" } ] });
        let chat = self.serve("clients.chat", chat).await;
        for (key, digest) in
            [("clients.text", &text), ("clients.template", &template), ("clients.plain", &plain), ("clients.chat", &chat)]
        {
            let prompt = self.prompt(digest);
            self.case(key, "object", &json!({}), (&prompt, "STATIC"), Some(digest));
        }
        let history = json!({ "role": "user", "content": "Earlier {{ not a tag }}" });
        let said = json!([{ "role": "system", "content": "You are Ada." }, history, { "role": "user", "content": "Go" }]);
        let values = json!({ "name": "Ada", "history": [history] });
        self.renders("clients.text", &text, &json!({}), &json!("Grüße, 👋 and {braces}\r\n"));
        self.renders("clients.template", &template, &json!({ "name": "Ada" }), &json!("Hello, ADA! Be kind.\n"));
        self.renders("clients.chat", &chat, &values, &said);

        let config = json!({ "model": "m-1", "temperature": 0.5, "top": 3, "tiny": 1e-7 });
        let labels = json!(["production", "live"]);
        let read = |name: &str, more: Value| {
            let mut read = json!({ "name": name, "type": "text", "number": 1, "labels": labels, "values": {} });
            read.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            read
        };
        let body = "Grüße, 👋 and {braces}\r\n";
        let (second, chat_shape) = (
            json!({ "model": "m-2" }),
            json!([
                { "type": "message", "role": "system", "content": "You are {{ name }}." },
                { "type": "placeholder", "name": "history" },
                { "type": "message", "role": "user", "content": "Go" },
            ]),
        );
        let quiet = json!({ "name": "Ada", "history": [{ "role": "user", "content": "Earlier" }] });
        let quiet_text = json!([{ "role": "system", "content": "You are Ada." }, { "role": "user", "content": "Earlier" },
            { "role": "user", "content": "Go" }]);
        self.langfuse = vec![
            read("clients.text", json!({ "label": "production", "prompt": body, "config": config, "text": body })),
            read(
                "clients.plain",
                json!({ "label": "live", "prompt": "Hello {{ name }}", "config": second,
                "values": { "name": "Ada" }, "text": "Hello Ada" }),
            ),
            read(
                "clients.plain",
                json!({ "version": 1, "prompt": "Hello {{ name }}", "config": second,
                "values": { "name": "Ada" }, "text": "Hello Ada" }),
            ),
            read(
                "clients.chat",
                json!({ "label": "production", "type": "chat", "prompt": chat_shape, "config": {},
                "values": quiet, "text": quiet_text }),
            ),
            read("clients.template", json!({ "label": "production", "refused": "more than a bare" })),
            read("clients.text", json!({ "label": "latest", "refused": "there is no `latest` here" })),
            read("clients.killed", json!({ "label": "production", "refused": "killed" })),
            read("clients.partial", json!({ "version": 3, "refused": "nothing here by that name" })),
        ];
    }

    async fn values(&mut self) {
        for (key, kind, body, default) in [
            ("clients.object", "object", json!({ "b": [1, 2.5, null], "a": "x" }), json!({})),
            ("clients.list", "object", json!([{ "id": 1 }]), json!([])),
            ("clients.integer", "integer", json!(3), json!(0)),
            ("clients.float", "float", json!(2.5), json!(0.25)),
            ("clients.flag", "boolean", json!(true), json!(false)),
            ("clients.words", "string", json!("words"), json!("")),
        ] {
            let digest = self.serve(key, json!({ "format": "json", "body": body })).await;
            self.case(key, kind, &default, (&body, "STATIC"), Some(&digest));
        }
    }

    /// One killed key without a safe default, and one with.
    async fn killed(&mut self) {
        let kill = json!({ "reason": "test" });
        self.serve("clients.killed", json!({ "format": "text", "body": "bad" })).await;
        self.served.act("olga", "clients.killed", PRODUCTION, "kill", kill.clone()).await.good();
        let mine = json!({ "mine": true });
        self.case("clients.killed", "object", &mine, (&mine, "DISABLED"), None);
        self.serve("clients.safe", json!({ "format": "text", "body": "bad" })).await;
        let safe = self.version("clients.safe", json!({ "format": "text", "body": "safe" })).await;
        self.promote("clients.safe", "@safe-default", &safe, json!({})).await;
        self.served.act("olga", "clients.safe", PRODUCTION, "kill", kill).await.good();
        let prompt = self.prompt(&safe);
        self.case("clients.safe", "object", &json!({}), (&prompt, "DISABLED"), Some(&safe));
    }

    /// A key at [`SHARE`]; the digests of those outside and of those inside.
    async fn partial(&mut self) -> [String; 2] {
        let first = self.serve(PARTIAL, json!({ "format": "text", "body": "old" })).await;
        let second = self.version(PARTIAL, json!({ "format": "text", "body": "new" })).await;
        self.promote(PARTIAL, PRODUCTION, &second, json!({ "percent": SHARE * 100.0 })).await;
        self.version(PARTIAL, json!({ "format": "text", "body": "a draft" })).await;
        [first, second]
    }

    /// A relay that follows to the newest event, and its directory.
    async fn relay(&self) -> (Near, TempDir) {
        let dir = tempfile::tempdir().unwrap();
        pepper(dir.path());
        let own = self.served.token("service:relay", "read").await;
        let near = Near::start(&self.served.relay(dir.path()), &own).await.unwrap();
        let head = self.served.head().await;
        near.until("the relay follows", || async { near.health().await["seq"].as_u64().unwrap() >= head }).await;
        (near, dir)
    }

    /// What a unit gets of [`PARTIAL`]: the same from the registry and the relay in each way of asking over HTTP, and all that the
    /// unit gets in bulk besides.
    async fn asked(&self, near: &Near, clients: &[Client; 2], unit: &str) -> Value {
        let app = token_of(APP);
        let context = json!({ "context": { "targetingKey": "nobody", "user": unit } });
        let resolved = self.served.resolve(PARTIAL, PRODUCTION, unit).await;
        assert_eq!(near.resolve(&app, PARTIAL, PRODUCTION, unit).await.good(), resolved, "{unit}");
        let bulk = self.served.post(APP, BULK, context.clone()).await.good()["flags"].clone();
        assert_eq!(near.post(&app, BULK, context.clone()).await.good()["flags"], bulk, "{unit}");
        let one = format!("{BULK}/{PARTIAL}");
        let single = self.served.post(APP, &one, context.clone()).await.good();
        assert_eq!(near.post(&app, &one, context).await.good(), single, "{unit}");
        let flag = bulk.as_array().unwrap().iter().find(|flag| flag["key"] == PARTIAL).unwrap();
        for flag in [&single, flag] {
            assert_eq!((&flag["metadata"]["version"], &flag["reason"]), (&resolved["digest"], &json!("SPLIT")), "{unit}");
            assert_eq!(flag["value"]["body"], resolved["content"]["body"], "{unit}");
        }
        let (environment, key) = (PRODUCTION.parse().unwrap(), PARTIAL.parse().unwrap());
        let [here, there] = clients.each_ref().map(|client| client.explain(&environment, &key, Some(unit)));
        let (here, there) = (here.await.unwrap(), there.await.unwrap());
        assert_eq!((&there, json!(here.digest)), (&here, resolved["digest"].clone()), "{unit}");
        // What the terminal says of that answer: it asks by the same call.
        let said = countersign::tui::explained(&here);
        assert_eq!((&*said[0].0, json!(said[0].1)), ("gets", resolved["digest"].clone()), "{unit}");
        assert!(!here.steps.is_empty() && said.len() == 2 + here.steps.len(), "{unit}: {said:?}");
        resolved["digest"].clone()
    }

    /// What each unit gets, asked in every way that needs no stock client.
    async fn everywhere(&self, near: &Near, units: &[String], [outside, inside]: &[String; 2]) -> Value {
        let app = token_of(APP);
        let places = [self.served.address, near.address].map(|at| format!("http://{at}"));
        let clients = places.each_ref().map(|at| Client::new(at, Some(&app)).unwrap());
        let began = Instant::now();
        let ask = async |(at, unit): (usize, &String)| {
            let wanted = self.asked(near, &clients, unit).await;
            // The program takes longer than all else: at the relay for every tenth unit.
            for place in places.iter().take(if at % 10 == 0 { 2 } else { 1 }) {
                let line = ["resolve", PARTIAL, "--env", PRODUCTION, "--unit", unit, "--output", "json", "--server", place];
                let answer: Value = serde_json::from_str(&run("resolve", &mut self.program(APP, line)).await).unwrap();
                assert_eq!(answer["digest"], wanted, "{unit} by the command line, of {place}");
            }
            wanted
        };
        let digests: Vec<Value> = stream::iter(units.iter().enumerate()).map(ask).buffered(8).collect().await;
        let new = digests.iter().filter(|digest| **digest == **inside).count();
        assert_eq!(digests.iter().filter(|digest| **digest == **outside).count(), units.len() - new);
        // Within five standard deviations of the share.
        let many = f64::from(u32::try_from(units.len()).unwrap());
        let off = f64::from(u32::try_from(new).unwrap()) - many * SHARE;
        assert!(off.abs() < 5.0 * (many * SHARE * (1.0 - SHARE)).sqrt(), "{new} of {many}");
        println!(
            "{many} units, {new} inside {SHARE}: one answer by resolve, explain, OFREP and command line, in {:?}",
            began.elapsed()
        );
        let bodies = json!({ outside: "old", inside: "new" });
        json!({ "key": PARTIAL, "unit_type": "user", "units": units, "digests": digests, "bodies": bodies })
    }

    /// The program as somebody's.
    fn program<'a>(&self, who: &str, args: impl IntoIterator<Item = &'a str>) -> tokio::process::Command {
        let mut command = program(self.served.dir.path());
        command.args(args).env("COUNTERSIGN_SERVER", format!("http://{}", self.served.address));
        command.env("COUNTERSIGN_TOKEN", token_of(who));
        command.into()
    }

    /// Bundles that no reader takes, each with the key and environment that it is read by, and what the refusal says.
    async fn altered(&self, bundle: &Path, signed: &SignedBundle) -> Vec<Value> {
        let mut all = Vec::new();
        let mut put = |signed: &SignedBundle, key: &str, environment: &str, why: &str| {
            let file = bundle.with_file_name(format!("altered-{}.json", all.len()));
            std::fs::write(&file, serde_json::to_vec(signed).unwrap()).unwrap();
            all.push(json!({ "bundle": file, "key": key, "environment": environment, "why": why }));
        };
        let SignedBundle { key, digest, checkpoint, .. } = signed;
        let name = key.split('+').next().unwrap();
        let stranger = Signer::new(&[9; 32]);
        put(signed, &stranger.public(name).to_string(), PRODUCTION, "is not signed by");
        put(signed, key, "elsewhere", "not signed for this bundle of elsewhere");
        let bare = self.served.get("root", "/v1/audit/checkpoint").await.text;
        put(&SignedBundle { checkpoint: bare, ..signed.clone() }, key, PRODUCTION, "not signed for this bundle");

        // Another text, under digests that fit it.
        let mut other = signed.clone();
        let served = other.bundle.keys.get_mut(&self.cases[0]["key"].as_str().unwrap().parse().unwrap()).unwrap();
        let mut content = other.bundle.contents.remove(&served.digest.unwrap()).unwrap();
        content.body = "Obey me.".into();
        served.digest = Some(content_digest(&content));
        other.bundle.contents.insert(content_digest(&content), content);
        put(&other, key, PRODUCTION, "is not what its digest names");
        other.digest = rules::bundle::digest(&other.bundle);
        put(&other, key, PRODUCTION, "not signed for this bundle");
        other.checkpoint = checkpoint.replace(&digest.to_string(), &other.digest.to_string());
        put(&other, key, PRODUCTION, "does not fit");
        let text = &other.checkpoint[..=other.checkpoint.rfind("\n\n").unwrap()];
        (other.checkpoint, other.key) = (stranger.sign(name, text), stranger.public(name).to_string());
        put(&other, key, PRODUCTION, "is not signed by");
        all
    }

    /// Writes what clients are to get, and the bundle; gives the first one's name.
    async fn write(&self, near: &Near, partial: &Value) -> PathBuf {
        let file = |name: &str| self.served.dir.path().join(name);
        let bundle = file("bundle.json");
        run("export", &mut self.program("web", ["export", "--env", PRODUCTION, "--bundle", bundle.to_str().unwrap()])).await;
        let signed: SignedBundle = serde_json::from_slice(&std::fs::read(&bundle).unwrap()).unwrap();
        let known = json!({
            "server": format!("http://{}", self.served.address), "relay": format!("http://{}", near.address),
            "environment": PRODUCTION, "token": token_of(APP), "cases": self.cases, "partial": partial, "rendered": self.rendered,
            "metrics": self.served.get("dee", "/metrics").await.text,
            "langfuse": self.langfuse, "killed": "clients.killed", "bundle": bundle, "key": signed.key, "altered": self.altered(&bundle, &signed).await,
            "change": { "key": "clients.change", "token": token_of("olga"), "body": { "reason": "test" },
                "path": format!("/v1/keys/clients.change/pointers/{PRODUCTION}/kill") },
        });
        std::fs::write(file("known.json"), known.to_string()).unwrap();
        file("known.json")
    }
}

async fn run(name: &str, command: &mut tokio::process::Command) -> String {
    let output = command.kill_on_drop(true).output().await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {out}{err}");
    out.into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_gets_one_answer_from_the_registry_the_command_line_the_relay_and_every_client() {
    let mut stage = Stage::start().await;
    stage.prompts().await;
    stage.values().await;
    stage.killed().await;
    stage.serve("clients.change", json!({ "format": "text", "body": "for now" })).await;
    let digests = stage.partial().await;
    let (near, _dir) = stage.relay().await;
    let units = units();
    let partial = stage.everywhere(&near, &units, &digests).await;
    if !installed() {
        return;
    }
    let known = stage.write(&near, &partial).await;
    let python = clients().join("python");
    let mut check = tokio::process::Command::new(python.join(".venv/bin/python"));
    let said_by_python = run("python", check.arg(python.join("check.py")).arg(&known)).await;
    let mut check = tokio::process::Command::new("node");
    let said_by_node = run("node", check.arg(clients().join("javascript/check.mjs")).arg(&known)).await;
    let mut sayings = vec![said_by_python, said_by_node];
    if let Some(reader) = std::env::var_os("CLIENTS_RUST") {
        sayings.push(run("rust", tokio::process::Command::new(reader).arg(&known)).await);
    }
    for said in sayings {
        print!("{said}");
        assert!(said.contains(&format!("{} units at each of 2 places", units.len())), "{said}");
    }
    let change = said(stage.served.request("web", Method::GET, "/v1/environments/production/resolve/clients.change"));
    assert_eq!(change.await.good()["killed"], true, "the channel told of a change that was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn golden_vectors_and_renderings_are_the_same_in_other_languages() {
    if !installed() {
        return;
    }
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/golden");
    for script in ["recompute.py", "render.py"] {
        run(script, tokio::process::Command::new(clients().join("python/.venv/bin/python")).arg(golden.join(script))).await;
    }
    let mut render = tokio::process::Command::new("node");
    run("render.mjs", render.current_dir(clients().join("javascript")).arg(golden.join("render.mjs"))).await;
}
