//! `import dir DIR`: files as they are now, one version each.

use super::load::{Found, Skipped, Target, load};
use super::names;
use crate::cli::context::Context;
use crate::cli::exit::{Done, Failure};
use crate::model::Timestamp;
use crate::rules::hidden::is_blank;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Imports the files of a directory as they are now
///
/// Each file becomes a version in state review, with its time of change; the author is you. Files and folders whose name
/// begins with a dot are left out.
#[derive(Debug, clap::Args)]
pub struct Dir {
    /// The directory
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Why; "imported from FILE" unless given
    #[arg(long, default_value = "")]
    pub rationale: String,
    #[command(flatten)]
    pub target: Target,
}

impl Dir {
    pub async fn run(self, context: &Context) -> Done {
        let author = context.client()?.me().await?.actor;
        let (mut skipped, mut faults, mut found) = (Vec::new(), Vec::new(), Vec::new());
        let mut paths = self.walk(&mut skipped)?;
        paths.retain(|path| self.target.glob.as_deref().is_none_or(|glob| names::fits(glob, path)));
        if paths.is_empty() {
            return Err(Failure::failed(format!("{} holds no file to import", self.folder.display())));
        }
        let (keys, refused) =
            names::keys_of(&self.target.namespace, paths).map_err(|why| Failure::failed(why).hint("nothing was imported"))?;
        skipped.extend(refused.into_iter().map(|(path, reason)| Skipped { path, reason }));
        for (path, key) in keys {
            let file = self.folder.join(&path);
            let named = |e: std::io::Error| Failure::failed(format!("{}: {e}", file.display()));
            let at = changed_at(&fs::metadata(&file).map_err(named)?);
            let text = match String::from_utf8(fs::read(&file).map_err(named)?) {
                Ok(text) => text,
                Err(e) => {
                    let reason = format!("is not UTF-8 at byte {}", e.utf8_error().valid_up_to());
                    faults.push(Skipped { path, reason });
                    continue;
                }
            };
            let rationale = if is_blank(&self.rationale) { format!("imported from {path}") } else { self.rationale.clone() };
            found.push(Found { path, key, author: author.clone(), at, rationale, text });
        }
        load(context, &self.target, found, skipped, faults).await
    }

    /// All plain files below the directory, with `/` between names.
    fn walk(&self, skipped: &mut Vec<Skipped>) -> Result<BTreeSet<String>, Failure> {
        let mut found = BTreeSet::new();
        let mut folders = vec![(self.folder.clone(), String::new())];
        while let Some((folder, prefix)) = folders.pop() {
            let named = |e: std::io::Error| Failure::failed(format!("{}: {e}", folder.display()));
            for entry in fs::read_dir(&folder).map_err(named)? {
                let entry = entry.map_err(named)?;
                let kind = entry.file_type().map_err(named)?;
                let Ok(name) = entry.file_name().into_string() else {
                    skipped.push(Skipped { path: shown(&entry.path()), reason: "its name is not UTF-8".into() });
                    continue;
                };
                if name.starts_with('.') {
                    continue;
                }
                let path = format!("{prefix}{name}");
                if kind.is_dir() {
                    folders.push((entry.path(), format!("{path}/")));
                } else if kind.is_file() {
                    found.insert(path);
                } else {
                    skipped.push(Skipped { path, reason: "is no plain file".into() });
                }
            }
        }
        Ok(found)
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn changed_at(of: &fs::Metadata) -> Timestamp {
    let since = of.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    Timestamp(since.and_then(|since| i64::try_from(since.as_micros()).ok()).unwrap_or(0))
}
