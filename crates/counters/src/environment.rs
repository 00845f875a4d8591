//! Facts of the machine that a result cannot be understood without, read once a run.
//!
//! **Invariant:** only files under the given roots are read (and the work directory's name is
//! resolved). A fact that cannot be read is absent; only those that an expert would ask for are
//! listed as missed.

mod cpu;
mod disk;

use std::fs;
use std::path::{Path, PathBuf};

use model::{Environment, Missed};

use crate::parse;

/// Where the facts are. A test points these at a folder that looks like the kernel's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// Where procfs is mounted.
    pub proc_root: PathBuf,
    /// Where sysfs is mounted.
    pub sys_root: PathBuf,
    /// The directory that the run works in; its disk is part of the facts.
    pub work_dir: Option<PathBuf>,
}

impl Roots {
    /// The running machine, where procfs and sysfs always are.
    #[must_use]
    pub fn system(work_dir: Option<PathBuf>) -> Self {
        Self { proc_root: "/proc".into(), sys_root: "/sys".into(), work_dir }
    }
}

/// Which of the two trees a fact's file is in.
#[derive(Clone, Copy)]
enum Tree {
    Proc,
    Sys,
}

/// What of a file is the fact.
#[derive(Clone, Copy)]
enum Pick {
    /// All of it.
    Whole,
    /// The word in brackets, which is the chosen one of several.
    Bracketed,
    /// The word in parentheses, which is the chosen one of several.
    Parenthesised,
}

/// Whether an expert would ask for the fact if it was not there.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Yes,
    No,
}

/// Facts that are one file each: name, file, what of it.
const FACTS: [(&str, Tree, &str, Pick, Wanted); 17] = [
    ("kernel", Tree::Proc, "sys/kernel/osrelease", Pick::Whole, Wanted::Yes),
    ("kernel_version", Tree::Proc, "sys/kernel/version", Pick::Whole, Wanted::No),
    ("cmdline", Tree::Proc, "cmdline", Pick::Whole, Wanted::Yes),
    ("hostname", Tree::Proc, "sys/kernel/hostname", Pick::Whole, Wanted::No),
    ("boot_id", Tree::Proc, "sys/kernel/random/boot_id", Pick::Whole, Wanted::No),
    ("task_delayacct", Tree::Proc, "sys/kernel/task_delayacct", Pick::Whole, Wanted::No),
    ("overcommit_memory", Tree::Proc, "sys/vm/overcommit_memory", Pick::Whole, Wanted::Yes),
    ("swappiness", Tree::Proc, "sys/vm/swappiness", Pick::Whole, Wanted::Yes),
    ("dirty_ratio", Tree::Proc, "sys/vm/dirty_ratio", Pick::Whole, Wanted::No),
    (
        "dirty_background_ratio",
        Tree::Proc,
        "sys/vm/dirty_background_ratio",
        Pick::Whole,
        Wanted::No,
    ),
    ("thp", Tree::Sys, "kernel/mm/transparent_hugepage/enabled", Pick::Bracketed, Wanted::Yes),
    ("thp_defrag", Tree::Sys, "kernel/mm/transparent_hugepage/defrag", Pick::Bracketed, Wanted::No),
    ("lru_gen", Tree::Sys, "kernel/mm/lru_gen/enabled", Pick::Whole, Wanted::Yes),
    (
        "governor",
        Tree::Sys,
        "devices/system/cpu/cpu0/cpufreq/scaling_governor",
        Pick::Whole,
        Wanted::Yes,
    ),
    (
        "clocksource",
        Tree::Sys,
        "devices/system/clocksource/clocksource0/current_clocksource",
        Pick::Whole,
        Wanted::Yes,
    ),
    ("swaps", Tree::Proc, "swaps", Pick::Whole, Wanted::No),
    ("preempt", Tree::Sys, "kernel/debug/sched/preempt", Pick::Parenthesised, Wanted::No),
];

