//! Equal seeds, equal bytes: whatever the host does meanwhile.

use crate::busy::Busy;
use crate::lab::Lab;

/// A load that reaches the scheduler, the swap area and the disk.
const ARGUMENTS: &str = "--load 2ctx-mem --seeds 1..2 --warmup 1s --timeout 10s";

/// The run files of this run in the cache's machine.
fn files(lab: &Lab, arguments: &str) -> Vec<(String, Vec<u8>)> {
    lab.finish("", arguments).expect(0, &[]);
    lab.files()
}

#[test]
fn equal_seeds_give_equal_bytes_and_others_do_not() {
    const NAME: &str = "equal_seeds_give_equal_bytes_and_others_do_not";
    let Some(lab) = Lab::of_system(NAME) else { return };
    let alone = files(&lab, &format!("{ARGUMENTS} --no-cache --jobs 1"));
    assert_eq!(alone.len(), 4);
    let busy = Busy::new();
    let pressed = files(&lab.sibling(), &format!("{ARGUMENTS} --no-cache --jobs 2"));
    drop(busy);
    assert!(alone == pressed, "{}", difference(&alone, &pressed));

    // Not only the headers differ.
    let delays_ns = |name: &str| {
        let run = lab.fixture.run_file(name);
        run.samples().map(model::SampleRecord::delay_ns).collect::<Vec<_>>()
    };
    let [first, second] = ["007-2ctx-mem-seed1", "007-2ctx-mem-seed2"].map(delays_ns);
    assert!(!first.is_empty() && first != second, "{first:?} and {second:?}");
}

#[test]
fn two_boots_of_one_machine_give_the_same_bytes() {
    const NAME: &str = "two_boots_of_one_machine_give_the_same_bytes";
    let arguments = "--load 2ctx-mem --seed 7 --warmup 1s --timeout 3s";
    let Some(first) = Lab::with_empty_cache(NAME) else { return };
    let Some(second) = Lab::with_empty_cache(NAME) else { return };
    let (one, other) = (files(&first, arguments), files(&second, arguments));
    assert_eq!(first.entries("snapshots").len(), 1);
    assert_eq!(second.entries("snapshots").len(), 1);
    assert!(one == other, "{}", difference(&one, &other));
}

/// Where two sets of run files first differ, in words.
pub(crate) fn difference(first: &[(String, Vec<u8>)], second: &[(String, Vec<u8>)]) -> String {
    let pair = first.iter().zip(second).find(|(one, other)| one != other);
    let Some(((name, one), (other_name, other))) = pair else {
        return format!("{} and {} files", first.len(), second.len());
    };
    format!("{name} and {other_name}: {:?}", vm::first_difference(one, other))
}
