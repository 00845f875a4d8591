//! `thrashlab run`: the responsiveness matrix of one subject.

use std::fs;
use std::path::{Path, PathBuf};

use agent::Freeze;
use clap::{ArgGroup, Args};
use experiment::typed::{Seeds, Setting, intensity, last, seeds, set_default};
use experiment::{CellPlan, MatrixPlan, SubjectArg, is_here, is_in_this_folder, times_command};
use model::units::{exact_size, parse_duration_ns, parse_size_bytes};
use model::{BASELINE, EndStatus, Measure, WorkEnd};
use results::ResultsError;

use crate::failed_start::ResultsStart;
use crate::laboratory::{LabArgs, drive_heard};
use crate::output::deliver;
use crate::recorded::Recorder;
use crate::show::Shape;
use crate::timing::TimingArgs;
use crate::work::{UsualSubject, WorkArgs};
use crate::{Failure, OrWrong, Result, complain, report, settings, show, wrong};

/// Repetitions of a command with `--quick`.
const QUICK_RUNS: &str = "3";
/// One freeze a second, for the test hook.
const FREEZE_EVERY_NS: u64 = 1_000_000_000;

const EXAMPLES: &str = "\
Examples:
  thrashlab run                           all loads, under three minutes
  thrashlab run --quick                   all loads, under a minute
  thrashlab run --classic --format resp1  the timing and the output of 2003
  thrashlab run --subject sandbox:mem=256M,cpus=1
                        a machine of 256 MiB and one CPU
  thrashlab run --load cpuload,spawnload --probe wake
  thrashlab run --profile --load largewrite
                        where slow responses wait, and who executes instead
  thrashlab run -- gzip -9 -k big         how long does my command take?
  thrashlab run --load cpuload,2ctx-mem -- make
                        and how much longer on a busy machine?
  thrashlab run --command ./old --command ./new
                        two commands in turn, compared
  thrashlab run --subject vm:machine=small-cloud,root=debian:13,python3 -- python3 -V
                        in a guest with a Debian, exactly repeatable
  thrashlab run --service ./server --ready 8080 --client ./bench \\
      --metric 'p99=([0-9.]+)ms' --load 2ctx-mem
                        a server in a sandbox, measured by its client
  sudo thrashlab run --swap 1G            with a temporary swap file
  thrashlab run --subject vm:machine=p2-350,kernel=deb:linux-image-cloud-amd64 \\
      --seeds 1..5
                        a kernel in virtual time: exactly repeatable
  thrashlab run --job vmtest:size=24M \\
      --subject mmu:machine=sparcstation1,hat=old --seeds 1..3
                        a machine of 1989, simulated
  thrashlab run --job session
                        six users at work: time, CPU time and faults per command
  thrashlab run --subject ssh://me@server,sandbox:mem=1G
                        another machine, through ssh
  thrashlab run --job session --users 12 --set think=500ms --load 2ctx-mem

Loads, probes and sessions are described in docs/loads/, docs/probes.md and
docs/sessions.md.";

#[derive(Args)]
#[command(
    after_help = EXAMPLES,
    group(ArgGroup::new("of_probe").args(["interval", "points", "timeout", "classic"])
        .multiple(true).conflicts_with("timed")),
)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    work: WorkArgs,

    #[command(flatten)]
    timing: TimingArgs,

    /// Volume of every load: 1 is the load as documented, 0.5 half of it; 0 is the control run of
    /// loads that provoke a condition (provoke-…) [default: 1]
    #[arg(long, value_name = "VOLUME", value_parser = intensity)]
    intensity: Option<f64>,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Seeds of an ensemble: 20 (1 to 20), 5..9 or 1,2,7; everything is run once with each
    #[arg(long, value_name = "SEEDS", conflicts_with = "seed", value_parser = seeds)]
    seeds: Option<Seeds>,

    #[command(flatten)]
    lab: LabArgs,

    /// Resume in the folder of --output: runs that it has are not repeated, and one that was
    /// interrupted is, from its beginning
    #[arg(long, requires = "output")]
    resume: bool,

    /// Add a temporary swap file of this size (root); it is removed at the end
    #[arg(long, value_name = "SIZE", value_parser = parse_size_bytes)]
    swap: Option<u64>,

    /// Folder for the run files [default: a new one in the user's data directory]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,

    #[command(flatten)]
    shape: Shape,

    /// Write no report.html into the folder of the run files
    #[arg(long)]
    no_report: bool,

    /// Record where each response waits and who has the CPU meanwhile, or what a command does with its
    /// time; host and sandbox only (docs/profile.md)
    #[arg(long)]
    profile: bool,

    /// Test hook: freeze the probe's process for this time once a second
    #[arg(long, value_name = "TIME", hide = true, value_parser = parse_duration_ns)]
    test_freeze: Option<u64>,
}

