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
