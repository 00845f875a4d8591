//! `exhaust-text`: a program whose heap leaves too little memory for its text, which is a mapped file
//! that it reads at random. Its pages can always be dropped and read again, so nothing is killed.

use std::io::Write;

use rand::{Rng, RngExt};
use sys::memory::{Advice, Mapping};

use super::{CHUNK_BYTES, Offenders, exhaustion, fill_half, grow, keep, planned, random_of};
use crate::{Endless, Plan, Setting, Worker, Workload, at, emptied, page_bytes, scaled};

/// Text as a share of memory.
const TEXT_SHARE: f64 = 0.4;
/// Heap as a share of memory at an intensity of 1; a quarter is the bystander's.
const HEAP_SHARE: f64 = 0.5;
/// Share of memory that the heap takes per second.
const SHARE_PER_S: f64 = 0.125;
/// Reads of the text between two looks at nothing else.
const BATCH: usize = 256;

pub(crate) const LOAD: Workload = Workload {
    name: "exhaust-text",
    about: "a program of 40 % of memory, read at random, next to a heap of 50 %",
    ..exhaustion(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let text_bytes = setting.pages_of_memory(TEXT_SHARE) * page_bytes() as u64;
    setting.needs_disk(text_bytes)?;
    let size_bytes = scaled(setting.memory_bytes, HEAP_SHARE * setting.intensity);
    let bytes_per_s = scaled(setting.memory_bytes, SHARE_PER_S);
    let mut plan = planned(setting, Offenders { at_once: 1, most: 1, size_bytes, bytes_per_s })?;
    plan.params.insert("text_bytes".to_owned(), text_bytes);
    Ok(plan)
}

fn work(worker: &Worker<'_>) -> Endless {
    keep(worker, &|worker, number| {
        let path = worker.setting.work_dir.join("text.dat");
        let text_bytes = worker.plan.param("text_bytes");
        let mut random = random_of(worker, number);
        let mut chunk = vec![0; CHUNK_BYTES as usize];
        let mut file = emptied(&path).map_err(at(format!("create {}", path.display())))?;
        for _ in 0..text_bytes.div_ceil(CHUNK_BYTES) {
            random.fill_bytes(&mut chunk);
            file.write_all(&chunk).map_err(at("write the text"))?;
        }
        drop(chunk);
        file.sync_all().map_err(at("sync the text"))?;
        let text =
            Mapping::file_read_only(&file, text_bytes as usize).map_err(at("map the text"))?;
        text.advise(Advice::Random).map_err(at("advise random reads"))?;
        let pages = text_bytes as usize / page_bytes();
        let mut sum: u64 = 0;
        let size_bytes = worker.plan.param("offender_bytes");
        let mut filling = random.clone();
        let _heap = grow(worker, size_bytes, &mut |mapping| {
            fill_half(mapping, &mut filling);
            let offsets = (0..BATCH).map(|_| random.random_range(0..pages) * page_bytes());
            sum = sum.wrapping_add(text.read_each(offsets));
        })?;
        loop {
            let offsets = (0..BATCH).map(|_| random.random_range(0..pages) * page_bytes());
            sum = sum.wrapping_add(text.read_each(offsets));
            std::hint::black_box(sum);
        }
    })
}
