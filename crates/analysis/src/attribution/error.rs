//! Why an experiment cannot be attributed.

use stats::FactorialError;

/// What stands in the way, where, and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AttributionError {
    /// No trial measured anything.
    #[error("{source_name}: nothing was measured")]
    NothingMeasured {
        /// The dataset.
        source_name: String,
    },
    /// No factor has two levels.
    #[error(
        "{source_name}: nothing was varied; attribution takes an experiment in which at least one \
         factor has two levels"
    )]
    NothingVaried {
        /// The dataset.
        source_name: String,
    },
    /// A response that is not there.
    #[error("{source_name} has no response {name:?}; there are {}", known.join(", "))]
    UnknownResponse {
        /// The dataset.
        source_name: String,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A factor that is not there.
    #[error("{source_name} has no factor {name:?}; there are {}", known.join(", "))]
    UnknownFactor {
        /// The dataset.
        source_name: String,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A level that is not there.
    #[error("factor {factor} has no level {level:?}; there are {}", known.join(", "))]
    UnknownLevel {
        /// The factor.
        factor: String,
        /// What was asked for.
        level: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A factor that cannot have an effect.
    #[error("{source_name}: factor {factor} has one level only, so nothing can be put down to it")]
    OneLevel {
        /// The dataset.
        source_name: String,
        /// The factor.
        factor: String,
    },
    /// Trials, but none with a figure for the whole.
    #[error("{source_name}: no trial has a total of {response}; choose another with --response")]
    NoObservation {
        /// The dataset.
        source_name: String,
        /// The response.
        response: String,
    },
    /// A mediator that is not there or cannot be priced.
    #[error("mediator {name:?}: {reason}")]
    Mediator {
        /// What was asked for.
        name: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A combination of levels without which an interaction cannot be told.
    #[error(
        "{source_name}: no trial of {combination}: measure it, or leave one of its levels out with \
         --levels"
    )]
    EmptyCell {
        /// The dataset.
        source_name: String,
        /// The combination.
        combination: String,
    },
    /// The statistics refused.
    #[error("{source_name}: {error}")]
    Fit {
        /// The dataset.
        source_name: String,
        /// What stands in the way.
        error: FactorialError,
    },
}
