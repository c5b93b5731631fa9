//! `import git REPO`: each content that a file had along the first parents, read by the `git` program.

use super::load::{Found, Skipped, Target, load};
use super::names;
use crate::cli::context::Context;
use crate::cli::exit::{Done, Failure};
use crate::cli::output::line;
use crate::model::{Actor, ActorKind, MOST_TEXT, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Imports the history of files in a git repository
///
/// Each commit whose file content is new for its key becomes a version in state review, with the commit's author, date and
/// message. A key is the namespace and the file's path (below --path) without its extension.
#[derive(Debug, clap::Args)]
pub struct Git {
    /// The repository's directory
    pub repo: PathBuf,
    /// A branch, tag or commit; HEAD, else the only branch
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// Only this file or folder
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    #[command(flatten)]
    pub target: Target,
}

/// A commit of the first-parent line.
struct Commit {
    id: String,
    parent: Option<String>,
    author: String,
    at: i64,
    message: String,
}

/// A file as a commit left it.
struct Change {
    commit: usize,
    path: String,
    blob: String,
}

impl Git {
    pub async fn run(self, context: &Context) -> Done {
        let read = tokio::task::block_in_place(|| self.read())?;
        load(context, &self.target, read.found, read.skipped, read.faults).await
    }

    fn read(&self) -> Result<Read, Failure> {
        let repository = Repository::open(&self.repo)?;
        let tip = repository.tip(self.reference.as_deref())?;
        let commits = repository.commits(&tip)?;
        let (changes, mut skipped) = repository.changes(&commits, self.path.as_deref())?;
        let changes: Vec<Change> = changes.into_iter().filter(|c| self.wants(&c.path)).collect();
        if changes.is_empty() {
            return Err(self.nothing());
        }
        let below: BTreeSet<String> = changes.iter().map(|c| self.below(&c.path).to_owned()).collect();
        let (keys, refused) = names::keys_of(&self.target.namespace, below)
            .map_err(|why| Failure::failed(why).hint("nothing was imported; --glob or --path can leave one out"))?;
        skipped.extend(refused.into_iter().map(|(path, reason)| Skipped { path, reason }));
        let blobs = repository.blobs(&changes)?;
        let mut read = Read { found: Vec::new(), skipped, faults: Vec::new() };
        for change in &changes {
            let Some(key) = keys.get(self.below(&change.path)) else { continue };
            let commit = &commits[change.commit];
            match std::str::from_utf8(&blobs[&change.blob]) {
                Ok(text) => read.found.push(Found {
                    path: change.path.clone(),
                    key: key.clone(),
                    author: author(&commit.author),
                    at: Timestamp(commit.at.saturating_mul(1_000_000)),
                    rationale: rationale(commit),
                    text: text.to_owned(),
                }),
                Err(e) => {
                    let reason = format!("is not UTF-8 at byte {} in commit {}", e.valid_up_to(), commit.id);
                    read.faults.push(Skipped { path: change.path.clone(), reason });
                }
            }
        }
        Ok(read)
    }

    fn wants(&self, path: &str) -> bool {
        self.target.glob.as_deref().is_none_or(|glob| names::fits(glob, self.below(path)))
    }

    /// A path below `--path`; a file that `--path` names itself keeps its name.
    fn below<'a>(&self, path: &'a str) -> &'a str {
        let Some(root) = self.path.as_deref() else { return path };
        let root = root.trim_start_matches("./").trim_matches('/');
        match path.strip_prefix(root) {
            Some("") => path.rsplit('/').next().unwrap_or(path),
            Some(rest) if root.is_empty() => rest,
            Some(rest) => rest.strip_prefix('/').unwrap_or(path),
            None => path,
        }
    }

    fn nothing(&self) -> Failure {
        let place = match &self.path {
            Some(path) => format!("no commit of {} has a file at {path:?}", self.repo.display()),
            None => format!("no commit of {} has a file", self.repo.display()),
        };
        match &self.target.glob {
            Some(glob) => Failure::failed(format!("{place} that fits {glob:?}")),
            None => Failure::failed(place),
        }
    }
}

/// What was read of a repository.
struct Read {
    found: Vec<Found>,
    skipped: Vec<Skipped>,
    faults: Vec<Skipped>,
}

/// An author's name as an actor: any name, but not none and not endless.
fn author(name: &str) -> Actor {
    let name = beginning(name.trim(), 200);
    Actor { kind: ActorKind::Git, name: if name.is_empty() { "unknown" } else { name }.into() }
}

