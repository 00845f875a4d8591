//! The section `.modinfo` of a module's ELF file.

use std::fmt::Display;

use object::{Object as _, ObjectSection as _};

/// What a module needs, and the names it goes by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modinfo {
    /// Modules that must be loaded before it.
    pub depends: Vec<String>,
    /// Modules that should be loaded before it (`softdep=pre:`).
    pub soft_before: Vec<String>,
    /// Modules that should be loaded after it (`softdep=post:`).
    pub soft_after: Vec<String>,
    /// Other names, and patterns of devices.
    pub aliases: Vec<String>,
}

impl Modinfo {
    /// Reads a module's ELF file. Fails for other bytes, or without `.modinfo`.
    pub fn from_elf(bytes: &[u8]) -> Result<Self, String> {
        let refused = |why: &dyn Display| format!("not a kernel module: {why}");
        let file = object::File::parse(bytes).map_err(|error| refused(&error))?;
        let section = file.section_by_name(".modinfo");
        let section = section.ok_or_else(|| refused(&"it has no .modinfo section"))?;
        Ok(Self::parse(section.data().map_err(|error| refused(&error))?))
    }

    /// Reads the content of `.modinfo`: zero-separated `key=value`. Unknown keys are skipped.
    pub fn parse(section: &[u8]) -> Self {
        let mut found = Self::default();
        for (key, value) in entries(section) {
            match key {
                "alias" => found.aliases.push(value.to_owned()),
                "depends" => {
                    let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
                    found.depends.extend(names.map(str::to_owned));
                }
                "softdep" => found.add_soft(value),
                _ => {}
            }
        }
        found
    }

    fn add_soft(&mut self, text: &str) {
        let mut unnamed = Vec::new();
        let mut list = &mut unnamed;
        for word in text.split_ascii_whitespace() {
            match word {
                "pre:" => list = &mut self.soft_before,
                "post:" => list = &mut self.soft_after,
                name => list.push(name.to_owned()),
            }
        }
    }
}

pub(super) fn entries(bytes: &[u8]) -> impl Iterator<Item = (&str, &str)> {
    bytes.split(|byte| *byte == 0).filter_map(|entry| str::from_utf8(entry).ok()?.split_once('='))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A 64-bit ELF file with nothing but `.modinfo` and the names of sections.
    pub(crate) fn elf_of(modinfo: &[u8]) -> Vec<u8> {
        const NAMES: &[u8] = b"\0.modinfo\0.shstrtab\0";
        let names_offset = 64 + modinfo.len() as u64;
        let sections_offset = (names_offset + NAMES.len() as u64).next_multiple_of(8);
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        for half in [1u16, 62] {
            file.extend(half.to_le_bytes());
        }
        file.extend(1u32.to_le_bytes());
        for word in [0, 0, sections_offset] {
            file.extend(word.to_le_bytes());
        }
        file.extend(0u32.to_le_bytes());
        for half in [64u16, 0, 0, 64, 3, 2] {
            file.extend(half.to_le_bytes());
        }
        file.extend_from_slice(modinfo);
        file.extend_from_slice(NAMES);
        file.resize(sections_offset as usize + 64, 0);
        let sections =
            [(1u32, 1u32, 64, modinfo.len() as u64), (10, 3, names_offset, NAMES.len() as u64)];
        for (name, kind, offset, length) in sections {
            file.extend(name.to_le_bytes());
            file.extend(kind.to_le_bytes());
            for word in [0, 0, offset, length, 0, 1, 0] {
                file.extend(word.to_le_bytes());
            }
            file.resize(file.len().next_multiple_of(8), 0);
        }
        file
    }

    #[test]
    fn what_a_module_needs_is_read() {
        let elf = elf_of(
            b"license=GPL\0softdep=pre: crc32c x post: y\0\0alias=fs-ext4\0depends=mbcache,jbd2\0name=ext4\0",
        );
        let modinfo = Modinfo::from_elf(&elf).unwrap();
        assert_eq!(modinfo.depends, ["mbcache", "jbd2"]);
        assert_eq!(modinfo.soft_before, ["crc32c", "x"]);
        assert_eq!(modinfo.soft_after, ["y"]);
        assert_eq!(modinfo.aliases, ["fs-ext4"]);
        assert!(Modinfo::parse(b"depends=\0").depends.is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        ) {
            let _ = Modinfo::parse(&bytes);
            let _ = Modinfo::from_elf(&bytes);
        }

        #[test]
        fn any_change_is_read_or_refused(at in 0usize..300, value in proptest::num::u8::ANY) {
            let mut elf = elf_of(b"depends=a\0name=b\0");
            let at = at % elf.len();
            elf[at] = value;
            let _ = Modinfo::from_elf(&elf);
        }
    }
}
