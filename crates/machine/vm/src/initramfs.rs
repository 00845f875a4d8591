//! The guest's root as a cpio archive: this program, its modules, nothing else.

use guest::{MODULES_DIR, OVERLAY_DIR, PROGRAM};

/// Format "newc" (`Documentation/driver-api/early-userspace/buffer-format.rst`).
const MAGIC: &str = "070701";
const TRAILER: &str = "TRAILER!!!";
pub(crate) const DIRECTORY: u32 = 0o040_755;
pub(crate) const EXECUTABLE: u32 = 0o100_755;
pub(crate) const PLAIN: u32 = 0o100_644;
const CHARACTER_DEVICE: u32 = 0o020_600;
pub(crate) const LINK: u32 = 0o120_777;
/// Programs that loads expect; this program under other names.
const APPLETS: [&str; 2] = ["bin/sh", "bin/true"];

#[derive(Debug)]
pub(crate) struct RootFile {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) bytes: Vec<u8>,
}

/// The archive, uncompressed to save guest time, with tools for the time before the guest is set up.
/// For a guest that moves into another root, the extra files are in a folder of their own.
pub(crate) fn archive(
    program: &[u8],
    modules: &[(String, Vec<u8>)],
    tools: &[RootFile],
    extra: &[RootFile],
    has_root: bool,
) -> Vec<u8> {
    let mut made = Archive { bytes: Vec::new(), next_inode: 1 };
    for directory in ["dev", "proc", "sys", "run", "work", "bin", &MODULES_DIR[1..]] {
        made.entry(directory, DIRECTORY, (0, 0), &[]);
    }
    // The kernel opens it for the first process before anything is mounted.
    made.entry("dev/console", CHARACTER_DEVICE, (5, 1), &[]);
    made.entry(&PROGRAM[1..], EXECUTABLE, (0, 0), program);
    for (name, bytes) in modules {
        made.entry(&format!("{}/{name}", &MODULES_DIR[1..]), EXECUTABLE, (0, 0), bytes);
    }
    for tool in tools {
        made.entry(&tool.path[1..], tool.mode, (0, 0), &tool.bytes);
    }
    for applet in APPLETS {
        // Extra files take precedence.
        if !extra.iter().any(|file| &file.path[1..] == applet) {
            made.entry(applet, LINK, (0, 0), PROGRAM.as_bytes());
        }
    }
    let place = if has_root { &OVERLAY_DIR[1..] } else { "" };
    if has_root && !extra.is_empty() {
        made.entry(place, DIRECTORY, (0, 0), &[]);
    }
    for file in extra {
        let path = format!("{place}{}", file.path);
        made.entry(path.trim_start_matches('/'), file.mode, (0, 0), &file.bytes);
    }
    made.entry(TRAILER, 0, (0, 0), &[]);
    made.bytes
}

struct Archive {
    bytes: Vec<u8>,
    next_inode: u32,
}

impl Archive {
    /// Owner, times and device numbers are constant.
    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        let name_size = name.len() as u32 + 1;
        let links = if mode == DIRECTORY { 2 } else { 1 };
        // inode, mode, uid, gid, links, mtime, size, device of the archive, device, name, check
        let (inode, size) = (self.next_inode, content.len() as u32);
        let (major, minor) = device;
        let fields = [inode, mode, 0, 0, links, 0, size, 0, 0, major, minor, name_size, 0];
        self.next_inode += 1;
        self.bytes.extend(MAGIC.as_bytes());
        for field in fields {
            self.bytes.extend(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_is_aligned_and_ends() {
        let (path, bytes) = ("/bin/sh".to_owned(), b"odd".to_vec());
        let extra = [RootFile { path, mode: EXECUTABLE, bytes }];
        let modules = [("a.ko".to_owned(), b"module".to_vec())];
        let path = "/tools/make".to_owned();
        let tools = [RootFile { path, mode: EXECUTABLE, bytes: b"tool".to_vec() }];
        let bytes = archive(b"program", &modules, &tools, &extra, false);
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        let at = |name: &str| text.find(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert!(at("thrashlab") < at("modules/a.ko") && at("bin/sh") < at(TRAILER));
        // Every header begins at a multiple of four, right after the last content.
        let mut offset = 0;
        let mut names = Vec::new();
        while offset < bytes.len() {
            assert_eq!(&bytes[offset..offset + 6], MAGIC.as_bytes());
            let field = |index: usize| {
                let start = offset + 6 + 8 * index;
                u32::from_str_radix(&text[start..start + 8], 16).unwrap() as usize
            };
            let (size, name_size) = (field(6), field(11));
            names.push(text[offset + 110..offset + 110 + name_size - 1].to_owned());
            offset = (offset + 110 + name_size).next_multiple_of(4);
            offset = (offset + size).next_multiple_of(4);
        }
        assert_eq!(names.last().map(String::as_str), Some(TRAILER));
        // Folders, console, program, module, tool, true, sh, trailer.
        assert_eq!(names.len(), 7 + 1 + 1 + 1 + 1 + 1 + 1 + 1);
    }
}
