//! A profile: counts by call stack, with names, of the run or of some of its responses.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::Area;
use crate::call_stacks::{CallStacks, Counts};
use crate::plan::Kind;
use crate::prices::Prices;
use crate::programs::USER_NAME;
use crate::reader::RecordingError;
use crate::recording::{LifeCounts, NO_FUNCTION, NodeCounts, ROOTS, Recording, USER};
use crate::records::{Event, FIRST_USER_FUNCTION, Mark};
use crate::responses::{Response, Responses};
use crate::symbols::{Symbols, UNKNOWN};
use crate::tasks::Tasks;

const KERNEL_NAME: &str = "[kernel]";
/// Functions in which a task loses its CPU without giving it up.
const PREEMPTING: [&str; 5] = [
    "__cond_resched",
    "preempt_schedule",
    "preempt_schedule_common",
    "preempt_schedule_irq",
    "preempt_schedule_notrace",
];

/// A profile of a run.
pub struct Profile {
    symbols: Symbols,
    recording: Recording,
    /// The names of functions of user code.
    user_names: Vec<String>,
    /// From their first use on.
    tasks: OnceCell<Tasks>,
    pub(crate) prices: Option<Prices>,
    /// When the run started, as a time of day.
    started_unix_ns: u64,
    /// The times at which the counts are cut.
    times_ns: Vec<u64>,
    /// The run's responses.
    pub responses: Responses,
}

/// Why there is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The plugin's file.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The plugin and the run disagree.
    #[error("the guest ended before the end of its run: {marks} of {times} times were reached")]
    EndedEarly {
        /// Times that were reached.
        marks: usize,
        /// All times.
        times: usize,
    },
}

/// A part of a run.
#[derive(Clone, Debug)]
pub enum Selection {
    /// From its start to its end.
    Run,
    /// From one time to another, in ns of the run.
    Between(u64, u64),
    /// During these responses; where they overlap, counted for each.
    Responses(Vec<Response>),
}

/// Where a kernel died.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Death {
    /// The kernel's own words.
    pub cause: String,
    /// The function that caused the exception it died of, if it was one.
    pub function: Option<String>,
    /// The functions that were executed last, the innermost first.
    pub stack: Vec<String>,
}

/// The instructions of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct AreaCounts {
    /// The area.
    pub area: Area,
    /// Its instructions.
    pub instructions: u64,
}

