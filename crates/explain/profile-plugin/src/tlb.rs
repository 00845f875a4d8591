//! The simulator of TLBs, the same files as in the crate `mmu`: what a plugin counts is what
//! `thrashlab mmu run` counts.

#[path = "../../../simulate/mmu/src/tlb/array.rs"]
mod array;
#[path = "../../../simulate/mmu/src/tlb/core.rs"]
mod core;
#[path = "../../../simulate/mmu/src/tlb/frames.rs"]
mod frames;
#[path = "../../../simulate/mmu/src/tlb/generator.rs"]
mod generator;
#[path = "../../../simulate/mmu/src/tlb/guest.rs"]
mod guest;
#[path = "../../../simulate/mmu/src/tlb/machine.rs"]
mod machine;
#[path = "../../../simulate/mmu/src/tlb/options.rs"]
mod options;
#[path = "../../../simulate/mmu/src/tlb/outcome.rs"]
mod outcome;
#[path = "../../../simulate/mmu/src/tlb/page_size.rs"]
mod page_size;
#[path = "../../../simulate/mmu/src/tlb/policy.rs"]
mod policy;
#[path = "../../../simulate/mmu/src/tlb/price.rs"]
mod price;
#[path = "../../../simulate/mmu/src/tlb/simulator.rs"]
mod simulator;
#[path = "../../../simulate/mmu/src/tlb/space.rs"]
mod space;
#[path = "../../../simulate/mmu/src/tlb/translations.rs"]
mod translations;
#[path = "../../../simulate/mmu/src/tlb/walker.rs"]
mod walker;
#[path = "../../../simulate/mmu/src/tlb/wire.rs"]
mod wire;
#[path = "../../../simulate/mmu/src/tlb/world.rs"]
mod world;

pub(crate) use machine::Machine;
pub(crate) use options::Options;
pub(crate) use page_size::PageSize;
pub(crate) use price::Price;
pub(crate) use simulator::Simulator;
pub(crate) use translations::{Mapped, Translations};
