//! `thrashlab run`: the responsiveness matrix of one subject.

use std::path::{Path, PathBuf};

use agent::Freeze;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use experiment::{MatrixPlan, Seeds, SubjectArg, seeds};
use model::Measure;
use model::units::{parse_duration_ns, parse_size_bytes};
use store::StoreError;
use workloads::{Workload, loads_and_provocations, probes};

use crate::laboratory::{LabArgs, drive};
use crate::output::deliver;
use crate::show::Shape;
use crate::timing::TimingArgs;
use crate::{Failure, report, settings, show, wrong};

/// One freeze a second, for the test hook.
const FREEZE_EVERY_NS: u64 = 1_000_000_000;

const EXAMPLES: &str = "\
Examples:
  thrashlab run                                    all loads, under three minutes
  thrashlab run --quick                            all loads, under a minute
  thrashlab run --classic --format resp1           the times and the output of 2003
  thrashlab run --subject sandbox:mem=256M,cpus=1  a machine of 256 MiB and one CPU
  thrashlab run --load cpuload,spawnload --probe wake
  sudo thrashlab run --swap 1G                     with a temporary swap file
  thrashlab run --subject vm:machine=p2-350,kernel=deb:linux-image-cloud-amd64 --seeds 1..5
                                                   a kernel in virtual time: exactly repeatable
  thrashlab run --job vmtest:size=24M --subject mmu:machine=sparcstation1,hat=old --seeds 1..3
                                                   a machine of 1989, simulated
  thrashlab run --job session                      six users at work: time, CPU time and faults a
                                                   command
  thrashlab run --subject ssh://me@server,sandbox:mem=1G
                                                   another machine, through ssh
  thrashlab run --job session --users 12 --set think=500ms --load 2ctx-mem

Loads, probes and sessions are described in docs/loads/, docs/probes.md and docs/sessions.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// Where to run: `host[:mem=SIZE]`, `sandbox[:mem=SIZE,cpus=N,pids=N]`,
    /// `vm[:machine=NAME,kernel=KERNEL,…]` (docs/vm.md), `mmu[:machine=NAME,hat=NAME,…]`
    /// (docs/mmu.md) or `ssh://[USER@]HOST[:PORT][,host…|,sandbox…]` (docs/remote.md) [default: a
    /// sandbox of 512M where possible, else the host]
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<SubjectArg>,

    /// Loads to run, separated by commas [default: all; with --job none]
    #[arg(id = "load", long, value_name = "LOADS", value_delimiter = ',',
        value_parser = workload(loads_and_provocations()))]
    loads: Vec<String>,

    /// The interaction that is timed
    #[arg(long, value_name = "PROBE", default_value = "response", value_parser = workload(probes()))]
    probe: String,

    #[command(flatten)]
    job: JobArgs,

    #[command(flatten)]
    timing: TimingArgs,

    /// Dose of every load: 1 is the load as documented, 0.5 half of it; 0, of loads that provoke a
    /// condition (provoke-…), is their work without the condition
    #[arg(long, value_name = "DOSE", default_value_t = 1.0, value_parser = intensity)]
    intensity: f64,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Seeds of an ensemble, such as 1..20 or 1,2,7: everything once with each
    #[arg(long, value_name = "SEEDS", conflicts_with = "seed", value_parser = seeds)]
    seeds: Option<Seeds>,

    #[command(flatten)]
    lab: LabArgs,

    /// Go on in the folder of --output: runs that it has are not made again
    #[arg(long, requires = "output")]
    resume: bool,

    /// Add a temporary swap file of this size (root); it is removed at the end
    #[arg(long, value_name = "SIZE", value_parser = parse_size_bytes)]
    swap: Option<u64>,

    /// Folder for the run files [default: a new one in the user's data directory]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,

    #[command(flatten)]
    shape: Shape,

    /// Write no report.html into the folder of the run files
    #[arg(long)]
    no_report: bool,

    /// Test hook: freeze the probe's process for this time once a second
    #[arg(long, value_name = "TIME", hide = true, value_parser = parse_duration_ns)]
    test_freeze: Option<u64>,
}

