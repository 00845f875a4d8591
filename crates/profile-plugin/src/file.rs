//! The file that the plugin writes when QEMU ends; the crate `profile` reads it.
//!
//! All numbers are little-endian and have 64 bits, if nothing else is said:
//!
//! - the magic; 1 if nothing was left out, else 0; the instructions that the emulator counted;
//! - the number of nodes, their parents, their functions (32 bits each);
//! - the number of marks; of each its instructions, its node, 1 if the CPU was idle, else 0, and the
//!   CPU;
//! - the number of intervals, one more than marks; of each, as numbers of seven bits at a time: how
//!   many nodes it has, and for each the distance from the node before it, its instructions and its
//!   entries;
//! - the number of names of tasks; of each its pid (32 bits) and 16 bytes;
//! - the number of events; of each its time in ns, its CPU (the upper 32 bits) and node, its task, and
//!   for a switch the next task, the state of the task and the number of its name, for a wake-up 0, 0
//!   and 2³² − 1;
//! - the node that was executed last.

use crate::records::What;
use crate::scheduler::Scheduler;
use crate::shadow::Shadow;

const MAGIC: [u8; 8] = *b"tlprof\0\x02";
/// In place of the number of a name.
const WAKE: u64 = u32::MAX as u64;

/// The file of a profile in which the emulator counted so many instructions.
pub(crate) fn encode(shadow: &Shadow, scheduler: &Scheduler, instructions: u64) -> Vec<u8> {
    let nodes = &shadow.nodes;
    let is_whole = u64::from(!nodes.is_full && !scheduler.is_full);
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
        put(u64::from(mark.cpu));
    }
    put(nodes.interval_count);
    bytes.extend_from_slice(&nodes.intervals);
    bytes.extend((scheduler.names.len() as u64).to_le_bytes());
    for task in &scheduler.names {
        bytes.extend(task.pid.to_le_bytes());
        bytes.extend(task.name);
    }
    bytes.extend((scheduler.events.len() as u64).to_le_bytes());
    for event in &scheduler.events {
        let (next, state, name) = match event.what {
            What::Switch { next, state, name } => (next, state, u64::from(name)),
            What::Wake => (0, 0, WAKE),
        };
        let place = u64::from(event.cpu) << 32 | u64::from(event.node);
        let words = [event.time_ns, place, event.task, next, state, name];
        bytes.extend(words.into_iter().flat_map(u64::to_le_bytes));
    }
    bytes.extend(u64::from(shadow.last()).to_le_bytes());
    bytes
}
