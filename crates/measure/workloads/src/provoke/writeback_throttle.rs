//! `provoke-writeback-throttle`: writes that fill memory with dirty pages, until they wait.

use std::os::unix::fs::FileExt;

use rand::RngExt;

use super::{OPERATIONS, counted, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, emptied, scaled};

/// File size as a share of memory at an intensity of 0: truncated before it is written back.
const LITTLE: f64 = 0.02;
/// Growth of that share at an intensity of 1: far more than may be dirty.
const MORE: f64 = 1.5;
const CHUNK_BYTES: u64 = 64 << 10;
/// Warm when half of memory, or the whole file, has been written.
const WARM_PART: u64 = 2;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-writeback-throttle",
    about: "writes of a file of 150 % of memory, over and over (at 0 of 2 %)",
    is_warm: |progress| {
        let written_bytes = progress.since_start(OPERATIONS) * CHUNK_BYTES;
        let enough = progress.setting.memory_bytes / WARM_PART;
        written_bytes >= enough.min(progress.plan.param("file_bytes"))
    },
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let wanted_bytes = scaled(setting.memory_bytes, LITTLE + MORE * setting.intensity);
    let file_bytes = (wanted_bytes / CHUNK_BYTES).max(1) * CHUNK_BYTES;
    setting.needs_disk(file_bytes)?;
    Ok(Plan::new(1, [("file_bytes", file_bytes)]))
}

/// Writes the file chunk by chunk, truncates it, and repeats.
fn work(worker: &Worker<'_>) -> Endless {
    let path = worker.setting.work_dir.join("provoked.dat");
    let failed = |error| at(format!("write {}", path.display()))(error);
    let file = emptied(&path).map_err(failed)?;
    let mut chunk = vec![0; CHUNK_BYTES as usize];
    worker.random().fill(&mut chunk[..]);
    let chunks = worker.plan.param("file_bytes") / CHUNK_BYTES;
    loop {
        for number in 0..chunks {
            counted(worker, 1, || {
                if number == 0 {
                    file.set_len(0)?;
                }
                file.write_all_at(&chunk, number * CHUNK_BYTES)
            })
            .map_err(failed)?;
        }
    }
}
