//! `keymap check FILE`, `theme check FILE`.

use super::context::Context;
use super::exit::{Done, Failure};
use crate::tui::{keymap, theme};
use std::path::{Path, PathBuf};

/// Keymaps of the terminal
#[derive(Debug, clap::Subcommand)]
pub enum KeymapCommand {
    /// Check a keymap file
    Check {
        /// The TOML
        file: PathBuf,
    },
}

/// Themes of the terminal
#[derive(Debug, clap::Subcommand)]
pub enum ThemeCommand {
    /// Check a theme file
    Check {
        /// The TOML
        file: PathBuf,
    },
}

impl KeymapCommand {
    pub fn run(self, context: &Context) -> Done {
        let Self::Check { file } = self;
        let faults = keymap::check(&read(&file)?);
        verdict(context, &file, &faults.iter().map(ToString::to_string).collect::<Vec<_>>())
    }
}

impl ThemeCommand {
    pub fn run(self, context: &Context) -> Done {
        let Self::Check { file } = self;
        let faults = theme::check(&read(&file)?);
        verdict(context, &file, &faults.iter().map(ToString::to_string).collect::<Vec<_>>())
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|e| Failure::failed(format!("{}: {e}", file.display())))
}

fn verdict(context: &Context, file: &Path, faults: &[String]) -> Done {
    if faults.is_empty() {
        return context.out.text(&format!("good: {}", file.display()));
    }
    let all: Vec<String> = faults.iter().map(|fault| format!("{}: {fault}", file.display())).collect();
    Err(Failure::failed(all.join("\n")))
}
