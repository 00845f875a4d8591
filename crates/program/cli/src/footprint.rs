//! `thrashlab footprint`: what processes map, touch and share.

mod command;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use counters::Hierarchies;
use counters::parse::TaskStatus;
use footprint::{Footprint, Options, ProcessFootprint, System, measure};
use model::units::parse_duration_ns;
use render::Document;
use report::footprint_document;

use crate::output::{OutputArgs, show, show_beside};
use crate::start::{StartArgs, pass_on};
use crate::{Failure, OrWrong, Result, complain};
use command::measure_command;

const EXAMPLES: &str = "\
Examples:
  thrashlab footprint 1234
                                  pages that process 1234 touches in two seconds
  thrashlab footprint 1234 --mappings  and every mapping
  thrashlab footprint 1234 --no-clear  what it has mapped; perturbs nothing
  thrashlab footprint $(pgrep -u $USER firefox)
                                  a program of many processes: what they share
  sudo thrashlab footprint --all --yes --top 20
                                  the whole system
  thrashlab footprint -- sort big > /dev/null
                                  a command: its largest window until it ends
  thrashlab footprint --cgroup user.slice --sort empty

Clearing referenced bits flushes the TLB entries of each process, and until its
pages are touched again, reclaim treats them as less used than they are. All
figures and formulas: docs/footprint.md.";

/// Longest window, in ns: an hour.
const WINDOW_NS_MAX: u64 = 3_600_000_000_000;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FootprintArgs {
    /// Processes by their numbers
    #[arg(value_name = "PID", required_unless_present_any = ["all", "cgroup", "words"],
        conflicts_with_all = ["all", "cgroup", "words"])]
    pids: Vec<u32>,

    /// All processes but this one
    #[arg(long, conflicts_with_all = ["cgroup", "words"])]
    all: bool,

    /// A control group: the processes in it and in those below it; by its folder or its name under
    /// /sys/fs/cgroup
    #[arg(long, value_name = "PATH", conflicts_with = "words")]
    cgroup: Option<PathBuf>,

    /// Time in which touched pages count as active
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = window)]
    window: u64,

    /// Clear nothing: figures of present pages only
    #[arg(long, conflicts_with = "window")]
    no_clear: bool,

    /// Permit it: clear referenced bits of other users' processes without a question
    #[arg(long, short)]
    yes: bool,

    /// Show every mapping too
    #[arg(long)]
    mappings: bool,

    /// Order of the processes
    #[arg(long, value_enum, value_name = "BY", default_value_t = Sort::Tables)]
    sort: Sort,

    /// Show the first N only: processes; totals are of all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    start: StartArgs,
}

/// Order of the processes; the largest comes first.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Pages of page tables
    Tables,
    /// Active pages
    Active,
    /// Present pages
    Present,
    /// Page tables that map nothing
    Empty,
    /// Page tables that other processes duplicate
    Repeated,
    /// Process number, ascending
    Pid,
}

pub(crate) fn footprint(args: &FootprintArgs) -> Result<()> {
    let system = System::running().context("read the mappings of this process")?;
    let options = Options { clear: !args.no_clear, mappings: args.mappings };
    if args.start.is_given() {
        let measured = measure_command(&system, &args.start, options, args.window)?;
        let window_ns = options.clear.then_some(measured.window_ns);
        let document = document(args, &measured.footprint, window_ns);
        show_beside(&document.with_facts([("command", args.start.text())]), &args.output)?;
        return measured.running.exit().map_or(Ok(()), pass_on);
    }
    let pids = targets(args, &system)?;
    if !args.no_clear && !args.yes {
        confirm(&others(&system, &pids))?;
    }
    let wait = || std::thread::sleep(Duration::from_nanos(args.window));
    let found = measure(&system, &pids, options, wait);
    if let ([], [left]) = (found.processes.as_slice(), found.left_out.as_slice()) {
        return Err(anyhow!("process {}: {}", left.pid, left.reason).into());
    }
    let window_ns = options.clear.then_some(args.window);
    show(&document(args, &found, window_ns), &args.output)?;
    match found.processes.is_empty() {
        true => Err(anyhow!("no process could be measured").into()),
        false => Ok(()),
    }
}

