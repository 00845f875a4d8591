//! Where a run takes place: the host as it is, or a sandbox of control groups.
//!
//! A [`Stage`] makes the runs of one invocation and records the rest in its [`keep::Journal`].

mod agent_process;
mod cgroup;
mod dbus;
mod group;
mod local_subject;
mod machine;
mod room;
mod run_lines;
mod stage;
mod user_scope;
mod work_dir;

pub use agent_process::Outcome;
pub use group::processes_of_group;
pub use local_subject::{Limits, LocalSubject, resolve};
pub use machine::Machine;
pub use run_lines::{RunLines, Sink};
pub use stage::{Stage, StageError, StageOptions};
