//! Curves of blocks.

use mmu::curve::{Profile, Profiled, Request, Sampling, Unit};
use trace::{Access, Block, PageRun, Reference};

fn request(units: &[u64]) -> Request {
    Request {
        units: units.iter().map(|bytes| Unit::new(*bytes).unwrap()).collect(),
        sets: vec![],
        ways: 4,
        sampling: None,
        seed: 0,
        window: None,
        process: None,
    }
}

fn run(page: u64, count: u32) -> PageRun {
    PageRun { page, count, fetch: false, written: false }
}

/// Two processes by turns, in two pages each.
fn blocks() -> Vec<Block> {
    let block = |process, runs| Block { process, runs, ..Block::default() };
    vec![
        block(0, vec![run(0x200, 3), run(0x3ff, 1)]),
        block(1, vec![run(0x200, 2), run(0x400, 1)]),
        block(0, vec![run(0x3ff, 1), run(0x200, 1)]),
    ]
}

fn profiled(request: &Request) -> Profiled {
    let mut profile = Profile::new(request).unwrap();
    blocks().iter().for_each(|block| profile.block(block).unwrap());
    profile.finish()
}

#[test]
fn processes_have_pages_of_their_own() {
    let both = profiled(&request(&[4096, 2 << 20]));
    assert_eq!((both.references, both.left_out), (9, 0));
    let small = &both.units[0].curve;
    assert_eq!(small.cold_misses, 4);
    // Distances of the last two: two pages of the other process; the same and one more.
    let misses: Vec<u64> = small.points.iter().map(|point| point.misses).collect();
    assert_eq!(misses, [6, 6, 5, 4, 4, 4, 4, 4]);
    // 0x200 and 0x3ff are in one unit of 2 MiB, 0x400 is in the next.
    let large = &both.units[1].curve;
    let misses: Vec<u64> = large.points.iter().map(|point| point.misses).collect();
    assert_eq!((large.cold_misses, misses), (3, vec![4, 4, 3, 3, 3, 3]));
    assert_eq!(large.points.last().unwrap().misses, 3);
}

#[test]
fn one_process_leaves_the_others_out() {
    let one = profiled(&Request { process: Some(0), ..request(&[4096]) });
    assert_eq!((one.references, one.left_out), (6, 3));
    let misses: Vec<u64> = one.units[0].curve.points.iter().map(|point| point.misses).collect();
    assert_eq!(misses, [3, 2, 2, 2]);
}

#[test]
fn lines_need_references() {
    let mut profile = Profile::new(&request(&[64])).unwrap();
    let refused = profile.block(&blocks()[0]).unwrap_err().to_string();
    assert!(refused.contains("no single references"), "{refused}");
    let at = |address| Reference::new(address, Access::Load, 3);
    let references = vec![at(0x1000), at(0x1038), at(0x1040), at(0x1000)];
    let block = Block { runs: vec![run(1, 4)], references, ..Block::default() };
    profile.block(&block).unwrap();
    let curve = profile.finish().units.remove(0).curve;
    let misses: Vec<u64> = curve.points.iter().map(|point| point.misses).collect();
    assert_eq!((curve.cold_misses, misses), (2, vec![3, 2, 2, 2]));
}

#[test]
fn what_is_out_of_range_is_refused() {
    let sets = Profile::new(&Request { sets: vec![16, 3], ..request(&[4096]) });
    assert!(sets.unwrap_err().to_string().starts_with("3 sets of up to 4 ways"));
    let sampling = Some(Sampling::Rate(2.0));
    let rate = Profile::new(&Request { sampling, ..request(&[4096]) });
    assert!(rate.unwrap_err().to_string().contains("above 0 and at most 1"));
}

#[test]
fn all_analyses_see_all_references() {
    let request = Request { sets: vec![1, 2], window: Some(4), ..request(&[4096]) };
    let unit = profiled(&request).units.remove(0);
    assert_eq!(unit.sets[0].misses, [6, 6, 5, 4]);
    // Set 0: 0x200 of both, 0x400 and 0x200 again, three others between; set 1: 0x3ff twice.
    assert_eq!(unit.sets[1].misses, [5, 5, 4, 4]);
    let working_set = unit.working_set.unwrap();
    let units: Vec<u64> = working_set.windows.iter().map(|window| window.units).collect();
    assert_eq!(units, [2, 3, 1]);
}

#[test]
fn a_trace_without_references_has_no_points() {
    let empty = Profile::new(&request(&[4096])).unwrap().finish();
    assert_eq!(empty.units[0].curve.cold_misses, 0);
}
