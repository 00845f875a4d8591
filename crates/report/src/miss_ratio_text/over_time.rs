//! The working set over time: its mean sizes, and a bar for each piece of time.

use mmu::curve::{UnitCurves, Window, WorkingSets};
use model::units::format_size;

use crate::columns::to_the_right;

use super::{significant, unit_name};

/// Most bars.
const BARS: usize = 24;
/// Length of the longest bar, in letters.
const BAR: u64 = 40;

/// Both tables.
pub(super) fn text(unit: &UnitCurves, working_set: &WorkingSets) -> String {
    let name = unit_name(unit);
    let mut text = format!("Mean working set by window\n{}", means(unit, working_set));
    if let Some(window) = working_set.windows.first() {
        text += &format!("\nDistinct {name} in windows of {} references", window.references);
        let each = working_set.windows.len().div_ceil(BARS);
        if each > 1 {
            text += &format!("; the largest of {each} windows in each line");
        }
        text += &format!("\n{}", bars(unit, &working_set.windows, each));
    }
    text
}

fn means(unit: &UnitCurves, working_set: &WorkingSets) -> String {
    let mut rows = vec![["window", "mean units", "size"].map(str::to_owned).to_vec()];
    let powers = working_set.means.iter().filter(|mean| {
        mean.window.is_power_of_two() && mean.window.trailing_zeros().is_multiple_of(2)
    });
    for mean in powers {
        rows.push(vec![
            mean.window.to_string(),
            significant(mean.units),
            format_size((mean.units * unit.unit_bytes as f64).round() as u64),
        ]);
    }
    to_the_right(&rows)
}

fn bars(unit: &UnitCurves, windows: &[Window], each: usize) -> String {
    let headings = ["from", "units", "size", "new", "2M regions"];
    let mut rows = vec![headings.map(str::to_owned).to_vec()];
    let largest = windows.iter().map(|window| window.units).max().unwrap_or(0).max(1);
    let mut lines = vec![String::new()];
    for group in windows.chunks(each) {
        let most = |of: fn(&Window) -> u64| group.iter().map(of).max().unwrap_or(0);
        let units = most(|window| window.units);
        let new: u64 = group.iter().map(|window| window.new_units).sum();
        rows.push(vec![
            group[0].first.to_string(),
            units.to_string(),
            format_size(units.saturating_mul(unit.unit_bytes)),
            new.to_string(),
            most(|window| window.regions).to_string(),
        ]);
        lines.push("█".repeat((units * BAR).div_ceil(largest) as usize));
    }
    let table = to_the_right(&rows);
    let joined = table.lines().zip(lines).map(|(row, bar)| format!("{row}  {bar}"));
    joined.map(|line| format!("{}\n", line.trim_end())).collect()
}
