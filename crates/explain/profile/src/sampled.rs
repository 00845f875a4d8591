//! Profiles of programs on this machine: the time that samples and switches of threads account for.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::Area;
use crate::call_stacks::{CallStacks, Counts};
use crate::common_names::file;
use crate::part::Part;
use crate::scheduler_functions::only_schedules;
use crate::thread_times::ThreadTimes;

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    counts: [Counts; 4],
    /// When it started, in ns since 1970.
    pub started_unix_ns: u64,
    /// From its start to its end in ns.
    pub elapsed_ns: u64,
    /// Its threads by name, most time on a CPU first.
    pub tasks: Vec<TaskTime>,
    /// What each thread did when; none unless that was requested.
    pub threads: Vec<ThreadTimes>,
    /// Samples of what executes.
    pub samples: u64,
    /// Samples whose call stack does not reach the beginning of its thread.
    pub truncated: u64,
    /// Its page faults of the recorded kind as the kernel counts them; `None` if that is not known. What
    /// samples stand for differs a little.
    pub faults: Option<u64>,
    /// As many samples of equal weight would know its page faults as well.
    pub fault_samples: u64,
    /// Records that did not fit; `None` where the kernel does not count them.
    pub lost: Option<u64>,
    /// All records, the lost ones too.
    pub records: u64,
    /// Whether what happens in the kernel could not be seen.
    pub is_outside_kernel: bool,
    /// What is missing, each as a sentence.
    pub missed: Vec<String>,
}

impl SampledProfile {
    /// Makes a profile of call stacks with their times in ns (page faults: their number), and how many
    /// samples or switches each was seen in.
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
            threads: Vec::new(),
            samples: 0,
            truncated: 0,
            faults: None,
            fault_samples: 0,
            lost: None,
            records: 0,
            is_outside_kernel: false,
            missed: Vec::new(),
        }
    }

    /// Whether so many records were lost that nothing may be concluded.
    pub fn is_incomplete(&self) -> bool {
        self.lost.unwrap_or(0) as f64 > MOST_LOST * self.records as f64
    }

    /// How many page faults its samples stand for; `None` if there are none.
    pub fn fault_sum(&self) -> Option<u64> {
        Some(self.counts(Part::Faults).total).filter(|sum| *sum > 0)
    }

    /// The times of a part in ns, and how often each call stack was seen in it.
    pub fn counts(&self, part: Part) -> &Counts {
        &self.counts[part as usize]
    }
}

/// A reason of waiting.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Wait {
    /// The function that waits: the kernel's where it is known, else the program's.
    pub function: String,
    /// The innermost function of the program with a name, that of its file if none has one; where the function
    /// is the program's itself, the one in another file that called it.
    pub caller: String,
    /// How long, in ns.
    pub ns: u64,
    /// How often.
    pub times: u64,
}

/// Functions that begin a program or a thread, and so say nothing as callers.
const BEGINNINGS: [&str; 5] = ["_start", "__libc_start", "start_thread", "__clone", "__GI___clone"];

/// The code that a part of a profile comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Origin {
    /// The innermost function; of waits and page faults the program's, as the kernel's are always the
    /// same.
    pub function: String,
    /// The program's function that called it, if it has a name.
    pub caller: Option<String>,
    /// Its part: time in ns, or page faults.
    pub amount: u64,
    /// The samples or switches that it was seen in.
    pub seen: u64,
}

impl Origin {
    /// Whether it is a function or a file, and not a text such as `[call stack not recorded]`.
    pub fn is_known(&self) -> bool {
        is_known(&self.function)
    }
}

/// Whether a name is that of a function or a file, and not a text such as `[call stack not recorded]`.
pub(crate) fn is_known(name: &str) -> bool {
    !(name.starts_with('[') && name.contains(' '))
}

impl SampledProfile {
    /// The amounts of a part and how often they were seen, by a key of their call stacks.
    fn sums<K: Eq + Hash>(&self, part: Part, key: impl Fn(u32) -> K) -> HashMap<K, (u64, u64)> {
        let counts = self.counts(part);
        let mut sums: HashMap<K, (u64, u64)> = HashMap::new();
        for node in self.nodes() {
            let (amount, seen) = (counts.own[node as usize], counts.entries[node as usize]);
            if amount + seen > 0 {
                let sum = sums.entry(key(node)).or_default();
                *sum = (sum.0 + amount, sum.1 + seen);
            }
        }
        sums
    }

    /// The code that a part comes from, the largest amount first.
    pub fn origins(&self, part: Part) -> Vec<Origin> {
        let sums = self.sums(part, |node| {
            let innermost = match part {
                Part::OnCpu | Part::WaitsForCpu => node,
                Part::Waits | Part::Faults => self.user_node(node),
            };
            (self.name(innermost), self.named_caller(innermost))
        });
        let origin = |((function, caller), (amount, seen)): ((&str, Option<&str>), _)| Origin {
            function: function.to_owned(),
            caller: caller.map(str::to_owned),
            amount,
            seen,
        };
        let mut origins: Vec<Origin> = sums.into_iter().map(origin).collect();
        origins.sort_by(|one, other| other.amount.cmp(&one.amount).then_with(|| one.cmp(other)));
        origins
    }

