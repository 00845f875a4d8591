//! `thrashlab bisect`: a step that was planted is found, and nothing is measured twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::left::{assert_nothing_left, queue_keys};
use crate::skip::skip;
use crate::support::{Finished, Fixture};

/// `thrashlab bisect` of what a command measures; the command is in a file, as it has spaces.
fn of_command(fixture: &Fixture, script: &str, arguments: &str) -> Finished {
    fs::write(fixture.path().join("measure.sh"), script).unwrap();
    let mut command = fixture.thrashlab(&format!("bisect {arguments}"));
    command.args(["--run", "echo {level} >> measured; sh measure.sh {level}"]);
    let _ = fs::remove_file(fixture.path().join("measured"));
    fixture.finish(command)
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:#?}"))
}

/// The steps that were measured, in their order.
fn measured(fixture: &Fixture) -> Vec<String> {
    let text = fs::read_to_string(fixture.path().join("measured")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_step_is_found_from_certain_numbers_with_one_measurement_each() {
    let fixture = Fixture::new();
    let script = "if [ $1 -lt 42 ]; then echo 10; else echo 12.5; fi";
    let finished = of_command(&fixture, script, "--range 1..100 --exact");
    finished.expect(0, &[]);
    assert!(
        finished.sentences().contains("step 42 is the first changed one, after 41 (exactly"),
        "{}",
        finished.stdout
    );
    let steps = measured(&fixture);
    assert_eq!(steps.iter().collect::<BTreeSet<_>>().len(), steps.len(), "{steps:?}");
    assert!(steps.len() <= 2 + 7, "{steps:?}");
    let found = json(&of_command(&fixture, script, "--range 100..1 --exact --json"));
    assert_eq!(found["first_changed"], serde_json::json!(["41", "41"]));
}

#[test]
fn a_step_is_found_from_exit_codes_and_what_cannot_be_built_is_skipped() {
    let fixture = Fixture::new();
    let script = "case $1 in 1[4-8]) exit 125;; esac; test $1 -lt 20";
    let found = json(&of_command(&fixture, script, "--range 1..32 --exit-code --json"));
    assert_eq!(found["first_changed"], serde_json::json!(["20", "20"]));
    assert!(!found["skipped"].as_array().unwrap().is_empty(), "{found}");
    // Where the change itself cannot be built, the answer is as wide as it must be.
    let script = "case $1 in 1[4-8]) exit 125;; esac; test $1 -lt 16";
    let finished = of_command(&fixture, script, "--range 1..32 --exit-code");
    finished.expect(0, &[]);
    assert!(finished.sentences().contains("One of step 14 to 19 is"), "{}", finished.stdout);
}

#[test]
fn a_step_is_found_in_noise() {
    let fixture = Fixture::new();
    // The noise is a function of the count and the step, from 0 to 96, the change is 120.
    let script = "n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count
        echo $((1000 + (n * 37 + $1 * 61) % 97 + ($1 >= 23 ? 120 : 0)))";
    let found = json(&of_command(&fixture, script, "--range 1..64 --json"));
    assert_eq!(found["first_changed"], serde_json::json!(["23", "23"]), "{found}");
    assert!(found["posterior"]["first_changed"][22].as_f64().unwrap() >= 0.95, "{found}");
    assert_eq!(found["measurements"], measured(&fixture).len());
    let text = of_command(&fixture, script, "--range 1..64");
    text.expect(0, &["most likely"]);
    for words in ["probability", "step 23 is the first changed one"] {
        assert!(text.sentences().contains(words), "{words:?} is not in\n{}", text.stdout);
    }
}

#[test]
fn nothing_changed_is_1_and_what_cannot_be_measured_is_3() {
    let fixture = Fixture::new();
    let noise = "n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count
        echo $((1000 + (n * 37) % 97))";
    let finished = of_command(&fixture, noise, "--range 1..16 --budget 300");
    finished.expect(1, &[]);
    assert!(finished.sentences().contains("Nothing changed along step"), "{}", finished.stdout);
    for (script, arguments) in
        [("echo 5", "--range 1..16 --exact"), (":", "--range 1..16 --exit-code")]
    {
        let finished = of_command(&fixture, script, arguments);
        finished.expect(1, &[]);
        assert!(finished.sentences().contains("Nothing changed along step"), "{}", finished.stdout);
        // An exit code is measured again before it decides.
        let mut steps = measured(&fixture);
        steps.dedup();
        assert_eq!(steps, ["1", "16"]);
    }
    let cases = [
        ("test $1 -gt 5", "--range 1..16 --exit-code", 3, "first is bad, the last good"),
        ("exit 1", "--range 1..16 --exit-code", 3, "first is bad, the last bad"),
        ("exit 125", "--range 1..16 --exit-code", 3, "step 1, an end of the axis"),
        ("echo none", "--range 1..16", 3, "does not end its output with a number"),
        ("echo 1; exit 7", "--range 1..16", 3, "exit code 125"),
        ("kill -9 $$", "--range 1..16 --exit-code", 3, "failed"),
        ("echo 1", "--range 1..1", 2, "two"),
        ("echo 1", "--range 1-5", 2, "FIRST..LAST"),
        ("echo 1", "", 2, "--range"),
    ];
    for (script, arguments, code, words) in cases {
        of_command(&fixture, script, arguments).expect(code, &[words]);
    }
}

/// A session of one command, next to the plan.
fn script(fixture: &Fixture, words: &str) {
    let text = format!(
        "name = \"test\"\nusers = 1\nthink = \"1ms\"\n[variables]\ncost = \"0.01\"\n\
         [[command]]\nname = \"work\"\nrun = {words}\n"
    );
    fs::write(fixture.path().join("script.toml"), text).unwrap();
}

/// A plan of such sessions; the factor is appended.
const BASE: &str = r#"
name = "planted"
responses = ["elapsed_ns"]
[base]
subject = "host:mem=64M"
load = "noload"
job = "session"
session.script = "script.toml"
[[factor]]
name = "version"
"#;

fn of_plan(fixture: &Fixture, plan: &str, arguments: &str) -> Finished {
    fs::write(fixture.path().join("plan.toml"), plan).unwrap();
    let usual = "bisect plan.toml --output output --work-dir work";
    fixture.finish(fixture.thrashlab(&format!("{usual} {arguments}")))
}

fn files(fixture: &Fixture) -> BTreeSet<String> {
    let entries = fs::read_dir(fixture.output()).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_level_of_a_plan_is_found_on_the_host_and_not_measured_twice() {
    let fixture = Fixture::new();
    script(&fixture, r#"["sleep", "{cost}"]"#);
    // Their names are the same once they are names of files.
    let levels: Vec<String> = ["a/b", "a_b", "a:b", "a b", "a*b", "a=b"]
        .iter()
        .enumerate()
        .map(|(step, name)| {
            let cost = if step < 3 { "0.01" } else { "0.4" };
            format!("{{ name = {name:?}, value = \"{cost}\" }}")
        })
        .collect();
    let plan = format!("{BASE}parameter = \"session.cost\"\nlevels = [{}]\n", levels.join(", "));
    let finished = of_plan(&fixture, &plan, "--json");
    finished.expect(0, &[]);
    let found = json(&finished);
    assert_eq!(found["first_changed"], serde_json::json!(["a b", "a b"]), "{found}");
    assert_eq!(found["response"], "elapsed_ns");
    let before = files(&fixture);
    assert_eq!(found["measurements"], before.len() - 1, "and the manifest: {before:?}");
    assert_nothing_left(&fixture, 0, &queue_keys(&fixture));

    let again = of_plan(&fixture, &plan, "--json");
    again.expect(0, &[&format!("{} measurements already exist", before.len() - 1)]);
    assert_eq!(json(&again)["first_changed"], found["first_changed"]);
    assert_eq!(json(&again)["measurements"], 0);
    assert_eq!(files(&fixture), before);

    // What was measured under other conditions does not count.
    let larger = plan.replace("mem=64M", "mem=96M");
    let other = of_plan(&fixture, &larger, "");
    other.expect(0, &[]);
    assert!(!other.stderr.contains("already"), "{}", other.stderr);
    let foreign = plan.replace("\"version\"", "\"release\"");
    of_plan(&fixture, &foreign, "").expect(2, &["output holds", "--output DIR"]);
}

#[test]
fn a_commit_is_found_and_one_that_does_not_build_is_skipped() {
    const NAME: &str = "a_commit_is_found_and_one_that_does_not_build_is_skipped";
    if Command::new("git").arg("--version").output().is_err() {
        return skip(NAME, "git is not installed");
    }
    let fixture = Fixture::new();
    let repo = fixture.path().join("repo");
    fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "--quiet"]);
    // In started programs: faults are counted the same on a busy machine, times are not.
    let costs = ["1", "1", "1", "broken", "20", "20", "20"];
    let commits: Vec<String> = costs
        .iter()
        .enumerate()
        .map(|(step, cost)| {
            fs::write(repo.join("cost"), format!("{cost}\n")).unwrap();
            fs::write(repo.join("step"), step.to_string()).unwrap();
            git(&repo, &["add", "."]);
            git(&repo, &["commit", "--quiet", "--message", "step"]);
            git(&repo, &["rev-parse", "HEAD"])
        })
        .collect();
    script(&fixture, r#"["sh", "{cost}"]"#);
    let built = fixture.path().join("{level}.sh");
    let plan = format!(
        "{BASE}set = {{ session.cost = {built:?} }}\nbuild = 'echo \"for i in \\$(seq $(git -C repo show \
         {{level}}:cost)); do /bin/true; done\" > {{level}}.sh; ! grep broken {{level}}.sh >&2'\n"
    );
    let (first, last) = (&commits[0], &commits[6]);
    let range =
        format!("--factor version --git {first}..{last} --repo repo --response faults --json");
    let finished = of_plan(&fixture, &plan, &range);
    finished.expect(0, &[]);
    let found = json(&finished);
    assert_eq!(found["steps"], serde_json::json!(commits));
    assert_eq!(found["first_changed"], serde_json::json!([commits[3], commits[4]]), "{found}");
    assert_eq!(found["skipped"][0]["step"], *commits[3]);
    assert!(found["skipped"][0]["reason"].as_str().unwrap().contains("broken"), "{found}");
    for (range, words) in [
        (last.clone(), "GOOD..BAD"),
        (format!("{first}..no-such"), "no-such"),
        (format!("{last}..{last}"), "two"),
    ] {
        let arguments = format!("--factor version --git {range} --repo repo");
        of_plan(&fixture, &plan, &arguments).expect(2, &[words]);
    }
}

/// What git says, in a repository with an author of its own.
fn git(repo: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(repo)
        .args(["-c", "user.name=test", "-c", "user.email=test@example.org"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
