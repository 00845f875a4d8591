//! Two parameters at once: a map of the cost, with the knee of each row.

use analysis::sweep::Grid;
use serde_json::{Value, json};
use stats::Shape;

use super::encoding::tip;
use super::{Data, Kind};
use crate::sweep_text::Amounts;
use render::{Cell, Chart, Table};

pub(super) const KIND: Kind =
    Kind { name: "map", section: "sweep", title: "Cost over two parameters", make };

fn make(data: &Data<'_>) -> Vec<Chart> {
    let sweeps = data.material.inputs.iter().filter_map(|input| input.sweep.as_ref());
    let grids = sweeps.filter_map(|view| Some((view.grid.as_ref()?, view.rows.first()?.curve)));
    grids
        .filter(|(grid, _)| grid.rows.len() > 1)
        .map(|(grid, curve)| of_grid(grid, &Amounts::of(curve)))
        .collect()
}

fn of_grid(grid: &Grid, amounts: &Amounts<'_>) -> Chart {
    let columns: Vec<String> = grid.columns.iter().map(|level| amounts.level(*level)).collect();
    let head = std::iter::once(grid.row_parameter.clone()).chain(columns.clone());
    let mut table = Table::new("", head);
    let mut values = Vec::new();
    let mut knees = Vec::new();
    for row in &grid.rows {
        let cost = |cost: &Option<f64>| cost.map(|cost| Cell::figure(amounts.cost(cost))).into();
        table.row([Cell::from(&row.level)].into_iter().chain(row.costs.iter().map(cost)));
        for (column, cost) in columns.iter().zip(&row.costs) {
            let Some(cost) = cost else { continue };
            values.push(json!({
                "row": row.level, "column": column, "cost": cost,
                "tip": format!("{} {}, {} {column}: {}", grid.row_parameter, row.level,
                    grid.column_parameter, amounts.cost(*cost)),
            }));
        }
        if let Shape::Knee(knee) = &row.shape {
            let at = amounts.level(knee.beyond);
            knees.push(json!({
                "row": row.level, "column": at,
                "tip": format!("{} {}: knee at {}", grid.row_parameter, row.level,
                    amounts.level(knee.level)),
            }));
        }
    }
    let reading = "The darker, the dearer (logarithmic). A ring marks the first level beyond the \
                   knee of its row."
        .to_owned();
    KIND.chart(reading, values, body(grid, &columns, &knees), table)
}

fn body(grid: &Grid, columns: &[String], knees: &[Value]) -> Value {
    let rows: Vec<&str> = grid.rows.iter().map(|row| row.level.as_str()).collect();
    let tip = tip();
    let x = json!({ "field": "column", "type": "nominal", "sort": columns,
                    "title": grid.column_parameter, "axis": { "labelAngle": -40, "labelOverlap": true } });
    let y = json!({ "field": "row", "type": "nominal", "sort": rows, "title": grid.row_parameter });
    let costs = grid.rows.iter().flat_map(|row| row.costs.iter().flatten());
    let scale = match costs.clone().all(|cost| *cost > 0.0) {
        true => json!({ "type": "log", "scheme": "cividis", "reverse": true }),
        false => json!({ "scheme": "cividis", "reverse": true }),
    };
    json!({
        "width": "container",
        "height": { "step": 30 },
        "layer": [{
            "mark": { "type": "rect" },
            "encoding": {
                "x": x, "y": y,
                "color": { "field": "cost", "type": "quantitative", "scale": scale,
                           "title": format!("cost ({})", grid.cost_unit),
                           "legend": { "orient": "bottom", "gradientLength": 220 } },
                "tooltip": tip, "description": tip,
            },
        }, {
            "data": { "values": knees },
            "mark": { "type": "point", "size": 110, "stroke": "#d55e00", "strokeWidth": 2.5, "filled": false },
            "encoding": { "x": x, "y": y, "tooltip": tip, "description": tip },
        }],
    })
}