/// A commit's message; of one that is longer than a rationale may be, the beginning.
fn rationale(commit: &Commit) -> String {
    let message = commit.message.trim();
    match beginning(message, MOST_TEXT) {
        "" => format!("imported from commit {}", commit.id),
        whole if whole.len() == message.len() => message.to_owned(),
        _ => {
            let rest = format!("… (the rest is in commit {})", commit.id);
            format!("{}{rest}", beginning(message, MOST_TEXT - rest.len()))
        }
    }
}

/// So many bytes of a text, or a few less where a character would be cut.
fn beginning(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A repository that is read by the `git` program, with everything switched off that could run or fetch something.
struct Repository<'a> {
    folder: &'a Path,
}

impl<'a> Repository<'a> {
    fn open(folder: &'a Path) -> Result<Self, Failure> {
        if !folder.exists() {
            return Err(Failure::failed(format!("{} does not exist", folder.display())));
        }
        if !folder.is_dir() {
            return Err(Failure::failed(format!("{} is not a directory", folder.display())).hint("`git clone` it first"));
        }
        let repository = Self { folder };
        repository.run(&["rev-parse", "--git-dir"], b"")?;
        Ok(repository)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command
            .args(["--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false"])
            .arg("-C")
            .arg(self.folder)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs git with `input`; its output.
    ///
    /// # Errors
    /// What git said, with the repository's name.
    fn run(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, Failure> {
        let mut child = self.command().args(args).spawn().map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Failure::failed("the `git` program is not installed"),
            _ => Failure::failed(format!("git cannot be started: {e}")),
        })?;
        // Written beside the reading, so that neither waits for the other for ever.
        let output = std::thread::scope(|scope| {
            if let Some(mut stdin) = child.stdin.take() {
                scope.spawn(move || stdin.write_all(input));
            }
            child.wait_with_output()
        })?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(self.broken(&String::from_utf8_lossy(&output.stderr)))
    }

    fn broken(&self, why: &str) -> Failure {
        let why = why.trim().trim_start_matches("fatal: ");
        Failure::failed(format!("{} cannot be read: {}", self.folder.display(), line(why)))
            .hint("nothing was imported; `git fsck` may say more")
    }

