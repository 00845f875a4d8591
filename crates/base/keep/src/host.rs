//! The machine, boot and namespaces of this process: names of things mean nothing elsewhere.

use std::fs;

use serde::{Deserialize, Serialize};

/// See machine-id(5).
const MACHINE_ID: &str = "/etc/machine-id";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) machine: String,
    pub(crate) boot: String,
    pub(crate) pid_namespace: String,
    pub(crate) ipc_namespace: String,
}

impl Host {
    /// Machine, boot and namespaces of this process; what cannot be read is empty.
    pub(crate) fn this() -> Self {
        let namespace = |name: &str| {
            fs::read_link(format!("/proc/self/ns/{name}"))
                .map_or(String::new(), |link| link.to_string_lossy().into_owned())
        };
        Self {
            machine: machine(),
            boot: boot_id().unwrap_or_default(),
            pid_namespace: namespace("pid"),
            ipc_namespace: namespace("ipc"),
        }
    }
}

/// The number of this user.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Host name and machine id, fit for a file name; either may be equal on several machines.
pub fn machine() -> String {
    let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
    name(&node, &fs::read_to_string(MACHINE_ID).unwrap_or_default())
}

/// The identity of this boot (random(4)), a UUID. Fails when procfs cannot be read or has none.
pub fn boot_id() -> Result<String, String> {
    const PATH: &str = "/proc/sys/kernel/random/boot_id";
    match fs::read_to_string(PATH) {
        Ok(text) if is_uuid(text.trim()) => Ok(text.trim().to_owned()),
        Ok(_) => Err(format!("{PATH} holds no UUID")),
        Err(error) => Err(format!("cannot read {PATH}: {error}")),
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.chars().all(|byte| byte.is_ascii_hexdigit() || byte == '-')
}

fn name(node: &str, id: &str) -> String {
    let is_plain = |byte: char| byte.is_ascii_alphanumeric() || "-_.".contains(byte);
    let plain: String = node.chars().map(|byte| if is_plain(byte) { byte } else { '_' }).collect();
    // A leading dot would hide it or lead out of the folder.
    let node = plain.trim_start_matches('.');
    match id.trim() {
        id if id.len() == 32 && id.chars().all(|byte| byte.is_ascii_hexdigit()) => {
            format!("{node}-{id}")
        }
        _ => format!("{node}-no-machine-id"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_part_tells_machines_apart_and_the_name_is_one_of_a_file() {
        let id = "3d1219c7c4c5404aaa1f6d2a48adfda4";
        let first = name("desk", &format!("{id}\n"));
        assert_eq!(first, format!("desk-{id}"));
        assert_ne!(first, name("shelf", id));
        assert_ne!(first, name("desk", "4d1219c7c4c5404aaa1f6d2a48adfda4"));
        for (node, id) in [("../../x", ""), ("", "uninitialized"), ("..", "/etc/../passwd")] {
            let name = name(node, id);
            assert!(!name.contains('/') && !name.starts_with('.'), "{name}");
        }
    }
}
