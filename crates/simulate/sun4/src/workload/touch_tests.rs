//! Simulated touches against the orders of the real job.

use super::*;
use crate::program::Path;
use crate::{Machine, System};

fn setup() -> Setup {
    let machine = Machine::parse(include_str!("../../machines/sparcstation1.toml")).unwrap();
    Setup::new(machine, System::named("old").unwrap())
}

fn plan(changes: &[(&str, u64)], choices: &[(&str, &str)]) -> TouchPlan {
    let mut job = jobs::TOUCH.spec();
    job.params.insert("footprint".to_owned(), 1 << 20);
    job.params.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), *value)));
    job.choices.extend(choices.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
    match jobs::MemoryJob::new(&job).unwrap() {
        jobs::MemoryJob::Touch(plan) => plan,
        other => panic!("{other:?}"),
    }
}

/// Pages of 4096 bytes that a process touches after all are ready, in order, as offsets in its
/// heap.
fn touched(scene: &Scene, process: usize) -> Vec<u64> {
    let program = &scene.programs[process];
    let call = program.steps.iter().position(|step| *step == Step::Call(READY)).unwrap();
    let mut pages = Vec::new();
    let mut position = call + 1;
    let mut again = None;
    while let Some(step) = program.steps.get(position) {
        position += 1;
        match step {
            Step::Touch(path, times) => (0..*times).for_each(|_| pages.extend(in_order(path))),
            Step::Again(back, times) if again != Some(0) => {
                again = Some(again.unwrap_or(*times) - u64::from(*times > 0));
                if *times > 0 {
                    position -= back + 1;
                }
            }
            _ => {}
        }
    }
    pages
}

fn in_order(path: &Path) -> Vec<u64> {
    let mut pages = Vec::new();
    for visit in &path.visits {
        for page in (0..64).filter(|page| visit.pages >> page & 1 == 1) {
            let place = u64::from(visit.slot) * 64 + page;
            pages.extend(std::iter::repeat_n(place, visit.touches_a_page as usize));
        }
    }
    pages
}

#[test]
fn touches_are_those_of_the_real_job_with_the_same_seed() {
    for pattern in ["sequential", "strided", "uniform", "zipf", "chase"] {
        let plan = plan(&[("work", 700), ("processes", 2)], &[("pattern", pattern)]);
        let (layout, scene) = (plan.layout(7), scene(&plan, &setup(), 7).unwrap());
        for row in 0..2 {
            let places: Vec<u64> = match pattern {
                "sequential" => jobs::in_order(256, 1, row, 2).take(700).collect(),
                "strided" => jobs::in_order(256, 16, row, 2).take(700).collect(),
                "uniform" => uniform(256, 7, row).take(700).collect(),
                "zipf" => Zipf::new(256, 0.99, 7, row).take(700).collect(),
                _ => {
                    let chain = Chain::new(256, 7, row);
                    let first = chain.first(row, 2);
                    std::iter::successors(Some(first), |at| Some(chain.after(*at)))
                        .take(700)
                        .collect()
                }
            };
            // The heap begins at 0x6000, six pages into the first segment.
            let expected: Vec<u64> =
                places.iter().map(|place| layout.offset(*place) as u64 / 4096 + 6).collect();
            assert_eq!(touched(&scene, row as usize + 1), expected, "{pattern} {row}");
        }
    }
}

#[test]
fn a_thought_follows_each_batch_but_the_last() {
    for (batch, pattern) in [(0, "sequential"), (512, "chase"), (100, "sequential"), (64, "zipf")] {
        let numbers = [("work", 1024), ("batch", batch), ("think", 20_000_000)];
        let scene = scene(&plan(&numbers, &[("pattern", pattern)]), &setup(), 1).unwrap();
        let steps = &scene.programs[1].steps;
        let mut pauses = 0;
        for (at, step) in steps.iter().enumerate() {
            if matches!(step, Step::Sleep(20_000_000)) {
                let again = matches!(steps.get(at + 1), Some(Step::Again(..)));
                pauses += if let (true, Some(Step::Again(_, times))) = (again, steps.get(at + 1)) {
                    1 + times
                } else {
                    1
                };
            }
        }
        let batch = if batch == 0 { 256 } else { batch };
        assert_eq!(pauses, 1023 / batch, "{batch} {pattern}");
        assert_eq!(touched(&scene, 1).len(), 1024, "{batch} {pattern}");
    }
}

#[test]
fn without_work_a_process_has_its_part_of_the_time() {
    let two = plan(&[("processes", 2)], &[]);
    let setup = setup();
    let each = 1_000_000_000 / setup.machine.touch_ns() / 2;
    assert_eq!(touched(&scene(&two, &setup, 1).unwrap(), 2).len() as u64, each);
}

#[test]
fn what_a_sun4_cannot_have_is_refused() {
    let refused = |numbers: &[(&str, u64)], choices: &[(&str, &str)]| {
        check(&plan(numbers, choices)).unwrap_err()
    };
    assert!(refused(&[], &[("pages", "thp")]).contains("huge"));
    assert!(refused(&[("footprint", 1 << 30)], &[]).contains("address space"));
    assert!(refused(&[("footprint", 8 << 20), ("spread", 1 << 20)], &[]).contains("take less"));
    let much = [("work", 1 << 40)];
    assert!(refused(&much, &[("pattern", "zipf")]).contains("one by one"));
    assert!(check(&plan(&much, &[])).is_ok());
}

#[test]
fn sparse_memory_takes_a_segment_for_each_page() {
    let sparse = plan(&[("spread", 256 << 10), ("work", 10)], &[]);
    let scene = scene(&sparse, &setup(), 1).unwrap();
    assert!((256..=259).contains(&scene.programs[1].layout.pages.len()));
}
