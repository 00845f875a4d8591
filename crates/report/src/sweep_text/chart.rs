//! The curve of a sweep in letters: log cost over level, with the interval of the knee.

use analysis::sweep::{Found, Row};
use stats::Shape;

use super::amounts::Amounts;

/// Width of the plot, without its scale, in letters.
const WIDTH: usize = 78;
/// Its height.
const HEIGHT: usize = 14;
/// Width of the scale.
const SCALE: usize = 9;
/// Ends of the levels this far apart, as a ratio, are drawn in equal ratios.
const FAR_APART: f64 = 4.0;
/// The scale spans at least this ratio, so that noise does not look like a mountain.
const LEAST_SPAN: f64 = 2.0;

/// Fewest levels that make a curve.
const FEWEST: usize = 3;

/// One level as it is drawn.
struct Mark {
    column: usize,
    /// Lowest, median and highest cost, as rows from the bottom.
    rows: [usize; 3],
}

/// The plot; empty if there are too few levels to draw. Rounded to letters, so that no library of
/// mathematics shows.
pub(super) fn text(found: &Found, amounts: &Amounts<'_>) -> String {
    let rows: Vec<&Row> = found.rows.iter().filter(|row| row.cost.is_some()).collect();
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return String::new() };
    if rows.len() < FEWEST {
        return String::new();
    }
    let across = Axis::of(first.level, last.level);
    let up = Costs::of(&rows);
    let marks: Vec<Mark> = rows.iter().filter_map(|row| mark(row, &across, &up)).collect();
    let mut plot = vec![vec![' '; WIDTH]; HEIGHT];
    let knee = knee_columns(&found.shape, &across);
    if let Some((low, high)) = knee {
        plot.iter_mut().for_each(|line| line[low..=high].fill('░'));
    }
    for pair in marks.windows(2) {
        join(&mut plot, &pair[0], &pair[1]);
    }
    for mark in &marks {
        for line in &mut plot[mark.rows[0]..=mark.rows[2]] {
            line[mark.column] = '│';
        }
        plot[mark.rows[1]][mark.column] = '●';
    }
    let mut text = String::new();
    for row in (0..HEIGHT).rev() {
        let scale = match row {
            0 => amounts.cost(up.low),
            row if row == HEIGHT - 1 => amounts.cost(up.high),
            row if row == HEIGHT / 2 => amounts.cost(up.at(row)),
            _ => String::new(),
        };
        let line: String = plot[row].iter().collect();
        text += &format!("{scale:>SCALE$} ┤{}\n", line.trim_end());
    }
    let mut axis = vec!['─'; WIDTH];
    for mark in &marks {
        axis[mark.column] = '┴';
    }
    text += &format!("{:SCALE$} └{}\n", "", axis.iter().collect::<String>());
    text += &format!("{:SCALE$}  {}\n", "", levels(&rows, &across, amounts));
    if knee.is_some() {
        text += &format!("{:SCALE$}  ░ the knee's interval\n", "");
    }
    text
}

/// Levels as columns.
struct Axis {
    first: f64,
    last: f64,
    in_ratios: bool,
}

impl Axis {
    fn of(first: f64, last: f64) -> Self {
        Self { first, last, in_ratios: first > 0.0 && last / first >= FAR_APART }
    }

    fn column(&self, level: f64) -> usize {
        let part = match self.in_ratios {
            true => (level / self.first).ln() / (self.last / self.first).ln(),
            false => (level - self.first) / (self.last - self.first),
        };
        (part.clamp(0.0, 1.0) * (WIDTH - 1) as f64).round() as usize
    }
}

/// Costs as rows.
struct Costs {
    low: f64,
    high: f64,
}

impl Costs {
    fn of(rows: &[&Row]) -> Self {
        let lowest = rows.iter().filter_map(|row| row.lowest_cost.or(row.cost));
        let highest = rows.iter().filter_map(|row| row.highest_cost.or(row.cost));
        let low = lowest.fold(f64::INFINITY, f64::min);
        let high = highest.fold(0.0, f64::max);
        if high / low >= LEAST_SPAN {
            return Self { low, high };
        }
        let (middle, half) = ((low * high).sqrt(), LEAST_SPAN.sqrt());
        Self { low: middle / half, high: middle * half }
    }

    fn row(&self, cost: f64) -> usize {
        let part = (cost / self.low).ln() / (self.high / self.low).ln();
        (part.clamp(0.0, 1.0) * (HEIGHT - 1) as f64).round() as usize
    }

    fn at(&self, row: usize) -> f64 {
        self.low * (self.high / self.low).powf(row as f64 / (HEIGHT - 1) as f64)
    }
}

fn mark(row: &Row, across: &Axis, up: &Costs) -> Option<Mark> {
    let median = row.cost?;
    let (low, high) = (row.lowest_cost.unwrap_or(median), row.highest_cost.unwrap_or(median));
    Some(Mark {
        column: across.column(row.level),
        rows: [low, median, high].map(|cost| up.row(cost)),
    })
}

/// The columns of the knee's interval.
fn knee_columns(shape: &Shape, across: &Axis) -> Option<(usize, usize)> {
    let Shape::Knee(knee) = shape else { return None };
    let (low, high) = (knee.low.min(knee.high), knee.low.max(knee.high));
    Some((across.column(low), across.column(high)))
}

/// A line of dots between two medians.
fn join(plot: &mut [Vec<char>], from: &Mark, to: &Mark) {
    let (from_row, to_row) = (from.rows[1] as f64, to.rows[1] as f64);
    let width = to.column.saturating_sub(from.column);
    for step in 1..width {
        let row = from_row + (to_row - from_row) * step as f64 / width as f64;
        plot[row.round() as usize][from.column + step] = '·';
    }
}

/// The levels below their columns, as many as there is room for: the ends, then from the left.
fn levels(rows: &[&Row], across: &Axis, amounts: &Amounts<'_>) -> String {
    let mut line = vec![' '; WIDTH];
    let mut place = |level: f64| {
        let text: Vec<char> = amounts.level(level).chars().collect();
        let start = across.column(level).saturating_sub(text.len() / 2);
        let start = start.min(WIDTH.saturating_sub(text.len()));
        let end = (start + text.len()).min(WIDTH);
        // With a blank on either side.
        let around = start.saturating_sub(1)..(end + 1).min(WIDTH);
        if line[around].iter().all(|letter| *letter == ' ') {
            line[start..end].copy_from_slice(&text[..end - start]);
        }
    };
    for row in rows.iter().take(1).chain(rows.iter().rev().take(1)).chain(rows) {
        place(row.level);
    }
    line.iter().collect::<String>().trim_end().to_owned()
}
