//! The owner of everything that outlives a process: files, kernel objects and kernel settings.
//!
//! - **Who is alive is decided by a lock**, which the kernel frees even after SIGKILL.
//! - **Names count only where they were given**: on their machine, boot and namespaces ([`host`]),
//!   with the inode and birth time of what was created.
//! - **It is recorded before it is created** ([`Journal`]), and removed by its creator, the cleanup
//!   process or the next start.
//! - **A setting is restored only if it still has our value.**
//! - **A file or folder exists complete or not at all**: created under a unique name, locked, and
//!   renamed ([`out_file`], [`Shelf`], [`Cells`]).

mod agent_program;
mod cache;
mod cells;
mod cleanup;
mod delay_accounting;
pub mod folders;
mod group_limit;
pub mod host;
pub mod io_results;
mod journal;
mod lock;
pub mod marked;
pub mod out_file;
mod patience;
pub mod proc_stat;
mod program_path;
mod removal;
mod resource;
pub mod running;
mod scratch;
mod shelf;
mod spool;
pub mod swap_file;
mod sysctl;
pub mod unique;

pub use agent_program::{AGENT_NAME, AgentProgram};
pub use cache::{Cache, Contents, Usage};
pub use cells::{Cells, key_of};
pub use cleanup::{CLEANUP_ROLE, CleanupProcess, Duty, serve};
pub use group_limit::GroupLimit;
pub use journal::Journal;
pub use lock::Lock;
pub use patience::{open_patiently, read_patiently};
pub use program_path::in_path;
pub use removal::{Swept, sweep_leftovers};
pub use resource::{PathEntry, Resource};
pub use scratch::Scratch;
pub use shelf::Shelf;
pub use spool::{Spool, SpooledRun};
pub use sysctl::Change;
