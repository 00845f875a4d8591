//! Flame graphs: call stacks as nested frames.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::Area;
use crate::call_stacks::{CallStacks, Counts};

/// A frame of a flame graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlameFrame {
    /// The function.
    pub name: String,
    /// On whose behalf it executes.
    pub area: Area,
    /// The number of its callers.
    pub depth: u32,
    /// The counts to its left.
    pub start: u64,
    /// Its counts and those of its callees.
    pub with_callees: u64,
    /// Its counts alone.
    pub own: u64,
}

/// The frames with at least `least` instructions; what a caller has left is empty space.
pub fn flame(stacks: &impl CallStacks, counts: &Counts, least: u64) -> Vec<FlameFrame> {
    let sums = stacks.with_callees(counts);
    let mut callees: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
    for node in stacks.nodes().filter(|node| sums[*node as usize] >= least.max(1)) {
        callees.entry(stacks.parent(node)).or_default().push(node);
    }
    for nodes in callees.values_mut() {
        nodes.sort_by_key(|node| stacks.name(*node));
    }
    let mut frames = Vec::new();
    let mut start = 0;
    for root in callees.get(&None).into_iter().flatten() {
        add(stacks, counts, &sums, &callees, (*root, 0, start), &mut frames);
        start += sums[*root as usize];
    }
    frames
}

fn add(
    stacks: &impl CallStacks,
    counts: &Counts,
    sums: &[u64],
    callees: &BTreeMap<Option<u32>, Vec<u32>>,
    root: (u32, u32, u64),
    frames: &mut Vec<FlameFrame>,
) {
    // Call stacks may be deep, so the ones to come are kept here.
    let mut waiting = vec![root];
    while let Some((node, depth, start)) = waiting.pop() {
        let with_callees = sums[node as usize];
        let (name, own) = (stacks.name(node).to_owned(), counts.own[node as usize]);
        frames.push(FlameFrame { name, area: stacks.area(node), depth, start, with_callees, own });
        let mut next = start;
        for callee in callees.get(&Some(node)).into_iter().flatten() {
            waiting.push((*callee, depth + 1, next));
            next += sums[*callee as usize];
        }
    }
}

/// One line per call stack, `caller;function COUNT`, as flame graph tools read it.
pub fn collapsed(stacks: &impl CallStacks, counts: &Counts) -> String {
    let mut lines = BTreeMap::new();
    for node in stacks.nodes().filter(|node| counts.own[*node as usize] > 0) {
        let mut path: Vec<&str> = stacks.callers(node).map(|caller| stacks.name(caller)).collect();
        path.reverse();
        path.push(stacks.name(node));
        // Both are part of the format.
        let path = path.join(";").replace(' ', "_");
        *lines.entry(path).or_insert(0) += counts.own[node as usize];
    }
    lines.iter().fold(String::new(), |mut text, (path, own)| {
        let _ = writeln!(text, "{path} {own}");
        text
    })
}
