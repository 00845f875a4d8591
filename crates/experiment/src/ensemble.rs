//! The matrix where runs are exactly repeatable: every cell is a guest of its own, or simulated.

use std::path::Path;

use agent::Waiter;
use model::{BASELINE, EndStatus};

use crate::error::ExperimentError;
use crate::event::Event;
use crate::made::Made;
use crate::matrix::{MatrixPlan, MatrixResult, why_not};
use crate::pool::{Engine, EngineCell, Told, run_cells};
use crate::segment::Segment;

/// Makes all cells of a matrix, `jobs` at a time, and writes them into a folder.
///
/// # Errors
/// When QEMU or the results fail. A load that cannot run in the guest, dies, or times out is part
/// of the result.
pub fn run_ensemble(
    engine: Engine<'_>,
    plan: &MatrixPlan,
    jobs: usize,
    folder: &Path,
    waiter: &Waiter,
    on_event: &mut dyn FnMut(&Event<'_>),
) -> Result<MatrixResult, ExperimentError> {
    let segments = plan.cells();
    let longest_ns = match engine {
        Engine::Guest(_) => segments.iter().map(|cell| cell.longest_ns).sum(),
        Engine::Simulator(_) => 0,
    };
    on_event(&Event::Planned { segments: &segments, longest_ns, is_virtual: true });
    // Neither block nor order mean anything where nothing drifts; with them, a cell of another plan
    // would be another cell.
    let cells: Vec<EngineCell<'_>> = segments
        .iter()
        .map(|segment| EngineCell { engine, spec: plan.spec(segment, 0), run_id: run_id(segment) })
        .collect();
    let mut made = MatrixResult::default();
    let mut hear = |index: usize, told: Told, interrupted: bool| {
        let segment = &segments[index];
        match told {
            Told::Started => on_event(&Event::Started { index, segment }),
            Told::Line(line) => on_event(&Event::Line { index, line: &line }),
            Told::Ended(ended, cached) => {
                made.interrupted |= interrupted;
                return take(&mut made, index, segment, *ended, cached, on_event);
            }
        }
        Ok(())
    };
    made.interrupted = run_cells(&cells, jobs, folder, waiter, &mut hear)?;
    // In the order of the plan, whoever was first.
    made.runs.sort_by(|(first, _), (second, _)| first.cmp(second));
    Ok(made)
}

/// Files what came of a cell.
fn take(
    result: &mut MatrixResult,
    index: usize,
    segment: &Segment,
    made: Made,
    cached: bool,
    on_event: &mut dyn FnMut(&Event<'_>),
) -> Result<(), ExperimentError> {
    match made {
        Made::Run { path, run, death } => {
            on_event(&Event::Ended { index, status: run.status(), path: &path, cached });
            let failed = !run.is_measured() && run.status() != EndStatus::Interrupted;
            if segment.load == BASELINE && failed {
                return Err(ExperimentError::Baseline(why_not(&run, death)));
            }
            result.runs.push((path, *run));
        }
        Made::Refused(_) if result.interrupted => {}
        Made::Refused(reason) if segment.load == BASELINE => {
            return Err(ExperimentError::Baseline(reason));
        }
        Made::Refused(reason) => {
            on_event(&Event::Skipped { index, reason: &reason });
            result.skipped.insert(segment.load.clone(), reason);
        }
    }
    Ok(())
}

/// The name of a cell's run: the same in every plan.
fn run_id(segment: &Segment) -> String {
    // By the load's place among all loads, so that files are listed in their order.
    let place =
        workloads::loads_and_provocations().position(|load| load.name == segment.load).unwrap_or(0);
    format!("{:03}-{}-seed{}", place + 1, segment.load, segment.seed)
}
