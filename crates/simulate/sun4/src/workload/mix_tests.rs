//! Descriptions of mixes, what is refused in them, and the scenes that they make.

use super::*;
use crate::program::Step;
use crate::{Machine, Setup, System};

fn setup(hat: &str) -> Setup {
    let machine = Machine::parse(include_str!("../../machines/sparcstation1.toml")).unwrap();
    Setup::new(machine, System::named(hat).unwrap())
}

const SMALL: &str = r#"
name = "small"

[libraries.libc]
text = "480K"
data = "16K"

[programs.sh]
text = "64K"
heap = "32K"
libraries = [{ library = "libc", used = "40K" }]

[commands.ls]
program = "sh"
touches = { text = "8K" }

[[processes]]
name = "server"
program = "sh"
serves = true
touches = { text = "16K", stack = "8K" }

[[processes]]
name = "user"
program = "sh"
count = 2
think = "1s"
interactions = 3
touches = { text = "16K", library = "8K", heap = "8K" }
compute_cycles = 1000
calls = ["server"]
runs = ["ls"]
"#;

#[test]
fn what_is_written_is_what_is_run() {
    let mix = Mix::parse(SMALL).unwrap();
    let processes: u64 = mix.groups.iter().map(|group| group.count).sum();
    assert_eq!((mix.name.as_str(), processes), ("small", 3));
    let scene = scene(&mix, &setup("old"), 1).unwrap();
    let names: Vec<&str> = scene.programs.iter().map(|program| program.name.as_str()).collect();
    assert_eq!(names, ["init", "ls", "ls", "ls", "ls", "server", "user", "user"]);
    assert_eq!(scene.starts.iter().filter(|start| start.is_awaited).count(), 3);
    let user = &scene.programs[6].steps;
    let count = |is: fn(&Step) -> bool| user.iter().filter(|step| is(step)).count();
    assert_eq!(count(|step| *step == Step::Answer), 3);
    assert_eq!(count(|step| *step == Step::Call(1)), 3);
    assert_eq!(count(|step| matches!(step, Step::Fork(1..=4))), 3);
    let pauses = user.iter().filter_map(|step| match step {
        Step::Sleep(ns) => Some(*ns),
        _ => None,
    });
    assert!(pauses.clone().all(|ns| (500_000_000..=1_500_000_000).contains(&ns)));
    assert_eq!(pauses.collect::<std::collections::BTreeSet<_>>().len(), 3);
}

#[test]
fn the_seed_decides_and_users_differ() {
    let mix = Mix::parse(SMALL).unwrap();
    let setup = setup("old");
    assert_eq!(scene(&mix, &setup, 1).unwrap(), scene(&mix, &setup, 1).unwrap());
    assert_ne!(scene(&mix, &setup, 1).unwrap(), scene(&mix, &setup, 2).unwrap());
    let scene = scene(&mix, &setup, 1).unwrap();
    assert_ne!(scene.programs[6].steps, scene.programs[7].steps);
}

#[test]
fn a_static_program_takes_fewer_pmegs() {
    let mix = Mix::parse(MIXES[0].1).unwrap();
    let slots = |libraries| {
        let mut setup = setup("old");
        setup.set("libraries", libraries).unwrap();
        let scene = scene(&mix, &setup, 1).unwrap();
        let program = scene.programs.iter().find(|program| program.name == "xterm").unwrap();
        program.layout.pages.len()
    };
    assert_eq!((slots("shared"), slots("static")), (11, 4));
}

#[test]
fn what_is_wrong_is_refused_where_it_stands() {
    for (from, to, reason) in [
        ("name = \"small\"", "name = \" \"", "needs a name"),
        ("text = \"64K\"", "text = \"64Q\"", ""),
        ("text = \"64K\"", "text = \"0K\"", "needs text"),
        ("heap = \"32K\"", "heap = \"1G\"", "half an address space"),
        ("heap = \"32K\"", "stack = \"1M\"", "of stack do not fit"),
        ("library = \"libc\", used", "library = \"libm\", used", "choose from libc"),
        ("used = \"40K\"", "used = \"481K\"", "cannot be used"),
        ("program = \"sh\"\ntouches = { text = \"8K\" }", "program = \"zsh\"", "no program"),
        ("serves = true", "serves = true\nevery = \"1s\"", "one of think"),
        ("serves = true", "serves = true\ninteractions = 2", "never ends"),
        ("serves = true", "serves = true\ncalls = [\"server\"]", "may not call"),
        ("calls = [\"server\"]", "calls = [\"user\"]", "does not serve"),
        ("runs = [\"ls\"]", "runs = [\"rm\"]", "no command"),
        ("think = \"1s\"", "think = \"0s\"", "between 1ns"),
        ("interactions = 3\n", "", "no end"),
        ("interactions = 3", "interactions = 100000\nwings = 2", "wings"),
        ("count = 2", "count = 5000", "not between 1 and 4096"),
        ("name = \"user\"", "name = \"server\"", "has this name"),
    ] {
        assert!(SMALL.contains(from), "{from}");
        let text = SMALL.replacen(from, to, 1);
        let error = Mix::parse(&text).unwrap_err();
        assert!(error.to_string().contains(reason), "{to}: {error}");
        assert!(error.line <= text.lines().count() && error.column >= 1);
        let whole = ["no end"].contains(&reason);
        assert_eq!(error.line == 1 && error.column == 1, whole, "{to}: {error}");
    }
}

#[test]
fn every_shipped_mix_is_read() {
    for (name, text) in MIXES {
        let mix = Mix::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!mix.about.is_empty());
        for libraries in ["shared", "static"] {
            let mut setup = setup("new");
            setup.set("libraries", libraries).unwrap();
            assert!(!scene(&mix, &setup, 1).unwrap().programs.is_empty(), "{name}");
        }
    }
}
