//! Without memory, space, processes, permissions or counters: a clear message, or an honest
//! reduction.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use model::{Censored, EndStatus, Line};

use crate::left::{assert_nothing_left, queue_keys};
use crate::skip::skip;
use crate::support::{Fixture, is_root, sandbox_works};

/// A user without any rights, for whom nothing else runs.
const NOBODY: u32 = 61_234;

/// A file system in memory, mounted on a folder; unmounted when dropped.
struct Tmpfs<'a>(&'a Path);

impl<'a> Tmpfs<'a> {
    fn mount(dir: &'a Path, options: &str) -> Option<Self> {
        fs::create_dir_all(dir).unwrap();
        let arguments = ["-t", "tmpfs", "-o", options, "tmpfs"];
        let mounted = Command::new("mount").args(arguments).arg(dir).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(dir))
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

fn swap_bytes() -> u64 {
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let sizes = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2));
    sizes.filter_map(|size| size.parse::<u64>().ok()).sum()
}

#[test]
fn the_oom_killer_ends_the_load_and_nothing_else() {
    const NAME: &str = "the_oom_killer_ends_the_load_and_nothing_else";
    if !sandbox_works() {
        return skip(NAME, "this user cannot make sandboxes here");
    }
    if swap_bytes() > 0 {
        return skip(NAME, "this machine swaps, so memory does not run out");
    }
    let fixture = Fixture::new();
    let arguments = "--load cpuload --intensity 80 --warmup 20s --timeout 20s --points 3";
    let running = fixture.start(fixture.run_on("sandbox:mem=32M", arguments));
    let pid = running.pid();
    let finished = running.wait();
    finished.expect(0, &["cpuload ended as LoadDied"]);
    assert!(finished.sentences().contains("the load died"), "{}", finished.stdout);
    assert!(finished.sentences().contains("OOM killer"), "{}", finished.stdout);
    let run = fixture.run_file("002-cpuload");
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::LoadDied, Some(true)));
    assert!(run.samples().all(|sample| sample.censored != Some(Censored::ProbeDied)));
    assert_eq!(fixture.run_file("003-noload").status(), EndStatus::Complete);
    assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
}

#[test]
fn the_oom_killer_ends_a_job_on_memory_and_is_named() {
    const NAME: &str = "the_oom_killer_ends_a_job_on_memory_and_is_named";
    if !sandbox_works() {
        return skip(NAME, "this user cannot make sandboxes here");
    }
    if swap_bytes() > 0 {
        return skip(NAME, "this machine swaps, so memory does not run out");
    }
    for backing in ["private", "shared"] {
        let fixture = Fixture::new();
        let arguments = format!("--job touch --set footprint=64M --set backing={backing}");
        let running = fixture.start(fixture.run_on("sandbox:mem=32M", &arguments));
        let pid = running.pid();
        running.wait().expect(3, &["noload ended as OutOfMemory", "OOM killer", "limit of 32M"]);
        let run = fixture.run_file("001-noload");
        assert_eq!((run.status(), run.checksum_ok), (EndStatus::OutOfMemory, Some(true)));
        let death = run.lines.iter().find_map(|line| match line {
            Line::Death(death) => Some(death.cause.clone()),
            _ => None,
        });
        assert!(death.is_some_and(|cause| cause.starts_with("the kernel killed the job")));
        assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
    }
}

#[test]
fn a_sandbox_of_few_processes_says_that_vmtest_has_too_many() {
    const NAME: &str = "a_sandbox_of_few_processes_says_that_vmtest_has_too_many";
    if !sandbox_works() {
        return skip(NAME, "this user cannot make sandboxes here");
    }
    let fixture = Fixture::new();
    let arguments = "--job vmtest --set size=64M";
    let finished = fixture.finish(fixture.run_on("sandbox:mem=64M,pids=8", arguments));
    assert!(finished.stderr.contains("pids.max"), "{finished:#?}");
    assert_eq!(fixture.run_file("001-noload").status(), EndStatus::Killed);
}

