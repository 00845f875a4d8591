//! Files that commands read and write: what can be read once only is read once; what was there
//! before is replaced by a complete file or not at all, and what is not a regular file stays what it
//! is.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip::skip;
use crate::support::{Finished, Fixture, is_root};

/// Commands that write a file, without the file, and the folder that they read.
const WRITERS: [&str; 4] = [
    "trace convert given.din --quiet -o",
    "export runs --format csv -o",
    "report runs -o",
    "doctor --from runs --openmetrics",
];

/// A folder with two runs, and a trace.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let run = fixture.run("--load noload,cpuload --points 1 --warmup 10ms --no-report");
    fixture.finish(run).expect(0, &[]);
    symlink(fixture.output(), fixture.path().join("runs")).unwrap();
    fs::write(fixture.path().join("given.din"), "0 1000\n1 2000\n").unwrap();
    fixture
}

fn command(fixture: &Fixture, words: &str, output: &Path) -> Command {
    let mut command = fixture.thrashlab(words);
    command.arg(output);
    command
}

/// Names in a folder, hidden ones included.
fn names(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_mistyped_command_leaves_a_former_trace_as_it_was() {
    let fixture = Fixture::new();
    let trace = fixture.path().join("trace.tlt");
    fs::write(&trace, "yesterday").unwrap();
    let mistyped = "trace record -o trace.tlt -- no-such-gzpi";
    fixture.finish(fixture.thrashlab(mistyped)).expect(2, &["no-such-gzpi"]);
    fixture.finish(fixture.thrashlab("trace record -- true")).expect(2, &["trace.tlt exists"]);
    assert_eq!(fs::read(&trace).unwrap(), b"yesterday");
    fs::remove_file(&trace).unwrap();
    fixture.finish(fixture.thrashlab("trace record -- no-such-gzpi")).expect(2, &["no-such-gzpi"]);
    assert!(!trace.exists(), "nor is one created");
    assert!(names(fixture.path()).iter().all(|name| !name.to_string_lossy().contains(".part")));
}

#[test]
fn a_device_is_written_to_and_never_removed() {
    let name = "a_device_is_written_to_and_never_removed";
    let fixture = fixture();
    let device = fixture.path().join("null");
    let made = Command::new("mknod").arg(&device).args(["c", "1", "3"]).status().unwrap();
    if !is_root() || !made.success() {
        return skip(name, "only root can make a device");
    }
    let is_device = || fs::symlink_metadata(&device).unwrap().file_type().is_char_device();
    for words in WRITERS {
        fixture.finish(command(&fixture, words, &device)).expect(0, &[]);
        assert!(is_device(), "{words}");
    }
    let mut mistyped = fixture.thrashlab("trace record -o null -- no-such-gzpi");
    mistyped.current_dir(fixture.path());
    fixture.finish(mistyped).expect(2, &["no-such-gzpi"]);
    assert!(is_device());
}

#[test]
fn a_pipe_is_written_through() {
    let fixture = fixture();
    for (number, words) in WRITERS.iter().enumerate() {
        let pipe = fixture.path().join(format!("pipe{number}"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut bytes = Vec::new();
                File::open(pipe).unwrap().read_to_end(&mut bytes).unwrap();
                bytes.len()
            }
        });
        fixture.finish(command(&fixture, words, &pipe)).expect(0, &[]);
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo(), "{words}");
        assert!(reader.join().unwrap() > 0, "{words}");
    }
}

#[test]
fn a_fifo_without_another_end_is_not_waited_for() {
    let fixture = fixture();
    let pipe = fixture.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let nobody = "a FIFO whose other end nobody opened within 10 s";
    for arguments in
        ["show pipe", "show reference:resp1/2.4.20 -o pipe", "run --events pipe -- true"]
    {
        fixture.finish(fixture.thrashlab(arguments)).expect(2, &["pipe: ", nobody]);
    }
}

/// Writes bytes into a FIFO as soon as a command reads it, and returns how that command ended.
fn through_pipe(fixture: &Fixture, bytes: &[u8], command: Command) -> Finished {
    let (pipe, bytes) = (fixture.path().join("pipe"), bytes.to_owned());
    std::thread::spawn(move || fs::write(pipe, bytes));
    fixture.finish(command)
}

