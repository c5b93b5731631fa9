//! Nothing is acknowledged before it is on the disk: the order of the server's own system calls, for each verb.

use crate::support::program::{POLICY, Program};
use countersign::server::router::{Access, TABLE};
use countersign::wire::paths::template;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running strace; ends when dropped, and leaves the server as it is.
struct Trace {
    strace: Child,
    file: PathBuf,
}

impl Trace {
    /// Begins to watch a process; none where strace is missing or may not.
    fn of(pid: u32, file: PathBuf) -> Option<Self> {
        const CALLS: &str = "trace=pwrite64,pwritev,fdatasync,fsync,sendto,sendmsg,write,writev,recvfrom,recvmsg,read,readv";
        let mut strace = Command::new("strace")
            .args(["-f", "-y", "-s", "200", "-e", CALLS, "-p", &pid.to_string(), "-o"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let mut said = String::new();
        let mut lines = BufReader::new(strace.stderr.take()?);
        while lines.read_line(&mut said).ok()? > 0 {
            if said.contains("attached") {
                // Whatever else it says must not fill the pipe.
                std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
                return Some(Self { strace, file });
            }
        }
        let _ = strace.wait();
        eprintln!("strace may not watch the server: {said}");
        None
    }

    /// Stops watching; what was seen.
    fn end(mut self) -> String {
        let done = Command::new("kill").args(["-INT", &self.strace.id().to_string()]).status().unwrap();
        assert!(done.success());
        self.strace.wait().unwrap();
        std::fs::read_to_string(&self.file).unwrap()
    }
}

/// What matters of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    /// The first line of a request came in.
    Asked(String),
    /// Bytes begin to go into the write-ahead log.
    Written,
    /// The log is on the disk: the call has returned.
    Synced,
    /// The first line of an answer begins to go out.
    Answered(u16),
}

/// Reads what `strace -f -y` wrote. A call that another thread interrupts stands on two lines: its beginning and its end. The
/// first bytes of a connection are read apart from the rest, to see which protocol they speak.
fn read(trace: &str) -> Vec<Seen> {
    let mut begun = BTreeMap::new();
    let mut halves: BTreeMap<String, String> = BTreeMap::new();
    let mut seen = Vec::new();
    for line in trace.lines() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        let resumed = rest.starts_with("<... ");
        let call = if resumed { begun.remove(pid).unwrap_or_default() } else { rest.to_owned() };
        let ends = !rest.ends_with("<unfinished ...>");
        let name = call.split('(').next().unwrap_or_default();
        let log = call.contains("-wal>");
        match name {
            "pwrite64" | "pwritev" if log && !resumed => seen.push(Seen::Written),
            "fdatasync" | "fsync" if log && ends && rest.ends_with("= 0") => seen.push(Seen::Synced),
            "recvfrom" | "recvmsg" | "read" | "readv" if ends => {
                let socket = call.split(['(', ',']).nth(1).unwrap_or_default().to_owned();
                let text = rest.split('"').nth(1).unwrap_or_default();
                let before = halves.remove(&socket).filter(|_| !begins(text)).unwrap_or_default();
                let whole = before + text;
                match request(&whole) {
                    Some(request) => seen.push(Seen::Asked(request)),
                    None if begins(&whole) => drop(halves.insert(socket, whole)),
                    None => {}
                }
            }
            "sendto" | "sendmsg" | "write" | "writev" if !resumed => seen.extend(status(rest).map(Seen::Answered)),
            _ => {}
        }
        if !ends {
            begun.insert(pid.to_owned(), call);
        }
    }
    seen
}

/// Method and path of a request, where its first line is whole.
fn request(text: &str) -> Option<String> {
    let (line, _) = text.split_once(" HTTP/1.1")?;
    begins(line).then(|| line.to_owned())
}

fn begins(text: &str) -> bool {
    ["GET ", "POST ", "PATCH ", "DELETE "].iter().any(|method| text.starts_with(method))
}

