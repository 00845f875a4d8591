//! Formats with records of fixed length.

use super::importer::{Fault, Item, Queue, Record};
use super::text::fitting;
use crate::{Access, PAGE_SHIFT, Reference};

/// ChampSim's instructions (64 bytes: pointer, two written, four read addresses) and Cloudsuite's
/// (96 bytes: four written, an address space). Sizes are unknown: one byte.
pub(crate) fn champsim(bytes: &[u8], _: u64, queue: &mut Queue) -> Result<(), Fault> {
    let (stores, loads, process) = match bytes.len() {
        64 => (&bytes[16..32], &bytes[32..64], 0),
        _ => (&bytes[24..56], &bytes[56..88], u32::from(bytes[88])),
    };
    // Both branch flags are 0 or 1, and only a branch is taken.
    let is_plausible = bytes[8] <= 1 && bytes[9] <= bytes[8];
    // Fetch, loads, stores; unused places are 0.
    let of =
        |words, access| numbers(words).filter(|word| *word != 0).map(move |word| (word, access));
    let places = [(first_number(bytes), Access::Fetch)].into_iter();
    let places = places.chain(of(loads, Access::Load)).chain(of(stores, Access::Store));
    let records = places.map(|(address, access)| {
        let item = Item::Reference(Reference::new(fitting(address)?, access, 0));
        Some(Record { process, thread: 0, item })
    });
    let records: Option<Vec<Record>> = records.collect();
    queue.extend(
        records.filter(|_| is_plausible).ok_or(
            "no instruction: its branch flags are not 0 or 1, or its addresses impossible",
        )?,
    );
    Ok(())
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(first_number)
}

pub(crate) fn first_number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Object numbers from here on are hashed, since addresses have no room for 64 bits above a page.
const PLAIN_OBJECTS: u64 = 1 << 46;

/// libCacheSim's oracleGeneral: time, object, size, next request. Objects become pages.
pub(crate) fn oracle(bytes: &[u8], number: u64, queue: &mut Queue) -> Result<(), Fault> {
    let (object, next) = (first_number(&bytes[4..]), first_number(&bytes[16..]).cast_signed());
    // -1 and -2: no next request, or unknown.
    if next != -1 && next != -2 && next < number.cast_signed() {
        return Err("the next request of the object comes before this one");
    }
    queue.push_back(Reference::new(page(object) << PAGE_SHIFT, Access::Load, 0).into());
    Ok(())
}

fn page(object: u64) -> u64 {
    if object < PLAIN_OBJECTS {
        return object;
    }
    // Multiplication by an odd number mixes upwards.
    let mixed = (object ^ object >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 18;
    // The upper half of the pages, sign-extended.
    mixed | !(PLAIN_OBJECTS - 1)
}
