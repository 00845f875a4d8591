//! `provoke-writeback-throttle`: a stream of writes that fills memory with what the disk has not
//! taken yet, so that the writer is made to wait.

use std::convert::Infallible;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use model::units::format_size;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{OPERATIONS, TOTALS, counted, dose};
use crate::desc::{
    Desc, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare, scaled,
};

/// Size of the file at an intensity of 0 for memory of 1: so little that it is begun again before
/// the kernel begins to write it.
const LITTLE: f64 = 0.02;
/// What an intensity of 1 adds: far more than may be dirty.
const MORE: f64 = 1.5;
/// Bytes of one write.
const CHUNK_BYTES: u64 = 64 << 10;
/// The load is warm when so much of memory (a half of it), or the whole file, has been written.
const WARM_PART: u64 = 2;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-writeback-throttle",
    version: 1,
    about: "writes of a file of 150 % of memory, over and over (at 0 of 2 %)",
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
    let wanted_bytes = scaled(setting.memory_bytes, LITTLE + MORE * setting.intensity);
    let file_bytes = (wanted_bytes / CHUNK_BYTES).max(1) * CHUNK_BYTES;
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

/// Writes the file chunk by chunk, cuts it to nothing, and begins again.
fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let path = work.setting.work_dir.join("provoked.dat");
    let failed = |error| WorkError::new(&format!("write {}", path.display()), &error);
    let file =
        OpenOptions::new().write(true).create(true).truncate(true).open(&path).map_err(failed)?;
    let mut chunk = vec![0; CHUNK_BYTES as usize];
    Pcg64Mcg::seed_from_u64(work.setting.seed).fill(&mut chunk[..]);
    let chunks = work.plan.param("file_bytes") / CHUNK_BYTES;
    loop {
        for number in 0..chunks {
            counted(work, 1, || {
                if number == 0 {
                    file.set_len(0)?;
                }
                file.write_all_at(&chunk, number * CHUNK_BYTES)
            })
            .map_err(failed)?;
        }
    }
}

fn warm(progress: &Progress<'_>) -> bool {
    let written_bytes = progress.total_since_start(OPERATIONS) * CHUNK_BYTES;
    let enough = progress.setting.memory_bytes / WARM_PART;
    written_bytes >= enough.min(progress.plan.param("file_bytes"))
}
