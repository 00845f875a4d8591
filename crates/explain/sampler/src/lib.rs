//! Profiles of programs on this machine, without eBPF and without hardware counters: the kernel
//! samples what executes, and records every time that a thread leaves its CPU or comes back
//! (`perf_event_open(2)`, software events). So the time on a CPU is exact by thread, and samples
//! divide it by call stack; waits are exact by call stack. The responses of one thread have their critical
//! paths ([`ResponseRecording`]).
//!
//! **Invariant:** all times on a CPU sum to what the switches say, whatever was sampled: what no
//! sample reaches is counted as that.

mod blocked;
mod command;
mod faults;
mod modules;
mod names;
mod perf_data;
mod recording;
mod records;
mod running;
mod stacks;
mod switches;
mod threads;
mod timeline;
mod waits;
mod watched;

pub use command::{ChildRecording, profile_command, profile_processes};
pub use names::KnownFiles;
pub use perf_data::{PerfRecording, read_perf_data};
pub use recording::{Options, SWITCHES_HZ, SamplerError};
pub use switches::ResponseRecording;
pub use sys::perf_rings::{FaultKind, SampledFaults};
