//! `provoke-switches`: two processes pass a byte back and forth through pipes, which is healthy.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};

use sys::process::fork_child;

use super::{OPERATIONS, counted, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, scaled};

/// Round trips per batch at an intensity of 1.
const BATCH: u64 = 256;
const WARM_TRIPS: u64 = 10_000;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-switches",
    about: "two processes pass a byte back and forth (at 0 one passes it to itself): all healthy",
    is_warm: |progress| progress.since_start(OPERATIONS) >= WARM_TRIPS,
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let partners = scaled(1, setting.intensity).min(1);
    Ok(Plan::new(1, [("partners", partners), ("batch", BATCH)]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let failed = |error| at("pass a byte through a pipe")(error);
    let (mut near, mut to_far) = pipe().map_err(failed)?;
    if worker.plan.param("partners") > 0 {
        let (far, to_near) = pipe().map_err(failed)?;
        let (from_near, back) = (near, to_far);
        fork_child(|| echo(far, back)).map_err(failed)?;
        (near, to_far) = (from_near, to_near);
    }
    let batch = worker.plan.param("batch");
    loop {
        let trips = || (0..batch).try_for_each(|_| trip(&mut to_far, &mut near));
        counted(worker, batch, trips).map_err(failed)?;
    }
}

fn trip(to_far: &mut PipeWriter, near: &mut PipeReader) -> std::io::Result<()> {
    to_far.write_all(&[1])?;
    near.read_exact(&mut [0])
}

fn echo(mut far: PipeReader, mut back: PipeWriter) -> i32 {
    let mut byte = [0];
    while far.read_exact(&mut byte).is_ok() {
        if back.write_all(&byte).is_err() {
            break;
        }
    }
    0
}
