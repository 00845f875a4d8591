//! Any text is a plan or refused with a reason. Every block of a plan that was read has every cell
//! once, its runs have names of their own, and every cell describes its own runs.
#![no_main]

use std::collections::BTreeSet;
use std::path::Path;

use experiment::{CellPlan, Plan, PlanError, SubjectArg, parse_plan};
use experiment::typed::Setting;
use libfuzzer_sys::fuzz_target;
use model::SubjectSpec;
use subject::LocalSubject;

/// Most runs of a plan that is looked at more closely.
const MOST_RUNS: usize = 256;

fuzz_target!(|text: &str| {
    let plan = match parse_plan(text) {
        Ok(plan) => plan,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let Ok(combinations) = plan.combinations() else { return };
    // What names files would read those of whoever fuzzes.
    if combinations.len() * plan.seeds.len() > MOST_RUNS || settings(&plan).any(names_a_file) {
        return;
    }
    match plan.cells(Path::new("/nonexistent")) {
        Ok(cells) => check(&plan, &cells),
        Err(PlanError::Problems(problems)) => assert!(!problems.is_empty()),
        Err(error) => panic!("the plan was read, its cells are not: {error}"),
    }
});

fn settings(plan: &Plan) -> impl Iterator<Item = &Setting> {
    let levels = plan.factors.iter().flat_map(|factor| &factor.levels);
    plan.base.iter().chain(levels.flat_map(|level| &level.settings))
}

fn names_a_file((parameter, value): &Setting) -> bool {
    parameter == "session.script" || value.contains(".toml")
}

fn check(plan: &Plan, cells: &[CellPlan]) {
    let runs = plan.runs();
    let names: BTreeSet<&str> = runs.iter().map(|(_, run)| run.run_id.as_str()).collect();
    let places: BTreeSet<(u64, usize)> = runs.iter().map(|(cell, run)| (run.seed, *cell)).collect();
    assert_eq!(names.len(), runs.len(), "{names:?}");
    assert_eq!((places.len(), runs.len()), (runs.len(), cells.len() * plan.seeds.len()));
    for (position, (cell, run)) in runs.iter().enumerate() {
        assert!(!run.run_id.contains('/'), "{}", run.run_id);
        let cell = &cells[*cell];
        if matches!(cell.subject, None | Some(SubjectArg::Here(LocalSubject::Host { memory_bytes: None }))) {
            let subject = SubjectSpec::Host { memory_bytes: 64 << 20 };
            let spec = cell.spec(subject, run.seed, run.block, position as u32);
            assert!(cell.describes(&spec), "{}", run.run_id);
        }
    }
}
