//! `thrashlab doctor`: what this machine, a command, a recording or a run loses its time to.

mod at;
mod code;
mod command;
mod forever;
mod live;
mod mode;
mod replay;
mod sources;

use std::net::SocketAddr;
use std::path::PathBuf;

use agent::Waiter;
use anyhow::Context;
use clap::Args;
use doctor::{Diagnosis, Interval, Snapshot, UnitCosts, diagnose};
use model::units::{parse_duration_ns, parse_size_bytes};
use report::{doctor_document, doctor_metrics, rules_document, unit_costs_document};
use sys::confine::Confinement;

use self::mode::Mode;
use crate::output::{OutputArgs, show};
use crate::result_file::ResultFile;
use crate::start::StartArgs;
use crate::{Result, print};

const EXAMPLES: &str = "\
Examples:
  thrashlab doctor               watch for ten seconds, then show what cost time
  thrashlab doctor --for 1m --verbose
                                a minute, and why other conditions are ruled out
  thrashlab doctor -- make -j4   a command while it runs: what its time was lost to
  thrashlab doctor --watch       repeat until Ctrl-C
  thrashlab doctor --since-boot  everything counted since boot
  thrashlab doctor --record sick.jsonl
                                record the counters …
  thrashlab doctor --replay sick.jsonl
                                … and diagnose it again, here or elsewhere
  thrashlab doctor --serve       metrics at http://127.0.0.1:9797/metrics, until Ctrl-C
  thrashlab doctor --record /var/lib/thrashlab --max-size 64M
                                a black box: a folder of the last hours, until Ctrl-C …
  thrashlab doctor --replay /var/lib/thrashlab --at 14:32
                                … and who filled memory and who suffered at that time
  thrashlab doctor --read-only   change nothing, as the kernel makes sure
  thrashlab doctor --openmetrics /var/lib/node_exporter/textfile/thrashlab.prom
  thrashlab doctor --calibrate   the costs of a fault, a switch and a copy here
  thrashlab doctor --from results/
                                runs of thrashlab run, one by one
  thrashlab doctor --from reference:sun4/hatcnt
                                Irlam's estimate of 1990

Needs no privilege for what /proc shows; as root it sees every process and its
delays. Each condition has a page in docs/findings/.";

/// Longest interval, in ns: a day.
const FOR_NS_MAX: u64 = 24 * 3_600_000_000_000;

#[derive(Args)]
#[command(after_help = EXAMPLES, mut_args(mode::with_conflicts))]
pub(crate) struct DoctorArgs {
    /// How long to watch; with --serve and --max-size, how long an interval is
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = watched)]
    for_ns: u64,

    /// Diagnose interval after interval, until Ctrl-C or the end of the recording
    #[arg(long)]
    watch: bool,

    /// Diagnose everything counted since boot
    #[arg(long)]
    since_boot: bool,

    /// Write all snapshots to a new file; with --max-size, to a folder
    #[arg(long, value_name = "PATH")]
    record: Option<PathBuf>,

    /// Record until Ctrl-C into a folder of at most this size: the oldest is removed. Locked in
    /// memory and with a real-time priority, where permitted
    #[arg(long = "max-size", value_name = "SIZE", value_parser = parse_size_bytes)]
    #[arg(requires = "record")]
    max_size_bytes: Option<u64>,

    /// Serve the findings as OpenMetrics at http://ADDR/metrics until Ctrl-C; any machine may read
    /// them if ADDR is not of this one
    #[arg(long, value_name = "[HOST:]PORT", value_parser = forever::address)]
    #[arg(num_args = 0..=1, default_missing_value = "127.0.0.1:9797")]
    serve: Option<SocketAddr>,

    /// Diagnose a recording: a file, or a folder of --max-size
    #[arg(long, value_name = "PATH")]
    replay: Option<PathBuf>,

    /// Diagnose the interval of a recording that contains this time: 14:32, "2026-11-27 14:32", or
    /// -10m before its end; --for is its length
    #[arg(long, value_name = "TIME", value_parser = at::at, allow_hyphen_values = true)]
    #[arg(requires = "replay", conflicts_with = "watch")]
    at: Option<at::At>,

    /// Read this instead of measuring: a results folder, a run file, or published counters
    /// (reference:sun4/hatcnt)
    #[arg(long, value_name = "WHAT")]
    from: Option<String>,

    /// Measure what operations cost on this machine, and print it
    #[arg(long)]
    calibrate: bool,

    /// List the conditions that the doctor knows
    #[arg(long)]
    rules: bool,

    /// Never write a file or change anything else: the kernel refuses it from the first reading on.
    /// The cost of reading a page again is then unknown, unless it was measured before
    #[arg(long, conflicts_with_all = ["record", "output", "work_dir"])]
    read_only: bool,

    /// Do not sample which code of the processes the findings come from, which takes two more seconds
    #[arg(long)]
    no_stacks: bool,

    /// Show the first N only: the most costly findings
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,

    /// Show more: why other conditions are ruled out
    #[arg(long, short)]
    verbose: bool,

    /// Write the findings as OpenMetrics, for a node exporter's textfile collector; `-` prints them
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    openmetrics: Option<ResultFile>,

    /// Folder on a disk for files: the small one of the calibration [default: the first of the
    /// current folder, /var/tmp, /tmp and the cache folder that is writable and on a disk]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    start: StartArgs,
}

