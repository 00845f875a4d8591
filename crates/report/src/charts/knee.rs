//! The curve of a sweep: cost over level, with the knee and its interval.

use analysis::sweep::Curve;
use serde_json::{Value, json};
use stats::Shape;

use super::encoding::{rounded, tip};
use super::{Data, Kind, duration};
use crate::sweep_text::Amounts;
use crate::{SweepRow, SweepView};
use render::{Cell, Chart, Table};

pub(super) const KIND: Kind =
    Kind { name: "knee", section: "sweep", title: "Cost over level, and the knee", make };

fn make(data: &Data<'_>) -> Vec<Chart> {
    let sweeps = data.material.inputs.iter().filter_map(|input| input.sweep.as_ref());
    sweeps.filter_map(of_sweep).collect()
}

fn of_sweep(view: &SweepView<'_>) -> Option<Chart> {
    let first = view.rows.first()?;
    let amounts = Amounts::of(first.curve);
    let mut values = Vec::new();
    let mut table = Table::new("", ["level", "measurements", "cost", "relative speed"]);
    let several = view.rows.len() > 1;
    if several {
        table.head.insert(0, view.by.clone().unwrap_or_default());
    }
    for row in &view.rows {
        for level in &row.found.rows {
            let Some(cost) = level.cost else { continue };
            let text = amounts.cost(cost);
            let at = amounts.level(level.level);
            let who = if several { format!("{}, ", row.label) } else { String::new() };
            values.push(json!({
                "row": row.label, "level": level.level, "cost": cost,
                "low": level.lowest_cost, "high": level.highest_cost,
                "tip": format!("{who}{at}: {text} (median of {})", level.measurements),
            }));
            let speed = level.relative_speed.map(|speed| Cell::figure(format!("{speed:.2}")));
            let figures = [Cell::figure(at), level.measurements.into(), Cell::figure(text)];
            let label = several.then(|| Cell::from(&row.label)).into_iter();
            table.row(label.chain(figures).chain([speed.into()]));
        }
    }
    if values.is_empty() {
        return None;
    }
    let band = match view.rows.iter().any(|row| knee(row).is_some()) {
        true => ", the band is the knee's interval",
        false => "; there is no knee",
    };
    let reading = format!(
        "Both axes logarithmic; bars reach from the lowest to the highest measurement of a \
         level{band}."
    );
    Some(KIND.chart(reading, values, body(view), table))
}

fn knee<'f>(row: &'f SweepRow<'_>) -> Option<&'f stats::Knee> {
    match &row.found.shape {
        Shape::Knee(knee) => Some(knee),
        _ => None,
    }
}

fn body(view: &SweepView<'_>) -> Value {
    let several = view.rows.len() > 1;
    let first = view.rows[0].curve;
    let levels: Vec<f64> =
        view.rows.iter().flat_map(|row| row.found.rows.iter().map(|level| level.level)).collect();
    let costs: Vec<f64> = view
        .rows
        .iter()
        .flat_map(|row| &row.found.rows)
        .flat_map(|level| [level.lowest_cost, level.highest_cost])
        .flatten()
        .collect();
    let x = level_axis(first, &levels);
    let y = cost_axis(first, &costs);
    let colour = match several {
        true => json!({ "field": "row", "type": "nominal", "title": view.by,
                        "sort": view.rows.iter().map(|row| &row.label).collect::<Vec<_>>() }),
        false => json!({ "value": "#2f8fcf" }),
    };
    let mut unnamed = colour.clone();
    if several {
        unnamed["legend"] = Value::Null;
    }
    let tip = tip();
    let mut layers = knees(view, &x, &unnamed);
    layers.push(json!({
        "mark": { "type": "rule", "strokeWidth": 1.5, "aria": false },
        "encoding": { "x": x, "y": { "field": "low", "type": "quantitative" },
                      "y2": { "field": "high" }, "color": unnamed },
    }));
    layers.push(json!({
        "mark": { "type": "line", "strokeWidth": 2, "aria": false },
        "encoding": { "x": x, "y": y, "color": unnamed },
    }));
    let mut point = json!({
        "mark": { "type": "point", "filled": true, "size": 55, "opacity": 1 },
        "encoding": { "x": x, "y": y, "color": colour, "tooltip": tip, "description": tip },
    });
    if several {
        point["encoding"]["shape"] = json!({ "field": "row", "type": "nominal", "title": view.by });
    }
    layers.push(point);
    json!({ "width": "container", "height": 340, "layer": layers })
}

