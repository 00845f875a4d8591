//! The configuration file, the environment and options: which is in force, and what is refused.

use std::fs;

use serde_json::Value;

use crate::support::{Finished, Fixture};

fn configured(text: &str) -> Fixture {
    let fixture = Fixture::new();
    let folder = fixture.config().join("thrashlab");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
    fixture
}

fn with(fixture: &Fixture, variables: &[(&str, &str)], arguments: &str) -> Finished {
    let mut command = fixture.thrashlab(arguments);
    command.env_remove("NO_COLOR").envs(variables.iter().copied());
    fixture.finish(command)
}

#[test]
fn an_option_is_stronger_than_the_environment_and_the_environment_than_the_file() {
    let fixture = configured("subject = 'host:mem=64M'\njobs = 3\nmargin = '5%'\n");
    let shown = with(&fixture, &[("THRASHLAB_JOBS", "2")], "config --json");
    shown.expect(0, &[]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let of = |name: &str| {
        let mut settings = shown["settings"].as_array().unwrap().iter();
        let setting = settings.find(|setting| setting["name"] == name).unwrap();
        (
            setting["value"].as_str().unwrap().to_owned(),
            setting["origin"].as_str().unwrap().to_owned(),
        )
    };
    let expected = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
    assert_eq!(of("jobs"), expected("2", "environment"));
    assert_eq!(of("subject"), expected("host:mem=64M", "file"));
    assert_eq!(of("wall-limit"), expected("15m", "default"));

    // The file's subject is used, and the run file says where settings come from.
    let output = fixture.output();
    let run = "run --load noload --interval 100ms --points 1 --warmup 1s --no-report";
    let (work, output) = (fixture.work().display().to_string(), output.display().to_string());
    let finished =
        with(&fixture, &[("THRASHLAB_WORK_DIR", &work)], &format!("{run} --output {output}"));
    finished.expect(0, &[]);
    let header = fixture.run_file("001-noload").header.unwrap();
    let origins = [("subject", "file"), ("work-dir", "environment"), ("output", "given")];
    for (name, origin) in origins {
        assert_eq!(header.origins.get(name).map(String::as_str), Some(origin), "{name}");
    }
    assert_eq!(header.spec.subject, model::SubjectSpec::Host { memory_bytes: 64 << 20 });
    assert!(!header.origins.contains_key("intensity"), "{:?}", header.origins);
}

#[test]
fn defaults_of_the_user_do_not_refuse_or_override_what_was_given() {
    let fixture =
        configured("work-dir = '/tmp'\nmargin = '1%'\nkernel = 'nosuch'\nsubject = 'host'");
    // --work-dir is refused for simulated machines, but the default of one is not.
    let simulated = "run --job vmtest:size=2M --subject mmu:machine=sparcstation1 --no-report";
    with(&fixture, &[], simulated).expect(0, &[]);
    with(&fixture, &[], &format!("{simulated} --work-dir /tmp")).expect(2, &["--work-dir"]);
    let plan = with(&fixture, &[], "sweep touch --range 1M..4M --set subject=sandbox --dry-run");
    plan.expect(0, &[]);
    assert!(plan.stdout.contains("sandbox"), "{}", plan.stdout);
}

#[test]
fn a_wrong_file_is_refused_with_its_place_and_help_is_not() {
    for (text, words) in [
        (
            "\nmargins = '5%'\n",
            &["config.toml", "line 2", "\"margins\"", "did you mean margin?"][..],
        ),
        ("jobs = 0\n", &["config.toml", "line 1", "jobs", "1..=1024"]),
        ("jobs = [1]\n", &["config.toml", "line 1", "whole number"]),
        ("color = 'red'\n", &["config.toml", "auto, always, never"]),
        ("jobs =\n", &["config.toml", "line 1"]),
    ] {
        let fixture = configured(text);
        with(&fixture, &[], "config").expect(2, words);
        with(&fixture, &[], "reference").expect(2, words);
        for help in ["--help", "run --help", "man config", "completions bash", "config --path"] {
            with(&fixture, &[], help).expect(0, &[]);
        }
    }
    let fixture = Fixture::new();
    with(&fixture, &[], "config").expect(0, &[]);
    with(&fixture, &[("THRASHLAB_JOBS", "many")], "config").expect(2, &["THRASHLAB_JOBS=many"]);
    fs::create_dir_all(fixture.config().join("thrashlab/config.toml")).unwrap();
    with(&fixture, &[], "config").expect(2, &["read", "config.toml", "directory"]);
}

#[test]
fn through_sudo_the_file_is_that_of_home() {
    let fixture = configured("jobs = 3\n");
    let home = fixture.path().join("home");
    let variables = [("SUDO_UID", "1000"), ("HOME", home.to_str().unwrap())];
    let shown = with(&fixture, &variables, "config --path");
    shown.expect(0, &[]);
    let is_root = rustix::process::geteuid().is_root();
    let folder = if is_root { home.join(".config") } else { fixture.config() };
    let path = folder.join("thrashlab/config.toml");
    assert_eq!(shown.stdout.trim_end(), path.display().to_string());
}

#[test]
fn colours_are_asked_for_and_refused() {
    let fixture = Fixture::new();
    let colored = configured("color = 'always'\n");
    let (no, force) = (("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1"));
    for (fixture, variables, arguments, is_colored) in [
        (&fixture, &[][..], "", false),
        (&fixture, &[force], "", true),
        (&fixture, &[force, no], "", false),
        (&fixture, &[no], "--color always", true),
        (&fixture, &[force], "--color=never", false),
        (&colored, &[], "", true),
        (&colored, &[no], "", false),
    ] {
        for command in ["show reference:resp1/2.4.20", "--help", "run --help"] {
            let shown = with(fixture, variables, &format!("{command} {arguments}"));
            shown.expect(0, &[]);
            let has_color = shown.stdout.contains('\u{1b}');
            assert_eq!(
                has_color, is_colored,
                "{command} {arguments} {variables:?}\n{}",
                shown.stdout
            );
        }
    }
    let json = with(&colored, &[], "reference --json");
    assert!(serde_json::from_str::<Value>(&json.stdout).is_ok(), "{}", json.stdout);
}
