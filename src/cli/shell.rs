//! `completions SHELL`, `man`.

use super::context::Context;
use super::exit::Done;
use clap::CommandFactory as _;

/// Prints a completion script
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// bash, zsh, fish, elvish or powershell
    pub shell: clap_complete::Shell,
}

/// The completion script of a shell.
pub fn completions(context: &Context, args: &Completions) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "countersign", &mut script);
    context.out.raw(&script)
}

/// The manual page, in roff.
pub fn man(context: &Context) -> Done {
    let mut page = Vec::new();
    clap_mangen::Man::new(super::Cli::command()).render(&mut page)?;
    context.out.raw(&page)
}