/// The bands and lines of the knees.
fn knees(view: &SweepView<'_>, x: &Value, colour: &Value) -> Vec<Value> {
    let amounts = Amounts::of(view.rows[0].curve);
    let found: Vec<Value> = view
        .rows
        .iter()
        .filter_map(|row| {
            let knee = knee(row)?;
            let (low, high) = (knee.low.min(knee.high), knee.low.max(knee.high));
            let name =
                if row.label.is_empty() { String::new() } else { format!("{}: ", row.label) };
            Some(json!({
                "row": row.label, "knee": knee.level, "from": low, "to": high,
                "text": format!("knee {}", amounts.level(knee.level)),
                "tip": format!("{name}knee at {} [{}, {}]", amounts.level(knee.level),
                    amounts.level(low), amounts.level(high)),
            }))
        })
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    let data = json!({ "values": found });
    let at = |field: &str| {
        let mut axis = x.clone();
        axis["field"] = json!(field);
        axis
    };
    let tip = tip();
    vec![
        json!({
            "data": data,
            "mark": { "type": "rect", "opacity": 0.22, "stroke": null },
            "encoding": { "x": at("from"), "x2": { "field": "to" },
                          "color": if view.rows.len() > 1 { colour.clone() } else { json!({ "value": "#e69f00" }) },
                          "tooltip": tip, "description": tip },
        }),
        json!({
            "data": data,
            "mark": { "type": "rule", "strokeDash": [5, 3], "strokeWidth": 1.5, "color": "#c8781e", "aria": false },
            "encoding": { "x": at("knee") },
        }),
        json!({
            "data": data,
            "mark": { "type": "text", "align": "left", "dx": 6, "fontWeight": "bold", "aria": false },
            "encoding": { "x": at("knee"), "y": { "value": 12 },
                          "text": { "field": "text", "type": "nominal" } },
        }),
    ]
}

/// An axis of levels, with their unit.
fn level_axis(curve: &Curve, levels: &[f64]) -> Value {
    let is_log = levels.iter().all(|level| *level > 0.0);
    let mut axis = json!({ "tickCount": 8, "labelOverlap": "greedy" });
    let title = match curve.level_unit.as_str() {
        "bytes" => {
            axis = json!({ "values": powers_of_two(levels), "labelOverlap": "greedy",
                           "labelExpr": size_expression("datum.value") });
            curve.parameter.clone()
        }
        "ns" => {
            axis = json!({ "values": duration::ticks(levels.iter().copied()),
                           "labelExpr": duration::expression("datum.value") });
            curve.parameter.clone()
        }
        "" => curve.parameter.clone(),
        unit => format!("{} ({unit})", curve.parameter),
    };
    let scale = if is_log {
        json!({ "type": "log", "nice": false, "padding": 12 })
    } else {
        json!({ "nice": false, "zero": false })
    };
    json!({ "field": "level", "type": "quantitative", "title": title, "scale": scale, "axis": axis })
}

/// A size in bytes as text, as an expression.
fn size_expression(value: &str) -> String {
    let units = [("1024", "K"), ("1048576", "M"), ("1073741824", "G")];
    let mut text = format!("format({value}, '~r')");
    for (size, unit) in units {
        text = format!("{value} >= {size} ? format({value} / {size}, '.3~r') + '{unit}' : {text}");
    }
    // The largest unit is asked first, as it was put around the others last.
    text
}

/// Ticks for sizes: powers of two, with the steps between them where there are few.
fn powers_of_two(levels: &[f64]) -> Vec<f64> {
    let (low, high) = levels
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), level| (low.min(*level), high.max(*level)));
    if low <= 0.0 || low > high {
        return Vec::new();
    }
    let octaves = (high / low).log2();
    let steps: &[f64] = match octaves {
        narrow if narrow < 2.5 => &[1.0, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875],
        middle if middle < 6.0 => &[1.0, 1.5],
        _ => &[1.0],
    };
    let range = low.log2().floor() as i32..=high.log2().ceil() as i32;
    let all = range.flat_map(|power| steps.iter().map(move |step| step * 2_f64.powi(power)));
    all.filter(|tick| (low..=high).contains(tick)).collect()
}

/// An axis of costs, with their unit.
fn cost_axis(curve: &Curve, costs: &[f64]) -> Value {
    let scale_ns = match curve.cost_unit.as_str() {
        "ns" => Some(1.0),
        "us" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        _ => None,
    };
    let is_log = costs.iter().all(|cost| *cost > 0.0);
    let mut axis = json!({ "field": "cost", "type": "quantitative", "title": curve.response,
        "scale": if is_log { json!({ "type": "log", "nice": false, "padding": 8 }) } else { json!({}) } });
    if let (Some(scale_ns), true) = (scale_ns, is_log) {
        let ticks = duration::ticks(costs.iter().map(|cost| cost * scale_ns));
        let ticks: Vec<f64> = ticks.into_iter().map(|tick| rounded(tick / scale_ns)).collect();
        let value = format!("(datum.value * {scale_ns})");
        axis["axis"] = json!({ "values": ticks, "labelExpr": duration::expression(&value) });
    }
    axis
}
