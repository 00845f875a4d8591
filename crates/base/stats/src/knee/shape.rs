//! The shape of a curve of cost over level.

/// The costs measured at one level.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The level, above 0: a size, an intensity, a limit.
    pub level: f64,
    /// Cost per unit of work of each replicate, above 0, all in one unit.
    pub costs: Vec<f64>,
}

impl Level {
    pub(super) fn logs(&self) -> Vec<f64> {
        self.costs.iter().map(|cost| cost.ln()).collect()
    }
}

/// Settings of the search for a knee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KneeSettings {
    /// Coverage of the knee's interval, strictly between 0 and 1.
    pub confidence: f64,
    /// Factor of the cost that counts as leaving the plateau, above 1.
    pub least_rise: f64,
    /// Bootstrap samples behind the interval and the support.
    pub resamples: usize,
    /// Seed of these samples.
    pub seed: u64,
}

impl Default for KneeSettings {
    fn default() -> Self {
        Self { confidence: 0.95, least_rise: 1.5, resamples: 1000, seed: 0 }
    }
}

/// The answer to "is there a knee?".
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// The cost leaves its plateau.
    Knee(Knee),
    /// It does not, within the measured levels.
    NoKnee(NoKnee),
    /// The levels or settings allow no answer: the problem, and a remedy.
    TooFew(String),
}

impl Shape {
    /// The knee, if there is one.
    pub fn knee(&self) -> Option<&Knee> {
        if let Self::Knee(knee) = self { Some(knee) } else { None }
    }
}

/// Where the cost per unit of work leaves its plateau.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Knee {
    /// The geometric middle of `capacity` and `beyond` for a step, the meeting point for a hinge.
    pub level: f64,
    /// Low end of the knee's interval.
    pub low: f64,
    /// High end of the knee's interval.
    pub high: f64,
    /// The highest measured level on the plateau.
    pub capacity: f64,
    /// The lowest measured level that has left it.
    pub beyond: f64,
    /// Cost on the plateau, at its end.
    pub plateau_cost: f64,
    /// Cost at `beyond` over `plateau_cost`.
    pub rise: f64,
    /// Elasticity beyond the knee, d log cost / d log level; for a step the secant, a lower bound.
    pub steepness: f64,
    /// Fraction of the bootstrap samples that also have a knee, 0 to 1.
    pub support: f64,
    /// Whether the cost jumps or bends.
    pub kind: KneeKind,
    /// Further steps at higher levels, in ascending order.
    pub others: Vec<OtherKnee>,
}

/// How the cost leaves its plateau.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KneeKind {
    /// Between two neighbouring levels, by more than its slope on either side explains.
    Step,
    /// By rising steadily from the knee on.
    Hinge,
}

/// A knee beyond the first.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct OtherKnee {
    /// The highest measured level before it.
    pub capacity: f64,
    /// The lowest measured level after it.
    pub beyond: f64,
    /// Cost at `beyond` over cost at `capacity`.
    pub rise: f64,
}

/// A curve that does not leave its plateau.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct NoKnee {
    /// The highest measured level.
    pub up_to: f64,
    /// Elasticity of the whole curve, d log cost / d log level.
    pub growth: f64,
    /// Cost of the most expensive level over that of the cheapest.
    pub largest_rise: f64,
    /// The reason.
    pub why: WhyNoKnee,
}

/// Why a curve has no knee.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum WhyNoKnee {
    /// No level costs enough more than the levels below it.
    #[error("the cost never leaves its plateau")]
    NeverRises,
    /// The cost grows evenly with the level.
    #[error("the cost grows steadily, without a bend")]
    GrowsSteadily,
    /// Only this level is expensive, and the levels above it are not.
    #[error("only level {level} is expensive and higher ones are not: an outlier")]
    OneLevel {
        /// The level.
        level: f64,
    },
    /// Only the highest level is expensive, and it was measured once.
    #[error(
        "only the highest level {level} is expensive and was measured once: repeat it or go higher"
    )]
    LastLevelOnce {
        /// The level.
        level: f64,
    },
    /// Only the lowest level is cheap, and it was measured once.
    #[error("only the lowest level {level} is cheap and was measured once: repeat it or go lower")]
    FirstLevelOnce {
        /// The level.
        level: f64,
    },
    /// The cost rises and comes back.
    #[error("the cost rises, but by level {level} it grows as before")]
    Returns {
        /// The level at which it is back near the plateau or its continued slope.
        level: f64,
    },
    /// The rise is within the noise.
    #[error("the rise is within the noise: replicate the levels")]
    Noise,
}