#[test]
fn a_small_disk_makes_the_loads_smaller_and_says_so() {
    let fixture = Fixture::new();
    let work = fixture.work();
    let Some(_mounted) = Tmpfs::mount(&work, "size=32m") else {
        return skip("a_small_disk_makes_the_loads_smaller_and_says_so", "mount is not permitted");
    };
    let finished = fixture.finish(fixture.run("--json"));
    finished.expect(0, &["is in memory"]);
    let matrix: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let warnings = matrix["warnings"].to_string();
    for row in matrix["rows"].as_array().unwrap() {
        // Files in memory count as the sandbox's memory: a load may die of them, but not in silence.
        let died = row["status"] == "load-died" && warnings.contains("OOM killer");
        assert!(died || row["status"] == "complete", "{warnings}: {row}");
    }
    assert!(warnings.contains("smallwrite: the file is "), "{warnings}");
    // With swap their memory is anonymous and needs no files.
    assert!(warnings.contains("its memory is ") || swap_bytes() > 0, "{warnings}");
}

#[test]
fn a_disk_that_fills_up_under_way_is_counted_and_survived() {
    let fixture = Fixture::new();
    let work = fixture.work();
    let Some(_mounted) = Tmpfs::mount(&work, "size=32m") else {
        return skip("a_disk_that_fills_up_under_way_is_counted_and_survived", "mount refused");
    };
    let command = fixture.run("--load smallwrite --probe fileops --points 6 --interval 300ms");
    let mut running = fixture.start(command);
    fixture.await_text(&mut running, "002-smallwrite", "\"phase\":\"measuring\"");
    // Somebody takes all space that was free when the load was sized, as soon as it is free.
    let filler = work.join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    running.await_that("the end of smallwrite", || {
        while file.write_all(&[1; 1 << 16]).is_ok() {}
        String::from_utf8_lossy(&fixture.run_bytes("002-smallwrite")).contains("\"end\"")
    });
    fs::remove_file(filler).unwrap();
    drop(file);
    let finished = running.wait();
    // The next run may have found no space for its own directory.
    assert!(matches!(finished.code(), Some(0 | 3)), "{finished:#?}");
    let run = fixture.run_file("002-smallwrite");
    assert_eq!(run.status(), EndStatus::Complete);
    assert_eq!(run.samples().count(), 6, "a failed sample is kept");
    let no_space = run.lines.iter().find_map(|line| match line {
        Line::Delivered(delivered) => delivered.totals.get("no_space").copied(),
        _ => None,
    });
    assert!(no_space > Some(0), "{no_space:?}");
}

#[test]
fn a_full_disk_of_the_results_is_named_and_nothing_is_left() {
    let fixture = Fixture::new();
    let dir = fixture.path().join("small");
    let Some(_mounted) = Tmpfs::mount(&dir, "size=64k") else {
        return skip("a_full_disk_of_the_results_is_named_and_nothing_is_left", "mount refused");
    };
    let folder = dir.join("results");
    let running = fixture
        .start(fixture.run(&format!("--points 9 --interval 50ms --output {}", folder.display())));
    let pid = running.pid();
    running.wait().expect(3, &["cannot be written", "No space left", "--output"]);
    let shown = fixture.finish(fixture.thrashlab(&format!("show {}", folder.display())));
    assert_eq!(shown.code(), Some(0), "what was written is valid: {shown:#?}");
    drop(_mounted);
    assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
}

#[test]
fn a_result_that_cannot_be_printed_is_a_failure() {
    let fixture = Fixture::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = fixture.thrashlab("reference").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"));
}

#[test]
fn results_that_cannot_be_made_are_named_with_the_next_step() {
    let fixture = Fixture::new();
    let finished = fixture.finish(fixture.run("--load noload --output /proc/nowhere"));
    finished.expect(3, &["/proc/nowhere", "--output"]);
}

