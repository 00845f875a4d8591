//! Profiles of programs on this machine: the time that samples and switches of threads account for.

use std::collections::HashMap;

use serde::Serialize;

use crate::Area;
use crate::call_stacks::{CallStacks, Counts};

/// What a thread does with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// It executes.
    OnCpu,
    /// It waits, from the call stack on at which it gave its CPU up.
    Waits,
    /// It could execute, and another has the CPU.
    WaitsForCpu,
}

impl Part {
    /// All, in the order of tables.
    pub const ALL: [Self; 3] = [Self::OnCpu, Self::Waits, Self::WaitsForCpu];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnCpu => "on CPU",
            Self::Waits => "waits",
            Self::WaitsForCpu => "waits for CPU",
        }
    }
}

/// Call stacks that are found again by caller and function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackTree {
    nodes: Vec<(Option<u32>, u32, Area)>,
    names: Vec<String>,
    known_nodes: HashMap<(Option<u32>, u32, Area), u32>,
    known_names: HashMap<String, u32>,
}

impl StackTree {
    /// The number of a call stack: that of its caller, and its last function.
    pub fn node(&mut self, parent: Option<u32>, name: &str, area: Area) -> u32 {
        let name = match self.known_names.get(name) {
            Some(number) => *number,
            None => {
                let number = self.names.len() as u32;
                self.names.push(name.to_owned());
                self.known_names.insert(name.to_owned(), number);
                number
            }
        };
        let nodes = &mut self.nodes;
        *self.known_nodes.entry((parent, name, area)).or_insert_with(|| {
            nodes.push((parent, name, area));
            nodes.len() as u32 - 1
        })
    }
}

/// The time of the threads of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskTime {
    /// Their name.
    pub name: String,
    /// How many there were.
    pub threads: u64,
    /// Time on a CPU in ns, as the switches have it.
    pub on_cpu_ns: u64,
    /// The part of that time of which there is no sample, in ns.
    pub unsampled_ns: u64,
    /// Time that they waited in ns; `None` where switches are not recorded.
    pub waits_ns: u64,
    /// Time that they waited for a CPU in ns.
    pub waits_for_cpu_ns: u64,
}

/// Above this part of lost records nothing is concluded.
const MOST_LOST: f64 = 0.01;

/// What a command did with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledProfile {
    tree: StackTree,
    counts: [Counts; 3],
    /// When it started, in ns since 1970.
    pub started_unix_ns: u64,
    /// From its start to its end in ns.
    pub elapsed_ns: u64,
    /// Its threads by name, most time on a CPU first.
    pub tasks: Vec<TaskTime>,
    /// Samples of what executes.
    pub samples: u64,
    /// Samples whose call stack does not reach the beginning of its thread.
    pub truncated: u64,
    /// Records that did not fit; `None` where the kernel does not count them.
    pub lost: Option<u64>,
    /// All records, the lost ones too.
    pub records: u64,
    /// What is missing, each as a sentence.
    pub missed: Vec<String>,
}

impl SampledProfile {
    /// Makes a profile of call stacks with their times in ns, and how many samples or switches each was
    /// seen in.
    pub fn new(tree: StackTree, times: impl IntoIterator<Item = (u32, Part, u64, u64)>) -> Self {
        let mut counts = Part::ALL.map(|_| Counts::none(tree.nodes.len()));
        for (node, part, ns, seen) in times {
            counts[part as usize].add(node, ns, seen);
        }
        Self {
            tree,
            counts,
            started_unix_ns: 0,
            elapsed_ns: 0,
            tasks: Vec::new(),
            samples: 0,
            truncated: 0,
            lost: None,
            records: 0,
            missed: Vec::new(),
        }
    }

    /// Whether so many records were lost that nothing may be concluded.
    pub fn is_incomplete(&self) -> bool {
        self.lost.unwrap_or(0) as f64 > MOST_LOST * self.records as f64
    }

    /// The times of a part in ns, and how often each call stack was seen in it.
    pub fn counts(&self, part: Part) -> &Counts {
        &self.counts[part as usize]
    }
}

