//! Loads: reproducible activity in the background, one file each, and the table of all.
//!
//! A load is a [`Desc`]: a plan (sizes resolved for the subject), a preparation before its workers
//! are forked, the work of one worker, and pure functions that judge what the workers counted.
//! The agent forks the workers and kills them; a load never waits for anybody to stop it.
//!
//! **Invariant:** a load touches nothing but its own memory, its own directory and its own message
//! queue, within the sizes of its plan. Its version changes when its meaning changes.

mod cpuload;
mod ctx_mem_2;
mod ctx_mem_8;
mod desc;
mod file_writer;
mod largewrite;
mod noload;
mod provoke;
mod smallwrite;
mod spawnload;
mod token_ring;

pub use desc::{Desc, Dose, Plan, Progress, Setting, Unsupported, Work, WorkError};

pub use provoke::PROVOCATIONS;

/// All loads, in the order in which a run makes them; `noload` is the baseline and stands first.
pub const ALL: &[Desc] = &[
    noload::LOAD,
    smallwrite::LOAD,
    largewrite::LOAD,
    cpuload::LOAD,
    spawnload::LOAD,
    ctx_mem_8::LOAD,
    ctx_mem_2::LOAD,
];

/// The loads and, behind them, the provocations: all that can be asked for by name.
pub fn every() -> impl Iterator<Item = &'static Desc> {
    ALL.iter().chain(PROVOCATIONS)
}

/// Whether an intensity of 0 means something for the load of a name: for a provocation the same work
/// without its condition, for no load nothing. Other loads without a dose are no loads.
#[must_use]
pub fn may_have_no_dose(name: &str) -> bool {
    name == noload::LOAD.name || PROVOCATIONS.iter().any(|load| load.name == name)
}

/// The load or provocation of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Desc> {
    every().find(|load| load.name == name)
}
