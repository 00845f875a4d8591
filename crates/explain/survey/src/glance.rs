//! Glances: a few figures of a control group or process from files that cost little to read.

use std::fs;
use std::path::{Path, PathBuf};

use counters::Hierarchies;

use crate::rotation::FIGURES;

/// Bytes of a page and of a process's figures do not matter here: only growth is compared.
type Figures = [u64; FIGURES];

/// Where a glance at control groups looks.
#[derive(Clone, Debug)]
pub(crate) struct GroupFiles {
    /// Waits, CPU time, memory: a mount, a file, and the key of a line (`""`: the only number).
    files: [Option<(PathBuf, &'static str, &'static str)>; FIGURES],
    /// The mount whose `cgroup.procs` are read.
    members: Option<PathBuf>,
}

impl GroupFiles {
    pub(crate) fn new(found: &Hierarchies) -> Self {
        let v1 = |controller: &str| found.v1.get(controller).map(|it| it.mount_dir.clone());
        let v2 = || found.v2.as_ref().map(|it| it.mount_dir.clone());
        let either = |controller, old: &'static str, new: (&'static str, &'static str)| {
            let of_v1 = v1(controller).map(|dir| (dir, old, ""));
            of_v1.or_else(|| v2().map(|dir| (dir, new.0, new.1)))
        };
        let files = [
            either("memory", "memory.failcnt", ("memory.pressure", "total=")),
            either("cpuacct", "cpuacct.usage", ("cpu.stat", "usage_usec ")),
            either("memory", "memory.usage_in_bytes", ("memory.current", "")),
        ];
        Self { files, members: v1("memory").or_else(v2) }
    }

    /// The figures of a group; `None` if it has none: it is gone.
    pub(crate) fn glance(&self, path: &str) -> Option<Figures> {
        let figure = |(mount, file, key): &(PathBuf, &str, &str)| {
            let text = fs::read_to_string(below(mount, path).join(file)).ok()?;
            first_number(&text, key)
        };
        let figures = self.files.each_ref().map(|file| file.as_ref().and_then(figure));
        let is_there = figures.iter().any(Option::is_some);
        is_there.then(|| figures.map(Option::unwrap_or_default))
    }

    /// At most `count` processes of a group.
    pub(crate) fn members(&self, path: &str, count: usize) -> Vec<u32> {
        let text = self
            .members
            .as_ref()
            .and_then(|mount| fs::read_to_string(below(mount, path).join("cgroup.procs")).ok());
        let text = text.unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).take(count).collect()
    }
}

fn below(mount: &Path, path: &str) -> PathBuf {
    mount.join(path.trim_start_matches('/'))
}

/// The number after the first `key`.
fn first_number(text: &str, key: &str) -> Option<u64> {
    let rest = &text[text.find(key)? + key.len()..];
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The figures of a process from its `/proc/PID/stat` (proc(5)): major faults and ticks of block
/// I/O, CPU ticks, resident pages; and its start in ticks since boot. `None` if it has ended.
pub(crate) fn task(proc_root: &Path, pid: u32) -> Option<(Figures, u64)> {
    task_figures(&fs::read_to_string(proc_root.join(format!("{pid}/stat"))).ok()?)
}

fn task_figures(stat: &str) -> Option<(Figures, u64)> {
    // A name may contain blanks and parentheses.
    let rest = &stat[stat.rfind(')')? + 1..];
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first of these is field 3.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let (faults, delay) = (field(12)?, field(42).unwrap_or(0));
    Some(([faults + delay, field(14)? + field(15)?, field(24)?], field(22)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_process_are_found_behind_any_name() {
        let (own, _) = task(Path::new("/proc"), std::process::id()).unwrap();
        assert!(own[2] > 0, "{own:?}");
        let fields = (3..=52).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        let stat = format!("7 (a) b (c) {fields}\n");
        assert_eq!(task_figures(&stat), Some(([12 + 42, 14 + 15, 24], 22)));
        assert_eq!(task_figures("7 (a) S 1"), None);
        assert_eq!(task(Path::new("/proc"), u32::MAX), None);
    }

    #[test]
    fn the_figures_of_a_group_are_those_of_its_version() {
        let mount = tempfile::tempdir().unwrap();
        let group = mount.path().join("a");
        fs::create_dir(&group).unwrap();
        let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=71\nfull total=3\n";
        fs::write(group.join("memory.pressure"), pressure).unwrap();
        fs::write(group.join("cpu.stat"), "usage_usec 72\nuser_usec 9\n").unwrap();
        fs::write(group.join("memory.current"), "73\n").unwrap();
        fs::write(group.join("cgroup.procs"), "1\n2\n3\n").unwrap();
        let dir = mount.path().to_owned();
        let v2 = counters::Hierarchy { own_dir: dir.clone(), mount_dir: dir };
        let files = GroupFiles::new(&Hierarchies { v2: Some(v2), ..Hierarchies::default() });
        assert_eq!(files.glance("/a"), Some([71, 72, 73]));
        assert_eq!(files.members("/a", 2), [1, 2]);
        assert_eq!(files.glance("/gone"), None);
    }
}
