//! Finds and reads processes.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use counters::parse::{self, Mapping, TaskStatus};

use crate::geometry::Geometry;

/// The kernel's files. A test points these at a folder that looks like the kernel's.
#[derive(Clone, Debug)]
pub struct System {
    /// Where procfs is mounted.
    pub proc_root: PathBuf,
    /// The bitmap of idle pages; need not be there.
    pub page_idle: PathBuf,
    /// The layout of page tables.
    pub geometry: Geometry,
    /// Whether TLBs can be flushed without destroying a process's own soft-dirty bits.
    pub can_flush: bool,
}

impl System {
    /// The running system. Fails when this process's mappings cannot be read.
    pub fn running() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/self/smaps")?;
        let own = parse::smaps(&text).map_err(io::Error::other)?;
        let ends = own.iter().map(|mapping| mapping.end - 1);
        let highest = ends.filter(|end| is_of_process(*end)).max();
        // New mappings have this flag where the kernel supports it.
        let soft_dirty = own.iter().any(|it| it.flags.iter().any(|flag| flag == "sd"));
        Ok(Self {
            proc_root: "/proc".into(),
            page_idle: "/sys/kernel/mm/page_idle/bitmap".into(),
            geometry: Geometry::new(sys::pagemap::page_bytes(), highest.unwrap_or(0)),
            can_flush: !soft_dirty,
        })
    }

    /// All processes, in order, but this one. Fails when procfs cannot be read.
    pub fn all(&self) -> io::Result<Vec<u32>> {
        let mut pids = BTreeSet::new();
        for entry in fs::read_dir(&self.proc_root)? {
            pids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
        }
        pids.remove(&std::process::id());
        Ok(pids.into_iter().collect())
    }

    /// The processes in a control group and below, but this one. Fails for other
    /// folders, or when one cannot be read.
    pub fn in_group(&self, group: &Path) -> io::Result<Vec<u32>> {
        let mut pids = BTreeSet::new();
        collect(group, &mut pids)?;
        pids.remove(&std::process::id());
        Ok(pids.into_iter().collect())
    }

    /// Whether the kernel lets this user clear the referenced bits of a process.
    pub fn may_clear(&self, pid: u32) -> bool {
        File::options().write(true).open(self.path(pid, "clear_refs")).is_ok()
    }

    pub(crate) fn path(&self, pid: u32, file: &str) -> PathBuf {
        self.proc_root.join(pid.to_string()).join(file)
    }

    /// Who a process is. Fails when there is no such process.
    pub fn status(&self, pid: u32) -> Result<TaskStatus, String> {
        self.parsed(pid, "status", parse::task_status)
    }

    /// Start time in ticks since boot, which distinguishes reused numbers.
    pub(crate) fn start_ticks(&self, pid: u32) -> Result<u64, String> {
        let values = self.parsed(pid, "stat", parse::task_stat)?;
        let start = values.iter().find(|(name, _)| name == "starttime_ticks");
        let start = start.map(|(_, ticks)| *ticks);
        start.ok_or_else(|| format!("{}: no start", self.path(pid, "stat").display()))
    }

    pub(crate) fn smaps(&self, pid: u32) -> Result<Vec<Mapping>, String> {
        let mut mappings = self.parsed(pid, "smaps", parse::smaps)?;
        mappings.retain(|mapping| is_of_process(mapping.end - 1));
        Ok(mappings)
    }

    fn parsed<T, E: Display>(
        &self,
        pid: u32,
        file: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        let path = self.path(pid, file);
        let bytes = fs::read(&path).map_err(|error| refused(&path, &error))?;
        let text = String::from_utf8_lossy(&bytes);
        parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(crate) fn pagemap(&self, pid: u32) -> Result<File, String> {
        let path = self.path(pid, "pagemap");
        File::open(&path).map_err(|error| refused(&path, &error))
    }

    pub(crate) fn program(&self, pid: u32) -> Option<String> {
        fs::read_link(self.path(pid, "exe")).ok()?.to_str().map(str::to_owned)
    }

    /// Clears the referenced bits, and flushes the TLBs if possible: cached entries set no bits.
    pub(crate) fn clear(&self, pid: u32) -> Result<(), String> {
        let path = self.path(pid, "clear_refs");
        let write = |what| fs::write(&path, what).map_err(|error| refused(&path, &error));
        write("1")?;
        if self.can_flush { write("4") } else { Ok(()) }
    }
}

/// The upper half is the kernel's; its vsyscall page is in no process's page tables.
fn is_of_process(address: u64) -> bool {
    address >> 63 == 0
}

fn collect(group: &Path, pids: &mut BTreeSet<u32>) -> io::Result<()> {
    let text = fs::read_to_string(group.join("cgroup.procs"))?;
    pids.extend(text.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
    for entry in fs::read_dir(group)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            match collect(&entry.path(), pids) {
                // Removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
    }
    Ok(())
}

/// `ESRCH`: the process ended while its procfs file was open.
const NO_SUCH_PROCESS: i32 = 3;

fn refused(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        _ if error.raw_os_error() == Some(NO_SUCH_PROCESS) => "it has ended".to_owned(),
        io::ErrorKind::NotFound => "there is no such process, or it has ended".to_owned(),
        io::ErrorKind::PermissionDenied => {
            format!("{path}: {error}; only its owner and root may read it")
        }
        _ => format!("{path}: {error}"),
    }
}
