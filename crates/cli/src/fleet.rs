//! `thrashlab experiment --fleet`: hands over to the Python package, which knows Ray.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, anyhow};

use crate::Failure;
use crate::experiment_args::ExperimentArgs;

/// Names another Python than `python3`.
const PYTHON: &str = "THRASHLAB_PYTHON";
/// Where the package finds this program.
const PROGRAM: &str = "THRASHLAB";
/// Prints which of the packages that a fleet needs are not there.
const MISSING: &str = "import importlib.util as u\n\
                       print(*[n for n in ('thrashlab', 'ray', 'fsspec') if not u.find_spec(n)])";

/// Becomes the driver of a fleet; returns only if that cannot be.
pub(crate) fn start(address: &str, args: &ExperimentArgs, folder: &Path) -> Result<(), Failure> {
    let python = env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    check(&python)?;
    let program = env::current_exe().context("find this program")?;
    let mut command = Command::new(&python);
    command.args(["-m", "thrashlab.fleet"]).arg(&args.plan);
    command.args(["--address", address, "--out"]).arg(folder);
    if let Some(store) = &args.store {
        command.args(["--store", store]);
    }
    if args.no_resume {
        command.arg("--no-resume");
    }
    if args.quiet {
        command.arg("--quiet");
    }
    command.args(args.lab.of_fleet());
    // What belongs to the plan goes to every `thrashlab experiment` that the driver starts.
    command.arg("--").args(of_plan(args));
    let error = command.env(PROGRAM, program).exec();
    Err(Failure::NotMeasured(anyhow!("start {}: {error}", python.display())))
}

/// The arguments that change the plan or what is printed of it.
fn of_plan(args: &ExperimentArgs) -> Vec<OsString> {
    let mut passed: Vec<OsString> = Vec::new();
    if let Some(blocks) = args.blocks {
        passed.extend(["--blocks".into(), blocks.to_string().into()]);
    }
    if let Some(seeds) = &args.seeds {
        let seeds: Vec<String> = seeds.0.iter().map(u64::to_string).collect();
        passed.extend(["--seeds".into(), seeds.join(",").into()]);
    }
    let flags = [(args.aa, "--aa"), (args.json, "--json")];
    passed.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| (*flag).into()));
    passed
}

/// Whether this Python has what a fleet needs.
fn check(python: &OsString) -> Result<(), Failure> {
    let shown = python.display();
    let asked = Command::new(python).args(["-c", MISSING]).output().map_err(|error| {
        Failure::NotMeasured(anyhow!(
            "--fleet needs Python with thrashlab's package and Ray, and {shown} does not start: \
             {error}; name another one in {PYTHON}"
        ))
    })?;
    let missing = String::from_utf8_lossy(&asked.stdout).trim().replace(' ', ", ");
    if !asked.status.success() {
        let said = String::from_utf8_lossy(&asked.stderr).trim().to_owned();
        return Err(Failure::NotMeasured(anyhow!("{shown} does not run: {said}")));
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Failure::NotMeasured(anyhow!(
            "--fleet needs Python packages that {shown} does not have: {missing}; install them \
             with: {shown} -m pip install 'thrashlab[fleet]', or name another Python in {PYTHON}"
        ))),
    }
}
