//! Runs that stop at a point: always at the same instruction, and for any client of gdb's protocol.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::lab::Lab;

fn stopped(lab: &Lab, file: &str, arguments: &[&str]) -> Value {
    let printed = lab.command(&[&["vm", "debug", file, "--json", "--no-wait"], arguments].concat());
    printed.expect(0, &[]);
    serde_json::from_str(&printed.stdout).unwrap()
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("no {name} in {of}"))
}

#[test]
fn a_run_stops_at_the_same_instruction_every_time() {
    let Some(lab) = Lab::with_engine("a_run_stops_at_the_same_instruction_every_time") else {
        return;
    };
    let (file, run) = lab.swapping_run("");
    let third = run.samples().find(|sample| sample.index == 3).unwrap();
    let fault = ["--at", "response:3", "--break", "swapin_readahead"];
    let first = stopped(&lab, &file, &fault);
    assert_eq!(first, stopped(&lab, &file, &fault), "the same fault");
    assert_eq!(first["function"], "swapin_readahead+0x0");
    assert!(number(&first, "run_ns") >= third.intended_ns, "{first}");

    // Where it was is where it is again.
    let clock = format!("clock:{}", number(&first, "clock_ns"));
    let again = stopped(&lab, &file, &["--at", &clock]);
    assert_eq!(again["registers"], first["registers"]);

    // The word on top of the stack is where the function returns to: its caller wrote it.
    let slot = first["registers"]["rsp"].as_str().unwrap();
    let written = stopped(&lab, &file, &["--at", &clock, "--last-write", slot]);
    assert_eq!(number(&written, "clock_ns"), number(&first, "clock_ns") - 8, "the call");
    assert!(written["function"].as_str().unwrap().starts_with("do_swap_page"), "{written}");

    // A condition that holds later.
    let entry = first["registers"]["rdi"].as_str().unwrap();
    let other =
        stopped(&lab, &file, &[&fault[..], &["--if", &format!("arg1 != {entry}")]].concat());
    assert!(number(&other, "clock_ns") > number(&first, "clock_ns"), "{other}");
    assert_ne!(other["registers"]["rdi"], entry);
}

#[test]
fn a_run_on_several_cpus_stops_at_the_same_instructions() {
    let Some(lab) = Lab::with_engine("a_run_on_several_cpus_stops_at_the_same_instructions") else {
        return;
    };
    let (file, _) = lab.swapping_run(",cpus=2");
    let switch = ["--at", "2s", "--break", "__switch_to_asm"];
    let first = stopped(&lab, &file, &switch);
    assert_eq!(first, stopped(&lab, &file, &switch));
    let clock = format!("clock:{}", number(&first, "clock_ns"));
    assert_eq!(
        number(&stopped(&lab, &file, &["--at", &clock]), "clock_ns"),
        number(&first, "clock_ns")
    );
}

/// A client of the stub in a terminal beside the command.
fn asked(socket: &Path, request: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    let sum = request.bytes().fold(0_u8, u8::wrapping_add);
    write!(stream, "${request}#{sum:02x}").unwrap();
    let mut answer = String::new();
    while answer.matches('#').count() == 0 {
        let mut bytes = [0; 512];
        let count = stream.read(&mut bytes).unwrap();
        answer += str::from_utf8(&bytes[..count]).unwrap();
    }
    answer
}

#[test]
fn a_stopped_run_waits_for_gdb_and_leaves_nothing() {
    let Some(lab) = Lab::with_engine("a_stopped_run_waits_for_gdb_and_leaves_nothing") else {
        return;
    };
    let (file, _) = lab.swapping_run("");
    let mut running = lab.begin(&["vm", "debug", &file, "--at", "response:2"]);
    let socket = |said: &str| {
        let (_, rest) = said.split_once("target remote ")?;
        Some(PathBuf::from(rest.split_once('\'')?.0))
    };
    let found = (0..600).find_map(|_| {
        assert_eq!(running.ended(), None, "{}", running.said());
        std::thread::sleep(Duration::from_millis(100));
        socket(&running.said())
    });
    let socket = found.unwrap();
    assert!(asked(&socket, "?").contains("thread:"), "it answers");
    let folder = socket.parent().unwrap().to_owned();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    let kernel = fs::read(folder.join("kernel")).unwrap();
    assert!(kernel.starts_with(b"\x7fELF") && kernel.len() > 1 << 20, "names of functions");
    running.signal(Signal::INT);
    running.wait().expect(0, &["the machine waits for gdb"]);
    assert!(!folder.exists());
}

#[test]
fn what_cannot_be_stopped_at_is_refused() {
    let Some(lab) = Lab::with_engine("what_cannot_be_stopped_at_is_refused") else { return };
    let (file, _) = lab.swapping_run("");
    for (arguments, code, words) in [
        (&["--at", "response:99"][..], 2, "the last one is"),
        (&["--at", "1000s"], 2, "the run ends at"),
        (&["--at", "noon"], 2, "is not a point of a run, e.g. response:3"),
        (&["--at", "1s", "--break", "no_such_function"], 2, "no function of this name"),
        (&["--at", "1s", "--break", "vfs_read", "--if", "eax == 1"], 2, "no register eax"),
        (&["--at", "1s", "--last-write", "here"], 2, "is not an address"),
        (&["--at", "1s", "--last-write", "8:8"], 3, "the run has no write to 0x8:8 before 1s"),
        (&["--at", "1s", "--break", "panic"], 3, "the run has no entry of panic after 1s"),
        (&["--at", "clock:9000000000000000000"], 3, "the guest ended before that time"),
    ] {
        let refused = lab.command(&[&["vm", "debug", &file], arguments].concat());
        refused.expect(code, &[words]);
    }
}
