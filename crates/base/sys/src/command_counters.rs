//! Counters of the CPU and the kernel for a program that a thread starts (`perf_event_open(2)`).
//!
//! A CPU counts a few events at a time. The kernel takes turns where more are wanted, and says for how long each
//! was enabled and for how long it was on the CPU: the count of the whole time is estimated from both. Events
//! that are divided by each other are a group, so that they are counted at the same times.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::perf::{Attributes, CACHE, HARDWARE, SOFTWARE, TLB_READ_MISSES, flags, open_in_group};

/// Total time enabled, and running.
const READ_FORMAT: u64 = 1 | 1 << 1;

/// An event that is counted.
struct Event {
    /// Its name; with [`USER_ONLY`] where the kernel's part may not be seen.
    names: [&'static str; 2],
    kind: u32,
    config: u64,
    /// Whether it begins a group, else it is in that of the event before it.
    is_leader: bool,
    /// Whether it happens in the kernel only.
    is_of_kernel: bool,
}

const fn hardware(names: [&'static str; 2], config: u64, is_leader: bool) -> Event {
    Event { names, kind: HARDWARE, config, is_leader, is_of_kernel: false }
}

/// Numbers as in `linux/perf_event.h`.
const EVENTS: [Event; 9] = [
    Event {
        names: ["task_clock_ns", "task_clock_ns"],
        kind: SOFTWARE,
        config: 1,
        is_leader: true,
        is_of_kernel: false,
    },
    Event {
        names: ["cpu_migrations", ""],
        kind: SOFTWARE,
        config: 4,
        is_leader: true,
        is_of_kernel: true,
    },
    hardware(["cycles", "user_cycles"], 0, true),
    hardware(["instructions", "user_instructions"], 1, false),
    hardware(["branches", "user_branches"], 4, true),
    hardware(["branch_misses", "user_branch_misses"], 5, false),
    hardware(["cache_references", "user_cache_references"], 2, true),
    hardware(["cache_misses", "user_cache_misses"], 3, false),
    Event {
        names: ["dtlb_load_misses", "user_dtlb_load_misses"],
        kind: CACHE,
        config: TLB_READ_MISSES,
        is_leader: true,
        is_of_kernel: false,
    },
];

/// The index of [`Event::names`] without the kernel's part.
const USER_ONLY: usize = 1;

/// Opens an event in the group of another one, or in its own.
type Open<'a> = dyn Fn(&Attributes, Option<BorrowedFd<'_>>) -> io::Result<OwnedFd> + 'a;

/// Counters of the next program that the thread which opened them starts, and of all that this starts.
///
/// They are for one program: the kernel may let it have the thread's own counters, which are enabled then and
/// not again at the next program.
#[derive(Debug)]
pub struct CommandCounters {
    counters: Vec<(&'static str, File)>,
    /// Why the first one of those that are missing is.
    refusal: Option<io::Error>,
    has_hardware: bool,
}

/// What a counter says at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its name: `instructions`, or `user_instructions` without the kernel's part.
    pub name: &'static str,
    /// So many while it was on a CPU.
    pub count: u64,
    /// For how long it should have been counted, in ns.
    pub enabled_ns: u64,
    /// For how long it was, in ns.
    pub running_ns: u64,
}

impl Reading {
    /// The count, estimated where other counters had their turn meanwhile, and the part of the time in which
    /// it was counted. `None` if it never was.
    pub fn estimate(&self) -> Option<(u64, f64)> {
        if self.running_ns == 0 {
            return None;
        }
        // The kernel reads both clocks at slightly different times.
        let enabled_ns = self.enabled_ns.max(self.running_ns);
        let estimate =
            u128::from(self.count) * u128::from(enabled_ns) / u128::from(self.running_ns);
        Some((u64::try_from(estimate).ok()?, self.running_ns as f64 / enabled_ns as f64))
    }
}

impl CommandCounters {
    /// Opens those that this CPU and kernel have, without the kernel's part where only that is permitted
    /// (`kernel.perf_event_paranoid` of 2). Fails, with the reason, if the CPU has none: the kernel's alone say
    /// little, and cost as much.
    pub fn open() -> io::Result<Self> {
        let opened = Self::open_by(&of_this_thread)?;
        match (opened.has_hardware, opened.refusal) {
            (false, Some(refusal)) => Err(refusal),
            (_, refusal) => Ok(Self { refusal, ..opened }),
        }
    }

