//! A relay as a program beside a registry as a program: killed, away, back, and put back from an older backup.

use crate::support::near::RELAY;
use crate::support::program::{POLICY, Program, program, said, tls_file};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const KEY: &str = "support.greeting";

/// A relay that runs as a program.
struct Relayed {
    child: Child,
    server: String,
    log: Arc<Mutex<String>>,
    client: reqwest::Client,
    app: String,
}

impl Drop for Relayed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Relayed {
    /// Starts it with what the stage made, and more options.
    fn start(stage: &Stage, more: &[&str]) -> Self {
        let mut command = stage.relay("near", more);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(String::new()));
        let mut line = String::new();
        let server = loop {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the relay ended: {}", log.lock().unwrap());
            log.lock().unwrap().push_str(&line);
            if let Some((_, address)) = line.split_once("listening on ") {
                break address.trim().to_owned();
            }
        };
        let written = log.clone();
        std::thread::spawn(move || {
            lines.lines().map_while(Result::ok).for_each(|line| written.lock().unwrap().push_str(&(line + "\n")));
        });
        countersign::client::init_tls();
        let authority = fs::read(tls_file("authority.pem")).unwrap();
        let trusted = reqwest::Certificate::from_pem(&authority);
        let client = reqwest::Client::builder().no_proxy().tls_certs_only(trusted).build().unwrap();
        Self { child, server, log, client, app: stage.app.clone() }
    }

    fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// What a unit gets, and for how many seconds that was not known to be the newest.
    async fn resolve(&self, unit: &str) -> (Value, u64) {
        let request = self.client.post(format!("{}/v1/environments/dev/resolve/{KEY}", self.server));
        let answer = request.bearer_auth(&self.app).json(&json!({ "unit": unit })).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let age = answer.headers()["age"].to_str().unwrap().parse().unwrap();
        (answer.json().await.unwrap(), age)
    }

    async fn body(&self) -> Value {
        self.resolve("u").await.0["content"]["body"].clone()
    }

    async fn health(&self) -> Value {
        self.client.get(format!("{}/healthz", self.server)).send().await.unwrap().json().await.unwrap()
    }

    async fn until<F: Future<Output = bool>>(&self, what: &str, is_so: impl Fn() -> F) {
        let began = Instant::now();
        while !is_so().await {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}: {}\n{}", self.health().await, self.log());
        }
    }

    async fn stands(&self, stand: &str) {
        self.until(stand, || async { self.health().await["upstream"] == stand }).await;
    }
}

/// A registry with [`KEY`] in dev, a token for a relay, and one for an application.
struct Stage {
    registry: Program,
    app: String,
}

impl Stage {
    fn set() -> Self {
        let p = Program::start();
        let policy = p.home.path().join("with-relay.toml");
        fs::write(&policy, format!("{POLICY}{RELAY}")).unwrap();
        p.run("root", ["policy", "apply", policy.to_str().unwrap(), "--rationale", "a relay"]).good();
        let token = |actor: &str, scope: &str| {
            p.words("root", &format!("token create --actor {actor} --scope {scope}")).good().out.trim().to_owned()
        };
        fs::write(p.home.path().join("relay-token"), token("service:relay", "read")).unwrap();
        let app = token("service:web", "service");
        p.served_in_dev(KEY, "Hello.\n");
        Self { registry: p, app }
    }

    fn data(&self) -> PathBuf {
        self.registry.home.path().join("near")
    }

    /// The command of a relay that keeps its state in a directory of that name.
    fn relay(&self, data: &str, more: &[&str]) -> Command {
        let p = &self.registry;
        let mut command = program(p.home.path());
        command.args(["relay", "--listen", "127.0.0.1:0", "--upstream", &p.server]);
        command.arg("--data").arg(p.home.path().join(data)).arg("--pepper-file").arg(p.dir().join("unit-pepper"));
        command.arg("--token-file").arg(p.home.path().join("relay-token")).args(more);
        command
    }

