//! `thrashlab history`: what changed from kernel to kernel.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use agent::Waiter;
use analysis::history::{History, HistoryData, HistorySettings, Step, StepFunctions};
use anyhow::Context;
use clap::{Args, Subcommand};
use experiment::typed::setting;
use experiment::{
    ExperimentError, Fleet, KernelHistory, RequestedKernels, Suite, history_folder, read_history,
};
use keep::out_file::write_whole;
use keep::{Cache, Scratch};
use kernels::{KernelArg, OrderedKernel, in_order, named_kernels};
use model::shown::quoted;
use profile::Difference;
use render::{Document, HTML, Style};
use report::history_document;
use stats::ChangeScan;

use crate::by_function::difference_if_possible;
use crate::compare::alpha;
use crate::fail_on::margin;
use crate::fleet::FleetArgs;
use crate::laboratory::{LabArgs, drive, failure};
use crate::output::{FormatArgs, OutputArgs, show, show_in};
use crate::progress::Progress;
use crate::{Failure, Result, wrong};

/// The page, in the folder of a history.
const PAGE: &str = "history.html";
/// The default store of fleets, in the user's cache.
const FLEET_STORE: &str = "fleet";
/// Exit code of a fleet's driver after Ctrl-C, as of this program.
const INTERRUPTED: i32 = crate::INTERRUPTED as i32;
/// Seeds that are profiled with each kernel of a step, and functions that are kept of it.
const PROFILED_SEEDS: usize = 2;
const KEPT_FUNCTIONS: usize = 8;
/// Names of suites that are part of this program.
const DEFAULT: &str = "default";
const QUICK: &str = "quick";

pub(crate) const EXAMPLES: &str = "\
Examples:
  thrashlab history debian                every small kernel of this Debian
  thrashlab history 'deb:linux-image-6.1.0-*-cloud-amd64' --quick
                        one line of kernels, five measures: a first look
  thrashlab history host ./linux-image-6.12.1.deb --measure smallwrite
                        two kernels, one measure
  thrashlab history packages/ --suite mine.toml --seeds 24 -o lines/
                        a folder of packages, your suite, more seeds
  thrashlab history deb:linux-image-cloud-amd64 --variant lru_gen=off
                        is it the multi-generational LRU?
  thrashlab history update lines/ newer.deb   one more kernel: its cells alone
  thrashlab history show lines/ -o page.html

Each cell runs in the deterministic machine, so it repeats to the byte and is
never run twice. To resume a stopped history, run the same command again.
How to write a suite, and what the claims rest on: docs/history.md.";

const SHOW_EXAMPLES: &str = "\
Examples:
  thrashlab history show lines/
  thrashlab history show lines/ --details
  thrashlab history show lines/ -o page.html";

const UPDATE_EXAMPLES: &str = "\
Examples:
  thrashlab history update lines/             what `debian` has by now
  thrashlab history update lines/ newer.deb   one more kernel";

#[derive(Args)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    command: Option<HistoryCommand>,

    #[command(flatten)]
    new: NewArgs,
}

#[derive(Subcommand)]
enum HistoryCommand {
    /// Print a history again, or write its page
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
    /// Measure new kernels and print the history again
    #[command(after_help = UPDATE_EXAMPLES)]
    Update(Box<UpdateArgs>),
}

#[derive(Args)]
struct NewArgs {
    /// Kernels: as in kernel=, `debian`, patterns such as 'deb:linux-image-6.1*-cloud-amd64', or
    /// folders of packages or kernels
    #[arg(value_name = "KERNELS", required = true)]
    kernels: Vec<String>,

    /// What is measured of each kernel: a file (TOML), `loads`, `mechanisms`, `default` (both) or
    /// `quick`
    #[arg(long, value_name = "SUITE", conflicts_with = "quick")]
    suite: Option<String>,

    /// Use short timing: the suite `quick`, five measures on the smallest machine
    #[arg(long)]
    quick: bool,

    /// Only these measures of the suite, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    measure: Vec<String>,

    /// Measure each kernel with this setting of its machine as well, such as lru_gen=off
    #[arg(long, value_name = "NAME=VALUE", value_parser = variant)]
    variant: Vec<String>,

    /// Smallest difference that matters
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = margin)]
    margin: f64,

    /// Chance of any wrong verdict
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = alpha)]
    alpha: f64,

    #[command(flatten)]
    common: CommonArgs,

    /// Folder for the run files; what it has is not run again [default: one of the request's name in
    /// the user's data directory]
    #[arg(long, short, value_name = "DIR", alias = "out")]
    output: Option<PathBuf>,
}

