//! Tables of typed cells.

use std::borrow::Cow;

use model::Observation;
use model::units::format_size;

use crate::format;

const ABSENT: &str = "-";

/// The meaning of a text for the user of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Better than before.
    Better,
    /// Something to look at.
    Doubtful,
    /// Bad.
    Bad,
    /// Cannot tell.
    Unknown,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows; may be empty.
    pub caption: String,
    /// The headings of its columns.
    pub head: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A table cell; its kind decides how it is printed and aligned.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text, and what it means.
    Text(String, Tone),
    /// A duration in ns, which may be a lower bound.
    Duration(Observation),
    /// A ratio after `≥ `, `≤ ` or nothing.
    Ratio(&'static str, f64),
    /// An interval of ratios; `None` if it is too wide to be useful.
    Interval(Option<(f64, f64)>),
    /// A whole number.
    Count(u64),
    /// A part of a whole, 1 = all.
    Share(f64),
    /// A size in bytes.
    Size(u64),
    /// Another figure, already formatted.
    Figure(String),
    /// No figure, and why; no reason if the table makes it obvious.
    Absent(String),
}

impl Table {
    /// A table without rows.
    pub fn new<S: Into<String>>(
        caption: impl Into<String>,
        head: impl IntoIterator<Item = S>,
    ) -> Self {
        let head = head.into_iter().map(Into::into).collect();
        Self { caption: caption.into(), head, rows: Vec::new() }
    }

    /// A table of these rows.
    pub fn of<S: Into<String>, C: Into<Cell>>(
        caption: impl Into<String>,
        head: impl IntoIterator<Item = S>,
        rows: impl IntoIterator<Item = impl IntoIterator<Item = C>>,
    ) -> Self {
        let mut table = Self::new(caption, head);
        rows.into_iter().for_each(|row| table.row(row));
        table
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Removes the columns of these headings.
    pub fn remove_columns(&mut self, names: &[&str]) {
        let stays = |index: &usize| !names.contains(&self.head[*index].as_str());
        let kept: Vec<usize> = (0..self.head.len()).filter(stays).collect();
        let of_row = |row: &Vec<Cell>| kept.iter().filter_map(|at| row.get(*at).cloned()).collect();
        self.rows = self.rows.iter().map(of_row).collect();
        self.head = kept.iter().map(|at| self.head[*at].clone()).collect();
    }

    /// Whether a column has figures only, and is right-aligned.
    pub fn is_numeric(&self, column: usize) -> bool {
        let cells = || self.rows.iter().filter_map(|row| row.get(column));
        !cells().any(|cell| matches!(cell, Cell::Text(..)))
            && cells().any(|cell| !matches!(cell, Cell::Absent(_)))
    }
}

impl Cell {
    /// A duration in ns.
    pub const fn duration(duration_ns: f64) -> Self {
        Self::Duration(Observation::exact(duration_ns))
    }

    /// A ratio.
    pub const fn ratio(ratio: f64) -> Self {
        Self::Ratio("", ratio)
    }

    /// An already formatted figure, if there is one.
    pub fn figure(text: impl Into<Option<String>>) -> Self {
        text.into().map(Self::Figure).into()
    }

    /// An empty cell in a column of figures.
    pub const fn blank() -> Self {
        Self::Figure(String::new())
    }

    /// A figure with `digits` decimals, if there is one.
    pub fn decimals(value: impl Into<Option<f64>>, digits: usize) -> Self {
        Self::figure(value.into().map(|value| format!("{value:.digits$}")))
    }

    /// A whole number with grouped thousands.
    pub fn grouped(count: u64) -> Self {
        Self::Figure(format::grouped(count))
    }

    /// Text of a file: a figure if it is a number.
    pub fn parsed(text: &str) -> Self {
        match text {
            "" | ABSENT => Self::Figure(text.to_owned()),
            _ if text.parse::<f64>().is_ok() => Self::Figure(text.to_owned()),
            _ => Self::from(text),
        }
    }

    /// No figure, for an obvious reason.
    pub const fn absent() -> Self {
        Self::Absent(String::new())
    }

    pub(crate) fn tone(&self) -> Tone {
        if let Self::Text(_, tone) = self { *tone } else { Tone::Plain }
    }

    /// Its text.
    pub fn text(&self) -> Cow<'_, str> {
        let text = match self {
            Self::Text(text, _) | Self::Figure(text) => return Cow::Borrowed(text),
            Self::Absent(reason) if reason.is_empty() => return Cow::Borrowed(ABSENT),
            Self::Absent(reason) => return Cow::Borrowed(reason),
            Self::Duration(duration_ns) => format::observed(duration_ns),
            Self::Ratio(mark, ratio) => format!("{mark}{}", format::times(*ratio)),
            Self::Interval(ends) => format::ratio_interval(*ends),
            Self::Count(count) => count.to_string(),
            Self::Share(share) => format::share(*share),
            Self::Size(size_bytes) => format_size(*size_bytes),
        };
        Cow::Owned(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text, Tone::Plain)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::from(text.clone())
    }
}

macro_rules! from_counts {
    ($($count:ty)*) => {$(
        impl From<$count> for Cell {
            fn from(count: $count) -> Self {
                Self::Count(count as u64)
            }
        }
    )*};
}
from_counts! { usize u32 u64 }

impl<C: Into<Self>> From<Option<C>> for Cell {
    fn from(cell: Option<C>) -> Self {
        cell.map_or_else(Self::absent, Into::into)
    }
}
