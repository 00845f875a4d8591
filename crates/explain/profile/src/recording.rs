//! What the plugin wrote (`crates/explain/profile-plugin/src/file.rs` has the format).

use std::collections::HashMap;

use crate::Area;
use crate::programs::Programs;
use crate::reader::Reader;
use crate::reader::RecordingError;
use crate::reader::RecordingError::Unreadable;
use crate::records::{Event, Mapping, Mark, What};

const MAGIC: [u8; 8] = *b"tlprof\0\x03";
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
    /// What is where in programs.
    pub(crate) programs: Programs,
    /// Whether functions of user code were counted for their callers.
    pub(crate) has_more_users: bool,
    /// Index in `names` of the name of each task, if it has one; one entry per task.
    pub(crate) lives: Vec<Option<u32>>,
    /// What tasks executed in each interval.
    pub(crate) by_life: Vec<Vec<LifeCounts>>,
    /// The emulator's number of instructions.
    pub(crate) instructions: u64,
}

/// A path of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeRecord {
    pub(crate) parent: u32,
    pub(crate) function: u32,
    pub(crate) area: Area,
}

/// The instructions of a task in an interval, by area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LifeCounts {
    pub(crate) life: u32,
    pub(crate) areas: [u64; Area::ALL.len()],
}

/// The counts of a path in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeCounts {
    pub(crate) node: u32,
    pub(crate) own: u64,
    pub(crate) entries: u64,
}

impl Recording {
    /// Reads the plugin's file. Fails if anything is missing, or if the counts do not sum to the
    /// emulator's.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordingError> {
        let mut reader = Reader(bytes);
        if reader.take(8)? != MAGIC {
            return Err(Unreadable("it begins with other bytes"));
        }
        let is_whole = reader.word()? == 1;
        let has_more_users = reader.word()? == 1;
        let instructions = reader.word()?;
        let nodes = nodes(&mut reader)?;
        let marks = marks(&mut reader, nodes.len())?;
        let intervals = intervals(&mut reader, nodes.len())?;
        let names = names(&mut reader)?;
        let events = events(&mut reader, nodes.len(), names.len())?;
        let last = node(reader.word()?, nodes.len(), "the last call stack is none")?;
        let programs = programs(&mut reader)?;
        let lives = lives(&mut reader, names.len())?;
        let by_life = by_life(&mut reader, intervals.len(), lives.len())?;
        if !reader.0.is_empty() || intervals.len() != marks.len() + 1 {
            return Err(Unreadable("its intervals do not fit its marks"));
        }
        if !is_whole {
            return Err(RecordingError::TooLarge);
        }
        let counts = || intervals.iter().flatten();
        let of_nodes = sum(counts().map(|it| it.own))?;
        sum(counts().map(|it| it.entries))?;
        let of_lives = sum(by_life.iter().flatten().flat_map(|it| it.areas))?;
        if let Some(sum) = [of_nodes, of_lives].into_iter().find(|sum| *sum != instructions) {
            return Err(RecordingError::Sum { sum, executed: instructions });
        }
        Ok(Self {
            nodes,
            marks,
            intervals,
            names,
            events,
            last,
            programs,
            has_more_users,
            lives,
            by_life,
            instructions,
        })
    }
}

impl Recording {
    /// Gives each function the number of the one that stands for it. Call stacks that are the same then are
    /// one, and those for whose caller and function `is_part` holds are a part of their caller's, which
    /// counts as no entry. Returns what stands for each call stack.
    pub(crate) fn merge(
        &mut self,
        representative: impl Fn(u32) -> u32,
        is_part: impl Fn(u32, u32) -> bool,
    ) -> Vec<u32> {
        let mut merged: Vec<u32> = (0..ROOTS).collect();
        let mut parts = vec![false; ROOTS as usize];
        let mut known: HashMap<(u32, u32), u32> = HashMap::new();
        for index in ROOTS..self.nodes.len() as u32 {
            let parent = merged[self.nodes[index as usize].parent as usize];
            let caller = self.nodes[parent as usize].function;
            let node = &mut self.nodes[index as usize];
            (node.parent, node.function) = (parent, representative(node.function));
            let function = node.function;
            let is_part = parent >= ROOTS && is_part(caller, function);
            parts.push(is_part);
            merged.push(match is_part {
                true => parent,
                false => *known.entry((parent, function)).or_insert(index),
            });
        }
        let new = |node: &mut u32| *node = merged[*node as usize];
        for counts in self.intervals.iter_mut().flatten() {
            counts.entries *= u64::from(!parts[counts.node as usize]);
            new(&mut counts.node);
        }
        self.marks.iter_mut().for_each(|mark| new(&mut mark.node));
        self.events.iter_mut().for_each(|event| new(&mut event.node));
        new(&mut self.last);
        merged
    }
}