impl Profile {
    /// A profile of a run that started at a time of day, with what translations cost if that was
    /// simulated; `content` reads a guest's file by its path. Fails if the recording is damaged or
    /// does not reach the end of the run.
    pub fn new(
        mut recording: Recording,
        mut prices: Option<Prices>,
        symbols: Symbols,
        responses: Responses,
        started_unix_ns: u64,
        content: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, ProfileError> {
        let times_ns = responses.times_ns();
        let (marks, times) = (recording.marks.len(), times_ns.len());
        if marks != times {
            return Err(ProfileError::EndedEarly { marks, times });
        }
        let (user_names, tasks) = (recording.programs.names(content), OnceCell::new());
        let number = |function: u32| {
            let number = function.checked_sub(FIRST_USER_FUNCTION)? as usize;
            (number < user_names.len()).then_some(number)
        };
        // A function has another number in each process that begins its program.
        let mut first: HashMap<&str, u32> = HashMap::new();
        let ids = (FIRST_USER_FUNCTION..).zip(&user_names);
        let ids: Vec<u32> = ids.map(|(id, name)| *first.entry(name).or_insert(id)).collect();
        let merged = recording.merge(
            |function| number(function).map_or(function, |number| ids[number]),
            // Calls within a file without symbols.
            |caller, function| {
                caller == function
                    && number(function).is_some_and(|number| user_names[number].starts_with('['))
            },
        );
        prices.iter_mut().for_each(|prices| prices.renumber(&merged));
        Ok(Self {
            symbols,
            recording,
            user_names,
            tasks,
            prices,
            started_unix_ns,
            times_ns,
            responses,
        })
    }

    /// The counts of a part of the run.
    pub fn select(&self, selection: &Selection) -> Counts {
        let nodes = self.recording.nodes.len();
        let mut counts = Counts::none(nodes);
        for found in self.counts_of(selection) {
            counts.add(found.node, found.own, found.entries);
        }
        counts
    }

    /// The instructions of a part of the run.
    pub fn instructions_in(&self, selection: &Selection) -> u64 {
        self.counts_of(selection).map(|found| found.own).sum()
    }

    fn counts_of(&self, selection: &Selection) -> impl Iterator<Item = &NodeCounts> {
        self.intervals_of(selection).flat_map(|index| &self.recording.intervals[index])
    }

    /// What tasks executed in a part of the run.
    pub(crate) fn lives_of(&self, selection: &Selection) -> impl Iterator<Item = &LifeCounts> {
        self.intervals_of(selection).flat_map(|index| &self.recording.by_life[index])
    }

    /// The intervals of a part of the run; where responses overlap, several times.
    pub(crate) fn intervals_of(
        &self,
        selection: &Selection,
    ) -> impl Iterator<Item = usize> + use<> {
        // The interval with this index ends at the time with the same index; the last one, with the
        // death of the kernel.
        let index = |time_ns| match time_ns {
            u64::MAX => self.times_ns.len(),
            _ => self.times_ns.partition_point(|time| *time < time_ns),
        };
        let parts = match selection {
            Selection::Run if self.responses.death.is_some() => vec![(0, u64::MAX)],
            Selection::Run => vec![(0, self.responses.end_ns)],
            Selection::Between(from_ns, to_ns) => vec![(*from_ns, *to_ns)],
            Selection::Responses(responses) => {
                responses.iter().map(|response| (response.intended_ns, response.end_ns)).collect()
            }
        };
        let parts = parts.into_iter().map(|(from_ns, to_ns)| index(from_ns) + 1..=index(to_ns));
        parts.collect::<Vec<_>>().into_iter().flatten()
    }

    /// All instructions from the restored machine to the end of the emulator, of which the run is a
    /// part.
    pub fn instructions(&self) -> u64 {
        self.recording.instructions
    }

    /// The counts of the run's intervals, each with its end in ns of the run.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = (u64, &[NodeCounts])> {
        // The first one is before the run, and the last one after it.
        let intervals = self.recording.intervals.iter().skip(1).map(Vec::as_slice);
        self.times_ns.iter().copied().skip(1).zip(intervals)
    }

    pub(crate) fn started_unix_ns(&self) -> u64 {
        self.started_unix_ns
    }

    /// What the scheduler did, in order.
    pub(crate) fn events(&self) -> &[Event] {
        &self.recording.events
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        self.tasks.get_or_init(|| {
            let end_ns = self.virtual_ns(self.responses.end_ns);
            let gives_up = |node| self.path(node).all(|it| !PREEMPTING.contains(&self.name(it)));
            Tasks::of(&self.recording.events, end_ns, gives_up)
        })
    }

    /// Whether functions of user code were counted for their callers, because there are too many.
    pub fn has_more_users(&self) -> bool {
        self.recording.has_more_users
    }

    /// The number of the name of a task.
    pub(crate) fn name_of_life(&self, life: u32) -> Option<u32> {
        self.recording.lives[life as usize]
    }

    /// Pid and name of a task, by the number of its name.
    pub(crate) fn named(&self, number: u32) -> Option<&(u32, String)> {
        self.recording.names.get(number as usize)
    }

    /// The emulator's time at a time of the run.
    pub(crate) fn virtual_ns(&self, time_ns: u64) -> u64 {
        self.symbols.virtual_ns(self.started_unix_ns, time_ns)
    }

    /// The time of the run at a time of the emulator.
    pub(crate) fn run_ns(&self, virtual_ns: u64) -> u64 {
        self.symbols.run_ns(self.started_unix_ns, virtual_ns)
    }

    /// What executed at one of the times at which the counts are cut.
    pub(crate) fn mark(&self, time_ns: u64) -> Option<&Mark> {
        self.recording.marks.get(self.times_ns.binary_search(&time_ns).ok()?)
    }

