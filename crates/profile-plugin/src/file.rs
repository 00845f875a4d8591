//! The file that the plugin writes when QEMU ends; the crate `profile` reads it.
//!
//! All numbers are little-endian and have 64 bits, if nothing else is said:
//!
//! - the magic; 1 if nothing was left out, else 0; the instructions that the emulator counted;
//! - the number of nodes, their parents, their functions (32 bits each);
//! - the number of marks; of each its instructions, its node, and 1 if the CPU was idle, else 0;
//! - the number of intervals, one more than marks; of each, as numbers of seven bits at a time: how
//!   many nodes it has, and for each the distance from the node before it, its instructions and its
//!   entries.

use crate::shadow::Shadow;

const MAGIC: [u8; 8] = *b"tlprof\0\x01";

/// The file of a profile in which the emulator counted so many instructions.
pub(crate) fn encode(shadow: &Shadow, instructions: u64) -> Vec<u8> {
    let nodes = &shadow.nodes;
    let is_whole = u64::from(!nodes.is_full);
    let mut bytes = MAGIC.to_vec();
    let mut put = |number: u64| bytes.extend(number.to_le_bytes());
    [is_whole, instructions].into_iter().for_each(&mut put);
    put(nodes.parents.len() as u64);
    bytes.extend(nodes.parents.iter().flat_map(|parent| parent.to_le_bytes()));
    bytes.extend(nodes.functions.iter().flat_map(|function| function.to_le_bytes()));
    let mut put = |number: u64| bytes.extend(number.to_le_bytes());
    put(shadow.marks.len() as u64);
    for mark in &shadow.marks {
        put(mark.instructions);
        put(u64::from(mark.node));
        put(u64::from(mark.is_idle));
    }
    put(nodes.interval_count);
    bytes.extend_from_slice(&nodes.intervals);
    bytes
}
