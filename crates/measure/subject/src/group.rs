//! A control group that is there already: where its counters and limits are.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

use counters::{Hierarchies, Sources, group_of};
use model::{GroupName, GroupSpec};

/// A control group that thrashlab did not create.
#[derive(Debug)]
pub(crate) struct ExistingGroup {
    pub(crate) sources: Sources,
    /// The directory of its memory controller, and whether that is of version 2.
    memory: Option<(PathBuf, bool)>,
    /// Whether this process is in it.
    is_own: bool,
}

impl ExistingGroup {
    /// Finds a group by its name. Fails when there is none, with what was looked for.
    pub(crate) fn find(name: &GroupName) -> Result<Self, String> {
        let found = Hierarchies::read().map_err(|error| error.to_string())?;
        let path = match name {
            GroupName::Unit(unit) => of_unit(unit)?,
            GroupName::Pid(pid) => of_process(*pid)?,
            GroupName::Path(path) => below_mount(path, &found),
        };
        let sources = Sources::of_group(&found, &path, "/proc");
        let v2 = sources.cgroup_v2_dir.clone().filter(|dir| dir.join("memory.current").exists());
        let v1 = sources.cgroup_v1_memory_dir.clone();
        let memory = v2.map(|dir| (dir, true)).or_else(|| v1.map(|dir| (dir, false)));
        if sources.cgroup_v2_dir.is_none() && memory.is_none() {
            return Err(format!("there is no control group {}", path.display()));
        }
        let own = found.v2.iter().chain(found.v1.get("memory")).map(|it| &it.own_dir);
        let is_own = memory.iter().any(|(dir, _)| own.clone().any(|own| own.starts_with(dir)));
        Ok(Self { sources, memory, is_own })
    }

    /// The files of the limits that a run lowers, with their sizes in bytes. Fails when the group
    /// has no such limit, or it may not be changed.
    pub(crate) fn limits(&self, spec: &GroupSpec) -> Result<Vec<(PathBuf, u64)>, String> {
        let wanted = [("high", spec.high_bytes), ("max", spec.max_bytes)];
        let wanted = wanted.into_iter().filter_map(|(name, bytes)| Some((name, bytes?)));
        wanted.map(|(name, bytes)| Ok((self.limit_file(name, &spec.name)?, bytes))).collect()
    }

    fn limit_file(&self, name: &str, group: &GroupName) -> Result<PathBuf, String> {
        if self.is_own {
            return Err(format!(
                "thrashlab itself is in {group}, and would get its limit: start it elsewhere, such \
                 as with systemd-run --scope"
            ));
        }
        let Some((dir, is_2)) = &self.memory else {
            return Err(format!("{group} has no memory controller"));
        };
        let file = match (name, is_2) {
            (_, true) => format!("memory.{name}"),
            ("max", false) => "memory.limit_in_bytes".to_owned(),
            _ => {
                return Err(format!(
                    "{group} is of version 1, which has no memory.high; subject.max (max=SIZE) is \
                     its memory.limit_in_bytes, at which the kernel may kill its processes"
                ));
            }
        };
        let path = dir.join(file);
        let opened = OpenOptions::new().write(true).open(&path);
        opened.map(|_| path.clone()).map_err(|error| {
            let next = "it needs root, or a group that is delegated to this user";
            format!("{}: {error}: {next}", path.display())
        })
    }
}

