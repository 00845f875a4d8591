//! Facts of the machine for the header of a run, read once.
//!
//! **Invariant:** only files under the given roots are read. A fact that cannot be read is absent;
//! those that an expert would look for are listed as missed.

use std::fs;
use std::path::{Path, PathBuf};

use model::{Environment, Unavailable};

use crate::mounts::{Mount, mounts};
use crate::parse;

/// Key of the page size in the auxiliary vector (`AT_PAGESZ` of `include/uapi/linux/auxvec.h`).
const AT_PAGESZ: usize = 6;

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
    pub fn system(work_dir: Option<PathBuf>) -> Self {
        Self { proc_root: "/proc".into(), sys_root: "/sys".into(), work_dir }
    }

    fn path(&self, file: &str) -> PathBuf {
        match file.strip_prefix("proc/") {
            Some(file) => self.proc_root.join(file),
            None => self.sys_root.join(file.trim_start_matches("sys/")),
        }
    }
}

/// Facts of one file: name, file, brackets of the chosen word, whether an expert would look for it.
const FACTS: [(&str, &str, &str, bool); 16] = [
    ("kernel", "proc/sys/kernel/osrelease", "", true),
    ("cmdline", "proc/cmdline", "", true),
    ("overcommit_memory", "proc/sys/vm/overcommit_memory", "", true),
    ("swappiness", "proc/sys/vm/swappiness", "", true),
    ("thp", "sys/kernel/mm/transparent_hugepage/enabled", "[]", true),
    ("lru_gen", "sys/kernel/mm/lru_gen/enabled", "", true),
    ("governor", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", true),
    ("clocksource", "sys/devices/system/clocksource/clocksource0/current_clocksource", "", true),
    ("kernel_version", "proc/sys/kernel/version", "", false),
    ("hostname", "proc/sys/kernel/hostname", "", false),
    ("boot_id", "proc/sys/kernel/random/boot_id", "", false),
    ("task_delayacct", "proc/sys/kernel/task_delayacct", "", false),
    ("dirty_ratio", "proc/sys/vm/dirty_ratio", "", false),
    ("dirty_background_ratio", "proc/sys/vm/dirty_background_ratio", "", false),
    ("thp_defrag", "sys/kernel/mm/transparent_hugepage/defrag", "[]", false),
    ("preempt", "sys/kernel/debug/sched/preempt", "()", false),
];

/// Reads the facts of the machine (keys: `docs/run-format.md`, `header`).
///
/// Follows `Documentation/admin-guide/sysctl/{kernel,vm}.rst`,
/// `Documentation/admin-guide/mm/{transhuge,multigen_lru}.rst`,
/// `Documentation/filesystems/proc.rst` and `Documentation/ABI/`.
pub fn environment(roots: &Roots) -> (Environment, Vec<Unavailable>) {
    let mut facts = Facts { roots, found: Environment::new(), missed: Vec::new() };
    for (name, file, choice, is_wanted) in FACTS {
        let find = |text: &str| chosen(text, choice).ok_or(format!(": no choice in {text:?}"));
        match is_wanted {
            true => facts.want(name, file, find),
            false => facts.add(name, read(&roots.path(file)).ok().and_then(|it| find(&it).ok())),
        }
    }
    facts.add("swaps", read(&roots.path("proc/swaps")).ok().map(|table| swaps(&table)));
    for (fact, name) in [("memory_bytes", "MemTotal_kb"), ("swap_bytes", "SwapTotal_kb")] {
        facts.want(fact, "proc/meminfo", |text| {
            let values = parse::colon_keyed(text).map_err(|error| format!(": {error}"))?;
            // Its kB are 1024 bytes.
            let size = values.iter().find(|(known, _)| known == name);
            let size = size.map(|(_, kb)| kb.saturating_mul(1024).to_string());
            size.ok_or(format!(" has no {name}"))
        });
    }
    facts.want("cpu_model", "proc/cpuinfo", |text| {
        cpu_model(text).ok_or(" names no model".to_owned())
    });
    facts.want("cpus_online", "sys/devices/system/cpu/online", |list| {
        let count = count_list(list).ok_or_else(|| format!(": {list:?} is not a list of CPUs"))?;
        Ok(count.to_string())
    });
    let cpuinfo = read(&roots.path("proc/cpuinfo")).ok();
    facts.add("hypervisor", cpuinfo.and_then(|cpuinfo| hypervisor(roots, &cpuinfo)));
    let auxv = roots.path("proc/self/auxv");
    let page_bytes = fs::read(&auxv)
        .map_err(|error| format!("cannot read {}: {error}", auxv.display()))
        .and_then(|bytes| {
            page_size_bytes(&bytes).ok_or_else(|| format!("{} has no page size", auxv.display()))
        });
    facts.keep("page_size_bytes", page_bytes.map(|bytes| bytes.to_string()));
    facts.add_disk();
    (facts.found, facts.missed)
}

struct Facts<'a> {
    roots: &'a Roots,
    found: Environment,
    missed: Vec<Unavailable>,
}

