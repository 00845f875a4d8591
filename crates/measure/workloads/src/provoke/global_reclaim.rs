//! `provoke-global-reclaim`: random reads of a file larger than the machine's memory.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rand::RngExt;

use super::{OPERATIONS, counted, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, page_bytes};

/// File size as a share of memory at an intensity of 0, which fits.
const FITS: f64 = 0.4;
/// Growth of that share at an intensity of 1: 150 % of memory does not fit.
const MORE: f64 = 1.1;
const BATCH: u64 = 16;
/// Warm after this many random reads: the file was read in order before.
const WARM_READS: u64 = 64;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-global-reclaim",
    about: "random reads of a file of 150 % of memory (at 0 of 40 %)",
    is_warm: |progress| progress.since_start(OPERATIONS) >= WARM_READS,
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let pages = setting.pages_of_memory(FITS + MORE * setting.intensity);
    let file_bytes = pages.max(1) * page_bytes() as u64;
    setting.needs_disk(file_bytes)?;
    Ok(Plan::new(1, [("file_bytes", file_bytes)]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let path = worker.setting.work_dir.join("provoked.dat");
    let file_bytes = worker.plan.param("file_bytes");
    let failed = |error: std::io::Error| at(format!("use {}", path.display()))(error);
    let file = super::written(worker, &path, file_bytes).map_err(failed)?;
    let mut page = vec![0; page_bytes()];
    let mut read =
        |file: &File, number: u64| file.read_exact_at(&mut page, number * page_bytes() as u64);
    let pages = file_bytes / page_bytes() as u64;
    for number in 0..pages {
        read(&file, number).map_err(failed)?;
    }
    let mut random = worker.random();
    loop {
        counted(worker, BATCH, || {
            (0..BATCH).try_for_each(|_| read(&file, random.random_range(0..pages)))
        })
        .map_err(failed)?;
    }
}
