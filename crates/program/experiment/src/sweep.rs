//! A sweep request: fixed settings, what is varied, the knee search; and the plans that carry it
//! out, one per batch of levels.

mod quantity;
mod search;
mod text;

use std::path::Path;

use analysis::sweep::{Batch, Curve, Purpose, Range, Search, SearchSettings};
use model::units::exact_duration;
use workloads::COMMAND;

use crate::plan::{CellPlan, Design, Order, Plan, PlanError, PlanFactor, PlanLevel};
use crate::typed::{Setting, last};

pub use quantity::{Form, Quantity};
pub use search::{Sweep, parameter_of};
pub use text::{SearchArgs, parse_sweep};

/// Parameter that calibrates the loops of Irlam's program, and the size parameter for it.
const LOOPS: &str = "vmtest.loops";
const OF_SIZE: &str = "vmtest.of_size";

/// Longest time of a repetition of a command.
const COMMAND_LIMIT: &str = "command.limit";
/// Times of a command are not limited to less than this.
const LEAST_PATIENCE_NS: f64 = 1e9;
/// The most that can be set.
const MOST_PATIENCE_NS: f64 = 86_400e9;
const MILLISECOND_NS: u64 = 1_000_000;

/// A validated sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPlan {
    pub(crate) name: String,
    /// Settings of all measurements.
    pub base: Vec<Setting>,
    /// The parameter that is swept.
    pub over: String,
    /// The unit of its levels.
    pub quantity: Quantity,
    pub(crate) range: Range,
    /// The second parameter of a grid.
    pub(crate) by: Option<PlanFactor>,
    /// Settings of the knee search.
    pub settings: SearchSettings,
    /// The cost; `None` = the measure's default.
    pub(crate) response: Option<String>,
}

impl SweepPlan {
    /// The search for the knee. The error names the problem of the range or a setting.
    pub fn search(&self) -> Result<Search, PlanError> {
        Search::new(self.range, self.settings)
            .map_err(|why| PlanError::Wrong(format!("sweep: {why}")))
    }

    /// The levels of the second parameter as text; one empty text for a single curve.
    pub fn rows(&self) -> Vec<String> {
        match &self.by {
            None => vec![String::new()],
            Some(by) => by.levels.iter().map(|level| level.name.clone()).collect(),
        }
    }

    /// The plan that measures a batch at one level of the second parameter.
    ///
    /// The seed of a pass is its number from 1. On a deterministic subject with one requested
    /// seed, all levels have that one.
    pub(crate) fn plan(&self, row: usize, batch: &Batch, deterministic: bool) -> Plan {
        let levels = batch.levels.iter().map(|level| {
            let text = self.quantity.format(*level);
            let setting = (self.over.clone(), text.clone());
            PlanLevel { name: text, settings: vec![setting], build: None }
        });
        let mut factors = vec![PlanFactor { name: self.over.clone(), levels: levels.collect() }];
        factors.extend(self.by.iter().map(|by| PlanFactor {
            name: by.name.clone(),
            levels: by.levels.iter().skip(row).take(1).cloned().collect(),
        }));
        let passes = batch.first_pass..batch.first_pass + batch.passes;
        let seed = |pass: u32| match deterministic && self.settings.passes == 1 {
            true => 1,
            false => u64::from(pass) + 1,
        };
        Plan {
            name: self.name.clone(),
            design: Design::Full,
            seeds: passes.map(seed).collect(),
            order: Order::UpAndDown { first_block: batch.first_pass },
            responses: self.response.iter().cloned().collect(),
            base: self.base.clone(),
            factors,
            first_cell: row + 1,
        }
    }

    /// The cells of the coarse levels that can be set: some may be outside a parameter's range. If
    /// none can, the error lists every unknown setting or bad value.
    pub(crate) fn cells(&self, folder: &Path) -> Result<Vec<CellPlan>, PlanError> {
        let levels = self.search()?.coarse_levels();
        let batch = Batch { levels, first_pass: 0, passes: 1, purpose: Purpose::Coarse };
        let (mut all, mut problems) = (Vec::new(), Vec::new());
        for row in 0..self.rows().len() {
            let (cells, found) = self.plan(row, &batch, false).resolved(folder)?;
            all.extend(cells);
            problems.extend(found);
        }
        match all.is_empty() {
            true => Err(PlanError::Problems(problems)),
            false => Ok(all),
        }
    }

    /// Whether the loops of Irlam's program must be calibrated first: equal at all levels, so that
    /// each process does equal work.
    pub fn needs_loops(&self) -> bool {
        let is_vmtest = self.value("job") == Some(jobs::VMTEST.name);
        let zero = |text: &str| text.parse() == Ok(0_u64);
        is_vmtest && self.over != LOOPS && self.value(LOOPS).is_none_or(zero)
    }

    /// In a search for a price, the longest time of a command that is not worth waiting for: the
    /// factor from which lower levels are not tried, of what the first run takes. Far below its
    /// need a program may take thousands of times as long.
    ///
    /// A continued search has the same limit: runs at the first level have none, and only the first
    /// of them decides.
    pub(crate) fn patience(&self, batch: &Batch, curve: &Curve) -> Option<Setting> {
        let most = self.settings.find.price?.most;
        let is_open =
            self.value("job") == Some(COMMAND.name) && self.value(COMMAND_LIMIT).is_none();
        let first = curve.points.iter().filter(|_| is_open).min_by_key(|point| point.pass)?;
        if batch.levels == [first.level] {
            return None;
        }
        let longest_ns = first.figures.get("elapsed_ns")? * most;
        let limit_ns = longest_ns.clamp(LEAST_PATIENCE_NS, MOST_PATIENCE_NS) as u64;
        Some((COMMAND_LIMIT.to_owned(), exact_duration(limit_ns.next_multiple_of(MILLISECOND_NS))))
    }

    /// The name under which a run at a level is kept that was observed, and does not count as a measurement.
    pub fn observed_name(&self, level: f64) -> String {
        format!("observed-{}", self.quantity.format(level))
    }

    /// The plan of the calibration run: the smallest work, sized for the largest.
    pub(crate) fn calibration(&self) -> Plan {
        let (low, high) =
            (self.range.first.min(self.range.last), self.range.first.max(self.range.last));
        let levels = vec![low];
        let batch = Batch { levels, first_pass: 0, passes: 1, purpose: Purpose::Coarse };
        let mut plan = self.plan(0, &batch, false);
        if self.over == "vmtest.size" && self.value(OF_SIZE).is_none() {
            let value = self.quantity.format(high);
            plan.base.push((OF_SIZE.to_owned(), value));
        }
        plan
    }

    /// The sweep with calibrated loops.
    pub(crate) fn with_loops(mut self, loops: u64) -> Self {
        self.base.retain(|(parameter, _)| parameter != LOOPS);
        self.base.push((LOOPS.to_owned(), loops.to_string()));
        self
    }

    /// The calibrated loops, if they are set.
    pub(crate) fn loops(&self) -> Option<u64> {
        self.value(LOOPS)?.parse().ok().filter(|loops| *loops > 0)
    }

    /// Whether another sweep measures the same parameters with the same settings. Range, passes
    /// and resolution may differ.
    pub(crate) fn measures_as(&self, other: &Self) -> bool {
        let base = |plan: &Self| {
            let mut base = plan.base.clone();
            base.sort();
            base
        };
        (&self.over, &self.by, base(self)) == (&other.over, &other.by, base(other))
    }

    fn value(&self, parameter: &str) -> Option<&str> {
        last(&self.base, parameter)
    }
}

#[cfg(test)]
mod tests;
