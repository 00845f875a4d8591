//! Mixes: machines with several users, described as data.
//!
//! A mix has programs (the sizes of their parts, their libraries, their shared segments), commands
//! that are run and end, and groups of processes. A process thinks or waits for a call, touches some
//! of its pages, computes, calls others, and runs commands. Who has a number of interactions to do
//! is a user: all is counted from the moment when the last user is logged in to the end of the last
//! interaction.

mod description;
mod scene;

use crate::machine::MachineError;

pub(super) use scene::scene;

/// The mixes that come with thrashlab: names and descriptions.
pub const MIXES: &[(&str, &str)] = &[
    ("xterms", include_str!("../../../mixes/xterms.toml")),
    ("shells", include_str!("../../../mixes/shells.toml")),
    ("lisp", include_str!("../../../mixes/lisp.toml")),
    ("database", include_str!("../../../mixes/database.toml")),
];

/// A machine with several users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    /// What people call it.
    pub name: String,
    /// What it is about, in a line.
    pub about: String,
    pub(super) programs: Vec<MixProgram>,
    pub(super) commands: Vec<Command>,
    pub(super) groups: Vec<Group>,
}

impl Mix {
    /// Reads a description in TOML.
    ///
    /// # Errors
    /// What is wrong in it, and where.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        description::parse(text)
    }

    /// How many processes there are at the same time, without commands.
    #[must_use]
    pub fn processes(&self) -> u64 {
        self.groups.iter().map(|group| group.count).sum()
    }
}

/// A program of a mix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MixProgram {
    pub(super) name: String,
    pub(super) shape: super::image::Shape,
    /// Address space for each page of the heap that is used, in bytes.
    pub(super) spread_bytes: u64,
}

/// A program that is run, does its work once, and ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) name: String,
    pub(super) program: usize,
    pub(super) work: Work,
}

/// What is done at a time: pages that are touched, in bytes, and cycles of computing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) text_bytes: u64,
    pub(super) library_bytes: u64,
    pub(super) data_bytes: u64,
    pub(super) heap_bytes: u64,
    pub(super) stack_bytes: u64,
    pub(super) segment_bytes: u64,
    pub(super) order: TouchOrder,
    pub(super) compute_cycles: u64,
}

/// Which pages of heap and segments are touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub(super) enum TouchOrder {
    /// Popular ones, by Zipf's law, from low to high addresses.
    #[default]
    #[serde(rename = "popular")]
    Popular,
    /// Any, as they come.
    #[serde(rename = "uniform")]
    Uniform,
}

/// What a process waits for before it does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// The end of a thought of this mean length, in ns.
    Think(u64),
    /// A timer of this period, in ns.
    Every(u64),
    /// A call.
    Call,
}

/// Processes that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) program: usize,
    pub(super) count: u64,
    pub(super) wait: Wait,
    /// Of users: interactions until they are done.
    pub(super) interactions: Option<u64>,
    pub(super) work: Work,
    /// After so many times the whole heap is swept; 0 = never.
    pub(super) sweep_each: u64,
    /// Groups that are called, in order.
    pub(super) calls: Vec<usize>,
    /// Commands, all of which are run in random order before one comes again.
    pub(super) runs: Vec<usize>,
    /// A command is run each so many times.
    pub(super) run_each: u64,
}

#[cfg(test)]
#[path = "mix_tests.rs"]
mod tests;
