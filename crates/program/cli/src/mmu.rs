//! `thrashlab mmu`: simulators of memory-management hardware.

mod curve;
mod machines;
mod run;
mod simulator;
mod whatif;
mod work;

use clap::Subcommand;
use model::MmuSpec;

use crate::Result;

pub(crate) const EXAMPLES: &str = "\
Examples:
  thrashlab mmu run vmtest --machine sparcstation1 --hat old --range 2M..32M \\
      --seeds 10
                          the table of 1990
  thrashlab mmu whatif --machine sparcstation1 vmtest:24M
                          how much each remedy helps
  thrashlab mmu run --machine zen4 t.tlt
                          TLB misses and walks of a recorded program
  thrashlab mmu run --machine zen4 -- gzip -9 < big > /dev/null
                          the same without a trace file
  thrashlab mmu curve t.tlt
                          misses of an LRU cache of translations, for all sizes
  thrashlab mmu machines  list the machines";

#[derive(Subcommand)]
pub(crate) enum MmuCommand {
    /// Run a program, a trace or a command on a simulated machine
    Run(Box<run::RunArgs>),
    /// Try every remedy for a workload, alone and together
    Whatif(whatif::WhatifArgs),
    /// Draw the miss-ratio curve of a trace, for all sizes in one pass
    Curve(curve::CurveArgs),
    /// List the machines, or show one
    Machines(machines::MachinesArgs),
}

pub(crate) fn mmu(command: &MmuCommand) -> Result<()> {
    match command {
        MmuCommand::Run(args) => run::run(args),
        MmuCommand::Whatif(args) => whatif::whatif(args),
        MmuCommand::Curve(args) => curve::curve(args),
        MmuCommand::Machines(args) => machines::machines(args),
    }
}

/// A simulated machine in words: its name and what was set of it.
fn place(mmu: &MmuSpec) -> String {
    let asked = mmu.asked.iter().map(|(name, value)| format!(", {name} {value}"));
    format!("simulated {}{}", mmu.machine, asked.collect::<String>())
}
