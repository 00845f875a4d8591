//! What `8ctx-mem` and `2ctx-mem` share: processes that exceed memory and pass tokens in a ring.

use std::io::{self, Write};

use model::units::format_size;
use rand::Rng;
use rand_pcg::Pcg64Mcg;
use sys::memory::Mapping;
use sys::sysv::MessageQueue;
use sys::writeback::write_back;

use crate::{
    Endless, Load, LoadVolume, Plan, Progress, Setting, Work, Worker, Workload, WorkloadError, at,
    emptied, scaled,
};

/// Memory of all processes together, as a share of the subject's memory.
const MEMORY_SHARE: f64 = 1.2;
/// Swap needed, as a share of memory: the fifth that does not fit, the system, and some room.
const SWAP_SHARE: f64 = 0.35;
/// Share of the free disk space that files may take if swap is too small.
const DISK_SHARE: f64 = 0.8;
/// Anonymous share of the memory if swap is too small.
const ANONYMOUS_SHARE: f64 = 0.6;
/// Size of the alternating anonymous and file-backed chunks, in bytes.
const CHUNK_BYTES: usize = 1 << 20;

const FILLED_BYTES: usize = 0;
const CIRCLES: usize = 1;
const TRIPS: usize = 2;
const ROUNDS: usize = 3;

pub(super) const fn workload(plan: fn(&Setting) -> Result<Plan, String>) -> Workload {
    Workload {
        measures: &["filled_bytes", "circles", "trips", "rounds"],
        volume_unit: "bytes",
        // When all memory has been filled and the ring turns.
        is_warm: |progress| {
            progress.since_start(FILLED_BYTES) >= intended_bytes(progress.plan)
                && progress.since_start(CIRCLES) > 0
        },
        ..Workload::new(Work::Load(Load { prepare, finish, ..Load::new(plan, work, volume) }))
    }
}

/// Plans a ring whose tokens move each process on by `stride_bytes`. Without enough swap, only a
/// part is anonymous memory, which then cannot be evicted; the rest is mapped from files.
pub(super) fn plan(setting: &Setting, stride_bytes: u64) -> Result<Plan, String> {
    let processes = setting.cpus() + 2;
    let total_bytes = scaled(setting.memory_bytes, MEMORY_SHARE * setting.intensity);
    let mut notes = Vec::new();
    let mut file_bytes = 0;
    if setting.swap_bytes < scaled(setting.memory_bytes, SWAP_SHARE) {
        let pinned_bytes = scaled(setting.memory_bytes, ANONYMOUS_SHARE).min(total_bytes);
        file_bytes = total_bytes - pinned_bytes;
    }
    if file_bytes > 0 {
        let [swap, stays, backed] =
            [setting.swap_bytes, total_bytes - file_bytes, file_bytes].map(format_size);
        notes.push(format!(
            "{swap} of swap is too small: {stays} of its memory is anonymous and stays, {backed} \
             is file-backed, so file pages are thrashed"
        ));
    }
    let possible_bytes = scaled(setting.free_disk_bytes, DISK_SHARE);
    let wanted_bytes = total_bytes - file_bytes + file_bytes.min(possible_bytes);
    if wanted_bytes < total_bytes {
        let ([size, wanted], [dir, free]) =
            ([wanted_bytes, total_bytes].map(format_size), setting.disk());
        notes.push(format!("its memory is {size} instead of {wanted}: {dir} has only {free} free"));
        file_bytes = possible_bytes;
    }
    let whole = |bytes: u64| bytes / processes / CHUNK_BYTES as u64 * CHUNK_BYTES as u64;
    let (anonymous_bytes, file_bytes) =
        (whole(total_bytes.min(wanted_bytes) - file_bytes), whole(file_bytes));
    if anonymous_bytes + file_bytes == 0 {
        return Err(format!(
            "memory of {} is too small: each of {processes} processes needs at least 1 MiB",
            format_size(setting.memory_bytes)
        ));
    }
    let params = [
        ("processes", processes),
        ("tokens", setting.cpus()),
        ("anonymous_bytes_each", anonymous_bytes),
        ("file_bytes_each", file_bytes),
        ("stride_bytes", stride_bytes),
    ];
    Ok(Plan { notes, ..Plan::new(processes, params) })
}

fn prepare(setting: &Setting) -> Result<(), WorkloadError> {
    MessageQueue::create(setting.queue_key).map(drop).map_err(at("create a SysV message queue"))
}

fn finish(setting: &Setting) {
    if let Ok(queue) = MessageQueue::open(setting.queue_key) {
        let _ = queue.remove();
    }
}

