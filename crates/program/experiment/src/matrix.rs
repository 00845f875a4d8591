//! The responsiveness matrix: each load once, interleaved with parts of the no-load baseline, so
//! that machine drift affects both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{BASELINE, EndStatus, Measure, Run, Spec, SubjectSpec, Timing};

use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::execute::{Execution, has_ended, is_of_machine};
use crate::job::{as_planned, load_spec};
use crate::machines::{Executor, Machines, Order};
use crate::plan::{CellPlan, check_volume};
use crate::run_result::{RunResult, run_of, set_aside};
use crate::segment::pieces;

/// The baseline gets this many times the points of a load, shared among its parts: it is cheap,
/// and every ratio depends on it.
const BASELINE_SHARE: u32 = 2;

/// The plan of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixPlan {
    /// The loads besides the baseline, in order.
    loads: Vec<String>,
    /// Where, what and how long is timed under each load; its load is that of every run except for
    /// the name.
    cell: CellPlan,
    /// Seeds; the whole matrix is run once with each.
    seeds: Vec<u64>,
}

impl MatrixPlan {
    /// The plan of a cell under these loads. None means the load of the cell, else all for a probe
    /// and none for a job. Fails for a load that does nothing at the cell's volume.
    pub fn new(chosen: &[String], cell: CellPlan, seeds: Vec<u64>) -> Result<Self, String> {
        let chosen: Vec<&str> = match (chosen, &cell.measure) {
            ([_, ..], _) => chosen.iter().map(String::as_str).collect(),
            _ if cell.load.name != BASELINE => vec![&cell.load.name],
            (_, Measure::Probe(_)) => workloads::loads().map(|load| load.name).collect(),
            _ => Vec::new(),
        };
        let mut loads: Vec<String> = Vec::new();
        for name in chosen {
            // The baseline is always included, and a load named twice counts once.
            if name != BASELINE && !loads.iter().any(|load| load == name) {
                check_volume(&load_spec(name, cell.load.intensity))?;
                loads.push(name.to_owned());
            }
        }
        Ok(Self { loads, cell, seeds })
    }

    /// What is timed under each load.
    pub fn measure(&self) -> &Measure {
        &self.cell.measure
    }

    /// The runs in order: per seed a part of the baseline, then each load followed by the next
    /// part. A job has no parts: per seed the baseline and each load.
    fn runs(&self, subject: &SubjectSpec) -> Vec<Spec> {
        let mut runs = if self.has_pieces() { Vec::new() } else { self.cells(subject) };
        let pieces = self.loads.len() as u32 + 1;
        let points = self.points();
        let piece_points = (self.baseline_share() * points).div_ceil(pieces);
        let with_pieces = self.seeds.iter().zip(0..).filter(|_| self.has_pieces());
        for (seed, pass) in with_pieces {
            let piece = |index: u32| {
                self.spec(subject, BASELINE, *seed, piece_points, pass * pieces + index)
            };
            runs.push(piece(0));
            for (load, next) in self.loads.iter().zip(1..) {
                runs.push(self.spec(subject, load, *seed, points, pass));
                runs.push(piece(next));
            }
        }
        runs.iter_mut().zip(0..).for_each(|(run, order)| run.order = order);
        runs
    }

    /// Whether the baseline is divided: interactions of a probe and repetitions of a command.
    fn has_pieces(&self) -> bool {
        matches!(self.cell.measure, Measure::Probe(_) | Measure::Command(_))
    }

    /// Interactions of a probe, or repetitions of the user's commands (0 = until they are known).
    fn points(&self) -> u32 {
        match &self.cell.measure {
            Measure::Command(command) => u32::try_from(command.runs()).unwrap_or(u32::MAX),
            measure => pieces(measure, &self.cell.timing).0,
        }
    }

    /// A command without loads is repeated as often as the user says.
    fn baseline_share(&self) -> u32 {
        if self.cell.measure.is_probe() || self.has_pieces() && !self.loads.is_empty() {
            BASELINE_SHARE
        } else {
            1
        }
    }

