//! Carrying out a plan: the runs that are not there yet, in the order of the plan.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agent::Waiter;
use model::{MANIFEST_SCHEMA, Manifest, ManifestFactor, ManifestRun, Spec, SubjectSpec};
use store::results::{SUFFIX, read_run};

use crate::bench::{Bench, has_ended, is_of_machine};
use crate::error::ExperimentError;
use crate::event::Event;
use crate::laboratory::{Laboratory, Place};
use crate::made::{Made, set_aside};
use crate::plan::{CellPlan, Design, Plan, PlannedRun};
use crate::pool::{Engine, EngineCell, Told, run_cells};
use crate::segment::{Segment, longest_ns, pieces};
use crate::simulated::{SIMULATOR, simulator};
use crate::subject_arg::SubjectArg;

/// What came of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// How many runs its folder had already.
    pub found: usize,
    /// How many were made or taken from the cache.
    pub made: usize,
    /// Runs that could not be made, with the reasons.
    pub refused: BTreeMap<String, String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// The manifest of a plan.
#[must_use]
pub fn manifest(plan: &Plan, cells: &[CellPlan], text: &str) -> Manifest {
    let factors = plan.factors.iter().map(|factor| ManifestFactor {
        name: factor.name.clone(),
        levels: factor.levels.iter().map(|level| level.name.clone()).collect(),
    });
    let runs = plan.runs(cells).into_iter().map(|run| ManifestRun {
        levels: cells[run.cell].named.iter().cloned().collect(),
        run_id: run.run_id,
        block: run.block,
        seed: run.seed,
    });
    Manifest {
        schema: MANIFEST_SCHEMA,
        thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
        name: plan.name.clone(),
        factors: factors.collect(),
        responses: plan.responses.clone(),
        aliases: aliases(plan),
        runs: runs.collect(),
        sweep: None,
        plan: text.to_owned(),
    }
}

/// What cannot be told apart in the plan's fraction, an effect a line.
#[must_use]
pub fn aliases(plan: &Plan) -> Vec<String> {
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

/// Makes the runs of a laboratory's plan that a folder does not have yet.
///
/// Runs on this host and on others are made one at a time in the order of the plan; guests and
/// simulations several at a time.
///
/// # Errors
/// When stage, QEMU or results fail. A run that is refused, dies or times out is part of the
/// result.
pub fn carry_out(
    lab: &mut Laboratory,
    jobs: usize,
    folder: &Path,
    waiter: &Waiter,
    on_event: &mut dyn FnMut(&Event<'_>),
) -> Result<Carried, ExperimentError> {
    let mut carried = Carried::default();
    let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
    for run in lab.orders() {
        if lab.finished(&run, folder)? {
            carried.found += 1;
            continue;
        }
        set_aside(folder, &run.run.run_id)?;
        if run.at.is_measured() { here.push(run) } else { elsewhere.push(run) }
    }
    if !here.is_empty() {
        on_benches(lab, &here, folder, waiter, on_event, &mut carried)?;
    }
    if !elsewhere.is_empty() && !carried.interrupted {
        on_engines(lab, &elsewhere, jobs, folder, waiter, on_event, &mut carried)?;
    }
    Ok(carried)
}

/// How far an experiment is, before any run is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// Runs that the folder has.
    pub found: usize,
    /// Runs that come from the cache.
    pub cached: usize,
    /// Runs that are to be made on this host or others, one at a time, and the longest time that
    /// they are meant to take, in ns.
    pub on_host: (usize, u64),
    /// Runs that are to be made in guests, and the longest virtual time that they are meant to
    /// take, in ns.
    pub in_guests: (usize, u64),
    /// Runs that are to be simulated.
    pub simulated: usize,
}

/// Looks how far an experiment is.
///
/// # Errors
/// When a run file in the folder cannot be read.
pub fn outlook(lab: &Laboratory, folder: &Path) -> Result<Outlook, ExperimentError> {
    let mut outlook = Outlook::default();
    for run in lab.orders() {
        let longest = segment(&lab.cells[run.run.cell], &run.run).longest_ns;
        match run.at {
            _ if lab.finished(&run, folder)? => outlook.found += 1,
            At::Guest(machine) if lab.machines[machine].1.has_cell(&run.spec)? => {
                outlook.cached += 1;
            }
            At::Simulator if lab.has_simulated(&run.spec) => outlook.cached += 1,
            At::Guest(_) => add(&mut outlook.in_guests, longest),
            At::Simulator => outlook.simulated += 1,
            At::Stage | At::Remote(_) => add(&mut outlook.on_host, longest),
        }
    }
    Ok(outlook)
}

fn add((runs, total_ns): &mut (usize, u64), longest_ns: u64) {
    *runs += 1;
    *total_ns = total_ns.saturating_add(longest_ns);
}

/// A run with all that it needs.
pub(crate) struct Order {
    pub(crate) run: PlannedRun,
    pub(crate) spec: Spec,
    pub(crate) at: At,
}

/// What makes a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Stage,
    /// The session of this index.
    Remote(usize),
    /// The machine of this index.
    Guest(usize),
    Simulator,
}

