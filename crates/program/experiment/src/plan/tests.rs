//! Plans as text, as cells and as runs.

use std::collections::BTreeSet;
use std::path::Path;

use model::Measure;
use proptest::prelude::*;

use super::*;

const FACTORIAL: &str = r#"
name = "factorial"
seeds = [3, 1, 2]
order_seed = 7
responses = ["delay_ns"]

[base]
subject = "vm:machine=micro,kernel=deb:old"
load = "cpuload"
profile = "quick"
points = 3

[[factor]]
name = "system"
parameter = "kernel"
levels = ["deb:old", { name = "new", value = "deb:new", set = { load.intensity = 0.5 } }]

[[factor]]
name = "version"
set = { overlay = "build/{level}" }
build = "make {level}"
range = "1..3"
"#;

fn cells(text: &str) -> Result<Vec<CellPlan>, PlanError> {
    parse_plan(text)?.cells(Path::new("folder"))
}

#[test]
fn levels_change_what_the_base_has() {
    let plan = parse_plan(FACTORIAL).unwrap();
    assert_eq!(plan.factors[1].levels[2].build.as_deref(), Some("make 3"));
    let cells = plan.cells(Path::new("folder")).unwrap();
    assert_eq!(cells.len(), 6);
    let last = &cells[5];
    assert_eq!(label(&last.named), "new-3");
    let Some(crate::SubjectArg::Vm(request)) = &last.subject else { panic!("a guest") };
    assert_eq!(request.kernel.as_deref(), Some("deb:new"));
    assert_eq!(request.overlay.as_deref(), Some("folder/build/3"));
    assert_eq!((last.timing.points, last.timing.profile.as_str()), (3, "custom"));
    assert_eq!(last.load.intensity, 0.5);
    assert_eq!(cells[0].load.intensity, 1.0);
}

#[test]
fn every_block_has_every_cell_once_in_an_order_of_its_own() {
    let plan = parse_plan(FACTORIAL).unwrap();
    let runs = plan.runs();
    assert_eq!(runs.len(), 18);
    let names: BTreeSet<&str> = runs.iter().map(|(_, run)| run.run_id.as_str()).collect();
    assert_eq!(names.len(), 18);
    for (block, seed) in [3, 1, 2].into_iter().enumerate() {
        let of_block = || runs.iter().filter(|(_, run)| run.block == block as u32);
        assert!(of_block().all(|(_, run)| run.seed == seed));
        assert_eq!(of_block().map(|(cell, _)| cell).collect::<BTreeSet<_>>().len(), 6);
    }
    assert_eq!(runs, plan.runs(), "the order is seeded");
    let more = Plan { seeds: vec![3, 1, 2, 9], ..plan.clone() };
    assert_eq!(more.runs()[..18], runs, "further blocks come last");
}

#[test]
fn two_cells_are_run_as_abba() {
    let text = "name = \"x\"\nblocks = 4\n[[factor]]\nname = \"f\"\nparameter = \"load\"\n\
                levels = [\"noload\", \"cpuload\"]\n";
    let plan = parse_plan(text).unwrap();
    let order: Vec<usize> = plan.runs().iter().map(|(cell, _)| *cell).collect();
    for pair in order.chunks(4) {
        assert_eq!((pair[0], pair[1]), (pair[3], pair[2]), "{order:?}");
    }
}

#[test]
fn what_provokes_a_condition_may_have_zero_volume_and_a_load_may_not() {
    let cells = |load: &str| {
        let text = format!(
            "name = \"x\"\n[base]\nload = \"{load}\"\n[[factor]]\nname = \"f\"\n\
             parameter = \"load.intensity\"\nlevels = [0, 1]\n"
        );
        parse_plan(&text).unwrap().cells(Path::new(""))
    };
    assert_eq!(cells("provoke-minor-faults").unwrap()[0].load.intensity, 0.0);
    let refused = cells("cpuload").unwrap_err().to_string();
    assert!(refused.contains("cpuload is not a load at 0"), "{refused}");
}

#[test]
fn along_a_factor_every_second_block_goes_back() {
    let text = "name = \"x\"\nblocks = 3\n[[factor]]\nname = \"f\"\n\
                parameter = \"load.intensity\"\nlevels = [1, 2, 4]\n";
    let mut plan = parse_plan(text).unwrap();
    plan.order = Order::UpAndDown { first_block: 3 };
    let runs = plan.runs();
    let order: Vec<usize> = runs.iter().map(|(cell, _)| *cell).collect();
    assert_eq!(order, [2, 1, 0, 0, 1, 2, 2, 1, 0]);
    assert_eq!((runs[0].1.block, runs[0].1.run_id.as_str()), (3, "01-4-seed1"));
    // A level is the same run whatever other levels there are.
    plan.factors[0].levels.remove(0);
    assert_eq!(plan.runs()[0], (1, runs[0].1.clone()));
}

#[test]
fn a_fraction_tells_what_it_confuses() {
    let factor = |name: &str| {
        format!("[[factor]]\nname = \"{name}\"\nparameter = \"points\"\nlevels = [1, 2]\n")
    };
    let factors: String = ["a", "b", "c", "d", "e"].map(factor).concat();
    let plan = parse_plan(&format!("name = \"x\"\ndesign = \"resolution-5\"\n{factors}")).unwrap();
    assert_eq!(plan.combinations().unwrap().len(), 16);
    assert!(crate::carry_out::aliases(&plan).iter().any(|line| line == "a x b = c x d x e"));
    let few = parse_plan(&format!("name = \"x\"\ndesign = \"resolution-4\"\n{}", factor("a")));
    assert!(few.unwrap().combinations().is_err());
}

