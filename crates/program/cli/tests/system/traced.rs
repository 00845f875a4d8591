//! Traces of other tools, converted and looked at.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Finished, Fixture, PATIENCE, send};

/// The beginning and the end of valgrind's output for `/bin/true`.
const LACKEY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../simulate/trace/tests/fixtures/true.lackey");

fn trace(fixture: &Fixture, arguments: &str) -> Finished {
    fixture.finish(fixture.thrashlab(&format!("trace {arguments}")))
}

#[test]
fn a_foreign_trace_is_converted_there_and_back() {
    let fixture = Fixture::new();
    let name = |file: &str| fixture.path().join(file).display().to_string();
    let (own, back, again) = (name("t.tlt"), name("back.lackey"), name("again.tlt"));
    trace(&fixture, &format!("convert {LACKEY} -o {own}")).expect(0, &["references in"]);
    trace(&fixture, &format!("convert {own} -o {back} --to lackey"))
        .expect(0, &["1 were left out"]);
    trace(&fixture, &format!("convert {back} -o {again}")).expect(0, &[]);
    let told = |file: &str| -> serde_json::Value {
        let finished = trace(&fixture, &format!("stat --json {file}"));
        finished.expect(0, &[]);
        serde_json::from_str(&finished.stdout).unwrap()
    };
    let (first, last) = (told(LACKEY), told(&again));
    for figure in ["references", "loads", "stores", "fetches", "runs", "pages", "written_pages"] {
        assert!(first["summary"][figure].as_u64().unwrap() > 0, "{figure}");
        assert_eq!(first["summary"][figure], last["summary"][figure], "{figure}");
    }
    assert_eq!(told(&own)["header"]["program"], LACKEY);
    let blocks = trace(&fixture, &format!("stat --blocks {own}"));
    blocks.expect(0, &[]);
    assert_eq!(blocks.stdout.lines().count(), 2, "{}", blocks.stdout);
}

#[test]
fn bad_records_and_cut_files_are_told_and_wrong_formats_refused() {
    let fixture = Fixture::new();
    let name = |file: &str| fixture.path().join(file).display().to_string();
    fs::write(name("t.din"), "0 1000\n1 2000\n9 1\n").unwrap();
    let finished = trace(&fixture, &format!("stat {}", name("t.din")));
    finished.expect(0, &[]);
    assert!(finished.sentences().contains("line 3: "), "{}", finished.stdout);
    let own = name("t.tlt");
    trace(&fixture, &format!("convert {} -o {own}", name("t.din"))).expect(0, &["line 3: "]);
    let bytes = fs::read(&own).unwrap();
    fs::write(name("cut.tlt"), &bytes[..bytes.len() - 100]).unwrap();
    let finished = trace(&fixture, &format!("stat {}", name("cut.tlt")));
    finished.expect(0, &[]);
    assert!(finished.sentences().contains("cut off at byte"), "{}", finished.stdout);

    fs::write(name("t.txt"), "Dear reader,\n").unwrap();
    let (text, out) = (name("t.txt"), name("out.tlt"));
    trace(&fixture, &format!("convert {text} -o {out}")).expect(3, &["t.txt", "--input-format"]);
    assert!(!fs::exists(&out).unwrap());
    trace(&fixture, &format!("convert {own} -o {out} --to elf")).expect(2, &["lackey"]);
    trace(&fixture, &format!("convert {own} -o - --to oracleGeneral")).expect(2, &["-o"]);
    trace(&fixture, &format!("convert {own} -o {out} --to champsim")).expect(3, &["registers"]);
}

#[test]
fn what_is_stopped_leaves_no_file() {
    let fixture = Fixture::new();
    let out = fixture.path().join("out.tlt");
    let mut command =
        fixture.thrashlab(&format!("trace convert - --input-format din -o {}", out.display()));
    // A pipe with a little output that does not end: it would wait forever.
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all("0 1000\n".repeat(5000).as_bytes()).unwrap();
    let begun = Instant::now();
    // The unfinished file has no name in the folder, but the process has it open.
    let is_begun = || {
        let files = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten();
        let paths = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
        paths.into_iter().any(|path| path.starts_with(fixture.path()))
    };
    while !is_begun() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    send(child.id(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let left: Vec<_> = fs::read_dir(fixture.path()).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.is_dir()), "{left:?}");
}