fn sum(counts: impl IntoIterator<Item = u64>) -> Result<u64, RecordingError> {
    let sum = counts.into_iter().try_fold(0_u64, u64::checked_add);
    sum.ok_or(Unreadable("its counts are too large"))
}

fn nodes(reader: &mut Reader<'_>) -> Result<Vec<NodeRecord>, RecordingError> {
    let count = reader.count(9)?;
    let (parents, functions) = (reader.take(4 * count)?, reader.take(4 * count)?);
    let areas = reader.take(count)?;
    let half = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
    let both = parents.as_chunks::<4>().0.iter().zip(functions.as_chunks::<4>().0).zip(areas);
    let nodes: Option<Vec<NodeRecord>> = both
        .map(|((parent, function), area)| {
            let (parent, function) = (half(parent), half(function));
            Some(NodeRecord { parent, function, area: Area::of_number(*area)? })
        })
        .collect();
    let nodes = nodes.ok_or(Unreadable("a call stack is in no area"))?;
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

/// A number of something, as a half word.
fn half(number: u64, wrong: &'static str) -> Result<u32, RecordingError> {
    u32::try_from(number).map_err(|_| Unreadable(wrong))
}

fn programs(reader: &mut Reader<'_>) -> Result<Programs, RecordingError> {
    let wrong = "a program has no such number";
    let mut programs = Programs::default();
    for _ in 0..reader.count(16)? {
        programs.functions.push((half(reader.word()?, wrong)?, reader.word()?));
    }
    for _ in 0..reader.count(8)? {
        let length = reader.count(1)?;
        programs.paths.push(String::from_utf8_lossy(reader.take(length)?).into_owned());
    }
    for _ in 0..reader.count(40)? {
        let (program, path) = (half(reader.word()?, wrong)?, half(reader.word()?, wrong)?);
        if path as usize >= programs.paths.len() {
            return Err(Unreadable("a mapping has no path"));
        }
        let (start, end, offset) = (reader.word()?, reader.word()?, reader.word()?);
        programs.mappings.push(Mapping { program, path, start, end, offset });
    }
    Ok(programs)
}

fn lives(reader: &mut Reader<'_>, names: usize) -> Result<Vec<Option<u32>>, RecordingError> {
    let mut lives = Vec::new();
    for _ in 0..reader.count(8)? {
        let wrong = "a task has no name of this number";
        lives.push(match half(reader.word()?, wrong)? {
            u32::MAX => None,
            name if (name as usize) < names => Some(name),
            _ => return Err(Unreadable(wrong)),
        });
    }
    Ok(lives)
}

fn by_life(
    reader: &mut Reader<'_>,
    intervals: usize,
    lives: usize,
) -> Result<Vec<Vec<LifeCounts>>, RecordingError> {
    let mut found = Vec::new();
    for _ in 0..intervals {
        let mut counts = Vec::new();
        let mut last = 0_u64;
        for _ in 0..reader.number()? {
            last = last.saturating_add(reader.number()?);
            let life = u32::try_from(last).ok().filter(|life| (*life as usize) < lives);
            let life = life.ok_or(Unreadable("an interval has no task of this number"))?;
            let mut areas = [0; Area::ALL.len()];
            for count in &mut areas {
                *count = reader.number()?;
            }
            counts.push(LifeCounts { life, areas });
        }
        found.push(counts);
    }
    Ok(found)
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
        let mut shadow = Shadow::new(3, vec![0, 80, 200], vec![Area::SystemCall.number(), 0]);
        let now = |instructions: u64, was_user| Now {
            instructions,
            time_ns: instructions << 3,
            was_user,
        };
        shadow.enter(0, now(12, true), 0, Kind::Entry);
        shadow.call(0, 0xffff_c900_0000_3f00, || now(14, false));
        shadow.enter(0, now(14, false), 1, Kind::Function);
        shadow.finish(0, now(300, false));
        shadow.cut();
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
    fn merged_call_stacks_keep_their_instructions() {
        let mut recording = Recording::parse(&written()).unwrap();
        recording.merge(|function| function, |caller, function| (caller, function) == (0, 1));
        let counts = |node, own, entries| NodeCounts { node, own, entries };
        assert_eq!(recording.intervals[2], [counts(USER, 2, 0), counts(2, 2, 1), counts(2, 11, 0)]);
        assert_eq!((recording.last, recording.events[0].node), (2, 2));
    }

    #[test]
    fn functions_of_one_name_have_one_call_stack() {
        let mut recording = Recording::parse(&written()).unwrap();
        let sibling = NodeRecord { function: 7, ..recording.nodes[2] };
        recording.nodes.push(sibling);
        recording.last = 4;
        recording.merge(|function| if function == 7 { 0 } else { function }, |_, _| false);
        assert_eq!(recording.last, 2);
    }

    #[test]
    fn a_sum_that_is_not_the_emulator_s_is_refused() {
        let mut bytes = written();
        bytes[24] += 1;
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
