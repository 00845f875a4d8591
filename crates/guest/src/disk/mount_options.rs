//! Options of a mount as `mount(8)` takes them, divided as `mount(2)` wants them: flags that all
//! file systems know, and the rest, which is the file system's own.

use std::ffi::CString;
use std::io;

use rustix::mount::MountFlags;

/// The options of `mount(8)` that are flags of `mount(2)`.
const FLAGS: [(&str, MountFlags); 11] = [
    ("ro", MountFlags::RDONLY),
    ("nosuid", MountFlags::NOSUID),
    ("nodev", MountFlags::NODEV),
    ("noexec", MountFlags::NOEXEC),
    ("sync", MountFlags::SYNCHRONOUS),
    ("dirsync", MountFlags::DIRSYNC),
    ("noatime", MountFlags::NOATIME),
    ("nodiratime", MountFlags::NODIRATIME),
    ("relatime", MountFlags::RELATIME),
    ("strictatime", MountFlags::STRICTATIME),
    ("lazytime", MountFlags::LAZYTIME),
];

/// Divides options that are separated by commas; `rw` and `defaults` say nothing.
pub(super) fn parse(options: &str) -> io::Result<(MountFlags, CString)> {
    let mut flags = MountFlags::empty();
    let mut own = Vec::new();
    for option in options.split(',').filter(|option| !matches!(*option, "" | "rw" | "defaults")) {
        match FLAGS.iter().find(|(name, _)| *name == option) {
            Some((_, flag)) => flags |= *flag,
            None => own.push(option),
        }
    }
    Ok((flags, CString::new(own.join(","))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_the_file_systems_own_options_are_divided() {
        let (flags, own) = parse("rw,noatime,data=ordered,nodev,commit=5").unwrap();
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::NODEV);
        assert_eq!(own.to_str().unwrap(), "data=ordered,commit=5");
        assert_eq!(parse("").unwrap(), (MountFlags::empty(), CString::default()));
        assert!(parse("a\0b").is_err());
    }
}
