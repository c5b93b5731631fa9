//! The integration tests: one binary, one module a subject.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr, missing_docs, reason = "tests")]
#![allow(
    clippy::too_many_lines,
    clippy::wrong_self_convention,
    clippy::struct_field_names,
    reason = "tables and stages of tests"
)]
#![allow(clippy::duration_suboptimal_units, clippy::zombie_processes, reason = "a failing test ends the process anyway")]

mod applied;
mod architecture;
mod attacks;
mod backups;
mod buckets;
mod cli;
mod cli_answers;
mod cli_demo;
mod cli_hostile;
mod cli_pointers;
mod cli_terminal;
mod client;
mod clients;
mod cors;
mod demo;
mod durability;
mod golden;
mod hidden;
mod http;
mod http_access;
mod http_answers;
mod http_input;
mod http_journey;
mod http_limits;
mod http_policy;
mod http_process;
mod http_races;
mod http_readiness;
mod http_room;
mod http_stream;
mod import;
mod integrity;
mod langfuse;
mod metrics;
mod ofrep;
mod oidc;
mod openapi;
mod power_cut;
mod proofs;
mod prose;
mod pty;
mod pty_alarm;
mod pty_danger;
mod pty_manners;
mod relay;
mod relay_process;
mod storage;
mod support;
mod tls;
mod webhooks;
mod workflow_content;
mod workflow_guards;
mod workflow_machine;
mod workflow_pointers;
mod workflow_policy;
mod workflow_time;
mod workflow_together;
