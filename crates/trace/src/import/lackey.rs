//! `valgrind --tool=lackey --trace-mem=yes`: `I  0401ab70,3`, ` L `, ` S `, ` M ` (reads and
//! writes), between lines of valgrind itself, `==22505== …`.

use super::importer::{Item, Record, Records, Tally};
use super::number::{decimal, fitting, hexadecimal, size_log2};
use super::supply::{Line, Supply};
use crate::{Access, Event, Place, Reference, TraceError};

/// The records of a lackey trace.
#[derive(Default)]
pub(crate) struct Lackey {
    line: Vec<u8>,
    number: u64,
}

impl Records for Lackey {
    fn next(
        &mut self,
        supply: &mut Supply,
        tally: &mut Tally,
    ) -> Result<Option<Record>, TraceError> {
        while let Some(kind) = supply.line(&mut self.line)? {
            self.number += 1;
            if matches!(kind, Line::Whole) {
                if let Some(reference) = parse(&self.line) {
                    tally.good();
                    return Ok(Some(Record::single(reference)));
                }
                if let Some(command) = command(&self.line) {
                    let item = Item::Event(Event::Program { command });
                    return Ok(Some(Record { process: 0, thread: 0, item }));
                }
            }
            if !is_noise(&self.line) {
                tally.bad(Place::Line(self.number), "no reference as ` L 1ffefff728,8`")?;
            }
        }
        Ok(None)
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
