//! `provoke-memcg-refault`: pages of a mapped file that is a little larger than memory, read at
//! random, so that most of what the group evicts comes back.

use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use model::units::format_size;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sys::memory::Mapping;
use sys::pages::Advice;

use super::{PAGE_BYTES, TOTALS, counted, dose};
use crate::desc::{
    Desc, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare, scaled,
};

/// Size of the file for memory of 1 at an intensity of 0, which fits.
const FITS: f64 = 0.5;
/// What an intensity of 1 adds: 105 % of memory does not fit.
const MORE: f64 = 0.55;
/// Reads that are counted together.
const BATCH: u64 = 64;
/// The load is warm when each page has been read this many times on average: nothing is cold.
const WARM_PASSES: u64 = 3;
/// Bytes written at once.
const CHUNK_BYTES: usize = 1 << 20;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-memcg-refault",
    version: 1,
    about: "random reads of a mapped file of 105 % of memory (at 0 of 50 %)",
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
    let share = FITS + MORE * setting.intensity;
    let pages = scaled(setting.memory_bytes, share) / PAGE_BYTES as u64;
    let file_bytes = pages * PAGE_BYTES as u64;
    if pages == 0 || file_bytes > setting.free_disk_bytes / 2 {
        return Err(Unsupported(format!(
            "the file of {} is more than half of what {} has free",
            format_size(file_bytes),
            setting.work_dir.display()
        )));
    }
    Ok(Plan { workers: 1, params: [("file_bytes".to_owned(), file_bytes)].into(), notes: vec![] })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let path = work.setting.work_dir.join("provoked.dat");
    let file_bytes = work.plan.param("file_bytes") as usize;
    let mapping = written(&path, file_bytes, work.setting.seed)
        .and_then(|file| Mapping::file_read_only(&file, file_bytes))
        .map_err(|error| WorkError::new(&format!("make {}", path.display()), &error))?;
    let advised = mapping.advise(Advice::Random);
    advised.map_err(|error| WorkError::new("advise random reads", &error))?;
    let pages = file_bytes / PAGE_BYTES;
    let mut random = Pcg64Mcg::seed_from_u64(work.setting.seed);
    let mut sum: u64 = 0;
    loop {
        let offsets = (0..BATCH).map(|_| random.random_range(0..pages) * PAGE_BYTES);
        sum = sum.wrapping_add(counted(work, BATCH, || mapping.read_each(offsets)));
        std::hint::black_box(sum);
    }
}

/// The file, written by the worker itself, so that its pages are the group's own.
fn written(path: &Path, file_bytes: usize, seed: u64) -> std::io::Result<File> {
    let mut chunk = vec![0; CHUNK_BYTES.min(file_bytes)];
    Pcg64Mcg::seed_from_u64(seed).fill(&mut chunk[..]);
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
    for start in (0..file_bytes).step_by(CHUNK_BYTES) {
        file.write_all(&chunk[..CHUNK_BYTES.min(file_bytes - start)])?;
    }
    file.sync_all()?;
    Ok(file)
}

fn warm(progress: &Progress<'_>) -> bool {
    let pages = progress.plan.param("file_bytes") / PAGE_BYTES as u64;
    progress.total_since_start(super::OPERATIONS) >= WARM_PASSES * pages
}
