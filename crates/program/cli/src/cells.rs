//! `thrashlab cells`: makes the cells of a list, on whatever host it is started.

use std::io::{BufRead, Write};
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use experiment::{CellMaker, CellResult, ExperimentError};
use keep::{Cache, Cells};
use model::units::parse_duration_ns;
use vm::VmOptions;

use crate::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  thrashlab experiment plan.toml --list-cells > list
  split -n l/8 list part.          simulations only: lines are independent
  thrashlab cells store < part.aa  on any hosts, in parallel
  thrashlab experiment plan.toml --cells store
                                   collect the results

Cells of guests need the line of their machine first, and its files:
docs/fleet.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CellsArgs {
    /// Folder in which finished cells are kept; existing ones are not run again
    folder: PathBuf,

    /// Folder with the files of booted machines, those of each in a folder named by its key
    #[arg(long, value_name = "DIR", default_value = "machines")]
    machines: PathBuf,

    /// A guest that writes nothing for this long, on the wall clock, counts as stuck; a
    /// boot may take a third of it, and 5 min at least
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_duration_ns)]
    wall_limit: u64,

    /// End when the process that started it ends, however it ends
    #[arg(long)]
    with_parent: bool,
}

/// Runs the cells on standard input; the result of each is a JSON line on standard output.
pub(crate) fn cells(args: &CellsArgs) -> Result<()> {
    if args.with_parent {
        sys::process::die_with_parent(parent_id()).context("follow the parent process")?;
    }
    let options = VmOptions {
        cache: Cache::of_user(),
        reuse_cells: true,
        silence: Duration::from_nanos(args.wall_limit),
        qemu: None,
        freeze: None,
    };
    let mut maker =
        CellMaker::new(Cells { folder: args.folder.clone() }, args.machines.clone(), &options);
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.context("read the list").map_err(Failure::NotMeasured)?;
        let begun = Instant::now();
        // A signal ends this process and any guest with it; what is kept is complete or absent.
        let made = maker.take(&line, &|| false).map_err(|error| failure(number + 1, error))?;
        if let Some(made) = made {
            print_result(&made, begun.elapsed())?;
        }
    }
    Ok(())
}

/// Prints the result of a cell immediately.
fn print_result(cell: &CellResult, wall: Duration) -> Result<()> {
    let mut line = serde_json::to_value(cell).context("write the result of a cell")?;
    line["wall_ns"] = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX).into();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).context("write the result of a cell")?;
    Ok(())
}

fn failure(number: usize, error: ExperimentError) -> Failure {
    match error {
        ExperimentError::WrongUse(why) => wrong!("line {number}: {why}"),
        other => Failure::NotMeasured(anyhow::Error::new(other).context(format!("line {number}"))),
    }
}
