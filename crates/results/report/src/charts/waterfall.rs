//! The waterfall of shares: from the reference to the other levels by factor.

use analysis::attribution::{Attribution, Step};
use serde_json::{Value, json};

use super::Data;
use crate::attribution_text::Words;
use render::charts::rounded;
use render::{Cell, Table};

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let found = data.material.inputs.iter().filter_map(|input| input.attribution.as_ref());
    let steps =
        found.flat_map(|attribution| attribution.steps.iter().map(move |step| (attribution, step)));
    let shared = steps.filter(|(_, step)| step.shares.len() > 1);
    shared.map(|(attribution, step)| of_step(attribution, step)).collect()
}

fn end(step: &Step, last: bool) -> String {
    let level = |factor: &analysis::Factor| {
        let level = if last { factor.levels.last() } else { factor.levels.first() };
        format!("{} {}", factor.name, level.map_or("", String::as_str))
    };
    step.factors.iter().map(level).collect::<Vec<_>>().join(", ")
}

fn of_step(attribution: &Attribution, step: &Step) -> (Value, Table) {
    let mut table = Table::new("", ["factor", "contribution", "share", "interval"]);
    let words = Words::new(attribution);
    let mut values = vec![whole(&words, &end(step, false), step.before)];
    let mut from = step.before;
    for share in &step.shares {
        let to = from + share.contribution;
        let percent = share.percent.map_or_else(String::new, |percent| format!("{percent:.1} %"));
        let interval = share.interval.map(|(low, high)| format!("{low:.1} to {high:.1} %"));
        let sign = if share.contribution >= 0.0 { "+" } else { "" };
        let text = format!("{sign}{}", words.amount(share.contribution));
        let inside = interval.as_ref().map_or_else(String::new, |it| format!(" [{it}]"));
        values.push(json!({
            "bar": share.factor, "from": rounded(from), "to": rounded(to),
            "top": rounded(from.max(to)),
            "kind": if share.contribution >= 0.0 { "increase" } else { "decrease" },
            "text": format!("{text} ({percent})"),
            "tip": format!("{}: {text}, {percent} of the change{inside}", share.factor),
        }));
        let interval = interval.unwrap_or_else(|| "-".to_owned());
        let figures = [text, percent, interval].map(Cell::Figure);
        table.row([Cell::from(&share.factor)].into_iter().chain(figures));
        from = to;
    }
    values.push(whole(&words, &end(step, true), step.after));
    let order: Vec<&Value> = values.iter().map(|value| &value["bar"]).collect();
    let parts = json!({
        "before": end(step, false), "after": end(step, true), "response": attribution.response,
        "order": order, "time": attribution.measured.unit == "ns", "values": values,
    });
    (parts, table)
}

fn whole(words: &Words, name: &str, value: f64) -> Value {
    let text = words.quantity(value);
    json!({ "bar": name, "from": 0, "to": rounded(value), "top": rounded(value), "kind": "whole",
            "text": text, "tip": format!("{name}: {text}") })
}
