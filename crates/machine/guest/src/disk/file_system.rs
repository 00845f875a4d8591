//! Making the file system of a disk: ext4 is written here, others by a program of the guest's root,
//! which the host put next to this one.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use model::{FileSystem, MachineDisk};
use rustix::mount::{MountFlags, mount};
use sys::entropy::{SEED_BYTES, mix_in};

use super::ext4;
use super::node::{failed, fill};
use crate::protocol::{TOOL_LIBRARIES, TOOL_LOADER, TOOLS_DIR};
use crate::{at, kernel_log};

/// Identifiers of file systems, the same in every guest, but for the number of the disk: as in ext4 the
/// letters `thrashlab-work-1`.
const UUID_START: &str = "74687261-7368-6c61-622d-776f726b2d3";
/// Programs draw other identifiers from the kernel's random numbers, which every run seeds again.
const SEED: [u8; SEED_BYTES] = [0x5e; SEED_BYTES];

/// Makes the file system of a disk on this part of it, and mounts it in a folder. The error names
/// device and step.
pub(super) fn make(
    disk: &MachineDisk<'_>,
    node: &Path,
    size_bytes: u64,
    folder: &str,
) -> Result<(), String> {
    let kind = disk.spec.file_system;
    match kind.maker() {
        None => fill(node, |file| ext4::format(file, size_bytes))
            .map_err(failed("write a file system to", node))?,
        Some((program, _)) => {
            let uuid = format!("{UUID_START}{}", disk.number);
            run(program, &arguments(kind, &uuid), node)?;
        }
    }
    fs::create_dir_all(folder).map_err(at(format!("make {folder}")))?;
    let mounted = mount(node, folder, kind.name(), MountFlags::empty(), c"");
    mounted.map_err(|error| refusal(kind, node, &error.into()))
}

/// Removes the programs that made file systems, and frees their memory.
pub(super) fn forget_tools() -> Result<(), String> {
    let tools = Path::new(TOOLS_DIR);
    match tools.exists() {
        true => fs::remove_dir_all(tools).map_err(at(format!("remove {TOOLS_DIR}"))),
        false => Ok(()),
    }
}

/// Over anything else, and without discards, which the disk does not take.
fn arguments(kind: FileSystem, uuid: &str) -> Vec<String> {
    let own = match kind {
        FileSystem::Xfs => ["-m".to_owned(), format!("uuid={uuid}")],
        FileSystem::Ext4 | FileSystem::Btrfs => ["-U".to_owned(), uuid.to_owned()],
    };
    ["-q", "-f", "-K"].map(str::to_owned).into_iter().chain(own).collect()
}

fn run(program: &str, arguments: &[String], node: &Path) -> Result<(), String> {
    mix_in(&SEED).map_err(at("seed the kernel's randomness"))?;
    let path = Path::new(TOOLS_DIR).join(program);
    let loader = Path::new(TOOLS_DIR).join(format!("{program}{TOOL_LOADER}"));
    let mut command = match loader.exists() {
        true => {
            let libraries = Path::new(TOOLS_DIR).join(TOOL_LIBRARIES);
            let mut command = Command::new(loader);
            command.arg("--library-path").arg(libraries).arg(path);
            command
        }
        // It is static.
        false => Command::new(path),
    };
    let step = format!("run {program} on");
    let ran = command.args(arguments).arg(node).env_clear().output();
    let ran = ran.map_err(failed(&step, node))?;
    if ran.status.success() {
        return Ok(());
    }
    let [out, error] = [&ran.stdout, &ran.stderr].map(|it| String::from_utf8_lossy(it));
    let text = format!("{} {}", out.trim(), error.trim());
    Err(failed(&step, node)(format!("{}: {}", ran.status, text.trim())))
}

/// Why a file system is not mounted; the kernel's messages have the reason.
fn refusal(kind: FileSystem, node: &Path, error: &io::Error) -> String {
    let text = failed(&format!("mount the {} of", kind.name()), node)(error);
    if kind.maker().is_none() {
        return text;
    }
    let last = kernel_log::last().unwrap_or_default().join("; ");
    format!(
        "{text}; the kernel's last messages: {last}; if it is too old for what the root's program \
         makes, a root of its age is not, such as debian:12"
    )
}
