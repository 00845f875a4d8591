//! A session in a guest that has nothing but this program.

use model::{EndStatus, Line, Measure, Tools};

use crate::lab::Lab;

/// Two users who do not think for long.
const SOON: &str = "--job session --users 2 --set think=20ms --seed 3";

#[test]
fn a_bare_guest_has_our_own_tools_and_equal_seeds_give_equal_bytes() {
    const NAME: &str = "a_bare_guest_has_our_own_tools_and_equal_seeds_give_equal_bytes";
    let Some(lab) = Lab::new(NAME) else { return };
    let finished = lab.finish("", &format!("{SOON} --no-cache"));
    finished.expect(0, &[]);
    assert!(
        finished.stdout.contains("tools: our own, as the subject lacks"),
        "{}",
        finished.stdout
    );
    let run = lab.fixture.run_file("001-noload-seed3");
    assert_eq!(run.status(), EndStatus::Complete);
    let Measure::Session(session) = &run.header.as_ref().unwrap().spec.measure else {
        panic!("no session")
    };
    let script = &session.script;
    assert_eq!(script.tools, Tools::Builtin);
    let first = run.lines.iter().filter_map(|line| match line {
        Line::Work(work) if work.pass == 0 => Some(work),
        _ => None,
    });
    let failures: Vec<_> = first.clone().filter_map(|work| work.failure.clone()).collect();
    assert_eq!((first.count(), failures), (2 * script.commands.len(), vec![]));

    let again = lab.sibling();
    again.finish("", &format!("{SOON} --no-cache")).expect(0, &[]);
    assert!(lab.files() == again.files(), "the same cell, other bytes");
}
