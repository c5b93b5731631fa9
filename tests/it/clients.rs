//! Stock clients of other languages against a served registry: each gets what the server and the command line give, and the
//! readers of `fixtures/clients` prove what they got.
//!
//! `fixtures/clients/install` makes them runnable; without it these tests say so and pass, but where CLIENTS=required. The one
//! of `fixtures/clients/rust` takes part where CLIENTS_RUST names its program: it compiles for longer than all else.
//! `PROVE=full` asks for 10,000 units in place of 200.

use crate::support::program::program;
use crate::support::registry::{Served, said, token_of};
use countersign::rules::canonical::fragment_digest;
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::io::Write as _;
use std::path::PathBuf;

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
who = "service:web"
role = "service"
environment = "production"
"#;
const PRODUCTION: &str = "production";

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
        let served = Served::with_policy(POLICY).await;
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

    /// A key at 37.5 %, with what the server and the command line say of each unit.
    async fn partial(&mut self, units: &[String]) -> Value {
        let first = self.serve("clients.partial", json!({ "format": "text", "body": "old" })).await;
        let second = self.version("clients.partial", json!({ "format": "text", "body": "new" })).await;
        self.promote("clients.partial", PRODUCTION, &second, json!({ "percent": 37.5 })).await;
        self.version("clients.partial", json!({ "format": "text", "body": "a draft" })).await;
        let mut digests = Vec::new();
        for unit in units {
            digests.push(self.served.resolve("clients.partial", PRODUCTION, unit).await["digest"].clone());
        }
        let inside = digests.iter().filter(|digest| **digest == second).count();
        assert_eq!(digests.iter().filter(|digest| **digest == first).count(), units.len() - inside);
        // Within five standard deviations of the share.
        let (many, share) = (f64::from(u32::try_from(units.len()).unwrap()), 0.375);
        let off = f64::from(u32::try_from(inside).unwrap()) - many * share;
        assert!(off.abs() < 5.0 * (many * share * (1.0 - share)).sqrt(), "{inside} of {many}");
        let bodies = json!({ first: "old", second: "new" });
        json!({ "key": "clients.partial", "unit_type": "user", "units": units, "digests": digests, "bodies": bodies })
    }

    /// The program as the application's.
    fn program<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> tokio::process::Command {
        let mut command = program(self.served.dir.path());
        command.args(args).env("COUNTERSIGN_SERVER", format!("http://{}", self.served.address));
        command.env("COUNTERSIGN_TOKEN", token_of("web"));
        command.into()
    }

    /// Writes what clients are to get, and the bundle; gives the first one's name.
    async fn write(&self, partial: &Value) -> PathBuf {
        let file = |name: &str| self.served.dir.path().join(name);
        let known = json!({
            "server": format!("http://{}", self.served.address), "environment": PRODUCTION, "environment_in_url": false,
            "metrics": self.served.get("dee", "/metrics").await.text, "token": token_of("web"), "cases": self.cases, "partial": partial, "rendered": self.rendered,
            "langfuse": self.langfuse, "killed": "clients.killed", "bundle": file("bundle.json"),
            "change": { "key": "clients.change", "token": token_of("olga"), "body": { "reason": "test" },
                "path": format!("/v1/keys/clients.change/pointers/{PRODUCTION}/kill") },
        });
        std::fs::write(file("known.json"), known.to_string()).unwrap();
        let bundle = file("bundle.json");
        run("export", &mut self.program(["export", "--env", PRODUCTION, "--bundle", bundle.to_str().unwrap()])).await;
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
async fn every_client_gets_what_the_server_and_the_command_line_give() {
    if !installed() {
        return;
    }
    let mut stage = Stage::start().await;
    stage.prompts().await;
    stage.values().await;
    stage.killed().await;
    stage.serve("clients.change", json!({ "format": "text", "body": "for now" })).await;
    let units = units();
    let partial = stage.partial(&units).await;
    for (unit, wanted) in units.iter().zip(partial["digests"].as_array().unwrap()) {
        let mut resolve = stage.program(["resolve", "clients.partial", "--env", PRODUCTION, "--unit", unit, "--output", "json"]);
        let answer: Value = serde_json::from_str(&run("resolve", &mut resolve).await).unwrap();
        assert_eq!(answer["digest"], *wanted, "{unit}");
    }
    let known = stage.write(&partial).await;
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
        assert!(said.contains(&format!("{} units", units.len())), "{said}");
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
