//! The file that the plugin writes when QEMU ends; the crate `profile` reads it.
//!
//! All numbers are little-endian and have 64 bits, if nothing else is said:
//!
//! - the magic; 1 if nothing was left out, else 0; 1 if functions of user code were counted for their
//!   callers, else 0; the instructions that the emulator counted;
//! - the number of nodes, their parents, their functions (32 bits each), their areas (8 bits each);
//! - the number of marks; of each its instructions, its node, 1 if the CPU was idle, else 0, and the
//!   CPU;
//! - the number of intervals, one more than marks; of each, as numbers of seven bits at a time: how
//!   many nodes it has, and for each the distance from the node before it, its instructions and its
//!   entries;
//! - the number of names of tasks; of each its pid (32 bits) and 16 bytes;
//! - the number of events; of each its time in ns, its CPU (the upper 32 bits) and node, its task, and
//!   for a switch the next task, the state of the task and the number of its name, for a wake-up 0, 0
//!   and 2³² − 1;
//! - the node that was executed last;
//! - the number of functions of user code; of each its program and its address;
//! - the number of paths; of each its length and its bytes;
//! - the number of mappings; of each its program, the number of its path, its first address, the one
//!   after its last, and where it begins in its file;
//! - the number of tasks; of each the number of its name, or 2³² − 1;
//! - for each interval, as numbers of seven bits at a time: how many tasks executed, and for each the
//!   distance from the task before it, and its instructions in each of the seven areas.

use crate::records::What;
use crate::scheduler::Scheduler;
use crate::shadow::Shadow;
use crate::spaces::Spaces;

const MAGIC: [u8; 8] = *b"tlprof\0\x03";
/// In place of the number of a name.
const WAKE: u64 = u32::MAX as u64;

/// The file of a profile in which the emulator counted so many instructions.
pub(crate) fn encode(shadow: &Shadow, scheduler: &Scheduler, instructions: u64) -> Vec<u8> {
    let nodes = &shadow.nodes;
    let is_full = [nodes.is_full, scheduler.is_full, shadow.lives.is_full, shadow.spaces.is_full];
    let is_whole = u64::from(!is_full.contains(&true));
    let mut bytes = MAGIC.to_vec();
    let mut put = |number: u64| bytes.extend(number.to_le_bytes());
    [is_whole, u64::from(nodes.has_more_users), instructions].into_iter().for_each(&mut put);
    put(nodes.parents.len() as u64);
    bytes.extend(nodes.parents.iter().flat_map(|parent| parent.to_le_bytes()));
    bytes.extend(nodes.functions.iter().flat_map(|function| function.to_le_bytes()));
    bytes.extend_from_slice(&nodes.areas);
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
    put_spaces(&mut bytes, &shadow.spaces);
    bytes.extend((shadow.lives.all.len() as u64).to_le_bytes());
    for life in &shadow.lives.all {
        bytes.extend(u64::from(life.name).to_le_bytes());
    }
    bytes.extend_from_slice(&shadow.lives.intervals);
    bytes
}

fn put_spaces(bytes: &mut Vec<u8>, spaces: &Spaces) {
    let Spaces { functions, paths, mappings, .. } = spaces;
    let put = |bytes: &mut Vec<u8>, number: u64| bytes.extend(number.to_le_bytes());
    put(bytes, functions.len() as u64);
    for (program, address) in functions {
        put(bytes, u64::from(*program));
        put(bytes, *address);
    }
    put(bytes, paths.len() as u64);
    for path in paths {
        put(bytes, path.len() as u64);
        bytes.extend_from_slice(path);
    }
    put(bytes, mappings.len() as u64);
    for map in mappings {
        let (program, path) = (u64::from(map.program), u64::from(map.path));
        [program, path, map.start, map.end, map.offset].into_iter().for_each(|it| put(bytes, it));
    }
}