fn status(line: &str) -> Option<u16> {
    line.split_once("HTTP/1.1 ")?.1.get(..3)?.parse().ok()
}

/// The changes that were acknowledged, each with whether its log was on the disk before.
fn acknowledged(seen: &[Seen]) -> Vec<(String, bool)> {
    let mut done = Vec::new();
    let (mut asked, mut written, mut durable) = (None, false, false);
    for seen in seen {
        match seen {
            Seen::Asked(request) => (asked, written, durable) = (Some(request.clone()), false, false),
            Seen::Written => written = true,
            // A job of the server's may write again before the answer goes out.
            Seen::Synced => durable |= written,
            Seen::Answered(status) => {
                if let Some(request) = asked.take().filter(|request| (200..300).contains(status) && !request.starts_with("GET")) {
                    done.push((request, durable));
                }
            }
        }
    }
    done
}

/// The templates of the routes that change something.
fn changing() -> BTreeSet<String> {
    // What sends notices again needs some that were given up; it goes through the same commit.
    let verbs = TABLE.iter().filter(|route| matches!(route.access, Access::Verb(_)) && route.template != template::WEBHOOK_RETRY);
    verbs.map(|route| format!("{} {}", route.method.to_uppercase(), route.template)).collect()
}

/// The template that a request fits.
fn template_of(request: &str) -> Option<String> {
    let fits = |template: &String| {
        let (have, want): (Vec<_>, Vec<_>) = (request.split('/').collect(), template.split('/').collect());
        have.len() == want.len() && have.iter().zip(&want).all(|(have, want)| want.starts_with('{') || have == want)
    };
    let found: Vec<String> = changing().into_iter().filter(fits).collect();
    // `/v1/keys/{key}/pointers/{environment}/kill` and the like: the one with the fewest blanks.
    found.into_iter().min_by_key(|template| template.matches('{').count())
}

/// Does each thing that changes a registry once, one after another.
fn everything(p: &Program) {
    const KEY: &str = "support.greeting";
    p.served_in_dev(KEY, "one");
    p.served_in_dev("support.other", "one");
    p.words("root", &format!("key edit {KEY} --description polite")).good();
    p.feed("dee", "fragment create tone --file - --group owners", "Be kind.").good();
    let made = p.json("root", "token create --actor service:web");
    p.words("root", &format!("token revoke {}", made["token_id"].as_str().unwrap())).good();
    let production = |what: &str| {
        p.words("ci", &format!("verdict {what} --gate accuracy --score 0.95")).good();
        let id = p.open(&format!("{what} --env production"));
        p.words("ana", &format!("approve {id} --rationale good --yes")).good();
        p.words("carol", &format!("apply {id} --yes")).good();
    };
    let at = format!("{KEY} --env production --rationale because --yes");
    production(&format!("{KEY}@v1"));
    p.words("carol", &format!("hold {KEY} --env production --rationale wait")).good();
    for act in ["resume", "step", "step"] {
        p.words("carol", &format!("{act} {at}")).good();
    }
    p.draft(KEY, "two");
    p.words("dee", &format!("submit {KEY}@v2")).good();
    let id = p.open(&format!("{KEY}@v2 --env dev"));
    p.words("carol", &format!("apply {id}")).good();
    production(&format!("{KEY}@v2"));
    p.words("carol", &format!("rollback {at}")).good();
    p.words("carol", &format!("kill {KEY} --env production --reason test --yes")).good();
    p.words("carol", &format!("undo-kill {at}")).good();
    p.words("carol", &format!("kill {KEY} --env production --reason test --yes")).good();
    let kill = p.json("carol", "inbox")["items"].clone();
    let kill = kill.as_array().unwrap().iter().find(|item| !item["note_due_at"].is_null()).unwrap().clone();
    let kill = kill["promotion_id"].as_str().unwrap();
    p.words("carol", &format!("note {kill} --note drill")).good();
    p.words("olga", &format!("close-review {kill} --rationale seen")).good();
    let id = p.json("carol", &format!("revive {KEY}@v1 --env production --percent 25 --rationale fixed"));
    let id = id["promotion_id"].as_str().unwrap();
    p.words("ana", &format!("approve {id} --rationale good --yes")).good();
    p.words("carol", &format!("apply {id} --yes")).good();
    p.words("carol", &format!("kill {KEY} support.other --env dev --reason test --note drill --yes")).good();
    p.words("ana", &format!("quarantine {KEY}@v2 --rationale bad")).good();
    p.words("bob", &format!("lift {KEY}@v2 --rationale fine")).good();
    p.draft(KEY, "three");
    p.words("dee", &format!("discard {KEY}@v3")).good();
    let id = p.open("support.other@v1 --env production");
    let file = p.home.path().join("policy.toml");
    std::fs::write(&file, POLICY.replace("at_least = 0.9", "at_least = 0.7")).unwrap();
    p.words("root", &format!("policy apply {} --rationale x --yes", file.display())).good();
    let receiver = p.json("root", "webhook create --url https://receiver.example/hook");
    p.words("root", &format!("webhook delete {}", receiver["webhook_id"].as_str().unwrap())).good();
    let renewed = p.json("dee", &format!("promote --renew {id} --rationale again"));
    p.words("dee", &format!("withdraw {} --rationale no", renewed["promotion_id"].as_str().unwrap())).good();
}

