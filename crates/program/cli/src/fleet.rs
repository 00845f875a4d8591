//! Handing cells to a fleet: the driver in the Python package, which `thrashlab` starts.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, anyhow};
use clap::Args;

use crate::laboratory::{LabArgs, arguments};
use crate::{Failure, Result};

/// Names another Python than `python3`.
const PYTHON: &str = "THRASHLAB_PYTHON";
/// Where the package finds this program.
const PROGRAM: &str = "THRASHLAB";
/// Prints which of the packages that a fleet needs are missing.
const MISSING: &str = "import importlib.util as u\n\
                       print(*[n for n in ('thrashlab', 'ray', 'fsspec') if not u.find_spec(n)])";

/// Which fleet, and where its cells are.
#[derive(Args, Clone)]
pub(crate) struct FleetArgs {
    /// Run the cells on the nodes of a Ray cluster: `local`, `auto`, `HOST:PORT` or
    /// `ray://HOST:PORT` (docs/fleet.md)
    #[arg(long = "fleet", id = "fleet", value_name = "ADDRESS",
          conflicts_with_all = ["no_cache", "cells"])]
    pub(crate) address: Option<String>,

    /// With --fleet: where cells are stored: a folder that all nodes share, or a URL that fsspec
    /// knows [default: `thrashlab/fleet` in the user's cache directory]
    #[arg(long, value_name = "URL", requires = "fleet")]
    pub(crate) store: Option<String>,
}

impl FleetArgs {
    /// The command that runs a plan's cells on a fleet and makes a results folder of them. Fails when
    /// Python or one of its packages is missing, with what installs it.
    pub(crate) fn driver(
        &self,
        address: &str,
        plan: &Path,
        folder: &Path,
        lab: &LabArgs,
    ) -> Result<Command> {
        let python = env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
        check_python(&python)?;
        let program = env::current_exe().context("find this program")?;
        let mut command = Command::new(&python);
        command.args(["-m", "thrashlab.fleet"]).arg(plan);
        command.args(["--address", address, "--out"]).arg(folder);
        command.args(arguments([("--store", self.store.clone().map(OsString::from))]));
        command.args(lab.quiet.then_some("--quiet"));
        command.args(lab.of_fleet()).env(PROGRAM, program);
        Ok(command)
    }
}

fn check_python(python: &OsStr) -> Result<()> {
    let shown = python.display();
    let output = Command::new(python).args(["-c", MISSING]).output().map_err(|error| {
        Failure::NotMeasured(anyhow!(
            "--fleet needs Python with thrashlab's package and Ray, and {shown} does not start: \
             {error}; name another one in {PYTHON}"
        ))
    })?;
    let missing = String::from_utf8_lossy(&output.stdout).trim().replace(' ', ", ");
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure::NotMeasured(anyhow!("{shown} does not run: {error}")));
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Failure::NotMeasured(anyhow!(
            "--fleet needs Python packages that {shown} does not have: {missing}; install them \
             with: {shown} -m pip install 'thrashlab[fleet]', or name another Python in {PYTHON}"
        ))),
    }
}
