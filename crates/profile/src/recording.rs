//! What the plugin wrote (`crates/profile-plugin/src/file.rs` has the format).

use crate::records::{Event, Mark, What};

const MAGIC: [u8; 8] = *b"tlprof\0\x02";
/// The function of the roots, and of code without a symbol.
pub(crate) const NO_FUNCTION: u32 = u32::MAX;
/// The first nodes: user code, and kernel code that began before.
pub(crate) const USER: u32 = 0;
pub(crate) const ROOTS: u32 = 2;
/// A pid and a name of 16 bytes.
const NAME_RECORD_BYTES: usize = 20;

/// The counts of a guest, by call stack and interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    pub(crate) nodes: Vec<NodeRecord>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) intervals: Vec<Vec<NodeCounts>>,
    /// Pids and names of tasks.
    pub(crate) names: Vec<(u32, String)>,
    pub(crate) events: Vec<Event>,
    /// What was executed last.
    pub(crate) last: u32,
    /// The emulator's number of instructions.
    pub(crate) instructions: u64,
}

/// A path of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeRecord {
    pub(crate) parent: u32,
    pub(crate) function: u32,
}

/// The counts of a path in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeCounts {
    pub(crate) node: u32,
    pub(crate) own: u64,
    pub(crate) entries: u64,
}

/// Why there are no counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The plugin wrote nothing, or something else.
    #[error("the plugin's file is not one: {0}")]
    Unreadable(&'static str),
    /// The plugin reached its limits.
    #[error(
        "the run has more call stacks or intervals than the plugin keeps (8 million, 400 MB); \
         profile a shorter run"
    )]
    TooLarge,
    /// The counts do not add up.
    #[error("the counts sum to {sum} instructions, but the emulator executed {executed}")]
    Sum {
        /// The sum.
        sum: u64,
        /// The emulator's count.
        executed: u64,
    },
}

use RecordingError::Unreadable;

impl Recording {
    /// Reads the plugin's file. Fails if anything is missing, or if the counts do not sum to the
    /// emulator's.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordingError> {
        let mut reader = Reader(bytes);
        if reader.take(8)? != MAGIC {
            return Err(Unreadable("it begins with other bytes"));
        }
        let is_whole = reader.word()? == 1;
        let instructions = reader.word()?;
        let nodes = nodes(&mut reader)?;
        let marks = marks(&mut reader, nodes.len())?;
        let intervals = intervals(&mut reader, nodes.len())?;
        let names = names(&mut reader)?;
        let events = events(&mut reader, nodes.len(), names.len())?;
        let last = node(reader.word()?, nodes.len(), "the last call stack is none")?;
        if !reader.0.is_empty() || intervals.len() != marks.len() + 1 {
            return Err(Unreadable("its intervals do not fit its marks"));
        }
        if !is_whole {
            return Err(RecordingError::TooLarge);
        }
        let sum = |count: fn(&NodeCounts) -> u64| {
            let sum =
                intervals.iter().flatten().try_fold(0_u64, |sum, it| sum.checked_add(count(it)));
            sum.ok_or(Unreadable("its counts are too large"))
        };
        let (sum, _) = (sum(|counts| counts.own)?, sum(|counts| counts.entries)?);
        if sum != instructions {
            return Err(RecordingError::Sum { sum, executed: instructions });
        }
        Ok(Self { nodes, marks, intervals, names, events, last, instructions })
    }
}

fn nodes(reader: &mut Reader<'_>) -> Result<Vec<NodeRecord>, RecordingError> {
    let count = reader.count(8)?;
    let (parents, functions) = (reader.take(4 * count)?, reader.take(4 * count)?);
    let half = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
    let both = parents.as_chunks::<4>().0.iter().zip(functions.as_chunks::<4>().0);
    let nodes: Vec<NodeRecord> = both
        .map(|(parent, function)| NodeRecord { parent: half(parent), function: half(function) })
        .collect();
    let is_below = |(number, node): (u32, &NodeRecord)| match number < ROOTS {
        true => node.parent == number && node.function == NO_FUNCTION,
        false => node.parent < number,
    };
    match nodes.len() >= ROOTS as usize && (0..).zip(&nodes).all(is_below) {
        true => Ok(nodes),
        false => Err(Unreadable("its call stacks are not a tree")),
    }
}

/// The number of a call stack, of so many.
fn node(number: u64, nodes: usize, wrong: &'static str) -> Result<u32, RecordingError> {
    let number = u32::try_from(number).ok().filter(|number| (*number as usize) < nodes);
    number.ok_or(Unreadable(wrong))
}

fn marks(reader: &mut Reader<'_>, nodes: usize) -> Result<Vec<Mark>, RecordingError> {
    let mut marks = Vec::new();
    for _ in 0..reader.count(32)? {
        let (instructions, node, is_idle) = (reader.word()?, reader.word()?, reader.word()? != 0);
        let cpu = u32::try_from(reader.word()?).map_err(|_| Unreadable("a mark is on no CPU"))?;
        let node = self::node(node, nodes, "a mark is at no call stack")?;
        marks.push(Mark { instructions, node, is_idle, cpu });
    }
    Ok(marks)
}

fn intervals(
    reader: &mut Reader<'_>,
    nodes: usize,
) -> Result<Vec<Vec<NodeCounts>>, RecordingError> {
    let mut intervals = Vec::new();
    for _ in 0..reader.count(1)? {
        let mut counts = Vec::new();
        let mut last = 0_u64;
        for _ in 0..reader.number()? {
            let distance = reader.number()?;
            last = last.saturating_add(distance);
            let node = u32::try_from(last).ok().filter(|node| (*node as usize) < nodes);
            let node = node.filter(|_| distance > 0 || counts.is_empty());
            let node = node.ok_or(Unreadable("an interval has no call stack of this number"))?;
            counts.push(NodeCounts { node, own: reader.number()?, entries: reader.number()? });
        }
        intervals.push(counts);
    }
    Ok(intervals)
}

