//! `provoke-compaction`: huge pages from memory that is full of holes.

use model::units::format_size;
use rand::RngExt;
use sys::memory::{Advice, Mapping};

use super::{HUGE_BYTES, OPERATIONS, counted, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, page_bytes};

/// Small pages as a share of memory. What they leave free is whole and needs no compaction.
const SMALL: f64 = 0.7;
/// Huge pages as a share of the small ones, of which half are free then.
const HUGE: f64 = 0.45;
/// Pages between two holes, and in a hole: too few for a huge page, enough to make holes quickly.
const HOLE_PAGES: usize = 8;
/// Small pages that are touched or freed in an operation.
const STEP_PAGES: usize = 512;
/// Rounds of three operations for each huge page.
const WARM_OPERATIONS: u64 = 2 * 3;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-compaction",
    about: "huge pages from memory that is full of holes (at 0 half of it is free as a whole)",
    is_warm: |progress| {
        let huge_pages = progress.plan.param("huge_bytes") / HUGE_BYTES;
        progress.since_start(OPERATIONS) >= WARM_OPERATIONS * huge_pages
    },
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let small_pages = setting.pages_of_memory(SMALL) as usize / (2 * HOLE_PAGES) * 2 * HOLE_PAGES;
    let small_bytes = (small_pages * page_bytes()) as u64;
    let huge_bytes = (small_bytes as f64 * HUGE) as u64 / HUGE_BYTES * HUGE_BYTES;
    if huge_bytes == 0 {
        let [least, memory] = [4 * HUGE_BYTES, setting.memory_bytes].map(format_size);
        return Err(format!("huge pages need memory of {least} at least, and there is {memory}"));
    }
    let holes = u64::from(setting.intensity > 0.0);
    Ok(Plan::new(1, [("small_bytes", small_bytes), ("huge_bytes", huge_bytes), ("holes", holes)]))
}

/// Each round fills memory, frees half of it, and asks for huge pages, in steps of about a huge page.
fn work(worker: &Worker<'_>) -> Endless {
    let [small_bytes, huge_bytes] =
        ["small_bytes", "huge_bytes"].map(|name| worker.plan.param(name) as usize);
    let has_holes = worker.plan.param("holes") > 0;
    let small = Mapping::small_pages(small_bytes).map_err(at("map memory"))?;
    let mut random = worker.random();
    let hole_bytes = HOLE_PAGES * page_bytes();
    let pair_count = small_bytes / (2 * hole_bytes);
    let mut free = |pair: usize| {
        let hole = if has_holes { 2 * pair + random.random_range(0..2) } else { pair_count + pair };
        small.give_back(hole * hole_bytes..(hole + 1) * hole_bytes)
    };
    let pages: Vec<usize> = (0..small_bytes).step_by(page_bytes()).collect();
    let pairs: Vec<usize> = (0..pair_count).collect();
    loop {
        for step in pages.chunks(STEP_PAGES) {
            counted(worker, 1, || small.write_each(step.iter().copied(), 1));
        }
        for step in pairs.chunks(STEP_PAGES / HOLE_PAGES) {
            counted(worker, 1, || step.iter().try_for_each(|pair| free(*pair)))
                .map_err(at("free memory"))?;
        }
        // The first one is a small page, where the mapping does not begin at a huge one.
        let huge = Mapping::anonymous(huge_bytes + HUGE_BYTES as usize)
            .and_then(|huge| huge.advise(Advice::Huge).map(|()| huge))
            .map_err(at("ask for huge pages"))?;
        for offset in (0..huge.size_bytes()).step_by(HUGE_BYTES as usize) {
            counted(worker, 1, || huge.write(offset, 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_small_pages_have_room_for_the_huge_ones() {
        let setting =
            |memory_bytes, intensity| Setting { memory_bytes, intensity, ..Setting::default() };
        let full = plan(&setting(160 << 20, 1.0)).unwrap();
        let (small, huge) = (full.param("small_bytes"), full.param("huge_bytes"));
        assert_eq!((small % (16 * page_bytes() as u64), huge % HUGE_BYTES), (0, 0));
        assert!(huge < small / 2 && huge > small / 2 - 8 * HUGE_BYTES, "{small} {huge}");
        assert_eq!(
            (full.param("holes"), plan(&setting(160 << 20, 0.0)).unwrap().param("holes")),
            (1, 0)
        );
        assert!(plan(&setting(4 << 20, 1.0)).unwrap_err().contains("8M"));
    }
}