#[test]
fn a_work_directory_that_cannot_be_written_is_named_with_the_next_step() {
    let fixture = Fixture::new();
    let finished = fixture.finish(fixture.run("--load noload --work-dir /proc/nowhere"));
    finished.expect(3, &["/proc/nowhere", "--work-dir"]);

    let work = fixture.work();
    let Some(_mounted) = Tmpfs::mount(&work, "ro") else {
        let name = "a_work_directory_that_cannot_be_written_is_named_with_the_next_step";
        return skip(name, "mount is not permitted");
    };
    let finished = fixture.finish(fixture.run("--load noload"));
    finished.expect(3, &[work.to_str().unwrap(), "Read-only file system", "--work-dir"]);
}

#[test]
fn a_work_directory_that_vanishes_ends_in_words() {
    for (load, probe) in [("smallwrite", "response"), ("2ctx-mem", "fileops"), ("cpuload", "exec")]
    {
        let fixture = Fixture::new();
        let arguments = format!("--load {load} --probe {probe} --points 4 --interval 300ms");
        let mut running = fixture.start(fixture.run(&arguments));
        let pid = running.pid();
        fixture.await_text(&mut running, &format!("002-{load}"), "\"phase\":\"measuring\"");
        fs::remove_dir_all(fixture.work()).unwrap();
        let said = [fixture.work().display().to_string(), "thrashlab show".to_owned()];
        running.wait().expect(3, &[&said[0], "No such file", "--work-dir", &said[1]]);
        assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
        let run = fixture.run_file(&format!("002-{load}"));
        // A memory load may want a file again that it has not opened yet, and with control groups
        // of version 1 it may run out of memory while its pages are being written; but not in
        // silence.
        let warnings: Vec<&str> = run.lines.iter().filter_map(Line::note).collect();
        let reasons = ["OOM killer".to_owned(), format!(" of {load}: fill {}", said[0])];
        let is_told = reasons.iter().any(|reason| format!("{warnings:?}").contains(reason));
        let died = run.status() == EndStatus::LoadDied && is_told;
        assert!(died || run.samples().count() == 4, "{:?}: {warnings:#?}", run.status());
    }
}

#[test]
fn a_limit_of_processes_is_named_wherever_it_strikes() {
    const NAME: &str = "a_limit_of_processes_is_named_wherever_it_strikes";
    if !is_root() {
        return skip(NAME, "only root can become a user for whom nothing else runs");
    }
    if Command::new("prlimit").arg("--version").output().is_err() {
        return skip(NAME, "prlimit is not installed");
    }
    let mut codes = Vec::new();
    // Controller, cleanup process, agent, prober and the load's processes, one after the other.
    for processes in 1..8 {
        let fixture = Fixture::of_user(NOBODY);
        let run = fixture.run("--load cpuload --interval 50ms");
        let mut command = fixture.other("prlimit");
        command.arg(format!("--nproc={processes}")).arg("--").arg(run.get_program());
        let running = fixture.start({
            command.args(run.get_args());
            command
        });
        let pid = running.pid();
        let finished = running.wait();
        assert!(matches!(finished.code(), Some(0 | 3)), "{processes}: {finished:#?}");
        let told = format!("{}{}", finished.stdout, finished.stderr);
        assert!(!told.contains("panicked"), "{told}");
        if finished.code() == Some(3) || told.contains("LoadDied") {
            assert!(told.contains("ulimit -u"), "{processes}: {told}");
        }
        codes.push(finished.code());
        assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
    }
    assert_eq!(codes[..3], [Some(3); 3], "cleanup process, agent and prober are needed: {codes:?}");
    assert_eq!(codes[3], Some(0), "without a process of the load the baseline is measured");
}

