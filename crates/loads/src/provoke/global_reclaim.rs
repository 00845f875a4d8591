//! `provoke-global-reclaim`: random reads of a file that is larger than the machine's memory, so
//! that most of what the machine evicts comes back.

use std::convert::Infallible;
use std::fs::File;
use std::os::unix::fs::FileExt;

use model::units::format_size;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{OPERATIONS, TOTALS, counted, dose, page_bytes};
use crate::desc::{
    Desc, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare, scaled,
};

/// Size of the file for memory of 1 at an intensity of 0, which fits.
const FITS: f64 = 0.4;
/// What an intensity of 1 adds: 150 % of memory does not fit.
const MORE: f64 = 1.1;
/// Reads that are counted together.
const BATCH: u64 = 16;
/// The load is warm after so many random reads: the file was read in order before, so nothing is
/// cold.
const WARM_READS: u64 = 64;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-global-reclaim",
    version: 1,
    about: "random reads of a file of 150 % of memory (at 0 of 40 %)",
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
    let pages = scaled(setting.memory_bytes, FITS + MORE * setting.intensity) / page_bytes() as u64;
    let file_bytes = pages.max(1) * page_bytes() as u64;
    if file_bytes > setting.free_disk_bytes / 10 * 9 {
        return Err(Unsupported(format!(
            "the file of {} does not fit into {}, which has {} free",
            format_size(file_bytes),
            setting.work_dir.display(),
            format_size(setting.free_disk_bytes)
        )));
    }
    Ok(Plan { workers: 1, params: [("file_bytes".to_owned(), file_bytes)].into(), notes: vec![] })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let path = work.setting.work_dir.join("provoked.dat");
    let file_bytes = work.plan.param("file_bytes");
    let failed = |error: std::io::Error| WorkError::new(&format!("use {}", path.display()), &error);
    let file = super::written(&path, file_bytes, work.setting.seed).map_err(failed)?;
    let mut page = vec![0; page_bytes()];
    let mut read =
        |file: &File, number: u64| file.read_exact_at(&mut page, number * page_bytes() as u64);
    let pages = file_bytes / page_bytes() as u64;
    for number in 0..pages {
        read(&file, number).map_err(failed)?;
    }
    let mut random = Pcg64Mcg::seed_from_u64(work.setting.seed);
    loop {
        counted(work, BATCH, || {
            (0..BATCH).try_for_each(|_| read(&file, random.random_range(0..pages)))
        })
        .map_err(failed)?;
    }
}

fn warm(progress: &Progress<'_>) -> bool {
    progress.total_since_start(OPERATIONS) >= WARM_READS
}
