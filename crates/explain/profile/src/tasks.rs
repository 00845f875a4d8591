//! The tasks of a guest over time: when each executed, was ready to, or waited, and who woke it up.

use std::collections::{BTreeMap, HashMap};

use crate::records::{Event, What};

/// What a task did from one time to another, in ns of the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) state: State,
}

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It executes on a virtual CPU; with the number of its name.
    Executes { cpu: u32, name: Option<u32> },
    /// It could, and does so later on this CPU.
    Ready { cpu: u32 },
    /// It waits. With the call stack in which it does, and who woke it up, where they are known.
    Waits { node: Option<u32>, woken: Option<Woken> },
}

/// Who woke a task up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Woken {
    /// The task that executed.
    pub(crate) by: Option<u64>,
    /// What was executed, for the task or in an interrupt.
    pub(crate) node: u32,
}

/// All tasks, by the addresses that the kernel knows them by.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    spans: BTreeMap<u64, Vec<Span>>,
    /// The tasks of each CPU, with the times from which they execute.
    cpus: BTreeMap<u32, Vec<(u64, u64)>>,
}

/// A span that has not ended.
#[derive(Clone, Copy)]
struct Open {
    from_ns: u64,
    state: OpenState,
}

#[derive(Clone, Copy)]
enum OpenState {
    Executes(u32),
    Ready,
    Waits(Option<u32>),
}

impl Tasks {
    /// From all events of a guest up to a time, where `can_wait` is whether a task in a call stack
    /// has given up its CPU by itself.
    pub(crate) fn of(events: &[Event], end_ns: u64, can_wait: impl Fn(u32) -> bool) -> Self {
        let mut tasks = Self::default();
        let mut open: HashMap<u64, Open> = HashMap::new();
        for event in events {
            let at_ns = event.time_ns;
            match event.what {
                What::Switch { next, state, name } => {
                    // Before its first event it executed.
                    let from_ns = open.get(&event.task).map_or(0, |it| it.from_ns);
                    let executed = State::Executes { cpu: event.cpu, name: Some(name) };
                    tasks.add(event.task, from_ns, at_ns, executed);
                    let state = match state != 0 && can_wait(event.node) {
                        true => OpenState::Waits(Some(event.node)),
                        false => OpenState::Ready,
                    };
                    open.insert(event.task, Open { from_ns: at_ns, state });
                    tasks.close(&mut open, next, at_ns, event.cpu, None);
                    let state = OpenState::Executes(event.cpu);
                    open.insert(next, Open { from_ns: at_ns, state });
                    let of_cpu =
                        tasks.cpus.entry(event.cpu).or_insert_with(|| vec![(0, event.task)]);
                    of_cpu.push((at_ns, next));
                }
                What::Wake => {
                    let waits = open.get(&event.task).map(|it| it.state);
                    if matches!(waits, None | Some(OpenState::Waits(_))) {
                        let by = tasks.on_cpu(event.cpu, at_ns);
                        let woken = Some(Woken { by, node: event.node });
                        tasks.close(&mut open, event.task, at_ns, event.cpu, woken);
                        open.insert(event.task, Open { from_ns: at_ns, state: OpenState::Ready });
                    }
                }
            }
        }
        for task in open.keys().copied().collect::<Vec<_>>() {
            tasks.close(&mut open, task, end_ns, 0, None);
        }
        tasks
    }

    fn close(
        &mut self,
        open: &mut HashMap<u64, Open>,
        task: u64,
        at_ns: u64,
        cpu: u32,
        woken: Option<Woken>,
    ) {
        let unknown = Open { from_ns: 0, state: OpenState::Waits(None) };
        let Open { from_ns, state } = open.remove(&task).unwrap_or(unknown);
        let state = match state {
            OpenState::Executes(cpu) => State::Executes { cpu, name: None },
            OpenState::Ready => State::Ready { cpu },
            OpenState::Waits(node) => State::Waits { node, woken },
        };
        self.add(task, from_ns, at_ns, state);
    }

    fn add(&mut self, task: u64, from_ns: u64, to_ns: u64, state: State) {
        if from_ns < to_ns {
            self.spans.entry(task).or_default().push(Span { from_ns, to_ns, state });
        }
    }