/// Reads the facts of the machine.
///
/// Keys: those of single files (`kernel`, `kernel_version`, `cmdline`, `hostname`, `boot_id`,
/// `task_delayacct`, `overcommit_memory`, `swappiness` and `dirty_ratio` and
/// `dirty_background_ratio` in percent, `thp`, `thp_defrag`, `lru_gen` (a bit mask), `governor` of
/// the first CPU, `clocksource`, `preempt`), and `cpu_model`, `cpus_online` (a number),
/// `hypervisor` (`none`, a vendor, or `unknown`), `page_size_bytes`, `memory_bytes`, `swap_bytes`,
/// `swaps` (`none` or devices with size and priority), and of the work directory's disk
/// `disk_filesystem`, `disk_device`, `disk_mount_options`, `disk_scheduler`, `disk_rotational`
/// (0 or 1).
///
/// Follows `Documentation/admin-guide/sysctl/{kernel,vm}.rst`,
/// `Documentation/admin-guide/mm/{transhuge,multigen_lru}.rst`,
/// `Documentation/filesystems/proc.rst` and `Documentation/ABI/`.
#[must_use]
pub fn environment(roots: &Roots) -> (Environment, Vec<Missed>) {
    let mut facts = Facts { found: Environment::new(), missed: Vec::new() };
    for (name, tree, file, pick, wanted) in FACTS {
        let root = match tree {
            Tree::Proc => &roots.proc_root,
            Tree::Sys => &roots.sys_root,
        };
        let path = root.join(file);
        let text = read(&path).and_then(|text| {
            pick.from(&text).ok_or_else(|| format!("{}: no choice in {text:?}", path.display()))
        });
        facts.add(name, text, wanted);
    }
    if let Some(table) = facts.found.get_mut("swaps") {
        *table = swaps(table);
    }
    memory(roots, &mut facts);
    cpu::add(roots, &mut facts);
    disk::add(roots, &mut facts);
    (facts.found, facts.missed)
}

/// Facts as they are gathered.
struct Facts {
    found: Environment,
    missed: Vec<Missed>,
}

impl Facts {
    /// Keeps a fact, or the reason why it is not there if somebody would ask.
    fn add(&mut self, name: &str, fact: Result<String, String>, wanted: Wanted) {
        match fact {
            Ok(text) => {
                self.found.insert(name.to_owned(), text);
            }
            Err(reason) if wanted == Wanted::Yes => {
                self.missed.push(Missed { capability: format!("environment.{name}"), reason });
            }
            Err(_) => {}
        }
    }
}

impl Pick {
    /// The part of a text that is the fact.
    fn from(self, text: &str) -> Option<String> {
        let (open, close) = match self {
            Self::Whole => return Some(text.to_owned()),
            Self::Bracketed => ('[', ']'),
            Self::Parenthesised => ('(', ')'),
        };
        let (_, rest) = text.split_once(open)?;
        let (word, _) = rest.split_once(close)?;
        Some(word.to_owned())
    }
}

/// A file's text without white space around it, or the reason why not, with its path.
fn read(path: &Path) -> Result<String, String> {
    let bytes =
        fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Size of memory and swap, from `/proc/meminfo` (whose kB are 1024 bytes).
fn memory(roots: &Roots, facts: &mut Facts) {
    let path = roots.proc_root.join("meminfo");
    let values = read(&path).and_then(|text| {
        parse::colon_keyed(&text).map_err(|error| format!("{}: {error}", path.display()))
    });
    for (fact, name) in [("memory_bytes", "MemTotal_kb"), ("swap_bytes", "SwapTotal_kb")] {
        let size = values.clone().and_then(|values| {
            let size_kb =
                values.get(name).ok_or_else(|| format!("{} has no {name}", path.display()))?;
            Ok(size_kb.saturating_mul(1024).to_string())
        });
        facts.add(fact, size, Wanted::Yes);
    }
}

/// `/proc/swaps` in one line: device, kind, size and priority of each, without the amount used.
fn swaps(table: &str) -> String {
    let rows: Vec<String> = table
        .lines()
        .skip(1)
        .filter_map(|row| {
            let mut columns = row.split_ascii_whitespace();
            let (device, kind, size_kb) = (columns.next()?, columns.next()?, columns.next()?);
            let priority = columns.nth(1)?;
            Some(format!("{device} {kind} {size_kb}kB priority {priority}"))
        })
        .collect();
    if rows.is_empty() { "none".to_owned() } else { rows.join("; ") }
}