impl At {
    /// Whether it is a real machine, which takes part in what it makes.
    fn is_measured(self) -> bool {
        matches!(self, Self::Stage | Self::Remote(_))
    }
}

impl Laboratory {
    /// All runs of the plan in their order.
    pub(crate) fn orders(&self) -> Vec<Order> {
        let runs = self.plan.runs(&self.cells).into_iter().enumerate();
        runs.map(|(position, run)| {
            let cell = &self.cells[run.cell];
            match &self.places[run.cell] {
                Place::Stage(subject) => {
                    let spec = cell.spec(subject.clone(), run.seed, run.block, position as u32);
                    Order { run, spec, at: At::Stage }
                }
                Place::Remote(session, subject) => {
                    let spec = cell.spec(subject.clone(), run.seed, run.block, position as u32);
                    Order { run, spec, at: At::Remote(*session) }
                }
                Place::Guest(machine) => {
                    let subject = SubjectSpec::Vm(Box::new(self.machines[*machine].0.clone()));
                    // Block and order mean nothing where nothing drifts, and would make it another
                    // cell.
                    let spec = cell.spec(subject, run.seed, 0, 0);
                    Order { run, spec, at: At::Guest(*machine) }
                }
                Place::Simulator(mmu) => {
                    let spec = cell.spec(SubjectSpec::Mmu(mmu.clone()), run.seed, 0, 0);
                    Order { run, spec, at: At::Simulator }
                }
            }
        })
        .collect()
    }

    /// Whether the folder has this run: ended by itself, and made of what the plan now names.
    pub(crate) fn finished(&self, order: &Order, folder: &Path) -> Result<bool, ExperimentError> {
        let path = file(folder, &order.run.run_id);
        if !path.exists() {
            return Ok(false);
        }
        let run = read_run(&path)?;
        let Some(header) = &run.header else { return Ok(false) };
        let is_fact = |name: &str, value: &str| {
            header.environment.get(name).is_some_and(|fact| fact == value)
        };
        let same_machine = match order.at {
            At::Stage => is_of_machine(&header.environment, None),
            At::Remote(session) => {
                let address = self.sessions[session].1.address().to_string();
                is_of_machine(&header.environment, Some(&address))
            }
            At::Guest(machine) => is_fact("vm_machine_blake3", self.machines[machine].1.key()),
            At::Simulator => is_fact(SIMULATOR, &simulator()),
        };
        let is_of_cell = self.cells[order.run.cell].describes(&header.spec);
        Ok(has_ended(&run) && same_machine && is_of_cell && header.spec.seed == order.run.seed)
    }
}

fn file(folder: &Path, run_id: &str) -> PathBuf {
    folder.join(format!("{run_id}{SUFFIX}"))
}

