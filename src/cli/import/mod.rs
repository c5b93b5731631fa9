//! `import git REPO`, `import dir DIR`: the history of prompts that live in files, as versions.

mod dir;
mod git;
mod load;
mod names;

use super::context::Context;
use super::exit::Done;

/// Brings prompts in from elsewhere
#[derive(Debug, clap::Subcommand)]
pub enum Import {
    Git(git::Git),
    Dir(dir::Dir),
}

impl Import {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Self::Git(args) => args.run(context).await,
            Self::Dir(args) => args.run(context).await,
        }
    }
}
