//! Snapshots by hand, for the tests of rules.

use model::CounterSet;

use crate::{
    Finding, Interval, Operation, Rule, Scope, Snapshot, TaskSnapshot, UnitCost, UnitCosts, Verdict,
};

/// A counter: its source, name and value.
pub(crate) type Value<'a> = (&'a str, &'a str, u64);

/// Counters of one thing.
pub(crate) fn counters(values: &[Value<'_>]) -> CounterSet {
    let mut set = CounterSet::new();
    for (source, name, value) in values {
        set.entry((*source).to_owned()).or_default().insert((*name).to_owned(), *value);
    }
    set
}

/// A moment at which nothing is known.
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

/// An interval of one second, by what has grown in it.
#[derive(Clone, Debug)]
pub(crate) struct Second {
    before: Snapshot,
    after: Snapshot,
}

impl Second {
    /// A second of a machine whose counters all began with 0.
    pub(crate) fn of_machine(values: &[Value<'_>]) -> Self {
        let zeros = zeros(values);
        let mut second = Self { before: snapshot(0), after: snapshot(1_000_000_000) };
        second.before.machine = counters(&zeros);
        second.after.machine = counters(values);
        second
    }

    /// The same with a control group.
    pub(crate) fn with_group(mut self, path: &str, values: &[Value<'_>]) -> Self {
        let zeros = zeros(values);
        self.before.groups.insert(path.to_owned(), counters(&zeros));
        self.after.groups.insert(path.to_owned(), counters(values));
        self
    }

    /// The same with a process that is in a group.
    pub(crate) fn with_task(mut self, pid: u32, group: Option<&str>, values: &[Value<'_>]) -> Self {
        let zeros = zeros(values);
        self.before.tasks.insert(pid, task("job", group, &zeros));
        self.after.tasks.insert(pid, task("job", group, values));
        self
    }

    /// The interval itself.
    pub(crate) fn interval(&self) -> Interval<'_> {
        Interval::new(&self.before, &self.after)
    }

    /// What a rule says of it, when each operation costs 1 µs.
    pub(crate) fn verdict(&self, rule: &Rule) -> Verdict {
        self.verdict_with(rule, &microseconds())
    }

    /// The same with other costs.
    pub(crate) fn verdict_with(&self, rule: &Rule, costs: &UnitCosts) -> Verdict {
        (rule.look)(&self.interval(), costs)
    }

    /// The only finding of a rule.
    pub(crate) fn found(&self, rule: &Rule) -> Finding {
        match self.verdict(rule) {
            Verdict::Found(mut findings) if findings.len() == 1 => findings.remove(0),
            other => panic!("{other:?}"),
        }
    }

    /// The reason for which a rule finds nothing.
    pub(crate) fn ruled_out(&self, rule: &Rule) -> String {
        match self.verdict(rule) {
            Verdict::RuledOut(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    /// The reason for which a rule cannot tell.
    pub(crate) fn unable(&self, rule: &Rule) -> String {
        match self.verdict(rule) {
            Verdict::Unable(reason) => reason,
            other => panic!("{other:?}"),
        }
    }
}

/// The same counters before they counted anything.
fn zeros<'a>(values: &[Value<'a>]) -> Vec<Value<'a>> {
    values.iter().map(|(source, name, _)| (*source, *name, 0)).collect()
}

/// Each operation costs 1 µs.
pub(crate) fn microseconds() -> UnitCosts {
    let cost = UnitCost { ns: 1000.0, least_ns: 1000.0, repetitions: 1 };
    let costs = Operation::ALL.into_iter().map(|operation| (operation, cost)).collect();
    UnitCosts { costs, ..UnitCosts::default() }
}

/// The process of a number that [`Second::with_task`] makes.
pub(crate) fn job(pid: u32) -> Scope {
    Scope::Process { pid, name: "job".to_owned() }
}
