//! What attribution finds, as plain data.

use serde::Serialize;
pub use stats::{
    CellMean as Cell, Estimate as Figure, Fit as Effects, MainEffect as Effect, Scale,
    SimpleEffect, TermTest as Term,
};

use crate::{Factor, Response};

/// What caused the change of a response.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attribution {
    /// The dataset.
    pub source: String,
    /// Name of the response.
    pub response: String,
    /// Unit and direction of the response.
    pub measured: Response,
    /// Coverage of all intervals, 0 to 1.
    pub confidence: f64,
    /// The factors of the change, the first level of each the reference.
    pub factors: Vec<Factor>,
    /// Other factors, and how each was treated.
    pub aside: Vec<String>,
    /// Trials with a figure.
    pub trials: usize,
    /// The noise behind the intervals.
    pub noise: Noise,
    /// All levels together, on both scales.
    pub overall: TwoScales,
    /// Steps from the references to each level of the factor with more than two, else to the last.
    pub steps: Vec<Step>,
    /// Each level against the one before it, from the third level on.
    pub neighbours: Vec<Neighbour>,
    /// What a counter explains of a time.
    pub mediation: Option<MediationOutcome>,
    /// Damage, omissions, assumptions.
    pub notes: Vec<String>,
}

/// The noise behind intervals and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Trials that differ by chance.
    Trials,
    /// Seeds of a deterministic machine.
    Seeds,
    /// Nothing repeats, so there are no intervals.
    Absent,
}

/// Effects of the same trials on both scales.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TwoScales {
    /// Effects as differences.
    pub additive: Effects,
    /// Effects as ratios; absent when a value has no logarithm.
    pub log: Option<Effects>,
    /// Why `log` is absent.
    pub log_refused: Option<String>,
    /// The scale that fits better.
    pub scale: Scale,
    /// The reason for the scale.
    pub reason: String,
    /// Box-Cox profile: power, 0 (ratios) to 1 (differences), and joint F of all interactions.
    pub profile: Vec<(f64, f64)>,
    /// Power at which interactions are smallest.
    pub additive_power: Option<f64>,
    /// Power at which the residuals are closest to normal.
    pub likely_power: Option<f64>,
}

impl TwoScales {
    /// Effects on the fitting scale.
    pub fn fitting(&self) -> &Effects {
        if let (Scale::Log, Some(log)) = (self.scale, &self.log) { log } else { &self.additive }
    }
}

/// From the references of all factors to other levels of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The factors with the two levels of each.
    pub factors: Vec<Factor>,
    /// Effects of these two levels alone, on both scales.
    pub scales: TwoScales,
    /// Mean before and after, in the response's unit.
    pub before: f64,
    /// As `before`.
    pub after: f64,
    /// What each factor contributes, on the additive scale; empty with one factor.
    pub shares: Vec<Share>,
    /// What each factor contributes, on the log scale.
    pub log_shares: Vec<Share>,
    /// Why several factors have no shares, or what the shares rest on.
    pub shares_note: Option<String>,
    /// The effect of each factor going back alone.
    pub reverts: Vec<Revert>,
    /// The contribution of each part of the work, largest first.
    pub parts: Vec<PartShare>,
}

/// The contribution of one part of the work, such as a command.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartShare {
    /// The part.
    pub part: String,
    /// Its mean before.
    pub before: f64,
    /// Its mean after.
    pub after: f64,
    /// Percentage of the change of all parts together; absent when nothing changed.
    pub percent: Option<f64>,
    /// Smallest and largest percentage over all pairs of a trial before and a trial after.
    pub bounds: Option<(f64, f64)>,
    /// How the part's change divides among the factors; empty with one factor.
    pub factors: Vec<FactorPart>,
}

/// The contribution of one factor to one part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorPart {
    /// The factor.
    pub factor: String,
    /// Its contribution (Shapley value), in the response's unit.
    pub contribution: f64,
    /// Percentage of the change of all parts together.
    pub percent: Option<f64>,
}

/// The share of one factor in a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The factor.
    pub factor: String,
    /// Its contribution (Shapley value), in the unit of the response or of its logarithm.
    pub contribution: f64,
    /// Percentage of the change; those of all factors add to 100. Absent when nothing changed.
    pub percent: Option<f64>,
    /// Interval of the percentage.
    pub interval: Option<(f64, f64)>,
    /// Smallest and largest percentage over all orders in which the factors can change.
    pub order_bounds: Option<(f64, f64)>,
}

/// The effect of one factor going back alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Revert {
    /// The factor.
    pub factor: String,
    /// The level that it goes back to.
    pub to: String,
    /// The response that is left.
    pub left: f64,
    /// The difference that it makes: negative is less.
    pub change: Figure,
    /// The ratio of what is left to the response after the step, from the log scale.
    pub ratio: Option<Figure>,
    /// Percentage of the whole change; these do not add to 100.
    pub percent: Option<f64>,
}

/// A level against the one before it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Neighbour {
    /// As a difference.
    pub additive: Effect,
    /// As a ratio.
    pub log: Option<Effect>,
}

/// What a counter explains of a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MediationOutcome {
    /// The response that counts.
    pub mediator: String,
    /// Cost of one count, in the unit of the explained response.
    pub unit_cost: f64,
    /// Interval of the cost, where it was estimated.
    pub unit_cost_interval: Option<(f64, f64)>,
    /// Where the cost comes from.
    pub cost_origin: CostOrigin,
    /// How many users share the count.
    pub per: f64,
    /// One for each step.
    pub steps: Vec<Mediated>,
}

/// Where a unit cost comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CostOrigin {
    /// The user gave it.
    Given,
    /// The dataset has it as a fact of its systems.
    Fact,
    /// The slope of the response over the counter, levels held.
    Estimated,
}

/// What the counter explains of one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mediated {
    /// Levels of all factors before and after.
    pub from: Vec<String>,
    /// As `from`.
    pub to: Vec<String>,
    /// How much more was counted.
    pub counted: f64,
    /// Its cost for each user, in the unit of the response.
    pub explained: f64,
    /// By how much the response changed.
    pub of: f64,
    /// The percentage that is explained; absent when the response did not change.
    pub percent: Option<f64>,
    /// Unit cost at which the counter would explain all.
    pub cost_of_all: Option<f64>,
}
