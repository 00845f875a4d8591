//! The curve of a sweep: cost over level, with the knee and its interval.

use model::units::TIME_UNITS;
use serde_json::{Value, json};

use crate::sweep_text::{Amounts, SweepView};
use analysis::sweep::Priced;
use render::charts::{duration, powers_of_two, rounded, ticks};
use render::{Cell, Table, format};

/// The template of the chart.
pub const KNEE_TEMPLATE: &str = include_str!("../charts/knee.vl.json");

/// The parts that fill the template, and the figures as a table; `None` without a curve.
pub fn knee_parts(view: &SweepView<'_>) -> Option<(Value, Table)> {
    let first = view.rows.first()?;
    let amounts = Amounts::new(first.curve);
    let several = view.rows.len() > 1;
    let by = several.then(|| view.by.as_deref().unwrap_or_default());
    let head = ["level", "measurements", "cost", "relative speed"];
    let (mut values, mut table) = (Vec::new(), Table::new("", by.into_iter().chain(head)));
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
            let speed = Cell::decimals(level.relative_speed, 2);
            let figures = [Cell::figure(at), level.measurements.into(), Cell::figure(text), speed];
            table.row(several.then(|| Cell::from(&row.label)).into_iter().chain(figures));
        }
    }
    let mut parts = axes(view);
    let knees = knees(view, &amounts);
    let band = match (knees.is_empty(), first.found.priced.is_some()) {
        (false, _) => ", the band is the knee's interval",
        (true, false) => "; there is no knee",
        (true, true) => "; no limit certainly costs the price",
    };
    parts["band"] = band.into();
    if let Some(priced) = first.found.priced.as_ref().filter(|_| !several) {
        limit_parts(priced, &amounts, &mut parts);
    }
    parts["knees"] = json!(Some(knees).filter(|knees| !knees.is_empty()));
    parts["values"] = values.into();
    parts["by"] = json!(view.by);
    parts["labels"] = view.rows.iter().map(|row| row.label.as_str()).collect();
    parts["several"] = several.into();
    parts["one"] = (!several).into();
    Some((parts, table))
}

fn knees(view: &SweepView<'_>, amounts: &Amounts<'_>) -> Vec<Value> {
    let mut found = Vec::new();
    for row in &view.rows {
        let knee = match &row.found.priced {
            Some(priced) => priced.knee.map(|knee| (knee.level, knee.low, knee.high)),
            None => row.found.shape.knee().map(|knee| (knee.level, knee.low, knee.high)),
        };
        let Some((level, low, high)) = knee else { continue };
        let (low, high) = (low.min(high), low.max(high));
        let name = if row.label.is_empty() { String::new() } else { format!("{}: ", row.label) };
        let [at, from, to] = [level, low, high].map(|level| amounts.level(level));
        found.push(json!({
            "row": row.label, "knee": level, "from": low, "to": high,
            "text": format!("knee {at}"), "tip": format!("{name}knee at {at} [{from}, {to}]"),
        }));
    }
    found
}

/// Price, recommended limit and the bracket of death of a limit.
fn limit_parts(priced: &Priced, amounts: &Amounts<'_>, parts: &mut Value) {
    let price = format::share(priced.price);
    let within = priced.base_cost * (1.0 + priced.price);
    let text = format!("without a limit + {price}");
    parts["price"] = json!([{ "price": within, "text": text }]);
    // The highest level stands for no limit at all.
    let limited = priced.recommended.filter(|it| it.level < priced.levels[0].level);
    let recommended = limited.map(|it| {
        let text = format!("recommended {}", amounts.level(it.level));
        json!([{ "recommended": it.level, "text": text, "tip": text }])
    });
    parts["recommended"] = json!(recommended);
    let death = priced.death.as_ref().map(|death| {
        let [first, last] = [death.first, death.last].map(|level| amounts.level(level));
        let tip = format!("at {first} it dies ({}), at {last} it lives", death.reason);
        json!([{ "from": death.first, "to": death.last, "text": "dies", "tip": tip }])
    });
    parts["death"] = json!(death);
}

fn axes(view: &SweepView<'_>) -> Value {
    let curve = view.rows[0].curve;
    let rows = view.rows.iter().flat_map(|row| &row.found.rows);
    let levels: Vec<f64> = rows.clone().map(|row| row.level).collect();
    let costs = rows.flat_map(|row| [row.lowest_cost, row.highest_cost]).flatten();
    let costs: Vec<f64> = costs.collect();
    let (name, unit) = (&curve.parameter, curve.level_unit.as_str());
    let title = match unit {
        "bytes" | "ns" | "" => name.clone(),
        _ => format!("{name} ({unit})"),
    };
    let is_log = levels.iter().all(|level| *level > 0.0);
    let is_log_cost = costs.iter().all(|cost| *cost > 0.0);
    let scale_ns = TIME_UNITS.iter().find(|(unit, _)| *unit == curve.cost_unit);
    let scale_ns = scale_ns.map(|(_, scale_ns)| scale_ns).filter(|_| is_log_cost);
    let cost_ticks = |scale_ns: &f64| -> Vec<f64> {
        let costs_ns: Vec<f64> = costs.iter().map(|cost| cost * scale_ns).collect();
        ticks(&costs_ns).into_iter().map(|tick| rounded(tick / scale_ns)).collect()
    };
    json!({
        "parameter": title, "log": is_log, "linear": !is_log,
        "size-ticks": (unit == "bytes").then(|| powers_of_two(&levels)),
        "time-ticks": (unit == "ns").then(|| ticks(&levels)),
        "plain": !matches!(unit, "bytes" | "ns"),
        "response": curve.response, "above-0": is_log_cost,
        "cost-ticks": scale_ns.map(cost_ticks),
        "cost-label": scale_ns.map(|scale_ns| duration(&format!("(datum.value * {scale_ns})"))),
    })
}