/// The processes of a control group and of the groups below it. Fails when there is no such group, or
/// nothing runs in it.
pub fn processes_of_group(name: &GroupName) -> Result<Vec<u32>, String> {
    let group = ExistingGroup::find(name)?;
    let dir = group.sources.cgroup_v2_dir.or(group.memory.map(|(dir, _)| dir));
    let (mut folders, mut pids) = (Vec::from_iter(dir), Vec::new());
    while let Some(folder) = folders.pop() {
        let members = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        pids.extend(members.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
        let below = fs::read_dir(&folder).into_iter().flatten().flatten();
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        folders.extend(below.filter(is_folder).map(|entry| entry.path()));
    }
    pids.sort_unstable();
    pids.dedup();
    match pids.is_empty() {
        true => Err(format!("no process runs in {name}")),
        false => Ok(pids),
    }
}

/// The path of a unit's group, as systemd shows it: of the system, else of this user.
fn of_unit(unit: &str) -> Result<PathBuf, String> {
    let mut why = String::new();
    for whose in ["--system", "--user"] {
        let mut ask = Command::new("systemctl");
        ask.args([whose, "show", "--property=ControlGroup", "--value", "--", unit]);
        match ask.output() {
            Ok(output) if output.status.success() => {
                match String::from_utf8_lossy(&output.stdout).trim() {
                    "" => {}
                    path => return Ok(path.into()),
                }
            }
            Ok(output) => why = String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => why = format!("systemctl: {error}"),
        }
    }
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    Err(format!("the unit {unit} does not run{why}: see systemctl status {unit}"))
}

/// The path of a process's group.
fn of_process(pid: u32) -> Result<PathBuf, String> {
    let path = format!("/proc/{pid}/cgroup");
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    // Both have no memory, and are in the first group whatever they were in before.
    if fs::read_to_string(format!("/proc/{pid}/statm")).is_ok_and(|sizes| sizes.starts_with("0 ")) {
        return Err(format!(
            "process {pid} has ended and waits for its parent, or is a thread of the kernel: there \
             is no group of its own to measure"
        ));
    }
    let group = ["memory", ""].into_iter().find_map(|controller| group_of(&text, controller));
    let group = group.ok_or_else(|| format!("{path}: process {pid} is in no control group"))?;
    Ok(group.into())
}

/// A path below the mount of a hierarchy.
fn below_mount(path: &Path, found: &Hierarchies) -> PathBuf {
    let mounts = found.v2.iter().chain(found.v1.values()).map(|it| it.mount_dir.as_path());
    mounts
        .filter_map(|mount| path.strip_prefix(mount).ok())
        .min_by_key(|rest| rest.as_os_str().len())
        .unwrap_or(path)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use counters::Hierarchy;

    use super::*;

    #[test]
    fn the_group_of_a_process_is_found_and_of_none_is_not() {
        let name = GroupName::Pid(std::process::id());
        let own = ExistingGroup::find(&name).unwrap();
        let spec = GroupSpec { name, memory_bytes: 1, high_bytes: None, max_bytes: Some(1 << 30) };
        assert!(own.limits(&spec).is_err(), "this process would be limited");
        let gone = ExistingGroup::find(&GroupName::Pid(u32::MAX)).unwrap_err();
        assert!(gone.contains("/proc/4294967295/cgroup"), "{gone}");
        let none = ExistingGroup::find(&GroupName::Path("no/such/group".into())).unwrap_err();
        assert!(none.contains("no/such/group"), "{none}");
    }

    #[test]
    fn a_group_has_its_processes() {
        let own = std::process::id();
        let found = processes_of_group(&GroupName::Pid(own)).unwrap();
        assert!(found.contains(&own), "{found:?}");
        let none = processes_of_group(&GroupName::Path("no/such/group".into())).unwrap_err();
        assert!(none.contains("no/such/group"), "{none}");
    }

    #[test]
    fn what_has_ended_has_no_group_to_measure() {
        let mut ended = Command::new("true").spawn().unwrap();
        let statm = format!("/proc/{}/statm", ended.id());
        while !fs::read_to_string(&statm).unwrap().starts_with("0 ") {
            std::thread::yield_now();
        }
        let why = ExistingGroup::find(&GroupName::Pid(ended.id())).unwrap_err();
        assert!(why.contains("has ended"), "{why}");
        ended.wait().unwrap();
    }

    #[test]
    fn a_directory_is_a_path_below_its_own_mount() {
        let at = |dir: &str| Hierarchy { own_dir: dir.into(), mount_dir: dir.into() };
        let found = Hierarchies {
            v2: Some(at("/c/unified")),
            v1: [("memory".to_owned(), at("/c/memory"))].into(),
        };
        for (path, below) in [("/c/unified/a/b", "a/b"), ("/c/memory/a", "a"), ("x/y", "x/y")] {
            assert_eq!(below_mount(Path::new(path), &found), Path::new(below));
        }
    }

    #[test]
    fn version_1_has_no_high_limit_and_its_other_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("memory.limit_in_bytes"), "9").unwrap();
        let memory = Some((dir.path().to_owned(), false));
        let (sources, is_own) = (Sources::machine("/proc"), false);
        let group = ExistingGroup { sources, memory, is_own };
        let name = GroupName::Path("a".into());
        let spec = GroupSpec { name, memory_bytes: 1, high_bytes: Some(5), max_bytes: None };
        assert!(group.limits(&spec).unwrap_err().contains("subject.max"));
        let spec = GroupSpec { high_bytes: None, max_bytes: Some(5), ..spec };
        let path = dir.path().join("memory.limit_in_bytes");
        assert_eq!(group.limits(&spec).unwrap(), [(path, 5)]);
    }
}