#[derive(Args)]
struct JobArgs {
    /// Time work instead of a probe: session, users who issue the commands of a script
    /// (docs/sessions.md), vmtest or touch, processes at work on memory (docs/memory-jobs.md);
    /// parameters may follow: vmtest:size=24M,loops=5000; without --load only on the quiet machine
    #[arg(
        long,
        value_name = "JOB",
        value_parser = job_text,
        conflicts_with_all = ["probe", "interval", "points", "timeout", "classic", "quick"]
    )]
    job: Option<JobText>,

    /// The script of a session [default: six users, sixteen commands]
    #[arg(long, value_name = "FILE", requires = "job")]
    script: Option<PathBuf>,

    /// Users of a session, instead of the script's
    #[arg(long, value_name = "N", requires = "job")]
    users: Option<u32>,

    /// Another value of a parameter: size=16M, pattern=chase; of a session think=2s, limit=10s,
    /// tools=builtin, or a variable of the script
    #[arg(long, value_name = "NAME=VALUE", requires = "job", value_parser = setting)]
    set: Vec<(String, String)>,
}

/// A job by its name, and parameters that were typed with it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct JobText {
    name: String,
    settings: Vec<(String, String)>,
}

impl JobArgs {
    fn measure(&self) -> Result<Option<Measure>, Failure> {
        let Some(JobText { name, settings }) = &self.job else { return Ok(None) };
        if name != workloads::SESSION.name && (self.script.is_some() || self.users.is_some()) {
            return Err(wrong!(
                "--script and --users are for --job session; set what {name} has with --set"
            ));
        }
        let script = self.script.iter().map(|path| match path.to_str() {
            Some(path) => Ok(("script".to_owned(), path.to_owned())),
            None => Err(wrong!("--script {}: not UTF-8", path.display())),
        });
        let users = self.users.iter().map(|users| Ok(("users".to_owned(), users.to_string())));
        let set = settings.iter().chain(&self.set).cloned().map(Ok);
        let settings = script.chain(users).chain(set).collect::<Result<Vec<_>, _>>()?;
        let measure = experiment::job(name, &settings, Path::new(""));
        measure.map(Some).map_err(wrong)
    }
}

pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let job = args.job.measure()?;
    if job.is_some() && args.shape.output_format().is_none() {
        return Err(wrong!("--format resp1 is a form of a probe's results"));
    }
    check_intensity(args)?;
    let measure = job.unwrap_or_else(|| experiment::probe_measure(&args.probe));
    let folder = results_folder(args, &measure)?;
    let measured = measure.name().to_owned();
    let mut progress = args.lab.progress()?;
    check_place(args)?;
    let plan = plan(args, measure)?;
    let mut options = args.lab.options.clone();
    options.freeze =
        args.test_freeze.map(|freeze_ns| Freeze { freeze_ns, every_ns: FREEZE_EVERY_NS });
    let subject = args.subject.as_ref();
    let result = drive(&options, &mut progress, |driver| {
        driver.measure_matrix(&plan, subject, args.swap, &folder)
    });
    let result = result.inspect_err(|_| {
        if folder.is_dir() {
            let folder = model::shown::quoted(&folder.to_string_lossy());
            progress.say(&format!("what was measured before: thrashlab show {folder}"));
        }
    })?;
    let (files, runs): (Vec<PathBuf>, Vec<model::Run>) = result.runs.into_iter().unzip();
    if runs.iter().any(model::Run::is_measured) || !result.interrupted {
        let shown = show::shaped(&runs, result.skipped, &args.shape)?;
        deliver(&shown, args.shape.document_format(), None)?;
    }
    progress.say(&format!("run files: {}", folder.display()));
    if !args.no_report && folder.is_dir() {
        let made = files.into_iter().zip(runs).collect();
        report::of_run(&folder, made, &measured, &progress);
    }
    if result.interrupted { Err(Failure::Interrupted) } else { Ok(()) }
}

