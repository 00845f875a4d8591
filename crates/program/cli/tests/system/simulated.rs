//! Simulated machines as subjects: the same commands on their run files, the same bytes serially and
//! in parallel, and what cannot be simulated.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::support::{Finished, Fixture};

/// A program that is over at once.
const SMALL: &str = "--set vmtest.loops=40 --set vmtest.process_size=512K";

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:#?}"))
}

/// All files of a folder.
fn files(fixture: &Fixture, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(fixture.path().join(folder)).unwrap();
    entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect()
}

#[test]
fn runs_of_a_simulated_machine_are_runs_like_any_others() {
    let fixture = Fixture::new();
    for (hat, folder) in [("old", "a"), ("new", "b")] {
        let arguments = format!(
            "run --job vmtest:size=20M,loops=200 --subject mmu:machine=sparcstation1,hat={hat} \
             --seeds 1..5 --output {folder}"
        );
        let finished = fixture.finish(fixture.thrashlab(&arguments));
        finished.expect(0, &["5 runs\n"]);
        let place = format!("simulated sparcstation1 of 24M, hat {hat}");
        for words in [place.as_str(), "20M of virtual memory", "seeds 1..5", "simulated run"] {
            assert!(finished.stdout.contains(words), "{words:?} is not in\n{}", finished.stdout);
        }
        let shown = fixture.finish(fixture.thrashlab(&format!("show {folder}")));
        shown.expect(0, &[]);
        assert_eq!(shown.stdout, finished.stdout);
    }
    let compared = fixture.finish(fixture.thrashlab("compare a b --json"));
    compared.expect(0, &[]);
    let cells = json(&compared)["cells"].as_array().unwrap().clone();
    let of = |response: &str| {
        let is_of = |cell: &&Value| cell["response"] == response;
        let cell = cells.iter().find(is_of).unwrap_or_else(|| panic!("{response}: {cells:?}"));
        cell["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!((of("cpu_ns"), of("faults")), ("improvement".into(), "improvement".into()));
    let run = fixture.path().join("a/001-noload-seed3.run.jsonl");
    let run = model::Run::parse(&fs::read(run).unwrap()).unwrap();
    assert_eq!((run.checksum_ok, run.status()), (Some(true), model::EndStatus::Complete));
    let header = run.header.unwrap();
    assert_eq!((header.schema, header.started_unix_ns, header.spec.seed), (2, 0, 3));
}

#[test]
fn a_sweep_over_a_simulated_machine_finds_its_cliff_and_says_what_moved() {
    let fixture = Fixture::new();
    let arguments = "sweep vmtest --subject mmu:machine=sparcstation1,hat=old --range 2M..32M \
        --set vmtest.loops=1000 --output output";
    let finished = fixture.finish(fixture.thrashlab(arguments));
    finished.expect(0, &["run files: output"]);
    for words in
        ["exactly repeatable", "Knee at ", "A fault costs ", "hat.pmgstolen_noctx", "pmegs"]
    {
        assert!(finished.stdout.contains(words), "{words:?} is not in\n{}", finished.stdout);
    }
    let before = files(&fixture, "output");
    let again = fixture.finish(fixture.thrashlab(arguments));
    again.expect(0, &[]);
    assert!(!again.stderr.contains("[1/"), "no run starts: {}", again.stderr);
    assert_eq!(again.stdout, finished.stdout);
    assert_eq!(files(&fixture, "output"), before);
    // A setting of the machine is a parameter like any other.
    let pmegs = format!(
        "sweep vmtest --over mmu.pmegs --range 200..80 --coarse 5 --passes 1 \
        --budget 8 {SMALL} --set vmtest.size=8M --output pmegs"
    );
    let finished = fixture.finish(fixture.thrashlab(&pmegs));
    finished.expect(0, &[]);
    assert!(finished.sentences().contains("over mmu.pmegs"), "{}", finished.stdout);
}

#[test]
fn a_plan_over_systems_and_machines_is_the_same_serially_and_in_parallel() {
    let fixture = Fixture::new();
    let plan = "name = \"hats\"\nblocks = 4\nresponses = [\"touch_ns\"]\n[base]\njob = \"vmtest\"\n\
        vmtest.size = \"24M\"\nvmtest.loops = 1000\n\
        [[factor]]\nname = \"hat\"\nparameter = \"mmu.hat\"\nlevels = [\"old\", \"new\"]\n\
        [[factor]]\nname = \"machine\"\nparameter = \"mmu.machine\"\n\
        levels = [\"sparcstation1\", \"sparcstation2\"]\n";
    fs::write(fixture.path().join("plan.toml"), plan).unwrap();
    for (jobs, folder) in [(1, "serial"), (7, "parallel")] {
        let arguments = format!("experiment plan.toml --jobs {jobs} --output {folder}");
        fixture.finish(fixture.thrashlab(&arguments)).expect(0, &["16 runs"]);
    }
    assert_eq!(files(&fixture, "serial"), files(&fixture, "parallel"));
    let check = fixture.finish(fixture.thrashlab("experiment plan.toml --check --output new"));
    check.expect(0, &[]);
    assert!(check.sentences().contains("To be simulated: 16."), "{}", check.stdout);
    let told = fixture.finish(fixture.thrashlab("attribute serial"));
    told.expect(0, &[]);
    for words in ["Conclusion", "hat", "machine"] {
        assert!(told.stdout.contains(words), "{words:?} is not in\n{}", told.stdout);
    }
    let compared = fixture.finish(fixture.thrashlab("compare serial --factor hat"));
    compared.expect(0, &[]);
    assert!(compared.stdout.contains("improvement"), "{}", compared.stdout);
}

#[test]
fn the_table_of_1990_stands_beside_the_simulated_one() {
    let fixture = Fixture::new();
    let table = "--compare reference:sun4/vmtest-sparcstation1-old-hat --range 2M..6M --seeds 3";
    let run =
        |more: &str| fixture.finish(fixture.thrashlab(&format!("mmu run vmtest {table} {more}")));
    let finished = run("--run-files output");
    finished.expect(0, &[]);
    for words in ["within 5 %: yes", "Accepted: 2 of 2 conditions hold.", "seeds 1..3", "median"] {
        assert!(finished.stdout.contains(words), "{words:?} is not in\n{}", finished.stdout);
    }
    assert_eq!(run("--jobs 1 --json").stdout, run("--jobs 5 --json").stdout);
    assert_eq!(json(&run("--json"))["beside"]["rows"].as_array().unwrap().len(), 3);
    // A sweep reads these runs as its own.
    let read = fixture.finish(fixture.thrashlab("sweep --from output"));
    read.expect(0, &[]);
    assert!(read.sentences().contains("over vmtest.size"), "{}", read.stdout);
    run("--run-files output").expect(2, &["holds runs already"]);
    // Another machine is not that of the table, and that is an exit code.
    let slow = run("--set clock_hz=10000000");
    slow.expect(1, &[]);
    assert!(slow.sentences().contains("Not accepted: 1 of 2"), "{}", slow.stdout);
}

#[test]
fn remedies_are_ranked_alone_and_together() {
    let fixture = Fixture::new();
    let whatif = |more: &str| {
        let arguments = format!("mmu whatif vmtest:24M --set loops=200 --seeds 4 {more}");
        fixture.finish(fixture.thrashlab(&arguments))
    };
    let finished = whatif("");
    finished.expect(0, &[]);
    for words in ["without a remedy  ", "Each alone\n", "software cache of pmegs", "kernel patch"] {
        assert!(finished.stdout.contains(words), "{words:?} is not in\n{}", finished.stdout);
    }
    assert_eq!(whatif("--jobs 1 --json").stdout, whatif("--jobs 6 --json").stdout);
    let found = json(&whatif("--json"));
    let ratios = |key: &str| -> Vec<f64> {
        let rows = found[key].as_array().unwrap();
        rows.iter().map(|row| row["gain"]["ratio"].as_f64().unwrap()).collect()
    };
    let alone = ratios("alone");
    assert!(alone.len() > 8 && alone.is_sorted_by(|one, other| one >= other), "{alone:?}");
    let together = ratios("together");
    assert!(!together.is_empty() && together.iter().all(|gain| *gain > 1.01), "{together:?}");
}

#[test]
fn what_cannot_be_simulated_is_refused_with_the_reason() {
    let fixture = Fixture::new();
    let bad = "kind = \"sun4\"\nname = \"x\"\nclock_hz = 20_000_000\n\n[mmu]\ncontexts = 1\n\
        pmegs = 128\nreserved_pmegs = 42\npage_bytes = 4096\n[memory]\nbytes = 25_165_824\n\
        line_fill_ns = 500\n[cycles]\ntouch = 11\npte = 12\nsegment = 100\n";
    fs::write(fixture.path().join("bad.toml"), bad).unwrap();
    fs::write(fixture.path().join("worse.toml"), "kind = \"sun4\"\nname = 3\n").unwrap();
    for (arguments, code, words) in [
        ("mmu run vmtest --machine ./bad.toml", 2, "./bad.toml: line 6, column 12: contexts"),
        ("mmu run vmtest --machine ./worse.toml", 2, "worse.toml: line 2, column 8"),
        ("mmu run vmtest --machine none.toml", 2, "none.toml"),
        ("mmu run vmtest --machine vax", 2, "sparcstation1"),
        ("mmu run vmtest --hat felt", 2, "netbsd"),
        ("mmu run vmtest --set speed=9", 2, "victim"),
        ("mmu run vmtest --set pmegs=0", 2, "pmegs"),
        ("mmu run vmtest:3M", 2, "multiple"),
        ("mmu run vmtest --range 32M..2M", 2, "downwards"),
        ("mmu run vmtest --range 2M..4M --step 0", 2, "--step 0"),
        ("mmu run vmtest --seeds 0", 2, "at least one seed"),
        ("mmu run vmtest --compare reference:sun4/models", 2, "--compare"),
        (
            "mmu run vmtest --hat linux --compare reference:sun4/vmtest-sparcstation1-new-hat",
            2,
            "old, new",
        ),
        ("mmu whatif gzip", 2, "vmtest"),
        ("run --subject mmu:hat=old", 3, "noload cannot be measured: probe response"),
        ("run --subject mmu --job session", 3, "vmtest"),
        ("run --subject mmu:victim=nobody --job vmtest", 2, "two-pass"),
        ("run --subject mmu --job vmtest --swap 1M", 2, "swap files"),
        ("sweep vmtest --subject mmu --range 2M..8M --load cpuload", 2, "one program and no load"),
        ("sweep vmtest --subject host --set mmu.hat=old --range 2M..8M", 2, "not simulated"),
        ("sweep vmtest --over mmu.victim --range 1..2", 2, "mmu.victim is not a number"),
    ] {
        fixture.finish(fixture.thrashlab(arguments)).expect(code, &[words]);
    }
    let skipped = "run --subject mmu --job vmtest:size=2M,loops=5 --load cpuload";
    let finished = fixture.finish(fixture.thrashlab(skipped));
    finished.expect(0, &["cpuload skipped: load cpuload: a simulated machine runs one program"]);
}

#[test]
fn listed_cells_are_made_elsewhere_and_put_together_as_the_same_bytes() {
    let fixture = Fixture::new();
    let plan = "name = \"p\"\nblocks = 2\n[base]\nsubject = \"mmu\"\njob = \"vmtest\"\n\
                vmtest.size = \"2M\"\nvmtest.loops = 2\n[[factor]]\nname = \"hat\"\n\
                parameter = \"mmu.hat\"\nlevels = [\"old\", \"new\"]\n";
    fs::write(fixture.path().join("plan.toml"), plan).unwrap();
    let experiment = |arguments: &str| {
        let arguments = format!("experiment plan.toml {arguments}");
        fixture.finish(fixture.thrashlab(&arguments))
    };
    experiment("--output serial").expect(0, &[]);
    let list = experiment("--list-cells --output elsewhere");
    list.expect(0, &[]);
    assert_eq!(list.stdout.lines().count(), 4);
    let make = |text: &str| {
        fs::write(fixture.path().join("list"), text).unwrap();
        let mut command = fixture.thrashlab("cells store");
        command.stdin(fs::File::open(fixture.path().join("list")).unwrap());
        fixture.finish(command)
    };
    // What is cut off is refused, and what ran before it stays.
    let cut = &list.stdout[..list.stdout.len() - 9];
    make(cut).expect(2, &["line 4: no cell and no machine"]);
    let made = make(&list.stdout);
    made.expect(0, &[]);
    let cached: Vec<Value> =
        made.stdout.lines().map(|line| json_line(line)["cached"].clone()).collect();
    assert_eq!(cached, [true, true, true, false]);
    let check = experiment("--cells store --output elsewhere --check");
    check.expect(0, &[]);
    assert!(
        check.sentences().contains("0 runs are in elsewhere, 4 in the cache"),
        "{}",
        check.stdout
    );
    experiment("--cells store --output elsewhere").expect(0, &["4 of 4 cells were in the cache"]);
    assert_eq!(files(&fixture, "elsewhere"), files(&fixture, "serial"));
    assert_eq!(experiment("--list-cells --output elsewhere").stdout, "");
}

fn json_line(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}
