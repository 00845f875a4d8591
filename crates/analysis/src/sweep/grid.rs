//! Two parameters at once: curves side by side.

use serde::Serialize;
use stats::Shape;

use super::{Curve, Settings, find};

/// Costs over two parameters, for a map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grid {
    /// What the rows are levels of.
    pub row_parameter: String,
    /// What the columns are levels of.
    pub column_parameter: String,
    /// Unit of the columns' levels.
    pub column_unit: String,
    /// Unit of the cost.
    pub cost_unit: String,
    /// Levels of the columns, from low to high: all that a row has.
    pub columns: Vec<f64>,
    /// One a level of the second parameter.
    pub rows: Vec<GridRow>,
}

/// One level of the second parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridRow {
    /// The level, in words.
    pub level: String,
    /// Median costs, one a column; `None` where nothing was measured or nothing could be.
    pub costs: Vec<Option<f64>>,
    /// The shape of the row by itself.
    pub shape: Shape,
}

impl Grid {
    /// A map of `curves`, each with its level of `row_parameter`, in the order given.
    #[must_use]
    pub fn new(row_parameter: &str, curves: &[(String, Curve)], settings: &Settings) -> Self {
        let found: Vec<_> = curves.iter().map(|(_, curve)| find(curve, settings)).collect();
        let mut columns: Vec<f64> =
            found.iter().flat_map(|found| found.rows.iter().map(|row| row.level)).collect();
        columns.sort_by(f64::total_cmp);
        columns.dedup();
        let rows = curves.iter().zip(found).map(|((level, _), found)| {
            let cost = |column: &f64| {
                found.rows.iter().find(|row| row.level == *column).and_then(|row| row.cost)
            };
            GridRow {
                level: level.clone(),
                costs: columns.iter().map(cost).collect(),
                shape: found.shape,
            }
        });
        let first = curves.first().map(|(_, curve)| curve.clone()).unwrap_or_default();
        Self {
            row_parameter: row_parameter.to_owned(),
            column_parameter: first.parameter,
            column_unit: first.level_unit,
            cost_unit: first.cost_unit,
            rows: rows.collect(),
            columns,
        }
    }
}
