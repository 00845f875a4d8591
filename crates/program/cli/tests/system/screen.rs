//! The usual result of a command fits a screen of 24 lines of 80 columns, and `--details` has the
//! rest.

use std::process::Command;

use crate::support::Fixture;

/// Lines and columns of a screen.
const LINES: usize = 24;
const COLUMNS: usize = 80;

fn brief(fixture: &Fixture, arguments: &[&str]) -> Command {
    let mut command = fixture.thrashlab("");
    command.args(arguments).env_remove("THRASHLAB_DETAILS");
    command
}

/// The result of a command, which must fit.
pub(crate) fn screen(fixture: &Fixture, arguments: &[&str]) -> String {
    let finished = fixture.finish(brief(fixture, arguments));
    finished.expect(0, &[]);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let fits = !lines.is_empty() && lines.len() <= LINES && widest <= COLUMNS;
    assert!(fits, "{arguments:?}: {} × {widest}\n{}", lines.len(), finished.stdout);
    // Progress elsewhere than on a terminal is no line per run.
    let runs = finished.stderr.lines().filter(|line| line.starts_with('[')).count();
    assert!(runs <= 1, "{}", finished.stderr);
    finished.stdout
}

#[test]
fn results_of_files_fit_a_screen() {
    let fixture = Fixture::new();
    let compare = ["compare", "reference:resp1/2.4.20", "reference:resp1/2.6.0-test11"];
    let shown = screen(&fixture, &compare);
    assert!(shown.contains("cpuload") && shown.contains("improvement"), "{shown}");
    let all = fixture.finish(brief(&fixture, &[&compare[..], &["--details"]].concat()));
    assert!(all.stdout.contains("Over all cells") && !shown.contains("Over all cells"));
    let three = [&compare[..], &["reference:resp1/2.6.0-test11-mm1"]].concat();
    let shown = screen(&fixture, &three);
    for words in ["Against A, in so many cells: B (7): better in 1", "input  load", "--details"] {
        assert!(shown.contains(words), "{words:?} is not in\n{shown}");
    }
    let sweep = ["sweep", "--from", "reference:sun4/vmtest-sparcstation1-old-hat"];
    let shown = screen(&fixture, &sweep);
    assert!(shown.contains("Knee at") && shown.contains("16 MB"), "{shown}");
    let both = ["sweep", "--from", "reference:sun4/vmtest-sparcstation1-new-hat"];
    let shown = screen(&fixture, &both);
    for words in ["table old: Knee at", "table new: No knee", "in multiples of the cheapest"] {
        assert!(shown.contains(words), "{words:?} is not in\n{shown}");
    }
    for experiment in ["experiment1", "experiment4"] {
        let input = format!("reference:multics/{experiment}");
        screen(&fixture, &["compare", &input, "--factor", "system"]);
    }
}

#[test]
fn results_of_commands_fit_a_screen() {
    let fixture = Fixture::new();
    let here = ["--subject", "host:mem=64M", "--work-dir", "work"];
    let timed =
        screen(&fixture, &[&["run"], &here[..], &["--runs", "3", "--", "sleep", "0.01"]].concat());
    assert!(timed.contains("sleep 0.01 takes") && timed.contains("peak memory"), "{timed}");
    let lines = ["ab", "command", "sleep 0.01", "sleep 0.3"];
    let compared = screen(&fixture, &[&lines[..], &here].concat());
    for words in ["sleep 0.3 is slower than sleep 0.01", "cpu_ns", "the difference is certain"] {
        assert!(compared.contains(words), "{words:?} is not in\n{compared}");
    }
}

#[test]
fn the_matrix_of_all_loads_fits_a_screen() {
    let fixture = Fixture::new();
    let mut run = fixture.run("--load cpuload,spawnload --points 3");
    run.env_remove("THRASHLAB_DETAILS");
    let finished = fixture.finish(run);
    finished.expect(0, &[]);
    // Each other load has one more line.
    let lines = finished.stdout.lines().count() + 5;
    let widest = finished.stdout.lines().map(|line| line.chars().count()).max();
    assert!(lines <= LINES && widest <= Some(COLUMNS), "{lines}\n{}", finished.stdout);
}
