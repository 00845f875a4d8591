//! The sandbox: control groups that confine memory and, if requested, CPU time and processes.
//!
//! Uses version 2 if the nearest usable group offers the memory controller, else version 1. On a
//! hybrid system a version 2 group without controllers is added for its pressure files.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use counters::{Hierarchies, Sources};
use keep::{Journal, Resource};
use model::{SandboxSpec, Unavailable};

/// Period of the CPU limit, in µs (the kernel's default).
const PERIOD_US: u64 = 100_000;

pub(crate) fn wanted_controllers(spec: &SandboxSpec) -> Vec<&'static str> {
    let mut wanted = vec!["memory"];
    wanted.extend(spec.cpus_milli.map(|_| "cpu"));
    wanted.extend(spec.processes.map(|_| "pids"));
    wanted
}

#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) groups: Vec<Resource>,
    /// Files into which a process writes `0` to enter.
    pub(crate) enter: Vec<PathBuf>,
    pub(crate) sources: Sources,
    pub(crate) missed: Vec<Unavailable>,
    pub(crate) may_swap: bool,
}

impl Sandbox {
    /// Makes a sandbox under a unique name; the error lists what was tried and why it failed.
    pub(crate) fn make(
        spec: &SandboxSpec,
        name: &str,
        journal: &mut Journal,
    ) -> Result<Self, Vec<String>> {
        let hierarchies = Hierarchies::read().map_err(|error| vec![error.to_string()])?;
        let mut tried = Vec::new();
        for is_2 in [true, false] {
            let made = Self {
                groups: Vec::new(),
                enter: Vec::new(),
                sources: Sources::machine("/proc"),
                missed: Vec::new(),
                may_swap: true,
            };
            let mut maker = Maker { name, journal, made };
            let outcome = match is_2 {
                true => maker.version_2(&hierarchies, spec),
                false => maker.version_1(&hierarchies, spec),
            };
            match outcome {
                Ok(()) => return Ok(maker.made),
                Err(reason) => tried.push(reason),
            }
            // What cannot be removed stays in the journal.
            for group in maker.made.groups.into_iter().rev() {
                let _ = maker.journal.remove(group);
            }
        }
        Err(tried)
    }
}

struct Maker<'a> {
    name: &'a str,
    journal: &'a mut Journal,
    made: Sandbox,
}

impl Maker<'_> {
    fn version_2(&mut self, found: &Hierarchies, spec: &SandboxSpec) -> Result<(), String> {
        let v2 = found.v2.as_ref().ok_or("control groups version 2 are not mounted")?;
        let parent = v2_parent(&v2.own_dir, &v2.mount_dir, &wanted_controllers(spec))?;
        let dir = self.make_group(&parent)?;
        let cpus = |cpus_milli| format!("{} {PERIOD_US}", PERIOD_US * cpus_milli / 1000);
        for (file, value) in [
            ("memory.max", Some(spec.memory_bytes.to_string())),
            ("memory.high", spec.high_bytes.map(|bytes| bytes.to_string())),
            ("cpu.max", spec.cpus_milli.map(cpus)),
            ("pids.max", spec.processes.map(|count| count.to_string())),
        ] {
            value.map_or(Ok(()), |value| set(&dir, file, &value))?;
        }
        self.made.may_swap =
            fs::read_to_string(dir.join("memory.swap.max")).is_ok_and(|text| text.trim() != "0");
        self.made.sources.cgroup_v2_dir = Some(dir);
        Ok(())
    }

    fn version_1(&mut self, found: &Hierarchies, spec: &SandboxSpec) -> Result<(), String> {
        if spec.high_bytes.is_some() {
            return Err("version 1 has no memory.high".to_owned());
        }
        let memory = self.v1_group(found, "memory")?;
        set(&memory, "memory.limit_in_bytes", &spec.memory_bytes.to_string())?;
        self.made.may_swap = fs::read_to_string(memory.join("memory.swappiness"))
            .is_ok_and(|text| text.trim() != "0");
        self.made.sources.cgroup_v1_memory_dir = Some(memory);
        if let Some(cpus_milli) = spec.cpus_milli {
            let cpu = self.v1_group(found, "cpu")?;
            set(&cpu, "cpu.cfs_period_us", &PERIOD_US.to_string())?;
            set(&cpu, "cpu.cfs_quota_us", &(PERIOD_US * cpus_milli / 1000).to_string())?;
            self.made.sources.cgroup_v1_cpu_dir = Some(cpu);
        }
        if let Some(processes) = spec.processes {
            let pids = self.v1_group(found, "pids")?;
            set(&pids, "pids.max", &processes.to_string())?;
        }
        match self.v1_group(found, "cpuacct") {
            Ok(dir) => self.made.sources.cgroup_v1_cpuacct_dir = Some(dir),
            Err(reason) => self.miss("cpu_cgroup", reason),
        }
        let pressure = found.v2.as_ref().ok_or_else(|| "version 2 is not mounted".to_owned());
        match pressure.and_then(|v2| self.make_group(&v2.mount_dir)) {
            Ok(dir) => self.made.sources.cgroup_v2_dir = Some(dir),
            Err(reason) => self.miss("memcg_psi", reason),
        }
        Ok(())
    }

    fn miss(&mut self, capability: &str, reason: String) {
        self.made.missed.push(Unavailable { capability: capability.to_owned(), reason });
    }

    /// A version 1 group of a controller; controllers mounted together share it.
    fn v1_group(&mut self, found: &Hierarchies, controller: &str) -> Result<PathBuf, String> {
        let hierarchy = found
            .v1
            .get(controller)
            .ok_or_else(|| format!("the version 1 controller {controller} is not mounted"))?;
        let shared = hierarchy.own_dir.join(self.name);
        let is_shared =
            |made: &Resource| matches!(made, Resource::Cgroup(place) if place.path == shared);
        if self.made.groups.iter().any(is_shared) {
            return Ok(shared);
        }
        self.make_group(&hierarchy.own_dir)
    }

    fn make_group(&mut self, parent: &Path) -> Result<PathBuf, String> {
        let dir = parent.join(self.name);
        let failed = |error: io::Error| format!("create {}: {error}", dir.display());
        let planned = Resource::Cgroup(dir.clone().into());
        let (made, ()) = self.journal.make(planned, || fs::create_dir(&dir)).map_err(failed)?;
        self.made.groups.push(made);
        self.made.enter.push(dir.join("cgroup.procs"));
        Ok(dir)
    }
}

