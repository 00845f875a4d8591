//! An experiment in guests: repeated exactly, taken from the cache, on a program under test.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::lab::Lab;
use crate::support::Finished;

/// Runs the plan in the lab's machine; the folder has another name each time.
fn experiment(lab: &Lab, arguments: &[&str]) -> Finished {
    let usual = ["experiment", "plan.toml", "--output", "output"];
    lab.command(&[&usual[..], arguments].concat())
}

/// The program under test, its session and the plan: how much the program has to read.
fn write_plan(lab: &Lab) {
    let folder = lab.fixture.path();
    let tool = folder.join("overlay/opt/tool");
    fs::create_dir_all(tool.parent().unwrap()).unwrap();
    // A program that needs nothing else: the agent, under another name.
    fs::write(&tool, &instrument::Agent::here().unwrap().bytes).unwrap();
    fs::set_permissions(&tool, Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("overlay/opt/short"), "a line\n".repeat(100)).unwrap();
    fs::write(folder.join("overlay/opt/long"), "a line\n".repeat(100_000)).unwrap();
    let script = "name = \"count\"\nusers = 1\nthink = \"1ms\"\n[variables]\nfile = \"none\"\n\
                  [[command]]\nname = \"count\"\n\
                  run = [\"/opt/tool\", \"tool\", \"count\", \"{file}\"]\n";
    fs::write(folder.join("script.toml"), script).unwrap();
    let plan = format!(
        "name = \"guests\"\nseeds = [1, 2]\nresponses = [\"cpu_ns\"]\n[base]\n\
         subject = \"vm:{},kernel_mem=52M\"\noverlay = \"overlay\"\nload = \"noload\"\njob = \"session\"\n\
         session.script = \"script.toml\"\nsession.tools = \"system\"\n[[factor]]\n\
         name = \"size\"\nparameter = \"session.file\"\nlevels = [\n\
         {{ name = \"short\", value = \"/opt/short\" }},\n\
         {{ name = \"long\", value = \"/opt/long\" }},\n]\n",
        lab.machine()
    );
    fs::write(folder.join("plan.toml"), plan).unwrap();
}

/// The runs, without the manifest.
fn runs(lab: &Lab) -> Vec<(String, Vec<u8>)> {
    let _ = fs::remove_file(lab.fixture.output().join(results::manifest::FILE));
    lab.files()
}

#[test]
fn an_experiment_in_guests_is_repeated_to_the_byte_and_kept() {
    const NAME: &str = "an_experiment_in_guests_is_repeated_to_the_byte_and_kept";
    let Some(lab) = Lab::new(NAME) else { return };
    write_plan(&lab);
    let finished = experiment(&lab, &["--no-cache"]);
    finished.expect(0, &["4 runs", "1 command"]);
    assert!(finished.stdout.contains("long"), "{}", finished.stdout);
    let first = runs(&lab);
    assert_eq!(first.len(), 4);
    let cpu_ns = |name: &str| {
        let run = lab.fixture.run_file(name);
        let works = run.lines.iter().find_map(|line| match line {
            model::Line::Work(work) if work.pass == 0 => Some(work.clone()),
            _ => None,
        });
        let work = works.unwrap();
        assert_eq!(work.failure, None, "{name}");
        work.usage["user_ns"] + work.usage["system_ns"]
    };
    assert!(cpu_ns("02-long-seed1") > cpu_ns("01-short-seed1"), "it reads more");

    for (arguments, words) in
        [(&["--jobs", "1"][..], "4 runs"), (&[], "4 of 4 cells were in the cache")]
    {
        fs::remove_dir_all(lab.fixture.output()).unwrap();
        experiment(&lab, arguments).expect(0, &[words]);
        assert!(runs(&lab) == first, "{arguments:?} gives other bytes");
    }
    fs::remove_dir_all(lab.fixture.output()).unwrap();
    let check = experiment(&lab, &["--check"]);
    check.expect(0, &[]);
    assert!(check.stdout.contains("4 in the cache"), "{}", check.stdout);
}
