//! The gains of remedies on a simulated machine, each alone and the best ones together.

use analysis::seeds_text;
use render::{Block, Cell, Document, Table, format};
use serde::Serialize;
use sun4::{Tried, WhatIf};

/// The gains of remedies for a program on a simulated machine.
#[derive(Serialize)]
pub struct WhatIfView<'a> {
    /// The machine in words.
    pub place: String,
    /// The program in words.
    pub program: String,
    /// The seeds of each figure.
    pub seeds: &'a [u64],
    /// The gains.
    #[serde(flatten)]
    pub gains: &'a WhatIf,
}

/// The tables of remedies alone and together, and what was left out.
pub fn whatif_document<'a>(view: &'a WhatIfView<'_>) -> Document<'a> {
    let WhatIf { elapsed_ns, alone, together, left_out } = view.gains;
    let row = |tried: &Tried, last: Cell| {
        let Tried { remedy, elapsed_ns, gain, .. } = tried;
        let interval = Cell::Interval(Some((gain.low, gain.high)));
        let figures = [Cell::duration(*elapsed_ns), Cell::ratio(gain.ratio), interval, last];
        [Cell::from(&remedy.name), Cell::from(remedy.price.name())].into_iter().chain(figures)
    };
    let alone = alone.iter().map(|tried| row(tried, Cell::from(&tried.remedy.settings)));
    let head = ["remedy", "cost", "elapsed", "speed-up", "interval", "setting"];
    let mut document = Document::of(vec![Table::of("Each alone", head, alone).into()]);
    if together.is_empty() {
        document.push("No remedy is certain to add more than 1 %.");
    } else {
        let head = ["remedy", "cost", "elapsed", "adds", "interval", "in all"];
        let caption = "Together, one after the other, until none is certain to add more than 1 %";
        let rows = together.iter().map(|tried| row(tried, Cell::ratio(tried.total.ratio)));
        document.push(Table::of(caption, head, rows));
    }
    let left_out = left_out.iter().map(|(name, reason)| format!("Not tried: {name}: {reason}"));
    document.push(Block::Notes(left_out.collect()));
    document.push(
        "Speed-up: elapsed time before over elapsed time with the remedy, over all pairs of seeds \
         (Hodges-Lehmann), with an exact 95 % interval, or the widest that so few seeds allow. Of \
         remedies within 1 % of each other the cheapest comes first.",
    );
    let program = format!("{}, {}", view.program, seeds_text(view.seeds));
    let without = format::duration(*elapsed_ns);
    let place = view.place.clone();
    let facts = [("machine", place), ("program", program), ("without a remedy", without)];
    document.with_facts(facts).with_data(view)
}

#[cfg(test)]
mod tests {
    use render::plain_text;
    use sun4::{Gain, Price, Remedy};

    use super::*;

    #[test]
    fn remedies_stand_in_two_tables() {
        let gain = |ratio| Gain { ratio, low: 0.9 * ratio, high: 1.1 * ratio };
        let tried = |name: &str, ratio: f64| Tried {
            remedy: Remedy {
                name: name.to_owned(),
                about: String::new(),
                settings: "reload=group".to_owned(),
                price: Price::KernelPatch,
            },
            elapsed_ns: 39.5e9,
            gain: gain(ratio),
            total: gain(2.0 * ratio),
        };
        let shown = |gains: &WhatIf| {
            let place = "simulated sparcstation1 of 24M, hat old".to_owned();
            let program = "vmtest of 24M".to_owned();
            plain_text(&whatif_document(&WhatIfView { place, program, seeds: &[1, 2, 3], gains }))
        };
        let gains = WhatIf {
            elapsed_ns: 230e9,
            alone: vec![tried("software cache of pmegs", 5.8), tried("shared pmegs", 123.4)],
            together: vec![tried("software cache of pmegs", 5.8)],
            left_out: vec![("no swapping".to_owned(), "it changes nothing here".to_owned())],
        };
        insta::assert_snapshot!(shown(&gains));
        let none = WhatIf { together: Vec::new(), left_out: Vec::new(), ..gains };
        assert!(shown(&none).contains("\nNo remedy is certain to add"));
    }
}
