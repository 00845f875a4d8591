//! libCacheSim's oracleGeneral: 24 bytes a request, which are time, object, size, and the number
//! of the object's next request. An object becomes a page; its size and time are not kept.

use super::importer::{Record, Records, Tally};
use super::supply::Supply;
use crate::{Access, PAGE_SHIFT, Place, Reference, TraceError};

/// Bytes of a request.
pub(crate) const REQUEST_BYTES: usize = 24;
/// Numbers of objects from this on, 2^46, are mixed into as many more: an address has no room for
/// 64 bits besides those of a page.
const PLAIN_OBJECTS: u64 = 1 << 46;

/// The records of an oracleGeneral trace.
#[derive(Default)]
pub(crate) struct OracleGeneral {
    /// How many were read.
    number: u64,
}

impl Records for OracleGeneral {
    fn next(
        &mut self,
        supply: &mut Supply,
        tally: &mut Tally,
    ) -> Result<Option<Record>, TraceError> {
        loop {
            let at_byte = supply.at_byte();
            let Some(bytes) = supply.record::<REQUEST_BYTES>()? else { return Ok(None) };
            self.number += 1;
            let request = Request::from_bytes(&bytes);
            if request.is_plausible(self.number) {
                tally.good();
                let address = page(request.object) << PAGE_SHIFT;
                return Ok(Some(Record::single(Reference::new(address, Access::Load, 0))));
            }
            tally
                .bad(Place::Byte(at_byte), "the next request of the object lies before this one")?;
        }
    }
}

/// One request.
pub(crate) struct Request {
    pub(crate) time_s: u32,
    pub(crate) object: u64,
    pub(crate) size_bytes: u32,
    /// The number of the object's next request, counted from 1; -1 if there is none.
    pub(crate) next: i64,
}

impl Request {
    pub(crate) fn from_bytes(bytes: &[u8; REQUEST_BYTES]) -> Self {
        let word =
            |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let double = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Self {
            time_s: word(0),
            object: double(4),
            size_bytes: word(12),
            next: double(16).cast_signed(),
        }
    }

    pub(crate) fn to_bytes(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..4].copy_from_slice(&self.time_s.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.object.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.size_bytes.to_le_bytes());
        bytes[16..].copy_from_slice(&self.next.to_le_bytes());
        bytes
    }

    /// Whether the request of this number, from 1, can be such; -2 and the greatest number say
    /// that the next is not known or not there.
    pub(crate) fn is_plausible(&self, number: u64) -> bool {
        self.next == -1 || self.next == -2 || self.next >= number.cast_signed()
    }
}

/// The page of an object.
fn page(object: u64) -> u64 {
    if object < PLAIN_OBJECTS {
        return object;
    }
    // Multiplication by an odd number mixes upwards; the top bits depend on all.
    let mixed = (object ^ object >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 18;
    // The upper half of the pages, sign-extended.
    mixed | !(PLAIN_OBJECTS - 1)
}
