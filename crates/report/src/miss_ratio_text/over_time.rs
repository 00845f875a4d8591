//! The working set over time: its mean sizes, and a bar for each piece of time.

use mmu::curve::{UnitCurves, Window, WorkingSets};
use render::{Cell, Table};

use super::{figure, unit_name};

/// Most bars.
const BARS: usize = 24;
/// Length of the longest bar, in letters.
const BAR: u64 = 40;

/// The mean working set by length of the window.
pub(super) fn means(unit: &UnitCurves, working_set: &WorkingSets) -> Table {
    let mut table = Table::new("Mean working set by window", ["window", "mean units", "size"]);
    let powers = working_set.means.iter().filter(|mean| {
        mean.window.is_power_of_two() && mean.window.trailing_zeros().is_multiple_of(2)
    });
    for mean in powers {
        let size_bytes = (mean.units * unit.unit_bytes as f64).round() as u64;
        table.row([mean.window.into(), figure(mean.units), Cell::size(size_bytes)]);
    }
    table
}

/// What is in use from window to window.
pub(super) fn windows(unit: &UnitCurves, working_set: &WorkingSets) -> Table {
    let windows = &working_set.windows;
    let each = windows.len().div_ceil(BARS).max(1);
    let references = windows.first().map_or(0, |window| window.references);
    let mut caption = format!("Distinct {} in windows of {references} references", unit_name(unit));
    if each > 1 {
        caption += &format!("; the largest of {each} windows in each line");
    }
    let mut table = Table::new(caption, ["from", "units", "size", "new", "2M regions", ""]);
    let largest = windows.iter().map(|window| window.units).max().unwrap_or(0).max(1);
    for group in windows.chunks(each) {
        let most = |of: fn(&Window) -> u64| group.iter().map(of).max().unwrap_or(0);
        let units = most(|window| window.units);
        table.row([
            Cell::count(group[0].first),
            Cell::count(units),
            Cell::size(units.saturating_mul(unit.unit_bytes)),
            Cell::count(group.iter().map(|window| window.new_units).sum()),
            Cell::count(most(|window| window.regions)),
            Cell::from("█".repeat((units * BAR).div_ceil(largest) as usize)),
        ]);
    }
    table
}
