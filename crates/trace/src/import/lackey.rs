//! `valgrind --tool=lackey --trace-mem=yes`: `I  0401ab70,3`, ` L `, ` S `, ` M ` (reads and
//! writes), between lines of valgrind itself, `==22505== …`.

use super::by_line::Lines;
use super::importer::{Item, Record};
use super::number::{decimal, fitting, hexadecimal, size_log2};
use crate::{Access, Event, Reference};

/// The records of a lackey trace.
#[derive(Default)]
pub(crate) struct Lackey;

impl Lines for Lackey {
    fn record(&mut self, line: &[u8]) -> Result<Option<Record>, &'static str> {
        if let Some(reference) = parse(line) {
            return Ok(Some(Record::single(reference)));
        }
        let command = command(line).ok_or("no reference as ` L 1ffefff728,8`")?;
        let item = Item::Event(Event::Program { command });
        Ok(Some(Record { process: 0, thread: 0, item }))
    }

    fn is_noise(line: &[u8]) -> bool {
        is_noise(line)
    }
}

/// The reference of a line.
pub(crate) fn parse(line: &[u8]) -> Option<Reference> {
    let access = match line.get(..3)? {
        b"I  " => Access::Fetch,
        b" L " => Access::Load,
        b" S " | b" M " => Access::Store,
        _ => return None,
    };
    let rest = &line[3..];
    let (address, size) = rest.split_at(memchr::memchr(b',', rest)?);
    let size = decimal(size[1..].trim_ascii_end())?;
    Some(Reference::new(fitting(hexadecimal(address)?)?, access, size_log2(size)))
}

/// Lines of valgrind and of programs that share its output are no records.
pub(crate) fn is_noise(line: &[u8]) -> bool {
    line.starts_with(b"==") || line.starts_with(b"--") || line.trim_ascii().is_empty()
}

/// The command line, which valgrind tells at the beginning.
fn command(line: &[u8]) -> Option<String> {
    const BEFORE: &[u8] = b"== Command: ";
    if !line.starts_with(b"==") {
        return None;
    }
    let at = memchr::memmem::find(line, BEFORE)?;
    Some(String::from_utf8_lossy(&line[at + BEFORE.len()..]).into_owned())
}
