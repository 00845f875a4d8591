//! The disk beneath a directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Facts, Pick, Roots, Wanted, read};

/// A mount, as far as it matters here.
#[derive(Debug, PartialEq)]
struct Mount {
    /// Major and minor number, `8:1`.
    numbers: String,
    /// Where it is mounted.
    point: PathBuf,
    /// Options of the mount and of the file system.
    options: String,
    /// The file system's type.
    filesystem: String,
    /// What is mounted, usually a device.
    device: String,
}

/// Adds `disk_filesystem`, `disk_device`, `disk_mount_options`, `disk_scheduler` and
/// `disk_rotational` of the work directory, if there is one.
pub(super) fn add(roots: &Roots, facts: &mut Facts) {
    let Some(work_dir) = &roots.work_dir else { return };
    let dir = fs::canonicalize(work_dir).unwrap_or_else(|_| work_dir.clone());
    let path = roots.proc_root.join("self/mountinfo");
    let mount = read(&path).and_then(|text| {
        mount_of(&text, &dir)
            .ok_or_else(|| format!("{} has no mount above {}", path.display(), dir.display()))
    });
    let mount = match mount {
        Ok(mount) => mount,
        Err(reason) => return facts.add("disk_filesystem", Err(reason), Wanted::Yes),
    };
    if let Some(queue) = queue_dir(&roots.sys_root, &mount) {
        let scheduler =
            read(&queue.join("scheduler")).map(|text| Pick::Bracketed.from(&text).unwrap_or(text));
        facts.add("disk_scheduler", scheduler, Wanted::No);
        facts.add("disk_rotational", read(&queue.join("rotational")), Wanted::No);
    }
    facts.add("disk_filesystem", Ok(mount.filesystem), Wanted::Yes);
    facts.add("disk_device", Ok(mount.device), Wanted::Yes);
    facts.add("disk_mount_options", Ok(mount.options), Wanted::Yes);
}

/// The mount that holds a path: the longest mount point above it, and of several the last one,
/// which covers the others.
fn mount_of(mountinfo: &str, path: &Path) -> Option<Mount> {
    mountinfo
        .lines()
        .filter_map(mount)
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
}

/// Reads one line of `/proc/self/mountinfo` (`Documentation/filesystems/proc.rst` section 3.5).
fn mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let numbers = left.next()?.to_owned();
    let point = PathBuf::from(unescaped(left.nth(1)?));
    let mount_options = left.next()?;
    let mut right = right.split(' ');
    let filesystem = right.next()?.to_owned();
    let device = unescaped(right.next()?);
    let options = match right.next() {
        Some(super_options) => format!("{mount_options} {super_options}"),
        None => mount_options.to_owned(),
    };
    Some(Mount { numbers, point, options, filesystem, device })
}

/// Undoes the kernel's octal escapes (`\040` is a space).
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let code = after.get(..3).and_then(|octal| u8::from_str_radix(octal, 8).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                plain.push(char::from(code));
                rest = &after[3..];
            }
            None => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain + rest
}

/// The directory of the disk's request queue; a partition's is that of its disk. File systems with
/// numbers of their own (btrfs) are found by the name of their device.
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
    fn escapes_that_are_none_stay() {
        assert_eq!(unescaped("a\\040b\\134c"), "a b\\c");
        assert_eq!(unescaped("\\04"), "\\04");
        assert_eq!(unescaped("\\é9"), "\\é9");
        assert_eq!(unescaped("\\777"), "\\777");
    }
}
