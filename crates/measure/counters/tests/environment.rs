//! Facts of a machine in a folder that looks like the kernel's.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use std::fs;
use std::path::Path;

use counters::{Roots, environment};
use tempfile::TempDir;

const CPUINFO: &str = "\
processor\t: 0
model name\t: Example CPU 3000
flags\t\t: fpu vme hypervisor sse2
";
const MOUNTINFO: &str = "\
27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,discard
30 27 8:2 / /nowhere/work rw,noatime - xfs /dev/sda2 rw
";

fn write(root: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A machine with one fact of each kind.
fn machine(dir: &TempDir) -> Roots {
    let (proc, sys) = (dir.path().join("proc"), dir.path().join("sys"));
    write(&proc, "sys/kernel/osrelease", "6.12.1\n");
    write(&proc, "cmdline", "quiet psi=1\n");
    write(&proc, "cpuinfo", CPUINFO);
    write(&proc, "meminfo", "MemTotal: 2048 kB\nSwapTotal: 0 kB\n");
    write(
        &proc,
        "swaps",
        "Filename\tType\tSize\tUsed\tPriority\n/dev/sdb  partition\t1024\t12\t-2\n",
    );
    write(&proc, "self/mountinfo", MOUNTINFO);
    let auxv: Vec<u8> =
        [33_usize, 1, 6, 4096, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
    write(&proc, "self/auxv", auxv);
    write(&sys, "devices/system/cpu/online", "0-3,6\n");
    write(&sys, "kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    write(&sys, "kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
    write(&sys, "class/dmi/id/sys_vendor", "Example\n");
    write(&sys, "class/dmi/id/product_name", "Virtual Machine\n");
    // A partition has no queue of its own; its disk, one folder up in sysfs, has.
    write(&sys, "devices/sda/queue/scheduler", "none [mq-deadline]\n");
    write(&sys, "devices/sda/queue/rotational", "1\n");
    fs::create_dir_all(sys.join("devices/sda/sda2")).unwrap();
    fs::create_dir_all(sys.join("dev/block")).unwrap();
    std::os::unix::fs::symlink("../../devices/sda/sda2", sys.join("dev/block/8:2")).unwrap();
    Roots { proc_root: proc, sys_root: sys, work_dir: Some("/nowhere/work/run 1".into()) }
}

#[test]
fn facts_are_read_under_the_roots() {
    let dir = TempDir::new().unwrap();
    let (facts, missed) = environment(&machine(&dir));
    for (name, expected) in [
        ("kernel", "6.12.1"),
        ("cmdline", "quiet psi=1"),
        ("cpu_model", "Example CPU 3000"),
        ("cpus_online", "5"),
        ("hypervisor", "Example Virtual Machine"),
        ("memory_bytes", "2097152"),
        ("swap_bytes", "0"),
        ("swaps", "/dev/sdb partition 1024kB priority -2"),
        ("page_size_bytes", "4096"),
        ("thp", "madvise"),
        ("preempt", "full"),
        ("disk_filesystem", "xfs"),
        ("disk_device", "/dev/sda2"),
        ("disk_mount_options", "rw,noatime rw"),
        ("disk_scheduler", "mq-deadline"),
        ("disk_rotational", "1"),
    ] {
        assert_eq!(facts.get(name).map(String::as_str), Some(expected), "{name}");
    }
    assert!(!facts.contains_key("governor"), "absent, not empty");
    let capabilities: Vec<&str> = missed.iter().map(|missed| missed.capability.as_str()).collect();
    assert_eq!(
        capabilities,
        [
            "environment.overcommit_memory",
            "environment.swappiness",
            "environment.lru_gen",
            "environment.governor",
            "environment.clocksource",
        ]
    );
    assert!(missed[3].reason.contains("scaling_governor: No such file"), "{missed:?}");
}

#[test]
fn an_empty_machine_has_no_facts_and_says_so() {
    let dir = TempDir::new().unwrap();
    let roots = Roots {
        proc_root: dir.path().to_owned(),
        sys_root: dir.path().to_owned(),
        work_dir: Some(dir.path().to_owned()),
    };
    let (facts, missed) = environment(&roots);
    assert!(facts.is_empty(), "{facts:?}");
    for name in ["kernel", "cpu_model", "memory_bytes", "page_size_bytes", "disk_filesystem"] {
        let capability = format!("environment.{name}");
        assert!(missed.iter().any(|missed| missed.capability == capability), "{name}: {missed:?}");
    }
}

#[test]
fn no_swap_is_a_fact() {
    let dir = TempDir::new().unwrap();
    let roots = machine(&dir);
    write(&roots.proc_root, "swaps", "Filename\tType\tSize\tUsed\tPriority\n");
    write(&roots.proc_root, "cpuinfo", "flags : fpu\n");
    let (facts, _) = environment(&roots);
    assert_eq!((facts["swaps"].as_str(), facts["hypervisor"].as_str()), ("none", "none"));
}
