//! Freezes: how long a machine is gone when memory runs out, and who dies.
//!
//! A run has a load that fills memory after some idle intervals (an *exhaustion*), and a probe that
//! interacts on a fixed schedule. A response is *slow* if it took more than three times the median of
//! those before the load began, from when it could begin: its intended start, or the end of the
//! response before, if that is later. Otherwise the queue of missed starts would count as a freeze
//! after the machine answers again. The machine is *frozen* while a slow response is under way, and
//! freezes that touch are one. So a freeze is measured to the distance of two starts.
//!
//! **Invariants:** a freeze that has not ended when the run ends is a lower bound, and so is every sum
//! that has it. Every process that the kernel killed is counted once: as an offender, a bystander, the
//! probe, or another process.

mod advice;
mod machine;
mod measure;
mod ranking;

pub use advice::{Advice, Effect};
pub use machine::{Change, IDLE_DAEMON, MachineNow};
pub use measure::{Circumstances, FreezeRun, Victims, freeze_run};
pub use ranking::{
    FreezeCell, FreezePolicy, FreezeRanking, FreezeScenario, FreezeSuiteRuns, PolicyScore,
};

#[cfg(test)]
mod tests;
