//! Comma-separated columns: address, access, size, thread, process, in this order or as a header
//! row names them. All but the address may be left out.

use std::collections::BTreeMap;

use super::by_line::Lines;
use super::importer::{Item, Record};
use super::number::{decimal, fitting, hexadecimal, size_log2};
use crate::{Access, Reference};

/// Most processes, and most threads of all processes, that are told apart.
const MOST_NAMES: usize = 1 << 20;
/// What a header row may name.
const COLUMNS: [&str; 5] = ["address", "access", "size", "thread", "process"];

/// The records of a CSV trace.
pub(crate) struct Csv {
    /// Whether the next line is the first, which may be a header row.
    at_begin: bool,
    /// Which column of the file has the address, the access, …
    places: [Option<usize>; COLUMNS.len()],
    /// Numbers from 0 for the processes' own.
    processes: BTreeMap<u64, u32>,
    /// Numbers from 0 for the threads' own, in each process.
    threads: BTreeMap<(u32, u64), u32>,
    /// How many threads each process has.
    counts: BTreeMap<u32, u32>,
}

impl Default for Csv {
    fn default() -> Self {
        Self {
            at_begin: true,
            places: [Some(0), Some(1), Some(2), Some(3), Some(4)],
            processes: BTreeMap::new(),
            threads: BTreeMap::new(),
            counts: BTreeMap::new(),
        }
    }
}

impl Lines for Csv {
    fn record(&mut self, line: &[u8]) -> Result<Option<Record>, &'static str> {
        if std::mem::take(&mut self.at_begin)
            && let Some(places) = header(line)
        {
            self.places = places;
            return Ok(None);
        }
        self.parse(line).map(Some)
    }
}

/// Where a header row has the columns; `None` if it is none.
pub(crate) fn header(line: &[u8]) -> Option<[Option<usize>; COLUMNS.len()]> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let names: Vec<&[u8]> = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect();
    let places = COLUMNS
        .map(|column| names.iter().position(|name| name.eq_ignore_ascii_case(column.as_bytes())));
    places[0].map(|_| places)
}

impl Csv {
    fn parse(&mut self, line: &[u8]) -> Result<Record, &'static str> {
        let mut fields: [&[u8]; COLUMNS.len()] = [b""; COLUMNS.len()];
        for (place, text) in line.split(|byte| *byte == b',').enumerate() {
            if let Some(column) = self.places.iter().position(|own| *own == Some(place)) {
                fields[column] = text.trim_ascii();
            }
        }
        let [address, access, size, thread, process] = fields;
        let reference = reference(address, access, size)?;
        let number = |text: &[u8]| match text {
            b"" => Ok(0),
            text => decimal(text).ok_or("the thread or process is no number"),
        };
        let process = self.process(number(process)?)?;
        let thread = self.thread(process, number(thread)?)?;
        Ok(Record { process, thread, item: Item::Reference(reference) })
    }

    fn process(&mut self, name: u64) -> Result<u32, &'static str> {
        let next = self.processes.len();
        if next == MOST_NAMES && !self.processes.contains_key(&name) {
            return Err("there are more than a million processes");
        }
        Ok(*self.processes.entry(name).or_insert(next as u32))
    }

    fn thread(&mut self, process: u32, name: u64) -> Result<u32, &'static str> {
        if let Some(thread) = self.threads.get(&(process, name)) {
            return Ok(*thread);
        }
        if self.threads.len() == MOST_NAMES {
            return Err("there are more than a million threads");
        }
        let count = self.counts.entry(process).or_default();
        let thread = *count;
        *count += 1;
        self.threads.insert((process, name), thread);
        Ok(thread)
    }
}

/// A reference of a row's fields.
pub(crate) fn reference(
    address: &[u8],
    access: &[u8],
    size: &[u8],
) -> Result<Reference, &'static str> {
    let number = match address {
        [b'0', b'x' | b'X', ..] => hexadecimal(address),
        _ => decimal(address),
    };
    let address = number
        .and_then(fitting)
        .ok_or("the address is no number of 59 bits, decimal or with 0x hexadecimal")?;
    let access = match access.to_ascii_lowercase().as_slice() {
        b"" | b"load" | b"l" | b"read" | b"r" | b"0" => Access::Load,
        b"store" | b"s" | b"write" | b"w" | b"1" => Access::Store,
        b"fetch" | b"f" | b"i" | b"2" => Access::Fetch,
        _ => return Err("the access is not load, store or fetch"),
    };
    let size = match size {
        b"" => 1,
        size => decimal(size).filter(|size| *size > 0).ok_or("the size is no number of bytes")?,
    };
    Ok(Reference::new(address, access, size_log2(size)))
}
