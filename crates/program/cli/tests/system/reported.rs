//! Reports as the command line makes them; what is in them has tests of its own.

use std::fs;
use std::path::Path;

use crate::support::{Finished, Fixture};

const SHORT: &str = "--load cpuload --points 2 --interval 50ms --warmup 200ms";

fn report(fixture: &Fixture, arguments: &str) -> Finished {
    fixture.finish(fixture.thrashlab(&format!("report {arguments}")))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_run_ends_with_a_page_and_names_it() {
    let fixture = Fixture::new();
    let page = fixture.output().join("report.html");
    let finished = fixture.finish(fixture.run(SHORT));
    finished.expect(0, &["report: ", page.to_str().unwrap()]);
    assert!(read(&page).contains("cpuload"));

    // It is rebuilt from the run files alone, whatever their folder is called.
    let moved = fixture.path().join("moved/out");
    fs::create_dir(moved.parent().unwrap()).unwrap();
    fs::rename(fixture.output(), &moved).unwrap();
    let forms = ["html", "markdown", "text", "json", "vega"];
    let made = |place: &str| {
        forms.map(|form| {
            let finished = report(&fixture, &format!("{place} --format {form} -o -"));
            finished.expect(0, &[]);
            finished.stdout
        })
    };
    let first = made("moved/out");
    fs::rename(&moved, fixture.path().join("out")).unwrap();
    assert!(first == made("out"), "the same run files gave other bytes");
    assert!(first.iter().all(|text| text.contains("cpuload")));
}

#[test]
fn the_command_of_a_page_makes_the_same_run_again() {
    let fixture = Fixture::new();
    let script = "name = \"two\"\nthink = \"2ms\"\n[variables]\nwhat = \"a b\"\n\
                  [[command]]\nname = \"say\"\nrun = [\"echo\", \"{what}\"]\n\
                  [[command]]\nname = \"list\"\nrun = [\"ls\", \"{dir}\"]\n";
    fs::write(fixture.path().join("mine.toml"), script).unwrap();
    let asked = "--job session --script mine.toml --users 2 --set think=1ms --set what=c";
    fixture.finish(fixture.run_on("host:mem=64M", asked)).expect(0, &[]);
    let first = fixture.run_file("001-noload");

    let page = report(&fixture, "output --format markdown");
    page.expect(0, &[]);
    let command = page.stdout.lines().find(|line| line.starts_with("$ thrashlab run ")).unwrap();
    let (_, file) = page.stdout.split_once("<summary>two.toml</summary>").unwrap();
    let file = file.split("```").nth(1).unwrap().trim_start_matches("text");
    fs::write(fixture.path().join("two.toml"), file).unwrap();
    fs::rename(fixture.output(), fixture.path().join("first")).unwrap();
    let (_, arguments) = command.split_once("$ thrashlab run ").unwrap();
    let again = format!("run {arguments} --output output --work-dir work");
    fixture.finish(fixture.thrashlab(&again)).expect(0, &[]);
    let second = fixture.run_file("001-noload");
    assert_eq!(first.header.unwrap().spec, second.header.unwrap().spec, "{command}");
}

#[test]
fn a_page_that_cannot_be_written_is_no_failure_of_the_run() {
    let fixture = Fixture::new();
    let page = fixture.output().join("report.html");
    fs::create_dir_all(&page).unwrap();
    let finished = fixture.finish(fixture.run(SHORT));
    finished.expect(0, &["warning: no report was written", "report.html", "run files: "]);
    assert_eq!(fs::read_dir(fixture.output()).unwrap().count(), 1 + 3, "nothing else is left");
}

#[test]
fn no_page_is_written_where_none_is_wanted() {
    let fixture = Fixture::new();
    fixture.finish(fixture.run(&format!("{SHORT} --no-report"))).expect(0, &["run files: "]);
    assert!(!fixture.output().join("report.html").exists());
}

#[test]
fn published_results_are_reported_on_too() {
    let fixture = Fixture::new();
    let multics = report(&fixture, "reference:multics/experiment4 --format text");
    multics.expect(0, &[]);
    assert!(multics.sentences().contains("87.0 % is pl1_version's"), "{}", multics.stdout);
    let cliff = report(&fixture, "reference:sun4/vmtest-sparcstation1-old-hat -o cliff.md");
    cliff.expect(0, &["wrote cliff.md"]);
    assert!(read(&fixture.path().join("cliff.md")).contains("Knee at 16.97 MB"));
}

#[test]
fn what_is_no_result_is_refused_with_its_name() {
    let fixture = Fixture::new();
    report(&fixture, "nowhere").expect(2, &["nowhere"]);
    fs::create_dir(fixture.path().join("empty")).unwrap();
    report(&fixture, "empty").expect(2, &["empty", "no run file"]);
    assert!(!fixture.path().join("report.html").exists());
}
