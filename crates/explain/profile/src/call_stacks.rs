//! What all profiles are: counts by call stack.

use std::collections::HashMap;
use std::ops::Range;

use serde::Serialize;

use crate::Area;
use crate::scheduler_functions::only_schedules;

/// Call stacks by number. Callers have smaller numbers than those that they call.
pub trait CallStacks {
    /// The numbers of all call stacks.
    fn nodes(&self) -> Range<u32>;

    /// The name of a call stack's last function.
    fn name(&self, node: u32) -> &str;

    /// On whose behalf it executes.
    fn area(&self, node: u32) -> Area;

    /// The caller; `None` at a root.
    fn parent(&self, node: u32) -> Option<u32>;

    /// What is counted besides, and what is counted: names and units, as pprof has them.
    fn measures(&self) -> [(&'static str, &'static str); 2];

    /// When it started, in ns since 1970, and how long it took, in ns.
    fn span_ns(&self) -> (u64, u64);

    /// A call stack and its callers, the innermost first.
    fn path(&self, node: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(node), |node| self.parent(*node))
    }

    /// The callers of a call stack, the nearest first.
    fn callers(&self, node: u32) -> impl Iterator<Item = u32> {
        self.path(node).skip(1)
    }

    /// The functions of a call stack without those that only wait, the innermost first.
    fn waits_in(&self, node: u32) -> Vec<String> {
        let names = self.path(node).map(|node| self.name(node));
        names.skip_while(|name| only_schedules(name)).map(str::to_owned).collect()
    }

    /// The counts of each call stack and all that continue it.
    fn with_callees(&self, counts: &Counts) -> Vec<u64> {
        let mut sums = counts.own.clone();
        for node in self.nodes().rev() {
            if let Some(parent) = self.parent(node) {
                sums[parent as usize] += sums[node as usize];
            }
        }
        sums
    }

    /// The functions with any counts, the largest of their own first.
    fn functions(&self, counts: &Counts) -> Vec<FunctionCounts> {
        let with_callees = self.with_callees(counts);
        let mut found: HashMap<&str, FunctionCounts> = HashMap::new();
        for node in self.nodes() {
            let index = node as usize;
            if with_callees[index] + counts.entries[index] == 0 {
                continue;
            }
            let name = self.name(node);
            let function = found.entry(name).or_insert_with(|| FunctionCounts {
                name: name.to_owned(),
                own: 0,
                with_callees: 0,
                entries: 0,
            });
            function.own += counts.own[index];
            function.entries += counts.entries[index];
            // A function that is its own caller is counted once.
            if !self.callers(node).any(|caller| self.name(caller) == name) {
                function.with_callees += with_callees[index];
            }
        }
        let mut found: Vec<FunctionCounts> = found.into_values().collect();
        found.sort_by(|one, other| other.own.cmp(&one.own).then_with(|| one.name.cmp(&other.name)));
        found
    }
}

/// The counts of each call stack: instructions of a guest, ns of a program on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    pub(crate) own: Vec<u64>,
    /// How often each was entered; where samples were taken, their number.
    pub(crate) entries: Vec<u64>,
    /// The sum of all.
    pub total: u64,
}

impl Counts {
    /// Counts of 0 for so many call stacks.
    pub(crate) fn none(nodes: usize) -> Self {
        Self { own: vec![0; nodes], entries: vec![0; nodes], total: 0 }
    }

    pub(crate) fn add(&mut self, node: u32, own: u64, entries: u64) {
        self.own[node as usize] += own;
        self.entries[node as usize] += entries;
        self.total += own;
    }
}

/// The counts of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionCounts {
    /// Its name.
    pub name: String,
    /// Its own.
    pub own: u64,
    /// Counts of the function and of those that it calls.
    pub with_callees: u64,
    /// How often it was entered; where samples were taken, their number.
    pub entries: u64,
}
