//! `/proc/PID/maps`: one line a mapping. The same line heads each mapping of `/proc/PID/smaps`.

use super::words::{Word, lines, words};
use super::{ParseError, Reason};

/// One mapping of a process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapsLine {
    /// Its first address.
    pub start: u64,
    /// The address behind its last one; above `start`.
    pub end: u64,
    /// May be read.
    pub read: bool,
    /// May be written.
    pub write: bool,
    /// May be executed.
    pub execute: bool,
    /// Writes go to what is mapped (`MAP_SHARED`), not to a private copy.
    pub shared: bool,
    /// Where in the file it begins, in bytes.
    pub offset_bytes: u64,
    /// The device that the file is on, as the kernel writes it (`fe:00`).
    pub device: String,
    /// Number of the file on its device; 0 if no file is mapped.
    pub inode: u64,
    /// Path or kind (`[heap]`); empty for memory without a name. A newline in it stands as `\012`.
    pub name: String,
}

impl MapsLine {
    /// Its size in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.end - self.start
    }
}

/// Reads `/proc/PID/maps`. A process without memory of its own (a kernel thread, or one that has
/// ended) has an empty file, so that no mappings are an answer here and not an error.
///
/// Follows `Documentation/filesystems/proc.rst`, section "1.1 Process-Specific Subdirectories".
///
/// # Errors
/// When a line is not a mapping: two addresses, rights, offset, device, inode and perhaps a name.
pub fn maps(text: &str) -> Result<Vec<MapsLine>, ParseError> {
    lines(text).map(|(number, line)| maps_line(line, number)).collect()
}

/// Reads the line of one mapping; `number` counts from 1.
pub(super) fn maps_line(line: &str, number: usize) -> Result<MapsLine, ParseError> {
    let mut columns = words(line, number, 0);
    let mut next = |field| columns.next().ok_or_else(|| ParseError::missing(number, field));
    let range = next("address range")?;
    let rights = next("rights")?;
    let offset = next("offset")?;
    let device = next("device")?;
    let inode = next("inode")?;
    let (start, end) = range
        .text
        .split_once('-')
        .and_then(|(start, end)| Some((hexadecimal(start)?, hexadecimal(end)?)))
        .filter(|(start, end)| start < end)
        .ok_or_else(|| range.unfit("an address range"))?;
    let [read, write, execute, shared] = flags(rights)?;
    // The name is all the rest of the line: a path may have blanks.
    let behind_inode = inode.column - 1 + inode.text.len();
    Ok(MapsLine {
        start,
        end,
        read,
        write,
        execute,
        shared,
        offset_bytes: hexadecimal(offset.text).ok_or_else(|| offset.unfit("an offset"))?,
        device: device.text.to_owned(),
        inode: inode.number()?,
        name: line[behind_inode..].trim_start_matches(' ').to_owned(),
    })
}

/// `r-xp` as read, write, execute and shared.
fn flags(word: Word<'_>) -> Result<[bool; 4], ParseError> {
    let letters = word.text.as_bytes();
    let is = |index: usize, yes: u8, no: u8| match letters.get(index) {
        Some(letter) if *letter == yes => Some(true),
        Some(letter) if *letter == no => Some(false),
        _ => None,
    };
    let of = || {
        let all = [is(0, b'r', b'-')?, is(1, b'w', b'-')?, is(2, b'x', b'-')?, is(3, b's', b'p')?];
        (letters.len() == 4).then_some(all)
    };
    of().ok_or_else(|| word.unfit("the rights of a mapping"))
}

/// Up to sixteen hexadecimal digits and nothing else.
fn hexadecimal(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digits { u64::from_str_radix(text, 16).ok() } else { None }
}

impl Word<'_> {
    /// An error that says what should have stood here.
    fn unfit(self, wanted: &'static str) -> ParseError {
        self.error(Reason::Unfit { found: self.quoted(), wanted })
    }
}
