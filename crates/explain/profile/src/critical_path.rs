//! The critical path of a response: what had to happen before it was complete, back to its start.
//!
//! The task that completes it executed, was ready to execute, or waited. Where it waited, the path
//! continues with the task that woke it up, for the time of the waiting, and so on. So the segments of the
//! path are the response's delay without gaps (Yang and Miller, "Critical path analysis for the execution
//! of parallel and distributed programs", 1988).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::Area;
use crate::CallStacks;
use crate::profile::Profile;
use crate::responses::Response;
use crate::tasks::{State, Woken};

/// Tasks that wait for tasks that wait, at most.
const MOST_DEPTH: u32 = 64;

/// The critical path of a response: of a guest through all tasks that were waited for, on a real machine
/// what the task itself did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// The response.
    pub response: Response,
    /// Its segments, in order, without gaps from its intended start to its end.
    pub segments: Vec<Segment>,
}

/// A part of a critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Its start, in ns of the run.
    pub from_ns: u64,
    /// Its end, in ns of the run.
    pub to_ns: u64,
    /// The name of the task.
    pub task: String,
    /// What it does.
    pub doing: Doing,
    /// For a task that waits, the functions in which it does, the innermost first. For one that is
    /// ready, the task that executes instead for most of the time.
    pub whereabouts: Vec<String>,
    /// For a task that waits, the function that ended it, in an interrupt; nothing if that is unknown.
    pub ended_by: Option<String>,
}

/// What a task of a critical path does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doing {
    /// It executes.
    Executes,
    /// It could, but its CPU executes others.
    WaitsForCpu,
    /// It waits for something else.
    Waits,
}

impl Segment {
    /// Its length, in ns.
    pub fn length_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// A segment in the emulator's time.
struct Part {
    from_ns: u64,
    to_ns: u64,
    task: u64,
    state: State,
}

impl Profile {
    /// The critical path of a response; `None` where the guest's tasks are not known.
    pub fn critical_path(&self, response: &Response) -> Option<CriticalPath> {
        let task = self.timed_task(response.worker)?;
        let [from_ns, to_ns] =
            [response.intended_ns, response.end_ns].map(|time_ns| self.virtual_ns(time_ns));
        let mut parts = Vec::new();
        self.follow(task, from_ns, to_ns, 0, &mut parts);
        // From the last one to the first one until now.
        parts.reverse();
        let mut at_ns = response.intended_ns;
        let segments = parts.iter().map(|part| {
            let from_ns = at_ns;
            at_ns = match part.to_ns == to_ns {
                true => response.end_ns,
                false => self.run_ns(part.to_ns).clamp(from_ns, response.end_ns),
            };
            self.segment(part, from_ns, at_ns)
        });
        Some(CriticalPath { response: *response, segments: segments.collect() })
    }

    /// The task that is timed, of a worker: the one that executes at most of its completions.
    fn timed_task(&self, worker: u32) -> Option<u64> {
        let mut found: HashMap<u64, u32> = HashMap::new();
        let complete = self.responses.complete();
        for response in complete.iter().filter(|response| response.worker == worker) {
            let mark = self.mark(response.end_ns)?;
            let task = self.tasks().on_cpu(mark.cpu, self.virtual_ns(response.end_ns));
            *found.entry(task?).or_default() += 1;
        }
        found.into_iter().max_by_key(|(task, count)| (*count, *task)).map(|(task, _)| task)
    }

    /// Adds what a task did in an interval, and where it waited what its waker did, from the end to the
    /// start.
    fn follow(&self, task: u64, from_ns: u64, to_ns: u64, depth: u32, parts: &mut Vec<Part>) {
        let mut end_ns = to_ns;
        while end_ns > from_ns {
            let span = self.tasks().before(task, end_ns);
            let (begin_ns, state) = match span {
                Some(span) => (span.from_ns.max(from_ns), span.state),
                None => (from_ns, State::Waits { node: None, woken: None }),
            };
            match state {
                // The rest of the waiting is after it was woken up.
                State::Waits { woken: Some(Woken { by: Some(by), node }), .. }
                    if by != task && depth < MOST_DEPTH && self.is_for_task(node) =>
                {
                    self.follow(by, begin_ns, end_ns, depth + 1, parts);
                }
                _ => parts.push(Part { from_ns: begin_ns, to_ns: end_ns, task, state }),
            }
            end_ns = begin_ns;
        }
    }

    /// Whether a call stack belongs to the task that executes, and not to an interrupt.
    fn is_for_task(&self, node: u32) -> bool {
        !matches!(self.area(node), Area::Interrupt | Area::Softirq | Area::Idle)
    }