impl DoctorArgs {
    /// Whether it diagnoses what is in files, and not this machine.
    pub(crate) fn reads_files(&self) -> bool {
        matches!(Mode::of(self), Mode::Replay(_) | Mode::From(_))
    }
}

fn watched(text: &str) -> Result<u64, String> {
    match parse_duration_ns(text)? {
        time @ 1_000_000..=FOR_NS_MAX => Ok(time),
        _ => Err("watch for at least 1ms and at most 24h".to_owned()),
    }
}

pub(crate) fn doctor(args: &DoctorArgs) -> Result<()> {
    if args.read_only && args.openmetrics.as_ref().is_some_and(|file| file.path().is_some()) {
        return Err(wrong!("--openmetrics FILE does not go with --read-only; `-` prints them"));
    }
    if args.serve.is_some() && args.record.is_some() && args.max_size_bytes.is_none() {
        return Err(wrong!("--record next to --serve needs --max-size, which bounds its folder"));
    }
    match Mode::of(args) {
        Mode::Rules => show(&rules_document(doctor::ALL), &args.output),
        Mode::Calibrate => show(&unit_costs_document(&live::measured_costs(args)?), &args.output),
        Mode::Replay(path) => confine(args).and_then(|()| replay::replay(args, path)),
        Mode::From(what) => confine(args).and_then(|()| sources::from(args, what)),
        Mode::Forever => forever::doctor(args),
        Mode::Command => command::doctor(args),
        Mode::SinceBoot => live::since_boot(args),
        Mode::Live => live::doctor(args),
    }
}

/// Gives up the right to write files, with `--read-only`.
fn confine(args: &DoctorArgs) -> Result<()> {
    if args.read_only {
        sys::confine::confine(Confinement::ReadOnly).context(
            "--read-only cannot be enforced here; next step: leave it out, or permit seccomp(2)",
        )?;
    }
    Ok(())
}

/// Diagnoses an interval, of this machine with `waiter`, and prints the result.
fn report_interval(
    args: &DoctorArgs,
    before: &Snapshot,
    after: &Snapshot,
    costs: &UnitCosts,
    waiter: Option<&Waiter>,
) -> Result<()> {
    let mut found = diagnose(&Interval::new(before, after), costs);
    let samples_code =
        !(args.no_stacks || args.watch || args.read_only || args.openmetrics.is_some());
    if let Some(waiter) = waiter.filter(|it| samples_code && !it.stop_requested()) {
        code::add(&mut found, args.top, waiter);
    }
    match write_metrics(args, &[(None, &found)])? {
        true => Ok(()),
        false => show(&doctor_document(&found, args.top, args.verbose), &args.output),
    }
}

/// Writes diagnoses as OpenMetrics if requested; returns whether they were printed. A file is
/// replaced as a whole, because a collector may read it at any time.
fn write_metrics(args: &DoctorArgs, found: &[(Option<&str>, &Diagnosis)]) -> Result<bool> {
    match &args.openmetrics {
        Some(file) if file.path().is_none() => print(&doctor_metrics(found)).map(|()| true),
        Some(file) => {
            file.write(doctor_metrics(found).as_bytes())?;
            Ok(false)
        }
        None => Ok(false),
    }
}
