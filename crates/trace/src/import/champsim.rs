//! ChampSim's instructions: 64 bytes each, of which the instruction pointer, two places that are
//! written and four that are read matter here. Cloudsuite's have 96 bytes, with four places
//! written and an address space. Sizes are not told; a reference is of one byte.

use std::collections::VecDeque;

use super::importer::Item;
use super::importer::{Record, Records, Tally};
use super::number::fitting;
use super::supply::Supply;
use crate::{Access, Place, Reference, TraceError};

/// Bytes of an instruction.
pub(crate) const INSTRUCTION_BYTES: usize = 64;
/// Bytes of one of Cloudsuite's.
pub(crate) const CLOUDSUITE_BYTES: usize = 96;

/// Where a variant has what in its records.
struct Layout {
    stores: std::ops::Range<usize>,
    loads: std::ops::Range<usize>,
    space: Option<usize>,
}

const PLAIN: Layout = Layout { stores: 16..32, loads: 32..64, space: None };
const CLOUDSUITE: Layout = Layout { stores: 24..56, loads: 56..88, space: Some(88) };

/// The records of a ChampSim trace.
pub(crate) struct ChampSim {
    cloudsuite: bool,
    /// References of the instruction that was read last.
    waiting: VecDeque<Record>,
}

impl ChampSim {
    pub(crate) fn new(cloudsuite: bool) -> Self {
        Self { cloudsuite, waiting: VecDeque::new() }
    }

    /// Takes an instruction apart: the fetch, then what it reads, then what it writes.
    fn take_apart(&mut self, bytes: &[u8], layout: &Layout) -> Option<()> {
        let process = layout.space.map_or(0, |at| u32::from(bytes[at]));
        let fetch = fitting(number(bytes))?;
        let mut references = vec![Reference::new(fetch, Access::Fetch, 0)];
        let loads = bytes[layout.loads.clone()].chunks_exact(8).map(|word| (word, Access::Load));
        let stores = bytes[layout.stores.clone()].chunks_exact(8).map(|word| (word, Access::Store));
        for (word, access) in loads.chain(stores) {
            // An unused place is 0.
            match number(word) {
                0 => {}
                address => references.push(Reference::new(fitting(address)?, access, 0)),
            }
        }
        self.waiting.extend(references.into_iter().map(|reference| Record {
            process,
            thread: 0,
            item: Item::Reference(reference),
        }));
        Some(())
    }
}

impl Records for ChampSim {
    fn next(
        &mut self,
        supply: &mut Supply,
        tally: &mut Tally,
    ) -> Result<Option<Record>, TraceError> {
        while self.waiting.is_empty() {
            let at_byte = supply.at_byte();
            let understood = if self.cloudsuite {
                let Some(bytes) = supply.record::<CLOUDSUITE_BYTES>()? else { return Ok(None) };
                is_plausible(&bytes).then(|| self.take_apart(&bytes, &CLOUDSUITE)).flatten()
            } else {
                let Some(bytes) = supply.record::<INSTRUCTION_BYTES>()? else { return Ok(None) };
                is_plausible(&bytes).then(|| self.take_apart(&bytes, &PLAIN)).flatten()
            };
            match understood {
                Some(()) => tally.good(),
                None => tally.bad(
                    Place::Byte(at_byte),
                    "no instruction: its branch flags are not 0 or 1, or its addresses impossible",
                )?,
            }
        }
        Ok(self.waiting.pop_front())
    }
}

/// Whether bytes can be an instruction: both flags of branches are 0 or 1, and only a branch is
/// taken.
pub(crate) fn is_plausible(bytes: &[u8]) -> bool {
    bytes[8] <= 1 && bytes[9] <= bytes[8]
}

/// The number at the beginning of some bytes.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
