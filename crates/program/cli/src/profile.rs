//! `thrashlab profile`: which functions a run in the deterministic machine executes, exactly; or where
//! a command of this machine spends its time, by samples and switches.

mod observe;
mod sampled;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agent::Waiter;
use anyhow::Context;
use clap::{ArgGroup, Args};
use keep::out_file::write_whole;
use model::units::{exact_duration, parse_duration_ns};
use profile::{CallStacks, Counts, Responses, Selection, collapsed, ctf, firefox, pprof, schedule};
use report::{ProfileView, profile_difference_document, profile_document, run_paths_document};
use sampler::FaultKind;
use simulated::Machine;

use crate::output::{OutputArgs, named, show};
use crate::progress::Progress;
use crate::recorded::Kept;
use crate::result_file::ResultFile;
use crate::{OrWrong, Result, complain, guests};
use observe::Observed;
pub(crate) use observe::observe;

const USAGE: &str = "\
thrashlab profile [OPTIONS] RUN [OTHER]
       thrashlab profile [OPTIONS] --pid PID|--unit UNIT|--cgroup PATH
       thrashlab profile [OPTIONS] --from FILE
       thrashlab profile [OPTIONS] -- COMMAND...";

const EXAMPLES: &str = "\
Examples:
  thrashlab profile -- sort big.txt               what takes a command's time
  thrashlab profile -o sort.html -- sort big.txt  with its flame graphs
  thrashlab profile --pid 1234 --for 30s          the same of a running process
  thrashlab profile --unit nginx.service          of all processes of a service
  thrashlab profile --faults major -- ./server    and who reads pages from disk
  thrashlab profile --from perf.data              what perf has recorded
  thrashlab profile results/01-largewrite-seed1.run.jsonl
  thrashlab profile RUN.run.jsonl --slow  slow responses against all of them
  thrashlab profile RUN.run.jsonl --response 3 -o response.html
  thrashlab profile OLD.run.jsonl NEW.run.jsonl
                                  which functions account for the difference
  thrashlab profile RUN.run.jsonl --collapsed RUN.txt
                                  for other programs that draw flame graphs
  thrashlab profile RUN.run.jsonl --schedule RUN.json
                                  what each task did when, for ui.perfetto.dev
  thrashlab profile RUN.run.jsonl --ctf RUN.ctf && babeltrace2 RUN.ctf
                                  the same as events of the scheduler
  thrashlab profile RUN.run.jsonl --memory zen4
                                  which functions miss the TLBs, and the cost

A run of a deterministic machine is repeated, observed by a plugin of the engine
(thrashlab vm engine build), and there is no profile unless it is the same to
the byte: docs/profile.md.";

/// Critical paths of a run on a real machine that are shown.
const MOST_PATHS: usize = 3;

/// What only a run in a deterministic machine can show.
const OF_RUNS: [&str; 8] = ["run", "other", "response", "slow", "since", "until", "memory", "ctf"];

#[derive(Args)]
#[command(
    override_usage = USAGE,
    after_help = EXAMPLES,
    group(ArgGroup::new("what").args(["run", "command", "pid", "unit", "cgroup", "from"])
        .required(true).multiple(true)),
)]
pub(crate) struct ProfileArgs {
    /// The run file of a run in a deterministic machine (`run --subject vm`)
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,

    /// Another run file: show which functions account for the difference
    #[arg(value_name = "OTHER")]
    other: Option<PathBuf>,

