//! `provoke-switches`: two processes pass a byte to and fro through pipes. Nothing is wrong with
//! it: it is what a doctor must not call ill.

use std::convert::Infallible;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};

use sys::process::fork_child;

use super::{OPERATIONS, TOTALS, counted, dose};
use crate::desc::{
    Desc, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare, scaled,
};

/// Round trips that are counted together at an intensity of 1.
const BATCH: u64 = 256;
/// Round trips after which the load is warm.
const WARM_TRIPS: u64 = 10_000;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-switches",
    version: 1,
    about: "two processes pass a byte to and fro (at 0 one passes it to itself): all healthy",
    totals: TOTALS,
    dose_unit: "busy_ns",
    plan,
    prepare: nothing_to_prepare,
    work,
    warm,
    dose,
    finish: nothing_to_finish,
};

fn plan(setting: &Setting) -> Result<Plan, Unsupported> {
    let partners = scaled(1, setting.intensity).min(1);
    let params = [("partners".to_owned(), partners), ("batch".to_owned(), BATCH)];
    Ok(Plan { workers: 1, params: params.into(), notes: Vec::new() })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let failed = |error| WorkError::new("pass a byte through a pipe", &error);
    let (mut near, mut to_far) = pipe().map_err(failed)?;
    if work.plan.param("partners") > 0 {
        let (far, to_near) = pipe().map_err(failed)?;
        let (from_near, back) = (near, to_far);
        fork_child(|| echo(far, back)).map_err(failed)?;
        (near, to_far) = (from_near, to_near);
    }
    let batch = work.plan.param("batch");
    loop {
        let trips = || (0..batch).try_for_each(|_| trip(&mut to_far, &mut near));
        counted(work, batch, trips).map_err(failed)?;
    }
}

/// A byte out and back.
fn trip(to_far: &mut PipeWriter, near: &mut PipeReader) -> std::io::Result<()> {
    to_far.write_all(&[1])?;
    near.read_exact(&mut [0])
}

/// Sends back all that comes, until nobody writes.
fn echo(mut far: PipeReader, mut back: PipeWriter) -> i32 {
    let mut byte = [0];
    while far.read_exact(&mut byte).is_ok() {
        if back.write_all(&byte).is_err() {
            break;
        }
    }
    0
}

fn warm(progress: &Progress<'_>) -> bool {
    progress.total_since_start(OPERATIONS) >= WARM_TRIPS
}
