//! Kernel images and the ELF file inside.

use std::borrow::Cow;

use memchr::memmem;
use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _};

use crate::compression::decompressed;

/// A processor of which a guest's kernel may be.
pub const X86_64: &str = "x86-64";
/// The other one that may be a guest's.
pub const ARM64: &str = "arm64";

/// What an image reports about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    /// The processor it is for: [`X86_64`], `x86`, `arm64`, `riscv64`, or the machine number of ELF.
    pub architecture: Cow<'static, str>,
    /// Release, builder and time of the build, if they are in the image.
    pub version_text: Option<String>,
}

impl ImageFacts {
    /// Reads a bzImage, vmlinux (ELF) or arm64 Image, perhaps compressed. Fails for others.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let bytes = unwrapped(bytes)?;
        let architecture = if is_bzimage(&bytes) {
            // Bit 0 of xloadflags (since protocol 2.12): it has a 64-bit entry.
            let flags = u16_at(&bytes, 0x236).unwrap_or(0);
            let protocol = u16_at(&bytes, 0x206).unwrap_or(0);
            let architecture = if protocol >= 0x20c && flags & 1 == 0 { "x86" } else { X86_64 };
            let version_text = u16_at(&bytes, 0x20e).filter(|offset| *offset != 0);
            let version_text =
                version_text.and_then(|offset| line(bytes.get(0x200 + usize::from(offset)..)?));
            return Ok(Self { architecture: architecture.into(), version_text });
        } else if bytes.starts_with(&elf::ELFMAG) {
            let machine = u16_at(&bytes, 18).ok_or_else(|| damaged("ELF header"))?;
            match elf::Machine(machine) {
                elf::EM_X86_64 => X86_64.into(),
                elf::EM_386 => "x86".into(),
                elf::EM_AARCH64 => ARM64.into(),
                elf::EM_RISCV => "riscv64".into(),
                _ => format!("ELF machine {machine}").into(),
            }
        } else {
            match bytes.get(56..60) {
                Some(b"ARM\x64") => ARM64.into(),
                Some(b"RSC\x05") => "riscv64".into(),
                _ => return Err("not a kernel image (bzImage, vmlinux, Image)".to_owned()),
            }
        };
        Ok(Self { architecture, version_text: banner(&bytes) })
    }
}

/// The vmlinux (ELF) of a bzImage or vmlinux, without appended data. Fails without an intact one.
pub fn vmlinux(image: &[u8]) -> Result<Vec<u8>, String> {
    let image = unwrapped(image)?;
    let mut kernel = if is_bzimage(&image) {
        decompressed(payload(&image)?).map_err(not_unpacked)?
    } else if image.starts_with(&elf::ELFMAG) {
        image.into_owned()
    } else {
        let architecture = ImageFacts::parse(&image)?.architecture;
        return Err(format!(
            "a kernel image for {architecture} has no vmlinux inside; boot the image itself"
        ));
    };
    let length_bytes = elf_length(&kernel)
        .filter(|length_bytes| *length_bytes <= kernel.len() as u64)
        .ok_or_else(|| damaged("vmlinux"))?;
    kernel.truncate(usize::try_from(length_bytes).unwrap_or(usize::MAX));
    Ok(kernel)
}

/// The image without the compression around all of it. Fails when it is damaged.
pub(crate) fn bare(image: &[u8]) -> Result<Vec<u8>, String> {
    unwrapped(image).map(Cow::into_owned)
}

fn damaged(part: &str) -> String {
    format!("the kernel image is damaged or cut off ({part}); fetch it again")
}

fn not_unpacked(error: std::io::Error) -> String {
    format!("the kernel inside the image cannot be unpacked: {error}")
}

/// Whether QEMU can boot a vmlinux by PVH: an ELF note `Xen` 18 (`XEN_ELFNOTE_PHYS32_ENTRY`).
pub fn has_pvh_entry(vmlinux: &[u8]) -> bool {
    pvh_entry(vmlinux).unwrap_or(false)
}

