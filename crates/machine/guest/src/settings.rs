//! Kernel parameters and memory management switches of a machine.

use std::fs;
use std::path::{Path, PathBuf};

use model::MachineSpec;

use crate::at;

/// A task blocked for this many virtual s is hung; the kernel panics, and the run ends.
const LOST_TASK_S: &str = "1800";

/// Where a kernel with NUMA has a folder for each node.
const NODES: &str = "/sys/devices/system/node";

/// Applies all settings. Fails when the kernel lacks one or refuses its value, with the file.
pub(crate) fn apply(machine: &MachineSpec) -> Result<(), String> {
    for (name, value) in [("hung_task_timeout_secs", LOST_TASK_S), ("hung_task_panic", "1")] {
        // Without hung task detection, the host's limit applies.
        let _ = fs::write(Path::new("/proc/sys/kernel").join(name), value);
    }
    for (path, value) in files(machine) {
        let shown = path.display().to_string();
        if !path.exists() {
            return Err(format!("this kernel has no {shown}, which should be {value:?}"));
        }
        fs::write(&path, value).map_err(at(format!("write {value:?} to {shown}")))?;
    }
    Ok(())
}

/// Fails if the kernel does not use the machine's NUMA nodes.
pub(crate) fn check_nodes(wanted: u8) -> Result<(), String> {
    let entries = fs::read_dir(NODES).into_iter().flatten().flatten();
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|it| it.parse::<u8>().is_ok());
    let found = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_node)).count();
    match found == usize::from(wanted) {
        true => Ok(()),
        false => Err(format!(
            "this kernel has {found} NUMA nodes in {NODES}, not the {wanted} of the machine; it \
             needs CONFIG_NUMA and CONFIG_X86_64_ACPI_NUMA, and no numa=off"
        )),
    }
}

fn files(machine: &MachineSpec) -> Vec<(PathBuf, &str)> {
    let switch = |on: bool| if on { "1" } else { "0" };
    let switches = [
        ("/sys/kernel/mm/transparent_hugepage/enabled", machine.thp.as_deref()),
        ("/sys/kernel/mm/transparent_hugepage/defrag", machine.thp_defrag.as_deref()),
        ("/sys/kernel/mm/lru_gen/enabled", machine.lru_gen.map(switch)),
        ("/sys/kernel/mm/lru_gen/min_ttl_ms", machine.lru_gen_min_ttl_ms.as_deref()),
        ("/sys/module/zswap/parameters/enabled", machine.zswap.map(switch)),
    ];
    let switches =
        switches.into_iter().filter_map(|(path, value)| Some((PathBuf::from(path), value?)));
    let sysctl = |name: &str| Path::new("/proc/sys").join(name.replace('.', "/"));
    let sysctls = machine.sysctls.iter().map(|(name, value)| (sysctl(name), value.as_str()));
    // Enabling huge pages raises vm.min_free_kbytes, so sysctls come last.
    switches.chain(sysctls).collect()
}