#[derive(Args)]
struct CommonArgs {
    /// Most seeds of a cell; each takes four, and more where kernels may differ [default: 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    seeds: Option<u32>,

    #[command(flatten)]
    fleet: FleetArgs,

    /// Do not profile the kernels around each step, which names the functions behind it
    #[arg(long)]
    no_functions: bool,

    #[command(flatten)]
    lab: LabArgs,

    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Args)]
struct ShowArgs {
    /// Folder of the history
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args)]
struct UpdateArgs {
    /// Folder of the history
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    /// Kernels, in addition to those that it was begun with
    #[arg(value_name = "KERNELS")]
    kernels: Vec<String>,

    #[command(flatten)]
    common: CommonArgs,
}

impl HistoryArgs {
    /// Whether it only shows figures that exist.
    pub(crate) fn reads_files(&self) -> bool {
        matches!(self.command, Some(HistoryCommand::Show(_)))
    }
}

pub(crate) fn history(args: &HistoryArgs) -> Result<()> {
    match &args.command {
        Some(HistoryCommand::Show(args)) => show_again(args),
        Some(HistoryCommand::Update(args)) => update(args),
        None => new_history(&args.new),
    }
}

fn show_again(args: &ShowArgs) -> Result<()> {
    let data = read_history(&args.folder).map_err(failure)?;
    let history = History::of(&data, &mut ChangeScan::default());
    show(&history_document(&data, &history), &args.output)
}

fn new_history(args: &NewArgs) -> Result<()> {
    let (suite, typed) = suite(args)?;
    let folder = history_folder(args.output.as_deref(), &suite, &args.kernels);
    let settings = HistorySettings {
        margin: args.margin,
        alpha: args.alpha,
        seeds: args.common.seeds.unwrap_or(HistorySettings::default().seeds),
    };
    make((suite, &typed), settings, (&args.kernels, &args.variant), &folder, &args.common)
}

/// Reads a setting of the machine; returns it as typed.
fn variant(text: &str) -> Result<String, String> {
    setting(text).map(|(name, value)| format!("{name}={value}"))
}

fn update(args: &UpdateArgs) -> Result<()> {
    let data = read_history(&args.folder).map_err(failure)?;
    let suite = Suite::parse(&data.suite.text, Path::new(&data.suite.folder)).map_err(failure)?;
    let suite = suite.with_measures(&data.measures).map_err(failure)?;
    let mut kernels = data.requested.clone();
    kernels.extend(args.kernels.iter().cloned());
    let mut settings = data.settings;
    settings.seeds = args.common.seeds.unwrap_or(settings.seeds);
    let request = (&kernels[..], &data.variants()[..]);
    make((suite, &data.suite.typed), settings, request, &args.folder, &args.common)
}

/// The suite, and the options that name it.
fn suite(args: &NewArgs) -> Result<(Suite, String)> {
    let name = if args.quick { QUICK } else { args.suite.as_deref().unwrap_or(DEFAULT) };
    let (suite, typed) = match name {
        DEFAULT => (Suite::built_in(name), String::new()),
        QUICK => (Suite::built_in(name), "--quick".to_owned()),
        _ if Suite::is_built_in(name) => (Suite::built_in(name), format!("--suite {name}")),
        file => (Suite::read(Path::new(file)), format!("--suite {}", quoted(file))),
    };
    Ok((suite.and_then(|suite| suite.with_measures(&args.measure)).map_err(failure)?, typed))
}

