//! The settings of a machine: kernel parameters and switches of the memory management.

use std::fs;
use std::path::{Path, PathBuf};

use model::MachineSpec;

use crate::failed::{Failed, at};

/// A task that waits for so long without a break is taken for lost, in virtual s: the kernel dies
/// of it, so that a run does not wait for ever. Far more than any response takes.
const LOST_TASK_S: &str = "1800";

/// Applies all settings. Fails when the kernel has no such setting or refuses the value, with its
/// file.
pub(crate) fn apply(machine: &MachineSpec) -> Result<(), Failed> {
    for (name, value) in [("hung_task_timeout_secs", LOST_TASK_S), ("hung_task_panic", "1")] {
        // A kernel that does not look for such tasks leaves that to the host's patience.
        let _ = fs::write(Path::new("/proc/sys/kernel").join(name), value);
    }
    for (path, value) in files(machine) {
        let shown = path.display().to_string();
        if !path.exists() {
            return Err(format!("this kernel has no {shown}, which is to be {value:?}"));
        }
        fs::write(&path, value).map_err(at(format!("write {value:?} to {shown}")))?;
    }
    Ok(())
}

fn files(machine: &MachineSpec) -> Vec<(PathBuf, &str)> {
    let switch = |on: bool| if on { "1" } else { "0" };
    let switches = [
        ("/sys/kernel/mm/transparent_hugepage/enabled", machine.thp.as_deref()),
        ("/sys/kernel/mm/transparent_hugepage/defrag", machine.thp_defrag.as_deref()),
        ("/sys/kernel/mm/lru_gen/enabled", machine.lru_gen.map(switch)),
        ("/sys/module/zswap/parameters/enabled", machine.zswap.map(switch)),
    ];
    let switches =
        switches.into_iter().filter_map(|(path, value)| Some((PathBuf::from(path), value?)));
    let sysctl = |name: &str| Path::new("/proc/sys").join(name.replace('.', "/"));
    let sysctls = machine.sysctls.iter().map(|(name, value)| (sysctl(name), value.as_str()));
    // Huge pages that are switched on raise vm.min_free_kbytes, whatever somebody has set.
    switches.chain(sysctls).collect()
}
