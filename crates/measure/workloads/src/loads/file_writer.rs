//! What `smallwrite` and `largewrite` share: writing a large file buffer by buffer, over and over.

use std::fs::File;
use std::io::{self, Seek, Write};

use model::units::format_size;
use rand::Rng;
use sys::clock::monotonic_ns;

use crate::{
    Endless, Load, Plan, Progress, Setting, Work, Worker, Workload, WorkloadError, at, emptied,
    scaled,
};

const FILE_PER_MEMORY: u64 = 5;
const DISK_SHARE: f64 = 0.8;

const WRITTEN_BYTES: usize = 0;
const FILES: usize = 1;
const BUSY_NS: usize = 2;
const NO_SPACE: usize = 3;

pub(super) const fn workload(plan: fn(&Setting) -> Result<Plan, String>) -> Workload {
    Workload {
        measures: &["written_bytes", "files", "busy_ns", "no_space"],
        volume_unit: "busy_ns",
        is_warm,
        // A write that spans the end counts when it returns: `largewrite` may show a bit less.
        ..Workload::new(Work::Load(Load::new(plan, work, |progress| progress.busy(1, BUSY_NS))))
    }
}

pub(super) fn plan(setting: &Setting, buffer_bytes: u64) -> Result<Plan, String> {
    let wanted_bytes = scaled(FILE_PER_MEMORY * setting.memory_bytes, setting.intensity);
    let possible_bytes = scaled(setting.free_disk_bytes, DISK_SHARE);
    let file_bytes = wanted_bytes.min(possible_bytes);
    let [dir, free] = setting.disk();
    if file_bytes < 1 << 20 {
        return Err(format!("{dir} has {free} free; a file of at least 1 MiB is needed"));
    }
    let buffer_bytes = buffer_bytes.min(file_bytes);
    let mut plan = Plan::new(1, [("buffer_bytes", buffer_bytes), ("file_bytes", file_bytes)]);
    if file_bytes < wanted_bytes {
        let [size, wanted] = [file_bytes, wanted_bytes].map(format_size);
        let note = format!("the file is {size} instead of {wanted}: {dir} has only {free} free");
        plan.notes.push(note);
    }
    Ok(plan)
}

/// Writes the file over and over. A full file system is counted, and the file restarted.
fn work(worker: &Worker<'_>) -> Endless {
    let path = worker.setting.work_dir.join("written.dat");
    let failed = |error| at(format!("write {}", path.display()))(error);
    let mut file = emptied(&path).map_err(failed)?;
    let buffer = filled_buffer(worker)?;
    let file_bytes = worker.plan.param("file_bytes");
    let mut at_bytes = 0;
    loop {
        let rest = (file_bytes - at_bytes).min(buffer.len() as u64) as usize;
        match write_counted(worker, &mut file, &buffer[..rest]) {
            Ok(()) => at_bytes += rest as u64,
            Err(error) if is_full(&error) => {
                worker.add(NO_SPACE, 1);
                at_bytes = file_bytes;
            }
            Err(error) => return Err(failed(error)),
        }
        if at_bytes >= file_bytes {
            at_bytes = 0;
            let start_ns = monotonic_ns();
            file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
            worker.add(BUSY_NS, monotonic_ns() - start_ns);
            worker.add(FILES, 1);
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The buffer, filled with seeded bytes that no file system can compress.
fn filled_buffer(worker: &Worker<'_>) -> Result<Vec<u8>, WorkloadError> {
    let length = worker.plan.param("buffer_bytes") as usize;
    let mut buffer = Vec::new();
    let reserved = buffer.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory.into());
    reserved.map_err(at("allocate the buffer"))?;
    buffer.resize(length, 0);
    worker.random().fill_bytes(&mut buffer);
    Ok(buffer)
}

/// Writes all bytes; counts what each call wrote and its time immediately.
fn write_counted(worker: &Worker<'_>, file: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let start_ns = monotonic_ns();
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::StorageFull.into()),
            Ok(written) => {
                worker.add(BUSY_NS, monotonic_ns() - start_ns);
                worker.add(WRITTEN_BYTES, written as u64);
                bytes = &bytes[written..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Warm when the size of memory, or the whole file, has been written once.
fn is_warm(progress: &Progress<'_>) -> bool {
    let enough = progress.setting.memory_bytes.min(progress.plan.param("file_bytes"));
    progress.since_start(WRITTEN_BYTES) >= enough || progress.since_start(FILES) > 0
}
