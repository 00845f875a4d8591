//! The steps of the Action: revisions of a program are built and compared as on a pull request.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use crate::lab::{Lab, is_long, program};
use crate::support::Finished;

const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../action/check");

/// A program of which two fifths are `parse`.
const SOURCE: &str = "
#include <unistd.h>
static __attribute__((noinline)) unsigned parse(unsigned rounds)
{
    unsigned value = 7;
    while (rounds--) value = value * 69069 + rounds;
    return value;
}
static __attribute__((noinline)) unsigned print(unsigned rounds)
{
    unsigned value = 1;
    while (rounds--) value = (value * 1664525 + 1013904223) ^ value >> 13;
    return value;
}
int main(void)
{
    unsigned value = 0;
    for (int pass = 0; pass < 50; pass++) value ^= parse(40000) + print(40000);
    return write(1, value ? \"1\" : \"0\", 1) != 1;
}
";

/// A repository with a program, and what its Action does.
struct Repository {
    lab: Lab,
    folder: PathBuf,
}

impl Repository {
    fn new(lab: Lab) -> Self {
        let folder = lab.fixture.path().join("repository");
        let programs = lab.fixture.path().join("programs");
        for made in [&folder, &programs] {
            fs::create_dir(made).unwrap();
        }
        symlink(program(), programs.join("thrashlab")).unwrap();
        let repository = Self { lab, folder };
        repository.git("init --quiet .");
        repository.commit(SOURCE);
        repository
    }

    fn git(&self, arguments: &str) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]);
        let output = command.args(arguments.split(' ')).current_dir(&self.folder).output().unwrap();
        assert!(output.status.success(), "{arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn commit(&self, source: &str) {
        fs::write(self.folder.join("program.c"), source).unwrap();
        self.git("add program.c");
        self.git("commit --quiet --allow-empty --message change");
    }

    /// Runs the check of the newest commit against the one before, with more inputs.
    fn check(&self, inputs: &[(&str, &str)]) -> Finished {
        let home = self.lab.fixture.path();
        let cache = self.lab.kept("kernels").ancestors().nth(2).unwrap().to_owned();
        let path = std::env::var("PATH").unwrap();
        let mut command = self.lab.fixture.other(CHECK);
        command
            .current_dir(&self.folder)
            .env("PATH", format!("{}:{path}", home.join("programs").display()))
            .env("XDG_CACHE_HOME", cache)
            .env("RUNNER_TEMP", home)
            .env("GITHUB_OUTPUT", home.join("outputs"))
            .env("GITHUB_STEP_SUMMARY", home.join("summary"))
            // A push to a new branch has this as its base.
            .env("INPUT_BASE", "0000000000000000000000000000000000000000")
            .env("INPUT_SUBJECT", format!("vm:{}", self.lab.machine()))
            .env("INPUT_BUILD", "cc -O1 -static -o program program.c")
            .env("INPUT_ARTIFACT", "program")
            .envs(inputs.iter().copied());
        let _ = fs::remove_file(home.join("outputs"));
        let finished = self.lab.fixture.finish(command);
        assert_eq!(self.git("worktree list").lines().count(), 1, "a worktree is left");
        finished
    }

    /// An output of the last check.
    fn output(&self, name: &str) -> String {
        let outputs = fs::read_to_string(self.lab.fixture.path().join("outputs")).unwrap();
        let prefix = format!("{name}=");
        let found = outputs.lines().find_map(|line| line.strip_prefix(&prefix));
        found.unwrap_or_else(|| panic!("no output {name}: {outputs}")).to_owned()
    }
}

#[test]
fn three_percent_more_fail_the_check_and_a_change_of_nothing_passes() {
    let name = "three_percent_more_fail_the_check_and_a_change_of_nothing_passes";
    let Some(lab) = Lab::with_engine(name) else { return };
    let repository = Repository::new(lab);

    // Another order of functions and another text: not one instruction more.
    let (first, second) = (SOURCE.find("static").unwrap(), SOURCE.rfind("static").unwrap());
    let main = SOURCE.find("int main").unwrap();
    let (parse, print) = (&SOURCE[first..second], &SOURCE[second..main]);
    let moved = format!("{}{print}{parse}{}", &SOURCE[..first], &SOURCE[main..]);
    repository.commit(&moved);
    let unchanged = repository.check(&[]);
    unchanged.expect(0, &[]);
    assert!(unchanged.stdout.contains("equivalent"), "{}", unchanged.stdout);
    assert_eq!(repository.output("verdict"), "pass");

    repository.commit(&moved.replace("parse(40000)", "parse(43000)"));
    let slower = repository.check(&[]);
    slower.expect(1, &["::error title=thrashlab::head is a regression against base"]);
    assert!(slower.stdout.contains("parse \\[program\\]"), "{}", slower.stdout);
    assert_eq!(repository.output("verdict"), "regression");
    let report = PathBuf::from(repository.output("report"));
    let page = fs::read_to_string(report.join("result.html")).unwrap();
    assert!(page.contains("parse [program]"), "the page names no function");
    let result = fs::read_to_string(report.join("result.md")).unwrap();
    let summary = fs::read_to_string(repository.lab.fixture.path().join("summary")).unwrap();
    assert!(summary.ends_with(&result));

    // Within a wider margin the same change passes.
    repository.check(&[("INPUT_MARGIN", "5%")]).expect(0, &[]);
}

#[test]
fn fifty_changes_of_nothing_pass() {
    let name = "fifty_changes_of_nothing_pass";
    let Some(lab) = Lab::with_engine(name) else { return };
    if !is_long(name, "make test-distro") {
        return;
    }
    let repository = Repository::new(lab);
    let mut passed = Vec::new();
    for number in 0..50 {
        // A function that is never called, of another size each time, moves all that follow it.
        let body = "value = value * 31 + 7; ".repeat(number % 23 + 1);
        let unused = format!(
            "__attribute__((used)) unsigned unused_{number}(unsigned value) {{ {body}return value; }}"
        );
        repository.commit(&SOURCE.replacen("static", &format!("{unused}\nstatic"), 1));
        let finished = repository.check(&[]);
        if finished.code() == Some(0) {
            passed.push(number);
        }
    }
    assert_eq!(passed.len(), 50, "passed: {passed:?}");
}

#[test]
fn wrong_inputs_are_named() {
    let repository = Repository::new(Lab::without_guests());
    repository.commit(SOURCE);
    for (inputs, words) in [
        (("INPUT_ARTIFACT", ""), "the input artifact is missing"),
        (("INPUT_ARTIFACT", "nosuch"), "has not made nosuch"),
        (("INPUT_BUILD", "echo broken; false"), "the build of base failed"),
        (("INPUT_WHAT", "book"), "program, image or kernel"),
        (("INPUT_BASE", "nosuch"), "the base nosuch is not in this clone"),
    ] {
        let finished = repository.check(&[inputs]);
        finished.expect(2, &[words]);
        assert_eq!(repository.output("verdict"), "error", "{inputs:?}");
    }
}