    /// The cells of a deterministic machine: each load once per seed. Nothing drifts there, so the
    /// baseline is not split, and a cell has neither block nor order.
    fn cells(&self, subject: &SubjectSpec) -> Vec<Spec> {
        let (points, share) = (self.points(), self.baseline_share());
        let mut cells = Vec::new();
        for seed in &self.seeds {
            cells.push(self.spec(subject, BASELINE, *seed, share * points, 0));
            let loads = self.loads.iter();
            cells.extend(loads.map(|load| self.spec(subject, load, *seed, points, 0)));
        }
        cells
    }

    fn spec(&self, subject: &SubjectSpec, load: &str, seed: u64, points: u32, block: u32) -> Spec {
        let spec = self.cell.spec(subject.clone(), seed, block, 0);
        let load = load_spec(load, self.cell.load.intensity);
        let mut measure = spec.measure;
        match &mut measure {
            Measure::Command(command) => {
                command.set_runs(u64::from(points));
                Spec { load, measure, ..spec }
            }
            _ => Spec { load, measure, timing: Timing { points, ..spec.timing }, ..spec },
        }
    }

    fn orders(&self, at: Executor, subject: &SubjectSpec) -> Vec<Order> {
        let runs = match at.is_measured() {
            true => self.runs(subject),
            false => self.cells(subject),
        };
        let order = |(cell, spec): (usize, Spec)| {
            let load = &spec.load.name;
            // A cell's name is the same in every matrix, and in the order of all loads.
            let run_id = match at.is_measured() {
                true => format!("{:03}-{load}", cell + 1),
                false => {
                    let place = workloads::loads_and_provocations()
                        .position(|known| known.name == load)
                        .unwrap_or(0);
                    format!("{:03}-{load}-seed{}", place + 1, spec.seed)
                }
            };
            Order { run_id, label: load.clone(), cell, spec, at }
        };
        runs.into_iter().enumerate().map(order).collect()
    }
}

#[derive(Debug, Default)]
pub struct MatrixResult {
    /// The runs in order, with their files.
    pub runs: Vec<(PathBuf, Run)>,
    /// Loads that could not be run, with the reasons.
    pub skipped: BTreeMap<String, String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

impl Driver<'_> {
    /// Executes the runs missing from the folder, and cleans up. Fails when the machine is
    /// unavailable or fails, results cannot be written, or the baseline cannot be measured.
    /// Another load that cannot run, dies or times out is part of the result.
    pub fn measure_matrix(&mut self, plan: &MatrixPlan, folder: &Path) -> Result<MatrixResult> {
        let mut machines = Machines::default();
        let (at, subject) = machines.place(&plan.cell, folder, self)?;
        let result = self.matrix_runs(&mut machines, plan.orders(at, &subject), folder);
        machines.close(self);
        result
    }

    fn matrix_runs(
        &mut self,
        machines: &mut Machines,
        orders: Vec<Order>,
        folder: &Path,
    ) -> Result<MatrixResult> {
        let (mut result, mut runs) = (MatrixResult::default(), BTreeMap::new());
        let mut take = |order: &Order, made: RunResult| match made {
            RunResult::Run { path, run, death } => {
                let failed = !run.is_measured() && run.status() != EndStatus::Interrupted;
                if failed && is_needed(order) {
                    return Err(no_baseline(&why_not(&run, death)));
                }
                // Where several run at a time, in name order, whichever was first.
                let place = if order.at.is_measured() { order.cell } else { 0 };
                runs.insert((place, path), *run);
                Ok(())
            }
            RunResult::Refused(reason) if is_needed(order) => Err(no_baseline(&reason)),
            RunResult::Refused(reason) => {
                // The baseline has other parts.
                if order.spec.load.name != BASELINE {
                    result.skipped.insert(order.spec.load.name.clone(), reason);
                }
                Ok(())
            }
        };
        let mut missing = Vec::new();
        for order in orders {
            match order.at.is_measured().then(|| found(machines, &order, folder)).transpose()? {
                Some(Some(made)) => take(&order, made)?,
                _ => missing.push(order),
            }
        }
        let settles_first = false;
        let execution = Execution { machines, orders: &missing, folder, settles_first };
        result.interrupted = execution.run(self, &mut take)?;
        result.runs = runs.into_iter().map(|((_, path), run)| (path, run)).collect();
        result.interrupted |=
            result.runs.iter().any(|(_, run)| run.status() == EndStatus::Interrupted);
        Ok(result)
    }
}

