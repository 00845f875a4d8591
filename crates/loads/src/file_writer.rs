//! What `smallwrite` and `largewrite` share: writing a large file buffer by buffer, over and over.

use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};

use model::units::format_size;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sys::clock::monotonic_ns;

use crate::desc::{Dose, Plan, Progress, Setting, Unsupported, Work, WorkError, scaled};

/// The file is this many times as large as memory.
const FILE_PER_MEMORY: u64 = 5;
/// Share of the free disk space that the file may take.
const DISK_SHARE: f64 = 0.8;

const WRITTEN_BYTES: usize = 0;
const FILES: usize = 1;
const BUSY_NS: usize = 2;
const NO_SPACE: usize = 3;

/// Names of the totals, in the order of the slots.
pub(crate) const TOTALS: &[&str] = &["written_bytes", "files", "busy_ns", "no_space"];

/// Plans one writer with a buffer of `buffer_bytes`.
pub(crate) fn plan(setting: &Setting, buffer_bytes: u64) -> Result<Plan, Unsupported> {
    let wanted_bytes = scaled(FILE_PER_MEMORY * setting.memory_bytes, setting.intensity);
    let possible_bytes = scaled(setting.free_disk_bytes, DISK_SHARE);
    let file_bytes = wanted_bytes.min(possible_bytes);
    if file_bytes < 1 << 20 {
        return Err(Unsupported(format!(
            "{} has {} free; a file of at least 1 MiB is needed",
            setting.work_dir.display(),
            format_size(setting.free_disk_bytes)
        )));
    }
    let mut notes = Vec::new();
    if file_bytes < wanted_bytes {
        notes.push(format!(
            "the file is {} instead of {}: {} has only {} free",
            format_size(file_bytes),
            format_size(wanted_bytes),
            setting.work_dir.display(),
            format_size(setting.free_disk_bytes)
        ));
    }
    let params = [
        ("buffer_bytes".to_owned(), buffer_bytes.min(file_bytes)),
        ("file_bytes".to_owned(), file_bytes),
    ];
    Ok(Plan { workers: 1, params: params.into(), notes })
}

/// Writes the file from its beginning to its size, buffer by buffer, again and again.
///
/// A file system that fills up is no end: the file is cut to nothing and begun again, and the
/// event is counted.
pub(crate) fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let path = work.setting.work_dir.join("written.dat");
    let step = format!("write {}", path.display());
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)
        .map_err(|error| WorkError::new(&step, &error))?;
    let buffer = filled_buffer(work)?;
    let file_bytes = work.plan.param("file_bytes");
    let mut at_bytes = 0;
    loop {
        let rest = (file_bytes - at_bytes).min(buffer.len() as u64) as usize;
        match write_counted(work, &mut file, &buffer[..rest]) {
            Ok(()) => at_bytes += rest as u64,
            Err(error) if is_full(&error) => {
                work.board.add(work.worker, NO_SPACE, 1);
                at_bytes = file_bytes;
            }
            Err(error) => return Err(WorkError::new(&step, &error)),
        }
        if at_bytes >= file_bytes {
            at_bytes = 0;
            let start_ns = monotonic_ns();
            file.set_len(0)
                .and_then(|()| file.rewind())
                .map_err(|error| WorkError::new(&step, &error))?;
            work.board.add(work.worker, BUSY_NS, monotonic_ns() - start_ns);
            work.board.add(work.worker, FILES, 1);
        }
    }
}

/// Whether the file system, or this user's part of it, is full.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The buffer, filled with seeded bytes that no file system can compress.
fn filled_buffer(work: &Work<'_>) -> Result<Vec<u8>, WorkError> {
    let length = work.plan.param("buffer_bytes") as usize;
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(length).map_err(|_| {
        WorkError::new("allocate the buffer", &io::Error::from(io::ErrorKind::OutOfMemory))
    })?;
    buffer.resize(length, 0);
    Pcg64Mcg::seed_from_u64(work.setting.seed).fill_bytes(&mut buffer);
    Ok(buffer)
}

/// Writes all bytes; what each call wrote and how long it took is counted as it happens.
fn write_counted(work: &Work<'_>, file: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let start_ns = monotonic_ns();
        let result = file.write(bytes);
        match result {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::StorageFull)),
            Ok(written) => {
                work.board.add(work.worker, BUSY_NS, monotonic_ns() - start_ns);
                work.board.add(work.worker, WRITTEN_BYTES, written as u64);
                bytes = &bytes[written..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Warm when as much as the memory holds (or the whole file) has been written once.
pub(crate) fn warm(progress: &Progress<'_>) -> bool {
    let enough = progress.setting.memory_bytes.min(progress.plan.param("file_bytes"));
    progress.total_since_start(WRITTEN_BYTES) >= enough || progress.total_since_start(FILES) > 0
}

/// Intended: a write, or the cut before the next file, under way all the time. A write that spans the end of the time is counted
/// when it returns, so `largewrite`, whose writes are long, may show a little less.
pub(crate) fn dose(progress: &Progress<'_>) -> Dose {
    Dose { intended: progress.elapsed_ns, delivered: progress.total(BUSY_NS) }
}