    /// Where the kernel died: the call stack that was executed last, the innermost function first, and
    /// the function that the first exception in it interrupted. `None` for a kernel that lives.
    pub fn death(&self) -> Option<Death> {
        let cause = self.responses.death.clone()?;
        let nodes: Vec<u32> = self.path(self.recording.last).collect();
        let is_exception = |node: &u32| {
            let kind = self.symbols.kind(self.recording.nodes[*node as usize].function);
            kind == Some(Kind::Entry) && self.area(*node) == Area::Exception
        };
        let is_of_kernel = |node: u32| node >= ROOTS && self.area(node) != Area::User;
        let interrupted =
            nodes.windows(2).rfind(|pair| is_exception(&pair[0]) && is_of_kernel(pair[1]));
        Some(Death {
            cause,
            function: interrupted.map(|pair| self.name(pair[1]).to_owned()),
            stack: nodes.iter().map(|node| self.name(*node).to_owned()).collect(),
        })
    }

    /// The instructions of each area that has any.
    pub fn by_area(&self, counts: &Counts) -> Vec<AreaCounts> {
        let sum = |area| {
            let of_area = self.nodes().filter(|node| self.area(*node) == area);
            of_area.map(|node| counts.own[node as usize]).sum()
        };
        let all = Area::ALL.map(|area| AreaCounts { area, instructions: sum(area) });
        all.into_iter().filter(|counts| counts.instructions > 0).collect()
    }

    /// Completed responses at whose completion no user code executed, if the clocks of guest and
    /// emulator do not agree. A completion is a clock reading of the program that is timed, so with one
    /// virtual CPU there is none. Of several, the one that is noticed at a time may not be the one that
    /// executed, so only most completions decide, and never a single one.
    pub fn misplaced_completions(&self) -> Vec<u32> {
        let is_misplaced = |response: &&Response| {
            let mark = self.mark(response.end_ns);
            mark.is_none_or(|mark| mark.is_idle || self.area(mark.node) != Area::User)
        };
        let complete: Vec<&Response> =
            self.responses.all.iter().filter(|response| response.is_complete).collect();
        let misplaced = complete.iter().copied().filter(is_misplaced);
        let misplaced: Vec<u32> = misplaced.map(|response| response.index).collect();
        let recording = &self.recording;
        let cpus = recording.marks.iter().map(|mark| mark.cpu);
        let has_others = cpus.chain(recording.events.iter().map(|it| it.cpu)).any(|cpu| cpu > 0);
        let is_decided = misplaced.len() > 1 && 2 * misplaced.len() > complete.len();
        if has_others && !is_decided { Vec::new() } else { misplaced }
    }
}

impl CallStacks for Profile {
    fn nodes(&self) -> std::ops::Range<u32> {
        0..self.recording.nodes.len() as u32
    }

    fn name(&self, node: u32) -> &str {
        match (node, self.recording.nodes[node as usize].function) {
            (USER, _) => USER_NAME,
            (_, NO_FUNCTION) if node < ROOTS => KERNEL_NAME,
            (_, NO_FUNCTION) => UNKNOWN,
            (_, FIRST_USER_FUNCTION..) => {
                let number = self.recording.nodes[node as usize].function - FIRST_USER_FUNCTION;
                self.user_names.get(number as usize).map_or(USER_NAME, String::as_str)
            }
            (_, function) => self.symbols.name(function),
        }
    }

    fn area(&self, node: u32) -> Area {
        self.recording.nodes[node as usize].area
    }

    fn parent(&self, node: u32) -> Option<u32> {
        (node >= ROOTS).then(|| self.recording.nodes[node as usize].parent)
    }

    fn measures(&self) -> [(&'static str, &'static str); 2] {
        [("entries", "count"), ("instructions", "count")]
    }

