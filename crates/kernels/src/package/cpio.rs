//! The cpio archive of an RPM (`newc`: numbers are eight hexadecimal digits).

use std::io::{self, Read};

use super::{Visitor, damaged, destination};

const HEADER_BYTES: usize = 110;
const TYPE_MASK: u32 = 0o170_000;
const TYPE_FILE: u32 = 0o100_000;
const NAME_LIMIT_BYTES: u32 = 4096;
const TRAILER: &[u8] = b"TRAILER!!!";

pub(super) fn visit(archive: &mut dyn Read, visit: &mut Visitor<'_>) -> io::Result<()> {
    let damaged = || damaged("the cpio archive");
    loop {
        let mut header = [0; HEADER_BYTES];
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
        skip(archive, padding(HEADER_BYTES as u64 + u64::from(name_bytes)))?;
        // The length of a name counts its final zero.
        let name = name.strip_suffix(b"\0").ok_or_else(damaged)?;
        if name == TRAILER {
            return Ok(());
        }
        let mut file = archive.take(u64::from(size_bytes));
        if mode & TYPE_MASK == TYPE_FILE
            && let Some(path) = destination(name)?
        {
            visit(&path, &mut file)?;
        }
        // The visitor need not read a file to its end.
        let left_bytes = file.limit();
        skip(archive, left_bytes + padding(u64::from(size_bytes)))?;
    }
}

/// The number of a header's field, counted behind the magic.
fn number(header: &[u8; HEADER_BYTES], field: usize) -> Option<u32> {
    let digits = header.get(6 + field * 8..)?.first_chunk::<8>()?;
    u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

/// Names and files are padded to four bytes.
fn padding(length_bytes: u64) -> u64 {
    length_bytes.next_multiple_of(4) - length_bytes
}

fn skip(archive: &mut dyn Read, length_bytes: u64) -> io::Result<()> {
    let skipped = io::copy(&mut archive.take(length_bytes), &mut io::sink())?;
    if skipped == length_bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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
    pub(crate) fn cpio_of(files: &[(&str, &[u8])]) -> Vec<u8> {
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
        visit(&mut archive.as_slice(), &mut |_, _| {
            count += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(count, 2);
        let archive = cpio_of(&[("lib/modules/../../x", b"")]);
        let error = visit(&mut archive.as_slice(), &mut |_, _| Ok(())).unwrap_err();
        assert!(error.to_string().contains("leads out of its folder"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_change_is_read_or_refused(at in 0usize..600, value in proptest::num::u8::ANY) {
            let mut archive = cpio_of(&[("boot/vmlinuz", b"12345"), ("lib/modules/a", b"1")]);
            let at = at % archive.len();
            archive[at] = value;
            let _ = visit(&mut archive.as_slice(), &mut |_, _| Ok(()));
        }
    }
}
