//! Traces as programs: folding, cutting, forks and copies.

use super::*;
use crate::{Machine, System, Workload, simulate};

/// Resident blocks.
struct Blocks(std::vec::IntoIter<Block>);

impl Source for Blocks {
    fn next(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        let next = self.0.next();
        let is_there = next.is_some();
        *block = next.unwrap_or_default();
        Ok(is_there)
    }
}

fn block(process: u32, runs: &[(u64, u32, bool)], events: Vec<(u32, Event)>) -> Block {
    let run = |(page, count, written): &(u64, u32, bool)| PageRun {
        page: *page,
        count: *count,
        fetch: false,
        written: *written,
    };
    Block { process, runs: runs.iter().map(run).collect(), events, ..Block::default() }
}

fn taken(blocks: Vec<Block>, most_visits: u64) -> TraceProgram {
    TraceProgram::take(&mut Blocks(blocks.into_iter()), 1, most_visits).unwrap()
}

fn setup(machine: &str) -> Setup {
    let text = crate::MACHINES.iter().find(|(name, _)| *name == machine).unwrap().1;
    Setup::new(Machine::parse(text).unwrap(), System::named("old").unwrap())
}

#[test]
fn references_become_touches_of_folded_segments() {
    let far = 0x7fff_ffff_f000 >> 12;
    let program =
        taken(vec![block(4, &[(far, 40, false), (5, 16, true), (far, 8, false)], vec![])], 9);
    assert_eq!((program.references, program.visits, program.note()), (64, 2, None));
    let bit = 1 << (far & 63);
    let expected =
        [Action::Touch(vec![(0, bit, 3)], false), Action::Touch(vec![(1, 1 << 5, 1)], true)];
    assert_eq!(program.processes[&4], expected);
    let scene = scene(&program, &setup("sparcstation1"));
    assert_eq!(scene.programs[0].layout.pages.len(), 2);
    assert_eq!(scene.programs[0].steps.len(), 3);
}

#[test]
fn pages_of_other_sizes_are_folded() {
    assert_eq!(fold(0b1001, 4096), 0b1001);
    assert_eq!(fold(0b1001, 8192), 0b11);
    assert_eq!(fold(1 << 63 | 1 << 62, 8192), 1 << 31);
    assert_eq!(fold(1 << 63, 256 << 10), 1);
}

#[test]
fn a_trace_that_is_longer_than_there_is_room_is_cut_and_says_so() {
    let runs: Vec<(u64, u32, bool)> = (0..100).map(|segment| (segment * 64, 1, false)).collect();
    let program = taken(vec![block(0, &runs, vec![])], 20);
    assert_eq!((program.references, program.visits), (24, 24));
    assert!(program.note().unwrap().contains("first 24 references"));
    let wide: Vec<(u64, u32, bool)> = (0..5000).map(|segment| (segment * 64, 1, false)).collect();
    let program = taken(vec![block(0, &wide, vec![])], u64::MAX);
    assert!(program.note().unwrap().contains("address space"), "{:?}", program.note());
    let _ = scene(&program, &setup("sparcstation1"));
}

#[test]
fn a_fork_is_a_fork_and_copies_run_beside_each_other() {
    let fork = Event::Fork { child: 9 };
    let blocks = vec![
        block(1, &[(0, 16, true)], vec![(1, fork)]),
        block(9, &[(0, 16, true), (64, 16, false)], vec![(2, Event::Exit)]),
    ];
    let mut program = taken(blocks, 100);
    program.copies = 3;
    for machine in ["sparcstation1", "4-3xx"] {
        let outcome = simulate(&setup(machine), &Workload::Trace(program.clone()), 1);
        assert_eq!(outcome.processes.len(), 6);
        assert_eq!(outcome.touches, 3 * 3);
        // Each process faults on what it touches; the parents' pages are zeroes first.
        assert_eq!(outcome.translation_faults, 3 * 3);
    }
}