    fn segment(&self, part: &Part, from_ns: u64, to_ns: u64) -> Segment {
        let (doing, whereabouts, ended_by) = match part.state {
            State::Executes { .. } => (Doing::Executes, Vec::new(), None),
            State::Ready { cpu } => {
                let instead = self.tasks().mostly_on(cpu, part.from_ns, part.to_ns);
                let name = instead.map(|task| self.task_name(task, part.from_ns));
                (Doing::WaitsForCpu, name.into_iter().collect(), None)
            }
            State::Waits { node, woken } => {
                let ended_by = woken.map(|woken| self.ending(woken.node));
                (Doing::Waits, node.map(|node| self.waits_in(node)).unwrap_or_default(), ended_by)
            }
        };
        let task = self.task_name(part.task, part.to_ns);
        Segment { from_ns, to_ns, task, doing, whereabouts, ended_by }
    }

    /// The first function of an interrupt that says what it is for.
    fn ending(&self, node: u32) -> String {
        let names: Vec<&str> = self.path(node).map(|node| self.name(node)).collect();
        let is_general = |name: &&&str| {
            name.contains("wake_up") || name.contains("wakeup") || name.starts_with("autoremove_")
        };
        let telling = names.iter().find(|name| !is_general(name));
        telling.or(names.first()).map_or_else(String::new, |name| (*name).to_owned())
    }

    pub(crate) fn task_name(&self, task: u64, at_ns: u64) -> String {
        match self.task(task, at_ns) {
            (None | Some(0), name) => name,
            (Some(pid), name) => format!("{name} ({pid})"),
        }
    }

    /// The number of a task, if known, and its name, which is its address if unknown.
    pub(crate) fn task(&self, task: u64, at_ns: u64) -> (Option<u32>, String) {
        match self.tasks().name(task, at_ns).and_then(|number| self.named(number)) {
            Some((pid, name)) if !name.is_empty() => (Some(*pid), name.clone()),
            _ => (None, format!("task {task:x}")),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::recording::{NO_FUNCTION, NodeRecord, Recording};
    use crate::records::Mark;
    use crate::tasks::tests::events;
    use crate::{Area, Responses, Symbols};

    const SYMBOLS: &str = "clock 1 1\nclock 2 2\nrealtime 0\n1000 T entry_SYSCALL_64\n\
                           2000 T vfs_read\n3000 t schedule\n4000 T __switch_to_asm\n\
                           5000 T asm_sysvec_apic_timer_interrupt\n6000 T complete\n\
                           7000 T end_of_text\nend\n";

    /// The program that is timed reads from 50 to 380 ns.
    pub(crate) fn profile() -> Profile {
        let node = |(parent, function)| {
            let area = if function == 4 { Area::Interrupt } else { Area::Thread };
            NodeRecord { parent, function, area }
        };
        let nodes = [(0, NO_FUNCTION), (1, NO_FUNCTION), (0, 0), (2, 1), (3, 2), (4, 3), (1, 4)];
        let nodes = nodes.into_iter().chain([(1, 3), (1, 5)]).map(node).collect();
        let mark = Mark { instructions: 0, node: 0, is_idle: false, cpu: 0 };
        let recording = Recording {
            nodes,
            marks: vec![mark; 4],
            intervals: vec![Vec::new(); 5],
            names: [(7, "reader"), (0, "swapper/0"), (8, "flush")]
                .map(|(pid, name)| (pid, name.to_owned()))
                .to_vec(),
            events: events(),
            by_life: vec![Vec::new(); 5],
            ..Recording::default()
        };
        let symbols = Symbols::parse(SYMBOLS.as_bytes()).unwrap();
        let response =
            Response { index: 1, worker: 0, intended_ns: 50, end_ns: 380, is_complete: true };
        let responses = Responses { all: vec![response], end_ns: 500, ..Responses::default() };
        Profile::new(recording, None, symbols, responses, 0, &|_| None).unwrap()
    }

    #[test]
    fn a_path_goes_through_those_who_were_waited_for() {
        let profile = profile();
        let path = profile.critical_path(&profile.responses.all[0]).unwrap();
        let found: Vec<_> = path
            .segments
            .iter()
            .map(|it| (it.from_ns, it.to_ns, it.task.as_str(), it.doing, it.whereabouts.join(" ")))
            .collect();
        let (executes, ready) = (Doing::Executes, Doing::WaitsForCpu);
        let (reader, flush) = ("reader (7)", "flush (8)");
        let at = |text: &str| text.to_owned();
        assert_eq!(
            found,
            [
                (50, 100, reader, executes, at("")),
                (100, 150, flush, Doing::Waits, at("")),
                (150, 170, flush, ready, at("swapper/0")),
                (170, 200, flush, executes, at("")),
                (200, 230, flush, ready, at("swapper/0")),
                (230, 260, flush, executes, at("")),
                (260, 300, reader, ready, at(flush)),
                (300, 380, reader, executes, at("")),
            ]
        );
        let ended_by = path.segments[1].ended_by.as_deref();
        assert_eq!(ended_by, Some("asm_sysvec_apic_timer_interrupt"));
        let sum: u64 = path.segments.iter().map(Segment::length_ns).sum();
        assert_eq!(sum, path.response.delay_ns());
    }

    #[test]
    fn without_events_there_is_no_path() {
        let mut profile = profile();
        profile.responses.all[0].is_complete = false;
        assert!(profile.critical_path(&profile.responses.all[0]).is_none());
    }
}