#[test]
fn each_change_is_on_the_disk_before_it_is_acknowledged() {
    let p = Program::start();
    let Some(trace) = Trace::of(p.pid(), p.home.path().join("trace")) else {
        eprintln!("left out: strace is missing or may not watch the server");
        return;
    };
    everything(&p);
    let seen = read(&trace.end());
    let done = acknowledged(&seen);
    let lost: Vec<&str> = done.iter().filter(|(_, durable)| !durable).map(|(request, _)| request.as_str()).collect();
    assert_eq!(lost, Vec::<&str>::new(), "acknowledged before they were on the disk");
    let verbs: BTreeSet<String> = done.iter().filter_map(|(request, _)| template_of(request)).collect();
    assert_eq!(verbs, changing(), "each change was made");
    println!("{} changes by {} routes, each on the disk before its answer", done.len(), verbs.len());
    // The same calls with each answer as soon as it was asked for.
    let mut early: Vec<Seen> = Vec::new();
    for seen in seen {
        let asked = early.iter().rposition(|seen| matches!(seen, Seen::Asked(_))).map_or(0, |at| at + 1);
        let at = if matches!(seen, Seen::Answered(_)) { asked } else { early.len() };
        early.insert(at, seen);
    }
    assert!(acknowledged(&early).iter().all(|(_, durable)| !durable), "the check can fail");
}

#[test]
fn calls_that_stand_on_two_lines_are_read_as_begun_and_ended() {
    let trace = r#"11 recvfrom(9<socket:[1]>, "POST /v1/k", 10, 0, NULL, NULL) = 10
11 recvfrom(9<socket:[1]>, "eys HTTP/1.1\r\nhost"..., 8192, 0, NULL, NULL) = 300
12 pwrite64(7</r/registry.db-wal>, "..."..., 24, 0) = 24
12 fdatasync(7</r/registry.db-wal> <unfinished ...>
11 sendto(9<socket:[1]>, "HTTP/1.1 201 Created\r\n"..., 200, MSG_NOSIGNAL, NULL, 0 <unfinished ...>
12 <... fdatasync resumed>) = 0
11 <... sendto resumed>) = 200
"#;
    let seen = read(trace);
    assert_eq!(seen, [Seen::Asked("POST /v1/keys".into()), Seen::Written, Seen::Answered(201), Seen::Synced]);
    assert_eq!(acknowledged(&seen), [("POST /v1/keys".into(), false)], "acknowledged while the disk was still busy");
    assert_eq!(template_of("POST /v1/keys"), Some("POST /v1/keys".into()));
}
