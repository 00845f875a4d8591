//! Counts by function.

use std::collections::HashMap;

use serde::Serialize;

use crate::profile::{Counts, Profile, Selection};

/// The counts of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionCounts {
    /// Its name.
    pub name: String,
    /// Instructions of its own.
    pub own: u64,
    /// Those of the functions that it calls, too.
    pub with_callees: u64,
    /// How often it was entered.
    pub entries: u64,
}

impl Profile {
    /// The functions with any counts, most instructions of their own first.
    pub fn functions(&self, counts: &Counts) -> Vec<FunctionCounts> {
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

    /// The part of the run that is compared with another run's in place of this one, and by what its counts
    /// are divided. Of a whole run that repeats commands these are the commands that completed, and their
    /// number, as another run may have others; else it is the part itself.
    pub fn compared(&self, selection: &Selection) -> (Selection, u64) {
        if self.responses.are_commands && matches!(selection, Selection::Run) {
            let complete = self.responses.complete();
            if !complete.is_empty() {
                let count = complete.len() as u64;
                return (Selection::Responses(complete), count);
            }
        }
        (selection.clone(), 1)
    }

    /// The functions of [`Self::compared`], each count the mean of what is divided.
    pub fn comparable_functions(&self, selection: &Selection) -> Vec<FunctionCounts> {
        let (selection, count) = self.compared(selection);
        let mut functions = self.functions(&self.select(&selection));
        for function in &mut functions {
            for sum in [&mut function.own, &mut function.with_callees, &mut function.entries] {
                *sum = (*sum + count / 2) / count;
            }
        }
        functions
    }

    /// Whether [`Self::compared`] is a mean of commands.
    pub fn is_mean(&self, selection: &Selection) -> bool {
        self.responses.are_commands && matches!(self.compared(selection).0, Selection::Responses(_))
    }

    /// Instructions of each call stack and all that continue it.
    pub(crate) fn with_callees(&self, counts: &Counts) -> Vec<u64> {
        let mut sums = counts.own.clone();
        for node in self.nodes().rev() {
            if let Some(parent) = self.parent(node) {
                sums[parent as usize] += sums[node as usize];
            }
        }
        sums
    }

    /// The callers of a call stack, the nearest first.
    pub(crate) fn callers(&self, node: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(self.parent(node), |caller| self.parent(*caller))
    }
}
