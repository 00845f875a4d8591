//! Comma-separated address (required), access, size, thread, process, or as a header names them.

use std::collections::BTreeMap;

use super::importer::{Fault, Item, Queue, Record};
use super::text::{decimal, fitting, hexadecimal, size_log2};
use crate::{Access, Reference};

const MOST_THREADS: usize = 1 << 20;
const COLUMNS: [&str; 5] = ["address", "access", "size", "thread", "process"];

type Places = [Option<usize>; COLUMNS.len()];

/// The state of reading a CSV trace.
#[derive(Default)]
pub(crate) struct Csv {
    places: Option<Places>,
    /// Own numbers of processes and their threads.
    processes: BTreeMap<u64, (u32, BTreeMap<u64, u32>)>,
    threads: usize,
}

/// The columns of a header row, if it is one.
pub(crate) fn header(line: &[u8]) -> Option<Places> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let names: Vec<&[u8]> = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect();
    let places = COLUMNS
        .map(|column| names.iter().position(|name| name.eq_ignore_ascii_case(column.as_bytes())));
    places[0].map(|_| places)
}

impl Csv {
    pub(crate) fn read(
        &mut self,
        line: &[u8],
        number: u64,
        queue: &mut Queue,
    ) -> Result<(), Fault> {
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
            text => decimal(text).ok_or("the thread or process is not a number"),
        };
        let (process, thread) = self.numbers(number(process)?, number(thread)?)?;
        queue.push_back(Record { process, thread, item });
        Ok(())
    }

    fn numbers(&mut self, process: u64, thread: u64) -> Result<(u32, u32), Fault> {
        if let Some((own, threads)) = self.processes.get(&process)
            && let Some(thread) = threads.get(&thread)
        {
            return Ok((*own, *thread));
        }
        if self.threads == MOST_THREADS {
            return Err("there are more than a million threads");
        }
        self.threads += 1;
        let next = self.processes.len() as u32;
        let (own, threads) = self.processes.entry(process).or_insert((next, BTreeMap::new()));
        let next = threads.len() as u32;
        threads.insert(thread, next);
        Ok((*own, next))
    }
}

fn reference(address: &[u8], access: &[u8], size: &[u8]) -> Result<Reference, Fault> {
    let number = match address {
        [b'0', b'x' | b'X', ..] => hexadecimal(address),
        _ => decimal(address),
    };
    let address = number
        .and_then(fitting)
        .ok_or("the address is not a number of 59 bits, decimal or with 0x hexadecimal")?;
    let access = match access.to_ascii_lowercase().as_slice() {
        b"" | b"load" | b"l" | b"read" | b"r" | b"0" => Access::Load,
        b"store" | b"s" | b"write" | b"w" | b"1" => Access::Store,
        b"fetch" | b"f" | b"i" | b"2" => Access::Fetch,
        _ => return Err("the access is not load, store or fetch"),
    };
    let size = match size {
        b"" => 1,
        size => {
            decimal(size).filter(|size| *size > 0).ok_or("the size is not a number of bytes")?
        }
    };
    Ok(Reference::new(address, access, size_log2(size)))
}
