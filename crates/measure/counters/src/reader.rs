//! Counters of the machine and of one sandbox, from files that are opened once.

use std::path::{Path, PathBuf};

use model::Unavailable;
use serde::{Deserialize, Serialize};

use crate::file::{Reader, Row, row};
use crate::hierarchies::Hierarchies;
use crate::parse::{
    colon_keyed, cpu_stat_v1, flat_keyed, interrupts, limit, pressure, proc_stat, single_value,
};

/// Where the counters are. A test points these at a folder that looks like the kernel's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    /// Where procfs is mounted; the machine's counters come from here.
    pub proc_root: PathBuf,
    /// The sandbox's directory of version 2, which next to version 1 may lack controllers.
    pub cgroup_v2_dir: Option<PathBuf>,
    /// The sandbox's directory of the version 1 `memory` controller.
    pub cgroup_v1_memory_dir: Option<PathBuf>,
    /// The sandbox's directory of the version 1 `cpu` controller.
    pub cgroup_v1_cpu_dir: Option<PathBuf>,
    /// The sandbox's directory of the version 1 `cpuacct` controller; may be the same as `cpu`.
    pub cgroup_v1_cpuacct_dir: Option<PathBuf>,
}

impl Sources {
    /// The machine's own counters and no sandbox.
    pub fn machine(proc_root: impl Into<PathBuf>) -> Self {
        Self { proc_root: proc_root.into(), ..Self::default() }
    }

    /// The machine's counters and those of the control group with this path below the mounts, in
    /// the hierarchies that have it.
    pub fn of_group(found: &Hierarchies, path: &Path, proc_root: impl Into<PathBuf>) -> Self {
        let below = |mount: &Path| {
            let dir = mount.join(path.strip_prefix("/").unwrap_or(path));
            dir.is_dir().then_some(dir)
        };
        let v1 = |controller: &str| below(&found.v1.get(controller)?.mount_dir);
        Self {
            cgroup_v2_dir: found.v2.as_ref().and_then(|v2| below(&v2.mount_dir)),
            cgroup_v1_memory_dir: v1("memory"),
            cgroup_v1_cpu_dir: v1("cpu"),
            cgroup_v1_cpuacct_dir: v1("cpuacct"),
            ..Self::machine(proc_root)
        }
    }
}

/// A directory of [`Sources`], its files, and whether they may be absent.
type FileGroup<'a> = (Option<&'a PathBuf>, &'a [Row], bool);

const PROC: [Row; 4] = [
    row("vmstat", "vmstat", flat_keyed, ""),
    row("stat", "stat", proc_stat, ""),
    row("meminfo", "meminfo", colon_keyed, ""),
    Row { is_long: true, ..row("interrupts", "interrupts", interrupts, "") },
];
const PSI: [Row; 4] = [
    row("cpu", "psi", pressure, "cpu"),
    row("io", "psi", pressure, "io"),
    row("memory", "psi", pressure, "memory"),
    row("irq", "psi", pressure, "irq"),
];
const V2_MEMORY: [Row; 6] = [
    row("memory.stat", "memcg", flat_keyed, ""),
    row("memory.current", "memcg", single_value, "current_bytes"),
    row("memory.swap.current", "memcg", single_value, "swap_current_bytes"),
    row("memory.events", "memcg", flat_keyed, "events"),
    row("memory.max", "memcg", limit, "limit_bytes"),
    row("memory.high", "memcg", limit, "high_bytes"),
];
/// Since Linux 5.19.
const V2_PEAK: [Row; 1] = [row("memory.peak", "memcg", single_value, "peak_bytes")];
const V2_CPU: [Row; 1] = [row("cpu.stat", "cpu_cgroup", flat_keyed, "")];
const V2_PRESSURE: [Row; 3] = [
    row("cpu.pressure", "memcg_psi", pressure, "cpu"),
    row("io.pressure", "memcg_psi", pressure, "io"),
    row("memory.pressure", "memcg_psi", pressure, "memory"),
];
const V1_MEMORY: [Row; 5] = [
    row("memory.stat", "memcg", flat_keyed, ""),
    row("memory.usage_in_bytes", "memcg", single_value, "usage_in_bytes"),
    row("memory.max_usage_in_bytes", "memcg", single_value, "max_usage_in_bytes"),
    row("memory.failcnt", "memcg", single_value, "failcnt"),
    row("memory.limit_in_bytes", "memcg", limit, "limit_bytes"),
];
/// Since Linux 4.13 with the number of OOM kills.
const V1_OOM: [Row; 1] = [row("memory.oom_control", "memcg", flat_keyed, "events")];
const V1_CPU: [Row; 1] = [row("cpu.stat", "cpu_cgroup", cpu_stat_v1, "")];
const V1_CPUACCT: [Row; 1] = [row("cpuacct.usage", "cpu_cgroup", single_value, "usage_ns")];
/// Since Linux 4.7.
const V1_CPUACCT_USER: [Row; 1] =
    [row("cpuacct.usage_user", "cpu_cgroup", single_value, "usage_user_ns")];

impl Reader {
    /// Opens and tries every file; lists what neither version of control groups has.
    pub fn open(sources: &Sources) -> (Self, Vec<Unavailable>) {
        let pressure = sources.proc_root.join("pressure");
        let machine: [FileGroup<'_>; 2] =
            [(Some(&sources.proc_root), &PROC, false), (Some(&pressure), &PSI, false)];
        Self::open_groups(machine.into_iter().chain(sandbox_files(sources)))
    }

    /// Opens the files of the sandbox alone, which may be any control group.
    pub fn open_group(sources: &Sources) -> (Self, Vec<Unavailable>) {
        Self::open_groups(sandbox_files(sources))
    }

    fn open_groups<'a>(
        groups: impl IntoIterator<Item = FileGroup<'a>>,
    ) -> (Self, Vec<Unavailable>) {
        let (mut reader, mut missed) = (Self::default(), Vec::new());
        for (dir, rows, may_be_absent) in groups {
            let Some(dir) = dir else { continue };
            for row in rows {
                let Row { file, source, .. } = *row;
                let refused = reader.add(dir, *row, may_be_absent);
                missed.extend(refused.map(|reason| Unavailable {
                    capability: match source == file {
                        true => file.to_owned(),
                        false => format!("{source}/{file}"),
                    },
                    reason,
                }));
            }
        }
        (reader, missed)
    }
}

fn sandbox_files(sources: &Sources) -> [FileGroup<'_>; 9] {
    let memory_on_v1 = sources.cgroup_v1_memory_dir.is_some();
    let cpu_on_v1 = sources.cgroup_v1_cpu_dir.is_some() || sources.cgroup_v1_cpuacct_dir.is_some();
    let v2 = sources.cgroup_v2_dir.as_ref();
    [
        (v2, &V2_MEMORY, memory_on_v1),
        (v2, &V2_PEAK, true),
        (v2, &V2_CPU, cpu_on_v1),
        (v2, &V2_PRESSURE, false),
        (sources.cgroup_v1_memory_dir.as_ref(), &V1_MEMORY, false),
        (sources.cgroup_v1_memory_dir.as_ref(), &V1_OOM, true),
        (sources.cgroup_v1_cpu_dir.as_ref(), &V1_CPU, false),
        (sources.cgroup_v1_cpuacct_dir.as_ref(), &V1_CPUACCT, false),
        (sources.cgroup_v1_cpuacct_dir.as_ref(), &V1_CPUACCT_USER, true),
    ]
}
