//! The waterfall of shares: from the reference to the other levels, factor by factor.

use analysis::attribution::{Attribution, Step};
use serde_json::{Value, json};

use super::encoding::{by_colour, present, rounded, tip};
use super::{Data, Kind};
use crate::attribution_text::{amount, quantity};
use render::{Cell, Chart, Table};

pub(super) const KIND: Kind = Kind {
    name: "waterfall",
    section: "attribution",
    title: "What the change is to be put down to",
    make,
};

const KINDS: [(&str, &str); 3] =
    [("whole", "#8c8c8c"), ("increase", "#d55e00"), ("decrease", "#2f8fcf")];

fn make(data: &Data<'_>) -> Vec<Chart> {
    let found = data.material.inputs.iter().filter_map(|input| input.attribution.as_ref());
    let steps =
        found.flat_map(|attribution| attribution.steps.iter().map(move |step| (attribution, step)));
    let shared = steps.filter(|(_, step)| step.shares.len() > 1);
    shared.map(|(attribution, step)| of_step(attribution, step)).collect()
}

/// The levels of one end of a step, in words.
fn end(step: &Step, last: bool) -> String {
    let level = |factor: &analysis::Factor| {
        let level = if last { factor.levels.last() } else { factor.levels.first() };
        format!("{} {}", factor.name, level.map_or("", String::as_str))
    };
    step.factors.iter().map(level).collect::<Vec<_>>().join(", ")
}

fn of_step(attribution: &Attribution, step: &Step) -> Chart {
    let mut table = Table::new("", ["factor", "contribution", "share", "interval"]);
    let mut values = vec![whole(attribution, &end(step, false), step.before)];
    let mut from = step.before;
    for share in &step.shares {
        let to = from + share.contribution;
        let percent = share.percent.map_or_else(String::new, |percent| format!("{percent:.1} %"));
        let interval = share
            .interval
            .map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:.1} to {high:.1} %"));
        let sign = if share.contribution >= 0.0 { "+" } else { "" };
        let text = format!("{sign}{}", amount(attribution, share.contribution));
        let inside = if interval == "-" { String::new() } else { format!(" [{interval}]") };
        values.push(json!({
            "bar": share.factor, "from": rounded(from), "to": rounded(to),
            "top": rounded(from.max(to)),
            "kind": if share.contribution >= 0.0 { "increase" } else { "decrease" },
            "text": format!("{text} ({percent})"),
            "tip": format!("{}: {text}, {percent} of the change{inside}", share.factor),
        }));
        let figures = [text, percent, interval].map(Cell::figure);
        table.row([Cell::from(&share.factor)].into_iter().chain(figures));
        from = to;
    }
    values.push(whole(attribution, &end(step, true), step.after));
    let order: Vec<String> =
        values.iter().filter_map(|value| value["bar"].as_str().map(str::to_owned)).collect();
    let reading = format!(
        "From {} to {}: each factor's contribution to the change of {} (Shapley values: the mean \
         over all orders in which the factors could have changed).",
        end(step, false),
        end(step, true),
        attribution.response
    );
    let body = body(attribution, &order, &values);
    KIND.chart(reading, values, body, table)
}

fn whole(attribution: &Attribution, name: &str, value: f64) -> Value {
    let text = quantity(attribution, value);
    json!({ "bar": name, "from": 0, "to": rounded(value), "top": rounded(value), "kind": "whole",
            "text": text, "tip": format!("{name}: {text}") })
}

fn body(attribution: &Attribution, order: &[String], values: &[Value]) -> Value {
    let tip = tip();
    let x = json!({ "field": "bar", "type": "nominal", "sort": order, "title": null,
                    "axis": { "labelAngle": 0, "labelLimit": 220,
                              "labelExpr": "split(datum.label, ', ')" } });
    let mut y = json!({ "field": "from", "type": "quantitative", "title": attribution.response });
    if attribution.measured.unit == "ns" {
        y["axis"] = json!({ "labelExpr": super::duration::expression("datum.value") });
    }
    json!({
        "width": "container",
        "height": 280,
        "layer": [{
            "mark": { "type": "bar", "size": 64 },
            "encoding": {
                "x": x, "y": y, "y2": { "field": "to" },
                "color": by_colour("kind", &present(&KINDS, "kind", values)),
                "tooltip": tip, "description": tip,
            },
        }, {
            "mark": { "type": "text", "dy": -8, "fontWeight": "bold", "aria": false },
            "encoding": { "x": x, "y": { "field": "top", "type": "quantitative" },
                          "text": { "field": "text", "type": "nominal" } },
        }],
    })
}