/// Functions through which every thread leaves its CPU; who calls them says why.
const OF_SCHEDULER: [&str; 8] = [
    "__schedule",
    "io_schedule",
    "io_schedule_timeout",
    "preempt_schedule",
    "schedule",
    "schedule_hrtimeout_range_clock",
    "schedule_hrtimeout_range",
    "schedule_timeout",
];

/// A reason of waiting.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Wait {
    /// The function that waits: the kernel's where it is known, else the program's.
    pub function: String,
    /// The innermost function of the program with a name, that of its file if none has one.
    pub caller: String,
    /// How long, in ns.
    pub ns: u64,
    /// How often.
    pub times: u64,
}

impl SampledProfile {
    /// What its threads wait for, the longest first.
    pub fn waits(&self) -> Vec<Wait> {
        let counts = self.counts(Part::Waits);
        let mut found: HashMap<(&str, &str), (u64, u64)> = HashMap::new();
        for node in self.nodes() {
            let (ns, times) = (counts.own[node as usize], counts.entries[node as usize]);
            if ns + times > 0 {
                let sum = found.entry((self.waiting(node), self.program(node))).or_default();
                *sum = (sum.0 + ns, sum.1 + times);
            }
        }
        let wait = |((function, caller), (ns, times)): ((&str, &str), _)| {
            let [function, caller] = [function, caller].map(str::to_owned);
            Wait { function, caller, ns, times }
        };
        let mut waits: Vec<Wait> = found.into_iter().map(wait).collect();
        waits.sort_by(|one, other| other.ns.cmp(&one.ns).then_with(|| one.cmp(other)));
        waits
    }

    /// The function that waits.
    fn waiting(&self, node: u32) -> &str {
        let is_scheduler = |node: &u32| OF_SCHEDULER.contains(&self.name(*node));
        self.name(self.path(node).find(|node| !is_scheduler(node)).unwrap_or(node))
    }

    /// The program's function that waits.
    fn program(&self, node: u32) -> &str {
        let mut all = self.path(node).filter(|node| self.area(*node) == Area::User);
        let first = all.next().unwrap_or(node);
        let is_named =
            |node: &u32| !self.name(*node).starts_with('[') && self.parent(*node).is_some();
        let named = self.path(first).find(is_named);
        self.name(named.unwrap_or(first))
    }
}

impl CallStacks for SampledProfile {
    fn nodes(&self) -> std::ops::Range<u32> {
        0..self.tree.nodes.len() as u32
    }

    fn name(&self, node: u32) -> &str {
        &self.tree.names[self.tree.nodes[node as usize].1 as usize]
    }

    fn area(&self, node: u32) -> Area {
        self.tree.nodes[node as usize].2
    }

    fn parent(&self, node: u32) -> Option<u32> {
        self.tree.nodes[node as usize].0
    }

    fn measures(&self) -> [(&'static str, &'static str); 2] {
        [("seen", "count"), ("time", "nanoseconds")]
    }

    fn span_ns(&self) -> (u64, u64) {
        (self.started_unix_ns, self.elapsed_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_their_part_and_of_all_callers() {
        let mut tree = StackTree::default();
        let main = tree.node(None, "main", Area::User);
        let read = tree.node(Some(main), "read", Area::User);
        assert_eq!(tree.node(Some(main), "read", Area::User), read, "found again");
        let times = [
            (main, Part::OnCpu, 30, 3),
            (read, Part::OnCpu, 10, 1),
            (read, Part::Waits, 500, 2),
            (read, Part::Waits, 100, 1),
        ];
        let profile = SampledProfile::new(tree, times);
        let functions = |part| {
            let found = profile.functions(profile.counts(part));
            found.into_iter().map(|it| (it.name, it.own, it.with_callees, it.entries)).collect()
        };
        let on_cpu: Vec<_> = functions(Part::OnCpu);
        assert_eq!(on_cpu, [("main".to_owned(), 30, 40, 3), ("read".to_owned(), 10, 10, 1)]);
        let waits: Vec<_> = functions(Part::Waits);
        assert_eq!(waits, [("read".to_owned(), 600, 600, 3), ("main".to_owned(), 0, 600, 0)]);
        let text = crate::collapsed(&profile, profile.counts(Part::Waits));
        assert_eq!(text, "main;read 600\n");
    }
}