/// Measures what is missing, prints what it shows, and writes the page.
fn make(
    (suite, typed_suite): (Suite, &str),
    settings: HistorySettings,
    (typed, variants): (&[String], &[String]),
    folder: &Path,
    args: &CommonArgs,
) -> Result<()> {
    let mut progress = args.lab.progress()?;
    let kernels = RequestedKernels { typed, found: find(typed, &progress)?, variants };
    let mut history =
        KernelHistory::open(suite, typed_suite, settings, kernels, folder).map_err(failure)?;
    progress.say(&history.budget());
    let (options, mut fleet) = match &args.fleet.address {
        Some(address) => {
            let (store, fleet) = on_fleet(args, address)?;
            (args.lab.options.clone().with_cells(store), Some(fleet))
        }
        None => (args.lab.options.clone(), None),
    };
    let outcome = drive(&options, &mut progress, |driver| {
        history.run(driver, fleet.as_mut().map(|fleet| fleet as &mut Fleet<'_>))
    });
    let shown = quoted(&folder.to_string_lossy());
    let found = match outcome {
        Ok(found) => found,
        Err(Failure::Interrupted) => {
            progress.say(&format!("stopped; run the same command again to resume it ({shown})"));
            return Err(Failure::Interrupted);
        }
        Err(other) => return Err(other),
    };
    let found = match args.no_functions {
        true => found,
        false => explain(&mut history, found, &progress)?,
    };
    let document = history_document(history.data(), &found);
    show_in(&document, &args.format)?;
    write_page(&document, folder, &progress)?;
    progress.say(&format!("to show it again: thrashlab history show {shown}"));
    Ok(())
}

/// The cells of a fleet's store, and what has the fleet make those of a plan. Fails for a store that is
/// not a folder, and when Python or one of its packages is missing.
fn on_fleet(
    args: &CommonArgs,
    address: &str,
) -> Result<(PathBuf, impl FnMut(&str) -> Result<(), ExperimentError> + use<>)> {
    const PLAN: &str = "plan.toml";
    let cache = Cache::of_user().root;
    let store = match &args.fleet.store {
        Some(url) if url.contains("://") => {
            return Err(wrong(format!("--store {url}: a history reads it, so it is a folder")));
        }
        Some(folder) => PathBuf::from(folder),
        None => cache.join(FLEET_STORE),
    };
    let scratch = Scratch::make(&cache, "fleet").context("make a folder for plans")?;
    let [plan, runs] = [PLAN, "runs"].map(|name| scratch.path().join(name));
    let mut driver = args.fleet.driver(address, &plan, &runs, &args.lab)?;
    driver.arg("--only-cells").stdout(Stdio::null());
    let run = move |text: &str| {
        let failed = |why: String| ExperimentError::NotMeasured(format!("the fleet {why}"));
        std::fs::write(scratch.path().join(PLAN), text)
            .and_then(|()| driver.status())
            .map_err(|error| failed(format!("was not started: {error}")))
            .and_then(|ended| match ended.code() {
                Some(0) => Ok(()),
                Some(INTERRUPTED) | None => Err(ExperimentError::Interrupted),
                Some(code) => Err(failed(format!("ended with code {code}, for the reason above"))),
            })
    };
    Ok((store.join("cells"), run))
}

/// Profiles the kernels around the steps that have no functions yet.
fn explain(history: &mut KernelHistory, found: History, progress: &Progress) -> Result<History> {
    let mut is_unchanged = true;
    for step in found.steps.iter().filter(|step| step.functions.is_none()) {
        let pairs = history.pairs(step, PROFILED_SEEDS).map_err(failure)?;
        if pairs.is_empty() {
            continue;
        }
        // What prevents it was said, and prevents it for all.
        let Some(difference) = difference_if_possible(&pairs, progress)? else { break };
        if let Some(functions) = step_functions(history.data(), step, &difference) {
            history.add_functions(functions).map_err(failure)?;
            is_unchanged = false;
        }
    }
    Ok(if is_unchanged { found } else { history.history() })
}

fn step_functions(
    data: &HistoryData,
    step: &Step,
    difference: &Difference,
) -> Option<StepFunctions> {
    let kernel = |index: usize| data.kernels[index].name.clone();
    let functions = difference.functions.iter().take(KEPT_FUNCTIONS);
    Some(StepFunctions {
        measure: data.measures[step.measure?].clone(),
        kernels: [kernel(step.before?), kernel(step.after)],
        seeds: difference.pairs,
        instructions: [difference.first, difference.second],
        culprit: difference.culprit.as_ref().map(|it| (it.name.clone(), it.share)),
        functions: functions.map(|it| (it.name.clone(), [it.first, it.second])).collect(),
    })
}

/// The kernels in the order of their versions. Packages that are missing are fetched.
fn find(requested: &[String], progress: &Progress) -> Result<Vec<OrderedKernel>> {
    let cache = Cache::of_user().kernels();
    let named = named_kernels(requested, &cache).map_err(wrong)?;
    let waiter = Waiter::new().context("catch signals")?;
    let (mut number, all) = (0, named.len());
    let mut step = |arg: &KernelArg| {
        number += 1;
        progress.say(&format!("kernel {number} of {all}: {arg}"));
        !waiter.stop_requested()
    };
    in_order(named, &cache, &mut step).ok_or(Failure::Interrupted)
}

fn write_page(document: &Document<'_>, folder: &Path, progress: &Progress) -> Result<()> {
    let path = folder.join(PAGE);
    let page = (HTML.write)(document, &Style::default()).context("write the page")?;
    write_whole(&path, page.as_bytes()).with_context(|| format!("write {}", path.display()))?;
    progress.say(&format!("page: {}", path.display()));
    Ok(())
}
