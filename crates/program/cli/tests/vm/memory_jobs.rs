//! The memory jobs in a guest: equal seeds, equal bytes.

use model::{EndStatus, Line, PassRecord, Run};

use crate::lab::Lab;

fn passes(run: &Run) -> Vec<&PassRecord> {
    let passes = run.lines.iter().filter_map(|line| match line {
        Line::Pass(pass) => Some(pass.as_ref()),
        _ => None,
    });
    passes.collect()
}

#[test]
fn jobs_on_memory_in_a_guest_give_the_same_bytes_twice() {
    const NAME: &str = "jobs_on_memory_in_a_guest_give_the_same_bytes_twice";
    let Some(lab) = Lab::new(NAME) else { return };
    let jobs = [
        "--job vmtest --set size=8M --set time=40ms --set limit=2s",
        "--job touch --set footprint=2M --set processes=2 --set pattern=uniform --set time=50ms",
        "--job touch --set footprint=2M --set backing=file --set pattern=chase --set time=50ms",
    ];
    for job in jobs {
        let arguments = format!("{job} --seed 3 --no-cache");
        let (first, second) = (lab.sibling(), lab.sibling());
        first.finish("", &arguments).expect(0, &[]);
        second.finish("", &arguments).expect(0, &[]);
        assert!(first.files() == second.files(), "the same cell, other bytes: {job}");
        let run = first.fixture.run_file("001-noload-seed3");
        assert_eq!(run.status(), EndStatus::Complete, "{job}");
        let touches: u64 = passes(&run).iter().map(|pass| pass.usage["touches"]).sum();
        assert!(passes(&run).len() >= 2 && touches > 1000, "{job}: {touches}");
    }
}

/// How often a memory is touched per ns, in all passes.
fn touches_per_ns(run: &Run) -> f64 {
    let passes = passes(run);
    let touches: u64 = passes.iter().map(|pass| pass.usage["touches"]).sum();
    let elapsed_ns: u64 = passes.iter().map(|pass| pass.completed_ns - pass.started_ns).sum();
    touches as f64 / elapsed_ns as f64
}

/// These loads need no memory, so only an instrument or a kernel that holds too much of it could tell
/// the machines apart.
#[test]
fn loads_without_memory_weigh_alike_in_a_machine_of_four_times_the_memory() {
    const NAME: &str = "loads_without_memory_weigh_alike_in_a_machine_of_four_times_the_memory";
    let Some(lab) = Lab::new(NAME) else { return };
    let slower = ["", "mem=192M"].map(|memory| {
        let lab = lab.sibling();
        let arguments = "--load noload,cpuload,spawnload --jobs 1 --job touch \
                         --set footprint=1M --set time=2s";
        lab.finish(memory, arguments).expect(0, &[]);
        let rate = |name: &str| touches_per_ns(&lab.fixture.run_file(name));
        let alone = rate("001-noload-seed1");
        [alone / rate("004-cpuload-seed1"), alone / rate("005-spawnload-seed1")]
    });
    let [small, large] = slower;
    let differ = |load: usize| (small[load] / large[load] - 1.0).abs();
    assert!(differ(0) < 0.03 && differ(1) < 0.03, "{slower:?}");
    // Three processes share the CPU, then two.
    assert!((small[0] - 3.0).abs() < 0.09 && (small[1] - 2.0).abs() < 0.2, "{slower:?}");
}
