//! Reads the arguments, runs the command, turns the error into an exit code.

fn main() -> std::process::ExitCode {
    countersign::cli::run(std::env::args_os())
}
