//! `response`: resp1's interaction. After an idle interval it scans, byte by byte, an array that
//! was allocated at the start and may have been evicted since; then it allocates, touches and scans
//! a fresh array, which needs free pages.
//!
//! The kernel protects memory in frequent use, and resp1 left it idle for 20 s. If the interval is
//! shorter, each interaction scans the next of several slices. The array is anonymous memory as in
//! resp1, or a mapped file if there is no swap, because anonymous memory cannot be evicted then.

use std::hint::black_box;
use std::io::Write;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sys::clock::monotonic_ns;
use sys::memory::Mapping;

use crate::{
    Interaction, Parts, Plan, Probe, ProbeResult, Rhythm, Setting, Work, Workload, WorkloadError,
    at, emptied,
};

/// Size of each array in a memory of at least 256 MiB, in bytes.
const ARRAY_BYTES: u64 = 8 << 20;
/// Idle time of the scanned memory, as far as [`MOST_SLICES`] allows, in ns.
const IDLE_NS: u64 = 20_000_000_000;
/// Most slices of the resident array: together at most an eighth of the memory.
const MOST_SLICES: u64 = 4;
/// In a smaller memory each array is this part of it.
const MEMORY_PART: u64 = 32;
/// Distance of touched bytes in fresh memory: at most the size of a page.
const PAGE_BYTES: usize = 4096;

pub(crate) const PROBE: Workload = Workload {
    name: "response",
    about: "after idling: scan a resident array, then allocate, touch and scan a fresh one",
    measures: &["resident_scan_ns", "fresh_touch_ns", "fresh_scan_ns", "fresh_free_ns"],
    ..Workload::new(Work::Probe(Probe { rhythm: Rhythm::Interval, plan, make }))
};

fn plan(setting: &Setting) -> Plan {
    let part_bytes = setting.memory_bytes / MEMORY_PART / PAGE_BYTES as u64 * PAGE_BYTES as u64;
    let array_bytes = part_bytes.clamp(PAGE_BYTES as u64, ARRAY_BYTES);
    let anonymous = setting.swap_bytes > 0;
    let slices = IDLE_NS.div_ceil(setting.interval_ns.max(1)).clamp(1, MOST_SLICES);
    let mut plan = Plan::new(
        0,
        [
            ("array_bytes", array_bytes),
            ("resident_slices", slices),
            ("resident_anonymous", u64::from(anonymous)),
        ],
    );
    if !anonymous {
        plan.disk_bytes = array_bytes * slices;
        plan.notes.push(
            "no swap: the probe's resident array is a mapped file, because anonymous memory \
             cannot be evicted"
                .to_owned(),
        );
    }
    plan
}

struct Response {
    resident: Mapping,
    array_bytes: usize,
    slices: usize,
    next_slice: usize,
}

fn make(setting: &Setting, plan: &Plan) -> ProbeResult {
    let array_bytes = plan.param("array_bytes") as usize;
    let slices = plan.param("resident_slices").max(1) as usize;
    let resident_bytes = array_bytes * slices;
    let mut random = Pcg64Mcg::seed_from_u64(setting.seed);
    let resident = if plan.param("resident_anonymous") == 1 {
        let resident = Mapping::anonymous(resident_bytes).map_err(at("map the resident array"))?;
        resident.fill(|| random.next_u64());
        resident
    } else {
        let path = setting.work_dir.join("resident.dat");
        let mut bytes = vec![0; resident_bytes];
        random.fill_bytes(&mut bytes);
        let mut file = emptied(&path).map_err(at("create the file of the resident array"))?;
        file.write_all(&bytes).map_err(at("write the file of the resident array"))?;
        file.sync_data().map_err(at("sync the file of the resident array"))?;
        Mapping::file_read_only(&file, resident_bytes).map_err(at("map the resident array"))?
    };
    black_box(resident.scan(0..resident_bytes));
    Ok(Box::new(Response { resident, array_bytes, slices, next_slice: 0 }))
}

impl Interaction for Response {
    fn interact(&mut self, parts: &mut Parts) -> Result<(), WorkloadError> {
        let start_ns = monotonic_ns();
        let from = self.next_slice * self.array_bytes;
        black_box(self.resident.scan(from..from + self.array_bytes));
        let scanned_ns = monotonic_ns();
        let fresh = Mapping::anonymous(self.array_bytes).map_err(at("map the fresh array"))?;
        fresh.touch(PAGE_BYTES, 1);
        let touched_ns = monotonic_ns();
        black_box(fresh.scan(0..self.array_bytes));
        let fresh_scanned_ns = monotonic_ns();
        drop(fresh);
        parts[0] = scanned_ns - start_ns;
        parts[1] = touched_ns - scanned_ns;
        parts[2] = fresh_scanned_ns - touched_ns;
        parts[3] = monotonic_ns() - fresh_scanned_ns;
        Ok(())
    }

    fn settle(&mut self) {
        self.next_slice = (self.next_slice + 1) % self.slices;
    }
}
