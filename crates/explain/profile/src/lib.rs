//! Exact profiles of deterministic guests: which kernel functions execute how many instructions.
//!
//! The engine loads our plugin ([`PLUGIN`]), which counts by call stack and writes a [`Recording`].
//! With the guest's [`Symbols`] and its run file that is a [`Profile`]: of the whole run, and of each
//! response. Nothing is sampled.
//!
//! **Invariant:** the sum of all counts is the emulator's number of instructions.

mod area;
mod by_task;
mod call_stacks;
mod clock;
mod common_names;
mod counted;
mod critical_path;
mod ctf;
mod difference;
mod firefox;
mod flame;
mod function_changes;
mod function_name;
mod functions;
mod guest_trace;
mod inlined;
mod kinds;
mod last_write;
mod memory;
mod part;
#[expect(dead_code, reason = "the rest is for the plugin")]
#[path = "../../profile-plugin/src/plan.rs"]
mod plan;
mod pprof;
mod prices;
mod profile;
mod program_file;
mod programs;
mod reader;
mod recording;
#[path = "../../profile-plugin/src/records.rs"]
mod records;
mod responses;
mod run_paths;
mod run_profile;
mod sampled;
mod schedule;
mod scheduler_functions;
mod symbol_file;
mod symbols;
mod tasks;
mod thread_times;
#[cfg_attr(not(test), expect(dead_code, reason = "the rest is for the plugin"))]
#[path = "../../profile-plugin/src/words.rs"]
mod words;

pub use area::Area;
pub use by_task::TaskCounts;
pub use call_stacks::{CallStacks, Counts, FunctionCounts};
pub use counted::Counted;
pub use critical_path::{CriticalPath, Doing, Segment};
pub use ctf::ctf;
pub use difference::{Culprit, Difference, FunctionDifference, FunctionPair};
pub use firefox::{firefox, sampled_firefox};
pub use flame::{FlameFrame, collapsed, flame};
pub use function_changes::{FunctionChange, FunctionChanges, SmallestSeen};
pub use guest_trace::GuestTrace;
pub use last_write::LastWrite;
pub use memory::{FunctionPrice, TaskPrice};
pub use part::Part;
pub use pprof::pprof;
pub use prices::Prices;
pub use profile::{AreaCounts, Death, Profile, ProfileError, Selection};
pub use program_file::ProgramFile;
pub use reader::RecordingError;
pub use recording::Recording;
pub use responses::{Response, Responses};
pub use run_paths::RunPaths;
pub use run_profile::RunProfile;
pub use sampled::{Origin, SampledProfile, StackTree, TaskTime, Wait};
pub use schedule::{sampled_schedule, schedule};
pub use scheduler_functions::only_schedules;
pub use symbols::{Symbols, SymbolsError};
pub use thread_times::{ThreadSpan, ThreadTimes};

/// The plugin, a shared library that the engine loads.
pub static PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/profile_plugin.so"));

// The plugin's own tests are run here: it has no dependencies, and only QEMU has its symbols.
#[cfg(test)]
#[expect(dead_code, reason = "the rest is for what only QEMU can do")]
#[path = "../../profile-plugin/src/decode.rs"]
mod decode;
#[cfg(test)]
#[path = "../../profile-plugin/src/file.rs"]
mod file;
#[cfg(test)]
#[path = "../../profile-plugin/src/lives.rs"]
mod lives;
#[cfg(test)]
#[path = "../../profile-plugin/src/nodes.rs"]
mod nodes;
#[cfg(test)]
#[path = "../../profile-plugin/src/privileged.rs"]
mod privileged;
#[cfg(test)]
#[path = "../../profile-plugin/src/scheduler.rs"]
mod scheduler;
#[cfg(test)]
#[path = "../../profile-plugin/src/shadow.rs"]
mod shadow;
#[cfg(test)]
#[path = "../../profile-plugin/src/spaces.rs"]
mod spaces;
#[cfg(test)]
#[path = "../../profile-plugin/src/tables.rs"]
mod tables;
#[cfg(test)]
#[expect(dead_code, unreachable_pub, unused_imports, reason = "another crate's")]
#[path = "../../profile-plugin/src/tlb.rs"]
mod tlb;
#[cfg(test)]
#[path = "../../profile-plugin/src/user.rs"]
mod user;
#[cfg(test)]
#[path = "../../profile-plugin/src/prices.rs"]
mod written_prices;
