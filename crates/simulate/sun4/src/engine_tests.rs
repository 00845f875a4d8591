//! Processes on small machines, by hand, and strokes against single steps.

use std::sync::Arc;

use super::Engine;
use crate::program::{Backing, Layout, Program, Region, Scene, Start, Step};
use crate::{MACHINES, Machine, Outcome, Setup, System};

const START: u64 = 0x4000;

fn setup(settings: &[(&str, &str)]) -> Setup {
    let machine = Machine::parse(MACHINES[0].1).unwrap();
    let mut setup = Setup::new(machine, System::named("old").unwrap());
    settings.iter().for_each(|(name, value)| setup.set(name, value).unwrap());
    setup
}

fn layout() -> Arc<Layout> {
    let regions = vec![Region { start: START, bytes: 1 << 20, backing: Backing::Zero }];
    Arc::new(Layout::new(4096, regions).unwrap())
}

/// Processes that do these steps.
fn run(setup: &Setup, processes: usize, steps: &[Step]) -> Outcome {
    let steps = [&[Step::Exec], steps].concat();
    let layout = layout();
    let program = Program { name: "p".to_owned(), layout, resume: None, steps, is_measured: true };
    let start = Start { program: 0, at_ns: 0, is_awaited: true };
    let scene = Scene { programs: vec![program], starts: vec![start; processes] };
    Engine::new(setup, &scene, 1).run()
}

fn touch(pages: u64, is_write: bool, times: u64) -> Step {
    let addresses = (0..pages).map(|page| START + 4096 * page);
    Step::Touch(Arc::new(layout().path(addresses, is_write).unwrap()), times)
}

#[test]
fn loops_at_a_stroke_are_what_single_loops_are() {
    // Three processes that do not fit, so that faults, steals and turns mix with whole loops.
    for victim in ["two-pass", "fifo", "lru-fault", "lru-visit", "random"] {
        let setup = setup(&[("reserved_pmegs", "121"), ("victim", victim), ("contexts", "3")]);
        let at_a_stroke = run(&setup, 3, &[touch(200, true, 1), touch(200, false, 900)]);
        let one_by_one = [touch(200, true, 1), touch(200, false, 1), Step::Again(1, 899)];
        assert_eq!(at_a_stroke, run(&setup, 3, &one_by_one), "{victim}");
        assert_eq!(at_a_stroke.touches, 3 * 200 * 901);
        assert!(at_a_stroke.steals > 50, "{victim}: {}", at_a_stroke.steals);
    }
}

#[test]
fn a_path_at_a_stroke_is_what_its_touches_are() {
    let setup = setup(&[("reserved_pmegs", "121"), ("contexts", "3")]);
    let whole = run(&setup, 3, &[touch(200, true, 1), touch(200, false, 1), Step::Again(1, 99)]);
    let single =
        |page: u64| Step::Touch(Arc::new(layout().path([START + 4096 * page], false).unwrap()), 1);
    let mut steps = vec![touch(200, true, 1)];
    steps.extend((0..200).map(single));
    steps.push(Step::Again(200, 99));
    assert_eq!(run(&setup, 3, &steps), whole);
}

#[test]
fn one_process_costs_what_its_parts_cost() {
    let setup = setup(&[("accounting", "exact")]);
    let costs = setup.system.costs;
    let outcome = run(&setup, 1, &[touch(64, true, 1), touch(64, false, 10)]);
    assert_eq!((outcome.translation_faults, outcome.touches), (64, 64 + 640));
    assert_eq!((outcome.hat.pmgalloc, outcome.hat.pmghave, outcome.hat.ctxalloc), (2, 62, 1));
    let machine = &setup.machine;
    assert_eq!(
        outcome.user_ns,
        (64 + 640) * machine.touch_ns() + 64 * machine.cycles_ns(costs.fault_user)
    );
    let faults_ns = 64 * machine.cycles_ns(costs.fault + costs.zero_fill);
    let pmegs_ns = 2 * machine.cycles_ns(machine.cycles.segment);
    // One switch to begin with, and one to itself, for exec ends after the turns at 100 and 200 ms.
    let life = 2 * costs.switch + costs.context + costs.exec + costs.exit + 64 * costs.exit_page;
    let life_ns = machine.cycles_ns(life + machine.flush_cycles());
    assert_eq!(outcome.system_ns, faults_ns + pmegs_ns + life_ns);
    assert_eq!(outcome.elapsed_ns, outcome.user_ns + outcome.system_ns);
}

#[test]
fn ticks_account_whole_ticks_and_about_the_same() {
    let steps = [touch(200, true, 1), touch(200, false, 20_000)];
    let (tick, exact) =
        (run(&setup(&[]), 1, &steps), run(&setup(&[("accounting", "exact")]), 1, &steps));
    assert_eq!(tick.elapsed_ns, exact.elapsed_ns);
    assert!(tick.user_ns.is_multiple_of(10_000_000));
    assert!(tick.user_ns.abs_diff(exact.user_ns) < 50_000_000, "{tick:?} {exact:?}");
}

#[test]
fn a_sleeper_wakes_at_the_first_tick_after_its_time_or_one_later() {
    for (jitter, ticks) in [("0", 5), ("1000", 6)] {
        let setup = setup(&[("jitter", jitter), ("accounting", "exact")]);
        let of = |times| run(&setup, 1, &[Step::Sleep(40_000_000), Step::Again(1, times)]);
        let more = of(10).elapsed_ns - of(0).elapsed_ns;
        assert_eq!(more, 10 * ticks * 10_000_000, "{jitter}");
    }
}

#[test]
fn the_store_of_entries_and_the_walk_lose_only_what_they_lack_room_for() {
    let steps = [touch(100, true, 1), touch(100, false, 50)];
    for (reload, faults) in [("walk", 100), ("entry", 100)] {
        // Room for 128 entries: two pmegs' worth.
        let roomy = setup(&[("reserved_pmegs", "126"), ("reload", reload)]);
        let outcome = run(&roomy, 1, &steps);
        assert_eq!((outcome.translation_faults, outcome.steals), (faults, 0), "{reload}");
    }
    let tight = setup(&[("reserved_pmegs", "127"), ("reload", "walk")]);
    let outcome = run(&tight, 1, &steps);
    // First in, first out over 100 pages with room for 64: every touch misses.
    assert_eq!((outcome.translation_faults, outcome.loads), (100, 100 * 50));
}

#[test]
fn copies_in_memory_bring_groups_back_and_run_out() {
    let steps = [touch(256, true, 1), touch(256, false, 20)];
    let of = |copies| {
        run(
            &setup(&[("reserved_pmegs", "126"), ("reload", "group"), ("software_pmegs", copies)]),
            1,
            &steps,
        )
    };
    let enough = of("0");
    assert_eq!((enough.software_steals, enough.translation_faults - enough.loads), (0, 256));
    let few = of("128");
    assert!(few.software_steals > 0 && few.translation_faults > 2 * enough.translation_faults);
}

#[test]
fn three_levels_need_segment_groups_too() {
    let two = run(&setup(&[]), 2, &[touch(200, true, 3)]);
    assert_eq!((two.hat.smgalloc, two.hat.smghave), (0, 0));
    let three = run(&setup(&[("smegs", "8")]), 2, &[touch(200, true, 3)]);
    assert_eq!((three.hat.smgalloc, three.hat.smghave, three.hat.pmgalloc), (2, 6, 8));
}
