//! The responsiveness matrix: each load once, with pieces of the no-load baseline in between, so
//! that a drift of the machine falls on both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agent::Waiter;
use model::{BASELINE, EndStatus, LoadSpec, Measure, Run, Spec, SubjectSpec, Timing};
use store::results::{SUFFIX, read_run};

use crate::bench::{Bench, has_ended, is_of_machine};
use crate::error::ExperimentError;
use crate::event::Event;
use crate::job::is_measure;
use crate::made::{Made, set_aside};
use crate::segment::{Segment, longest_ns, pieces};

/// The baseline gets this many times the points of a load, shared among its pieces: it is cheap,
/// and every ratio depends on it.
const BASELINE_SHARE: u32 = 2;

/// What a matrix is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixPlan {
    /// Where it runs.
    pub subject: SubjectSpec,
    /// The loads beside the baseline, in their order.
    pub loads: Vec<String>,
    /// What is timed under each load.
    pub measure: Measure,
    /// The times under each load.
    pub timing: Timing,
    /// Dose of every load.
    pub intensity: f64,
    /// Seeds of everything random; the whole matrix is made once with each.
    pub seeds: Vec<u64>,
}

impl MatrixPlan {
    /// The segments in their order: for each seed a piece of the baseline, then each load followed
    /// by the next piece. Of a job, which has no pieces, for each seed the baseline and each load.
    #[must_use]
    pub fn segments(&self) -> Vec<Segment> {
        if let Measure::Job(_) = &self.measure {
            return self.cells();
        }
        let pieces = self.loads.len() as u32 + 1;
        let piece_points = (BASELINE_SHARE * self.timing.points).div_ceil(pieces).max(1);
        let mut segments = Vec::new();
        for (pass, seed) in self.seeds.iter().enumerate() {
            let (pass, seed) = (pass as u32, *seed);
            let piece =
                |index: u32| self.segment(BASELINE, seed, piece_points, pass * pieces + index);
            segments.push(piece(0));
            for (index, load) in self.loads.iter().enumerate() {
                segments.push(self.segment(load, seed, self.timing.points, pass));
                segments.push(piece(index as u32 + 1));
            }
        }
        segments
    }

    /// The cells of a deterministic machine: each load once with each seed. Nothing drifts there,
    /// so the baseline is one piece.
    #[must_use]
    pub fn cells(&self) -> Vec<Segment> {
        let (baseline_points, points) = match &self.measure {
            Measure::Probe(_) => (BASELINE_SHARE * self.timing.points, self.timing.points),
            Measure::Job(_) => {
                let (commands, _) = pieces(&self.measure, &self.timing);
                (commands, commands)
            }
        };
        let mut cells = Vec::new();
        for seed in &self.seeds {
            cells.push(self.segment(BASELINE, *seed, baseline_points, 0));
            let loads = self.loads.iter();
            cells.extend(loads.map(|load| self.segment(load, *seed, points, 0)));
        }
        cells
    }

    fn segment(&self, load: &str, seed: u64, points: u32, block: u32) -> Segment {
        let timing = Timing { points, ..self.timing.clone() };
        Segment {
            label: load.to_owned(),
            load: load.to_owned(),
            seed,
            points,
            unit: pieces(&self.measure, &timing).1,
            block,
            longest_ns: longest_ns(&self.measure, &timing, load),
        }
    }

    /// The full description of one segment.
    #[must_use]
    pub fn spec(&self, segment: &Segment, order: usize) -> Spec {
        Spec {
            subject: self.subject.clone(),
            load: LoadSpec {
                name: segment.load.clone(),
                version: workloads::find_load(&segment.load).map_or(0, |load| load.version),
                intensity: self.intensity,
                params: BTreeMap::new(),
            },
            measure: self.measure.clone(),
            timing: Timing { points: segment.points, ..self.timing.clone() },
            sysctls: BTreeMap::new(),
            seed: segment.seed,
            block: segment.block,
            order: order as u32,
        }
    }
}

