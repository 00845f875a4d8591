//! `exhaust-page-cache`: a process that writes a file larger than the free memory and then reads it
//! from start to end, over and over: a backup, a build's cache, `dd`.

use std::io::{Read, Seek, Write};

use rand::Rng;

use super::{
    CHUNK_BYTES, OFFENDER_BYTES, Offenders, exhaustion, keep, planned, processes, random_of,
};
use crate::{Endless, Plan, Setting, Worker, Workload, at, emptied};

/// Share of the free disk that all files may have.
const DISK_PERCENT: u64 = 70;

pub(crate) const LOAD: Workload = Workload {
    name: "exhaust-page-cache",
    about: "a file as large as memory, written and then read over and over: dd, a backup",
    ..exhaustion(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let at_once = processes(setting, 1.0);
    let room_bytes = setting.free_disk_bytes / 100 * DISK_PERCENT / at_once;
    let size_bytes = setting.memory_bytes.min(room_bytes);
    let mut plan =
        planned(setting, Offenders { at_once, most: at_once, size_bytes, bytes_per_s: 0 })?;
    if size_bytes < setting.memory_bytes {
        let [dir, free] = setting.disk();
        plan.notes.push(format!("the file is smaller than memory: {dir} has {free} free"));
    }
    Ok(plan)
}

fn work(worker: &Worker<'_>) -> Endless {
    keep(worker, &|worker, number| {
        let path = worker.setting.work_dir.join(format!("exhaust-{number}.dat"));
        let mut random = random_of(worker, number);
        let mut chunk = vec![0; CHUNK_BYTES as usize];
        random.fill_bytes(&mut chunk);
        let mut file = emptied(&path).map_err(at(format!("create {}", path.display())))?;
        for _ in 0..worker.plan.param("offender_bytes") / CHUNK_BYTES {
            file.write_all(&chunk).map_err(at("write the file"))?;
            worker.add(OFFENDER_BYTES, CHUNK_BYTES);
        }
        loop {
            file.rewind().map_err(at("rewind the file"))?;
            let mut read_bytes = 1;
            while read_bytes > 0 {
                read_bytes = file.read(&mut chunk).map_err(at("read the file"))?;
                worker.add(OFFENDER_BYTES, read_bytes as u64);
            }
        }
    })
}
