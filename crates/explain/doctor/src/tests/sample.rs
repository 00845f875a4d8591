//! Snapshots by hand, for the tests of rules.

use model::CounterSet;

use crate::rule::{NoFinding, RuleResult};
use crate::{
    Finding, Interval, LostTime, Operation, Price, Rule, Scope, Snapshot, TaskSnapshot, UnitCost,
    UnitCosts,
};

/// A counter: its source, name and value.
pub(crate) type Value<'a> = (&'a str, &'a str, u64);

/// Counters of one thing.
pub(crate) fn counters(values: &[Value<'_>]) -> CounterSet {
    let mut all = CounterSet::new();
    for (source, name, value) in values {
        set(&mut all, source, name, *value);
    }
    all
}

/// A time at which nothing is known.
pub(crate) fn snapshot(at_ns: u64) -> Snapshot {
    Snapshot { at_ns, ..Snapshot::default() }
}

/// A process.
pub(crate) fn task(name: &str, group: Option<&str>, values: &[Value<'_>]) -> TaskSnapshot {
    TaskSnapshot {
        name: name.to_owned(),
        group: group.map(str::to_owned),
        counters: counters(values),
    }
}

/// The control group of [`Second::bare`].
pub(crate) const GROUP: &str = "group";
/// The process of [`Second::bare`].
const PID: u32 = 7;

/// An interval of one second, by what has grown in it, and what operations cost.
#[derive(Clone, Debug)]
pub(crate) struct Second {
    before: Snapshot,
    after: Snapshot,
    costs: UnitCosts,
}

impl Second {
    /// A second of a machine with one group and one process in it, without any counter or cost.
    pub(crate) fn bare() -> Self {
        let mut before = snapshot(0);
        before.tasks.insert(PID, task("made", Some(GROUP), &[]));
        before.groups.insert(GROUP.to_owned(), CounterSet::new());
        let after = Snapshot { at_ns: 1_000_000_000, ..before.clone() };
        Self { before, after, costs: UnitCosts::default() }
    }

    /// A second of a machine whose counters all began with 0 and whose operations cost 1 µs each.
    pub(crate) fn of_machine(values: &[Value<'_>]) -> Self {
        let zeros = zeros(values);
        let (before, after) = (snapshot(0), snapshot(1_000_000_000));
        let mut second = Self { before, after, costs: microseconds() };
        second.before.machine = counters(&zeros);
        second.after.machine = counters(values);
        second
    }

    /// Adds a control group whose counters have grown from 0 to these values.
    pub(crate) fn with_group(mut self, path: &str, values: &[Value<'_>]) -> Self {
        let zeros = zeros(values);
        self.before.groups.insert(path.to_owned(), counters(&zeros));
        self.after.groups.insert(path.to_owned(), counters(values));
        self
    }

    /// Adds a process, in a control group or in none, whose counters have grown from 0 to these
    /// values.
    pub(crate) fn with_task(mut self, pid: u32, group: Option<&str>, values: &[Value<'_>]) -> Self {
        let zeros = zeros(values);
        self.before.tasks.insert(pid, task("job", group, &zeros));
        self.after.tasks.insert(pid, task("job", group, values));
        self
    }

    /// A counter of the machine that has grown from 0 by this much.
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

    /// A counter of the group that has grown from 0 by this much.
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

    /// A counter of the process that has grown from 0 by this much.
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

    /// Sets the size of the machine's pages, in bytes.
    pub(crate) fn with_page_bytes(mut self, page_bytes: u64) -> Self {
        for snapshot in [&mut self.before, &mut self.after] {
            snapshot.page_bytes = Some(page_bytes);
        }
        self
    }

    /// Taken by a user from whom the kernel hides processes.
    pub(crate) fn with_hidden_processes(mut self) -> Self {
        self.after.left_out.hides_processes = true;
        self
    }

    /// The interval itself.
    pub(crate) fn interval(&self) -> Interval<'_> {
        Interval::new(&self.before, &self.after)
    }

    /// What a rule reports for the interval.
    pub(crate) fn verdict(&self, rule: &Rule) -> RuleResult {
        self.verdict_with(rule, &self.costs)
    }

    /// What a rule reports for the interval, with these costs of operations.
    pub(crate) fn verdict_with(&self, rule: &Rule, costs: &UnitCosts) -> RuleResult {
        rule.verdict(&self.interval(), costs)
    }

    /// The only finding of a rule.
    pub(crate) fn found(&self, rule: &Rule) -> Finding {
        match self.verdict(rule) {
            Ok(findings) => {
                let [finding] = <[Finding; 1]>::try_from(findings).unwrap();
                assert_eq!((finding.rule, finding.family), (rule.name, rule.family));
                finding
            }
            other => panic!("{other:?}"),
        }
    }

    /// The only finding of a rule, whose price is unknown; what it costs at least, if that is
    /// known.
    pub(crate) fn unpriced(&self, rule: &Rule) -> Option<LostTime> {
        match self.found(rule).price {
            Price::Unknown { at_least, .. } => at_least,
            Price::Known(lost) => panic!("{lost:?}"),
        }
    }

    /// The reason for which a rule finds nothing.
    pub(crate) fn ruled_out(&self, rule: &Rule) -> String {
        match self.verdict(rule) {
            Err(NoFinding::RuledOut(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    /// The reason why a rule cannot decide.
    pub(crate) fn unable(&self, rule: &Rule) -> String {
        match self.verdict(rule) {
            Err(NoFinding::Unable(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }
}

fn set(counters: &mut CounterSet, source: &str, name: &str, value: u64) {
    counters.entry(source.into()).or_default().insert(name.into(), value);
}

/// Counters of these sources and names, before they counted anything.
fn zeros<'a>(values: &[Value<'a>]) -> Vec<Value<'a>> {
    values.iter().map(|(source, name, _)| (*source, *name, 0)).collect()
}

/// Each operation costs 1 µs.
pub(crate) fn microseconds() -> UnitCosts {
    let cost = UnitCost { ns: 1000.0, least_ns: 1000.0, repetitions: 1 };
    let costs = Operation::ALL.iter().map(|operation| (*operation, cost)).collect();
    UnitCosts { costs, ..UnitCosts::default() }
}

/// The process of a number that [`Second::with_task`] makes.
pub(crate) fn job(pid: u32) -> Scope {
    Scope::Process { pid, name: "job".to_owned() }
}
