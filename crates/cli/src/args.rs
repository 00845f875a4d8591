//! The command line as it is typed.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::output::OutputArgs;

/// A laboratory for computers that have slowed down.
#[derive(Parser)]
#[command(
    name = "thrashlab",
    version,
    about = "A laboratory for computers that have slowed down",
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure how a trivial interaction responds under each load, against no load
    Run(Box<crate::run::RunArgs>),
    /// Find the step of an ordered axis at which something changed
    Bisect(Box<crate::bisect::BisectArgs>),
    /// Carry out a plan: factors, blocks, order; goes on where it was stopped
    Experiment(Box<crate::experiment::ExperimentArgs>),
    /// Make the cells of a list (from standard input): what a node of a fleet does
    Cells(crate::cells::CellsArgs),
    /// Measure the cost of work over a range of one parameter: curve, knee, and what lies under it
    Sweep(Box<crate::sweep::SweepArgs>),
    /// Print results again: a results folder, a run file, or published figures
    Show(crate::show::ShowArgs),
    /// Compare results: what differs, by how much, and how sure that is
    Compare(crate::compare::CompareArgs),
    /// Show which factor and which part of the work caused a change
    Attribute(crate::attribute::AttributeArgs),
    /// Make a report: one page with charts, or Markdown, text, JSON, Vega-Lite
    Report(crate::report::ReportArgs),
    /// Show what costs this machine, a recording or a run its time, and how much
    Doctor(crate::doctor::DoctorArgs),
    /// Count what processes map, touch and share, to the page of their page tables
    Footprint(crate::footprint::FootprintArgs),
    /// Simulate memory-management hardware: pmegs, TLBs, page walks, miss-ratio curves
    #[command(subcommand, after_help = crate::mmu::EXAMPLES)]
    Mmu(crate::mmu::MmuCommand),
    /// Record, read and convert memory traces of programs
    #[command(subcommand, after_help = crate::trace::EXAMPLES)]
    Trace(crate::trace::TraceCommand),
    /// Look at the deterministic machine: kernels, machines, boot, shell, and whether it repeats
    #[command(subcommand)]
    Vm(Box<crate::vm::VmCommand>),
    /// Look at what is kept of kernels, booted machines and cells, and remove it
    #[command(subcommand)]
    Cache(crate::cache::CacheCommand),
    /// Read results of other programs
    Import(crate::import::ImportArgs),
    /// Write results in the formats of others: CSV, Go benchmark lines, OpenMetrics, Parquet
    Export(crate::export::ExportArgs),
    /// List the published figures that come with thrashlab
    Reference(OutputArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of a command
    Man {
        /// The command [default: thrashlab itself]
        command: Option<String>,
    },
    /// Run one assignment (used by thrashlab itself)
    #[command(name = "__agent", hide = true)]
    Agent,
    /// Be the other side of a subject on another machine (used by thrashlab itself)
    #[command(name = remote::COMMAND, hide = true)]
    Remote {
        /// The role and its parameters.
        arguments: Vec<String>,
    },
    /// Be the first process of a guest (used by thrashlab itself)
    #[command(name = "__guest", hide = true)]
    Guest {
        /// The stage of its life.
        argument: Option<String>,
    },
    /// Clean up when another process has ended (used by thrashlab itself)
    #[command(name = keep::COMMAND, hide = true)]
    Cleanup {
        /// What to do.
        arguments: Vec<OsString>,
    },
}