impl RunArgs {
    /// The settings of every run, as those of a plan.
    fn settings(&self) -> Result<Vec<Setting>> {
        let named = [
            ("load.intensity", self.intensity.map(|intensity| intensity.to_string())),
            ("swap", self.swap.map(exact_size)),
        ];
        let named = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let mut settings: Vec<Setting> = named.collect();
        settings.extend(self.work.settings(UsualSubject::Preferred(None), None)?);
        if self.timing.is_quick() && times_command(&settings) {
            set_default(&mut settings, "command.runs", QUICK_RUNS);
        }
        Ok(settings)
    }

    fn plan(&self, settings: &[Setting]) -> Result<MatrixPlan> {
        let cell = CellPlan::typed(self.timing.profile(), self.timing.changes, settings);
        let cell = cell.map_err(wrong)?;
        self.check_place(&cell)?;
        let seeds = self.seeds.clone().unwrap_or_else(|| vec![self.seed]);
        MatrixPlan::new(&self.work.loads, cell, seeds).map_err(wrong)
    }

    /// Refuses options that have no effect on what is measured.
    fn check_effect(&self, settings: &[Setting]) -> Result<()> {
        let loads = &self.work.loads;
        let has_load = match loads.is_empty() {
            true => last(settings, "job").is_none(),
            false => loads.iter().any(|load| load != BASELINE),
        };
        if !has_load && settings::is_given("intensity") {
            return Err(wrong!("--intensity is of loads, and none is run: name some with --load"));
        }
        if !has_load && loads.is_empty() && settings::is_given("warmup") {
            let instead = match times_command(settings) {
                true => "--warmup-runs N repeats the command before the repetitions that count",
                false => "a job has no such time",
            };
            return Err(wrong!("--warmup is the time until a load is warm; {instead}"));
        }
        if self.profile && !is_here(settings) {
            return Err(wrong!(
                "--profile is for host and sandbox; a run in a guest is profiled afterwards: \
                 thrashlab profile RUN"
            ));
        }
        let is_remote = last(settings, "subject").is_some_and(|it| it.starts_with("ssh://"));
        let given = ["wait", "ssh", "reconnect", "keep"];
        if let Some(option) = given.into_iter().find(|it| !is_remote && settings::is_given(it)) {
            return Err(wrong!("--{option} is for --subject ssh://HOST, and this is another one"));
        }
        Ok(())
    }

    /// Refuses options of measured machines for guests and simulations.
    fn check_place(&self, cell: &CellPlan) -> Result<()> {
        let instead = match &cell.subject {
            Some(SubjectArg::Vm(_)) => "a guest has its own disk: vm:disk.size=SIZE,swap=SIZE",
            Some(SubjectArg::Mmu(_)) => "a simulated one writes no files but its results",
            Some(SubjectArg::Here(_) | SubjectArg::Remote(_)) | None => return Ok(()),
        };
        if self.resume {
            let why = "--resume is for measured machines; exactly repeatable runs are \
                       taken from the cache or run again";
            return Err(wrong!(why));
        }
        let has_work_dir = self.lab.options.work_dir.is_some() && settings::is_given("work-dir");
        if has_work_dir || cell.swap_bytes.is_some() {
            return Err(wrong!("--work-dir and --swap are for this machine; {instead}"));
        }
        Ok(())
    }
}

pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let settings = args.settings()?;
    args.check_effect(&settings)?;
    let plan = args.plan(&settings)?;
    let is_command = times_command(&settings);
    let measure = plan.measure();
    if !measure.is_probe() && args.shape.output_format().is_none() {
        return Err(wrong!("--format resp1 is for the results of a probe"));
    }
    let mut recorder = match args.profile {
        true => Recorder::of(measure, &args.work.loads)?,
        false => Recorder::Off,
    };
    let folder = results_folder(args, measure)?;
    let start = ResultsStart::at(&folder);
    let mut progress = args.lab.progress()?;
    let mut options = args.lab.options.clone();
    options.freeze =
        args.test_freeze.map(|freeze_ns| Freeze { freeze_ns, every_ns: FREEZE_EVERY_NS });
    let result =
        drive_heard(&options, &mut progress, &mut |event| recorder.hear(event), |driver| {
            driver.measure_matrix(&plan, &folder)
        });
    if let Some(refused) = recorder.refused() {
        progress.warn(&refused);
    }
    if matches!(&result, Err(Failure::Interrupted))
        || result.as_ref().is_ok_and(|it| it.interrupted)
    {
        args.work.command.clean_up(is_in_this_folder(&settings));
    }
    let result = result.inspect_err(|_| {
        if start.remove_if_failed() {
            progress.say(&start.text());
        } else if folder.is_dir() {
            let folder = model::shown::quoted(&folder.to_string_lossy());
            progress.say(&format!("what was measured before: thrashlab show {folder}"));
        }
    })?;
    let (files, runs): (Vec<PathBuf>, Vec<model::Run>) = result.runs.into_iter().unzip();
    // The user's command died or failed, which the result shows. A load that died is not its
    // failure.
    let is_of_others = |status: EndStatus| {
        matches!(status, EndStatus::Complete | EndStatus::Interrupted | EndStatus::LoadDied)
    };
    let has_failed = is_command && !runs.iter().all(|run| is_of_others(run.status()));
    let never_started = is_command.then(|| never_started(&runs)).flatten();
    if runs.iter().any(model::Run::is_measured) || !result.interrupted {
        let shown = show::shaped(&runs, result.skipped, &recorder.kept(), &args.shape)?;
        deliver(&shown, args.shape.document_format(), None)?;
    }
    progress.say(&format!("run files: {}", folder.display()));
    if !args.no_report && folder.is_dir() {
        let made = files.into_iter().zip(runs).collect();
        report::of_run(&folder, made, measure.name(), &progress);
    }
    match (result.interrupted, never_started) {
        (true, _) => Err(Failure::Interrupted),
        (false, Some(why)) => Err(Failure::NotMeasured(anyhow::Error::msg(why))),
        (false, None) if has_failed => Err(Failure::CheckFailed),
        (false, None) => Ok(()),
    }
}

/// Why no repetition of any command started, if none did.
fn never_started<'a>(runs: impl IntoIterator<Item = &'a model::Run>) -> Option<String> {
    let mut works = runs.into_iter().flat_map(model::Run::works);
    let first = works.next()?;
    let WorkEnd::NotStarted { reason } = first.end() else { return None };
    let none_did = works.all(|work| matches!(work.end(), WorkEnd::NotStarted { .. }));
    none_did.then(|| format!("{:?} cannot be started: {reason}", first.item))
}

/// A folder without runs: the one that was named, or a new one named by the time of day.
fn results_folder(args: &RunArgs, measure: &Measure) -> Result<PathBuf> {
    let Some(folder) = &args.output else {
        let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S");
        return Ok(results::run_files::default_folder().join(format!(
            "{stamp}-{}-{}",
            measure.name(),
            std::process::id()
        )));
    };
    if args.resume {
        return Ok(folder.clone());
    }
    // What hyperfine's option of this name takes.
    let of_hyperfine = ["null", "pipe", "inherit"].map(Path::new);
    if matches!(measure, Measure::Command(_)) && of_hyperfine.contains(&folder.as_path()) {
        return Err(wrong!(
            "--output is the folder of the run files, and what a command prints is not shown; a \
             folder of this name is ./{}",
            folder.display()
        ));
    }
    let reason = match results::run_files::read_runs(folder) {
        _ if !folder.exists() => return Ok(folder.clone()),
        Err(ResultsError::Empty(_)) => return Ok(folder.clone()),
        _ if !folder.is_dir() => "is a file",
        // The corrected command may use the folder.
        Ok(runs) if never_started(runs.iter().map(|(_, run)| run)).is_some() => {
            for (path, _) in runs {
                fs::remove_file(&path).or_wrong(format!("replace {}", path.display()))?;
                complain(&format!("replaced {}: its command never started", path.display()));
            }
            return Ok(folder.clone());
        }
        // Whole or not: runs of two invocations in one folder would be read as one result.
        _ => "holds runs already",
    };
    Err(wrong!("{} {reason}; name a new folder with --output DIR", folder.display()))
}
