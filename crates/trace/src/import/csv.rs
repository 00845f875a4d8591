//! Comma-separated columns: address, access, size, thread, process, in this order or as a header
//! row names them. All but the address may be left out.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::importer::{Fault, Item, Record, Told};
use super::text::{decimal, fitting, hexadecimal, size_log2};
use crate::{Access, Reference};

/// Most threads of all processes that are told apart.
const MOST_THREADS: usize = 1 << 20;
/// What a header row may name.
const COLUMNS: [&str; 5] = ["address", "access", "size", "thread", "process"];

/// Where a file has the address, the access, …
type Places = [Option<usize>; COLUMNS.len()];

/// What was read of a CSV trace.
#[derive(Default)]
pub(crate) struct Csv {
    /// From the header row, if there is one.
    places: Option<Places>,
    /// Numbers from 0 for the processes' own, and in each of them for the threads'.
    processes: BTreeMap<u64, (u32, BTreeMap<u64, u32>)>,
    /// How many threads there are.
    threads: usize,
}

/// Where a header row has the columns; `None` if it is none.
pub(crate) fn header(line: &[u8]) -> Option<Places> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let names: Vec<&[u8]> = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect();
    let places = COLUMNS
        .map(|column| names.iter().position(|name| name.eq_ignore_ascii_case(column.as_bytes())));
    places[0].map(|_| places)
}

impl Csv {
    /// Reads a row; the first may be the header.
    pub(crate) fn read(&mut self, line: &[u8], number: u64, told: &mut Told) -> Result<(), Fault> {
        if number == 1 {
            self.places = header(line);
        }
        if number == 1 && self.places.is_some() || line.trim_ascii().is_empty() {
            return Ok(());
        }
        let places = self.places.unwrap_or([0, 1, 2, 3, 4].map(Some));
        let mut fields: [&[u8]; COLUMNS.len()] = [b""; COLUMNS.len()];
        for (place, text) in line.split(|byte| *byte == b',').enumerate() {
            if let Some(column) = places.iter().position(|own| *own == Some(place)) {
                fields[column] = text.trim_ascii();
            }
        }
        let [address, access, size, thread, process] = fields;
        let item = Item::Reference(reference(address, access, size)?);
        let number = |text: &[u8]| match text {
            b"" => Ok(0),
            text => decimal(text).ok_or("the thread or process is no number"),
        };
        let (process, thread) = self.numbers(number(process)?, number(thread)?)?;
        told.push_back(Record { process, thread, item });
        Ok(())
    }

    fn numbers(&mut self, process: u64, thread: u64) -> Result<(u32, u32), Fault> {
        let next = self.processes.len() as u32;
        let is_full = self.threads == MOST_THREADS;
        let full = Err("there are more than a million threads");
        let (process, threads) = match self.processes.entry(process) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if is_full => return full,
            Entry::Vacant(entry) => entry.insert((next, BTreeMap::new())),
        };
        let next = threads.len() as u32;
        match threads.entry(thread) {
            Entry::Occupied(entry) => Ok((*process, *entry.get())),
            Entry::Vacant(_) if is_full => full,
            Entry::Vacant(entry) => {
                self.threads += 1;
                Ok((*process, *entry.insert(next)))
            }
        }
    }
}

/// A reference of a row's fields.
fn reference(address: &[u8], access: &[u8], size: &[u8]) -> Result<Reference, Fault> {
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
