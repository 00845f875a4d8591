//! The size of vmtest in pmegs.

use super::*;
use crate::{Machine, System};

#[test]
fn a_process_of_two_megabytes_spans_nine_pmegs_and_one_of_four_seventeen() {
    let machine = Machine::parse(include_str!("../../machines/sparcstation1.toml")).unwrap();
    let setup = Setup::new(machine, System::named("old").unwrap());
    for (megabytes, pmegs) in [(2, 9), (4, 17)] {
        let plan = VmtestPlan {
            process_bytes: megabytes << 20,
            processes: 3,
            step_bytes: 4096,
            loops: 0,
            look_ns: 40_000_000,
            time_ns: 0,
            calibrated_processes: 3,
            limit_ns: 0,
        };
        let scene = scene(&plan, &setup).unwrap();
        let (path, loops) = scene.programs[1]
            .steps
            .iter()
            .filter_map(|step| {
                if let Step::Touch(path, loops) = step { Some((path, *loops)) } else { None }
            })
            .max_by_key(|(path, _)| path.touches)
            .unwrap();
        assert_eq!((path.visits.len(), loops, path.touches), (pmegs, 5000, megabytes * 256));
    }
}
