//! `init`, `serve` and `migrate` as processes: files, refusals, signals, restarts.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use tempfile::TempDir;

fn countersign(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    let homes = std::env::temp_dir();
    command.args(args).env_remove("COUNTERSIGN_DATABASE_URL").env_remove("COUNTERSIGN_TOKEN").env_remove("COUNTERSIGN_SERVER");
    command.env("COUNTERSIGN_CONFIG_DIR", &homes).env("COUNTERSIGN_DATA_DIR", &homes).env("NO_COLOR", "1");
    command.stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    countersign(args).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A serving process; killed when dropped.
struct Process {
    child: Child,
    stderr: BufReader<ChildStderr>,
    url: String,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    fn serve(dir: &str) -> Self {
        let mut child =
            countersign(&["serve", dir, "--listen", "127.0.0.1:0"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while stderr.read_line(&mut line).unwrap() > 0 {
            if let Some((_, url)) = line.split_once("listening on ") {
                let url = url.trim().to_owned();
                return Self { child, stderr, url };
            }
            line.clear();
        }
        panic!("the server did not start: {:?}", child.wait());
    }

    fn signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
    }
}

fn ask(url: &str, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        countersign::client::init_tls();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.request(method.parse().unwrap(), format!("{url}{path}")).bearer_auth(token);
        let request = if body.is_null() { request } else { request.json(body) };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap())
    })
}

fn made() -> (TempDir, String, String) {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("registry").to_str().unwrap().to_owned();
    let output = run(&["init", &dir, "--admin", "ana"]);
    assert!(output.status.success(), "{}", said(&output));
    let token = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    (parent, dir, token)
}

#[test]
fn init_makes_private_files_once_and_prints_the_token() {
    let (_parent, dir, token) = made();
    let dir_path = Path::new(&dir);
    assert_eq!(std::fs::read_to_string(dir_path.join("admin-token")).unwrap().trim(), token);
    for file in ["admin-token", "policy.toml", "registry.db", "signing-key", "unit-pepper"] {
        let mode = std::fs::metadata(dir_path.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    assert_eq!(std::fs::metadata(dir_path).unwrap().permissions().mode() & 0o777, 0o700);
    let again = run(&["init", &dir]);
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again).contains("is not empty"), "{}", said(&again));
    assert_eq!(std::fs::read_to_string(dir_path.join("admin-token")).unwrap().trim(), token, "nothing changed");
}

