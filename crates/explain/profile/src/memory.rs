//! What translations cost: by function and by task.

use std::collections::HashMap;

use mmu::tlb::Price;
use serde::Serialize;

use crate::CallStacks;
use crate::prices::{Prices, sum};
use crate::profile::{Profile, Selection};

/// Who executed when the recording ended, and had not been left by the scheduler.
const UNNAMED: &str = "[still executing]";

/// The price of a function's references, next to its instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionPrice {
    /// Its name.
    pub name: String,
    /// Instructions of its own: the time of the machine's clock.
    pub instructions: u64,
    /// The price of its own references.
    #[serde(flatten)]
    pub own: Price,
    /// Cycles of the functions that it calls, too.
    pub cycles_with_callees: u64,
}

/// The price of a task's references.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskPrice {
    /// Its name and number.
    pub task: String,
    /// The price.
    #[serde(flatten)]
    pub price: Price,
}

impl Profile {
    /// What translations cost, if that was simulated.
    pub fn prices(&self) -> Option<&Prices> {
        self.prices.as_ref()
    }

    /// The price of a part of the run.
    pub fn price_of(&self, selection: &Selection) -> Price {
        sum(self.prices_of(selection).map(|(_, price)| price))
    }

    fn prices_of(&self, selection: &Selection) -> impl Iterator<Item = (u32, Price)> {
        let all = self
            .prices
            .iter()
            .flat_map(|prices| self.intervals_of(selection).map(|index| &prices.intervals[index]));
        all.flatten().copied()
    }

    /// The functions with instructions or references, those whose own references cost most first.
    pub fn function_prices(&self, selection: &Selection) -> Vec<FunctionPrice> {
        let nodes = self.nodes().len();
        let mut own = vec![Price::default(); nodes];
        for (node, price) in self.prices_of(selection) {
            own[node as usize] += price;
        }
        let mut with_callees: Vec<u64> = own.iter().map(|price| price.cycles).collect();
        for node in self.nodes().rev() {
            if let Some(parent) = self.parent(node) {
                with_callees[parent as usize] += with_callees[node as usize];
            }
        }
        let counts = self.select(selection);
        let mut found: HashMap<&str, FunctionPrice> = HashMap::new();
        for node in self.nodes() {
            let (index, name) = (node as usize, self.name(node));
            if counts.own[index] + own[index].references + with_callees[index] == 0 {
                continue;
            }
            let function = found.entry(name).or_insert_with(|| FunctionPrice {
                name: name.to_owned(),
                instructions: 0,
                own: Price::default(),
                cycles_with_callees: 0,
            });
            function.instructions += counts.own[index];
            function.own += own[index];
            // A function that is its own caller is counted once.
            if !self.callers(node).any(|caller| self.name(caller) == name) {
                function.cycles_with_callees += with_callees[index];
            }
        }
        let mut found: Vec<FunctionPrice> = found.into_values().collect();
        found.sort_by(|one, other| {
            let key = |it: &FunctionPrice| (it.own.cycles, it.own.walks, it.instructions);
            key(other).cmp(&key(one)).then_with(|| one.name.cmp(&other.name))
        });
        found
    }

    /// The tasks, those whose references cost most first.
    pub fn task_prices(&self, selection: &Selection) -> Vec<TaskPrice> {
        let Some(prices) = &self.prices else { return Vec::new() };
        let mut found: HashMap<String, Price> = HashMap::new();
        for index in self.intervals_of(selection) {
            for (_, life, price) in prices.tasks.iter().filter(|(at, ..)| *at == index) {
                let name = self.name_of_life(*life).and_then(|name| self.named(name));
                let task = name.map_or(UNNAMED.to_owned(), |(pid, name)| format!("{name} ({pid})"));
                *found.entry(task).or_default() += *price;
            }
        }
        let tasks = found.into_iter().map(|(task, price)| TaskPrice { task, price });
        let mut tasks: Vec<TaskPrice> = tasks.collect();
        tasks.sort_by(|one, other| {
            let key = |it: &TaskPrice| (it.price.cycles, it.price.references);
            key(other).cmp(&key(one)).then_with(|| one.task.cmp(&other.task))
        });
        tasks
    }
}
