//! The tree of call stacks with its counts, cut into intervals.

use crate::plan::{OF_CALLER, SYSTEM_CALL_AREA, THREAD_AREA, USER_AREA};
use crate::records::FIRST_USER_FUNCTION;

/// A path of functions: the number of its node.
pub(crate) type Node = u32;

/// User code.
pub(crate) const USER: Node = 0;
/// Kernel code whose callers are unknown: it began before the profile.
pub(crate) const KERNEL: Node = 1;
pub(crate) const ROOTS: usize = 2;
/// The function of the roots, and of code without a symbol.
pub(crate) const UNKNOWN: u32 = u32::MAX;
/// Limits of memory; beyond them nothing is counted any more, and the file says so.
const MOST_NODES: usize = 8 << 20;
/// Beyond it, functions of user code count for their callers, and the file says so.
const MOST_USER_NODES: usize = 2 << 20;
const MOST_BYTES: usize = 400 << 20;

#[derive(Clone, Copy, Default)]
struct Counts {
    own: u64,
    entries: u64,
}

/// The tree.
pub(crate) struct Nodes {
    pub(crate) parents: Vec<Node>,
    pub(crate) functions: Vec<u32>,
    pub(crate) areas: Vec<u8>,
    /// The areas of the kernel's functions.
    function_areas: Vec<u8>,
    /// Nodes of user code, and whether there would have been more.
    users: usize,
    pub(crate) has_more_users: bool,
    /// A child that was looked up last.
    recent: Vec<Node>,
    children: Children,
    counts: Vec<Counts>,
    /// Nodes with counts in this interval.
    touched: Vec<Node>,
    /// The intervals before, encoded.
    pub(crate) intervals: Vec<u8>,
    pub(crate) interval_count: u64,
    pub(crate) is_full: bool,
}

impl Nodes {
    /// For a kernel whose functions have these areas.
    pub(crate) fn new(function_areas: Vec<u8>) -> Self {
        Self {
            parents: vec![USER, KERNEL],
            functions: vec![UNKNOWN; ROOTS],
            areas: vec![USER_AREA, THREAD_AREA],
            function_areas,
            users: 0,
            has_more_users: false,
            recent: vec![0; ROOTS],
            children: Children::new(),
            counts: vec![Counts::default(); ROOTS],
            touched: Vec::new(),
            intervals: Vec::new(),
            interval_count: 0,
            is_full: false,
        }
    }

    /// The path that continues with a function.
    pub(crate) fn child(&mut self, parent: Node, function: u32) -> Node {
        let recent = self.recent[parent as usize];
        if self.is_child(recent, parent, function) {
            return recent;
        }
        let next = self.parents.len() as Node;
        let node = self.children.find_or_insert(parent, function, next);
        if node == next {
            if self.parents.len() == MOST_NODES {
                self.is_full = true;
                self.children.remove_last(parent, function);
                return parent;
            }
            self.parents.push(parent);
            self.functions.push(function);
            self.areas.push(self.area(parent, function));
            self.recent.push(0);
            self.counts.push(Counts::default());
        }
        self.recent[parent as usize] = node;
        node
    }

    /// The path of user code that continues with a function. One that is on the path already leads back
    /// to it, so that recursion does not make paths longer.
    pub(crate) fn user_child(&mut self, parent: Node, function: u32) -> Node {
        let recent = self.recent[parent as usize];
        if self.is_child(recent, parent, function) {
            return recent;
        }
        if let Some(node) = self.children.find(parent, function) {
            if self.is_child(node, parent, function) {
                self.recent[parent as usize] = node;
            }
            return node;
        }
        let mut at = parent;
        while at != USER && self.functions[at as usize] != function {
            at = self.parents[at as usize];
        }
        if at != USER {
            return self.children.find_or_insert(parent, function, at);
        }
        if self.users == MOST_USER_NODES {
            self.has_more_users = true;
            return parent;
        }
        self.users += 1;
        self.child(parent, function)
    }

