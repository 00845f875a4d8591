//! The gains of remedies on a simulated machine, each alone and the best ones together.

use analysis::seeds_text;
use render::{Block, Cell, Document, Table, format};
use serde::Serialize;

/// The gains of remedies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIf {
    /// The machine in words.
    pub place: String,
    /// The program in words.
    pub program: String,
    /// The seeds of each figure.
    pub seeds: Vec<u64>,
    /// Median elapsed time without any remedy, in ns.
    pub elapsed_ns: f64,
    /// Each remedy alone, the greatest speed-up first.
    pub alone: Vec<Tried>,
    /// Remedies added one by one, the best first.
    pub together: Vec<Tried>,
    /// Remedies that are unavailable or change nothing, with the reasons.
    pub left_out: Vec<(String, String)>,
}

/// A remedy that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// What it does.
    pub about: String,
    /// The settings that it changes.
    pub settings: String,
    /// Its cost.
    pub price: String,
    /// Median elapsed time with it, in ns.
    pub elapsed_ns: f64,
    /// Elapsed time without it over that with it.
    pub gain: Gain,
    /// Elapsed time without any remedy over that with all so far.
    pub total: Gain,
}

/// A ratio of elapsed times over seeds (Hodges-Lehmann) with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The estimate.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The tables of remedies alone and together, and what was left out.
pub fn whatif_document(found: &WhatIf) -> Document<'_> {
    let row = |tried: &Tried, last: Cell| {
        let Tried { name, price, elapsed_ns, gain, .. } = tried;
        let interval = Cell::Interval(Some((gain.low, gain.high)));
        let figures = [Cell::duration(*elapsed_ns), Cell::ratio(gain.ratio), interval, last];
        [Cell::from(name), Cell::from(price)].into_iter().chain(figures)
    };
    let alone = found.alone.iter().map(|tried| row(tried, Cell::from(&tried.settings)));
    let head = ["remedy", "cost", "elapsed", "speed-up", "interval", "setting"];
    let mut document = Document::of(vec![Table::of("Each alone", head, alone).into()]);
    if found.together.is_empty() {
        document.push("No remedy is certain to add more than 1 %.");
    } else {
        let head = ["remedy", "cost", "elapsed", "adds", "interval", "in all"];
        let caption = "Together, one after the other, until none is certain to add more than 1 %";
        let rows = found.together.iter().map(|tried| row(tried, Cell::ratio(tried.total.ratio)));
        document.push(Table::of(caption, head, rows));
    }
    let left_out = found.left_out.iter();
    let left_out = left_out.map(|(name, reason)| format!("Not tried: {name}: {reason}"));
    document.push(Block::Notes(left_out.collect()));
    document.push(
        "Speed-up: elapsed time before over elapsed time with the remedy, over all pairs of seeds \
         (Hodges-Lehmann), with an exact 95 % interval, or the widest that so few seeds allow. Of \
         remedies within 1 % of each other the cheapest comes first.",
    );
    let program = format!("{}, {}", found.program, seeds_text(&found.seeds));
    let without = format::duration(found.elapsed_ns);
    let place = found.place.clone();
    let facts = [("machine", place), ("program", program), ("without a remedy", without)];
    document.with_facts(facts).with_data(found)
}

#[cfg(test)]
mod tests {
    use render::plain_text;

    use super::*;

    #[test]
    fn remedies_stand_in_two_tables() {
        let gain = |ratio| Gain { ratio, low: 0.9 * ratio, high: 1.1 * ratio };
        let tried = |name: &str, ratio: f64| Tried {
            name: name.to_owned(),
            about: String::new(),
            settings: "reload=group".to_owned(),
            price: "kernel patch".to_owned(),
            elapsed_ns: 39.5e9,
            gain: gain(ratio),
            total: gain(2.0 * ratio),
        };
        let found = WhatIf {
            place: "simulated sparcstation1 of 24M, hat old".to_owned(),
            program: "vmtest of 24M".to_owned(),
            seeds: vec![1, 2, 3],
            elapsed_ns: 230e9,
            alone: vec![tried("software cache of pmegs", 5.8), tried("shared pmegs", 123.4)],
            together: vec![tried("software cache of pmegs", 5.8)],
            left_out: vec![("no swapping".to_owned(), "it changes nothing here".to_owned())],
        };
        insta::assert_snapshot!(plain_text(&whatif_document(&found)));
        let none = WhatIf { together: Vec::new(), left_out: Vec::new(), ..found };
        assert!(plain_text(&whatif_document(&none)).contains("\nNo remedy is certain to add"));
    }
}
