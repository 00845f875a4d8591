//! `/proc/PID/smaps`: each mapping's line, which is in `/proc/PID/maps` too, and what it holds.

use model::Values;

use super::ParseError;
use super::keyed::with_unit;
use super::words::{Word, Words, is_name, lines};

/// One mapping of a process's memory, and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// The first address after it; above `start`.
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
    /// Path or kind (`[heap]`); empty for memory without a name. A newline in it is written as
    /// `\012`.
    pub name: String,
    /// Its counters, with the kernel's names and units: `Rss_kb` (of 1024 bytes), `THPeligible`, ….
    pub values: Values,
    /// Its flags of two letters (`rd`, `ht`, …); empty on kernels that show none.
    pub flags: Vec<String>,
}

/// Reads `/proc/PID/smaps`, which is empty for a kernel thread or a process that has ended.
///
/// Follows `Documentation/filesystems/proc.rst`, section "1.1 Process-Specific Subdirectories".
/// Fails when a line is neither a mapping nor a counter of one.
pub fn smaps(text: &str) -> Result<Vec<Mapping>, ParseError> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for (number, line) in lines(text) {
        // A mapping's line has colons too, but none in its first word.
        let Some((name, rest)) = line.split_once(':').filter(|(name, _)| is_name(name)) else {
            mappings.push(mapping(line, number)?);
            continue;
        };
        let mapping =
            mappings.last_mut().ok_or_else(|| ParseError::missing(number, "address range"))?;
        if name == "VmFlags" {
            let words = Words::new(rest, number, name.len() + 1);
            mapping.flags = words.map(|word| word.text.to_owned()).collect();
        } else {
            let (key, value) = with_unit(name, rest, number, |unit| unit == "kB")?;
            mapping.values.insert(key, value);
        }
    }
    Ok(mappings)
}

fn mapping(line: &str, number: usize) -> Result<Mapping, ParseError> {
    let mut columns = Words::new(line, number, 0);
    let range = columns.field("address range")?;
    let rights = columns.field("rights")?;
    let offset = columns.field("offset")?;
    let device = columns.field("device")?;
    let inode = columns.field("inode")?;
    let (start, end) = range
        .text
        .split_once('-')
        .and_then(|(start, end)| Some((hexadecimal(start)?, hexadecimal(end)?)))
        .filter(|(start, end)| start < end)
        .ok_or_else(|| range.unfit("an address range"))?;
    let [read, write, execute, shared] = flags(rights)?;
    // A path may have blanks.
    let behind_inode = inode.column - 1 + inode.text.len();
    Ok(Mapping {
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
        values: Values::new(),
        flags: Vec::new(),
    })
}

/// `r-xp` as read, write, execute and shared.
fn flags(word: Word<'_>) -> Result<[bool; 4], ParseError> {
    const LETTERS: [[u8; 2]; 4] = [*b"r-", *b"w-", *b"x-", *b"sp"];
    let letters = word.text.as_bytes();
    let mut known = letters.iter().zip(LETTERS);
    if letters.len() != 4 || !known.all(|(letter, known)| known.contains(letter)) {
        return Err(word.unfit("the rights of a mapping"));
    }
    Ok(std::array::from_fn(|index| letters[index] == LETTERS[index][0]))
}

/// 1 to 16 hexadecimal digits.
fn hexadecimal(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digits { u64::from_str_radix(text, 16).ok() } else { None }
}