    /// A command of this machine: sample what executes, and record what waits
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = OF_RUNS)]
    command: Vec<String>,

    /// A running process, observed for a time
    #[arg(long, value_name = "PID", conflicts_with = "command",
        conflicts_with_all = OF_RUNS)]
    pid: Option<u32>,

    /// A systemd unit that runs already: its processes are observed
    #[arg(long, value_name = "UNIT", conflicts_with_all = ["command", "pid", "cgroup"],
        conflicts_with_all = OF_RUNS)]
    unit: Option<String>,

    /// A control group: its processes are observed; by its folder or its name under /sys/fs/cgroup
    #[arg(long, value_name = "PATH", conflicts_with_all = ["command", "pid"],
        conflicts_with_all = OF_RUNS)]
    cgroup: Option<PathBuf>,

    /// Read this instead of measuring: what `perf record -g` wrote (perf.data)
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["command", "pid", "unit", "cgroup",
        "duration_ns", "rate", "faults"], conflicts_with_all = OF_RUNS)]
    from: Option<PathBuf>,

    /// How long to watch; Ctrl-C ends it earlier
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration_ns,
        conflicts_with_all = ["run", "command"], default_value = "10s")]
    duration_ns: u64,

    /// Samples of the command or process a second of CPU time
    #[arg(long, value_name = "HZ", default_value_t = 997, value_parser = clap::value_parser!(u64).range(1..=50_000),
        conflicts_with = "run")]
    rate: u64,

    /// Let the files of call stacks have the waits in place of the time on a CPU
    #[arg(long, conflicts_with = "run")]
    waits: bool,

    /// Record no waits: less cost where threads wait often, but the time of each is that of its samples
    #[arg(long, conflicts_with_all = ["run", "waits", "from", "schedule"])]
    no_waits: bool,

    /// Show which code makes page faults, too; the files of call stacks have them in place of the time
    /// on a CPU
    #[arg(long, value_name = "KIND", value_parser = named(&sampled::FAULTS), conflicts_with_all = ["run", "waits"])]
    faults: Option<FaultKind>,

    /// Show what executed during this response, by its number
    #[arg(long, value_name = "N", conflicts_with = "slow")]
    response: Option<u32>,

    /// Show what executed during responses above the median, against all responses
    #[arg(long)]
    slow: bool,

    /// Only what executed from this time of the run on
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns,
        conflicts_with_all = ["response", "slow"])]
    since: Option<u64>,

    /// Only what executed until this time of the run
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns,
        conflicts_with_all = ["response", "slow"])]
    until: Option<u64>,

    /// Simulate the TLBs of this machine on all references of the guest: one of `mmu machines`, or a
    /// description (`*.toml`)
    #[arg(long, value_name = "MACHINE")]
    memory: Option<String>,

    /// Show the first N functions
    #[arg(long, value_name = "N", default_value_t = 25)]
    functions: u32,

    /// Write collapsed call stacks to this file: a line for each, with its instructions
    #[arg(long, value_name = "FILE", conflicts_with = "other")]
    collapsed: Option<ResultFile>,

    /// Write the call stacks to this file for pprof, also for its comparison of two (`-diff_base`)
    #[arg(long, value_name = "FILE", conflicts_with = "other")]
    pprof: Option<ResultFile>,

    /// Write the whole run or command to this file for the Firefox Profiler (profiler.firefox.com)
    #[arg(long, value_name = "FILE", conflicts_with = "other")]
    firefox: Option<ResultFile>,

    /// Write to this file what each virtual CPU and each task or thread did when, for Perfetto
    /// (ui.perfetto.dev)
    #[arg(long, value_name = "FILE", conflicts_with = "other")]
    schedule: Option<ResultFile>,

    /// Write the same to this new folder as a trace in the Common Trace Format, for babeltrace2 and
    /// Trace Compass
    #[arg(long, value_name = "FOLDER", conflicts_with = "other")]
    ctf: Option<PathBuf>,

    /// No progress on standard error
    #[arg(long, short, display_order = 500)]
    quiet: bool,

    #[command(flatten)]
    output: OutputArgs,
}

impl ProfileArgs {
    /// The times at which the counts are cut, besides those of responses.
    fn cuts(&self) -> Vec<u64> {
        self.since.into_iter().chain(self.until).collect()
    }

    /// Whether a file for another program needs what each thread did when.
    fn wants_times(&self) -> bool {
        self.firefox.is_some() || self.schedule.is_some()
    }

    fn selection(&self, responses: &Responses) -> Result<Selection> {
        if let Some(index) = self.response {
            let found = responses.find(index).map_err(|why| wrong!("--response {index}: {why}"));
            return Ok(Selection::Responses(vec![found?]));
        }
        if !self.slow {
            let end_ns = responses.end_ns;
            let [from_ns, to_ns] = [self.since.unwrap_or(0), self.until.unwrap_or(end_ns)];
            return match self.since.or(self.until) {
                None => Ok(Selection::Run),
                Some(_) if from_ns < to_ns && to_ns <= end_ns => {
                    Ok(Selection::Between(from_ns, to_ns))
                }
                Some(_) => Err(wrong!(
                    "--since and --until: the run has the times 0 to {}, and the first must be earlier",
                    exact_duration(end_ns)
                )),
            };
        }
        let slow = responses.slow();
        match slow.is_empty() {
            true => Err(wrong!("--slow: no response of the run is above the median")),
            false => Ok(Selection::Responses(slow)),
        }
    }

