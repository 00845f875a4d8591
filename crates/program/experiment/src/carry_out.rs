//! Carrying out a plan: its missing runs, in plan order.

use std::collections::BTreeMap;
use std::path::Path;

use model::{MANIFEST_SCHEMA, Manifest, ManifestFactor};

use crate::deterministic::Deterministic;
use crate::driver::Driver;
use crate::error::Result;
use crate::execute::{Execution, has_ended, is_of_machine};
use crate::laboratory::Laboratory;
use crate::machines::{Executor, Order};
use crate::plan::{Design, Plan};
use crate::run_result::{RunResult, run_of, set_aside};
use crate::segment::Segment;

/// The result of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunTally {
    /// Runs that the folder already had.
    pub found: usize,
    /// Runs executed or taken from the cache.
    pub made: usize,
    /// Runs that could not be executed, with the reasons.
    pub refused: BTreeMap<String, String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// The manifest of a plan.
pub(crate) fn manifest(plan: &Plan, text: &str) -> Manifest {
    Manifest {
        schema: MANIFEST_SCHEMA,
        thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
        name: plan.name.clone(),
        factors: factors(plan),
        responses: plan.responses.clone(),
        aliases: aliases(plan),
        runs: plan.runs().into_iter().map(|(_, run)| run).collect(),
        sweep: None,
        ab: None,
        plan: text.to_owned(),
    }
}

/// The factors of a plan with their levels by name.
pub(crate) fn factors(plan: &Plan) -> Vec<ManifestFactor> {
    let factors = plan.factors.iter().map(|factor| ManifestFactor {
        name: factor.name.clone(),
        levels: factor.levels.iter().map(|level| level.name.clone()).collect(),
    });
    factors.collect()
}

/// The aliased effects of the plan's fraction, one per line.
pub(crate) fn aliases(plan: &Plan) -> Vec<String> {
    let Design::Fraction(resolution) = plan.design else { return Vec::new() };
    let Ok(fraction) = plan.fraction(resolution) else { return Vec::new() };
    let name = |effect: &Vec<usize>| {
        let names: Vec<&str> =
            effect.iter().map(|factor| plan.factors[*factor].name.as_str()).collect();
        names.join(" x ")
    };
    let line = |(effect, others): &(Vec<usize>, Vec<Vec<usize>>)| {
        let others: Vec<String> = others.iter().map(name).collect();
        format!("{} = {}", name(effect), others.join(" = "))
    };
    fraction.aliases.iter().map(line).collect()
}

/// The state of an experiment before any run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// Runs that the folder has.
    pub found: usize,
    /// Runs that come from the cache.
    pub cached: usize,
    /// Runs to execute on this host or others, one at a time, and the longest planned time in ns.
    pub on_host: (usize, u64),
    /// Runs to execute in guests, and the longest planned virtual time in ns.
    pub in_guests: (usize, u64),
    /// Runs to simulate.
    pub simulated: usize,
}

impl Laboratory {
    /// Executes the runs missing from the folder: on this host and others one at a time in plan
    /// order, in guests and simulations several at a time. A run that is refused, dies or times
    /// out is part of the result. Everything set up for them is removed.
    pub(crate) fn carry_out(&mut self, folder: &Path, driver: &mut Driver<'_>) -> Result<RunTally> {
        let carried = self.make_missing(folder, driver);
        self.machines.close(driver);
        carried
    }

    /// As [`Laboratory::carry_out`], but everything stays set up.
    pub(crate) fn make_missing(
        &mut self,
        folder: &Path,
        driver: &mut Driver<'_>,
    ) -> Result<RunTally> {
        let mut carried = RunTally::default();
        let (mut measured, mut virtual_ones) = (Vec::new(), Vec::new());
        for order in self.orders() {
            if self.has_finished(&order, folder)? {
                carried.found += 1;
                continue;
            }
            set_aside(folder, &order.run_id)?;
            let missing = if order.at.is_measured() { &mut measured } else { &mut virtual_ones };
            missing.push(order);
        }
        for orders in [&measured, &virtual_ones] {
            if orders.is_empty() || carried.interrupted {
                continue;
            }
            let machines = &mut self.machines;
            let execution = Execution { machines, orders, folder, settles_first: true };
            carried.interrupted = execution.run(driver, &mut |order, made| {
                match made {
                    RunResult::Run { .. } => carried.made += 1,
                    RunResult::Refused(reason) => {
                        carried.refused.insert(order.run_id.clone(), reason);
                    }
                }
                Ok(())
            })?;
        }
        Ok(carried)
    }

    /// The state of the experiment in a folder. Fails when a run file in it cannot be read.
    pub fn outlook(&self, folder: &Path) -> Result<Outlook> {
        let mut outlook = Outlook::default();
        for order in self.orders() {
            let maker = self.machines.deterministic(order.at);
            let (runs, total_ns) = match order.at {
                _ if self.has_finished(&order, folder)? => (&mut outlook.found, None),
                Executor::Stage | Executor::Remote(_) => {
                    (&mut outlook.on_host.0, Some(&mut outlook.on_host.1))
                }
                _ if maker.map_or(Ok(false), |maker| maker.has(&order.spec))? => {
                    (&mut outlook.cached, None)
                }
                Executor::Guest(_) => (&mut outlook.in_guests.0, Some(&mut outlook.in_guests.1)),
                Executor::Simulator => (&mut outlook.simulated, None),
            };
            *runs += 1;
            if let Some(total_ns) = total_ns {
                let longest_ns = Segment::new(String::new(), &order.spec).longest_ns;
                *total_ns = total_ns.saturating_add(longest_ns);
            }
        }
        Ok(outlook)
    }

    pub(crate) fn orders(&self) -> Vec<Order> {
        let runs = self.plan.runs().into_iter().zip(0_u32..);
        runs.map(|((index, run), position)| {
            let (cell, (at, subject)) = (&self.cells[index], &self.places[index]);
            let (block, order) = match at.is_measured() {
                true => (run.block, position),
                // They are meaningless where nothing drifts, and would make it another cell.
                false => (0, 0),
            };
            let spec = cell.spec(subject.clone(), run.seed, block, order);
            let levels: Vec<&str> = cell.named.iter().map(|(_, level)| level.as_str()).collect();
            Order { run_id: run.run_id, label: levels.join(" "), cell: index, spec, at: *at }
        })
        .collect()
    }

    /// Whether the folder has this run, ended by itself and built from what the plan now names.
    pub(crate) fn has_finished(&self, order: &Order, folder: &Path) -> Result<bool> {
        let Some((_, run)) = run_of(folder, &order.run_id)? else { return Ok(false) };
        let Some(header) = &run.header else { return Ok(false) };
        let facts = &header.environment;
        let same_machine = match self.machines.deterministic(order.at).map(Deterministic::fact) {
            Some((name, value)) => facts.get(name) == Some(&value),
            None => is_of_machine(facts, self.machines.address(order.at).as_deref()),
        };
        let is_of_cell = self.cells[order.cell].describes(&header.spec);
        Ok(has_ended(&run) && same_machine && is_of_cell && header.spec.seed == order.spec.seed)
    }
}
