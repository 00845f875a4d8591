//! Namespaces: mounts that only this process and its children see.

use std::fs;
use std::io;

use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::process::has_one_thread;

/// Gives this process mounts of its own, which leaves all others as they are
/// (`mount_namespaces(7)`). Without privilege it gets a user namespace too, in which it keeps its
/// user and group (`user_namespaces(7)`). Returns whether it has one. Fails when this process has
/// more than one thread, or the kernel refuses.
pub fn enter_private_mounts() -> io::Result<bool> {
    has_one_thread(std::path::Path::new("/proc/self/task"))?;
    // SAFETY: these flags change no file descriptor table, and no other thread shares anything.
    let unshare = |flags| unsafe { unshare_unsafe(flags) };
    if unshare(UnshareFlags::NEWNS).is_ok() {
        return Ok(false);
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    for (name, map) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ] {
        fs::write(format!("/proc/self/{name}"), map)?;
    }
    Ok(true)
}
