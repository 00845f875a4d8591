//! What one thread did, and which threads the CPUs executed meanwhile, from records of switches.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use linux_perf_event_reader::{
    ContextSwitchRecord, EventRecord, RawEventRecord, SampleRecord, TaskWasPreempted,
};
use profile::{Doing, Segment};

use crate::watched::kernel_addresses;

/// What the thread did from a time on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    OnCpu {
        cpu: Option<i32>,
    },
    /// It has left its CPU, with the kernel's addresses at which it did, the innermost first.
    Off {
        could_run: bool,
        stack: Vec<u64>,
    },
}

/// The states of a thread, and the threads on CPUs.
pub(crate) struct Timeline {
    thread: i32,
    /// States from a time on, in order.
    states: VecDeque<(u64, State)>,
    /// The call stack at which the thread is about to leave its CPU.
    leaving: Vec<u64>,
    /// Threads on each CPU, from a time on.
    cpus: HashMap<i32, VecDeque<(u64, i32)>>,
    names: HashMap<i32, Arc<str>>,
    /// The time of the last record of each CPU.
    recorded_ns: HashMap<i32, u64>,
    /// Times from which to which records of a CPU were lost.
    gaps: VecDeque<(u64, u64)>,
    /// Names of threads that no record names.
    read_name: fn(i32) -> Option<String>,
}

impl Timeline {
    /// Nothing yet about a thread. `read_name` reads the name of a thread that was there before.
    pub(crate) fn of(thread: i32, read_name: fn(i32) -> Option<String>) -> Self {
        Self {
            thread,
            states: VecDeque::new(),
            leaving: Vec::new(),
            cpus: HashMap::new(),
            names: HashMap::new(),
            recorded_ns: HashMap::new(),
            gaps: VecDeque::new(),
            read_name,
        }
    }

    /// The thread sleeps at a time, before its first record.
    pub(crate) fn sleeps(&mut self, at_ns: u64) {
        self.states.push_back((at_ns, State::Off { could_run: false, stack: Vec::new() }));
    }

    /// Takes the next record.
    pub(crate) fn take(&mut self, time_ns: u64, raw: &RawEventRecord<'_>) {
        let Ok(common) = raw.common_data() else { return };
        let cpu = common.cpu.map(u32::cast_signed);
        let before_ns = cpu.and_then(|cpu| self.recorded_ns.insert(cpu, time_ns));
        match raw.parse() {
            Ok(EventRecord::Lost(_)) => self.gaps.push_back((before_ns.unwrap_or(0), time_ns)),
            Ok(EventRecord::Sample(sample)) => self.leaves_at(&sample),
            Ok(EventRecord::Comm(it)) => {
                let name = String::from_utf8_lossy(&it.name.as_slice()).into();
                self.names.insert(it.tid, name);
            }
            Ok(EventRecord::Fork(it)) => {
                if let Some(name) = self.names.get(&it.ptid).cloned() {
                    self.names.insert(it.tid, name);
                }
            }
            Ok(EventRecord::ContextSwitch(switch)) => {
                if let Some(tid) = common.tid {
                    self.switch(time_ns, tid, cpu, switch);
                }
            }
            _ => {}
        }
    }

    fn leaves_at(&mut self, sample: &SampleRecord<'_>) {
        if sample.tid == Some(self.thread) {
            self.leaving = kernel_addresses(sample);
        }
    }

    fn switch(&mut self, time_ns: u64, tid: i32, cpu: Option<i32>, switch: ContextSwitchRecord) {
        // A thread that has ended when it is named has no name any more.
        self.name(tid);
        let state = match switch {
            ContextSwitchRecord::In { .. } => {
                if let Some(cpu) = cpu {
                    self.cpus.entry(cpu).or_default().push_back((time_ns, tid));
                }
                State::OnCpu { cpu }
            }
            ContextSwitchRecord::Out { preempted, .. } => State::Off {
                could_run: preempted == TaskWasPreempted::Yes,
                stack: match tid == self.thread {
                    true => std::mem::take(&mut self.leaving),
                    false => Vec::new(),
                },
            },
        };
        if tid == self.thread {
            self.states.push_back((time_ns, state));
        }
    }

    /// Forgets what was over before a time.
    pub(crate) fn forget_before(&mut self, at_ns: u64) {
        while self.states.get(1).is_some_and(|(from_ns, _)| *from_ns <= at_ns) {
            self.states.pop_front();
        }
        self.gaps.retain(|(_, to_ns)| *to_ns > at_ns);
        for threads in self.cpus.values_mut() {
            while threads.get(1).is_some_and(|(from_ns, _)| *from_ns <= at_ns) {
                threads.pop_front();
            }
        }
    }

