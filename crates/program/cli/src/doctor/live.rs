//! The doctor on the running machine.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use agent::Waiter;
use anyhow::{Context, anyhow};
use doctor::{Snapshot, UnitCosts};
use keep::folders::user_folder;
use model::units::format_duration;
use survey::{CachedCosts, LEAST_PAUSE_NS, Looks, Survey, unit_costs};
use sys::clock::monotonic_ns;

use super::sources::{create, record};
use super::{DoctorArgs, confine, report_interval};
use crate::output::has_reader;
use crate::{Failure, Result, complain, print_bytes};

/// What empties a terminal and goes to its first line (ECMA-48).
const CLEAR: &[u8] = b"\x1b[2J\x1b[H";

pub(super) fn doctor(args: &DoctorArgs) -> Result<()> {
    let (waiter, costs) = prepared(args)?;
    confine(args)?;
    let mut survey = opened();
    let mut recording = args.record.as_deref().map(create).transpose()?;
    let origin_ns = monotonic_ns();
    let take = |survey: &mut Survey| survey.snapshot(monotonic_ns() - origin_ns);
    let mut before = take(&mut survey);
    record(args, &mut recording, &survey.recording_header(&costs))?;
    record(args, &mut recording, &before)?;
    loop {
        let until_ns = origin_ns + before.at_ns + args.for_ns;
        announce_wait(until_ns);
        let (is_stopped, after) = watch(&waiter, until_ns, || take(&mut survey));
        record(args, &mut recording, &after)?;
        if args.watch && args.output.is_for_terminal() {
            print_bytes(CLEAR)?;
        }
        // Ctrl-C ends the watching; what was seen is shown.
        report_interval(args, &before, &after, &costs, Some(&waiter))?;
        match (is_stopped, args.watch && has_reader()) {
            (true, _) => return Err(Failure::Interrupted),
            (false, false) => return Ok(()),
            (false, true) => before = after,
        }
    }
}

fn announce_wait(until_ns: u64) {
    if std::io::stderr().is_terminal() {
        let left_ns = until_ns.saturating_sub(monotonic_ns());
        complain(&format!(
            "thrashlab: watching for {} (Ctrl-C: diagnose now)",
            format_duration(left_ns)
        ));
    }
}

/// The signals of this process from now on, and what operations cost here.
pub(super) fn prepared(args: &DoctorArgs) -> Result<(Waiter, UnitCosts)> {
    let waiter = Waiter::new().context("catch signals")?;
    let cached = if args.read_only { CachedCosts::ReadOnly } else { CachedCosts::Reuse };
    let costs = costs(args, &waiter, cached)?;
    Ok((waiter, costs))
}

/// A survey, with a notice of each source that is not available.
pub(super) fn opened() -> Survey {
    let survey = Survey::open();
    for missed in survey.missed() {
        complain(&format!("thrashlab: not read: {}: {}", missed.capability, missed.reason));
    }
    survey
}

/// Takes snapshots until `until_ns`. Returns whether the user stopped it, and the last snapshot
/// with the processes that ended meanwhile.
fn watch(waiter: &Waiter, until_ns: u64, mut look: impl FnMut() -> Snapshot) -> (bool, Snapshot) {
    let mut looks = Looks::from_pause(LEAST_PAUSE_NS);
    loop {
        wait(waiter, until_ns.min(looks.next_ns()));
        let seen = looks.take(&mut look);
        if waiter.stop_requested() || monotonic_ns() >= until_ns {
            return (waiter.stop_requested(), seen);
        }
        looks.keep(seen);
    }
}

/// Waits until a time in ns of the monotonic clock, or a stop.
pub(super) fn wait(waiter: &Waiter, until_ns: u64) {
    while !waiter.stop_requested() && monotonic_ns() < until_ns {
        waiter.wait(None, until_ns);
    }
}

/// Diagnoses everything that was counted since boot.
pub(super) fn since_boot(args: &DoctorArgs) -> Result<()> {
    let (_waiter, costs) = prepared(args)?;
    confine(args)?;
    let mut after: Snapshot = opened().snapshot(0);
    let before = after.at_boot(uptime_ns()?);
    report_interval(args, &before, &after, &costs, None)
}

/// The time since boot in ns, from `/proc/uptime` (proc(5)).
fn uptime_ns() -> Result<u64> {
    let text = fs::read_to_string("/proc/uptime").context("read /proc/uptime")?;
    let seconds: Option<f64> = text.split_whitespace().next().and_then(|word| word.parse().ok());
    let seconds = seconds.with_context(|| format!("/proc/uptime: {text:?} is not a time"))?;
    Ok((seconds * 1e9) as u64)
}

pub(super) fn measured_costs(args: &DoctorArgs) -> Result<UnitCosts> {
    let waiter = Waiter::new().context("catch signals")?;
    let costs = costs(args, &waiter, CachedCosts::Replace)?;
    match costs.costs.is_empty() {
        true => Err(anyhow!("nothing could be measured: {:?}", costs.missed).into()),
        false => Ok(costs),
    }
}

/// What operations cost here: as measured earlier in this boot if `cached` allows it, else now.
fn costs(args: &DoctorArgs, waiter: &Waiter, cached: CachedCosts) -> Result<UnitCosts> {
    let stop = || waiter.stop_requested();
    let kept = cache_dir().map(|dir| dir.join("unit-costs"));
    let (costs, not_kept) = unit_costs(kept.as_deref(), &work_dirs(args), cached, &stop);
    if let Some(why) = not_kept {
        complain(&format!("thrashlab: cannot cache the costs: {why}"));
    }
    if waiter.stop_requested() { Err(Failure::Interrupted) } else { Ok(costs) }
}

/// Folders for the file of the calibration, the best first.
fn work_dirs(args: &DoctorArgs) -> Vec<PathBuf> {
    if let Some(dir) = &args.work_dir {
        return vec![dir.clone()];
    }
    let cache = cache_dir().and_then(|dir| dir.parent().map(Path::to_owned));
    [".", "/var/tmp", "/tmp"].map(PathBuf::from).into_iter().chain(cache).collect()
}

/// The user's cache of this program (XDG Base Directory Specification); `None` without a home.
fn cache_dir() -> Option<PathBuf> {
    user_folder("XDG_CACHE_HOME", ".cache")
}
