//! Formats with a line per reference.

use super::importer::{Fault, Item, Queue, Record};
use crate::{Access, Event, MAX_SIZE_LOG2, Reference};

/// Dinero's `din`: label (0 read, 1 write, 2 fetch), hexadecimal address, comment; no size.
pub(crate) fn din(line: &[u8], _: u64, queue: &mut Queue) -> Result<(), Fault> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let access = match words.next() {
        None => return Ok(()),
        Some(b"0") => Some(Access::Load),
        Some(b"1") => Some(Access::Store),
        Some(b"2") => Some(Access::Fetch),
        Some(_) => None,
    };
    let mut reference = || Some(Reference::new(fitting(hexadecimal(words.next()?)?)?, access?, 0));
    queue.push_back(reference().ok_or("no label 0 to 2 and hexadecimal address")?.into());
    Ok(())
}

/// `valgrind --tool=lackey --trace-mem=yes`: `I  0401ab70,3`, ` L `, ` S `, ` M ` (reads, writes).
pub(crate) fn lackey(line: &[u8], _: u64, queue: &mut Queue) -> Result<(), Fault> {
    const COMMAND: &[u8] = b"== Command: ";
    let rest = line.get(3..).unwrap_or_default();
    let access = match line.get(..3) {
        Some(b"I  ") => Some(Access::Fetch),
        Some(b" L ") => Some(Access::Load),
        Some(b" S " | b" M ") => Some(Access::Store),
        _ if line.starts_with(b"==") => {
            if let Some(at) = memchr::memmem::find(line, COMMAND) {
                let command = String::from_utf8_lossy(&line[at + COMMAND.len()..]).into_owned();
                let item = Item::Event(Event::Program { command });
                queue.push_back(Record { process: 0, thread: 0, item });
            }
            return Ok(());
        }
        _ if line.starts_with(b"--") || line.trim_ascii().is_empty() => return Ok(()),
        _ => None,
    };
    let reference = || {
        let (address, size) = rest.split_at(memchr::memchr(b',', rest)?);
        let size = decimal(size[1..].trim_ascii_end())?;
        Some(Reference::new(fitting(hexadecimal(address)?)?, access?, size_log2(size)))
    };
    queue.push_back(reference().ok_or("no reference as ` L 1ffefff728,8`")?.into());
    Ok(())
}

/// With `0x` or without.
pub(crate) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    let is_number = digits.len() <= 16 && digits.iter().all(u8::is_ascii_hexdigit);
    u64::from_str_radix(str::from_utf8(digits).ok().filter(|_| is_number)?, 16).ok()
}

pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    let is_number = text.iter().all(u8::is_ascii_digit);
    str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

/// log2 of a size, rounded up.
pub(crate) fn size_log2(size_bytes: u64) -> u8 {
    size_bytes.clamp(1, 1 << MAX_SIZE_LOG2).next_power_of_two().trailing_zeros() as u8
}

/// An address of at most 59 bits, sign-extended.
pub(crate) fn fitting(address: u64) -> Option<u64> {
    let shortened = (address << 5).cast_signed() >> 5;
    (shortened.cast_unsigned() == address).then_some(address)
}