impl Facts<'_> {
    fn add(&mut self, name: &str, fact: Option<String>) {
        self.found.extend(fact.map(|fact| (name.to_owned(), fact)));
    }

    fn keep(&mut self, name: &str, fact: Result<String, String>) {
        let missed = |reason| Unavailable { capability: format!("environment.{name}"), reason };
        let fact = fact.map_err(|reason| self.missed.push(missed(reason)));
        self.add(name, fact.ok());
    }

    /// Keeps what `find` returns for a file; its error follows the path.
    fn want(&mut self, name: &str, file: &str, find: impl Fn(&str) -> Result<String, String>) {
        let path = self.roots.path(file);
        let reason = |reason| format!("{}{reason}", path.display());
        self.keep(name, read(&path).and_then(|text| find(&text).map_err(reason)));
    }

    fn add_disk(&mut self) {
        let Some(work_dir) = &self.roots.work_dir else { return };
        let dir = fs::canonicalize(work_dir).unwrap_or_else(|_| work_dir.clone());
        let path = self.roots.path("proc/self/mountinfo");
        let mount = read(&path).and_then(|text| {
            mount_of(&text, &dir)
                .ok_or_else(|| format!("{} has no mount above {}", path.display(), dir.display()))
        });
        let mount = match mount {
            Ok(mount) => mount,
            Err(reason) => return self.keep("disk_filesystem", Err(reason)),
        };
        if let Some(queue) = queue_dir(&self.roots.sys_root, &mount) {
            let scheduler = read(&queue.join("scheduler")).ok();
            self.add("disk_scheduler", scheduler.map(|text| chosen(&text, "[]").unwrap_or(text)));
            self.add("disk_rotational", read(&queue.join("rotational")).ok());
        }
        let options = format!("{} {}", mount.options, mount.super_options);
        self.add("disk_filesystem", Some(mount.filesystem));
        self.add("disk_device", Some(mount.device));
        self.add("disk_mount_options", Some(options.trim_end().to_owned()));
    }
}

/// A trimmed file, or the reason with its path.
fn read(path: &Path) -> Result<String, String> {
    let bytes =
        fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// The text between two brackets; all of it without any.
fn chosen(text: &str, brackets: &str) -> Option<String> {
    let mut brackets = brackets.chars();
    let (Some(open), Some(close)) = (brackets.next(), brackets.next()) else {
        return Some(text.to_owned());
    };
    let (_, rest) = text.split_once(open)?;
    Some(rest.split_once(close)?.0.to_owned())
}

/// `/proc/swaps` in one line, without the amount used.
fn swaps(table: &str) -> String {
    let row = |row: &str| match row.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [device, kind, size_kb, _, priority, ..] => {
            Some(format!("{device} {kind} {size_kb}kB priority {priority}"))
        }
        _ => None,
    };
    let rows: Vec<String> = table.lines().skip(1).filter_map(row).collect();
    if rows.is_empty() { "none".to_owned() } else { rows.join("; ") }
}