fn document<'a>(
    args: &FootprintArgs,
    found: &'a Footprint,
    window_ns: Option<u64>,
) -> Document<'a> {
    let mut shown: Vec<usize> = (0..found.processes.len()).collect();
    shown.sort_by_key(|index| args.sort.key(found, &found.processes[*index]));
    shown.truncate(args.top.map_or(usize::MAX, |top| top as usize));
    footprint_document(found, window_ns, &shown)
}

fn targets(args: &FootprintArgs, system: &System) -> Result<Vec<u32>> {
    if args.all {
        return Ok(system.all().context("look for processes")?);
    }
    let Some(group) = &args.cgroup else {
        let once: BTreeSet<u32> = args.pids.iter().copied().collect();
        return Ok(once.into_iter().collect());
    };
    let path = folder_of_group(group)?;
    let pids =
        system.in_group(&path).or_wrong(format!("{}: is it a control group?", path.display()))?;
    match pids.is_empty() {
        true => Err(wrong!("{}: no process is in it", path.display())),
        false => Ok(pids),
    }
}

/// The folder of a control group by its name below a mount, as `run --cgroup` finds it, or by its
/// path.
fn folder_of_group(group: &Path) -> Result<PathBuf> {
    let found = Hierarchies::read().context("find the control groups")?;
    let name = group.strip_prefix("/").unwrap_or(group);
    let mounts = found.v2.iter().chain(found.v1.values()).map(|it| it.mount_dir.join(name));
    let mut all = [group.to_owned()].into_iter().chain(mounts);
    all.find(|folder| folder.join("cgroup.procs").exists())
        .ok_or_else(|| wrong!("there is no control group {}", group.display()))
}

fn others(system: &System, pids: &[u32]) -> Vec<(u32, TaskStatus)> {
    let user = rustix::process::geteuid().as_raw();
    pids.iter()
        .filter_map(|pid| Some((*pid, system.status(*pid).ok()?)))
        .filter(|(pid, status)| status.user != user && system.may_clear(*pid))
        .collect()
}

fn confirm(others: &[(u32, TaskStatus)]) -> Result<()> {
    let Some((pid, first)) = others.first() else { return Ok(()) };
    let whose = match others.len() {
        1 => format!("{pid} ({}) of user {}", first.name, first.user),
        count => format!("{count} processes of other users"),
    };
    let question = format!(
        "clearing the referenced bits of {whose} flushes their TLB entries and makes the kernel \
         treat their pages as less used"
    );
    let (input, output) = (std::io::stdin(), std::io::stderr());
    if !(input.is_terminal() && output.is_terminal()) {
        let how = "use --yes to do it, or --no-clear to look at present pages only";
        return Err(wrong!("{question}; {how}"));
    }
    let mut answer = String::new();
    write!(output.lock(), "thrashlab: {question}. Continue? [y/N] ")
        .and_then(|()| input.read_line(&mut answer))
        .context("ask")?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => {
            complain("thrashlab: nothing was done");
            Err(Failure::Interrupted)
        }
    }
}

impl Sort {
    fn key(self, found: &Footprint, process: &ProcessFootprint) -> (Reverse<i64>, u32) {
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let key = match self {
            Self::Tables => signed(process.tables.counted_bytes),
            Self::Active => signed(process.counts.used_pages()),
            Self::Present => signed(process.counts.present_pages),
            Self::Empty => process.tables.empty(&found.geometry),
            Self::Repeated => signed(process.tables.repeated),
            Self::Pid => 0,
        };
        (Reverse(key), process.pid)
    }
}

fn window(text: &str) -> Result<u64, String> {
    match parse_duration_ns(text)? {
        window @ 1..=WINDOW_NS_MAX => Ok(window),
        _ => Err("a window is at least 1ns and at most 60m".to_owned()),
    }
}
