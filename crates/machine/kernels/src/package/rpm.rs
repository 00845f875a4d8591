//! RPM packages: a lead, two headers, and a compressed cpio archive (`newc`: eight hex digits).

use std::io::{self, Read};

use super::{RawVisitor, damaged};
use crate::compression::reader;

pub(super) const MAGIC: &[u8] = b"\xed\xab\xee\xdb";

const LEAD_BYTES: usize = 96;
const HEADER_MAGIC: &[u8] = b"\x8e\xad\xe8\x01";
const INDEX_ENTRY_BYTES: usize = 16;

const ENTRY_HEADER_BYTES: usize = 110;
const TYPE_MASK: u32 = 0o170_000;
const TYPE_FILE: u32 = 0o100_000;
const NAME_LIMIT_BYTES: u32 = 4096;
const TRAILER: &[u8] = b"TRAILER!!!";

pub(super) fn visit(bytes: &[u8], visit: &mut RawVisitor<'_>) -> io::Result<()> {
    let payload = payload(bytes).ok_or_else(|| damaged("a header"))?;
    visit_archive(&mut reader(payload)?, visit)
}

/// The part after the lead, the signature (padded to 8 bytes) and the header.
fn payload(bytes: &[u8]) -> Option<&[u8]> {
    let signature_end = header_end(bytes, LEAD_BYTES)?.checked_next_multiple_of(8)?;
    bytes.get(header_end(bytes, signature_end)?..)
}

fn header_end(bytes: &[u8], start: usize) -> Option<usize> {
    let header = bytes.get(start..)?;
    if !header.starts_with(HEADER_MAGIC) {
        return None;
    }
    let number = |at: usize| {
        let bytes = header.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_be_bytes(*bytes)).ok()
    };
    let index_bytes = number(8)?.checked_mul(INDEX_ENTRY_BYTES)?;
    start.checked_add(16)?.checked_add(index_bytes)?.checked_add(number(12)?)
}

fn visit_archive(archive: &mut dyn Read, visit: &mut RawVisitor<'_>) -> io::Result<()> {
    let damaged = || damaged("the cpio archive");
    loop {
        let mut header = [0; ENTRY_HEADER_BYTES];
        archive.read_exact(&mut header)?;
        if !header.starts_with(b"070701") && !header.starts_with(b"070702") {
            return Err(damaged());
        }
        let mode = number(&header, 1).ok_or_else(damaged)?;
        let size_bytes = number(&header, 6).ok_or_else(damaged)?;
        let name_bytes = number(&header, 11).ok_or_else(damaged)?;
        if name_bytes > NAME_LIMIT_BYTES {
            return Err(damaged());
        }
        let mut name = vec![0; name_bytes as usize];
        archive.read_exact(&mut name)?;
        skip(archive, padding(ENTRY_HEADER_BYTES as u64 + u64::from(name_bytes)))?;
        // Names include a final zero.
        let name = name.strip_suffix(b"\0").ok_or_else(damaged)?;
        if name == TRAILER {
            return Ok(());
        }
        let mut file = archive.take(u64::from(size_bytes));
        if mode & TYPE_MASK == TYPE_FILE {
            visit(name, &mut file)?;
        }
        // `visit` need not read all.
        let left_bytes = file.limit();
        skip(archive, left_bytes + padding(u64::from(size_bytes)))?;
    }
}

