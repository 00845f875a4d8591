//! The simulator of TLBs, the same files as in the crate `mmu`: what a plugin counts is what
//! `thrashlab mmu run` counts.

#[path = "../../mmu/src/tlb/array.rs"]
mod array;
#[path = "../../mmu/src/tlb/core.rs"]
mod core;
#[path = "../../mmu/src/tlb/frames.rs"]
mod frames;
#[path = "../../mmu/src/tlb/generator.rs"]
mod generator;
#[path = "../../mmu/src/tlb/guest.rs"]
mod guest;
#[path = "../../mmu/src/tlb/machine.rs"]
mod machine;
#[path = "../../mmu/src/tlb/options.rs"]
mod options;
#[path = "../../mmu/src/tlb/outcome.rs"]
mod outcome;
#[path = "../../mmu/src/tlb/page_size.rs"]
mod page_size;
#[path = "../../mmu/src/tlb/policy.rs"]
mod policy;
#[path = "../../mmu/src/tlb/price.rs"]
mod price;
#[path = "../../mmu/src/tlb/simulator.rs"]
mod simulator;
#[path = "../../mmu/src/tlb/space.rs"]
mod space;
#[path = "../../mmu/src/tlb/translations.rs"]
mod translations;
#[path = "../../mmu/src/tlb/walker.rs"]
mod walker;
#[path = "../../mmu/src/tlb/wire.rs"]
mod wire;
#[path = "../../mmu/src/tlb/world.rs"]
mod world;

pub(crate) use machine::Machine;
pub(crate) use options::Options;
pub(crate) use page_size::PageSize;
pub(crate) use price::Price;
pub(crate) use simulator::Simulator;
pub(crate) use translations::{Mapped, Translations};
