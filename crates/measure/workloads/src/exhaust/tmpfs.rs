//! `exhaust-tmpfs`: a process that writes into a file in memory. The supervisor has the file open, so it
//! stays when the writer dies, as a file of a tmpfs does: killing frees nothing.

use std::fs::File;
use std::io::Write;

use rand::Rng;
use rustix::fs::{MemfdFlags, memfd_create};
use sys::clock::monotonic_ns;

use super::{
    CHUNK_BYTES, OFFENDER_BYTES, Offenders, exhaustion, hold, keep, pace, planned, random_of,
};
use crate::{Endless, Plan, Setting, Worker, Workload, at, scaled};

/// Size of the file as a share of memory at an intensity of 1.
const SHARE: f64 = 1.5;
/// Share of memory that is written per second.
const SHARE_PER_S: f64 = 0.125;

pub(crate) const LOAD: Workload = Workload {
    name: "exhaust-tmpfs",
    about: "a file of 150 % of memory in a tmpfs, which stays when its writer is killed",
    ..exhaustion(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let size_bytes = scaled(setting.memory_bytes, SHARE * setting.intensity);
    let bytes_per_s = scaled(setting.memory_bytes, SHARE_PER_S);
    planned(setting, Offenders { at_once: 1, most: 1, size_bytes, bytes_per_s })
}

fn work(worker: &Worker<'_>) -> Endless {
    let file = memfd_create("exhaust", MemfdFlags::CLOEXEC)
        .map_err(|error| at("create a file in memory")(error.into()))?;
    let file = File::from(file);
    keep(worker, &|worker, number| {
        let [size_bytes, bytes_per_s] =
            ["offender_bytes", "bytes_per_s"].map(|name| worker.plan.param(name));
        let mut chunk = vec![0; CHUNK_BYTES as usize];
        let mut random = random_of(worker, number);
        let start_ns = monotonic_ns();
        let mut written_bytes = 0;
        while written_bytes < size_bytes {
            random.fill_bytes(&mut chunk[..CHUNK_BYTES as usize / 2]);
            (&file).write_all(&chunk).map_err(at("write into memory"))?;
            written_bytes += CHUNK_BYTES;
            worker.add(OFFENDER_BYTES, CHUNK_BYTES);
            pace(start_ns, written_bytes, bytes_per_s);
        }
        hold()
    })
}
