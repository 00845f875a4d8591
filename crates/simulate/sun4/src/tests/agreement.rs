//! The engine against the reference model, event by event.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::engine::Engine;
use crate::program::{Backing, Layout, Program, Region, Scene, Start, Step, Visit};
use crate::system::{Accounting, ContextPolicy, Reload, Swapping, System, Victim};
use crate::{MACHINES, Machine, SEGMENT_BYTES, Setup};

/// One of the policies of a kind.
fn any_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

prop_compose! {
    /// A small machine with any system.
    fn any_setup()(
        pmegs in 1..8_u32,
        contexts in 1..4_u32,
        page_bytes in prop::sample::select(vec![4096_u64, 8192, 65_536]),
        smegs in prop::sample::select(vec![0_u32, 0, 1, 2, 3]),
        has_cache in any::<bool>(),
        policies in (any_of(Victim::ALL), any_of(Reload::ALL), any_of(ContextPolicy::ALL),
                     any_of(Swapping::ALL), any_of(Accounting::ALL)),
        sharing in any::<bool>(),
        software_pmegs in prop::sample::select(vec![0_u64, 3, 9, 12]),
        jitter_permille in prop::sample::select(vec![0_u32, 500, 1000]),
    ) -> Setup {
        let mut machine = Machine::parse(MACHINES[0].1).unwrap();
        machine.mmu.reserved_pmegs = 2;
        machine.mmu.pmegs = 2 + pmegs;
        machine.mmu.contexts = 1 + contexts;
        machine.mmu.page_bytes = page_bytes;
        machine.mmu.smegs = smegs;
        machine.cache = machine.cache.filter(|_| has_cache);
        let mut system = System::named("old").unwrap();
        (system.victim, system.reload, system.context_policy, system.swapping, system.accounting) =
            policies;
        system.sharing = sharing;
        system.jitter_permille = jitter_permille;
        let mut setup = Setup::new(machine, system);
        setup.set("software_pmegs", &software_pmegs.to_string()).unwrap();
        setup
    }
}

/// Segments of a layout: two regions of 16 MiB, some parts text, data, zeroes, shared.
const SEGMENTS: u64 = 6;

fn layout(page_bytes: u64, kinds: &[u8]) -> Arc<Layout> {
    let mut regions = Vec::new();
    for (segment, kind) in (0..SEGMENTS).zip(kinds) {
        let start =
            if segment < 4 { segment * SEGMENT_BYTES } else { (64 + segment) * SEGMENT_BYTES };
        let half = SEGMENT_BYTES / 2;
        let mut add = |start, bytes, backing| regions.push(Region { start, bytes, backing });
        match kind {
            0 => add(start, SEGMENT_BYTES, Backing::Text(segment as u32)),
            1 => add(start, SEGMENT_BYTES, Backing::Data),
            2 => add(start, SEGMENT_BYTES, Backing::Zero),
            3 => add(start, SEGMENT_BYTES, Backing::Shared(segment as u32)),
            _ => {
                add(start, half, Backing::Text(9));
                add(start + half, half, Backing::Zero);
            }
        }
    }
    Arc::new(Layout::new(page_bytes, regions).unwrap())
}

/// A step as it is drawn: a kind and three numbers.
type Draw = (u8, u64, u64, u64);