fn names(reader: &mut Reader<'_>) -> Result<Vec<(u32, String)>, RecordingError> {
    let count = reader.count(NAME_RECORD_BYTES)?;
    let (records, _) = reader.take(NAME_RECORD_BYTES * count)?.as_chunks::<NAME_RECORD_BYTES>();
    let name = |record: &[u8; NAME_RECORD_BYTES]| {
        let (pid, name) = record.split_first_chunk().unwrap_or((&[0; 4], &[]));
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        (u32::from_le_bytes(*pid), String::from_utf8_lossy(&name[..end]).into_owned())
    };
    Ok(records.iter().map(name).collect())
}

fn events(
    reader: &mut Reader<'_>,
    nodes: usize,
    names: usize,
) -> Result<Vec<Event>, RecordingError> {
    let mut events = Vec::new();
    for _ in 0..reader.count(48)? {
        let (time_ns, place, task) = (reader.word()?, reader.word()?, reader.word()?);
        let (next, state, name) = (reader.word()?, reader.word()?, reader.word()?);
        let (cpu, node) = ((place >> 32) as u32, place as u32);
        let what = match u32::try_from(name) {
            Ok(u32::MAX) => What::Wake,
            Ok(name) if (name as usize) < names => What::Switch { next, state, name },
            _ => return Err(Unreadable("an event has a task without a name")),
        };
        let node = self::node(u64::from(node), nodes, "an event is at no call stack")?;
        events.push(Event { time_ns, cpu, node, task, what });
    }
    Ok(events)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], RecordingError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Unreadable("it ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u64, RecordingError> {
        let (word, rest) = self.0.split_first_chunk().ok_or(Unreadable("it ends early"))?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*word))
    }

    /// A number of things of at least so many bytes, all of which are still to come.
    fn count(&mut self, bytes: usize) -> Result<usize, RecordingError> {
        let count = usize::try_from(self.word()?).ok();
        count
            .filter(|count| count.checked_mul(bytes).is_some_and(|size| size <= self.0.len()))
            .ok_or(Unreadable("it ends early"))
    }

    /// Seven bits at a time, the low ones first.
    fn number(&mut self) -> Result<u64, RecordingError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Unreadable("a number is too long"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::Kind;
    use crate::scheduler::{Scheduler, TaskName};
    use crate::shadow::{Now, Shadow};

    /// A file of the plugin: user code, a system call that calls a function, times at 0, 80 and 200 ns.
    pub(crate) fn written() -> Vec<u8> {
        let mut shadow = Shadow::new(3, vec![0, 80, 200]);
        let now = |instructions: u64, was_user| Now {
            instructions,
            time_ns: instructions << 3,
            was_user,
        };
        shadow.enter(0, now(12, true), 0, Kind::Entry);
        shadow.call(0, 0xffff_c900_0000_3f00, || now(14, false));
        shadow.enter(0, now(14, false), 1, Kind::Function);
        shadow.finish(0, now(300, false));
        shadow.nodes.cut();
        crate::file::encode(&shadow, &scheduled(shadow.node(0)), 300)
    }

    fn scheduled(node: u32) -> Scheduler {
        let mut scheduled = Scheduler::default();
        let mut name = [0; 16];
        name[..4].copy_from_slice(b"swap");
        let name = scheduled.number(TaskName { pid: 7, name });
        for (time_ns, what) in [(100, What::Switch { next: 32, state: 1, name }), (150, What::Wake)]
        {
            scheduled.record(Event { time_ns, cpu: 1, node, task: 16, what });
        }
        scheduled
    }

    #[test]
    fn what_the_plugin_writes_is_read() {
        let recording = Recording::parse(&written()).unwrap();
        let counts = |node, own, entries| NodeCounts { node, own, entries };
        assert_eq!(
            recording.intervals,
            [
                vec![],
                vec![counts(USER, 10, 0)],
                vec![counts(USER, 2, 0), counts(2, 2, 1), counts(3, 11, 1)],
                vec![counts(3, 275, 0)],
            ]
        );
        let paths: Vec<(u32, u32)> =
            recording.nodes[2..].iter().map(|node| (node.parent, node.function)).collect();
        assert_eq!(paths, [(USER, 0), (2, 1)]);
        let marks: Vec<u64> = recording.marks.iter().map(|mark| mark.instructions).collect();
        assert_eq!(marks, [0, 10, 25]);
        assert_eq!(recording.names, [(7, "swap".to_owned())]);
        let event = |time_ns, what| Event { time_ns, cpu: 1, node: 3, task: 16, what };
        let switch = What::Switch { next: 32, state: 1, name: 0 };
        assert_eq!(recording.events, [event(100, switch), event(150, What::Wake)]);
        assert_eq!(recording.last, 3);
    }

    #[test]
    fn a_sum_that_is_not_the_emulator_s_is_refused() {
        let mut bytes = written();
        bytes[16] += 1;
        let error = Recording::parse(&bytes).unwrap_err();
        assert_eq!(error, RecordingError::Sum { sum: 300, executed: 301 });
        let mut bytes = written();
        bytes[8] = 0;
        assert_eq!(Recording::parse(&bytes), Err(RecordingError::TooLarge));
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused() {
        let bytes = written();
        for length in 0..bytes.len() {
            assert!(Recording::parse(&bytes[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_read_or_refused(at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = written();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = Recording::parse(&bytes);
        }
    }
}
