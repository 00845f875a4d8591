//! The first process of a guest: mounts, modules, disk, settings, and the pause before the cell.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, init_module, reboot, sethostname};

use crate::at;
use crate::protocol::{
    CELL_FILE, Cell, MODULES_DIR, Notice, SETUP_FILE, SYMBOLS_CELL, Setup, Then,
};
use crate::{cell, channel, disk, fw_cfg, kernel_log, room, root, settings, shell, symbols};

/// Source, target, type.
const MOUNTS: [(&str, &str, &str); 4] = [
    ("proc", "/proc", "proc"),
    ("sysfs", "/sys", "sysfs"),
    ("devtmpfs", "/dev", "devtmpfs"),
    ("cgroup2", "/sys/fs/cgroup", "cgroup2"),
];

/// Runs as the first process (`rdinit=/thrashlab-agent -- guest`); never returns.
pub fn main(argument: Option<&str>) -> ! {
    let outcome = match argument {
        Some(cell::COMMAND) => cell::run(),
        Some(disk::credits::COMMAND) => disk::credits::run(),
        _ => boot(),
    };
    if let (Err(why), Ok(channel)) = (outcome, channel::Channel::open()) {
        channel.say(&Notice::Failed(why));
    }
    channel::end();
    // Only where the machine cannot end at once.
    let _ = reboot(RebootCommand::PowerOff);
    sys::process::exit_now(1)
}

fn boot() -> Result<(), String> {
    for (source, target, kind) in MOUNTS {
        fs::create_dir_all(target).map_err(at(format!("make {target}")))?;
        mount(source, target, kind, MountFlags::empty(), None::<&CStr>)
            .map_err(at(format!("mount {target}")))?;
    }
    let channel = channel::Channel::open().map_err(at("open the channel to the host"))?;
    channel.say(&Notice::Started);
    let bytes = fw_cfg::read(SETUP_FILE).map_err(at("read the setup"))?;
    let setup: Setup = model::json::from_bytes(&bytes).map_err(at("read the setup"))?;
    sethostname(setup.machine.name.as_bytes()).map_err(at("set the host name"))?;
    let nodes = setup.machine.nodes;
    if let Some(nodes) = nodes {
        settings::check_nodes(nodes)?;
        // The store of the disk alone would fill the first of them.
        sys::memory::interleave(nodes).map_err(at("use all NUMA nodes"))?;
    }
    for file in &setup.modules {
        load(file, &setup.machine)?;
    }
    match sys::network::loopback_up() {
        // Only programs of a root need a network.
        Err(error) if setup.root.is_none() && has_no_network(&error) => {}
        switched => switched.map_err(at("switch the loopback device on"))?,
    }
    if setup.then == Then::Disk {
        return disk::measure::run(&setup.machine, &channel).map_err(at("measure the disk"));
    }
    let folders = root::disk_folders(&setup.machine, setup.root.is_some());
    disk::set_up(&setup.machine, folders).map_err(at("set up the disk"))?;
    if let Some(root) = &setup.root {
        root::enter(root, &setup.machine)?;
    }
    if nodes.is_some() {
        sys::memory::interleave(1).map_err(at("use the nearest NUMA node"))?;
    }
    // A root's files fill the memory anyway.
    if setup.then == Then::Cell
        && setup.root.is_none()
        && let Err(why) = room::check(setup.machine.memory_bytes)
    {
        channel.say(&Notice::LacksMemory(why));
        return Ok(());
    }
    settings::apply(&setup.machine)?;
    match setup.then {
        Then::Cell => {
            let gap_ns = channel::pause().map_err(at("pause"))?;
            channel.say(&Notice::Resumed { gap_ns });
            let bytes = fw_cfg::read(CELL_FILE).map_err(at("read the cell"))?;
            if bytes == SYMBOLS_CELL {
                return symbols::print(&mut { channel });
            }
            let cell: Cell = model::json::from_bytes(&bytes).map_err(at("read the cell"))?;
            disk::credits::start(&setup.machine)?;
            cell::begin(&bytes, &cell, setup.root.as_ref())
        }
        Then::Report | Then::Disk => {
            channel.say(&Notice::Ready);
            kernel_log::tell(&channel).map_err(at("read the kernel's log"))
        }
        Then::Shell | Then::Script => {
            disk::credits::start(&setup.machine)?;
            shell::run(&channel, setup.then == Then::Script, setup.root.as_ref())
        }
    }
}

/// Whether an error means that the kernel was built without IPv4, or without any network.
fn has_no_network(error: &io::Error) -> bool {
    let missing =
        [Errno::AFNOSUPPORT, Errno::NOSYS, Errno::PROTONOSUPPORT, Errno::OPNOTSUPP, Errno::NODEV];
    Errno::from_io_error(error).is_some_and(|errno| missing.contains(&errno))
}

/// Loads a module and removes its file: the memory belongs to the machine under test.
fn load(file: &str, machine: &model::MachineSpec) -> Result<(), String> {
    let path = Path::new(MODULES_DIR).join(file);
    let bytes = fs::read(&path).map_err(at(format!("read module {file}")))?;
    match init_module(&bytes, &disk::module_arguments(file, machine)) {
        // Already in the kernel.
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(format!("load module {file}: {}", io::Error::from(error))),
    }
    fs::remove_file(&path).map_err(at(format!("remove module {file}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kernel_without_network_is_excused() {
        assert!(has_no_network(&Errno::AFNOSUPPORT.into()));
        assert!(has_no_network(&Errno::NOSYS.into()));
        assert!(!has_no_network(&Errno::PERM.into()));
        assert!(!has_no_network(&io::Error::other("x")));
    }
}
