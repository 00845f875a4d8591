//! Traces of whole guests, worked out by hand on the machine `tiny`.

use trace::{Block, Event};

use super::data;
use crate::tlb::{MACHINES, Machine, Options, Outcome, Simulator};

const LARGE: u64 = 512;

fn tiny() -> Machine {
    let (_, text) = MACHINES.iter().find(|(name, _)| *name == "tiny").unwrap();
    Machine::parse(text).unwrap()
}

fn translation(page: u64, size: u8, is_global: bool) -> Event {
    Event::Translation { address: page << trace::PAGE_SHIFT, size, is_global }
}

/// The pages of an address space and a virtual CPU, and the events before them.
type Part<'a> = ((u32, u32), &'a [Event], &'a [u64]);

fn run(options: &Options, blocks: &[Part<'_>]) -> Outcome {
    let mut simulator = Simulator::new(&tiny(), options).unwrap();
    for ((process, thread), events, pages) in blocks {
        let events = events.iter().map(|event| (0, event.clone())).collect();
        let (process, thread) = (*process, *thread);
        let block = Block { process, thread, runs: data(pages), events, ..Block::default() };
        simulator.block(&block);
    }
    simulator.outcome()
}

#[test]
fn pages_of_2_mib_take_one_translation() {
    let pages = [0, 1, 2, 3, 4, 5];
    let small = pages.map(|page| translation(page, 0, false));
    let large = pages.map(|page| translation(page, 1, false));
    let walks = [&small, &large].map(|events| {
        let outcome = run(&Options::default(), &[((0, 0), events, &pages)]);
        (outcome.walks.walks, outcome.walks.all_steps(), outcome.tlbs[1].misses)
    });
    // The first walk reads all tables, and those after it the lowest one only.
    assert_eq!(walks, [(6, 4 + 5, 6), (1, 3, 1)]);
    // A policy takes the place of what was recorded.
    let mut options = Options::default();
    options.set("pages", "all").unwrap();
    assert_eq!(run(&options, &[((0, 0), &small, &pages)]).walks.walks, 1);
}

#[test]
fn a_flush_leaves_global_translations_or_not() {
    let events = [translation(0, 0, false), translation(1, 0, true)];
    let walks = |globals_too| {
        let again = [Event::Flush { globals_too }, events[0].clone(), events[1].clone()];
        let blocks = [((0, 0), &events[..], &[0, 1][..]), ((7, 0), &again[..], &[0, 1][..])];
        let outcome = run(&Options::default(), &blocks);
        assert_eq!(outcome.flushes, 1);
        outcome.walks.walks
    };
    assert_eq!((walks(false), walks(true)), (3, 4));
}

#[test]
fn a_page_is_flushed_alone_with_the_caches_of_upper_entries() {
    let events = [translation(0, 0, false), translation(1, 0, false)];
    let again = [Event::FlushPage { address: 0 }, events[0].clone()];
    let blocks = [((0, 0), &events[..], &[0, 1][..]), ((0, 0), &again[..], &[0, 1][..])];
    let outcome = run(&Options::default(), &blocks);
    assert_eq!((outcome.walks.walks, outcome.page_flushes), (3, 1));
    // The third walk begins at the top again.
    assert_eq!(outcome.walks.all_steps(), 4 + 1 + 4);
    let events = [translation(LARGE, 1, false), translation(LARGE + 1, 1, false)];
    let again = [Event::FlushPage { address: (LARGE + 9) << 12 }, events[1].clone()];
    let blocks = [((0, 0), &events[..], &[LARGE][..]), ((0, 0), &again[..], &[LARGE + 1][..])];
    assert_eq!(run(&Options::default(), &blocks).walks.walks, 2);
}

#[test]
fn each_virtual_cpu_has_its_own_core() {
    let events = [translation(0, 0, false)];
    let flush = [Event::Flush { globals_too: true }, events[0].clone()];
    let blocks = [
        ((0, 0), &events[..], &[0][..]),
        ((0, 1), &events[..], &[0][..]),
        ((0, 1), &flush[..], &[0][..]),
        ((0, 0), &[][..], &[0][..]),
    ];
    let options = Options { cores: 2, ..Options::default() };
    assert_eq!(run(&options, &blocks).walks.walks, 3);
}
