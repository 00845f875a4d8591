//! Dinero's `din`: a label (0 read, 1 write, 2 instruction fetch) and a hexadecimal address. It
//! tells no sizes; a reference is of one byte. What follows in a line is a comment.

use super::by_line::Lines;
use super::importer::Record;
use super::number::{fitting, hexadecimal};
use crate::{Access, Reference};

/// The records of a din trace.
#[derive(Default)]
pub(crate) struct Din;

impl Lines for Din {
    fn record(&mut self, line: &[u8]) -> Result<Option<Record>, &'static str> {
        let reference = parse(line).ok_or("no label 0 to 2 and hexadecimal address")?;
        Ok(Some(Record::single(reference)))
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
