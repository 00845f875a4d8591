//! The cache: what it returns is what would have been measured, and what is damaged is run again.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};

use model::EndStatus;

use crate::lab::Lab;

const ARGUMENTS: &str = "--load cpuload";
/// The message of a run when all of its cells, or one of them, were cached.
const ALL: &str = "2 of 2 cells were in the cache";
const ONE: &str = "1 of 2 cells were in the cache";

#[test]
fn finished_cells_are_kept_and_damaged_ones_are_made_again() {
    const NAME: &str = "finished_cells_are_kept_and_damaged_ones_are_made_again";
    let Some(lab) = Lab::with_empty_cells(NAME) else { return };
    let first = lab.finish("", ARGUMENTS);
    first.expect(0, &[]);
    assert!(!first.stderr.contains("in the cache"), "{}", first.stderr);
    let files = lab.files();
    let again = |words: &str| {
        let next = lab.sibling();
        next.finish("", ARGUMENTS).expect(0, &[words]);
        assert!(next.files() == files, "a cell of the cache is another");
    };
    again(ALL);
    assert_eq!(lab.entries("cells").len(), 2);

    let cell = &lab.entries("cells")[0];
    let whole = fs::read(cell).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&flipped[..], &whole[..whole.len() / 2], &[]] {
        fs::write(cell, damaged).unwrap();
        again(ONE);
        assert_eq!(fs::read(cell).unwrap(), whole, "it is kept again");
    }

    // With another timing it is another cell, and a run that must be new uses none.
    for other in ["--load cpuload --points 3", "--load cpuload --no-cache"] {
        let finished = lab.sibling().finish("", other);
        finished.expect(0, &[]);
        assert!(!finished.stderr.contains("in the cache"), "{other}: {}", finished.stderr);
    }
    assert_eq!(lab.entries("cells").len(), 4);
}

#[test]
fn a_damaged_machine_is_booted_again() {
    const NAME: &str = "a_damaged_machine_is_booted_again";
    let Some(lab) = Lab::with_empty_cache(NAME) else { return };
    let arguments = "--load noload --no-cache";
    lab.finish("", arguments).expect(0, &[]);
    let [machine] = lab.entries("snapshots").try_into().unwrap();
    let inode = || fs::metadata(machine.join("memory")).unwrap().ino();
    // As long as it was, shorter, and not there.
    for damage in ["memory", "devices", "contents"] {
        let damaged = machine.join(damage);
        match damage {
            "memory" => {
                let memory = File::options().write(true).open(damaged).unwrap();
                memory.write_all_at(b"damaged", 1 << 20).unwrap();
            }
            "devices" => fs::write(damaged, "damaged").unwrap(),
            _ => fs::remove_file(damaged).unwrap(),
        }
        // Kept open, so that its number is not given again.
        let _old = File::open(machine.join("memory")).unwrap();
        let before = inode();
        let next = lab.sibling();
        next.finish("", arguments).expect(0, &[]);
        assert_ne!(inode(), before, "{damage} is damaged, but the machine was used again");
        assert_eq!(lab.entries("snapshots").len(), 1);
        assert_eq!(next.fixture.run_file("001-noload-seed1").status(), EndStatus::Complete);
    }
}

#[test]
fn two_processes_at_once_make_one_cache() {
    const NAME: &str = "two_processes_at_once_make_one_cache";
    let Some(lab) = Lab::with_empty_cache(NAME) else { return };
    let other = lab.sibling();
    let both = [lab.start("", ARGUMENTS), other.start("", ARGUMENTS)];
    for running in both {
        running.wait().expect(0, &[]);
    }
    assert!(lab.files() == other.files());
    assert_eq!((lab.entries("snapshots").len(), lab.entries("cells").len()), (1, 2));
    lab.sibling().finish("", ARGUMENTS).expect(0, &[ALL]);
}

#[test]
fn what_a_killed_boot_left_is_removed_when_nobody_can_want_it() {
    const NAME: &str = "what_a_killed_boot_left_is_removed_when_nobody_can_want_it";
    let Some(lab) = Lab::with_empty_cache(NAME) else { return };
    // Nobody holds the first one; the second is running, the third on another machine.
    let machine = keep::host::machine();
    let left = [format!("{machine}.x1"), format!("{machine}.x2"), "another-machine.x3".to_owned()]
        .map(|maker| lab.kept("snapshots").join(format!("a.{maker}.part")));
    for path in &left {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("memory"), "half").unwrap();
    }
    let living = File::open(&left[1]).unwrap();
    living.try_lock().unwrap();
    lab.finish("", "--load noload").expect(0, &[]);
    assert_eq!(left.map(|path| path.exists()), [false, true, true], "others still run");
}

#[test]
fn a_cache_that_cannot_be_written_is_named_with_the_next_step() {
    const NAME: &str = "a_cache_that_cannot_be_written_is_named_with_the_next_step";
    let Some(lab) = Lab::new(NAME) else { return };
    let mut run = lab.run("", "--load noload");
    run.env("XDG_CACHE_HOME", "/dev/null");
    lab.fixture.finish(run).expect(3, &["/dev/null/thrashlab", "XDG_CACHE_HOME"]);
    assert!(!lab.fixture.output().exists(), "nothing was measured");
}
