//! The commands; the only room that may see all others.

#[cfg(feature = "tui")]
mod audit;
#[cfg(feature = "server")]
mod backup;
#[cfg(feature = "tui")]
mod bundle;
mod context;
#[cfg(all(feature = "server", feature = "tui"))]
pub mod demo;
#[cfg(feature = "server")]
mod descriptors;
#[cfg(feature = "tui")]
mod diff;
#[cfg(feature = "server")]
mod directory;
#[cfg(feature = "tui")]
mod draft;
pub mod exit;
#[cfg(feature = "tui")]
mod fragment;
#[cfg(feature = "tui")]
mod grep;
#[cfg(feature = "tui")]
mod import;
#[cfg(feature = "server")]
pub mod init;
#[cfg(feature = "tui")]
mod key;
#[cfg(feature = "tui")]
mod login;
#[cfg(feature = "tui")]
mod look;
#[cfg(feature = "server")]
mod migrate;
pub mod output;
#[cfg(feature = "tui")]
mod pointer;
#[cfg(feature = "tui")]
mod policy;
#[cfg(feature = "tui")]
mod preview;
#[cfg(feature = "tui")]
mod promote;
#[cfg(feature = "tui")]
mod proof;
#[cfg(feature = "tui")]
mod registry;
#[cfg(all(feature = "server", feature = "tui"))]
pub mod relay;
#[cfg(feature = "tui")]
mod resolve;
#[cfg(feature = "server")]
mod restore;
#[cfg(feature = "tui")]
mod review;
#[cfg(feature = "tui")]
mod seen;
#[cfg(feature = "tui")]
mod select;
#[cfg(feature = "server")]
pub mod serve;
#[cfg(feature = "tui")]
mod served;
mod shell;
#[cfg(feature = "tui")]
mod terminal;
#[cfg(feature = "server")]
pub mod tls;
#[cfg(feature = "tui")]
mod token;
#[cfg(feature = "tui")]
mod version;
#[cfg(feature = "tui")]
mod vote;
#[cfg(feature = "tui")]
mod webhook;

use clap::Parser;
use context::{Context, Globals};
use exit::{Done, Exit, Failure};
use std::ffi::OsString;
use std::process::ExitCode;

/// A prompt and configuration registry, and the terminal in which its changes are reviewed and promoted
///
/// Without a command it opens the terminal on the configured registry.
///
/// Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 denied, 5 conflict or stale, 6 policy unmet, 7 unreachable, 8
/// integrity, 128 + n ended by signal n.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[cfg(feature = "tui")]
    #[command(flatten)]
    terminal: terminal::Terminal,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    #[cfg(all(feature = "server", feature = "tui"))]
    Demo(demo::Demo),
    #[cfg(all(feature = "server", feature = "tui"))]
    #[command(hide = true, name = "demo-colleague")]
    DemoColleague(demo::Colleague),
    #[cfg(feature = "server")]
    Init(init::Init),
    #[cfg(feature = "server")]
    Serve(serve::Serve),
    #[cfg(all(feature = "server", feature = "tui"))]
    Relay(relay::Relay),
    #[cfg(feature = "server")]
    Migrate(migrate::Migrate),
    #[cfg(feature = "server")]
    Backup(backup::Backup),
    #[cfg(feature = "server")]
    Restore(restore::Restore),
    #[cfg(feature = "tui")]
    #[command(flatten)]
    Registry(registry::RegistryCommand),
    Completions(shell::Completions),
    /// Prints the manual page
    Man,
}

/// Runs a command line; errors are printed to stderr and become the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            if error.use_stderr() {
                // It quotes what it was given.
                output::note(output::lines(&error.render().to_string()).trim_end());
                return Exit::Usage.into();
            }
            // Help and version go to stdout and are no errors; a reader that went away is none either.
            let _ = error.print();
            return Exit::Done.into();
        }
    };
    match start(cli) {
        Ok(()) => Exit::Done.into(),
        Err(failure) => {
            tell(&failure);
            failure.exit.into()
        }
    }
}

fn start(cli: Cli) -> Done {
    let context = Context::new(cli.globals)?;
    #[cfg(feature = "tui")]
    if cli.command.is_none() && !terminal::Terminal::offers_demo(&context) {
        return cli.terminal.open(&context);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = match cli.command {
        Some(command) => runtime.block_on(dispatch(&context, command)),
        #[cfg(all(feature = "server", feature = "tui"))]
        None => runtime.block_on(cli.terminal.offer_demo(&context)),
        #[cfg(not(all(feature = "server", feature = "tui")))]
        None => Err(Failure::usage("no command").hint("`countersign help` lists them")),
    };
    // Whatever still sleeps in a blocking thread must not hold the process.
    runtime.shutdown_background();
    done
}

async fn dispatch(context: &Context, command: Command) -> Done {
    match command {
        #[cfg(all(feature = "server", feature = "tui"))]
        Command::Demo(args) => demo::run(context, args).await,
        #[cfg(all(feature = "server", feature = "tui"))]
        Command::DemoColleague(args) => demo::colleague(context, args).await,
        #[cfg(feature = "server")]
        Command::Init(args) => init::run(context, args).await,
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(context, args).await,
        #[cfg(all(feature = "server", feature = "tui"))]
        Command::Relay(args) => relay::run(context, args).await,
        #[cfg(feature = "server")]
        Command::Migrate(args) => migrate::run(context, args).await,
        #[cfg(feature = "server")]
        Command::Backup(args) => backup::run(context, args).await,
        #[cfg(feature = "server")]
        Command::Restore(args) => restore::run(context, args).await,
        #[cfg(feature = "tui")]
        Command::Registry(command) => command.run(context).await,
        Command::Completions(args) => shell::completions(context, &args),
        Command::Man => shell::man(context),
    }
}

/// The file that marks a demo's directory, so that `serve` refuses it.
#[cfg(feature = "server")]
pub const DEMO_MARKER: &str = "this-is-a-demo";

/// Refuses a directory that belongs to the demo.
#[cfg(feature = "server")]
fn demo_marker(dir: &std::path::Path) -> Done {
    if dir.join(DEMO_MARKER).exists() {
        return Err(Failure::usage(format!("{} belongs to the demo", dir.display()))
            .hint("`countersign init DIR` makes a registry to keep"));
    }
    Ok(())
}

/// Says why a command failed, and what to do next.
fn tell(failure: &Failure) {
    if failure.exit == Exit::Done {
        return;
    }
    output::note(&format!("error: {}", output::lines(&failure.message)));
    for item in &failure.unmet {
        let who = if item.who.is_empty() { String::new() } else { format!(" ({} can meet it)", item.who.join(", ")) };
        let name = if item.name == item.kind.as_str() { String::new() } else { format!(" {}", output::line(&item.name)) };
        let reason = output::line(&item.reason);
        output::note(&format!("  {}{name} is {}: {reason}{}", item.kind, item.status, output::line(&who)));
    }
    if let Some(hint) = &failure.hint {
        output::note(&format!("hint: {}", output::lines(hint)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_of_commands_holds_together() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