pub(crate) fn set(dir: &Path, file: &str, value: &str) -> Result<(), String> {
    let path = dir.join(file);
    fs::write(&path, value).map_err(|error| format!("write {value} to {}: {error}", path.display()))
}

/// The nearest group upwards whose children have the controllers and may take our processes.
pub(crate) fn v2_parent(
    own_dir: &Path,
    mount_dir: &Path,
    wanted: &[&str],
) -> Result<PathBuf, String> {
    let mut reason = String::new();
    for dir in own_dir.ancestors().take_while(|dir| dir.starts_with(mount_dir)) {
        match offers(dir, wanted, dir == mount_dir).and_then(|()| may_move_within(dir)) {
            Ok(()) => return Ok(dir.to_owned()),
            Err(why) => reason = why,
        }
    }
    Err(format!("version 2: {reason}"))
}

/// Whether children of a group have the controllers. In the root they are enabled if needed;
/// elsewhere that fails while processes live there.
fn offers(dir: &Path, wanted: &[&str], is_root: bool) -> Result<(), String> {
    let path = dir.join("cgroup.subtree_control");
    if lists(&path, wanted) {
        return Ok(());
    }
    let possible = has_controllers(dir, wanted);
    if possible && is_root {
        let request: String = wanted.iter().map(|name| format!("+{name} ")).collect();
        fs::write(&path, request.trim())
            .map_err(|error| format!("switch on {wanted:?} in {}: {error}", path.display()))?;
        return Ok(());
    }
    Err(format!("{} does not delegate {wanted:?} to its children", dir.display()))
}

pub(crate) fn has_controllers(dir: &Path, wanted: &[&str]) -> bool {
    lists(&dir.join("cgroup.controllers"), wanted)
}

fn lists(path: &Path, wanted: &[&str]) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    wanted.iter().all(|name| text.split_whitespace().any(|word| word == *name))
}

/// Whether processes may be moved below a group: that takes write access to its `cgroup.procs`.
fn may_move_within(dir: &Path) -> Result<(), String> {
    let path = dir.join("cgroup.procs");
    match OpenOptions::new().write(true).open(&path) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{} is not open to this user: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("user.slice/session.scope");
        fs::create_dir_all(&own).unwrap();
        for dir in own.ancestors().take(3) {
            fs::write(dir.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
            fs::write(dir.join("cgroup.subtree_control"), "").unwrap();
            fs::write(dir.join("cgroup.procs"), "").unwrap();
        }
        (root, own)
    }

    #[test]
    fn the_nearest_directory_that_gives_the_controllers_is_taken() {
        let (root, own) = tree();
        let slice = root.path().join("user.slice");
        fs::write(slice.join("cgroup.subtree_control"), "memory pids\n").unwrap();
        assert_eq!(v2_parent(&own, root.path(), &["memory"]).unwrap(), slice);
        // The CPU controller is missing there, so only the root is left, which switches it on.
        assert_eq!(v2_parent(&own, root.path(), &["memory", "cpu"]).unwrap(), root.path());
        let written = fs::read_to_string(root.path().join("cgroup.subtree_control")).unwrap();
        assert_eq!(written, "+memory +cpu");
    }

    #[test]
    fn without_the_controller_the_reason_is_named() {
        let (root, own) = tree();
        for dir in own.ancestors().take(3) {
            fs::write(dir.join("cgroup.controllers"), "hugetlb\n").unwrap();
        }
        let reason = v2_parent(&own, root.path(), &["memory"]).unwrap_err();
        assert!(reason.contains("does not delegate [\"memory\"]"), "{reason}");
    }
}
