//! Intervals made by hand for the tests of rules.

use std::collections::BTreeMap;

use model::CounterSet;

use crate::{
    Finding, Interval, Operation, Rule, Snapshot, TaskSnapshot, UnitCost, UnitCosts, Verdict,
};

/// Where the made task and group stand.
const PID: u32 = 7;
pub(crate) const GROUP: &str = "group";

/// An interval of one machine with one group and one process in it, and what operations cost.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    before: Snapshot,
    after: Snapshot,
    costs: UnitCosts,
}

impl Made {
    /// A second without any counter.
    pub(crate) fn second() -> Self {
        let task = TaskSnapshot {
            name: "made".to_owned(),
            group: Some(GROUP.to_owned()),
            counters: CounterSet::new(),
        };
        let before = Snapshot {
            tasks: BTreeMap::from([(PID, task)]),
            groups: BTreeMap::from([(GROUP.to_owned(), CounterSet::new())]),
            ..Snapshot::default()
        };
        let after = Snapshot { at_ns: 1_000_000_000, ..before.clone() };
        Self { before, after, costs: UnitCosts::default() }
    }

    /// A counter of the machine that has grown from 0 by so much.
    pub(crate) fn machine(mut self, source: &str, name: &str, grown: u64) -> Self {
        set(&mut self.before.machine, source, name, 0);
        set(&mut self.after.machine, source, name, grown);
        self
    }

    /// A figure of the machine that has not changed.
    pub(crate) fn level(mut self, source: &str, name: &str, value: u64) -> Self {
        for snapshot in [&mut self.before, &mut self.after] {
            set(&mut snapshot.machine, source, name, value);
        }
        self
    }

    /// A counter of the group that has grown from 0 by so much.
    pub(crate) fn group(mut self, source: &str, name: &str, grown: u64) -> Self {
        for (snapshot, value) in [(&mut self.before, 0), (&mut self.after, grown)] {
            for counters in snapshot.groups.values_mut() {
                set(counters, source, name, value);
            }
        }
        self
    }

    /// A figure of the group that has not changed.
    pub(crate) fn group_level(mut self, source: &str, name: &str, value: u64) -> Self {
        for snapshot in [&mut self.before, &mut self.after] {
            for counters in snapshot.groups.values_mut() {
                set(counters, source, name, value);
            }
        }
        self
    }

    /// A counter of the process that has grown from 0 by so much.
    pub(crate) fn task(mut self, source: &str, name: &str, grown: u64) -> Self {
        for (snapshot, value) in [(&mut self.before, 0), (&mut self.after, grown)] {
            for task in snapshot.tasks.values_mut() {
                set(&mut task.counters, source, name, value);
            }
        }
        self
    }

    /// A figure of the process that has not changed.
    pub(crate) fn task_level(mut self, source: &str, name: &str, value: u64) -> Self {
        for snapshot in [&mut self.before, &mut self.after] {
            for task in snapshot.tasks.values_mut() {
                set(&mut task.counters, source, name, value);
            }
        }
        self
    }

    /// Without a source of the process.
    pub(crate) fn without_task(mut self, source: &str) -> Self {
        for snapshot in [&mut self.before, &mut self.after] {
            for task in snapshot.tasks.values_mut() {
                task.counters.remove(source);
            }
        }
        self
    }

    /// What an operation costs, in ns.
    pub(crate) fn cost(self, operation: Operation, ns: f64) -> Self {
        self.cost_between(operation, ns, ns)
    }

    /// What an operation costs in the middle and at least, in ns.
    pub(crate) fn cost_between(mut self, operation: Operation, ns: f64, least_ns: f64) -> Self {
        self.costs.costs.insert(operation, UnitCost { ns, least_ns, repetitions: 9 });
        self
    }

    /// Something told of the interval.
    pub(crate) fn over<T>(&self, tell: impl FnOnce(&Interval<'_>) -> T) -> T {
        tell(&Interval::new(&self.before, &self.after))
    }

    /// What a rule says.
    pub(crate) fn verdict(&self, rule: &Rule) -> Verdict {
        (rule.look)(&Interval::new(&self.before, &self.after), &self.costs)
    }
}

fn set(counters: &mut CounterSet, source: &str, name: &str, value: u64) {
    counters.entry(source.to_owned()).or_default().insert(name.to_owned(), value);
}

/// The one finding of a rule.
pub(crate) fn found(rule: &Rule, made: &Made) -> Finding {
    match made.verdict(rule) {
        Verdict::Found(findings) => {
            let [finding] = <[Finding; 1]>::try_from(findings).unwrap();
            assert_eq!((finding.rule, finding.family), (rule.name, rule.family));
            finding
        }
        other => panic!("{other:?}"),
    }
}