    /// Writes the files for other programs.
    fn write_files(&self, observed: &Observed) -> Result<()> {
        let Observed { profile, selection, run_id, .. } = observed;
        self.write_stacks(profile, &profile.select(selection))?;
        write(self.firefox.as_ref(), &|| firefox(profile, run_id))?;
        write(self.schedule.as_ref(), &|| schedule(profile))?;
        self.ctf.as_deref().map_or(Ok(()), |folder| write_ctf(folder, &ctf(profile)))
    }

    /// Writes the files of call stacks.
    fn write_stacks(&self, stacks: &impl CallStacks, counts: &Counts) -> Result<()> {
        write(self.collapsed.as_ref(), &|| Ok(collapsed(stacks, counts).into_bytes()))?;
        write(self.pprof.as_ref(), &|| Ok(pprof(stacks, counts)))
    }

    /// The machine with TLBs, if one was requested.
    fn memory(&self) -> Result<Option<mmu::tlb::Machine>> {
        let Some(name) = &self.memory else { return Ok(None) };
        let text = experiment::machine_text(name).map_err(crate::wrong)?;
        match Machine::parse(&text).or_wrong(format!("machine {name}"))? {
            Machine::Tlb(machine) => Ok(Some(*machine)),
            Machine::Sun4(_) => Err(wrong!(
                "--memory {name}: a Sun-4 has no TLBs; choose a machine of kind tlb \
                 (thrashlab mmu machines)"
            )),
        }
    }

    fn view<'a>(&'a self, observed: &'a Observed) -> ProfileView<'a> {
        ProfileView {
            run_id: &observed.run_id,
            proof: &observed.proof,
            profile: &observed.profile,
            selection: &observed.selection,
            memory: self.memory.as_deref(),
            most_functions: self.functions as usize,
        }
    }
}

/// Writes a file for other programs, if it was requested.
fn write(file: Option<&ResultFile>, make: &dyn Fn() -> serde_json::Result<Vec<u8>>) -> Result<()> {
    let Some((file, path)) = file.and_then(|file| Some((file, file.path()?))) else {
        return Ok(());
    };
    file.write(&make().with_context(|| format!("write {}", path.display()))?)?;
    complain(&format!("thrashlab: wrote {}", path.display()));
    Ok(())
}

/// Writes the files of a trace into a new folder: a stream of another run would be part of it.
fn write_ctf(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    fs::create_dir(folder).with_context(|| format!("create {}", folder.display()))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        write_whole(&path, bytes).with_context(|| format!("write {}", path.display()))?;
    }
    complain(&format!("thrashlab: wrote {}", folder.display()));
    Ok(())
}

pub(crate) fn profile(args: &ProfileArgs) -> Result<()> {
    let Some(run) = &args.run else { return sampled::profile(args) };
    let mut kept = if run.is_file() { Kept::beside(run) } else { Kept::default() };
    if let Some(kept) = kept.profiles.pop() {
        return sampled::of_run(&kept, args);
    }
    if let Some(paths) = kept.paths.pop() {
        if let Some(index) = args.response.filter(|index| paths.of_response(*index).is_none()) {
            return Err(wrong!("--response {index}: the run has no path of it"));
        }
        let most = if args.slow { usize::MAX } else { MOST_PATHS };
        return show(&run_paths_document(&paths, args.response, most), &args.output);
    }
    if let Some(folder) = args.ctf.as_deref().filter(|folder| folder.exists()) {
        return Err(wrong!("--ctf {}: it exists; name a new folder", folder.display()));
    }
    let waiter = Waiter::new().context("catch signals")?;
    let progress = Progress::new(args.quiet, None);
    let machine = args.memory()?;
    let observed = |path| {
        let select = |responses: &Responses| args.selection(responses);
        let found = observe(path, &args.cuts(), &select, machine.as_ref(), &waiter, &progress);
        found.map_err(|failure| guests::stopped_or(&waiter, failure))
    };
    let first = observed(run)?;
    let view = args.view(&first);
    let Some(other) = &args.other else {
        args.write_files(&first)?;
        return show(&profile_document(&view), &args.output);
    };
    let second = observed(other)?;
    // Runs of one cell in two folders have one name.
    let names = match first.run_id == second.run_id {
        true => [run, other].map(|path| path.display().to_string()),
        false => [first.run_id.clone(), second.run_id.clone()],
    };
    let view = ProfileView { run_id: &names[0], ..view };
    let other_view = ProfileView { run_id: &names[1], ..args.view(&second) };
    show(&profile_difference_document(&view, &other_view), &args.output)
}
