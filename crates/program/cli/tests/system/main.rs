//! System tests: the binary as its users and its enemies see it.
//!
//! Every test has folders of its own, so that tests may run at the same time. A test that cannot
//! run here says so through `skip`.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "all of this is a test")]

#[path = "../../../../../tests/skip.rs"]
mod skip;

mod ab;
mod attribute;
mod before;
mod bisected;
mod call_stacks;
mod commands;
mod commands_of_users;
mod compared;
mod critical_paths;
mod cut;
mod doctor;
mod exchanged;
mod experiments;
mod footprint;
mod foreign;
mod foreign_meaning;
mod freezes;
mod hostile;
mod hosts;
mod how_it_ended;
mod kill;
mod left;
mod limited;
mod major_faults;
mod measured;
mod memory_jobs;
mod miss_ratio;
mod named_functions;
mod observed;
mod outputs;
mod perf_files;
mod playground;
mod provoked;
mod recorded;
mod refused;
mod reported;
mod sampled;
mod sampled_programs;
mod screen;
mod services;
mod session;
mod settings;
mod simulated;
mod starved;
mod stop;
mod support;
mod swept;
mod traced;
mod watched;
