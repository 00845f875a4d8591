//! Why an experiment cannot be analysed as asked.

/// What stands in the way, where, and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FactorialError {
    /// Nothing was varied.
    #[error("no factor: an experiment varies at least one")]
    NoFactor,
    /// A factor that cannot have an effect.
    #[error("factor {0} has fewer than two levels: give it a second one or leave it out")]
    TooFewLevels(String),
    /// An observation does not give one level for each factor.
    #[error("observation {observation} has {found} levels for {expected} factors")]
    LevelCount {
        /// Index of the observation, from 0.
        observation: usize,
        /// Levels it gives.
        found: usize,
        /// Factors there are.
        expected: usize,
    },
    /// An observation names a level that its factor does not have.
    #[error("observation {observation}: factor {factor} has no level number {level} (from 0)")]
    UnknownLevel {
        /// Index of the observation, from 0.
        observation: usize,
        /// Name of the factor.
        factor: String,
        /// The unknown index.
        level: usize,
    },
    /// A level that was declared and never observed.
    #[error("no observation of {factor} = {level}: measure it or leave the level out")]
    LevelNotObserved {
        /// Name of the factor.
        factor: String,
        /// Name of the level.
        level: String,
    },
    /// A combination without which an interaction cannot be estimated.
    #[error("no observation of {0}: measure it, or fit interactions of fewer factors")]
    EmptyCell(String),
    /// Two terms of the model that these data cannot tell apart.
    #[error("{0} cannot be told from earlier terms: measure more combinations or leave it out")]
    Aliased(String),
    /// Only some of the observations have a block.
    #[error("observation {0} has no block while others have: give all a block or none")]
    BlockMissing(usize),
    /// A value without a logarithm.
    #[error("observation {observation} is {value}, which has no logarithm: use the additive scale")]
    NotPositive {
        /// Index of the observation, from 0.
        observation: usize,
        /// Its value.
        value: f64,
    },
    /// A value that is not a number.
    #[error("observation {observation} is {value}: leave it out and say why")]
    NotFinite {
        /// Index of the observation, from 0.
        observation: usize,
        /// Its value.
        value: f64,
    },
    /// A confidence that is none.
    #[error("confidence {0} is not strictly between 0 and 1")]
    Confidence(f64),
}