    /// The commit to import: the named one, HEAD, or the only branch.
    fn tip(&self, reference: Option<&str>) -> Result<String, Failure> {
        let resolve = |name: &str| {
            let name = format!("{name}^{{commit}}");
            self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name], b"")
                .ok()
                .map(|id| lossy(&id).trim().to_owned())
        };
        if let Some(name) = reference {
            return resolve(name)
                .ok_or_else(|| Failure::failed(format!("{} has no commit named {name:?}", self.folder.display())));
        }
        if let Some(id) = resolve("HEAD") {
            return Ok(id);
        }
        let listed = self.run(&["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes"], b"")?;
        let listed = lossy(&listed);
        let tips: BTreeMap<&str, &str> = listed.lines().filter_map(|l| l.split_once(' ')).collect();
        match tips.len() {
            0 => Err(Failure::failed(format!("{} has no commits", self.folder.display()))),
            1 => Ok(tips.into_keys().next().unwrap_or_default().to_owned()),
            _ => {
                let names: Vec<&str> = tips.into_values().collect();
                let why = format!("{} has no HEAD and several branches: {}", self.folder.display(), names.join(", "));
                Err(Failure::failed(why).hint("name one with --ref"))
            }
        }
    }

    /// First parents up to `tip`, oldest first.
    fn commits(&self, tip: &str) -> Result<Vec<Commit>, Failure> {
        let format = "--format=tformat:%H%x00%P%x00%an%x00%at%x00%B";
        let order = ["--first-parent", "--topo-order", "--reverse"];
        let text = self.run(&["log", "-z", "--encoding=UTF-8", order[0], order[1], order[2], format, tip, "--"], b"")?;
        let text = lossy(&text);
        let fields: Vec<&str> = text.split('\0').collect();
        let commit = |f: &[&str]| Commit {
            id: f[0].trim_start().to_owned(),
            parent: f[1].split(' ').next().filter(|p| !p.is_empty()).map(str::to_owned),
            author: f[2].to_owned(),
            at: f[3].parse().unwrap_or(0),
            message: f[4].to_owned(),
        };
        Ok(fields.chunks_exact(5).map(commit).collect())
    }

    /// The files that each commit added or changed against its first parent; what is no plain file is left out with a reason.
    fn changes(&self, commits: &[Commit], path: Option<&str>) -> Result<(Vec<Change>, Vec<Skipped>), Failure> {
        let mut pairs = String::new();
        for commit in commits {
            // "COMMIT PARENT" compares with that parent alone, whatever else was merged.
            let parent = commit.parent.as_deref().map(|p| format!(" {p}")).unwrap_or_default();
            let _ = writeln!(pairs, "{}{parent}", commit.id);
        }
        let mut args =
            vec!["--literal-pathspecs", "diff-tree", "--stdin", "--root", "-r", "-z", "--raw", "--no-abbrev", "--no-renames"];
        args.extend(["--no-ext-diff", "--no-textconv", "--"]);
        let root = path.map(|p| p.trim_start_matches("./").trim_matches('/')).filter(|p| !p.is_empty());
        args.extend(root);
        let raw = self.run(&args, pairs.as_bytes())?;
        let number: BTreeMap<&[u8], usize> = commits.iter().enumerate().map(|(n, c)| (c.id.as_bytes(), n)).collect();
        self.parse_raw(&raw, &number)
    }

    /// `COMMIT NUL (":OLDMODE NEWMODE OLDBLOB NEWBLOB STATUS" NUL PATH NUL)*`, again and again.
    fn parse_raw(&self, raw: &[u8], number: &BTreeMap<&[u8], usize>) -> Result<(Vec<Change>, Vec<Skipped>), Failure> {
        let (mut changes, mut skipped) = (Vec::new(), BTreeMap::new());
        let mut fields = raw.split(|b| *b == 0);
        let mut commit = None;
        while let Some(field) = fields.next() {
            let Some(meta) = field.strip_prefix(b":") else {
                if let Some(found) = number.get(field.trim_ascii()) {
                    commit = Some(*found);
                }
                continue;
            };
            let (Some(commit), Some(name)) = (commit, fields.next()) else {
                return Err(self.broken("its history is not understood"));
            };
            let meta = lossy(meta);
            let columns: Vec<&str> = meta.split(' ').collect();
            let [_, mode, _, blob, status] = columns[..] else { return Err(self.broken("its history is not understood")) };
            let path = lossy(name);
            if status.starts_with('D') {
                continue;
            }
            if std::str::from_utf8(name).is_err() {
                skipped.insert(path, "its name is not UTF-8");
                continue;
            }
            match mode {
                "100644" | "100755" => changes.push(Change { commit, path, blob: blob.to_owned() }),
                "120000" => drop(skipped.insert(path, "is a symbolic link")),
                "160000" => drop(skipped.insert(path, "is a submodule")),
                _ => drop(skipped.insert(path, "is no plain file")),
            }
        }
        Ok((changes, skipped.into_iter().map(|(path, reason)| Skipped { path, reason: reason.to_owned() }).collect()))
    }

    /// The contents by object name.
    fn blobs(&self, changes: &[Change]) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let names: BTreeSet<&str> = changes.iter().map(|c| c.blob.as_str()).collect();
        let input = names.iter().fold(String::new(), |all, name| all + name + "\n");
        let output = self.run(&["cat-file", "--batch"], input.as_bytes())?;
        let mut rest = &output[..];
        let mut blobs = BTreeMap::new();
        for name in names {
            let (head, after) = split_line(rest).ok_or_else(|| self.missing(changes, name))?;
            let size = head.rsplit(' ').next().and_then(|s| s.parse::<usize>().ok()).filter(|_| head.contains(" blob "));
            let size = size.filter(|size| *size < after.len()).ok_or_else(|| self.missing(changes, name))?;
            blobs.insert(name.to_owned(), after[..size].to_vec());
            rest = &after[size + 1..];
        }
        Ok(blobs)
    }

    fn missing(&self, changes: &[Change], blob: &str) -> Failure {
        let path = changes.iter().find(|c| c.blob == blob).map_or("?", |c| c.path.as_str());
        self.broken(&format!("the repository lacks the object {blob}, a content of {path}"))
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn split_line(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = bytes.iter().position(|b| *b == b'\n')?;
    Some((lossy(&bytes[..end]), &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_author_of_a_commit_is_an_actor_that_reads_back() {
        for name in ["Ana Bell", "", "   ", "\u{1b}[31mred", &"é".repeat(300), ":"] {
            let actor = author(name);
            assert_eq!(actor.to_string().parse::<Actor>().as_ref(), Ok(&actor), "{name:?}");
        }
    }

    #[test]
    fn a_message_that_is_longer_than_a_rationale_may_be_is_cut_and_says_where_the_rest_is() {
        let said = |message: &str| {
            rationale(&Commit { id: "c0ffee".into(), parent: None, author: String::new(), at: 0, message: message.into() })
        };
        assert_eq!(said(" why "), "why");
        assert_eq!(said(""), "imported from commit c0ffee");
        let long = said(&"é".repeat(MOST_TEXT));
        assert!(long.len() <= MOST_TEXT && long.len() > MOST_TEXT - 4, "{}", long.len());
        assert!(long.ends_with("é… (the rest is in commit c0ffee)"));
    }
}
