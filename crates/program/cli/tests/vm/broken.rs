//! Guests and hosts that are not as they should be: the message names the problem and the next
//! step.

use std::fs;
use std::os::unix::fs::symlink;

use analysis::explained::{Explained, Part, explain_run};
use model::{EndStatus, Line, Run};
use rustix::process::Signal;

use crate::lab::Lab;
use crate::left::{assert_nothing_left, child_of, queue_keys};
use crate::support::send;

const MEASURING: &str = "\"phase\":\"measuring\"";
const EMULATOR: &str = "qemu-system-x86_64";
/// A cell that is not over before somebody has looked at it, after one that soon is.
const LONG: &str = "--load cpuload --jobs 1 --interval 200ms --points 20";

/// The warnings of a run.
fn warnings(run: &Run) -> String {
    let texts = run.lines.iter().filter_map(|line| match line {
        Line::Warning(warning) => Some(warning.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_kernel_that_dies_while_booting_says_why() {
    const NAME: &str = "a_kernel_that_dies_while_booting_says_why";
    let Some(lab) = Lab::with_empty_cache(NAME) else { return };
    let finished = lab.finish("kernel_mem=4M", "--load noload");
    finished.expect(3, &["does not boot", "Kernel panic - not syncing"]);
    assert!(lab.entries("snapshots").is_empty(), "nothing of it is kept");
}

#[test]
fn a_stock_kernel_gets_the_memory_that_it_needs() {
    const NAME: &str = "a_stock_kernel_gets_the_memory_that_it_needs";
    let Some(lab) = Lab::new(NAME) else { return };
    let Some(lab) = lab.with_full_kernel(NAME) else { return };
    let said = "this kernel needs more memory for itself: kernel_mem=";
    let finished = lab.finish("swap=48M", "--load noload --no-report");
    finished.expect(0, &[said]);
    assert_eq!(finished.stderr.matches(said).count(), 1, "{}", finished.stderr);
    let (_, bytes) = lab.files().into_iter().next().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("\"vm_kernel_mem\":\""), "it is recorded");
    // A size that the user names stays.
    lab.finish("kernel_mem=28M", "--load noload --output other")
        .expect(3, &["does not boot", "kernel_mem=SIZE"]);
}

/// It boots with less, and reclaims before anything is measured.
#[test]
fn a_small_machine_does_not_reclaim_without_a_load() {
    const NAME: &str = "a_small_machine_does_not_reclaim_without_a_load";
    let Some(lab) = Lab::new(NAME) else { return };
    let finished = lab.finish("mem=24M", "--load noload --points 5 --no-report");
    finished.expect(0, &["this kernel needs more memory for itself: kernel_mem="]);
    let run = lab.fixture.run_file("001-noload-seed1");
    let responses = explain_run(&run);
    let part = |of: &Explained, part: Part| of.parts_ns[&part].unwrap_or(0);
    for (_, response) in &responses {
        let of_memory = [Part::BlockIo, Part::SwapIn, Part::Thrashing, Part::Reclaim];
        let waited_ns: u64 = of_memory.into_iter().map(|it| part(response, it)).sum();
        assert_eq!(waited_ns, 0, "{response:?}");
    }
    // A thread of the kernel may have the CPU once.
    let own = responses.iter().map(|(_, it)| it.delay_ns - part(it, Part::CpuWait));
    let own_ns: Vec<u64> = own.collect();
    let [least_ns, most_ns] = [own_ns.iter().min(), own_ns.iter().max()].map(Option::unwrap);
    assert!(own_ns.len() >= 5 && most_ns - least_ns < least_ns / 20, "{own_ns:?}");
}

#[test]
fn a_setting_that_the_kernel_does_not_have_is_named() {
    const NAME: &str = "a_setting_that_the_kernel_does_not_have_is_named";
    let Some(lab) = Lab::with_empty_cache(NAME) else { return };
    for (setting, words) in [
        ("sysctl.vm.nosuch=1", ["/proc/sys/vm/nosuch", "\"1\""]),
        ("sysctl.vm.swappiness=many", ["/proc/sys/vm/swappiness", "\"many\""]),
    ] {
        lab.finish(setting, "--load noload").expect(3, &words);
    }
    assert!(lab.entries("snapshots").is_empty(), "nothing of them is kept");
}

#[test]
fn a_kernel_that_dies_in_a_cell_ends_that_cell_alone() {
    const NAME: &str = "a_kernel_that_dies_in_a_cell_ends_that_cell_alone";
    let Some(lab) = Lab::with_empty_cache(NAME) else { return };
    // With room for the quiet run, which is otherwise a few hundred kilobytes from the same death.
    let settings = "kernel_mem=37M,swap=0,sysctl.vm.panic_on_oom=1";
    lab.finish(settings, "--load 2ctx-mem,cpuload").expect(0, &["2ctx-mem ended as KernelDied"]);
    lab.files();
    let run = lab.fixture.run_file("007-2ctx-mem-seed1");
    assert_eq!(run.status(), EndStatus::KernelDied);
    let death = run.lines.iter().find_map(|line| match line {
        Line::Death(death) => Some(death),
        _ => None,
    });
    let death = death.expect("what it died of");
    assert!(death.cause.contains("Kernel panic - not syncing: Out of memory"), "{death:#?}");
    assert!(death.log.iter().any(|line| line.contains("Call Trace")), "{death:#?}");
    assert_eq!(lab.fixture.run_file("004-cpuload-seed1").status(), EndStatus::Complete);
    assert_eq!(lab.entries("cells").len(), 3, "a kernel's death is a result like any other");
}

#[test]
fn an_emulator_that_is_killed_ends_its_cell_alone() {
    const NAME: &str = "an_emulator_that_is_killed_ends_its_cell_alone";
    let Some(lab) = Lab::new(NAME) else { return };
    let mut running = lab.start("", &format!("{LONG} --no-cache"));
    lab.fixture.await_text(&mut running, "004-cpuload-seed1", MEASURING);
    let pid = running.pid();
    send(child_of(&lab.fixture, pid, EMULATOR).unwrap(), Signal::KILL);
    running.wait().expect(0, &["cpuload ended as Killed"]);
    assert_nothing_left(&lab.fixture, pid, &queue_keys(&lab.fixture));
    lab.files();
    let run = lab.fixture.run_file("004-cpuload-seed1");
    assert_eq!(run.status(), EndStatus::Killed);
    assert!(warnings(&run).contains("SIGKILL"), "{}", warnings(&run));
    assert_eq!(lab.fixture.run_file("001-noload-seed1").status(), EndStatus::Complete);
}

#[test]
fn a_silent_guest_is_not_waited_for() {
    const NAME: &str = "a_silent_guest_is_not_waited_for";
    let Some(lab) = Lab::new(NAME) else { return };
    let mut running = lab.start("", &format!("{LONG} --no-cache --wall-limit 6s"));
    lab.fixture.await_text(&mut running, "004-cpuload-seed1", MEASURING);
    let pid = running.pid();
    send(child_of(&lab.fixture, pid, EMULATOR).unwrap(), Signal::STOP);
    running.wait().expect(0, &["cpuload ended as Timeout"]);
    assert_nothing_left(&lab.fixture, pid, &queue_keys(&lab.fixture));
    let run = lab.fixture.run_file("004-cpuload-seed1");
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::Timeout, Some(true)));
    assert!(warnings(&run).contains("silent for 6 s"), "{}", warnings(&run));
}

#[test]
fn without_an_emulator_the_command_that_installs_it_is_told() {
    let lab = Lab::without_guests();
    let mut run = lab.run("", "--load noload");
    run.env("PATH", lab.fixture.path());
    let command = "apt-get install --no-install-recommends qemu-system-x86";
    lab.fixture.finish(run).expect(3, &["qemu-system-x86_64 is not installed", command]);
    assert!(!lab.fixture.output().exists(), "nothing was measured");
}

#[test]
fn without_apt_a_package_cannot_be_fetched_and_other_ways_are_told() {
    const NAME: &str = "without_apt_a_package_cannot_be_fetched_and_other_ways_are_told";
    let Some(lab) = Lab::new(NAME) else { return };
    let path = std::env::var_os("PATH").unwrap();
    let emulator = std::env::split_paths(&path).map(|dir| dir.join(EMULATOR));
    let programs = lab.fixture.path().join("programs");
    fs::create_dir(&programs).unwrap();
    symlink(emulator.into_iter().find(|path| path.is_file()).unwrap(), programs.join(EMULATOR))
        .unwrap();
    let mut run = lab.run_with("deb:linux-image-nosuch", "", "--load noload");
    run.env("PATH", programs);
    let words = ["deb:linux-image-nosuch", "apt-cache cannot be started", "path of a .deb"];
    lab.fixture.finish(run).expect(3, &words);
}

#[test]
fn a_wrong_subject_is_refused_by_name() {
    let lab = Lab::without_guests();
    for (setting, words) in [
        ("machine=pdp11", ["no machine is named \"pdp11\"", "p2-350"]),
        ("machine=nosuch.toml", ["nosuch.toml", "No such file"]),
        ("speed=9", ["no setting \"speed\"", "docs/vm.md"]),
        ("mem=1M", ["mem:", "at least 16M"]),
        ("swap=8G", ["disk.size:", "swap area"]),
        ("disk.fs=xfs,disk.size=400M", ["mkfs.xfs", "root=debian:13,xfsprogs"]),
        ("disk2.holds=swap", ["disk2.model=NAME", "disk2.delay=TIME"]),
        ("sandbox.cpus=0.5", ["sandbox.mem", "memory"]),
        ("kernel=deb:", ["\"deb:\" names no kernel", "deb:NAME"]),
    ] {
        lab.finish(setting, "--load noload").expect(2, &words);
    }
    let needless = lab.finish("", "--load noload --work-dir .");
    needless.expect(2, &["--work-dir", "disk.size"]);
    assert!(!lab.fixture.output().exists(), "nothing was measured");
}

#[test]
fn what_is_no_kernel_is_wrong_use() {
    const NAME: &str = "what_is_no_kernel_is_wrong_use";
    let Some(lab) = Lab::new(NAME) else { return };
    for (kernel, words) in [
        ("/nowhere/vmlinuz", ["/nowhere/vmlinuz", "No such file"]),
        ("/etc/passwd", ["/etc/passwd", "not a kernel image"]),
        ("/etc", ["/etc", "no kernel image in it"]),
    ] {
        lab.fixture.finish(lab.run_with(kernel, "", "--load noload")).expect(2, &words);
    }
}