    /// The area of a function with this caller.
    fn area(&self, parent: Node, function: u32) -> u8 {
        let of_caller = self.areas[parent as usize];
        match self.function_areas.get(function as usize) {
            _ if function >= FIRST_USER_FUNCTION && function != UNKNOWN => USER_AREA,
            // The kernel works for the program.
            None | Some(&OF_CALLER) if of_caller == USER_AREA => SYSTEM_CALL_AREA,
            None | Some(&OF_CALLER) => of_caller,
            Some(area) => *area,
        }
    }

    fn is_child(&self, node: Node, parent: Node, function: u32) -> bool {
        let index = node as usize;
        index >= ROOTS && self.parents[index] == parent && self.functions[index] == function
    }

    /// Whether functions of the kernel that begin here continue this path, rather than the caller's.
    pub(crate) fn is_base(&self, node: Node) -> bool {
        node == KERNEL || self.areas[node as usize] == USER_AREA
    }

    #[inline]
    pub(crate) fn add_instructions(&mut self, node: Node, count: u64) {
        if count > 0 {
            self.touch(node).own += count;
        }
    }

    #[inline]
    pub(crate) fn add_entry(&mut self, node: Node) {
        self.touch(node).entries += 1;
    }

    #[inline]
    fn touch(&mut self, node: Node) -> &mut Counts {
        let counts = &mut self.counts[node as usize];
        if counts.own == 0 && counts.entries == 0 {
            self.touched.push(node);
        }
        counts
    }

    /// Ends an interval: the number of its nodes, then for each the distance from the one before, and
    /// its counts.
    pub(crate) fn cut(&mut self) {
        self.touched.sort_unstable();
        self.is_full |= self.intervals.len() > MOST_BYTES;
        if self.is_full {
            self.touched.clear();
        }
        put(&mut self.intervals, self.touched.len() as u64);
        let mut last = 0;
        for node in self.touched.drain(..) {
            let Counts { own, entries } = std::mem::take(&mut self.counts[node as usize]);
            for number in [u64::from(node - last), own, entries] {
                put(&mut self.intervals, number);
            }
            last = node;
        }
        self.interval_count += 1;
    }
}

/// Appends a number, seven bits at a time, the low ones first.
pub(crate) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Nodes by parent and function: a table with open addressing, at most half full.
struct Children {
    /// Key and node; the key 0 is a free place.
    places: Vec<(u64, Node)>,
    used: usize,
}

impl Children {
    fn new() -> Self {
        Self { places: vec![(0, 0); 1 << 14], used: 0 }
    }

    fn key(parent: Node, function: u32) -> u64 {
        // Never 0, and no overflow: there are far fewer nodes.
        (u64::from(parent) << 32 | u64::from(function)) + 1
    }

    fn place(&self, key: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.places[at].0 != 0 && self.places[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn find(&self, parent: Node, function: u32) -> Option<Node> {
        let (key, node) = self.places[self.place(Self::key(parent, function))];
        (key != 0).then_some(node)
    }

    fn find_or_insert(&mut self, parent: Node, function: u32, next: Node) -> Node {
        if 2 * self.used >= self.places.len() {
            self.grow();
        }
        let key = Self::key(parent, function);
        let at = self.place(key);
        if self.places[at].0 == 0 {
            self.places[at] = (key, next);
            self.used += 1;
        }
        self.places[at].1
    }

    /// Takes back what was inserted last.
    fn remove_last(&mut self, parent: Node, function: u32) {
        let at = self.place(Self::key(parent, function));
        self.places[at] = (0, 0);
        self.used -= 1;
    }

    fn grow(&mut self) {
        let larger = vec![(0, 0); 2 * self.places.len()];
        for (key, node) in std::mem::replace(&mut self.places, larger) {
            if key != 0 {
                let at = self.place(key);
                self.places[at] = (key, node);
            }
        }
    }
}
