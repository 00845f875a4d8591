//! `thrashlab freeze`: how long a machine is gone when memory runs out, and who dies.

mod advise;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use experiment::{FreezeSuite, Policy, Scenario, freeze_results};
use model::shown::quoted;
use render::format;
use report::{freeze_document, freeze_list_document};

use crate::laboratory::{LabArgs, drive, failure};
use crate::output::{OutputArgs, show};
use crate::{Failure, Result};

pub(crate) const EXAMPLES: &str = "\
Examples:
  thrashlab freeze                        two scenarios, the usual remedies
  thrashlab freeze leak --policy no-swap,zram --seeds 6
                        one scenario, two remedies, ranges over seeds
  thrashlab freeze container --policy high-80,high-90
                        what memory.high does at a container's limit
  thrashlab freeze tail --kernels deb:linux-image-cloud-amd64,host
  thrashlab freeze mine.toml --policy mine-too.toml -o freeze.html
  thrashlab freeze --everything --seeds 3 hours
  thrashlab freeze --list
  thrashlab freeze advise       which settings help a machine as this one
  thrashlab freeze show docs/freeze/suite.json -o suite.html

Each run fills the memory of a small deterministic machine, so it repeats to
the byte, needs no root, and does nothing to this machine. A stopped suite
continues when the same command is run again.
What is measured, and how to write a scenario: docs/freeze.md.";

const SHOW_EXAMPLES: &str = "\
Examples:
  thrashlab freeze show results.json
  thrashlab freeze show results.json --details
  thrashlab freeze show results.json -o page.html";

#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct FreezeArgs {
    #[command(subcommand)]
    command: Option<FreezeCommand>,

    #[command(flatten)]
    new: NewArgs,
}

#[derive(Subcommand)]
enum FreezeCommand {
    /// Show which settings the suite supports for this machine; changes nothing
    #[command(after_help = advise::EXAMPLES)]
    Advise(advise::AdviseArgs),
    /// Print results again, or write their page
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
}

#[derive(Args)]
struct ShowArgs {
    /// What `thrashlab freeze --json` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args)]
struct NewArgs {
    /// What fills memory: names of --list, or files (TOML) [default: leak tail]
    #[arg(value_name = "SCENARIO", conflicts_with = "suite")]
    scenarios: Vec<String>,

    /// Settings under test, after the kernel's own: names of --list, or files (TOML) [default: the
    /// usual ones]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    policy: Vec<String>,

    /// Kernels, each as in kernel= of a guest, separated by commas [default: that of the machine]
    #[arg(long = "kernels", alias = "kernel", value_name = "KERNELS", value_delimiter = ',')]
    kernel: Vec<String>,

    /// Seeds of each combination; six give intervals of the medians
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=200))]
    seeds: u32,

    /// Measure all scenarios under all policies
    #[arg(long = "everything", alias = "suite")]
    suite: bool,

    /// Print the scenarios and policies, and run nothing
    #[arg(long)]
    list: bool,

    /// Folder for the run files; what it has is not run again [default: one of the request's name in
    /// the user's data directory]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    lab: LabArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl FreezeArgs {
    /// Whether it only prints what this program has.
    pub(crate) fn reads_files(&self) -> bool {
        match self.command {
            Some(FreezeCommand::Show(_)) => true,
            Some(FreezeCommand::Advise(_)) => false,
            None => self.new.list,
        }
    }
}

impl NewArgs {
    /// The command that repeats it.
    fn command(&self) -> String {
        let mut words = vec!["thrashlab freeze".to_owned()];
        words.extend(self.scenarios.iter().map(|name| quoted(name).to_string()));
        words.extend(self.suite.then(|| "--everything".to_owned()));
        for (option, values) in [("--policy", &self.policy), ("--kernels", &self.kernel)] {
            let values = (!values.is_empty()).then(|| values.join(","));
            words.extend(values.map(|values| format!("{option} {}", quoted(&values))));
        }
        words.extend((self.seeds > 1).then(|| format!("--seeds {}", self.seeds)));
        words.join(" ")
    }
}

pub(crate) fn freeze(args: &FreezeArgs) -> Result<()> {
    match &args.command {
        Some(FreezeCommand::Advise(args)) => advise::advise(args),
        Some(FreezeCommand::Show(args)) => {
            let runs = freeze_results(&args.file).map_err(failure)?;
            let command = format!("thrashlab freeze show {}", quoted(&args.file.to_string_lossy()));
            show(&freeze_document(&runs, &command, false), &args.output)
        }
        None => new_freezes(&args.new),
    }
}

fn new_freezes(args: &NewArgs) -> Result<()> {
    if args.list {
        return show(&freeze_list_document(everything()?.listed()), &args.output);
    }
    let suite = suite(args)?;
    let folder = suite.folder(args.folder.as_deref());
    let mut progress = args.lab.progress()?;
    let (scenarios, policies) = (suite.scenarios.len(), suite.policies.len());
    progress.say(&format!(
        "{}, {}: {}",
        format::counted(scenarios, "scenario"),
        format::counted(policies, "policy"),
        format::counted(suite.count().map_err(failure)?, "run")
    ));
    let outcome = drive(&args.lab.options, &mut progress, |driver| suite.run(&folder, driver))?;
    let command = args.command();
    let has_results = outcome.runs.cells.iter().any(|cell| !cell.runs.is_empty());
    if has_results {
        show(&freeze_document(&outcome.runs, &command, outcome.interrupted), &args.output)?;
    }
    progress.say(&format!("run files: {}", quoted(&folder.to_string_lossy())));
    if outcome.interrupted {
        progress.say("stopped; run the same command again to continue");
        return Err(Failure::Interrupted);
    }
    Ok(())
}

fn suite(args: &NewArgs) -> Result<FreezeSuite> {
    let mut suite = everything()?;
    if !args.suite {
        suite.scenarios = Scenario::choose(&args.scenarios).map_err(failure)?;
    }
    if !args.suite || !args.policy.is_empty() {
        suite.policies = Policy::choose(&args.policy).map_err(failure)?;
    }
    Ok(FreezeSuite { kernels: args.kernel.clone(), seeds: args.seeds, ..suite })
}

/// All scenarios and policies of this program.
fn everything() -> Result<FreezeSuite> {
    Ok(FreezeSuite {
        scenarios: Scenario::built_in().map_err(failure)?,
        policies: Policy::built_in().map_err(failure)?,
        kernels: Vec::new(),
        seeds: 1,
    })
}
