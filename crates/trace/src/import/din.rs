//! Dinero's `din`: a label (0 read, 1 write, 2 instruction fetch) and a hexadecimal address. It
//! tells no sizes; a reference is of one byte. What follows in a line is a comment.

use super::importer::{Record, Records, Tally};
use super::number::{fitting, hexadecimal};
use super::supply::{Line, Supply};
use crate::{Access, Place, Reference, TraceError};

/// The records of a din trace.
#[derive(Default)]
pub(crate) struct Din {
    line: Vec<u8>,
    number: u64,
}

impl Records for Din {
    fn next(
        &mut self,
        supply: &mut Supply,
        tally: &mut Tally,
    ) -> Result<Option<Record>, TraceError> {
        while let Some(kind) = supply.line(&mut self.line)? {
            self.number += 1;
            match parse(&self.line).filter(|_| matches!(kind, Line::Whole)) {
                Some(reference) => {
                    tally.good();
                    return Ok(Some(Record::single(reference)));
                }
                None if self.line.trim_ascii().is_empty() => {}
                None => {
                    let reason = "no label 0 to 2 and hexadecimal address";
                    tally.bad(Place::Line(self.number), reason)?;
                }
            }
        }
        Ok(None)
    }
}

/// The reference of a line.
pub(crate) fn parse(line: &[u8]) -> Option<Reference> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let access = match words.next()? {
        b"0" => Access::Load,
        b"1" => Access::Store,
        b"2" => Access::Fetch,
        _ => return None,
    };
    Some(Reference::new(fitting(hexadecimal(words.next()?)?)?, access, 0))
}
