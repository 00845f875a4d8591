//! Jobs: work that is itself timed and counted; the table of all, the scripts of the users of a
//! session, the tools that they use on a bare guest, and the orders in which memory is touched.
//!
//! **Invariant:** nothing here starts a process or reads a clock; the agent does. What a user does
//! is a function of the script, the seed and the user's number.

mod corpus;
mod memory;
mod order;
mod param;
mod resolve;
mod script;
mod script_text;
mod text;
mod tools;
mod touch;
mod variables;
mod vmtest;

pub use corpus::{CORPUS_BYTES, fill};
pub use memory::{
    Access, Backing, Chain, InOrder, Layout, MemoryJob, PAGE_BYTES, Pages, Pattern, Permutation,
    Shuffled, TouchPlan, Uniform, VmtestPlan, Zipf,
};
pub use order::Order;
pub use param::{Choice, Kind, Param};
pub use resolve::{Resolved, resolve, search_path};
pub use script::{DEFAULT_SCRIPT, MOST_USERS, ScriptError, parse_script, set};
pub use script_text::script_text;
pub use tools::{COMMAND as TOOL_COMMAND, ToolError, run_tool, tool_names};
pub use touch::TOUCH;
pub use variables::Place;
pub use vmtest::VMTEST;

use model::{JobSpec, Script};

const MIB: u64 = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

/// One job: a row of [`ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Desc {
    /// Name on the command line and in run files.
    pub name: &'static str,
    /// Version of its meaning.
    pub version: u32,
    /// One line for `--help`.
    pub about: &'static str,
    /// What it needs of a subject.
    pub needs: &'static str,
    /// Numbers that it can be given.
    pub params: &'static [Param],
    /// Choices that it offers.
    pub choices: &'static [Choice],
}

/// Users who work at the same time, each through a random permutation of a script (D. H. Hunt,
/// "Performance Comparison of Systems 17.11 and 18.9", Project MAC CSR RFC 17, 1973, experiment 1).
pub const SESSION: Desc = Desc {
    name: "session",
    version: 1,
    about: "users who issue the commands of a script in random order, thinking in between",
    needs: "a disk for the users' files (a few MiB each); tools of the subject or our own",
    params: &[],
    choices: &[],
};

/// All jobs.
pub const ALL: &[Desc] = &[SESSION, VMTEST, TOUCH];

/// The job of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Desc> {
    ALL.iter().find(|job| job.name == name)
}

/// The longest that a job may take, in ns, without the time that its load needs.
#[must_use]
pub fn longest_ns(job: &JobSpec) -> u64 {
    let script_ns = job.script.as_ref().map_or(0, Script::longest_pass_ns);
    match MemoryJob::new(job) {
        Ok(Some(memory)) => memory.making_ns().saturating_add(memory.limit_ns()),
        _ => script_ns,
    }
}
