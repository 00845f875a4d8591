//! Subjects: where a run takes place. The host as it is, or a sandbox of control groups.
//!
//! A [`Stage`] owns everything that the runs of one invocation make: the lock on the work
//! directory, a journal of what exists, a warden process that tidies up should this process die,
//! and the swap file. [`Stage::run`] makes one run on it.
//!
//! **Invariant:** whatever is made is in the journal *before* it is made. It is removed by the
//! stage; should this process be killed, by the warden; should both be killed, by the next start.

mod agent_process;
mod asked;
mod cgroup;
mod dbus;
mod delay_accounting;
mod identity;
mod journal;
mod machine;
mod patience;
mod proc_stat;
mod room;
mod run_lines;
mod stage;
mod swap_file;
mod swap_header;
mod sweep;
pub mod sysctl;
mod user_scope;
mod warden;
mod work_dir;

pub use agent_process::Outcome;
pub use asked::{Asked, resolve};
pub use cgroup::SandboxError;
pub use journal::state_dir;
pub use machine::Machine;
pub use run_lines::{RunLines, Sink};
pub use stage::{Stage, StageError, StageOptions};
pub use swap_header::swap_header;
pub use sweep::Swept;
pub use warden::watch;
pub use work_dir::WorkDirError;