    fn span_ns(&self) -> (u64, u64) {
        (self.started_unix_ns, self.responses.end_ns)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::recording::tests::written;

    const SYMBOLS: &str = "clock 1 1\nclock 2 2\nrealtime 0\n1000 T entry_SYSCALL_64\n\
                           2000 T vfs_read\n3000 t end_of_text\nend\n";

    pub(crate) fn profile() -> Profile {
        let recording = Recording::parse(&written()).unwrap();
        let symbols = Symbols::parse(SYMBOLS.as_bytes()).unwrap();
        let response =
            Response { index: 4, worker: 0, intended_ns: 0, end_ns: 80, is_complete: true };
        let responses = Responses { all: vec![response], end_ns: 200, ..Responses::default() };
        Profile::new(recording, None, symbols, responses, 0, &|_| None).unwrap()
    }

    #[test]
    fn a_run_is_counted_from_its_start_to_its_end() {
        let profile = profile();
        let counts = profile.select(&Selection::Run);
        assert_eq!((counts.total, profile.instructions()), (25, 300));
        let functions = profile.functions(&counts);
        let found: Vec<_> =
            functions.iter().map(|it| (it.name.as_str(), it.own, it.with_callees)).collect();
        let expected = [("[user]", 12, 25), ("vfs_read", 11, 11), ("entry_SYSCALL_64", 2, 13)];
        assert_eq!(found, expected);
        let areas: Vec<_> =
            profile.by_area(&counts).iter().map(|it| (it.area, it.instructions)).collect();
        assert_eq!(areas, [(Area::User, 12), (Area::SystemCall, 13)]);
        let text = "[user] 12\n[user];entry_SYSCALL_64 2\n[user];entry_SYSCALL_64;vfs_read 11\n";
        assert_eq!(crate::collapsed(&profile, &counts), text);
        let frames = crate::flame(&profile, &counts, 1);
        let frames: Vec<_> =
            frames.iter().map(|it| (it.depth, it.start, it.with_callees)).collect();
        assert_eq!(frames, [(0, 0, 25), (1, 0, 13), (2, 0, 11)]);
    }

    #[test]
    fn a_response_has_its_part_and_ends_in_its_program() {
        let profile = profile();
        let counts = profile.select(&Selection::Responses(profile.responses.all.clone()));
        assert_eq!(counts.total, 10);
        assert_eq!(profile.misplaced_completions(), [0; 0]);
    }

    #[test]
    fn with_several_cpus_most_completions_decide() {
        let mut profile = profile();
        profile.recording.events.clear();
        let at = |index, end_ns| Response {
            index,
            worker: 0,
            intended_ns: 0,
            end_ns,
            is_complete: true,
        };
        // At 200 ns a system call executes.
        profile.responses.all = vec![at(1, 80), at(2, 80), at(3, 200)];
        assert_eq!(profile.misplaced_completions(), [3]);
        profile.recording.marks[0].cpu = 1;
        assert_eq!(profile.misplaced_completions(), [0; 0]);
        profile.responses.all = vec![at(3, 200)];
        assert_eq!(profile.misplaced_completions(), [0; 0], "one decides nothing");
        profile.responses.all = vec![at(1, 80), at(3, 200), at(4, 200)];
        assert_eq!(profile.misplaced_completions(), [3, 4]);
    }

    #[test]
    fn a_kernel_that_died_is_counted_to_its_last_instruction() {
        let mut profile = profile();
        assert_eq!(profile.death(), None);
        profile.responses.death = Some("BUG".to_owned());
        let death = profile.death().unwrap();
        assert_eq!(death.stack, ["vfs_read", "entry_SYSCALL_64", "[user]"]);
        assert_eq!(death.function, None, "no exception");
        assert_eq!(profile.select(&Selection::Run).total, 300);
    }

    #[test]
    fn a_guest_that_ended_early_has_no_profile() {
        let recording = Recording::parse(&written()).unwrap();
        let symbols = Symbols::parse(SYMBOLS.as_bytes()).unwrap();
        let responses = Responses::default();
        let error = Profile::new(recording, None, symbols, responses, 0, &|_| None).err().unwrap();
        assert_eq!(error, ProfileError::EndedEarly { marks: 3, times: 1 });
    }
}
