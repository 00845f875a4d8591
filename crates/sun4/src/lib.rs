//! Sun-4: contexts, segment maps, pmegs, and the policies of SunOS, NetBSD and Linux.
//!
//! **What is simulated.** One CPU runs processes whose programs are lists of [`Step`]s. Time passes in
//! *actions*: a touch, a fault, a switch, a system call. An action is not interrupted. A fault is time in the kernel and then a little in user mode, after which its page is
//! ready; the touch that faulted is an action of its own.
//!
//! **What happens at a tick.** The clock interrupts at each multiple of 10 ms. What ran at that
//! moment, and whether in the kernel, is what the tick is accounted to; all else is done when the
//! action under way is over, tick by tick and in this order: the running process's use of the CPU
//! grows by the tick; sleepers whose tick has come wake, by tick and then by number; each 100 ms it is
//! the next one's turn; each 5 s the load average follows the number of runnable processes; each
//! second use of the CPU decays, and sleepers are swapped. Whoever wakes takes the CPU from whoever has
//! it, who goes to the end of its queue.
//!
//! **What a switch does.** The process gets a context, if it has none by taking one; comes back from
//! being swapped; and, in the middle of touching, touches its stack, because the kernel writes saved
//! registers there.
//!
//! **What a touch needs.** A pmeg for the segment and a valid entry in it, that may be written if it
//! writes. See `hat` for what is missing when, and `victim` for whose pmeg is taken.
//!
//! Touches of ready pages, whole loops of them and runs of equal faults are done at a stroke. That is
//! exact, because nothing else can happen before the next tick.

mod context;
mod engine;
mod hat;
mod log;
mod machine;
mod outcome;
mod process;
mod program;
mod remedy;
mod scheduler;
mod setup;
mod smegs;
mod store;
mod system;
#[cfg(test)]
mod tests;
mod victim;
mod workload;

pub use machine::{Cache, Cycles, Machine, Memory, Mmu, SEGMENT_BYTES};
pub use outcome::{HatCounts, Outcome, ProcessOutcome};
pub use remedy::{Price, REMEDIES, Remedy};
pub use setup::Setup;
pub use system::{
    Accounting, ContextPolicy, Costs, Daemons, Libraries, Reload, Swapping, System, Victim,
};
pub use workload::{MIXES, Mix, TraceProgram, Workload};

/// Version of what is simulated: it grows when equal inputs give another result.
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