    /// Another text serves in dev.
    fn serves(&self, text: &str) {
        let p = &self.registry;
        let digest = p.draft(KEY, text);
        p.words("dee", &format!("submit {KEY}@{digest}")).good();
        let id = p.open(&format!("{KEY}@{digest} --env dev"));
        p.words("carol", &format!("apply {id}")).good();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_answers_while_the_registry_is_killed_and_follows_it_again_when_it_is_back() {
    let mut stage = Stage::set();
    let relay = Relayed::start(&stage, &[]);
    relay.stands("following").await;
    let expected = relay.resolve("u").await.0["digest"].clone();
    stage.registry.stop();
    let (began, relay) = (Instant::now(), &relay);
    let ages = stream::iter(0..10_000)
        .map(async |n| {
            let (answer, age) = relay.resolve(&format!("unit-{n}")).await;
            assert_eq!(answer["digest"], expected);
            age
        })
        .buffer_unordered(16);
    let (answers, oldest) = ages.fold((0, 0), async |(n, oldest): (u32, u64), age| (n + 1, oldest.max(age))).await;
    println!("{answers} answers while the registry was killed, in {:?}, the oldest of {oldest} s", began.elapsed());
    let away = began.elapsed().as_secs();
    assert!(answers == 10_000 && oldest + 2 >= away && oldest <= away + 3, "{oldest} s old after {away} s");
    relay.stands("away").await;
    let (_, age) = relay.resolve("u").await;
    let older = || async { relay.resolve("u").await.1 > age };
    relay.until("it grows older", older).await;
    stage.registry.restart();
    relay.stands("following").await;
    assert!(relay.resolve("u").await.1 <= 2);
    stage.serves("Good day.\n");
    relay.until("what changed then arrives", || async { relay.body().await == "Good day.\n" }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_was_put_back_from_an_older_backup_is_refused_but_for_its_kills_until_somebody_takes_it() {
    let mut stage = Stage::set();
    let relay = Relayed::start(&stage, &[]);
    let old = stage.registry.home.path().join("monday");
    said(program(stage.registry.home.path()).arg("backup").arg(stage.registry.dir()).arg(&old)).good();
    stage.serves("Good day.\n");
    relay.until("it is taken", || async { relay.body().await == "Good day.\n" }).await;
    stage.registry.stop();
    let dir = stage.registry.dir();
    let home = stage.registry.home.path().to_owned();
    said(program(&home).arg("restore").arg(&dir).arg("--from").arg(&old).args(["--rationale", "the disk died"])).good();
    stage.registry.restart();
    relay.stands("refused").await;
    assert_eq!(relay.body().await, "Good day.\n", "never back to an older state");
    let health = relay.health().await;
    assert_eq!(health["alarms"], json!(["upstream_refused"]));
    assert!(health["why"].as_str().unwrap().contains("chain breaks at #"), "{health}");
    assert!(relay.log().contains("ALARM: the registry is refused"), "{}", relay.log());

    // A kill there is a kill here, and stays one.
    assert_eq!(relay.resolve("u").await.0["killed"], false);
    stage.registry.words("carol", &format!("kill {KEY} --env dev --reason safety --yes")).good();
    relay.until("a kill arrives", || async { relay.resolve("u").await.0["killed"] == true }).await;
    let kept = || async { fs::metadata(stage.data().join("withheld.json")).is_ok() };
    relay.until("a kill is kept", kept).await;
    drop(relay);
    let relay = Relayed::start(&stage, &[]);
    let answer = relay.resolve("u").await.0;
    assert_eq!((&answer["killed"], &answer["digest"]), (&json!(true), &Value::Null), "from the first answer on");
    relay.stands("refused").await;
    drop(relay);

    let relay = Relayed::start(&stage, &["--accept-head", "carol restored it"]);
    relay.stands("following").await;
    assert_eq!(relay.resolve("u").await.0["killed"], true, "it is killed there");
    stage.registry.run("ana", ["audit", "accept-head", "--yes", "--rationale", "carol restored it"]).good();
    let seq = stage.registry.json("ana", "audit tail -n 1")["items"][0]["seq"].clone();
    assert_eq!(relay.health().await["seq"], seq);
    let why = fs::read_to_string(stage.data().join("pins/accepted.ndjson")).unwrap();
    assert!(why.contains("carol restored it"), "{why}");
    drop(relay);
    let relay = Relayed::start(&stage, &[]);
    relay.stands("following").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_follows_over_tls_whom_it_trusts_and_serves_over_tls_itself() {
    let mut stage = Stage::set();
    stage.registry.over_tls("server.pem");
    let authority = tls_file("authority.pem");
    let (certificate, key) = (tls_file("server.pem"), tls_file("server.key"));
    let relay = Relayed::start(&stage, &["--ca", &authority, "--tls-cert", &certificate, "--tls-key", &key]);
    assert!(relay.server.starts_with("https://"), "{}", relay.server);
    relay.stands("following").await;
    assert_eq!(relay.body().await, "Hello.\n");
    let other = stage.relay("further", &["--ca", &tls_file("stranger.pem")]).output().unwrap();
    let why = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(other.status.code() == Some(7) && why.contains("is not trusted here"), "{why}");
}
