//! What makes exactly repeatable runs: each has a key, the hash of all its inputs, under which it is
//! kept when it is finished.

use keep::{Cells, key_of};
use model::{EndStatus, Spec};
use simulated::{SIMULATOR, simulated_run, simulator};
use subject::{Outcome, RunLines, Sink};
use vm::{CellRun, IN_GUEST, Stop, Vm, VmError, run_cell};

use crate::error::{ExperimentError, Result};

/// Changes when the meaning of kept simulations changes although their inputs do not.
const CELL_VERSION: &str = "thrashlab simulation 1";
/// The fact of a run that names its guest machine.
const GUEST: &str = "vm_machine_blake3";

/// What makes exactly repeatable runs.
#[derive(Clone, Copy)]
pub(crate) enum Deterministic<'a> {
    /// A guest machine, booted.
    Guest(&'a Vm),
    /// The simulator, and the store of its finished runs.
    Simulator(Option<&'a Cells>),
}

impl<'a> Deterministic<'a> {
    /// The hash of all inputs of a run. Fails when the spec cannot be written.
    pub(crate) fn key(self, spec: &Spec) -> Result<String> {
        match self {
            Self::Guest(vm) => Ok(vm.cell_key(spec)?),
            Self::Simulator(_) => {
                let wrong = |error: serde_json::Error| {
                    ExperimentError::NotMeasured(format!("the spec of a run: {error}"))
                };
                let spec = serde_json::to_vec(spec).map_err(wrong)?;
                let parts = [CELL_VERSION, &simulator(), env!("CARGO_PKG_VERSION")];
                let [version, simulator, thrashlab] = parts.map(str::as_bytes);
                Ok(key_of(&[version, simulator, thrashlab, &spec]))
            }
        }
    }

    /// Whether a run is finished already. Fails as [`Deterministic::key`].
    pub(crate) fn has(self, spec: &Spec) -> Result<bool> {
        let key = self.key(spec)?;
        Ok(self.cells().is_some_and(|cells| cells.get(&key).is_some()))
    }

    fn cells(self) -> Option<&'a Cells> {
        match self {
            Self::Guest(vm) => vm.finished_cells(),
            Self::Simulator(cells) => cells,
        }
    }

    /// Makes a run, or takes the finished one. Fails when the machine does, with
    /// [`ExperimentError::NotMeasured`] when it refuses this run.
    pub(crate) fn run(
        self,
        spec: &Spec,
        run_id: &str,
        stop: Stop<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<CellRun> {
        if let Self::Guest(vm) = self {
            return Ok(vm.run(spec, run_id, stop, sink)?);
        }
        run_cell(self.cells(), &self.key(spec)?, run_id, sink, |sink| {
            let bytes = simulated_run(spec, IN_GUEST).map_err(ExperimentError::NotMeasured)?;
            RunLines::default().push(&bytes, sink).map_err(VmError::Results)?;
            Ok(Outcome { status: EndStatus::Complete, death: None })
        })
    }

    /// The fact by which the header of a run names its machine.
    pub(crate) fn fact(self) -> (&'static str, String) {
        match self {
            Self::Guest(vm) => (GUEST, vm.key().to_owned()),
            Self::Simulator(_) => (SIMULATOR, simulator()),
        }
    }
}
