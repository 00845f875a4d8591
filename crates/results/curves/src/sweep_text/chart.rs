//! The curve of a sweep as text: log cost over level, with the interval of the knee.

use std::ops::Range;

use analysis::sweep::{Row, SweepResult};
use render::Block;

use super::Amounts;

/// With the scale and its axis, a terminal of 80 columns.
const WIDTH: usize = 69;
const HEIGHT: usize = 14;
const SCALE: usize = 9;
/// Levels with a larger ratio of their ends have a logarithmic axis.
const FAR_APART: f64 = 4.0;
/// The scale spans at least this ratio, so that noise looks small.
const LEAST_SPAN: f64 = 2.0;
const FEWEST: usize = 3;

struct Axis {
    first: f64,
    last: f64,
    is_log: bool,
    length: usize,
}

impl Axis {
    fn across(rows: &[&Row]) -> Self {
        let (first, last) = (rows[0].level, rows[rows.len() - 1].level);
        Self { first, last, is_log: first > 0.0 && last / first >= FAR_APART, length: WIDTH }
    }

    fn up(rows: &[&Row]) -> Self {
        let lowest = rows.iter().filter_map(|row| row.lowest_cost.or(row.cost));
        let highest = rows.iter().filter_map(|row| row.highest_cost.or(row.cost));
        let (mut first, mut last) =
            (lowest.fold(f64::INFINITY, f64::min), highest.fold(0.0, f64::max));
        if last / first < LEAST_SPAN {
            let (middle, half) = ((first * last).sqrt(), LEAST_SPAN.sqrt());
            (first, last) = (middle / half, middle * half);
        }
        Self { first, last, is_log: true, length: HEIGHT }
    }

    fn place(&self, value: f64) -> usize {
        let part = match self.is_log {
            true => (value / self.first).ln() / (self.last / self.first).ln(),
            false => (value - self.first) / (self.last - self.first),
        };
        (part.clamp(0.0, 1.0) * (self.length - 1) as f64).round() as usize
    }
}

/// The plot, unless there are too few levels.
pub(crate) fn chart(found: &SweepResult, amounts: &Amounts<'_>) -> Option<Block> {
    let rows: Vec<&Row> = found.rows.iter().filter(|row| row.cost.is_some()).collect();
    if rows.len() < FEWEST {
        return None;
    }
    let (across, up) = (Axis::across(&rows), Axis::up(&rows));
    let knee = found.shape.knee().map(|knee| {
        let (one, other) = (across.place(knee.low), across.place(knee.high));
        one.min(other)..one.max(other) + 1
    });
    let plot = plot(&rows, &across, &up, knee.clone());
    let mut text = String::new();
    for (row, line) in plot.iter().enumerate().rev() {
        let part = row as f64 / (HEIGHT - 1) as f64;
        let scale = match row {
            0 => amounts.cost(up.first),
            row if row == HEIGHT - 1 => amounts.cost(up.last),
            row if row == HEIGHT / 2 => amounts.cost(up.first * (up.last / up.first).powf(part)),
            _ => String::new(),
        };
        let line: String = line.iter().collect();
        text += &format!("{scale:>SCALE$} ┤{}\n", line.trim_end());
    }
    let mut axis = vec!['─'; WIDTH];
    rows.iter().for_each(|row| axis[across.place(row.level)] = '┴');
    text += &format!("{:SCALE$} └{}\n", "", axis.iter().collect::<String>());
    text += &format!("{:SCALE$}  {}\n", "", levels(&rows, &across, amounts));
    if knee.is_some() {
        text += &format!("{:SCALE$}  ░ the knee's interval\n", "");
    }
    Some(Block::Verbatim(text))
}

/// Lines from the bottom: the knee's interval, dots between medians, levels with ranges.
fn plot(rows: &[&Row], across: &Axis, up: &Axis, knee: Option<Range<usize>>) -> Vec<Vec<char>> {
    let mut plot = vec![vec![' '; WIDTH]; HEIGHT];
    if let Some(knee) = knee {
        plot.iter_mut().for_each(|line| line[knee.clone()].fill('░'));
    }
    let median = |row: &Row| row.cost.unwrap_or(0.0);
    for pair in rows.windows(2) {
        let [from, to] = [pair[0], pair[1]].map(|row| across.place(row.level));
        let [from_row, to_row] = [pair[0], pair[1]].map(|row| up.place(median(row)) as f64);
        for step in 1..to.saturating_sub(from) {
            let part = step as f64 / (to - from) as f64;
            plot[(from_row + (to_row - from_row) * part).round() as usize][from + step] = '·';
        }
    }
    for row in rows {
        let (low, high) = (row.lowest_cost.or(row.cost), row.highest_cost.or(row.cost));
        let [low, high] = [low, high].map(|cost| up.place(cost.unwrap_or(0.0)));
        let column = across.place(row.level);
        plot[low..=high].iter_mut().for_each(|line| line[column] = '│');
        plot[up.place(median(row))][column] = '●';
    }
    plot
}

/// Levels below their columns where they fit: the ends, then from the left.
fn levels(rows: &[&Row], across: &Axis, amounts: &Amounts<'_>) -> String {
    let mut line = vec![' '; WIDTH];
    for row in rows.iter().take(1).chain(rows.iter().rev().take(1)).chain(rows) {
        let text: Vec<char> = amounts.level(row.level).chars().collect();
        let start = across.place(row.level).saturating_sub(text.len() / 2);
        let start = start.min(WIDTH.saturating_sub(text.len()));
        let end = (start + text.len()).min(WIDTH);
        // Includes a blank on either side.
        let around = start.saturating_sub(1)..(end + 1).min(WIDTH);
        if line[around].iter().all(|letter| *letter == ' ') {
            line[start..end].copy_from_slice(&text[..end - start]);
        }
    }
    line.iter().collect::<String>().trim_end().to_owned()
}