    /// All tasks, by their addresses, with what they did.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, &[Span])> {
        self.spans.iter().map(|(task, spans)| (*task, spans.as_slice()))
    }

    /// What a task does just before a time.
    pub(crate) fn before(&self, task: u64, at_ns: u64) -> Option<&Span> {
        let spans = self.spans.get(&task)?;
        let after = spans.partition_point(|span| span.to_ns < at_ns);
        spans.get(after).filter(|span| span.from_ns < at_ns)
    }

    /// The number of a task's name at a time, or the next or last one that is known.
    pub(crate) fn name(&self, task: u64, at_ns: u64) -> Option<u32> {
        let spans = self.spans.get(&task)?;
        let named = |span: &Span| match span.state {
            State::Executes { name, .. } => name,
            _ => None,
        };
        let after = spans.partition_point(|span| span.to_ns < at_ns);
        let (earlier, later) = spans.split_at(after);
        later.iter().find_map(named).or_else(|| earlier.iter().rev().find_map(named))
    }

    /// The task that executes on a CPU at a time.
    pub(crate) fn on_cpu(&self, cpu: u32, at_ns: u64) -> Option<u64> {
        let of_cpu = self.cpus.get(&cpu)?;
        let after = of_cpu.partition_point(|(from_ns, _)| *from_ns <= at_ns);
        of_cpu.get(after.checked_sub(1)?).map(|(_, task)| *task)
    }

    /// The task that executes on a CPU for the longest part of an interval.
    pub(crate) fn mostly_on(&self, cpu: u32, from_ns: u64, to_ns: u64) -> Option<u64> {
        let of_cpu = self.cpus.get(&cpu)?;
        let first = of_cpu.partition_point(|(from, _)| *from <= from_ns).saturating_sub(1);
        let ends = of_cpu[first..].iter().skip(1).map(|(at, _)| *at).chain([u64::MAX]);
        let mut executed: BTreeMap<u64, u64> = BTreeMap::new();
        for ((begin, task), end) in of_cpu[first..].iter().zip(ends) {
            if *begin >= to_ns {
                break;
            }
            *executed.entry(*task).or_default() +=
                end.min(to_ns).saturating_sub(*begin.max(&from_ns));
        }
        executed.into_iter().max_by_key(|(_, time_ns)| *time_ns).map(|(task, _)| task)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Task 1 reads: it waits for task 2, which has to wait for its CPU and is woken up by an interrupt.
    pub(crate) fn events() -> Vec<Event> {
        let event = |time_ns, node, task, what| Event { time_ns, cpu: 0, node, task, what };
        let switch = |next, state, name| What::Switch { next, state, name };
        vec![
            event(100, 5, 1, switch(9, 2, 0)),
            event(150, 6, 2, What::Wake),
            event(170, 7, 9, switch(2, 0, 1)),
            event(200, 7, 2, switch(9, 0, 2)),
            event(230, 7, 9, switch(2, 0, 1)),
            event(260, 8, 1, What::Wake),
            event(260, 8, 1, What::Wake),
            event(300, 7, 2, switch(1, 1, 2)),
            event(400, 5, 1, switch(9, 1, 0)),
        ]
    }

    #[test]
    fn tasks_execute_are_ready_or_wait() {
        let tasks = Tasks::of(&events(), 500, |_| true);
        let states = |task: u64| -> Vec<(u64, u64, State)> {
            tasks.spans[&task].iter().map(|it| (it.from_ns, it.to_ns, it.state)).collect()
        };
        let executes = |name| State::Executes { cpu: 0, name };
        let ready = State::Ready { cpu: 0 };
        let waits =
            |node, by, at| State::Waits { node, woken: Some(Woken { by: Some(by), node: at }) };
        assert_eq!(
            states(1),
            [
                (0, 100, executes(Some(0))),
                (100, 260, waits(Some(5), 2, 8)),
                (260, 300, ready),
                (300, 400, executes(Some(0))),
                (400, 500, State::Waits { node: Some(5), woken: None }),
            ]
        );
        assert_eq!(
            states(2),
            [
                (0, 150, waits(None, 9, 6)),
                (150, 170, ready),
                (170, 200, executes(Some(2))),
                (200, 230, ready),
                (230, 300, executes(Some(2))),
                (300, 500, State::Waits { node: Some(7), woken: None }),
            ]
        );
        assert_eq!((tasks.name(2, 100), tasks.name(2, 400)), (Some(2), Some(2)));
        assert_eq!((tasks.on_cpu(0, 199), tasks.on_cpu(0, 50)), (Some(2), Some(1)));
        assert_eq!(tasks.mostly_on(0, 160, 210), Some(2));
        assert_eq!(tasks.before(1, 260).map(|it| it.to_ns), Some(260));
        assert_eq!(tasks.before(1, 501), None);
    }

    #[test]
    fn a_task_that_was_preempted_is_ready() {
        let tasks = Tasks::of(&events(), 500, |node| node != 5);
        assert_eq!(tasks.before(1, 150).map(|it| it.state), Some(State::Ready { cpu: 0 }));
    }
}