fn number(header: &[u8; ENTRY_HEADER_BYTES], field: usize) -> Option<u32> {
    let digits = header.get(6 + field * 8..)?.first_chunk::<8>()?;
    u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

fn padding(length_bytes: u64) -> u64 {
    length_bytes.next_multiple_of(4) - length_bytes
}

fn skip(archive: &mut dyn Read, length_bytes: u64) -> io::Result<()> {
    let skipped = io::copy(&mut archive.take(length_bytes), &mut io::sink())?;
    if skipped == length_bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::visit_package;
    use super::*;
    use crate::compression::tests::{Pack, gzip, xz, zstd};

    fn header(entries: u32, data: &[u8]) -> Vec<u8> {
        let mut header = HEADER_MAGIC.to_vec();
        header.extend_from_slice(&[0; 4]);
        header.extend_from_slice(&entries.to_be_bytes());
        header.extend_from_slice(&(data.len() as u32).to_be_bytes());
        header.extend(vec![7; entries as usize * INDEX_ENTRY_BYTES]);
        header.extend_from_slice(data);
        header
    }

    /// An RPM of these files.
    pub(crate) fn rpm_of(files: &[(&str, &[u8])], pack: Pack) -> Vec<u8> {
        let mut package = MAGIC.to_vec();
        package.resize(LEAD_BYTES, 0);
        package.extend(header(2, b"signature"));
        package.resize(package.len().next_multiple_of(8), 0);
        package.extend(header(3, b"name and more"));
        package.extend(pack(&cpio_of(files)));
        package
    }

    #[test]
    fn files_are_read_from_every_compression() {
        for pack in [gzip, xz, zstd, <[u8]>::to_vec] {
            let package = rpm_of(
                &[("./lib/modules/6/vmlinuz", b"image"), ("./usr/lib/modules/6/a.ko", b"a")],
                pack,
            );
            let mut found = Vec::new();
            visit_package(&package, &mut |path, file| {
                found
                    .push((path.display().to_string(), std::io::copy(file, &mut std::io::sink())?));
                Ok(())
            })
            .unwrap();
            let expected =
                [("lib/modules/6/vmlinuz".to_owned(), 5), ("lib/modules/6/a.ko".to_owned(), 1)];
            assert_eq!(found, expected);
            for length in 4..package.len() - 8 {
                let cut = visit_package(&package[..length], &mut |_, _| Ok(()));
                // An archive that is cut after its last entry has lost nothing.
                assert!(cut.is_err() || package.len() - length < 400, "cut at {length}");
            }
        }
    }

    fn entry(mode: u32, name: &str, bytes: &[u8]) -> Vec<u8> {
        let mut entry = b"070701".to_vec();
        let fields =
            [1, mode, 0, 0, 1, 0, bytes.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        for field in fields {
            entry.extend(format!("{field:08x}").bytes());
        }
        entry.extend(name.bytes());
        entry.push(0);
        entry.resize(entry.len().next_multiple_of(4), 0);
        entry.extend_from_slice(bytes);
        entry.resize(entry.len().next_multiple_of(4), 0);
        entry
    }

    /// A cpio archive of these files, with a folder and a link before them.
    fn cpio_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = entry(0o040_755, "./lib/modules", b"");
        archive.extend(entry(0o120_777, "./lib/modules/build", b"../../etc"));
        for (name, bytes) in files {
            archive.extend(entry(0o100_644, name, bytes));
        }
        archive.extend(entry(0, "TRAILER!!!", b""));
        archive
    }

    #[test]
    fn a_visitor_need_not_read_and_a_way_out_is_refused() {
        let archive = cpio_of(&[("boot/vmlinuz", b"12345"), ("lib/modules/a", b"1")]);
        let mut count = 0;
        visit_archive(&mut archive.as_slice(), &mut |_, _| {
            count += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(count, 2);
        let package = rpm_of(&[("lib/modules/../../x", b"")], <[u8]>::to_vec);
        let error = visit_package(&package, &mut |_, _| Ok(())).unwrap_err();
        assert!(error.to_string().contains("leads out of its folder"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_change_is_read_or_refused(at in 0usize..600, value in proptest::num::u8::ANY) {
            let mut archive = cpio_of(&[("boot/vmlinuz", b"12345"), ("lib/modules/a", b"1")]);
            let at = at % archive.len();
            archive[at] = value;
            let _ = visit_archive(&mut archive.as_slice(), &mut |_, _| Ok(()));
        }
    }
}
