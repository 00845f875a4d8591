//! A map of the cost over two parameters, with the knee of each row.

use analysis::sweep::Grid;
use serde_json::{Value, json};

use super::Data;
use curves::Amounts;
use render::{Cell, Table};

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let sweeps = data.material.inputs.iter().filter_map(|input| input.sweep.as_ref());
    let grids = sweeps.filter_map(|view| Some((view.grid.as_ref()?, view.rows.first()?.curve)));
    let grids = grids.filter(|(grid, _)| grid.rows.len() > 1);
    grids.map(|(grid, curve)| of_grid(grid, &Amounts::new(curve))).collect()
}

fn of_grid(grid: &Grid, amounts: &Amounts<'_>) -> (Value, Table) {
    let columns: Vec<String> = grid.columns.iter().map(|level| amounts.level(*level)).collect();
    let head = std::iter::once(grid.row_parameter.clone()).chain(columns.clone());
    let mut table = Table::new("", head);
    let (mut values, mut knees) = (Vec::new(), Vec::new());
    for row in &grid.rows {
        let cost = |cost: &Option<f64>| Cell::figure(cost.map(|cost| amounts.cost(cost)));
        table.row([Cell::from(&row.level)].into_iter().chain(row.costs.iter().map(cost)));
        for (column, cost) in columns.iter().zip(&row.costs) {
            let Some(cost) = cost else { continue };
            values.push(json!({
                "row": row.level, "column": column, "cost": cost,
                "tip": format!("{} {}, {} {column}: {}", grid.row_parameter, row.level,
                    grid.column_parameter, amounts.cost(*cost)),
            }));
        }
        if let Some(knee) = row.shape.knee() {
            let [at, beyond] = [knee.level, knee.beyond].map(|level| amounts.level(level));
            let tip = format!("{} {}: knee at {at}", grid.row_parameter, row.level);
            knees.push(json!({ "row": row.level, "column": beyond, "tip": tip }));
        }
    }
    let mut costs = grid.rows.iter().flat_map(|row| row.costs.iter().flatten());
    let parts = json!({
        "values": values, "knees": knees, "columns": columns, "column": grid.column_parameter,
        "rows": grid.rows.iter().map(|row| &row.level).collect::<Vec<_>>(),
        "row": grid.row_parameter, "unit": grid.cost_unit,
        "scale": costs.all(|cost| *cost > 0.0).then_some("log"),
    });
    (parts, table)
}
