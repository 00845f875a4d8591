//! Two snapshots, and what has changed between them.

use model::CounterSet;

use crate::{Snapshot, TaskSnapshot};

/// Two snapshots of one machine.
#[derive(Clone, Copy, Debug)]
pub struct Interval<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
}

impl<'a> Interval<'a> {
    /// The time between two snapshots, the earlier one first.
    #[must_use]
    pub fn new(before: &'a Snapshot, after: &'a Snapshot) -> Self {
        Self { before, after }
    }

    /// Its length in ns.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        self.after.at_ns.saturating_sub(self.before.at_ns)
    }

    /// What has changed of the machine as a whole.
    #[must_use]
    pub fn machine(&self) -> Change<'a> {
        self.change(&self.before.machine, &self.after.machine)
    }

    /// What has changed of each control group that was there at both ends, by path.
    pub fn groups(&self) -> impl Iterator<Item = (&'a str, Change<'a>)> {
        let interval = *self;
        self.after.groups.iter().filter_map(move |(path, after)| {
            let before = interval.before.groups.get(path)?;
            Some((path.as_str(), interval.change(before, after)))
        })
    }

    /// What has changed of each process that was there at both ends, by number. A process whose
    /// number is another's by now (its counters have shrunk) is left out.
    pub fn tasks(&self) -> impl Iterator<Item = (u32, &'a TaskSnapshot, Change<'a>)> {
        let interval = *self;
        self.after.tasks.iter().filter_map(move |(pid, after)| {
            let before = interval.before.tasks.get(pid)?;
            let change = interval.change(&before.counters, &after.counters);
            let start = |task: &TaskSnapshot| {
                task.counters.get("task_stat")?.get("starttime_ticks").copied()
            };
            (start(before) == start(after)).then_some((*pid, after, change))
        })
    }

    fn change(&self, before: &'a CounterSet, after: &'a CounterSet) -> Change<'a> {
        Change { before, after, elapsed_ns: self.elapsed_ns() }
    }
}

/// A value, unless no machine counts that far: 36 years of ns, else 2^50 (35 years of µs, a pebibyte).
/// Beyond that a recording is damaged. So rules may convert units and add up.
fn plausible(name: &str, value: u64) -> Option<u64> {
    let bits = if name.ends_with("_ns") { 60 } else { 50 };
    (value >> bits == 0).then_some(value)
}

/// The counters of one thing at both ends of an interval.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    before: &'a CounterSet,
    after: &'a CounterSet,
    elapsed_ns: u64,
}

impl Change<'_> {
    /// How much a counter has grown; `None` if it is absent or has shrunk.
    #[must_use]
    pub fn grown(&self, source: &str, name: &str) -> Option<u64> {
        let at = |set: &CounterSet| set.get(source)?.get(name).copied();
        plausible(name, at(self.after)?.checked_sub(at(self.before)?)?)
    }

    /// How much the first of several counters has grown that is there: kernels spell some
    /// differently.
    #[must_use]
    pub fn grown_any(&self, source: &str, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| self.grown(source, name))
    }

    /// A counter at the end.
    #[must_use]
    pub fn level(&self, source: &str, name: &str) -> Option<u64> {
        plausible(name, self.after.get(source)?.get(name).copied()?)
    }

    /// How much a counter has grown, a second.
    #[must_use]
    pub fn per_s(&self, source: &str, name: &str) -> Option<f64> {
        let grown = self.grown(source, name)?;
        (self.elapsed_ns > 0).then(|| grown as f64 * 1e9 / self.elapsed_ns as f64)
    }

    /// Whether a source is there at both ends.
    #[must_use]
    pub fn has(&self, source: &str) -> bool {
        self.before.contains_key(source) && self.after.contains_key(source)
    }
}