/// What came of a matrix.
#[derive(Debug, Default)]
pub struct MatrixResult {
    /// The runs in their order, with their files.
    pub runs: Vec<(PathBuf, Run)>,
    /// Loads that could not be run, with the reasons.
    pub skipped: BTreeMap<String, String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Makes all runs of a matrix, one after the other, and writes them into a folder.
///
/// # Errors
/// When the stage, the other machine or the results fail. A load that cannot run here, dies, or
/// times out is part of the result.
pub fn run_matrix(
    bench: &mut Bench<'_>,
    plan: &MatrixPlan,
    folder: &Path,
    waiter: &Waiter,
    on_event: &mut dyn FnMut(&Event<'_>),
) -> Result<MatrixResult, ExperimentError> {
    let segments = plan.segments();
    let longest_ns = segments.iter().map(|segment| segment.longest_ns).sum();
    on_event(&Event::Planned { segments: &segments, longest_ns, is_virtual: false });
    let mut result = MatrixResult::default();
    for (index, segment) in segments.iter().enumerate() {
        if index > 0 {
            bench.settle(waiter);
        }
        if waiter.stop_requested() {
            break;
        }
        on_event(&Event::Started { index, segment });
        let run_id = format!("{:03}-{}", index + 1, segment.load);
        let spec = plan.spec(segment, index);
        let made = match found(bench, &spec, &run_id, folder)? {
            Some(made) => made,
            None => bench.run(&spec, &run_id, index, folder, waiter, on_event)?,
        };
        match made {
            Made::Run { path, run, death } => {
                on_event(&Event::Ended { index, status: run.status(), path: &path, cached: false });
                if index == 0 && !run.is_measured() && run.status() != EndStatus::Interrupted {
                    return Err(ExperimentError::Baseline(why_not(&run, death)));
                }
                result.runs.push((path, *run));
            }
            Made::Refused(_) if waiter.stop_requested() => break,
            Made::Refused(reason) if index == 0 => {
                return Err(ExperimentError::Baseline(reason));
            }
            Made::Refused(reason) => {
                on_event(&Event::Skipped { index, reason: &reason });
                // One missing piece of the baseline leaves the others.
                if segment.load != BASELINE {
                    result.skipped.insert(segment.load.clone(), reason);
                }
            }
        }
    }
    result.interrupted = waiter.stop_requested()
        || result.runs.iter().any(|(_, run)| run.status() == EndStatus::Interrupted);
    Ok(result)
}

/// Why a run has no measurement: what the agent said, or the last note of the run.
pub(crate) fn why_not(run: &Run, death: Option<String>) -> String {
    let note = run.lines.iter().rev().find_map(|line| line.note().map(str::to_owned));
    death.or(note).unwrap_or_else(|| format!("the run ended as {:?}", run.status()))
}

/// The run of an earlier invocation that went on in this folder; one that did not come to its end
/// gets another name.
fn found(
    bench: &Bench<'_>,
    spec: &Spec,
    run_id: &str,
    folder: &Path,
) -> Result<Option<Made>, ExperimentError> {
    let path = folder.join(format!("{run_id}{SUFFIX}"));
    if !path.exists() {
        return Ok(None);
    }
    let run = read_run(&path)?;
    let address = bench.address();
    let is_this = run.header.as_ref().is_some_and(|header| {
        is_of_machine(&header.environment, address.as_deref()) && is_run(spec, &header.spec)
    });
    if has_ended(&run) && !is_this {
        return Err(ExperimentError::Place(format!(
            "{} is a run of other arguments; name another folder with --output DIR",
            path.display()
        )));
    }
    if !has_ended(&run) {
        set_aside(folder, run_id)?;
        return Ok(None);
    }
    Ok(Some(Made::Run { path, run: Box::new(run), death: None }))
}

/// Whether a run that was made is the one that is asked for; what load and probe found out only when
/// they ran is left out.
fn is_run(asked: &Spec, done: &Spec) -> bool {
    let load = |load: &LoadSpec| (load.name.clone(), load.version, load.intensity);
    asked.subject == done.subject
        && load(&asked.load) == load(&done.load)
        && is_measure(&asked.measure, &done.measure)
        && (&asked.timing, asked.seed, asked.block, asked.order)
            == (&done.timing, done.seed, done.block, done.order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(loads: &[&str], points: u32) -> MatrixPlan {
        MatrixPlan {
            subject: SubjectSpec::Host { memory_bytes: 1 << 30 },
            loads: loads.iter().map(|load| (*load).to_owned()).collect(),
            measure: crate::probe_measure("response"),
            timing: Timing { points, ..crate::QUICK.timing() },
            intensity: 1.0,
            seeds: vec![1],
        }
    }

    #[test]
    fn the_baseline_surrounds_every_load() {
        let segments = plan(&["cpuload", "spawnload"], 5).segments();
        assert_eq!(
            plan(&["cpuload"], 5).cells().iter().map(|cell| cell.points).collect::<Vec<_>>(),
            [10, 5]
        );
        let order: Vec<(&str, u32, u32)> =
            segments.iter().map(|made| (made.load.as_str(), made.points, made.block)).collect();
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
        let measure =
            crate::job("session", &[("users".to_owned(), "2".to_owned())], Path::new("")).unwrap();
        let plan = MatrixPlan { measure, seeds: vec![1, 2], ..plan(&["cpuload"], 5) };
        let segments = plan.segments();
        let order: Vec<(&str, u64, u32)> =
            segments.iter().map(|made| (made.load.as_str(), made.seed, made.points)).collect();
        assert_eq!(
            order,
            [("noload", 1, 32), ("cpuload", 1, 32), ("noload", 2, 32), ("cpuload", 2, 32)]
        );
    }

    #[test]
    fn profiles_keep_their_promises() {
        let loads = ["smallwrite", "largewrite", "cpuload", "spawnload", "8ctx-mem", "2ctx-mem"];
        for (profile, limit_s) in [(crate::QUICK, 60), (crate::DEFAULT, 180)] {
            let all = MatrixPlan { timing: profile.timing(), ..plan(&loads, 1) };
            let longest_ns: u64 = all.segments().iter().map(|made| made.longest_ns).sum();
            assert!(longest_ns < limit_s * 1_000_000_000, "{}: {longest_ns} ns", profile.name);
        }
    }
}