/// A touch of some pages; text is never written.
fn touch(layout: &Layout, kinds: &[u8], draw: Draw, page_bytes: u64) -> Step {
    let (_, one, two, three) = draw;
    let pages = SEGMENT_BYTES / page_bytes;
    let segments: Vec<u64> =
        (0..1 + one % 4).map(|at| (two + at * (1 + three % 3)) % SEGMENTS).collect();
    let is_text = |segment: &u64| matches!(kinds[*segment as usize], 0 | 4);
    let is_write = three % 2 == 1 && !segments.iter().any(is_text);
    let count = 1 + two / 7 % (pages / 2);
    // Some stay on a page for longer than a tick.
    let times_a_page = match (one / 4 % 4, segments.len(), count) {
        (3, 1, ..=2) => 12_000,
        (2, _, _) => 3,
        _ => 1,
    };
    let addresses = segments.iter().flat_map(|segment| {
        let start = if *segment < 4 { *segment } else { 64 + *segment } * SEGMENT_BYTES;
        let first = one % pages;
        (0..count).flat_map(move |page| {
            let address = start + (first + page * (1 + two % 2)) % pages * page_bytes;
            std::iter::repeat_n(address, times_a_page)
        })
    });
    let addresses: Vec<u64> = addresses.collect();
    let path = layout.path(addresses, is_write).unwrap();
    let times = if path.touches < 100 { [1, 2, 100][(three % 3) as usize] } else { 1 };
    Step::Touch(Arc::new(path), times)
}

fn program(
    index: usize,
    count: usize,
    draws: &[Draw],
    layouts: &[(Arc<Layout>, Vec<u8>)],
    page_bytes: u64,
    has_calls: bool,
) -> Program {
    let (layout, kinds) = &layouts[index % layouts.len()];
    // What is begun by itself has an address space of its own; so has what has another layout than
    // its parents.
    let mut steps = vec![Step::Exec];
    let mut children = 0;
    for draw in draws {
        let (kind, one, two, _) = *draw;
        match kind {
            0..=5 => steps.push(touch(layout, kinds, *draw, page_bytes)),
            6 => steps.push(Step::Sleep(one * 7_000_000)),
            7 => steps.push(Step::Compute(one * 40_000)),
            8 if index + 1 < count => {
                children += 1;
                steps.push(Step::Fork(index + 1 + two as usize % (count - index - 1)));
            }
            9 => steps.push(Step::Wait),
            10 => steps.push(Step::Again(1 + two as usize % 3, one % 3)),
            11 if has_calls => {
                steps.push(if two % 2 == 0 { Step::Call(1) } else { Step::Serve(1) })
            }
            12 if has_calls => steps.extend([Step::Serve(1), Step::Reply]),
            13 => steps.push(if one % 8 == 0 { Step::Begin } else { Step::Answer }),
            // A search for a child that waits forever never ends.
            14 if children > 0 && !has_calls => {
                steps.extend([Step::Sleep(40_000_000), Step::Look(1)])
            }
            15 if one % 4 == 0 => steps.push(Step::Sleep(21_000_000_000)),
            _ => steps.push(Step::Answer),
        }
    }
    if index > 0 && index.is_multiple_of(2) && layouts.len() == 1 {
        // A child with a copy of its parent's address space.
        steps.remove(0);
    }
    let is_measured = index % 3 != 2;
    let zeroes = kinds.iter().position(|kind| *kind == 2).filter(|_| index % 2 == 1);
    let resume = zeroes.map(|slot| Visit { slot: slot as u32, pages: 0b101, touches_a_page: 1 });
    let name = format!("program {index}");
    Program { name, layout: Arc::clone(layout), resume, steps, is_measured }
}

fn any_draw() -> impl Strategy<Value = Draw> {
    (0..16_u8, 0..64_u64, 0..64_u64, 0..64_u64)
}