/// A run as progress shows it.
fn segment(cell: &CellPlan, run: &PlannedRun) -> Segment {
    let levels: Vec<&str> = cell.named.iter().map(|(_, level)| level.as_str()).collect();
    let (points, unit) = pieces(&cell.measure, &cell.timing);
    let is_simulated = matches!(cell.subject, Some(SubjectArg::Mmu(_)));
    let longest_ns = match is_simulated {
        true => 0,
        false => longest_ns(&cell.measure, &cell.timing, &cell.load.name),
    };
    Segment {
        label: levels.join(" "),
        load: cell.load.name.clone(),
        seed: run.seed,
        points,
        unit,
        block: run.block,
        longest_ns,
    }
}

fn planned(segments: &[Segment], is_virtual: bool, on_event: &mut dyn FnMut(&Event<'_>)) {
    let longest_ns = segments.iter().map(|segment| segment.longest_ns).sum();
    on_event(&Event::Planned { segments, longest_ns, is_virtual });
}

/// The runs of real machines, one at a time.
fn on_benches(
    lab: &mut Laboratory,
    runs: &[Order],
    folder: &Path,
    waiter: &Waiter,
    on_event: &mut dyn FnMut(&Event<'_>),
    carried: &mut Carried,
) -> Result<(), ExperimentError> {
    let cells = &lab.cells;
    let segments: Vec<Segment> =
        runs.iter().map(|order| segment(&cells[order.run.cell], &order.run)).collect();
    planned(&segments, false, on_event);
    for (index, Order { run, spec, at }) in runs.iter().enumerate() {
        let mut bench = match (at, &mut lab.stage) {
            (At::Remote(session), _) => Bench::Remote(&mut lab.sessions[*session].1),
            (_, Some(stage)) => Bench::Stage(stage),
            (_, None) => return Ok(()),
        };
        bench.settle(waiter);
        if waiter.stop_requested() {
            break;
        }
        on_event(&Event::Started { index, segment: &segments[index] });
        let made = bench.run(spec, &run.run_id, index, folder, waiter, on_event)?;
        carried.interrupted |= waiter.stop_requested();
        take(carried, index, &run.run_id, made, false, on_event);
    }
    carried.interrupted |= waiter.stop_requested();
    Ok(())
}

fn on_engines(
    lab: &Laboratory,
    runs: &[Order],
    jobs: usize,
    folder: &Path,
    waiter: &Waiter,
    on_event: &mut dyn FnMut(&Event<'_>),
    carried: &mut Carried,
) -> Result<(), ExperimentError> {
    let segments: Vec<Segment> =
        runs.iter().map(|order| segment(&lab.cells[order.run.cell], &order.run)).collect();
    planned(&segments, true, on_event);
    let cell = |order: &Order| {
        let engine = match order.at {
            At::Guest(machine) => Engine::Guest(&lab.machines[machine].1),
            At::Stage | At::Remote(_) | At::Simulator => Engine::Simulator(lab.simulated.as_ref()),
        };
        EngineCell { engine, spec: order.spec.clone(), run_id: order.run.run_id.clone() }
    };
    let cells: Vec<EngineCell<'_>> = runs.iter().map(cell).collect();
    let mut hear = |index: usize, told: Told, interrupted: bool| {
        match told {
            Told::Started => on_event(&Event::Started { index, segment: &segments[index] }),
            Told::Line(line) => on_event(&Event::Line { index, line: &line }),
            Told::Ended(made, cached) => {
                carried.interrupted |= interrupted;
                take(carried, index, &runs[index].run.run_id, *made, cached, on_event);
            }
        }
        Ok(())
    };
    let interrupted = run_cells(&cells, jobs, folder, waiter, &mut hear)?;
    carried.interrupted |= interrupted;
    Ok(())
}

/// Counts what came of a run.
fn take(
    carried: &mut Carried,
    index: usize,
    run_id: &str,
    made: Made,
    cached: bool,
    on_event: &mut dyn FnMut(&Event<'_>),
) {
    match made {
        Made::Run { path, run, .. } => {
            carried.made += 1;
            on_event(&Event::Ended { index, status: run.status(), path: &path, cached });
        }
        Made::Refused(_) if carried.interrupted => {}
        Made::Refused(reason) => {
            on_event(&Event::Skipped { index, reason: &reason });
            carried.refused.insert(run_id.to_owned(), reason);
        }
    }
}