#[test]
fn init_refuses_a_policy_that_does_not_read_and_leaves_nothing_behind() {
    let parent = tempfile::tempdir().unwrap();
    let policy = parent.path().join("policy.toml");
    std::fs::write(&policy, "[[environment]]\nname = \"dev\"\nguards = []\n").unwrap();
    let dir = parent.path().join("registry");
    let output = run(&["init", dir.to_str().unwrap(), "--policy", policy.to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(said(&output).contains("line 3"), "{}", said(&output));
    assert!(!dir.exists());
}

#[test]
fn a_server_keeps_its_state_over_a_kill_and_ends_on_a_signal() {
    let (_parent, dir, token) = made();
    let server = Process::serve(&dir);
    let body = json!({ "key_id": "support.greeting", "owning_group": "owners" });
    let (status, made) = ask(&server.url, &token, "POST", "/v1/keys", &body);
    assert_eq!((status, &made["key_id"]), (201, &json!("support.greeting")));
    server.signal("-KILL");
    drop(server);
    let mut server = Process::serve(&dir);
    let (status, key) = ask(&server.url, &token, "GET", "/v1/keys/support.greeting", &Value::Null);
    assert_eq!((status, &key["owning_group"]), (200, &json!("owners")));
    server.signal("-TERM");
    assert!(server.child.wait().unwrap().success());
    let mut rest = String::new();
    while server.stderr.read_line(&mut rest).unwrap() > 0 {}
    assert!(rest.contains("shutting down") && !rest.contains(&token[14..]), "{rest}");
    let mut server = Process::serve(&dir);
    server.signal("-INT");
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn serve_refuses_what_is_no_registry_another_pepper_and_a_demo() {
    let (parent, dir, _) = made();
    let missing = run(&["serve", parent.path().join("nothing").to_str().unwrap()]);
    assert!(!missing.status.success() && said(&missing).contains("countersign init"), "{}", said(&missing));
    let other = parent.path().join("pepper");
    std::fs::write(&other, "ab".repeat(32)).unwrap();
    let pepper = run(&["serve", &dir, "--pepper-file", other.to_str().unwrap()]);
    assert!(!pepper.status.success() && said(&pepper).contains("pepper"), "{}", said(&pepper));
    std::fs::write(Path::new(&dir).join(countersign::cli::DEMO_MARKER), "").unwrap();
    let demo = run(&["serve", &dir]);
    assert!(!demo.status.success() && said(&demo).contains("demo"), "{}", said(&demo));
}

#[test]
fn another_policy_file_is_reported_and_changes_nothing() {
    let (_parent, dir, token) = made();
    let file = Path::new(&dir).join("policy.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{before}\n# edited\n")).unwrap();
    let mut server = Process::serve(&dir);
    let (_, policy) = ask(&server.url, &token, "GET", "/v1/policy", &Value::Null);
    assert_eq!(policy["source"], before);
    // An alarm for whoever watches, that takes nothing out of service.
    let (status, ready) = ask(&server.url, &token, "GET", "/readyz", &Value::Null);
    assert_eq!((status, &ready["alarms"]), (200, &json!(["policy_file"])));
    let (_, world) = ask(&server.url, &token, "GET", "/v1/environments", &Value::Null);
    assert!(world["policy_file"].as_str().unwrap().starts_with("sha256:"), "{world}");
    // Applying that file ends it.
    let edited = std::fs::read_to_string(&file).unwrap();
    ask(&server.url, &token, "POST", "/v1/policy", &json!({ "source": edited, "rationale": "as on disk" }));
    let (_, ready) = ask(&server.url, &token, "GET", "/readyz", &Value::Null);
    assert_eq!(ready["alarms"], json!([]));
    // So does putting the file right, and an edit under the running server raises it.
    let alarms_become = |wanted: Value| {
        let begun = std::time::Instant::now();
        while ask(&server.url, &token, "GET", "/readyz", &Value::Null).1["alarms"] != wanted {
            assert!(begun.elapsed().as_secs() < 30, "the alarms never became {wanted}");
        }
    };
    std::fs::write(&file, format!("{edited}\n# and again\n")).unwrap();
    alarms_become(json!(["policy_file"]));
    let mut line = String::new();
    while !line.contains("ALARM: the policy file is not the policy in force") {
        line.clear();
        assert!(server.stderr.read_line(&mut line).unwrap() > 0, "the log ended without the alarm");
    }
    std::fs::write(&file, &edited).unwrap();
    alarms_become(json!([]));
    server.signal("-TERM");
    server.child.wait().unwrap();
}

#[test]
fn migrate_says_that_there_is_nothing_to_do() {
    let (_parent, dir, _) = made();
    let output = run(&["migrate", &dir]);
    assert!(output.status.success() && said(&output).contains("up to date"), "{}", said(&output));
}

#[test]
fn a_directory_is_served_by_one_process_and_copied_beside_it() {
    let p = crate::support::program::Program::start();
    p.serve_again(&[]).fails(1, "is being served");
    let file = format!("sqlite:{}", p.dir().join("registry.db").display());
    p.serve_again(&["--database", &file]).fails(1, "is being served");
    let copy = p.home.path().join("copy");
    p.run("nobody", ["backup".as_ref(), p.dir().as_os_str(), copy.as_os_str()]).good();
    p.words("carol", "keys").good();
}
