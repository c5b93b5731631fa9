//! Reads the arguments, runs the command, turns the error into an exit code.

fn main() {}
