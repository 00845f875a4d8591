//! A mapped file whose pages are read at random, for several provocations.

use model::units::format_size;
use rand::RngExt;
use sys::memory::{Advice, Mapping};

use super::{counted, has_passed, written};
use crate::{Endless, Progress, Setting, Worker, at, page_bytes};

/// Warm when each page has been read this often on average.
const WARM_PASSES: u64 = 3;

pub(super) fn parameter(setting: &Setting, pages: u64) -> Result<(&'static str, u64), String> {
    let file_bytes = pages * page_bytes() as u64;
    if pages == 0 || file_bytes > setting.free_disk_bytes / 2 {
        let (size, [dir, _]) = (format_size(file_bytes), setting.disk());
        return Err(format!("the file of {size} is more than half of what {dir} has free"));
    }
    Ok(("file_bytes", file_bytes))
}

pub(super) fn read_at_random(worker: &Worker<'_>, batch: u64) -> Endless {
    let path = worker.setting.work_dir.join("provoked.dat");
    let file_bytes = worker.plan.param("file_bytes");
    let mapping = written(worker, &path, file_bytes)
        .and_then(|file| Mapping::file_read_only(&file, file_bytes as usize))
        .map_err(at(format!("create {}", path.display())))?;
    mapping.advise(Advice::Random).map_err(at("advise random reads"))?;
    let page = page_bytes();
    let pages = file_bytes as usize / page;
    let mut random = worker.random();
    let mut sum: u64 = 0;
    loop {
        let offsets = (0..batch).map(|_| random.random_range(0..pages) * page);
        sum = sum.wrapping_add(counted(worker, batch, || mapping.read_each(offsets)));
        std::hint::black_box(sum);
    }
}

pub(super) fn is_warm(progress: &Progress<'_>) -> bool {
    has_passed(progress, "file_bytes", WARM_PASSES)
}
