//! What translations cost in a guest, by function and task, next to the instructions of the machine's
//! clock. The two are never added.

use std::collections::BTreeMap;

use mmu::tlb::{Outcome, Price};
use profile::{FunctionPrice, Profile, Selection, TaskPrice};
use render::format::{grouped, times};
use render::{Block, Cell, Table};
use serde::Serialize;

use crate::figures::{most_of, share, signed_count};

/// Most tasks in the table.
const MOST_TASKS: usize = 10;

/// The prices of a part of a run.
#[derive(Serialize)]
pub(crate) struct MemoryData {
    machine: String,
    instructions: u64,
    price: Price,
    functions: Vec<FunctionPrice>,
    tasks: Vec<TaskPrice>,
    /// All counts of the simulator, from the restored machine to the end of the emulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_recording: Option<Outcome>,
    unreadable: u64,
}

impl MemoryData {
    pub(crate) fn of(machine: &str, profile: &Profile, selection: &Selection) -> Self {
        let prices = profile.prices();
        Self {
            machine: machine.to_owned(),
            instructions: profile.instructions_in(selection),
            price: profile.price_of(selection),
            functions: profile.function_prices(selection),
            tasks: profile.task_prices(selection),
            whole_recording: prices.map(|prices| prices.outcome.clone()),
            unreadable: prices.map_or(0, |prices| prices.unreadable),
        }
    }

    /// A sentence, the functions and the tasks.
    pub(crate) fn blocks(&self, most: usize) -> Vec<Block> {
        let Price { references, misses, walks, steps, steps_from_memory, cycles } = self.price;
        let percent = |part, whole| format!("{:.3} %", 100.0 * share(part, whole));
        let text = format!(
            "On the simulated {}: {} references, of which {} miss the first level of TLBs and {} \
             walk page tables; {} walks read {} entries, {} of them from memory. Lookups and walks \
             take {} cycles without overlap, next to {} instructions of the machine's clock.",
            self.machine,
            grouped(references),
            percent(misses, references),
            percent(walks, references),
            grouped(walks),
            grouped(steps),
            percent(steps_from_memory, steps),
            grouped(cycles),
            grouped(self.instructions),
        );
        let mut blocks =
            vec![Block::Sentence(text), self.function_table(most).into(), self.task_table().into()];
        if self.unreadable > 0 {
            let count = grouped(self.unreadable);
            let note = format!(
                "{count} pages were in no page table when they were looked up, and count as 4 KiB"
            );
            blocks.push(Block::Notes(vec![note]));
        }
        blocks
    }

    fn function_table(&self, most: usize) -> Table {
        let head = [
            "function",
            "instructions",
            "references",
            "TLB misses",
            "walks",
            "cycles",
            "share",
            "with callees",
        ];
        let caption = most_of(most, self.functions.len(), "functions, by cycles");
        let rows = self.functions.iter().take(most).map(|function| {
            [
                Cell::from(&function.name),
                Cell::grouped(function.instructions),
                Cell::grouped(function.own.references),
                Cell::grouped(function.own.misses),
                Cell::grouped(function.own.walks),
                Cell::grouped(function.own.cycles),
                Cell::Share(share(function.own.cycles, self.price.cycles)),
                Cell::Share(share(function.cycles_with_callees, self.price.cycles)),
            ]
        });
        Table::of(caption, head, rows)
    }

    fn task_table(&self) -> Table {
        let head = ["task", "references", "TLB misses", "walks", "cycles", "share"];
        let caption = most_of(MOST_TASKS, self.tasks.len(), "tasks, by cycles");
        let rows = self.tasks.iter().take(MOST_TASKS).map(|TaskPrice { task, price }| {
            [
                Cell::from(task),
                Cell::grouped(price.references),
                Cell::grouped(price.misses),
                Cell::grouped(price.walks),
                Cell::grouped(price.cycles),
                Cell::Share(share(price.cycles, self.price.cycles)),
            ]
        });
        Table::of(caption, head, rows)
    }
}

/// What translations cost in two runs, or in a command of each ([`Profile::compared`]).
#[derive(Serialize)]
pub(crate) struct MemoryDifference {
    instructions: [u64; 2],
    prices: [Price; 2],
    /// Functions that differ in cycles, the largest difference first.
    functions: Vec<FunctionPrices>,
}

/// A function in two runs; zeros where it does not occur.
#[derive(Serialize)]
struct FunctionPrices {
    name: String,
    walks: [u64; 2],
    cycles: [u64; 2],
}

impl FunctionPrices {
    fn more_cycles(&self) -> i64 {
        self.cycles[1] as i64 - self.cycles[0] as i64
    }
}

impl MemoryDifference {
    pub(crate) fn between(both: [(&Profile, &Selection); 2]) -> Self {
        let mut found: BTreeMap<String, FunctionPrices> = BTreeMap::new();
        let both = both.map(|(profile, selection)| {
            let (selection, count) = profile.compared(selection);
            (profile, selection, count)
        });
        for (index, (profile, selection, count)) in both.iter().enumerate() {
            for function in profile.function_prices(selection) {
                let own = function.own.mean_of(*count);
                let entry = found.entry(function.name.clone()).or_insert_with(|| FunctionPrices {
                    name: function.name,
                    walks: [0; 2],
                    cycles: [0; 2],
                });
                entry.walks[index] = own.walks;
                entry.cycles[index] = own.cycles;
            }
        }
        let mut functions: Vec<FunctionPrices> =
            found.into_values().filter(|it| it.cycles[0] != it.cycles[1]).collect();
        functions.sort_by_key(|it| std::cmp::Reverse(it.more_cycles().unsigned_abs()));
        Self {
            instructions: both
                .each_ref()
                .map(|(profile, selection, count)| profile.instructions_in(selection) / count),
            prices: both
                .each_ref()
                .map(|(profile, selection, count)| profile.price_of(selection).mean_of(*count)),
            functions,
        }
    }

    pub(crate) fn blocks(&self, names: [&str; 2], most: usize) -> Vec<Block> {
        let [first, second] = self.prices;
        let ratio = |first: u64, second: u64| match first {
            0 => "an undefined ratio of".to_owned(),
            _ => format!("{} the", times(second as f64 / first as f64)),
        };
        let text = format!(
            "{} has {} instructions, {} references, {} page walks and {} cycles of {} ({} to {} \
             cycles).",
            names[1],
            ratio(self.instructions[0], self.instructions[1]),
            ratio(first.references, second.references),
            ratio(first.walks, second.walks),
            ratio(first.cycles, second.cycles),
            names[0],
            grouped(first.cycles),
            grouped(second.cycles),
        );
        vec![Block::Sentence(text), self.table(most).into()]
    }

    fn table(&self, most: usize) -> Table {
        let head = ["function", "walks", "walks in the second", "cycles", "in the second", "more"];
        let caption = most_of(most, self.functions.len(), "functions that differ in cycles");
        let rows = self.functions.iter().take(most).map(|function| {
            [
                Cell::from(&function.name),
                Cell::grouped(function.walks[0]),
                Cell::grouped(function.walks[1]),
                Cell::grouped(function.cycles[0]),
                Cell::grouped(function.cycles[1]),
                Cell::Figure(signed_count(function.more_cycles())),
            ]
        });
        Table::of(caption, head, rows)
    }
}
