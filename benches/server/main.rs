//! How fast the server is, as ratios against a floor that is measured in the same run. Run: `cargo bench --bench server`, or with
//! the names of subjects: `cargo bench --bench server -- writes pages`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs, reason = "a benchmark")]

mod chain;
mod http;
mod memory;
mod pages;
mod setup;
mod snapshot;
mod writes;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if let [word, place] = asked.as_slice()
        && word == memory::CHILD
    {
        return memory::child(place);
    }
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|word| word == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if wanted("snapshot") {
        snapshot::run();
    }
    if wanted("chain") {
        chain::run();
    }
    if wanted("http") {
        runtime.block_on(http::run());
    }
    if wanted("writes") {
        runtime.block_on(writes::run());
    }
    if wanted("pages") {
        runtime.block_on(pages::run());
    }
    if wanted("memory") {
        runtime.block_on(memory::run());
    }
}
