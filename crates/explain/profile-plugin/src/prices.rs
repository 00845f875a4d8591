//! What translations cost: by call stack and interval, and by task and interval.
//!
//! The file that the plugin writes when QEMU ends, in 64-bit little-endian words:
//!
//! - the magic; 1 if nothing was left out, else 0; references whose page tables could not be read;
//! - the number of the simulator's counts, and the counts (`crates/simulate/mmu/src/tlb/wire.rs`);
//! - the number of records of tasks; of each its interval, its number (`lives.rs`) and its price;
//! - the number of intervals; of each, as numbers of seven bits at a time: how many nodes it has, and
//!   for each the distance from the node before it, and its price.

use std::collections::BTreeMap;

use crate::nodes::{Node, put};
use crate::tlb::{Price, Simulator};

const MAGIC: u64 = u64::from_le_bytes(*b"tlprice\x02");
/// Limits of memory; beyond them nothing is counted any more, and the file says so.
const MOST_BYTES: usize = 100 << 20;
const MOST_TASKS: usize = 1 << 20;

/// Prices so far.
#[derive(Default)]
pub(crate) struct Prices {
    /// What is counted already.
    counted: Price,
    node: Node,
    cpu: usize,
    nodes: Vec<Price>,
    /// Nodes with a price in this interval.
    touched: Vec<Node>,
    intervals: Vec<u8>,
    interval: u64,
    cpus: Vec<Slice>,
    /// By interval and task.
    tasks: BTreeMap<(u64, u32), Price>,
    is_full: bool,
}

/// What a virtual CPU executed for its task in this interval since the scheduler switched.
#[derive(Clone, Default)]
struct Slice {
    life: u32,
    price: Price,
}

impl Prices {
    pub(crate) fn new(cpus: usize) -> Self {
        Self { cpus: vec![Slice::default(); cpus], ..Self::default() }
    }

    /// A virtual CPU executes a call stack from here on.
    #[inline]
    pub(crate) fn enter(&mut self, cpu: usize, node: Node, price: Price) {
        if (cpu, node) != (self.cpu, self.node) {
            self.count(price);
            (self.cpu, self.node) = (cpu, node);
        }
    }

    /// Counts what was executed until now.
    fn count(&mut self, price: Price) {
        let more = price.since(self.counted);
        if more == Price::default() {
            return;
        }
        self.counted = price;
        let index = self.node as usize;
        if index >= self.nodes.len() {
            self.nodes.resize(index + 1, Price::default());
        }
        if self.nodes[index] == Price::default() {
            self.touched.push(self.node);
        }
        self.nodes[index] += more;
        self.cpus[self.cpu].price += more;
    }

    /// A virtual CPU executes another task from here on.
    pub(crate) fn switch(&mut self, cpu: usize, life: u32, price: Price) {
        self.count(price);
        self.end_slice(cpu);
        self.cpus[cpu].life = life;
    }

    fn end_slice(&mut self, cpu: usize) {
        let Slice { life, price } = &mut self.cpus[cpu];
        let price = std::mem::take(price);
        if price != Price::default() {
            *self.tasks.entry((self.interval, *life)).or_default() += price;
        }
    }

    /// Ends an interval.
    pub(crate) fn cut(&mut self, price: Price) {
        self.count(price);
        (0..self.cpus.len()).for_each(|cpu| self.end_slice(cpu));
        self.is_full |= self.tasks.len() > MOST_TASKS;
        self.interval += 1;
        self.is_full |= self.intervals.len() > MOST_BYTES;
        self.touched.sort_unstable();
        put(&mut self.intervals, self.touched.len() as u64);
        let mut last = 0;
        for node in self.touched.drain(..) {
            put(&mut self.intervals, u64::from(node - last));
            let price = std::mem::take(&mut self.nodes[node as usize]);
            price.numbers().into_iter().for_each(|number| put(&mut self.intervals, number));
            last = node;
        }
        if self.is_full {
            self.intervals.clear();
        }
    }

    /// Ends the last interval, and returns the file.
    pub(crate) fn finish(&mut self, simulator: &Simulator, unreadable: u64) -> Vec<u8> {
        self.cut(simulator.price());
        let counts = simulator.outcome().numbers();
        let mut words = vec![MAGIC, u64::from(!self.is_full), unreadable, counts.len() as u64];
        words.extend(counts);
        words.push(self.tasks.len() as u64);
        for ((interval, life), price) in &self.tasks {
            words.extend([*interval, u64::from(*life)]);
            words.extend(price.numbers());
        }
        words.push(self.interval);
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.append(&mut self.intervals);
        bytes
    }
}