fn pvh_entry(vmlinux: &[u8]) -> object::Result<bool> {
    let header = FileHeader64::<Endianness>::parse(vmlinux)?;
    let endian = header.endian()?;
    for segment in header.program_headers(endian, vmlinux)? {
        let Some(mut notes) = segment.notes(endian, vmlinux)? else { continue };
        while let Some(note) = notes.next()? {
            if note.name() == b"Xen" && note.n_type(endian) == elf::NoteType(18) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The configuration inside some kernels (`CONFIG_IKCONFIG`).
pub(crate) fn embedded_config(bytes: &[u8]) -> Option<String> {
    let start = memmem::find(bytes, b"IKCFG_ST")? + 8;
    String::from_utf8(decompressed(bytes.get(start..)?).ok()?).ok()
}

/// Unwraps an image that is compressed as a whole: gzip, or an EFI `zboot` program.
fn unwrapped(bytes: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let packed = if bytes.starts_with(b"\x1f\x8b") {
        bytes
    } else if bytes.starts_with(b"MZ") && bytes.get(4..8) == Some(b"zimg") {
        let part = || -> Option<&[u8]> {
            let start = u32_at(bytes, 8)? as usize;
            bytes.get(start..start.checked_add(u32_at(bytes, 12)? as usize)?)
        };
        part().ok_or_else(|| damaged("zboot header"))?
    } else {
        return Ok(Cow::Borrowed(bytes));
    };
    decompressed(packed).map(Cow::Owned).map_err(not_unpacked)
}

fn is_bzimage(bytes: &[u8]) -> bool {
    bytes.get(0x202..0x206) == Some(b"HdrS")
}

/// The compressed kernel of a bzImage; its offset counts from the end of the setup sectors.
fn payload(bytes: &[u8]) -> Result<&[u8], String> {
    let part = || {
        let sectors = match *bytes.get(0x1f1)? {
            0 => 4,
            sectors => usize::from(sectors),
        };
        let start = (sectors + 1) * 512 + usize::try_from(u32_at(bytes, 0x248)?).ok()?;
        bytes.get(start..start.checked_add(usize::try_from(u32_at(bytes, 0x24c)?).ok()?)?)
    };
    part().ok_or_else(|| damaged("setup header"))
}

/// The kernel's version banner in its read-only data.
fn banner(bytes: &[u8]) -> Option<String> {
    const START: &[u8] = b"Linux version ";
    memmem::find_iter(bytes, START)
        .map(|at| &bytes[at + START.len()..])
        .find(|text| text.first().is_some_and(u8::is_ascii_digit))
        .and_then(line)
}

/// Text up to a zero or newline, if there is any.
fn line(bytes: &[u8]) -> Option<String> {
    let window = &bytes[..bytes.len().min(1024)];
    let end = window.iter().position(|byte| *byte == 0 || *byte == b'\n')?;
    let text = String::from_utf8_lossy(&window[..end]).trim().to_owned();
    if text.is_empty() { None } else { Some(text) }
}

fn elf_length(bytes: &[u8]) -> Option<u64> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let sections = header.section_headers(endian, bytes).ok()?;
    let tables = [
        (header.e_phoff(endian), segments.len() as u64 * u64::from(header.e_phentsize(endian))),
        (header.e_shoff(endian), sections.len() as u64 * u64::from(header.e_shentsize(endian))),
    ];
    let parts = segments.iter().map(|segment| segment.file_range(endian));
    let parts = parts.chain(sections.iter().filter_map(|section| section.file_range(endian)));
    tables.into_iter().chain(parts).try_fold(0, |end: u64, (offset, size_bytes)| {
        Some(end.max(offset.checked_add(size_bytes)?))
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::compression::tests::{Pack, gzip, lz4, lzma, xz, zstd};

    /// A 64-bit ELF file with one segment, which is a note for PVH, and the banner of a kernel.
    fn vmlinux_of(release: &str, note_owner: &[u8; 4]) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [4u32, 4, 18] {
            note.extend(word.to_le_bytes());
        }
        note.extend_from_slice(note_owner);
        note.extend(0x100_0000u32.to_le_bytes());
        note.extend(format!("Linux version {release} (me) #1 SMP\n\0IKCFG_ST").bytes());
        note.extend(gzip(b"CONFIG_PSI=y\n"));
        note.extend_from_slice(b"IKCFG_ED");

        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        for half in [2u16, 62] {
            file.extend(half.to_le_bytes());
        }
        file.extend(1u32.to_le_bytes());
        for word in [0u64, 64, 0] {
            file.extend(word.to_le_bytes());
        }
        file.extend(0u32.to_le_bytes());
        for half in [64u16, 56, 1, 64, 0, 0] {
            file.extend(half.to_le_bytes());
        }
        for half in [4u32, 4] {
            file.extend(half.to_le_bytes());
        }
        // The note is 20 bytes long: what follows in the segment is other notes to a reader.
        let length = note.len() as u64;
        for word in [120, 0, 0, length, length, 4] {
            file.extend(word.to_le_bytes());
        }
        file.extend(note);
        file
    }

    /// A bzImage of that release.
    pub(crate) fn bzimage_of(release: &str) -> Vec<u8> {
        bzimage(release, &vmlinux_of(release, b"Xen\0"), gzip)
    }

    fn bzimage(release: &str, vmlinux: &[u8], pack: Pack) -> Vec<u8> {
        let mut payload = pack(&[vmlinux, b"relocations"].concat());
        payload.extend(((vmlinux.len() + 11) as u32).to_le_bytes());
        let mut image = vec![0; 1024 + 16];
        let mut set = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
        set(0x1f1, &[1]);
        set(0x202, b"HdrS\x0f\x02");
        set(0x20e, &[0, 1]);
        set(0x236, &[1]);
        set(0x248, &16u32.to_le_bytes());
        set(0x24c, &(payload.len() as u32).to_le_bytes());
        set(0x300, format!("{release} (me) #1 SMP").as_bytes());
        image.extend(payload);
        image
    }

    #[test]
    fn a_bzimage_is_described_and_unpacked_whatever_it_is_packed_by() {
        let inside = vmlinux_of("6.1.0-test", b"Xen\0");
        for pack in [gzip, xz, zstd, lzma, lz4] {
            let image = bzimage("6.1.0-test", &inside, pack);
            let facts = ImageFacts::parse(&image).unwrap();
            assert_eq!(facts.architecture, X86_64);
            assert_eq!(facts.version_text.as_deref(), Some("6.1.0-test (me) #1 SMP"));
            assert_eq!(vmlinux(&image).unwrap(), inside, "without what is appended");
            let error = vmlinux(&image[..image.len() - 9]).unwrap_err();
            assert!(error.contains("is damaged or cut off"), "{error}");
        }
        assert_eq!(
            ImageFacts::parse(&inside).unwrap(),
            ImageFacts::parse(&bzimage_of("6.1.0-test")).unwrap()
        );
        assert_eq!(embedded_config(&inside).as_deref(), Some("CONFIG_PSI=y\n"));
    }

    #[test]
    fn the_entry_for_pvh_is_found() {
        assert!(has_pvh_entry(&vmlinux_of("6", b"Xen\0")));
        assert!(!has_pvh_entry(&vmlinux_of("6", b"GNU\0")));
        assert!(!has_pvh_entry(b"\x7fELF"));
    }

    #[test]
    fn an_arm64_image_is_described_bare_and_wrapped() {
        let mut image = vec![0; 56];
        image.extend_from_slice(b"ARM\x64\0\0Linux version 6.12.1-arm64 (me)\n");
        let mut zboot = b"MZ\0\0zimg".to_vec();
        zboot.extend(32u32.to_le_bytes());
        zboot.extend((gzip(&image).len() as u32).to_le_bytes());
        zboot.resize(32, 0);
        zboot.extend(gzip(&image));
        for wrapped in [&zboot, &gzip(&image), &image] {
            let facts = ImageFacts::parse(wrapped).unwrap();
            assert_eq!(facts.architecture, "arm64");
            assert_eq!(facts.version_text.as_deref(), Some("6.12.1-arm64 (me)"));
            assert!(vmlinux(wrapped).unwrap_err().contains("for arm64 has no vmlinux"));
            assert_eq!(bare(wrapped).unwrap(), image);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            at in 0usize..2000,
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        ) {
            let _ = (ImageFacts::parse(&bytes), vmlinux(&bytes), has_pvh_entry(&bytes));
            for mut image in [bzimage_of("6.1"), vmlinux_of("6.1", b"Xen\0")] {
                let at = at % image.len();
                let length = bytes.len().min(8).min(image.len() - at);
                image[at..at + length].copy_from_slice(&bytes[..length]);
                let _ = (ImageFacts::parse(&image), vmlinux(&image), has_pvh_entry(&image));
            }
        }
    }
}
