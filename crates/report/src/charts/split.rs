//! The delay split: what the slow responses under each load consist of.

use analysis::explained::{Account, Part};
use serde_json::{Value, json};

use super::encoding::{by_colour, merged, rounded, tip};
use super::{Data, Kind, strips};
use analysis::responsiveness::WhySlow;
use render::{Cell, Chart, Table, format};

pub(super) const KIND: Kind =
    Kind { name: "delay-split", section: "delays", title: "What slow responses consist of", make };

/// Parts with their colours and that of the text on them.
const COLOURS: [(Part, &str, &str); 13] = [
    (Part::MissedStart, "#8c8c8c", "#000000"),
    (Part::User, "#2f6fb0", "#ffffff"),
    (Part::System, "#6db3e0", "#000000"),
    (Part::CpuWait, "#e69f00", "#000000"),
    (Part::Throttled, "#f0e442", "#000000"),
    (Part::BlockIo, "#c8501e", "#ffffff"),
    (Part::SwapIn, "#cc79a7", "#000000"),
    (Part::Thrashing, "#96326e", "#ffffff"),
    (Part::Reclaim, "#00946c", "#ffffff"),
    (Part::Compaction, "#6cc4b4", "#000000"),
    (Part::CopyOnWrite, "#8a9a3c", "#000000"),
    (Part::Irq, "#6f63b8", "#ffffff"),
    (Part::Remainder, "#c9c9c9", "#000000"),
];
/// From this share on a part has its name on it.
const NAMED_FROM: f64 = 0.11;

fn make(data: &Data<'_>) -> Vec<Chart> {
    let mut rows: Vec<(String, &WhySlow)> = Vec::new();
    for one in &data.measurements {
        let label = data.label(one);
        let told = one.matrix.why_slow.iter().filter(|load| load.slow.samples > 0);
        let told = told.filter(|load| load.has_sources());
        rows.extend(told.map(|load| (strips::panel(&load.load, &label), load)));
    }
    rows.truncate(strips::MOST_PANELS);
    if rows.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = rows.iter().map(|(panel, load)| name(panel, &load.slow)).collect();
    let values: Vec<Value> = rows
        .iter()
        .zip(&names)
        .flat_map(|((panel, load), name)| segments(panel, name, &load.slow))
        .collect();
    let present: Vec<(&str, &str)> = COLOURS
        .iter()
        .filter(|(part, ..)| values.iter().any(|value| value["part"] == part.name()))
        .map(|(part, colour, _)| (part.name(), *colour))
        .collect();
    let reading = "The delays of the slow responses (more than three times the median without \
                   load) together, divided by what they were spent on; the parts sum to the whole."
        .to_owned();
    vec![KIND.chart(reading, values, body(&names, &present), table(&rows))]
}

fn name(panel: &str, slow: &Account) -> String {
    let mean_ns = slow.delay_ns as f64 / slow.samples as f64;
    format!("{panel}: {} slow, {} on average", slow.samples, format::duration(mean_ns))
}

fn segments(panel: &str, name: &str, slow: &Account) -> Vec<Value> {
    let whole_ns = slow.delay_ns.max(1) as f64;
    let mut from = 0.0;
    let mut values = Vec::new();
    for (part, _, ink) in COLOURS {
        let Some(Some(time_ns)) = slow.parts_ns.get(&part) else { continue };
        let share = *time_ns as f64 / whole_ns;
        if share <= 0.0 {
            continue;
        }
        let text = match share >= NAMED_FROM {
            true => format!("{} {:.0} %", part.name(), 100.0 * share),
            false => String::new(),
        };
        let each_ns = *time_ns as f64 / slow.samples as f64;
        let each = format::duration(each_ns);
        values.push(json!({
            "load": name, "part": part.name(), "ink": ink, "text": text,
            "from": rounded(from), "to": rounded(from + share), "middle": rounded(from + share / 2.0),
            "tip": format!("{panel}: {} {:.1} %, {each} of a response", part.name(), 100.0 * share),
        }));
        from += share;
    }
    values
}

fn body(names: &[String], present: &[(&str, &str)]) -> Value {
    let tip = tip();
    let y = json!({ "field": "load", "type": "nominal", "sort": names, "title": null,
                    "axis": { "labelLimit": 320 } });
    json!({
        "width": "container",
        "height": { "step": 30 },
        "layer": [{
            "mark": { "type": "bar", "stroke": "white", "strokeWidth": 1 },
            "encoding": {
                "x": { "field": "from", "type": "quantitative", "title": "share of the delay",
                       "scale": { "domain": [0, 1] }, "axis": { "format": ".0%", "tickCount": 5 } },
                "x2": { "field": "to" },
                "y": y,
                "color": merged(by_colour("part", present),
                    json!({ "legend": { "orient": "bottom", "columns": 7 } })),
                "tooltip": tip, "description": tip,
            },
        }, {
            "mark": { "type": "text", "fontSize": 11, "aria": false },
            "encoding": {
                "x": { "field": "middle", "type": "quantitative" },
                "y": y,
                "text": { "field": "text", "type": "nominal" },
                "color": { "field": "ink", "type": "nominal", "scale": null },
            },
        }],
    })
}

fn table(rows: &[(String, &WhySlow)]) -> Table {
    let known = |part: &Part| rows.iter().any(|(_, load)| part_ns(&load.slow, *part) > 0);
    let parts: Vec<Part> = Part::ALL.into_iter().filter(known).collect();
    let mut table = Table::new("", ["load", "slow responses", "mean delay"]);
    table.head.extend(parts.iter().map(|part| part.name().to_owned()));
    for (panel, load) in rows {
        let slow = &load.slow;
        let mean_ns = slow.delay_ns as f64 / slow.samples as f64;
        let mut cells = vec![Cell::from(panel), slow.samples.into(), Cell::duration(mean_ns)];
        cells.extend(parts.iter().map(|part| match slow.share(*part) {
            Some(share) => Cell::share(share),
            None => Cell::absent_because("not counted"),
        }));
        table.row(cells);
    }
    table
}

fn part_ns(slow: &Account, part: Part) -> u64 {
    slow.parts_ns.get(&part).copied().flatten().unwrap_or(0)
}