    /// What the thread did in an interval, without gaps; `None` if that is not known from its beginning on,
    /// or if records of it were lost.
    /// With `is_due` a thread that sleeps at its beginning sleeps until then, and could run from then on.
    pub(crate) fn segments(
        &mut self,
        from_ns: u64,
        to_ns: u64,
        is_due: bool,
        function: &dyn Fn(u64) -> String,
    ) -> Option<Vec<Segment>> {
        if self.gaps.iter().any(|gap| gap.0 < to_ns && gap.1 > from_ns) {
            return None;
        }
        let first = self.states.partition_point(|(at_ns, _)| *at_ns <= from_ns).checked_sub(1)?;
        // Names are read meanwhile, which changes the rest of this.
        let states = std::mem::take(&mut self.states);
        let mut segments = Vec::new();
        for (index, (begin_ns, state)) in states.iter().enumerate().skip(first) {
            let next = states.get(index + 1);
            let begin_ns = (*begin_ns).max(from_ns);
            let end_ns = next.map_or(to_ns, |(at_ns, _)| to_ns.min(*at_ns));
            if begin_ns >= to_ns {
                break;
            }
            if begin_ns == end_ns {
                continue;
            }
            let is_woken = is_due && index == first;
            let (doing, whereabouts) = match state {
                State::OnCpu { .. } => (Doing::Executes, Vec::new()),
                State::Off { could_run: false, stack } if !is_woken => {
                    (Doing::Waits, stack.iter().map(|address| function(*address)).collect())
                }
                State::Off { .. } => {
                    let cpu = match next {
                        Some((_, State::OnCpu { cpu })) => *cpu,
                        _ => None,
                    };
                    let instead = cpu.and_then(|cpu| self.mostly_on(cpu, begin_ns, end_ns));
                    let name = instead.map(|thread| self.name(thread));
                    (Doing::WaitsForCpu, name.into_iter().collect())
                }
            };
            let task = self.name(self.thread);
            let (from_ns, to_ns) = (begin_ns, end_ns);
            segments.push(Segment { from_ns, to_ns, task, doing, whereabouts, ended_by: None });
        }
        self.states = states;
        Some(segments)
    }

    /// The thread that a CPU executes for the longest part of an interval.
    fn mostly_on(&self, cpu: i32, from_ns: u64, to_ns: u64) -> Option<i32> {
        let threads = self.cpus.get(&cpu)?;
        let first = threads.partition_point(|(at_ns, _)| *at_ns <= from_ns).saturating_sub(1);
        let mut executed: BTreeMap<i32, u64> = BTreeMap::new();
        let ends = threads.iter().skip(first + 1).map(|it| it.0).chain([u64::MAX]);
        for ((begin_ns, thread), end_ns) in threads.iter().skip(first).zip(ends) {
            let (begin_ns, end_ns) = ((*begin_ns).max(from_ns), end_ns.min(to_ns));
            // The thread itself comes after its waiting; clocks of CPUs differ a little.
            if begin_ns < end_ns && *thread != self.thread {
                *executed.entry(*thread).or_default() += end_ns - begin_ns;
            }
        }
        executed.into_iter().max_by_key(|(_, ns)| *ns).map(|(thread, _)| thread)
    }

    fn name(&mut self, thread: i32) -> String {
        if thread == 0 {
            return "idle".to_owned();
        }
        let read = self.read_name;
        let name = self.names.entry(thread).or_insert_with(|| {
            read(thread).map_or_else(|| "thread".into(), |name| name.as_str().into())
        });
        format!("{name} ({thread})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline() -> Timeline {
        let mut timeline = Timeline::of(7, |thread| (thread == 9).then(|| "load".to_owned()));
        timeline.sleeps(45);
        let enters = || ContextSwitchRecord::In { prev_pid: None, prev_tid: None };
        let leaves = |preempted| ContextSwitchRecord::Out {
            next_pid: None,
            next_tid: None,
            preempted: if preempted { TaskWasPreempted::Yes } else { TaskWasPreempted::No },
        };
        timeline.names.insert(7, "probe".into());
        // It sleeps until 100, and the load has the CPU until 140.
        timeline.switch(50, 7, Some(1), leaves(false));
        timeline.switch(50, 9, Some(1), enters());
        timeline.switch(140, 7, Some(1), enters());
        timeline.leaving = vec![1, 2];
        timeline.switch(160, 7, Some(1), leaves(false));
        timeline.switch(160, 0, Some(1), enters());
        timeline.switch(220, 7, Some(0), enters());
        timeline.switch(230, 7, Some(0), leaves(true));
        timeline.switch(230, 12, Some(0), enters());
        timeline.switch(250, 9, Some(0), enters());
        timeline.switch(300, 7, Some(0), enters());
        timeline
    }

    #[test]
    fn a_response_is_divided_without_gaps() {
        let mut timeline = timeline();
        let function = |address: u64| format!("f{address}");
        let segments = timeline.segments(100, 310, true, &function).unwrap();
        let found: Vec<_> = segments
            .iter()
            .map(|it| (it.from_ns, it.to_ns, it.doing, it.whereabouts.join(" ")))
            .collect();
        let at = |text: &str| text.to_owned();
        let expected = [
            (100, 140, Doing::WaitsForCpu, at("load (9)")),
            (140, 160, Doing::Executes, at("")),
            (160, 220, Doing::Waits, at("f1 f2")),
            (220, 230, Doing::Executes, at("")),
            (230, 300, Doing::WaitsForCpu, at("load (9)")),
            (300, 310, Doing::Executes, at("")),
        ];
        assert_eq!(found, expected);
        assert!(segments.iter().all(|it| it.task == "probe (7)"));
        // Its previous response was under way.
        let late = timeline.segments(100, 310, false, &function).unwrap();
        assert_eq!(late[0].doing, Doing::Waits);
        assert_eq!(timeline.segments(40, 310, false, &function), None, "it is not known before");
        timeline.gaps.push_back((20, 99));
        assert!(timeline.segments(100, 310, true, &function).is_some());
        timeline.gaps.push_back((150, 155));
        assert_eq!(timeline.segments(100, 310, true, &function), None, "records were lost");
    }

    #[test]
    fn what_was_over_is_forgotten_and_nothing_else() {
        let mut timeline = timeline();
        let function = |address: u64| address.to_string();
        let before = timeline.segments(225, 310, false, &function);
        timeline.forget_before(225);
        assert_eq!(timeline.segments(225, 310, false, &function), before);
        assert_eq!(timeline.segments(100, 310, false, &function), None);
        let kept: usize = timeline.cpus.values().map(VecDeque::len).sum();
        assert_eq!((timeline.states.len(), kept), (3, 5));
    }
}