/// Fills this process's memory, then passes tokens and advances by a stride per token.
fn work(worker: &Worker<'_>) -> Endless {
    let queue =
        MessageQueue::open(worker.setting.queue_key).map_err(at("open the message queue"))?;
    let memory = Memory::filled(worker)?;
    let stride = worker.plan.param("stride_bytes").max(1) as usize;
    let me = worker.number as i32 + 1;
    let next = (worker.number + 1) as i32 % worker.plan.workers as i32 + 1;
    let pass = |error| at("pass a token")(error);
    if worker.number == 0 {
        for token in 0..worker.plan.param("tokens") {
            queue.send(me, token).map_err(pass)?;
        }
    }
    let mut offset = 0;
    loop {
        let token = queue.receive(me).map_err(pass)?;
        memory.write(offset, token as u8);
        offset += stride;
        if offset >= memory.size_bytes() {
            offset = 0;
            worker.add(ROUNDS, 1);
        }
        worker.add(TRIPS, 1);
        if worker.number == 0 {
            worker.add(CIRCLES, 1);
        }
        queue.send(next, token).map_err(pass)?;
    }
}

/// The memory of one process: anonymous and file-mapped chunks alternate while there are both.
struct Memory {
    mappings: [Option<Mapping>; 2],
    /// The offset of each chunk, and the index of its mapping.
    chunks: Vec<(usize, usize)>,
}

impl Memory {
    /// Maps the memory and writes all of it once, with seeded bytes.
    fn filled(worker: &Worker<'_>) -> Result<Self, WorkloadError> {
        let mut random = worker.random();
        let mappings = [filled_anonymous(worker, &mut random)?, filled_file(worker, &mut random)?];
        let sizes = mappings.each_ref().map(|one| one.as_ref().map_or(0, Mapping::size_bytes));
        let starts = |which| (0..sizes[which]).step_by(CHUNK_BYTES).map(move |at| (at, which));
        let mut chunks: Vec<(usize, usize)> = starts(0).chain(starts(1)).collect();
        chunks.sort_unstable();
        Ok(Self { mappings, chunks })
    }

    fn size_bytes(&self) -> usize {
        self.chunks.len() * CHUNK_BYTES
    }

    fn write(&self, offset: usize, value: u8) {
        if let Some((start, which)) = self.chunks.get(offset / CHUNK_BYTES)
            && let Some(mapping) = &self.mappings[*which]
        {
            mapping.write(start + offset % CHUNK_BYTES, value);
        }
    }
}

fn filled_anonymous(
    worker: &Worker<'_>,
    random: &mut Pcg64Mcg,
) -> Result<Option<Mapping>, WorkloadError> {
    let size = worker.plan.param("anonymous_bytes_each") as usize;
    if size == 0 {
        return Ok(None);
    }
    let memory = Mapping::anonymous(size).map_err(at("allocate the memory"))?;
    for chunk in (0..size).step_by(CHUNK_BYTES) {
        for offset in (chunk..chunk + CHUNK_BYTES).step_by(8) {
            memory.write(offset, random.next_u64() as u8);
        }
        worker.add(FILLED_BYTES, CHUNK_BYTES as u64);
    }
    Ok(Some(memory))
}

/// Fills a file, and has each chunk on the disk before the next one: control groups of version 1
/// do not slow down who makes pages dirty, and a group that is full of them is out of memory.
fn filled_file(
    worker: &Worker<'_>,
    random: &mut Pcg64Mcg,
) -> Result<Option<Mapping>, WorkloadError> {
    let size = worker.plan.param("file_bytes_each") as usize;
    if size == 0 {
        return Ok(None);
    }
    let path = worker.setting.work_dir.join(format!("memory-{}.dat", worker.number));
    let failed = |error: io::Error| at(format!("fill {}", path.display()))(error);
    let mut file = emptied(&path).map_err(failed)?;
    let mut buffer = vec![0; CHUNK_BYTES];
    for chunk in (0..(size / CHUNK_BYTES * CHUNK_BYTES) as u64).step_by(CHUNK_BYTES) {
        random.fill_bytes(&mut buffer);
        file.write_all(&buffer).map_err(failed)?;
        write_back(&file, chunk..chunk + CHUNK_BYTES as u64).map_err(failed)?;
        worker.add(FILLED_BYTES, CHUNK_BYTES as u64);
    }
    Mapping::file_shared(&file, size).map(Some).map_err(failed)
}

/// Intended: all processes hold their memory, and the ring turned during the span.
fn volume(progress: &Progress<'_>) -> LoadVolume {
    let intended = intended_bytes(progress.plan);
    let turning = progress.total(CIRCLES) > 0;
    LoadVolume { intended, delivered: if turning { progress.since_start(FILLED_BYTES) } else { 0 } }
}

fn intended_bytes(plan: &Plan) -> u64 {
    let each = plan.param("anonymous_bytes_each") + plan.param("file_bytes_each");
    each * plan.workers as u64
}
