//! What the instrument weighs: the memory that its own processes hold in what is measured.
//!
//! Only the program's own mappings count in a process: its file, its data, its heap and its stack.
//! What a load, a probe or a job maps is the work, not the instrument. Pages of the file that several
//! processes share are divided among them, as the kernel does it (`Pss`,
//! `Documentation/filesystems/proc.rst`).

use std::fs::{self, Metadata};
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};

use counters::parse::{Mapping, smaps, task_status};
use model::{InstrumentWeight, SubjectSpec};

/// Mappings that belong to the program without being of its file.
const OWN: [&str; 2] = ["[heap]", "[stack]"];
const KIB: u64 = 1024;

/// Weighs all processes of the agent that are in a sandbox or a guest; `None` on a host, where they
/// take no memory that the measured processes could have, and where `/proc` does not show it.
pub(crate) fn weigh(subject: &SubjectSpec) -> Option<InstrumentWeight> {
    let all = processes()?;
    let is_inside: Box<dyn Fn(&Process) -> bool> = match (subject, subject.sandbox()) {
        // The observer stays outside.
        (_, Some(_)) => Box::new(|process| has_ancestor(&all, process, std::process::id())),
        (SubjectSpec::Vm(_), None) => Box::new(|_| true),
        _ => return None,
    };
    let mut weight = InstrumentWeight::default();
    for process in all.iter().filter(|process| is_inside(process)) {
        process.add_to(&mut weight);
    }
    (weight.processes > 0).then_some(weight)
}

/// A process that executes this program.
struct Process {
    pid: u32,
    parent: u32,
    folder: PathBuf,
    /// Its program.
    file: Metadata,
}

/// All of them, of every run on this machine.
fn processes() -> Option<Vec<Process>> {
    let own = fs::metadata("/proc/self/exe").ok()?;
    let entries = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let processes = entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let folder = entry.path();
        let file = fs::metadata(folder.join("exe")).ok()?;
        let is_own = (file.st_dev(), file.st_ino()) == (own.st_dev(), own.st_ino());
        let parent = if is_own { parent(&folder)? } else { return None };
        Some(Process { pid, parent, folder, file })
    });
    Some(processes.collect())
}

fn parent(folder: &Path) -> Option<u32> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // The name is in parentheses and may contain any character.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn has_ancestor(all: &[Process], process: &Process, ancestor: u32) -> bool {
    let mut parent = process.parent;
    for _ in all {
        if parent == ancestor {
            return true;
        }
        let Some(next) = all.iter().find(|process| process.pid == parent) else { return false };
        parent = next.parent;
    }
    false
}

impl Process {
    /// Adds what it holds; nothing if it has ended meanwhile.
    fn add_to(&self, weight: &mut InstrumentWeight) {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).ok();
        let Some(mappings) = read("smaps").and_then(|text| smaps(&text).ok()) else { return };
        let Some(state) = read("status").and_then(|text| task_status(&text).ok()) else { return };
        if mappings.is_empty() {
            return;
        }
        weight.processes += 1;
        weight.page_table_bytes += state.vm_pte_kb.unwrap_or(0) * KIB;
        for mapping in self.own(&mappings) {
            let bytes = |name: &str| mapping.values.get(name).copied().unwrap_or(0) * KIB;
            let anonymous_bytes = bytes("Anonymous_kb");
            weight.anonymous_bytes += anonymous_bytes;
            weight.file_bytes += bytes("Pss_kb").saturating_sub(anonymous_bytes);
        }
    }

    /// The program's own mappings: of its file, its zeroed data directly behind, heap and stack.
    fn own<'a>(&self, mappings: &'a [Mapping]) -> Vec<&'a Mapping> {
        let mut end_of_file = None;
        let is_own = |mapping: &&Mapping| {
            let is_of_file = mapping.inode != 0 && mapping.inode == self.file.st_ino();
            let is_behind = mapping.name.is_empty() && end_of_file == Some(mapping.start);
            if is_of_file || is_behind {
                end_of_file = Some(mapping.end);
            }
            is_of_file || is_behind || OWN.contains(&mapping.name.as_str())
        };
        mappings.iter().filter(is_own).collect()
    }
}