prop_compose! {
    fn any_case()(
        setup in any_setup(),
        kinds in prop::collection::vec(prop::collection::vec(0..5_u8, SEGMENTS as usize), 1..3),
        draws in prop::collection::vec(prop::collection::vec(any_draw(), 1..10), 1..5),
        starts in prop::collection::vec((0..5_usize, 0..4_u64, any::<bool>()), 1..6),
        seed in any::<u64>(),
        has_calls in any::<bool>(),
    ) -> (Setup, Scene, u64) {
        let page_bytes = setup.machine.mmu.page_bytes;
        let layouts: Vec<(Arc<Layout>, Vec<u8>)> =
            kinds.iter().map(|kinds| (layout(page_bytes, kinds), kinds.clone())).collect();
        let count = draws.len();
        let programs: Vec<Program> = draws
            .iter()
            .enumerate()
            .map(|(index, draws)| program(index, count, draws, &layouts, page_bytes, has_calls))
            .collect();
        let can_start = |index: &usize| programs[*index].steps.first() == Some(&Step::Exec);
        let startable: Vec<usize> = (0..count).filter(can_start).collect();
        let starts = starts
            .into_iter()
            .enumerate()
            .map(|(at, (pick, late, is_awaited))| Start {
                program: startable[pick % startable.len()],
                at_ns: late * 33_000_000,
                is_awaited: is_awaited || at == 0,
            })
            .collect();
        (setup, Scene { programs, starts }, seed)
    }
}

fn compare(setup: &Setup, scene: &Scene, seed: u64) {
    let (outcome, events) = Engine::new(setup, scene, seed).observed();
    let (expected, expected_events) = super::reference::run(setup, scene, seed);
    for (at, (event, expected)) in events.iter().zip(&expected_events).enumerate() {
        assert_eq!(event, expected, "event {at}");
    }
    let shared = events.len().min(expected_events.len());
    assert_eq!(events[shared..], expected_events[shared..]);
    assert_eq!(outcome, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_does_what_touch_by_touch_would_be((setup, scene, seed) in any_case()) {
        compare(&setup, &scene, seed);
    }
}

/// Two pages of the stack, and a store of four entries in which the first makes room for the
/// second: it was there when it was written, and need not come back.
#[test]
fn registers_are_written_page_by_page() {
    let mut machine = Machine::parse(MACHINES[0].1).unwrap();
    (machine.mmu.pmegs, machine.mmu.reserved_pmegs, machine.mmu.page_bytes) = (3, 2, 65_536);
    let mut setup = Setup::new(machine, System::named("old").unwrap());
    setup.set("reload", "entry").unwrap();
    let layout = layout(65_536, &[2; 6]);
    let touch = |pages: &[u64], times| {
        let addresses = pages.iter().map(|page| page * 65_536);
        Step::Touch(Arc::new(layout.path(addresses, true).unwrap()), times)
    };
    let steps = vec![Step::Exec, touch(&[4, 0, 1], 1), touch(&[2], 300_000)];
    let resume = Some(Visit { slot: 1, pages: 0b101, touches_a_page: 1 });
    let name = "p".to_owned();
    let program = Program { name, layout: Arc::clone(&layout), resume, steps, is_measured: true };
    let start = Start { program: 0, at_ns: 0, is_awaited: true };
    let scene = Scene { programs: vec![program], starts: vec![start] };
    compare(&setup, &scene, 1);
    let (outcome, _) = super::reference::run(&setup, &scene, 1);
    // Page 6 at the first turn; page 4 at the second, when page 6 is still there.
    assert_eq!(outcome.translation_faults, 4 + 2);
}

#[test]
fn cases_reach_everything_that_can_happen() {
    let mut runner = TestRunner::deterministic();
    let mut kinds = BTreeMap::new();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for _ in 0..300 {
        let (setup, scene, seed) = any_case().new_tree(&mut runner).unwrap().current();
        let (outcome, events) = super::reference::run(&setup, &scene, seed);
        for (_, event) in events {
            let words = format!("{event:?}");
            *kinds.entry(words.split(' ').next().unwrap().to_owned()).or_insert(0_u64) += 1;
        }
        outcome.counts().into_iter().for_each(|(name, n)| *counts.entry(name).or_default() += n);
    }
    for kind in ["Switch", "Wake", "Context", "Fault", "Steal", "Load", "SwapOut", "SwapIn"] {
        assert!(kinds.get(kind).is_some_and(|times| *times >= 50), "{kind}: {kinds:?}");
    }
    let never: Vec<_> = counts.iter().filter(|(_, count)| **count == 0).collect();
    assert!(never.is_empty(), "{never:?}");
}
