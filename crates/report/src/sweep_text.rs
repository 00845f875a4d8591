//! A sweep as text: what was measured, the table of its levels, the curve, the knee, and what lies
//! under it.

mod amounts;
mod chart;
mod map;
mod movers;
mod place;
mod sentences;
mod table;

use analysis::sweep::{Curve, Found, Grid};

pub use place::place_of;
pub use sentences::sweep_so_far;

pub(crate) use amounts::Amounts;
pub(crate) use movers::text as movers_text;
pub(crate) use sentences::{knee as knee_sentence, others as other_sentences};

/// Everything that the text of a sweep tells.
#[derive(Clone, Debug)]
pub struct SweepView<'a> {
    /// Where it was measured, if that is known.
    pub place: String,
    /// Parameters that were the same everywhere.
    pub settings: Vec<(String, String)>,
    /// What the rows are levels of, if there are several.
    pub by: Option<String>,
    /// The curves.
    pub rows: Vec<SweepRow<'a>>,
    /// The rows side by side.
    pub grid: Option<Grid>,
    /// Factor of the cost that counted as leaving the plateau.
    pub least_rise: f64,
}

/// One curve and what it says.
#[derive(Clone, Debug)]
pub struct SweepRow<'a> {
    /// Its level of the second parameter; empty if there is none.
    pub label: String,
    /// The measurements.
    pub curve: &'a Curve,
    /// What they say.
    pub found: Found,
}

/// The whole result. Ends in a newline.
#[must_use]
pub fn sweep_text(view: &SweepView<'_>) -> String {
    let mut text = heading(view);
    for row in &view.rows {
        text += &curve_text(view, row);
    }
    if let Some(grid) = &view.grid {
        text += &format!("\n{}", map::text(grid));
    }
    if view.rows.len() > 1 {
        let by = view.by.as_deref().unwrap_or_default();
        text += "\n";
        for row in &view.rows {
            let knee = sentences::knee(row.curve, &row.found, view.least_rise);
            text += &format!("{by} {}: {knee}\n", row.label);
        }
    }
    text
}

fn heading(view: &SweepView<'_>) -> String {
    let Some(SweepRow { curve, .. }) = view.rows.first() else { return String::new() };
    let unit = match curve.cost_unit.as_str() {
        "" => String::new(),
        unit => format!(" ({unit})"),
    };
    let mut text = format!("Sweep: {}{unit} over {}\n", curve.response, curve.parameter);
    text += &format!("{}\n", curve.name);
    if !view.place.is_empty() {
        text += &format!("{}\n", view.place);
    }
    if !view.settings.is_empty() {
        let settings: Vec<String> =
            view.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        text += &format!("{}\n", settings.join(", "));
    }
    let points = view.rows.iter().map(|row| row.curve.points.len()).sum::<usize>();
    let levels = view.rows.iter().map(|row| row.found.rows.len()).sum::<usize>();
    let noise = match curve.deterministic {
        true => ", exactly repeatable",
        false => "",
    };
    let passes = view.rows.iter().flat_map(|row| &row.curve.points).map(|point| point.pass);
    let ways = match passes.max() {
        Some(last) if last > 0 && !curve.deterministic => ", up and down by turns",
        _ => "",
    };
    text + &format!("{points} measurements of {levels} levels{ways}{noise}\n")
}

fn curve_text(view: &SweepView<'_>, row: &SweepRow<'_>) -> String {
    let SweepRow { label, curve, found } = row;
    let amounts = Amounts::of(curve);
    let mut text = String::new();
    if view.rows.len() > 1 {
        let by = view.by.as_deref().unwrap_or_default();
        text += &format!("\n{by} {label}\n");
    }
    text += &format!("\n{}", table::text(found, &amounts));
    let chart = chart::text(found, &amounts);
    if !chart.is_empty() {
        text += &format!("\n{chart}");
    }
    text += &format!("\n{}\n", sentences::knee(curve, found, view.least_rise));
    for sentence in sentences::others(found, &amounts) {
        text += &format!("{sentence}\n");
    }
    if let Some(moved) = &found.moved {
        let movers = movers::text(moved, &amounts);
        if !movers.is_empty() {
            text += &format!("\n{movers}");
        }
    }
    for note in found.notes.iter().chain(&curve.notes) {
        text += &format!("Note: {note}\n");
    }
    text
}

/// The curve in letters, empty if there is too little of it, and what was found out about its knee.
/// Each ends in a newline.
pub(crate) fn chart_and_knee(curve: &Curve, found: &Found, least_rise: f64) -> (String, String) {
    let knee = sentences::knee(curve, found, least_rise);
    (chart::text(found, &Amounts::of(curve)), format!("{knee}\n"))
}

#[cfg(test)]
mod tests;