#[test]
fn results_are_read_from_a_fifo_and_from_standard_input_as_from_a_file() {
    let fixture = fixture();
    let pipe = fixture.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let times = r#"{"results": [
        {"command": "a", "times": [1.0, 1.1, 1.2], "exit_codes": [0, 0, 0]},
        {"command": "b", "times": [3.0, 3.1, 3.2], "exit_codes": [0, 0, 0]}
    ]}"#;
    let table = "system,cpu_s\nold,1.5\nold,1.6\nnew,3.5\nnew,3.6\n";
    let run = fixture.run_bytes("001-noload");
    for bytes in [times.as_bytes(), table.as_bytes(), &run] {
        let file = fixture.path().join("file");
        fs::write(&file, bytes).unwrap();
        for arguments in ["show", "compare", "export --format go", "export --format csv"] {
            let is_of_tables = bytes == run && arguments.ends_with("csv");
            let with = |name: &str| fixture.thrashlab(&format!("{arguments} {name}"));
            let expected = fixture.finish(with("file"));
            let from_pipe = through_pipe(&fixture, bytes, with("pipe"));
            let mut from_input = with("-");
            from_input.stdin(File::open(&file).unwrap());
            let from_input = fixture.finish(from_input);
            for (found, name) in [(from_pipe, "pipe"), (from_input, "-")] {
                if is_of_tables {
                    found.expect(2, &[name, "can be read once only; write it into a file first"]);
                    continue;
                }
                found.expect(expected.code().unwrap(), &[]);
                let text = |finished: &Finished| finished.sentences().replace(name, "file");
                assert_eq!(text(&found), text(&expected), "{arguments} {name}");
            }
        }
        let page = fixture.thrashlab("report pipe -o page.html");
        through_pipe(&fixture, bytes, page).expect(0, &[]);
        fixture.finish(fixture.thrashlab("report file -o file.html")).expect(0, &[]);
        let [page, expected] = ["page.html", "file.html"].map(|name| {
            let path = fixture.path().join(name);
            let text = fs::read_to_string(&path).unwrap().replace("pipe", "file");
            fs::remove_file(path).unwrap();
            text
        });
        assert!(page == expected, "{page}");
    }
}

#[test]
fn a_symbolic_link_stays_and_its_file_is_replaced() {
    let fixture = fixture();
    for (number, words) in WRITERS.iter().enumerate() {
        let folder = fixture.path().join(format!("folder{number}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), "before").unwrap();
        let link = fixture.path().join(format!("link{number}"));
        symlink(folder.join("file"), &link).unwrap();
        fixture.finish(command(&fixture, words, &link)).expect(0, &[]);
        assert!(link.is_symlink(), "{words}");
        assert_ne!(fs::read(&link).unwrap(), b"before", "{words}");
        assert_eq!(names(&folder), [folder.join("file")], "{words}");
    }
}

#[test]
fn an_output_that_fails_leaves_the_former_one() {
    let fixture = fixture();
    let table = fixture.path().join("table.csv");
    fs::write(&table, "yesterday").unwrap();
    // The second reading, which writes the table, finds a damaged line.
    let damaged = fixture.path().join("damaged.run.jsonl");
    let mut bytes = fixture.run_bytes("001-noload");
    bytes.extend_from_slice(b"{\"kind\":\"sample\"\n{}\n");
    fs::write(&damaged, bytes).unwrap();
    let words = "export damaged.run.jsonl --format csv --table samples -o";
    let finished = fixture.finish(command(&fixture, words, &table));
    assert_ne!(finished.code(), Some(0));
    assert_eq!(fs::read(&table).unwrap(), b"yesterday");
}

#[test]
fn a_folder_with_a_damaged_run_is_not_empty() {
    let fixture = Fixture::new();
    let plan = "name = \"x\"\n[base]\nsubject = \"host\"\npoints = 1\n\
        interval = \"10ms\"\nwarmup = \"10ms\"\n[[factor]]\nname = \"load\"\nparameter = \"load\"\n\
        levels = [\"noload\", \"cpuload\"]\n";
    fs::write(fixture.path().join("plan.toml"), plan).unwrap();
    let damaged = fixture.output().join("1-seed1.run.jsonl");
    fs::create_dir(fixture.output()).unwrap();
    fs::write(&damaged, "{\"kind\":\"sample\"\n").unwrap();
    let words = "experiment plan.toml --blocks 1 --work-dir work --output output";
    fixture.finish(fixture.thrashlab(words)).expect(2, &["1-seed1.run.jsonl", "line 1"]);
    assert_eq!(names(&fixture.output()), std::slice::from_ref(&damaged));
    fs::write(&damaged, "").unwrap();
    fixture.finish(fixture.thrashlab(words)).expect(2, &["output"]);
    fs::remove_file(&damaged).unwrap();
    fixture.finish(fixture.thrashlab(words)).expect(0, &[]);
}

#[test]
fn metrics_of_several_runs_are_all_in_the_file() {
    let fixture = fixture();
    let file = fixture.path().join("metrics.prom");
    let words = "doctor --from runs --openmetrics";
    fixture.finish(command(&fixture, words, &file)).expect(0, &[]);
    let text = fs::read_to_string(&file).unwrap();
    for run in ["001-noload", "002-cpuload"] {
        let line = format!("thrashlab_doctor_interval_seconds{{run=\"runs/{run}.run.jsonl\"}}");
        assert!(text.contains(&line), "{text}");
    }
    assert_eq!(text.matches("# EOF").count(), 1, "{text}");
    let printed = fixture.finish(command(&fixture, words, Path::new("-")));
    printed.expect(0, &[]);
    assert_eq!(printed.stdout, text);
}
