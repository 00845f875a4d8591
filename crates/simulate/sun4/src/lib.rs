//! Sun-4: contexts, segment maps, pmegs, and the policies of SunOS, NetBSD and Linux.
//!
//! docs/mmu-sun4.md has the order in which things happen. Ready pages, whole loops and equal faults
//! are done at once, which is exact: nothing else can happen before a tick.

mod engine;
mod hat;
mod log;
mod machine;
mod outcome;
mod program;
mod remedy;
mod scheduler;
mod setup;
mod slots;
mod system;
#[cfg(test)]
mod tests;
mod what_if;
mod workload;

pub use machine::{Cache, Cycles, Machine, Memory, Mmu, SEGMENT_BYTES};
pub use outcome::{HatCounts, Outcome, ProcessOutcome};
pub use remedy::{Price, REMEDIES, Remedy};
pub use setup::Setup;
pub use system::{
    Accounting, ContextPolicy, Costs, Daemons, Libraries, Reload, Swapping, System, Victim,
};
pub use what_if::{Gain, Tried, WhatIf};
pub use workload::{MIXES, Mix, TraceProgram, Workload};

/// Version of the simulation: grows when equal inputs have another result.
pub const VERSION: u32 = 1;

/// The machines that come with thrashlab: names and descriptions.
pub const MACHINES: &[(&str, &str)] = &[
    ("sparcstation1", include_str!("../machines/sparcstation1.toml")),
    ("sparcstation1plus", include_str!("../machines/sparcstation1plus.toml")),
    ("sparcstation2", include_str!("../machines/sparcstation2.toml")),
    ("slc", include_str!("../machines/slc.toml")),
    ("ipc", include_str!("../machines/ipc.toml")),
    ("4-1xx", include_str!("../machines/4-1xx.toml")),
    ("4-2xx", include_str!("../machines/4-2xx.toml")),
    ("4-3xx", include_str!("../machines/4-3xx.toml")),
    ("4-4xx", include_str!("../machines/4-4xx.toml")),
    ("4-460", include_str!("../machines/4-460.toml")),
];

/// Runs a workload on a machine with a system.
pub fn simulate(setup: &Setup, workload: &Workload, seed: u64) -> Outcome {
    let scene = workload.scene(setup, seed);
    engine::Engine::new(setup, &scene, seed).run()
}
