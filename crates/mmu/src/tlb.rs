//! TLB hierarchies, page-walk caches and page walks.
//!
//! A [`Machine`] is read from a description, a run's choices are [`Options`], and a [`Simulator`]
//! takes the references, switches and events of a trace and tells an [`Outcome`].
//!
//! What is simulated, in the order in which a reference meets it:
//!
//! 1. The page's size: by policy, or 2 MiB where a mapping of the trace allows it.
//! 2. The TLBs of levels 1, 2, …: a translation that is not there is put in at once, so every
//!    level that was looked up has it afterwards (levels neither include nor exclude each other).
//! 3. A page walk from below the lowest table whose entry a walk cache has; in a virtual machine
//!    each of its entries, and the page itself, is translated by the nested TLB or a walk of the
//!    host's tables.
//! 4. Each entry read costs the cycles of the data caches or of memory, by whether its line is
//!    among the lines of page tables that the data caches keep.

mod array;
mod core;
mod frames;
mod machine;
mod options;
mod outcome;
mod page_size;
mod policy;
mod simulator;
mod space;
mod walker;
mod world;

#[cfg(test)]
mod tests;

pub use array::Index;
pub use machine::{Machine, Nested, Prefetch, Serves, Tlb, Walk, WalkCache};
pub use options::{Options, PagePolicy, Share};
pub use outcome::{CacheOutcome, Outcome, TlbOutcome, WalkOutcome};
pub use page_size::PageSize;
pub use policy::Policy;
pub use simulator::Simulator;

/// The machines that come with thrashlab: names and descriptions.
pub const MACHINES: &[(&str, &str)] = &[
    ("golden-cove", include_str!("../machines/golden-cove.toml")),
    ("neoverse-n1", include_str!("../machines/neoverse-n1.toml")),
    ("skylake-sp", include_str!("../machines/skylake-sp.toml")),
    ("tiny", include_str!("../machines/tiny.toml")),
    ("zen4", include_str!("../machines/zen4.toml")),
    ("zen5", include_str!("../machines/zen5.toml")),
];
