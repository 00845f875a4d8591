//! The footprint of a command of the user while it runs.

use agent::Waiter;
use anyhow::{Context, anyhow};
use footprint::{Footprint, Options, System, measure};
use keep::running::Running;
use model::units::format_duration;
use sys::clock::monotonic_ns;

use crate::Result;
use crate::start::StartArgs;

/// The first window, in ns: windows double from this one to the longest, so that a short command
/// has one, too.
const FIRST_WINDOW_NS: u64 = 50_000_000;

/// A command that has ended, and the largest footprint of its processes.
pub(super) struct Measured {
    pub(super) running: Running,
    pub(super) footprint: Footprint,
    /// The window, in ns.
    pub(super) window_ns: u64,
}

/// Measures all processes of a command in one window after the other until it ends. Keeps the
/// longest window, and of several the one with most present pages. Fails if it ends in the first.
pub(super) fn measure_command(
    system: &System,
    start: &StartArgs,
    options: Options,
    longest_ns: u64,
) -> Result<Measured> {
    let waiter = Waiter::new().context("catch signals")?;
    let mut running = start.start()?;
    let mut largest: Option<(u64, Footprint)> = None;
    let mut window_ns = FIRST_WINDOW_NS.min(longest_ns);
    while !running.is_over() {
        let pids: Vec<u32> =
            running.pids().context("find the processes of the command")?.into_iter().collect();
        if !options.clear {
            wait(&waiter, &mut running, window_ns)?;
        }
        let mut waited = Ok(());
        let found =
            measure(system, &pids, options, || waited = wait(&waiter, &mut running, window_ns));
        waited?;
        // What ended in the window is no longer mapped.
        if running.is_over() {
            break;
        }
        let size = |window_ns: u64, found: &Footprint| {
            (window_ns, found.total.counts.map_or(0, |counts| counts.present_pages))
        };
        if largest.as_ref().is_none_or(|(of_ns, it)| size(*of_ns, it) <= size(window_ns, &found)) {
            largest = Some((window_ns, found));
        }
        window_ns = window_ns.saturating_mul(2).min(longest_ns);
    }
    running.has_ended(true).context("wait for the command")?;
    let (window_ns, footprint) = largest.ok_or_else(|| {
        let window = format_duration(window_ns);
        anyhow!("the command ended within a window of {window}: choose a shorter --window")
    })?;
    Ok(Measured { running, footprint, window_ns })
}

/// Waits for the end of a window, or of the command.
fn wait(waiter: &Waiter, running: &mut Running, window_ns: u64) -> Result<()> {
    let until_ns = monotonic_ns().saturating_add(window_ns);
    while monotonic_ns() < until_ns && !running.is_over() {
        waiter.wait(None, until_ns);
        running.heed_signals().context("end the command")?;
    }
    Ok(())
}
