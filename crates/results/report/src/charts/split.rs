//! The delay split: the parts of the slow responses under each load.

use analysis::explained::{Account, Part, is_counted};
use serde_json::{Value, json};

use super::{Data, strips};
use analysis::responsiveness::WhySlow;
use render::charts::rounded;
use render::{Cell, Table, format};

const DARK: [Part; 5] = [Part::User, Part::BlockIo, Part::Thrashing, Part::Reclaim, Part::Irq];
const NAMED_FROM: f64 = 0.11;

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let mut rows: Vec<(String, &WhySlow)> = Vec::new();
    for one in &data.measurements {
        let label = data.label(one);
        let loads = one.matrix.why_slow.iter();
        let loads = loads.filter(|load| load.slow.samples > 0 && is_counted(&load.slow.parts_ns));
        rows.extend(loads.map(|load| (strips::panel(&load.load, &label), load)));
    }
    rows.truncate(strips::MOST_PANELS);
    let named = rows.iter().map(|(panel, load)| {
        let slow = &load.slow;
        let mean_ns = format::duration(slow.delay_ns as f64 / slow.samples as f64);
        (format!("{panel}: {} slow, {mean_ns} on average", slow.samples), panel, slow)
    });
    let values = named.clone().flat_map(|(name, panel, slow)| segments(panel, &name, slow));
    let parts = json!({
        "values": values.collect::<Vec<_>>(),
        "order": named.map(|(name, ..)| name).collect::<Vec<_>>(),
    });
    vec![(parts, table(&rows))]
}

fn segments(panel: &str, name: &str, slow: &Account) -> Vec<Value> {
    let whole_ns = slow.delay_ns.max(1) as f64;
    let (mut from, mut values) = (0.0, Vec::new());
    for part in Part::ALL.iter().copied() {
        let time_ns = part_ns(slow, part);
        if time_ns == 0 {
            continue;
        }
        let share = time_ns as f64 / whole_ns;
        let text = match share >= NAMED_FROM {
            true => format!("{} {:.0} %", part.title(), 100.0 * share),
            false => String::new(),
        };
        let each = format::duration(time_ns as f64 / slow.samples as f64);
        values.push(json!({
            "load": name, "part": part.title(), "ink": if DARK.contains(&part) { "#ffffff" } else { "#000000" },
            "text": text,
            "from": rounded(from), "to": rounded(from + share), "middle": rounded(from + share / 2.0),
            "tip": format!("{panel}: {} {:.1} %, {each} of a response", part.title(), 100.0 * share),
        }));
        from += share;
    }
    values
}

fn table(rows: &[(String, &WhySlow)]) -> Table {
    let known = |part: &Part| rows.iter().any(|(_, load)| part_ns(&load.slow, *part) > 0);
    let parts: Vec<Part> = Part::ALL.iter().copied().filter(known).collect();
    let head = ["load", "slow responses", "mean delay"].into_iter();
    let rows = rows.iter().map(|(panel, WhySlow { slow, .. })| {
        let mean_ns = slow.delay_ns as f64 / slow.samples as f64;
        let first = [Cell::from(panel), slow.samples.into(), Cell::duration(mean_ns)];
        let not_counted = || Cell::Absent("not counted".to_owned());
        let shares = parts.iter().map(|part| slow.share(*part));
        first.into_iter().chain(shares.map(move |it| it.map_or_else(not_counted, Cell::Share)))
    });
    Table::of("", head.chain(parts.iter().map(|part| part.title())), rows)
}

fn part_ns(slow: &Account, part: Part) -> u64 {
    slow.parts_ns.get(&part).copied().flatten().unwrap_or(0)
}