#[test]
fn a_session_has_the_settings_of_its_script() {
    let text = "name = \"x\"\n[base]\njob = \"session\"\nsession.think = \"20ms\"\n[[factor]]\n\
                name = \"users\"\nparameter = \"session.users\"\nlevels = [2, 3]\n";
    let cells = cells(text).unwrap();
    let Measure::Session(session) = &cells[1].measure else { panic!("a job") };
    let script = &session.script;
    assert_eq!((script.users, script.think_ns), (3, 20_000_000));
}

#[test]
fn a_limit_of_the_sandbox_is_one_wherever_the_sandbox_is() {
    let cell = |base: &str| {
        let text = format!(
            "name = \"x\"\n[base]\n{base}[[factor]]\nname = \"f\"\n\
             parameter = \"sandbox.memory\"\nlevels = [\"40M\", \"48M\"]\n"
        );
        cells(&text).map(|cells| cells[1].subject.clone())
    };
    let sandbox = |cpus_milli| {
        let memory_bytes = Some(48 << 20);
        let limits = subject::Limits { memory_bytes, cpus_milli, ..subject::Limits::default() };
        Some(crate::SubjectArg::Here(subject::LocalSubject::Sandbox(limits)))
    };
    assert_eq!(cell("").unwrap(), sandbox(None));
    let own = "subject = \"sandbox:mem=1G,cpus=0.5\"\n";
    assert_eq!(cell(own).unwrap(), sandbox(Some(500)));
    let guest = cell("subject = \"vm:machine=micro\"\nmachine.memory = \"96M\"\n").unwrap();
    let Some(crate::SubjectArg::Vm(request)) = guest else { panic!("a guest") };
    assert_eq!(request.sandbox.unwrap().memory_bytes, 48 << 20);
    assert_eq!(request.machine.memory_bytes, 96 << 20);
    for (base, why) in [
        ("subject = \"host\"\n", "the subject host has no sandbox"),
        ("subject = \"sandbox\"\nmachine.swap = \"1G\"\n", "sandbox is not a machine"),
    ] {
        let told = cell(base).unwrap_err().to_string();
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn against_itself_nothing_is_varied() {
    let plan = parse_plan(FACTORIAL).unwrap().against_itself();
    let cells = plan.cells(Path::new("")).unwrap();
    assert_eq!(cells.len(), 2);
    assert_eq!(cells[0].subject, cells[1].subject);
    assert_eq!(cells[0].timing, cells[1].timing);
    assert_eq!(cells[0].named, [(AA_FACTOR.to_owned(), "first".to_owned())]);
}

#[test]
fn all_that_cannot_be_set_is_told_at_once() {
    let text = "name = \"x\"\n[base]\nspeed = 9\n[[factor]]\nname = \"f\"\nparameter = \"load\"\n\
                levels = [\"nolod\", \"noload\", { name = \"s\", set = { probe = \"p\", points = 0 } }]\n";
    let Err(PlanError::Problems(problems)) = cells(text) else { panic!("accepted") };
    let told = problems.join("\n");
    for part in
        ["base: speed: no such", "level nolod: load: no load", "level s: probe", "points: a"]
    {
        assert!(told.contains(part), "{part} is missing in {told}");
    }
    assert_eq!(problems.len(), 4, "each once: {told}");
}

#[test]
fn what_is_no_plan_is_refused_with_the_reason() {
    let factor = "[[factor]]\nname = \"f\"\nparameter = \"load\"\n";
    for (text, why) in [
        ("name = ", "line 1"),
        ("name = \"x\"\nspeed = 1\n", "speed"),
        (
            "name = \"x/y\"\n[[factor]]\nname=\"f\"\nparameter=\"load\"\nlevels=[\"a\",\"b\"]",
            "folder",
        ),
        ("name = \"x\"\nfactor = []", "something to vary"),
        (&format!("name = \"x\"\nblocks = 0\n{factor}levels = [\"a\", \"b\"]"), "one block"),
        (&format!("name = \"x\"\nblocks = 2\nseeds = [1]\n{factor}levels = []"), "2 blocks and 1"),
        (&format!("name = \"x\"\nseeds = [1, 1]\n{factor}levels = [\"a\", \"b\"]"), "of its own"),
        (&format!("name = \"x\"\n{factor}levels = [\"a\"]"), "two levels"),
        (&format!("name = \"x\"\n{factor}levels = [\"a\", \"a\"]"), "name of its own"),
        (&format!("name = \"x\"\n{factor}range = \"5..1\""), "FIRST..LAST"),
        (&format!("name = \"x\"\n{factor}levels = [[1], 2]"), "level 1: a value is text"),
        ("name = \"x\"\n[[factor]]\nname = \"f\"\nlevels = [1, 2]", "needs the factor's"),
        (&format!("name = \"x\"\ndesign = \"half\"\n{factor}levels = []"), "resolution-4"),
    ] {
        let found = parse_plan(text).unwrap_err().to_string();
        assert!(found.contains(why), "{text}: {found}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}", at in 0usize..600) {
        let _ = parse_plan(&text);
        let cut: String = FACTORIAL.chars().take(at).chain(text.chars()).collect();
        if let Ok(plan) = parse_plan(&cut) {
            let _ = plan.cells(Path::new(""));
        }
    }
}
