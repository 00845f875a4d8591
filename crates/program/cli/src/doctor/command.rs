//! The doctor on a command of the user, from its start to its end.

use std::collections::BTreeSet;

use agent::Waiter;
use anyhow::Context;
use doctor::{Interval, Snapshot, diagnose};
use keep::running::Running;
use report::doctor_document;
use survey::Looks;
use sys::clock::monotonic_ns;

use super::live::{opened, prepared};
use super::sources::{create, record};
use super::{DoctorArgs, write_metrics};
use crate::Result;
use crate::output::show_beside;
use crate::start::pass_on;

/// Time from the start of a command to the first look, in ns: a short command has one, too.
const FIRST_PAUSE_NS: u64 = 50_000_000;

/// Diagnoses the time of a command, with its processes as those affected. The result goes to
/// standard error, because standard output is the command's.
pub(super) fn doctor(args: &DoctorArgs) -> Result<()> {
    let (waiter, costs) = prepared(args)?;
    let mut survey = opened();
    let mut recording = args.record.as_deref().map(create).transpose()?;
    let origin_ns = monotonic_ns();
    let before = survey.snapshot(0);
    record(args, &mut recording, &survey.recording_header(&costs))?;
    record(args, &mut recording, &before)?;
    let mut running = args.start.start()?;
    let look = || survey.snapshot(monotonic_ns() - origin_ns);
    let (mut after, pids) = watch(&waiter, &mut running, look)?;
    running.has_ended(true).context("wait for the command")?;
    record(args, &mut recording, &after)?;
    after.keep_command(&pids);
    let found = diagnose(&Interval::new(&before, &after), &costs);
    if !write_metrics(args, &[(None, &found)])? {
        let document = doctor_document(&found, args.top, args.verbose);
        let document = document.with_facts([("command", args.start.text())]);
        show_beside(&document, &args.output)?;
    }
    running.exit().map_or(Ok(()), pass_on)
}

/// Takes snapshots until the command has ended. Returns the last one, with what ended meanwhile,
/// and all processes of the command that were seen.
fn watch(
    waiter: &Waiter,
    running: &mut Running,
    mut look: impl FnMut() -> Snapshot,
) -> Result<(Snapshot, BTreeSet<u32>)> {
    let (mut looks, mut pids) = (Looks::from_pause(FIRST_PAUSE_NS), BTreeSet::new());
    loop {
        waiter.wait(None, looks.next_ns());
        running.heed_signals().context("end the command")?;
        // In this order: the counters of an ended command stay until it is waited for.
        let is_over = running.is_over();
        if !is_over && monotonic_ns() < looks.next_ns() {
            continue;
        }
        pids.extend(running.pids().context("find the processes of the command")?);
        let seen = looks.take(&mut look);
        if is_over {
            return Ok((seen, pids));
        }
        looks.keep(seen);
    }
}