    /// What its threads wait for, the longest first.
    pub fn waits(&self) -> Vec<Wait> {
        let key = |node| {
            let (function, program) = (self.waiting(node), self.program_node(node));
            match self.name(program) {
                // The kernel's part is not known, and this is a function of a library, mostly.
                name if name == function => {
                    (function, self.caller(program, |it| file(it) != file(name)).unwrap_or(name))
                }
                name => (function, name),
            }
        };
        let found = self.sums(Part::Waits, key);
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
        let is_scheduler = |node: &u32| only_schedules(self.name(*node));
        self.name(self.path(node).find(|node| !is_scheduler(node)).unwrap_or(node))
    }

    /// The program's innermost frame.
    fn user_node(&self, node: u32) -> u32 {
        self.path(node).find(|node| self.area(*node) == Area::User).unwrap_or(node)
    }

    /// The program's innermost function with a name.
    fn program_node(&self, node: u32) -> u32 {
        let first = self.user_node(node);
        self.path(first).find(|node| self.is_function(*node)).unwrap_or(first)
    }

    /// The first function of the program above a frame that has another name and does not only begin
    /// the program or a thread.
    fn named_caller(&self, innermost: u32) -> Option<&str> {
        self.caller(innermost, |name| name != self.name(innermost))
    }

    /// The first function of the program above a frame that is another one by its name, and does not only
    /// begin the program or a thread.
    fn caller(&self, innermost: u32, is_other: impl Fn(&str) -> bool) -> Option<&str> {
        let is_caller = |node: &u32| {
            let name = self.name(*node);
            let begins = BEGINNINGS.iter().any(|begin| name.starts_with(begin));
            let is_of_program = self.area(*node) == Area::User && self.is_function(*node);
            is_of_program && !begins && is_other(name)
        };
        self.path(innermost).skip(1).find(is_caller).map(|node| self.name(node))
    }

    /// Whether a frame is a function with a name, and neither a thread nor a file.
    fn is_function(&self, node: u32) -> bool {
        !self.name(node).starts_with('[') && self.parent(node).is_some()
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
    fn a_part_comes_from_the_function_of_the_program_and_its_caller() {
        let mut tree = StackTree::default();
        let thread = tree.node(None, "sort", Area::User);
        let fill = tree.node(Some(thread), "fillbuf", Area::User);
        let read = tree.node(Some(fill), "read [libc.so.6]", Area::User);
        let copy = tree.node(Some(read), "copy_to_iter", Area::SystemCall);
        let unnamed = tree.node(Some(thread), "[sort]", Area::User);
        let times = [
            (copy, Part::Faults, 90, 9),
            (read, Part::Faults, 10, 1),
            (unnamed, Part::Faults, 5, 1),
            (copy, Part::OnCpu, 7, 2),
        ];
        let profile = SampledProfile::new(tree, times);
        let of = |part| {
            let origins = profile.origins(part).into_iter();
            origins.map(|it| (it.function, it.caller, it.amount, it.seen)).collect::<Vec<_>>()
        };
        let (read, fill) = ("read [libc.so.6]".to_owned(), Some("fillbuf".to_owned()));
        let expected = [(read.clone(), fill, 100, 10), ("[sort]".to_owned(), None, 5, 1)];
        assert_eq!(of(Part::Faults), expected);
        assert_eq!(of(Part::OnCpu), [("copy_to_iter".to_owned(), Some(read), 7, 2)]);
        assert!(of(Part::Waits).is_empty());
    }

    #[test]
    fn a_wait_has_the_function_of_the_program_that_waits() {
        let mut tree = StackTree::default();
        let thread = tree.node(None, "sort", Area::User);
        let fill = tree.node(Some(thread), "fillbuf [sort]", Area::User);
        let wrapper = tree.node(Some(fill), "fread [libc.so.6]", Area::User);
        let read = tree.node(Some(wrapper), "read [libc.so.6]", Area::User);
        let pipe = tree.node(Some(read), "pipe_read", Area::SystemCall);
        let times = [(pipe, Part::Waits, 90, 1), (read, Part::Waits, 10, 1)];
        let waits = SampledProfile::new(tree, times).waits().into_iter();
        let waits: Vec<_> = waits.map(|it| (it.function, it.caller)).collect();
        let expected = [("pipe_read", "read [libc.so.6]"), ("read [libc.so.6]", "fillbuf [sort]")];
        assert_eq!(waits, expected.map(|(function, by)| (function.to_owned(), by.to_owned())));
    }

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