/// Whether nothing can be compared without a run: the first one, or an unsplit baseline.
fn is_needed(order: &Order) -> bool {
    match order.at.is_measured() {
        true => order.cell == 0,
        false => order.spec.load.name == BASELINE,
    }
}

fn no_baseline(why: &str) -> ExperimentError {
    ExperimentError::NotMeasured(format!("noload cannot be measured: {why}"))
}

/// Why a run has no measurement: the agent's message, or the last note of the run.
fn why_not(run: &Run, death: Option<String>) -> String {
    let note = run.lines.iter().rev().find_map(|line| line.note().map(str::to_owned));
    death.or(note).unwrap_or_else(|| format!("the run ended as {:?}", run.status()))
}

/// The run of an earlier invocation in this folder; an unfinished one is renamed.
fn found(machines: &Machines, order: &Order, folder: &Path) -> Result<Option<RunResult>> {
    let Some((path, run)) = run_of(folder, &order.run_id)? else { return Ok(None) };
    let address = machines.address(order.at);
    let is_this = run.header.as_ref().is_some_and(|header| {
        is_of_machine(&header.environment, address.as_deref())
            && as_planned(&order.spec) == as_planned(&header.spec)
    });
    if has_ended(&run) && !is_this {
        return Err(ExperimentError::NotMeasured(format!(
            "{} is a run of other arguments; name another folder with --output DIR",
            path.display()
        )));
    }
    if !has_ended(&run) {
        set_aside(folder, &order.run_id)?;
        return Ok(None);
    }
    Ok(Some(RunResult::Run { path, run: Box::new(run), death: None }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::timing;
    use crate::segment::Segment;

    const HOST: SubjectSpec = SubjectSpec::Host { memory_bytes: 1 << 30 };

    fn profile(name: &str) -> Timing {
        timing(Some(name), None, &Default::default()).unwrap()
    }

    fn cell(settings: &[(&str, &str)]) -> CellPlan {
        let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        CellPlan::typed(None, Default::default(), &settings.collect::<Vec<_>>()).unwrap()
    }

    fn plan(loads: &[&str], points: u32) -> MatrixPlan {
        MatrixPlan {
            loads: loads.iter().map(|load| (*load).to_owned()).collect(),
            cell: CellPlan { timing: Timing { points, ..profile("quick") }, ..cell(&[]) },
            seeds: vec![1],
        }
    }

    #[test]
    fn the_baseline_surrounds_every_load() {
        let segments = plan(&["cpuload", "spawnload"], 5).runs(&HOST);
        assert_eq!(
            plan(&["cpuload"], 5)
                .cells(&HOST)
                .iter()
                .map(|cell| cell.timing.points)
                .collect::<Vec<_>>(),
            [10, 5]
        );
        let order: Vec<(&str, u32, u32)> = segments
            .iter()
            .map(|made| (made.load.name.as_str(), made.timing.points, made.block))
            .collect();
        assert_eq!(
            order,
            [
                ("noload", 4, 0),
                ("cpuload", 5, 0),
                ("noload", 4, 1),
                ("spawnload", 5, 0),
                ("noload", 4, 2)
            ]
        );
    }

    #[test]
    fn a_job_is_done_once_under_each_load_with_each_seed() {
        let cell = cell(&[("job", "session"), ("session.users", "2")]);
        let plan = MatrixPlan { cell, seeds: vec![1, 2], ..plan(&["cpuload"], 5) };
        let segments = plan.runs(&HOST);
        let order: Vec<(&str, u64, u32)> = segments
            .iter()
            .map(|made| (made.load.name.as_str(), made.seed, made.timing.points))
            .collect();
        assert_eq!(
            order,
            [("noload", 1, 32), ("cpuload", 1, 32), ("noload", 2, 32), ("cpuload", 2, 32)]
        );
    }

    #[test]
    fn profiles_keep_their_promises() {
        let loads = ["smallwrite", "largewrite", "cpuload", "spawnload", "8ctx-mem", "2ctx-mem"];
        for (name, limit_s) in [("quick", 60), ("default", 180)] {
            let mut all = plan(&loads, 1);
            all.cell.timing = profile(name);
            let runs = all.runs(&HOST);
            let longest_ns: u64 =
                runs.iter().map(|run| Segment::new(String::new(), run).longest_ns).sum();
            assert!(longest_ns < limit_s * 1_000_000_000, "{name}: {longest_ns} ns");
        }
    }
}