    fn open_by(open: &Open<'_>) -> io::Result<Self> {
        match Self::open_as(open, 0) {
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
                Self::open_as(open, USER_ONLY)
            }
            other => other,
        }
    }

    /// Opens them with or without the kernel's part. Fails with the first reason if there is none.
    fn open_as(open: &Open<'_>, part: usize) -> io::Result<Self> {
        let (mut counters, mut refusal): (Vec<(&'static str, File)>, _) = (Vec::new(), None);
        let (mut leader, mut has_hardware): (Option<usize>, bool) = (None, false);
        for event in EVENTS.iter().filter(|event| part == 0 || !event.is_of_kernel) {
            let exclude = if part == USER_ONLY { flags::EXCLUDE_KERNEL } else { 0 };
            let attributes = Attributes {
                kind: event.kind,
                config: event.config,
                read_format: READ_FORMAT,
                flags: flags::DISABLED
                    | flags::ENABLE_ON_EXEC
                    | flags::INHERIT
                    | flags::EXCLUDE_HYPERVISOR
                    | exclude,
                ..Attributes::default()
            };
            let of_group = leader.filter(|_| !event.is_leader);
            let of_group = of_group.map(|index| counters[index].1.as_fd());
            match open(&attributes, of_group) {
                Ok(fd) => {
                    if of_group.is_none() {
                        leader = Some(counters.len());
                    }
                    has_hardware |= event.kind != SOFTWARE;
                    counters.push((event.names[part], File::from(fd)));
                }
                Err(error) if error.raw_os_error() == Some(libc::EACCES) => return Err(error),
                Err(error) => {
                    if event.is_leader {
                        leader = None;
                    }
                    refusal.get_or_insert(error);
                }
            }
        }
        match (counters.is_empty(), refusal) {
            (true, Some(error)) => Err(error),
            (_, refusal) => Ok(Self { counters, refusal, has_hardware }),
        }
    }

    /// What they say now, in the order of their events; one that cannot be read is absent.
    pub fn read(&self) -> Vec<Reading> {
        self.counters.iter().filter_map(|(name, file)| reading(name, file).ok()).collect()
    }
}

fn reading(name: &'static str, mut file: &File) -> io::Result<Reading> {
    let mut words = [0; 24];
    file.read_exact(&mut words)?;
    let mut words = words.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word));
    let mut next = || words.next().unwrap_or(0);
    Ok(Reading { name, count: next(), enabled_ns: next(), running_ns: next() })
}

