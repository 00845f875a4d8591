//! `provoke-proactive-eviction`: random reads of a mapped file, parts of which are evicted.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::{mapped_file, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, scaled};

/// File size as a share of memory: it fits.
const FITS: f64 = 0.4;
/// Share of the file per eviction at an intensity of 1, which a slow disk can read back.
const EVICTED: f64 = 1.0 / 64.0;
const REST: Duration = Duration::from_millis(200);
const BATCH: u64 = 16;
/// Number of the worker that reads; the other one evicts.
const READER: usize = 0;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-proactive-eviction",
    about: "random reads of a mapped file while parts of it are evicted (at 0 none are)",
    is_warm: mapped_file::is_warm,
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let pages = setting.pages_of_memory(FITS);
    let file = mapped_file::parameter(setting, pages.max(1))?;
    let evicted_bytes = scaled(file.1, EVICTED * setting.intensity);
    Ok(Plan::new(2, [file, ("evicted_bytes", evicted_bytes)]))
}

fn work(worker: &Worker<'_>) -> Endless {
    match worker.number {
        READER => mapped_file::read_at_random(worker, BATCH),
        _ => evictions(worker),
    }
}

/// Requests evictions repeatedly; each is best effort.
fn evictions(worker: &Worker<'_>) -> Endless {
    let evicted_bytes = worker.plan.param("evicted_bytes");
    let path =
        own_group().map_err(at("find the control group (version 2)"))?.join("memory.reclaim");
    if let Err(error) = fs::metadata(&path) {
        return Err(at(format!("find {}", path.display()))(error));
    }
    loop {
        if evicted_bytes > 0 {
            match fs::write(&path, evicted_bytes.to_string()) {
                Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => {
                    return Err(at(format!("write {}", path.display()))(error));
                }
                _ => {}
            }
        }
        std::thread::sleep(REST);
    }
}

fn own_group() -> std::io::Result<PathBuf> {
    let missing = |what: &str| std::io::Error::new(std::io::ErrorKind::NotFound, what.to_owned());
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let own = groups
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .ok_or_else(|| missing("none in /proc/self/cgroup"))?;
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let root = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .find_map(|words| (words.get(2) == Some(&"cgroup2")).then(|| PathBuf::from(words[1])))
        .ok_or_else(|| missing("none in /proc/self/mounts"))?;
    Ok(root.join(own.trim_start_matches('/')))
}
