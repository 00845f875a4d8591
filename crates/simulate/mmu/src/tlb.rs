//! TLB hierarchies, page-walk caches and page walks.
//!
//! A [`Machine`] is read from a description, a run's choices are [`Options`], and a [`Simulator`]
//! takes the references and events of a trace and returns an [`Outcome`], as docs/mmu-tlb.md has
//! it.

mod array;
mod core;
mod description;
mod events;
mod frames;
mod generator;
#[expect(dead_code, reason = "the rest is for the plugin")]
mod guest;
mod machine;
mod options;
mod outcome;
mod page_size;
mod policy;
#[expect(dead_code, reason = "the rest is for the plugin")]
mod price;
mod simulator;
mod space;
mod translations;
mod walker;
#[cfg_attr(not(test), expect(dead_code, reason = "the rest is for the plugin"))]
mod wire;
mod world;

#[cfg(test)]
mod tests;

pub use array::Index;
pub use machine::{Machine, Nested, Prefetch, Serves, Tlb, Walk, WalkCache};
pub use options::{Options, PagePolicy, Share};
pub use outcome::{CacheOutcome, Outcome, TlbOutcome, WalkOutcome};
pub use page_size::PageSize;
pub use policy::Policy;
pub use price::Price;
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