fn field<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// The processor's name; 64-bit ARM has only numbers.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let of = |key| field(cpuinfo, key);
    let named = ["model name", "Model", "cpu", "uarch"].into_iter().find_map(of);
    named.map(str::to_owned).or_else(|| {
        Some(format!("implementer {} part {}", of("CPU implementer")?, of("CPU part")?))
    })
}

/// The hypervisor; `none` on the bare machine, `None` if unknown.
fn hypervisor(roots: &Roots, cpuinfo: &str) -> Option<String> {
    if let Ok(kind) = read(&roots.path("sys/hypervisor/type")) {
        return Some(kind);
    }
    if !field(cpuinfo, "flags")?.split(' ').any(|flag| flag == "hypervisor") {
        return Some("none".to_owned());
    }
    let dmi = ["sys_vendor", "product_name"]
        .iter()
        .filter_map(|name| read(&roots.path("sys/class/dmi/id").join(name)).ok())
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>();
    Some(if dmi.is_empty() { "unknown".to_owned() } else { dmi.join(" ") })
}

/// The number of elements of a list such as `0-3,8`.
fn count_list(list: &str) -> Option<u64> {
    parse::ranges(list)?.into_iter().try_fold(0_u64, |count, range| {
        count.checked_add((range.end() - range.start()).checked_add(1)?)
    })
}

/// The page size in an auxiliary vector: pairs of machine words, key and value.
fn page_size_bytes(auxv: &[u8]) -> Option<usize> {
    let (words, _) = auxv.as_chunks();
    let (pairs, _) = words.as_chunks::<2>();
    let pairs = pairs.iter().map(|pair| pair.map(usize::from_ne_bytes));
    pairs.into_iter().find_map(|[key, value]| (key == AT_PAGESZ).then_some(value))
}

/// The mount of a path: the longest mount point above it, of several the last.
fn mount_of(mountinfo: &str, path: &Path) -> Option<Mount> {
    mounts(mountinfo)
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
}

/// The request queue of a disk or of a partition's disk, by number or (btrfs) by name.
fn queue_dir(sys_root: &Path, mount: &Mount) -> Option<PathBuf> {
    let by_numbers = sys_root.join("dev/block").join(&mount.numbers);
    let name = mount.device.strip_prefix("/dev/").filter(|name| !name.contains('/'));
    let by_name = name.map(|name| sys_root.join("class/block").join(name));
    [Some(by_numbers), by_name]
        .into_iter()
        .flatten()
        .flat_map(|block| [block.join("queue"), block.join("../queue")])
        .find(|queue| queue.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,discard
28 27 0:30 / /home rw,relatime shared:1 - btrfs /dev/sdb rw,ssd
29 27 0:31 / /home rw - tmpfs tmpfs rw
30 27 8:2 / /my\\040data rw master:1 propagate_from:2 - xfs /dev/sda2 rw
nonsense
";

    #[test]
    fn the_longest_and_last_mount_holds_a_path() {
        let at = |path: &str| mount_of(MOUNTS, Path::new(path)).map(|mount| mount.filesystem);
        assert_eq!(at("/var/tmp").as_deref(), Some("ext4"));
        assert_eq!(at("/homes").as_deref(), Some("ext4"));
        assert_eq!(at("/home/me").as_deref(), Some("tmpfs"));
        assert_eq!(at("/my data/x").as_deref(), Some("xfs"));
        assert_eq!(at("relative"), None);
    }

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count_list("0-3,8"), Some(5));
        assert_eq!(count_list("0"), Some(1));
        for bad in ["", "3-0", "a", "0-", "0-18446744073709551615"] {
            assert_eq!(count_list(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn arm_has_numbers_for_a_name() {
        let text = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_model(text).as_deref(), Some("implementer 0x41 part 0xd0c"));
        assert_eq!(cpu_model("processor : 0\n"), None);
    }
}