#[test]
fn a_limit_of_processes_in_the_sandbox_is_counted() {
    if !sandbox_works() {
        let name = "a_limit_of_processes_in_the_sandbox_is_counted";
        return skip(name, "this user cannot make sandboxes here");
    }
    let fixture = Fixture::new();
    let command = fixture.run_on("sandbox:mem=64M,pids=8", "--load spawnload --intensity 4");
    let finished = fixture.finish(command);
    if finished.stderr.contains("no sandbox: ") {
        let name = "a_limit_of_processes_in_the_sandbox_is_counted";
        return skip(name, "the pids controller cannot be used here");
    }
    finished.expect(0, &[]);
    assert!(finished.sentences().contains("load not delivered"), "{}", finished.stdout);
    assert!(fixture.run_bytes("002-spawnload").windows(9).any(|text| text == b"\"refused\""));
}

#[test]
fn without_permission_for_control_groups_the_host_is_measured_and_the_reason_given() {
    if !is_root() {
        // The sandbox is refused to whoever runs this, or it is not: both are tested elsewhere.
        let name =
            "without_permission_for_control_groups_the_host_is_measured_and_the_reason_given";
        return skip(name, "only root can become a user without permission");
    }
    let fixture = Fixture::of_user(NOBODY + 1);
    let arguments = "run --load noload --points 1 --interval 10ms --work-dir work --output output";
    let finished = fixture.finish(fixture.thrashlab(arguments));
    finished.expect(0, &["no sandbox: ", "Permission denied", "Continuing on the host"]);
    assert!(
        finished.sentences().contains("Responsiveness under load: host"),
        "{}",
        finished.stdout
    );

    let refused = fixture.finish(fixture.run_on("sandbox:mem=64M", "--output other"));
    refused.expect(3, &["no sandbox: ", "Permission denied", "run as root", "systemctl --user"]);
    let swap = fixture.finish(fixture.run("--swap 1M --output other"));
    swap.expect(3, &["no swap file", "it needs root"]);
}

#[test]
fn without_a_home_the_state_is_where_all_may_write() {
    if !is_root() {
        let name = "without_a_home_the_state_is_where_all_may_write";
        return skip(name, "only root can become a user without a home");
    }
    let user = NOBODY + 2;
    let fixture = Fixture::of_user(user);
    let mut command = fixture.run("--load noload");
    command.env_remove("XDG_STATE_HOME").env("HOME", "/nonexistent");
    let finished = fixture.finish(command);
    let state = Path::new("/var/tmp").join(format!("thrashlab-state-{user}"));
    let was_made = state.is_dir();
    let _ = fs::remove_dir_all(&state);
    finished.expect(0, &[]);
    assert!(was_made, "{finished:?}");
}

#[test]
fn without_pressure_files_the_counters_are_missed_and_the_run_goes_on() {
    const NAME: &str = "without_pressure_files_the_counters_are_missed_and_the_run_goes_on";
    if !Path::new("/proc/pressure").exists() {
        return skip(NAME, "this kernel has no pressure files to begin with");
    }
    let fixture = Fixture::new();
    let run = fixture.run("--load noload --points 1 --interval 10ms");
    let hide = "mount -t tmpfs tmpfs /proc/pressure || exit 77; exec \"$@\"";
    let mut command = fixture.other("unshare");
    command.args(if is_root() { ["-m"].as_slice() } else { ["-r", "-m"].as_slice() });
    command.args(["sh", "-c", hide, "sh"]).arg(run.get_program()).args(run.get_args());
    if Command::new("unshare").arg("--version").output().is_err() {
        return skip(NAME, "unshare is not installed");
    }
    let finished = fixture.finish(command);
    if matches!(finished.code(), Some(1 | 77)) {
        return skip(NAME, &format!("a mount namespace is not permitted: {}", finished.stderr));
    }
    finished.expect(0, &[]);
    let header = fixture.run_file("001-noload").header.unwrap();
    let missed = header.missed.iter().find(|missed| missed.capability == "psi/memory");
    assert!(missed.is_some_and(|missed| missed.reason.contains("/proc/pressure/memory")));
}
