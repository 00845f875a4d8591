//! Subjects: where a run takes place. The host as it is, or a sandbox of control groups.
//!
//! A [`Stage`] makes the runs of one invocation, and owns what they make through its
//! [`keep::Journal`]. [`Stage::run`] makes one run on it.

mod agent_process;
mod asked;
mod cgroup;
mod dbus;
mod machine;
mod room;
mod run_lines;
mod stage;
mod user_scope;
mod work_dir;

pub use agent_process::Outcome;
pub use asked::{Asked, Limits, resolve};
pub use machine::Machine;
pub use run_lines::{RunLines, Sink};
pub use stage::{Stage, StageError, StageOptions};
