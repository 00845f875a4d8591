//! A toy compiler with a planted regression: from version 13 on its symbol table lies scattered over
//! 30 % more pages. Its work is the same in all versions.
//!
//! Built by `build.sh VERSION FOLDER`, run as `compiler SOURCE OBJECT`.

use std::io::{Error, Result};

/// Set when it is built.
const VERSION: &str = env!("COMPILER_VERSION");
const PAGE_BYTES: usize = 4096;
/// A slot of the symbol table: hash, count.
const SLOT_BYTES: usize = 16;
const SLOTS_A_PAGE: usize = 64;

/// Pages of the symbol table: where the regression is.
fn table_pages(version: u32) -> usize {
    if version < 13 { 1000 } else { 1300 }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(source), Some(object)) = (arguments.next(), arguments.next()) else {
        return Err(Error::other("usage: compiler SOURCE OBJECT"));
    };
    let version = VERSION.parse().map_err(Error::other)?;
    let text = std::fs::read_to_string(source)?;
    let pages = table_pages(version);
    let mut table = vec![0_u8; pages * PAGE_BYTES];
    let mut code = Vec::new();
    // Two passes, as symbols may be used before they are declared.
    for pass in 0..2_u64 {
        for word in text.split(|letter: char| !letter.is_ascii_alphanumeric()) {
            let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            });
            let slot = hash % (pages * SLOTS_A_PAGE) as u64;
            // Spread evenly over the pages: neighbours in the table are far apart in memory.
            let (page, slot) = (slot as usize % pages, slot as usize / pages);
            let at = page * PAGE_BYTES + slot * SLOT_BYTES;
            let count = u64::from_le_bytes(table[at + 8..at + 16].try_into().map_err(Error::other)?);
            table[at..at + 8].copy_from_slice(&hash.to_le_bytes());
            table[at + 8..at + 16].copy_from_slice(&(count + 1).to_le_bytes());
            if pass == 1 {
                code.extend_from_slice(&(count as u32).to_le_bytes());
            }
        }
        // The table is put in order: every page is looked at.
        for page in table.chunks_exact_mut(PAGE_BYTES) {
            page[PAGE_BYTES - 1] = page[0].wrapping_add(pass as u8).wrapping_add(1);
        }
    }
    std::fs::write(object, code)
}
