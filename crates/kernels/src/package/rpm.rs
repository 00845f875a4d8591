//! RPM packages: a lead, two headers, and a compressed cpio archive.

use std::io;

use super::{Visitor, cpio, damaged};
use crate::compression::reader;

pub(super) const MAGIC: &[u8] = b"\xed\xab\xee\xdb";

const LEAD_BYTES: usize = 96;
const HEADER_MAGIC: &[u8] = b"\x8e\xad\xe8\x01";
const INDEX_ENTRY_BYTES: usize = 16;

pub(super) fn visit(bytes: &[u8], visit: &mut Visitor<'_>) -> io::Result<()> {
    let payload = payload(bytes).ok_or_else(|| damaged("a header"))?;
    cpio::visit(&mut reader(payload)?, visit)
}

/// What follows the lead, the signature header (padded to 8 bytes) and the header.
fn payload(bytes: &[u8]) -> Option<&[u8]> {
    let signature_end = header_end(bytes, LEAD_BYTES)?.checked_next_multiple_of(8)?;
    bytes.get(header_end(bytes, signature_end)?..)
}

/// Where the header that begins at `start` ends.
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

#[cfg(test)]
pub(crate) mod tests {
    use super::super::visit_package;
    use super::*;
    use crate::compression::tests::{Pack, gzip, xz, zstd};
    use crate::package::cpio::tests::cpio_of;

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
                // An archive that is cut behind its last entry has lost nothing.
                assert!(cut.is_err() || package.len() - length < 400, "cut at {length}");
            }
        }
    }
}