/// A provocation at 0 is its control run; another load at 0 is nothing.
fn check_intensity(args: &RunArgs) -> Result<(), Failure> {
    let is_meant =
        !args.loads.is_empty() && args.loads.iter().all(|name| workloads::may_have_no_dose(name));
    match args.intensity == 0.0 && !is_meant {
        true => {
            Err(wrong!("--intensity 0 is for loads that provoke a condition: --load provoke-NAME"))
        }
        false => Ok(()),
    }
}

/// Refuses options of measured machines for guests and simulations.
fn check_place(args: &RunArgs) -> Result<(), Failure> {
    let instead = match &args.subject {
        Some(SubjectArg::Vm(_)) => "a guest has its own disk: vm:disk.size=SIZE,swap=SIZE",
        Some(SubjectArg::Mmu(_)) => "a simulated one writes no files but its results",
        Some(SubjectArg::Here(_) | SubjectArg::Remote(_)) | None => return Ok(()),
    };
    if args.resume {
        let why = "--resume is for machines that are measured; what is exactly repeatable is taken \
                   from the cache or run again";
        return Err(wrong!(why));
    }
    let has_work_dir = args.lab.options.work_dir.is_some() && settings::is_given("work-dir");
    if has_work_dir || args.swap.is_some() {
        return Err(wrong!("--work-dir and --swap are for this machine; {instead}"));
    }
    Ok(())
}

fn plan(args: &RunArgs, measure: Measure) -> Result<MatrixPlan, Failure> {
    let all = workloads::loads().map(|load| load.name.to_owned());
    let chosen = match (args.loads.is_empty(), &measure) {
        (true, Measure::Probe(_)) => all.collect(),
        // Without a load a session measures the machine itself.
        _ => args.loads.clone(),
    };
    let mut loads: Vec<String> = Vec::new();
    for name in chosen {
        // The baseline is always there, and a load named twice is one load.
        if name != model::BASELINE && !loads.contains(&name) {
            loads.push(name);
        }
    }
    Ok(MatrixPlan {
        loads,
        measure,
        timing: args.timing.timing(args.subject.as_ref())?,
        intensity: args.intensity,
        seeds: args.seeds.clone().unwrap_or_else(|| vec![args.seed]),
    })
}

/// A folder without runs: the one that was named, or a new one named by the time of day.
fn results_folder(args: &RunArgs, measure: &Measure) -> Result<PathBuf, Failure> {
    let Some(folder) = &args.output else {
        let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S");
        return Ok(store::results::default_folder().join(format!(
            "{stamp}-{}-{}",
            measure.name(),
            std::process::id()
        )));
    };
    if args.resume {
        return Ok(folder.clone());
    }
    let reason = match store::results::read_runs(folder) {
        _ if !folder.exists() => return Ok(folder.clone()),
        Err(StoreError::Empty { .. }) => return Ok(folder.clone()),
        _ if !folder.is_dir() => "is a file",
        // Whole or not: runs of two invocations in one folder would be read as one result.
        _ => "holds runs already",
    };
    Err(wrong!("{} {reason}; name a new folder with --output DIR", folder.display()))
}

fn job_text(text: &str) -> Result<JobText, String> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    let name = experiment::job_name(name)?;
    let settings = settings.split(',').filter(|part| !part.is_empty());
    Ok(JobText { name, settings: settings.map(setting).collect::<Result<_, _>>()? })
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some(("", _)) | None => Err("write NAME=VALUE, such as think=2s".to_owned()),
        Some(("script", _)) => Err("name the script with --script FILE".to_owned()),
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
    }
}

/// Reads the name of a workload; help and completion list all of them.
pub(crate) fn workload(
    all: impl Iterator<Item = &'static Workload>,
) -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(all.map(|it| PossibleValue::new(it.name).help(it.about)))
}

fn intensity(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err("a dose is a number above 0 and at most 100; or 0, of what provokes a condition"
            .to_owned()),
    }
}
