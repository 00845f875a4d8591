//! `provoke-proactive-eviction`: random reads of a mapped file that fits, while somebody asks the
//! kernel to evict pages of the group all the time (`memory.reclaim`).

use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use model::units::format_size;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sys::memory::Mapping;
use sys::pages::Advice;

use super::{BUSY_NS, OPERATIONS, PAGE_BYTES, TOTALS, counted, written};
use crate::desc::{
    Desc, Dose, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare, scaled,
};

/// Size of the file for memory of 1: it fits.
const FITS: f64 = 0.4;
/// Share of the file that is asked for each time at an intensity of 1: less than a slow disk brings
/// back until the next time, so that pages go and come all the time.
const EVICTED: f64 = 1.0 / 64.0;
/// Rest between two requests.
const REST: Duration = Duration::from_millis(200);
/// Reads that are counted together.
const BATCH: u64 = 16;
/// The load is warm when each page has been read this many times on average: nothing is cold.
const WARM_PASSES: u64 = 3;
/// The worker that reads; the other one has pages evicted.
const READER: usize = 0;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-proactive-eviction",
    version: 1,
    about: "random reads of a mapped file while parts of it are evicted all the time (at 0: not)",
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
    let pages = scaled(setting.memory_bytes, FITS) / PAGE_BYTES as u64;
    let file_bytes = pages.max(1) * PAGE_BYTES as u64;
    if file_bytes > setting.free_disk_bytes / 2 {
        return Err(Unsupported(format!(
            "the file of {} is more than half of what {} has free",
            format_size(file_bytes),
            setting.work_dir.display()
        )));
    }
    let evicted_bytes = scaled(file_bytes, EVICTED * setting.intensity);
    let params =
        [("file_bytes".to_owned(), file_bytes), ("evicted_bytes".to_owned(), evicted_bytes)];
    Ok(Plan { workers: 2, params: params.into(), notes: vec![] })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    if work.worker == READER { reads(work) } else { evictions(work) }
}

fn reads(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let path = work.setting.work_dir.join("provoked.dat");
    let file_bytes = work.plan.param("file_bytes");
    let mapping = written(&path, file_bytes, work.setting.seed)
        .and_then(|file| Mapping::file_read_only(&file, file_bytes as usize))
        .map_err(|error| WorkError::new(&format!("make {}", path.display()), &error))?;
    let advised = mapping.advise(Advice::Random);
    advised.map_err(|error| WorkError::new("advise random reads", &error))?;
    let pages = file_bytes as usize / PAGE_BYTES;
    let mut random = Pcg64Mcg::seed_from_u64(work.setting.seed);
    let mut sum: u64 = 0;
    loop {
        let offsets = (0..BATCH).map(|_| random.random_range(0..pages) * PAGE_BYTES);
        sum = sum.wrapping_add(counted(work, BATCH, || mapping.read_each(offsets)));
        std::hint::black_box(sum);
    }
}

/// Asks for evictions, again and again. A request that the kernel cannot meet in full is met as far
/// as it goes.
fn evictions(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let evicted_bytes = work.plan.param("evicted_bytes");
    let path = own_group()
        .map_err(|error| WorkError::new("find the control group (version 2)", &error))?
        .join("memory.reclaim");
    if let Err(error) = fs::metadata(&path) {
        return Err(WorkError::new(&format!("find {}", path.display()), &error));
    }
    loop {
        if evicted_bytes > 0 {
            match fs::write(&path, evicted_bytes.to_string()) {
                Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => {
                    return Err(WorkError::new(&format!("write {}", path.display()), &error));
                }
                _ => {}
            }
        }
        std::thread::sleep(REST);
    }
}

/// The directory of this process's control group of version 2.
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

fn warm(progress: &Progress<'_>) -> bool {
    let pages = progress.plan.param("file_bytes") / PAGE_BYTES as u64;
    progress.total_since_start(OPERATIONS) >= WARM_PASSES * pages
}

/// Intended: the reader inside a read all the time.
fn dose(progress: &Progress<'_>) -> Dose {
    Dose { intended: progress.elapsed_ns, delivered: progress.total(BUSY_NS) }
}
