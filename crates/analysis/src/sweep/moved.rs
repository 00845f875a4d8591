//! Which counters moved at the knee: what lies under it.

use serde::Serialize;
use stats::Knee;

use super::{Curve, End, Settings};

/// What the counters say of a knee.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Moved {
    /// What rates are of: `work`, `s`, or `measurement`.
    pub per: String,
    /// Levels on the plateau that were compared, from low to high.
    pub plateau: Vec<f64>,
    /// Levels beyond it.
    pub beyond: Vec<f64>,
    /// What moved, the most telling first.
    pub movers: Vec<Mover>,
    /// What did not move though one would look there first, in words.
    pub still: Vec<String>,
    /// What lies under the knee, in one line; `None` if there are no counters to tell.
    pub conclusion: Option<String>,
}

/// A counter or figure that differs between the plateau and beyond.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mover {
    /// Source and name: `vmstat.pgmajfault`; figures have no source.
    pub name: String,
    /// Other sources in which the same name moved.
    pub also: Vec<String>,
    /// Median rate on the plateau.
    pub before: f64,
    /// Median rate beyond it.
    pub after: f64,
    /// after / before; `None` if it was 0 before: it appeared.
    pub factor: Option<f64>,
    /// Whether every level beyond has more (or every one less) than every level of the plateau.
    pub separated: bool,
    /// Spearman's rank correlation with the cost over all levels.
    pub association: f64,
    /// What it means, of well-known ones.
    pub meaning: Option<String>,
}

/// What moved at `knee`.
pub(super) fn moved(_: &Curve, _: &Knee, _: End, _: &Settings) -> Moved {
    Moved::default()
}
