//! Room for sandboxes: a control group below which this user may make groups with controllers.
//!
//! systemd wants one owner for each part of the tree (CONTROL_GROUP_INTERFACE.md). So a unit with
//! `Delegate=yes` around this process is used, else one is requested from the user's systemd. The unit's
//! processes move one level down, since a group with processes gives no controllers to its children
//! (cgroups(7), "no internal processes"). All of it goes away with the unit.

use std::fs;
use std::path::Path;

use counters::Hierarchies;
use keep::host::user_id;
use keep::proc_stat::parent;
use rustix::fs::getxattr;

use crate::cgroup::{has_controllers, set, v2_parent};
use crate::user_scope;

const OWN_GROUP: &str = "thrashlab";
const CONTROLLERS: [&str; 3] = ["memory", "cpu", "pids"];

/// Where the sandboxes of this process can be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Present,
    /// In this process's own unit, which is delegated to it.
    OwnUnit,
    /// In this scope of the user's systemd.
    Scope(String),
    /// The reason.
    Unavailable(String),
}

impl Room {
    /// Makes sandboxes possible, if it can; with `needs_linger` in a scope that survives logout.
    pub(crate) fn find(wanted: &[&str], needs_linger: bool) -> Self {
        let Ok(Some(v2)) = Hierarchies::read().map(|found| found.v2) else { return Self::Present };
        // Without it, version 1 has the memory controller, which systemd does not delegate.
        if !has_controllers(&v2.mount_dir, &["memory"]) {
            return Self::Present;
        }
        if is_delegated(&v2.own_dir) && share_out(&v2.own_dir).is_ok() {
            return Self::OwnUnit;
        }
        let user = user_id();
        let has_place = || {
            v2_parent(&v2.own_dir, &v2.mount_dir, wanted)
                .is_ok_and(|parent| !belongs_to_systemd(&parent))
        };
        if user == 0 || has_place() {
            return Self::Present;
        }
        if needs_linger && !user_scope::outlives_logins() {
            let why = "the user's systemd ends with the last login, and the run with it: run \
                       loginctl enable-linger";
            return Self::Unavailable(why.to_owned());
        }
        match scope(user) {
            Ok(name) => Self::Scope(name),
            Err(why) => Self::Unavailable(why),
        }
    }

    pub(crate) fn note(&self) -> Option<String> {
        match self {
            Self::Scope(name) => Some(format!(
                "not root: the sandbox is created in {name}, a transient scope of the user's systemd"
            )),
            Self::Present | Self::OwnUnit | Self::Unavailable(_) => None,
        }
    }
}

fn scope(user: u32) -> Result<String, String> {
    let name = user_scope::enter(user)?;
    let found = Hierarchies::read().map_err(|error| error.to_string())?;
    let own_dir = found.v2.map(|v2| v2.own_dir).unwrap_or_default();
    if !own_dir.ends_with(&name) {
        return Err(format!("{name} was started, but this process is in {}", own_dir.display()));
    }
    share_out(&own_dir)?;
    Ok(name)
}

/// Moves our processes one level down and enables controllers there, unless others are present.
fn share_out(dir: &Path) -> Result<(), String> {
    let own = dir.join(OWN_GROUP);
    if !own.is_dir() {
        fs::create_dir(&own).map_err(|error| format!("create {}: {error}", own.display()))?;
    }
    let this = std::process::id();
    let members = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
    let ours = members.split_whitespace().filter_map(|pid| pid.parse().ok());
    let ours: Vec<u32> = ours.filter(|pid| *pid == this || parent(*pid) == Some(this)).collect();
    let moved = ours.iter().try_for_each(|pid| enter(&own, *pid));
    let request: String = CONTROLLERS
        .iter()
        .filter(|name| has_controllers(dir, &[name]))
        .map(|name| format!("+{name} "))
        .collect();
    let given = moved.and_then(|()| set(dir, "cgroup.subtree_control", request.trim()));
    if given.is_err() {
        for pid in ours {
            let _ = enter(dir, pid);
        }
        let _ = fs::remove_dir(&own);
    }
    given
}

fn enter(group: &Path, pid: u32) -> Result<(), String> {
    set(group, "cgroup.procs", &pid.to_string())
}

/// Whether systemd has delegated a group to its program. A user's systemd sets no mark.
fn is_delegated(dir: &Path) -> bool {
    let mut value = [0; 8];
    getxattr(dir, "user.delegate", &mut value[..]).is_ok_and(|count| &value[..count] == b"1")
}

/// Whether systemd manages the children of a group: a slice, or its own service.
fn belongs_to_systemd(dir: &Path) -> bool {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".slice") || (name.starts_with("user@") && name.ends_with(".service"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group with a controller that nobody knows, and one process.
    fn group(pid: u32) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("cgroup.controllers"), "cpu memory hugetlb\n").unwrap();
        fs::write(dir.path().join("cgroup.subtree_control"), "").unwrap();
        fs::write(dir.path().join("cgroup.procs"), pid.to_string()).unwrap();
        dir
    }

    #[test]
    fn the_group_keeps_no_process_of_ours_and_gives_the_controllers_that_it_has() {
        let dir = group(std::process::id());
        share_out(dir.path()).unwrap();
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(read("thrashlab/cgroup.procs"), std::process::id().to_string());
        assert_eq!(read("cgroup.subtree_control"), "+memory +cpu");
    }

    #[test]
    fn a_process_of_another_program_is_not_moved() {
        let dir = group(1);
        share_out(dir.path()).unwrap();
        assert!(!dir.path().join("thrashlab/cgroup.procs").exists());
    }

    #[test]
    fn slices_and_the_managers_own_service_are_no_place_for_groups_of_others() {
        assert!(belongs_to_systemd(Path::new("/sys/fs/cgroup/user.slice/app.slice")));
        assert!(belongs_to_systemd(Path::new("/sys/fs/cgroup/user@1000.service")));
        assert!(!belongs_to_systemd(Path::new("/sys/fs/cgroup/app.slice/thrashlab-1.scope")));
        assert!(!belongs_to_systemd(Path::new("/sys/fs/cgroup")));
    }
}
