//! Why an experiment cannot continue.

use remote::RemoteError;
use results::ResultsError;
use subject::StageError;
use vm::VmError;

use crate::plan::PlanError;

/// What the steps of an experiment return.
pub(crate) type Result<T, E = ExperimentError> = std::result::Result<T, E>;

/// An experiment that cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The stage.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// Another machine.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The deterministic machine.
    #[error(transparent)]
    Vm(#[from] VmError),
    /// The results.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The plan cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The request is impossible, or a named file is not what it should be.
    #[error("{0}")]
    WrongUse(String),
    /// A cell cannot be run, or nothing was measured.
    #[error("{0}")]
    NotMeasured(String),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl ExperimentError {
    /// Whether the user stopped it, also while a machine was set up.
    pub fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Interrupted
                | Self::Vm(VmError::Interrupted)
                | Self::Remote(RemoteError::Interrupted)
        )
    }
}