/// Opens an event of the calling thread on any CPU.
fn of_this_thread(attributes: &Attributes, leader: Option<BorrowedFd<'_>>) -> io::Result<OwnedFd> {
    open_in_group(attributes, 0, -1, leader)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::Write;
    use std::process::Command;

    use super::*;

    #[test]
    fn turns_are_scaled_and_what_never_had_one_is_unknown() {
        let estimate = |count, enabled_ns, running_ns| {
            Reading { name: "cycles", count, enabled_ns, running_ns }.estimate()
        };
        assert_eq!(estimate(300, 1000, 1000), Some((300, 1.0)));
        assert_eq!(estimate(300, 1000, 250), Some((1200, 0.25)));
        assert_eq!(estimate(0, 1000, 0), None);
        assert_eq!(
            estimate(300, 999, 1000),
            Some((300, 1.0)),
            "clocks that were read one after the other"
        );
        assert_eq!(estimate(u64::MAX, u64::MAX, 1), None, "no number has room for it");
    }

    /// The requests to a kernel, with what it answered: an error, or three words to read.
    struct Recorded {
        answers: [Result<[u64; 3], i32>; EVENTS.len()],
        asked: RefCell<Vec<(u32, u64, bool, bool)>>,
    }

    impl Recorded {
        fn new(answers: [Result<[u64; 3], i32>; EVENTS.len()]) -> Self {
            Self { answers, asked: RefCell::default() }
        }

        /// The counters that this kernel opens.
        fn counters(&self) -> io::Result<CommandCounters> {
            CommandCounters::open_by(&|attributes, leader| self.open(attributes, leader))
        }

        fn open(
            &self,
            attributes: &Attributes,
            leader: Option<BorrowedFd<'_>>,
        ) -> io::Result<OwnedFd> {
            let is_event =
                |it: &Event| (it.kind, it.config) == (attributes.kind, attributes.config);
            let index = EVENTS.iter().position(is_event).unwrap();
            let is_user_only = attributes.flags & flags::EXCLUDE_KERNEL != 0;
            let asked = (attributes.kind, attributes.config, leader.is_some(), is_user_only);
            self.asked.borrow_mut().push(asked);
            let words = match self.answers[index] {
                Err(libc::EACCES) if is_user_only => [7, 1, 1],
                Err(code) => return Err(io::Error::from_raw_os_error(code)),
                Ok(words) => words,
            };
            let mut file = tempfile::tempfile()?;
            words.iter().try_for_each(|word| file.write_all(&word.to_ne_bytes()))?;
            std::io::Seek::rewind(&mut file)?;
            Ok(file.into())
        }
    }

    #[test]
    fn a_cpu_with_all_events_has_them_in_groups() {
        let recorded = Recorded::new([Ok([5, 9, 3]); EVENTS.len()]);
        let found = recorded.counters().unwrap();
        assert!(found.refusal.is_none() && found.has_hardware);
        let readings = found.read();
        let names: Vec<&str> = readings.iter().map(|it| it.name).collect();
        assert_eq!(names, EVENTS.each_ref().map(|event| event.names[0]));
        assert!(readings.iter().all(|it| (it.count, it.enabled_ns, it.running_ns) == (5, 9, 3)));
        let in_groups: Vec<bool> = recorded.asked.borrow().iter().map(|asked| asked.2).collect();
        assert_eq!(in_groups, EVENTS.each_ref().map(|event| !event.is_leader));
        assert_eq!(found.read(), [], "what cannot be read is absent");
    }

    #[test]
    fn without_a_leader_a_member_counts_alone_and_without_a_pmu_the_kernels_stay() {
        let mut answers = [Ok([5, 9, 9]); EVENTS.len()];
        // Cycles, as in many virtual machines.
        answers[2] = Err(libc::ENOENT);
        let recorded = Recorded::new(answers);
        let found = recorded.counters().unwrap();
        assert_eq!(found.read().len(), EVENTS.len() - 1);
        assert_eq!(found.refusal.unwrap().raw_os_error(), Some(libc::ENOENT));
        assert!(!recorded.asked.borrow()[3].2, "instructions have no leader");
        assert!(recorded.asked.borrow()[5].2, "branch misses have theirs");
        let mut answers = [Err(libc::ENOENT); EVENTS.len()];
        (answers[0], answers[1]) = (Ok([1, 1, 1]), Ok([2, 1, 1]));
        let recorded = Recorded::new(answers);
        let found = recorded.counters().unwrap();
        let names: Vec<&str> = found.read().iter().map(|it| it.name).collect();
        assert_eq!(names, ["task_clock_ns", "cpu_migrations"]);
        assert!(!found.has_hardware);
    }

    #[test]
    fn an_ordinary_user_has_the_part_of_programs_under_other_names() {
        let recorded = Recorded::new([Err(libc::EACCES); EVENTS.len()]);
        let found = recorded.counters().unwrap();
        let names: Vec<&str> = found.read().iter().map(|it| it.name).collect();
        assert_eq!(names[..3], ["task_clock_ns", "user_cycles", "user_instructions"]);
        assert!(!names.contains(&"") && names.len() == EVENTS.len() - 1, "no 0 for migrations");
        let nothing = Recorded::new([Err(libc::EPERM); EVENTS.len()]);
        let error = nothing.counters().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }

    #[test]
    fn what_a_program_starts_is_counted_and_this_process_is_not() {
        let clock = |counters: &CommandCounters| {
            counters.read().into_iter().find(|it| it.name == "task_clock_ns").unwrap()
        };
        let text = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'; :";
        for _ in 0..10 {
            let opened = CommandCounters::open_by(&of_this_thread);
            let Ok(counters) = opened else { return };
            let begun = std::time::Instant::now();
            while begun.elapsed().as_millis() < 20 {}
            assert_eq!(clock(&counters).count, 0, "no program was started");
            assert!(Command::new("sh").args(["-c", text]).status().unwrap().success());
            let (count, active) = clock(&counters).estimate().unwrap();
            assert!(count > 5_000_000 && active > 0.99, "{count} {active}");
        }
    }
}
