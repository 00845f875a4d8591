//! The arguments of `thrashlab experiment`.

use std::path::PathBuf;

use clap::Args;

use crate::laboratory::LabArgs;
use crate::seeds::{Seeds, seeds};

const EXAMPLES: &str = "\
Examples:
  thrashlab experiment examples/compiler-vs-system.toml
  thrashlab experiment plan.toml --print-plan      what would be run, in which order
  thrashlab experiment plan.toml --dry-run         can all levels be set, and how long will it take?
  thrashlab experiment plan.toml --blocks 12       go on with more blocks
  thrashlab experiment plan.toml --fleet ray://head:10001 --store s3://bucket/cells
  thrashlab experiment plan.toml --aa              the first cell against itself: the noise floor
  thrashlab compare ~/.local/share/thrashlab/NAME --factor FACTOR
  thrashlab attribute ~/.local/share/thrashlab/NAME

An interrupted experiment goes on where it was when it is started again.
How to write a plan, and all that it can set: docs/experiments.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExperimentArgs {
    /// The plan (TOML)
    pub(crate) plan: PathBuf,

    /// Folder for the runs; what it has already is not run again [default: one of the plan's name
    /// in the user's data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Print the plan as it is understood and run nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) print_plan: bool,

    /// Build and try everything, tell how long it will take, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Run the first cell against itself: what differs is noise
    #[arg(long)]
    pub(crate) aa: bool,

    /// Print what deterministic cells are still to be made, as JSON lines for `thrashlab cells`,
    /// and make none (docs/fleet.md)
    #[arg(long, conflicts_with_all = ["print_plan", "dry_run", "no_cache"])]
    pub(crate) list_cells: bool,

    /// Let the nodes of a Ray cluster make the cells: `local`, `auto`, `HOST:PORT` or
    /// `ray://HOST:PORT` (docs/fleet.md)
    #[arg(long, value_name = "ADDRESS",
          conflicts_with_all = ["print_plan", "dry_run", "list_cells", "no_cache", "cells"])]
    pub(crate) fleet: Option<String>,

    /// With --fleet: where cells are kept: a folder that all nodes see, or a URL that fsspec knows
    /// [default: `thrashlab/fleet` in the user's cache directory]
    #[arg(long, value_name = "URL", requires = "fleet")]
    pub(crate) store: Option<String>,

    /// With --fleet: make every cell anew, also those that are in the store
    #[arg(long, requires = "fleet")]
    pub(crate) no_resume: bool,

    /// Blocks, each a pass through all cells [default: as the plan says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) blocks: Option<u32>,

    /// Seeds of the blocks, such as 1..20 [default: as the plan says]
    #[arg(long, value_name = "SEEDS", conflicts_with = "blocks", value_parser = seeds)]
    pub(crate) seeds: Option<Seeds>,

    #[command(flatten)]
    pub(crate) lab: LabArgs,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
