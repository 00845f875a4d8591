//! What `8ctx-mem` and `2ctx-mem` share: processes that together hold more memory than there is,
//! and pass tokens in a ring, each token moving its holder on through its memory.

use std::convert::Infallible;
use std::fs::OpenOptions;
use std::io::{self, Write};

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sys::memory::Mapping;
use sys::message_queue::MessageQueue;

use crate::desc::{Dose, Plan, Progress, Setting, Unsupported, Work, WorkError, scaled};

/// All processes together hold this part of the memory.
const MEMORY_SHARE: f64 = 1.2;
/// Swap space needed before anonymous memory is used, as a part of the memory: the fifth that
/// does not fit, the rest of the system, and room.
const SWAP_SHARE: f64 = 0.35;
/// Share of the free disk space that files in place of swap may take.
const DISK_SHARE: f64 = 0.8;
/// Bytes per step in which memory is filled.
const FILL_BYTES: usize = 1 << 20;

const FILLED_BYTES: usize = 0;
const CIRCLES: usize = 1;
const TRIPS: usize = 2;
const ROUNDS: usize = 3;

/// Names of the totals, in the order of the slots.
pub(crate) const TOTALS: &[&str] = &["filled_bytes", "circles", "trips", "rounds"];

/// Plans a ring whose tokens move each process on by `stride_bytes`.
pub(crate) fn plan(setting: &Setting, stride_bytes: u64) -> Result<Plan, Unsupported> {
    let processes = u64::from(setting.cpus) + 2;
    let mut notes = Vec::new();
    let mut total_bytes = scaled(setting.memory_bytes, MEMORY_SHARE * setting.intensity);
    let anonymous = setting.swap_bytes >= scaled(setting.memory_bytes, SWAP_SHARE);
    if !anonymous {
        notes.push(format!(
            "swap space of {} bytes is too small: the memory is file-backed, so file pages are \
             thrashed and not anonymous ones",
            setting.swap_bytes
        ));
        let possible_bytes = scaled(setting.free_disk_bytes, DISK_SHARE);
        if possible_bytes < total_bytes {
            notes.push(format!(
                "the memory is {possible_bytes} bytes instead of {total_bytes}: {} has only {} \
                 bytes free",
                setting.work_dir.display(),
                setting.free_disk_bytes
            ));
            total_bytes = possible_bytes;
        }
    }
    let process_bytes = total_bytes / processes / FILL_BYTES as u64 * FILL_BYTES as u64;
    if process_bytes == 0 {
        let text = format!(
            "memory of {} bytes or the free space in {} is too small: each of {processes} \
             processes needs at least 1 MiB",
            setting.memory_bytes,
            setting.work_dir.display()
        );
        return Err(Unsupported(text));
    }
    let params = [
        ("processes".to_owned(), processes),
        ("tokens".to_owned(), u64::from(setting.cpus)),
        ("process_bytes".to_owned(), process_bytes),
        ("stride_bytes".to_owned(), stride_bytes),
        ("anonymous".to_owned(), u64::from(anonymous)),
    ];
    Ok(Plan { workers: processes as usize, params: params.into(), notes })
}

/// Makes the message queue of the ring.
pub(crate) fn prepare(setting: &Setting, _: &Plan) -> Result<(), WorkError> {
    MessageQueue::create(setting.queue_key)
        .map(|_| ())
        .map_err(|error| WorkError::new("make a SysV message queue", &error))
}

/// Removes the message queue of the ring.
pub(crate) fn finish(setting: &Setting) {
    if let Ok(queue) = MessageQueue::open(setting.queue_key) {
        // Gone already is as good as removed.
        let _ = queue.remove();
    }
}

/// Fills this process's memory, then passes tokens and moves on through it, a stride a token.
pub(crate) fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let queue = MessageQueue::open(work.setting.queue_key)
        .map_err(|error| WorkError::new("open the message queue", &error))?;
    let memory = filled_memory(work)?;
    let size = memory.size_bytes();
    let stride = work.plan.param("stride_bytes").max(1) as usize;
    let me = work.worker as i32 + 1;
    let next = (work.worker + 1) as i32 % work.plan.workers as i32 + 1;
    let pass = |error: io::Error| WorkError::new("pass a token", &error);
    if work.worker == 0 {
        for token in 0..work.plan.param("tokens") {
            queue.send(me, token).map_err(pass)?;
        }
    }
    let mut offset = 0;
    loop {
        let token = queue.receive(me).map_err(pass)?;
        memory.write(offset, token as u8);
        offset += stride;
        if offset >= size {
            offset = 0;
            work.board.add(work.worker, ROUNDS, 1);
        }
        work.board.add(work.worker, TRIPS, 1);
        if work.worker == 0 {
            work.board.add(0, CIRCLES, 1);
        }
        queue.send(next, token).map_err(pass)?;
    }
}

/// This process's memory, every page written once with seeded bytes.
fn filled_memory(work: &Work<'_>) -> Result<Mapping, WorkError> {
    let size = work.plan.param("process_bytes") as usize;
    let mut random = Pcg64Mcg::seed_from_u64(work.setting.seed ^ work.worker as u64);
    if work.plan.param("anonymous") == 1 {
        let memory = Mapping::anonymous(size)
            .map_err(|error| WorkError::new("allocate the memory", &error))?;
        for offset in (0..size).step_by(8) {
            memory.write(offset, random.next_u64() as u8);
            if offset % FILL_BYTES == 0 && offset > 0 {
                work.board.add(work.worker, FILLED_BYTES, FILL_BYTES as u64);
            }
        }
        work.board.set(work.worker, FILLED_BYTES, size as u64);
        return Ok(memory);
    }
    let path = work.setting.work_dir.join(format!("memory-{}.dat", work.worker));
    let step = format!("fill {}", path.display());
    let failed = |error: io::Error| WorkError::new(&step, &error);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)
        .map_err(failed)?;
    let mut buffer = vec![0; FILL_BYTES];
    for _ in 0..size / FILL_BYTES {
        random.fill_bytes(&mut buffer);
        file.write_all(&buffer).map_err(failed)?;
        work.board.add(work.worker, FILLED_BYTES, FILL_BYTES as u64);
    }
    Mapping::file_shared(&file, size).map_err(failed)
}

/// Warm when all memory has been filled and the ring turns.
pub(crate) fn warm(progress: &Progress<'_>) -> bool {
    progress.total_since_start(FILLED_BYTES) >= intended_bytes(progress.plan)
        && progress.total_since_start(CIRCLES) > 0
}

/// Intended: all processes hold their memory, and the ring turned during the span.
pub(crate) fn dose(progress: &Progress<'_>) -> Dose {
    let intended = intended_bytes(progress.plan);
    let turning = progress.total(CIRCLES) > 0;
    let held_bytes = progress.total_since_start(FILLED_BYTES);
    Dose { intended, delivered: if turning { held_bytes } else { 0 } }
}

fn intended_bytes(plan: &Plan) -> u64 {
    plan.param("process_bytes") * plan.workers as u64
}
