//! Where the control-group hierarchies are mounted, and the place of this process in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::mounts::{Mount, mounts};

/// One mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Directory of this process's own group, or of the mount if that is not visible.
    pub own_dir: PathBuf,
    /// Directory of the mount.
    pub mount_dir: PathBuf,
}

/// The hierarchies that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hierarchies {
    /// Version 2.
    pub v2: Option<Hierarchy>,
    /// Version 1, by controller (`memory`, `cpu`, `cpuacct`, `pids`).
    pub v1: BTreeMap<String, Hierarchy>,
}

impl Hierarchies {
    /// The hierarchies of the running system. Fails when its files in `/proc/self` are unreadable.
    pub fn read() -> std::io::Result<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
        let groups = std::fs::read_to_string("/proc/self/cgroup")?;
        Ok(Self::parse(&mounts, &groups))
    }

    /// Reads `/proc/self/mountinfo` and `/proc/self/cgroup` (formats: proc(5), cgroups(7)).
    fn parse(mountinfo: &str, groups: &str) -> Self {
        let mut found = Self::default();
        for Mount { root, point, filesystem, super_options, .. } in mounts(mountinfo) {
            let hierarchy = |controller| Hierarchy {
                own_dir: own_dir(&point, &root, group_of(groups, controller)),
                mount_dir: point.clone(),
            };
            match filesystem.as_str() {
                "cgroup2" if found.v2.is_none() => found.v2 = Some(hierarchy("")),
                "cgroup" => {
                    let known = |name: &&str| ["memory", "cpu", "cpuacct", "pids"].contains(name);
                    for name in super_options.split(',').filter(known) {
                        found.v1.entry(name.to_owned()).or_insert_with(|| hierarchy(name));
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// The path of a process's group for a controller (`""`: version 2), from its `/proc/PID/cgroup`.
pub fn group_of<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let matches = controllers.split(',').any(|name| name == controller);
        if matches { fields.next() } else { None }
    })
}

/// The directory of a group under a mount of `root`, or the mount where it is invisible.
fn own_dir(mount_dir: &Path, root: &Path, group: Option<&str>) -> PathBuf {
    let relative = group
        .map(Path::new)
        .and_then(|group| group.strip_prefix(root).or_else(|_| group.strip_prefix("/")).ok());
    let dir = relative.map_or_else(|| mount_dir.to_owned(), |relative| mount_dir.join(relative));
    if dir.is_dir() { dir } else { mount_dir.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
25 30 0:22 / /proc rw,nosuid shared:5 - proc proc rw
36 32 0:31 / /tmp/does\\040not/exist rw - cgroup cgroup rw,memory
37 32 0:32 / /cpu,acct rw shared:9 - cgroup cgroup rw,cpu,cpuacct
38 32 0:33 /box /v2 rw - cgroup2 cgroup2 rw,nsdelegate
garbage";

    #[test]
    fn hierarchies_are_found_by_controller() {
        let groups = "5:memory:/a\n4:cpu,cpuacct:/b\n0::/box/c\n";
        let found = Hierarchies::parse(MOUNTS, groups);
        assert_eq!(found.v2.unwrap().mount_dir, Path::new("/v2"));
        assert_eq!(found.v1.keys().collect::<Vec<_>>(), ["cpu", "cpuacct", "memory"]);
        assert_eq!(found.v1["memory"].own_dir, Path::new("/tmp/does not/exist"));
    }

    #[test]
    fn a_group_is_looked_up_below_the_root_of_its_mount() {
        let mount = tempfile::tempdir().unwrap();
        std::fs::create_dir(mount.path().join("c")).unwrap();
        let dir = own_dir(mount.path(), Path::new("/box"), Some("/box/c"));
        assert_eq!(dir, mount.path().join("c"));
        let hidden = own_dir(mount.path(), Path::new("/box"), Some("/elsewhere"));
        assert_eq!(hidden, mount.path());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(mounts in ".{0,200}", groups in ".{0,80}") {
            let _ = Hierarchies::parse(&mounts, &groups);
        }
    }
}
