//! Tables of typed cells.

use std::borrow::Cow;

use model::Observation;
use model::units::format_size;

use crate::format;

/// What stands where there is no figure.
const ABSENT: &str = "-";

/// What a figure means for the user of the machine.
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

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    pub(crate) content: Content,
    pub(crate) tone: Tone,
}

/// What is in a cell: the type decides how it is printed and on which side it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Text(String),
    Duration(Observation),
    /// With `≥ ` or `≤ ` before it where bounds leave it open.
    Ratio(&'static str, f64),
    Interval(Option<(f64, f64)>),
    Count(u64),
    Share(f64),
    Size(u64),
    Figure(String),
    Absent(String),
}

impl Default for Content {
    fn default() -> Self {
        Self::Text(String::new())
    }
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

    /// A table with a row for each of some things.
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

    /// Whether a column has figures only, and stands to the right.
    pub fn is_numeric(&self, column: usize) -> bool {
        let cells = || self.rows.iter().filter_map(|row| row.get(column));
        let is_absent = |cell: &Cell| matches!(cell.content, Content::Absent(_));
        let is_text = |cell: &Cell| matches!(cell.content, Content::Text(_));
        !cells().any(is_text) && cells().any(|cell| !is_absent(cell))
    }
}

impl Cell {
    const fn of(content: Content) -> Self {
        Self { content, tone: Tone::Plain }
    }

    /// A duration in ns.
    pub const fn duration(duration_ns: f64) -> Self {
        Self::of(Content::Duration(Observation::exact(duration_ns)))
    }

    /// A duration in ns, which may be a lower bound.
    pub const fn observed(duration_ns: Observation) -> Self {
        Self::of(Content::Duration(duration_ns))
    }

    /// A ratio.
    pub const fn ratio(ratio: f64) -> Self {
        Self::of(Content::Ratio("", ratio))
    }

    /// A ratio that bounds leave open: `mark` is `≥ `, `≤ ` or empty.
    pub const fn bounded_ratio(mark: &'static str, ratio: f64) -> Self {
        Self::of(Content::Ratio(mark, ratio))
    }

    /// An interval of ratios; `None` = so wide that it says nothing.
    pub const fn interval(ends: Option<(f64, f64)>) -> Self {
        Self::of(Content::Interval(ends))
    }

    /// A whole number.
    pub const fn count(count: u64) -> Self {
        Self::of(Content::Count(count))
    }

    /// A part of a whole, 1 = all.
    pub const fn share(share: f64) -> Self {
        Self::of(Content::Share(share))
    }

    /// A size in bytes.
    pub const fn size(size_bytes: u64) -> Self {
        Self::of(Content::Size(size_bytes))
    }

    /// A figure of another kind, as it is printed.
    pub fn figure(text: impl Into<String>) -> Self {
        Self::of(Content::Figure(text.into()))
    }

    /// A figure with so many digits behind the point, if there is one.
    pub fn decimals(value: impl Into<Option<f64>>, digits: usize) -> Self {
        value.into().map(|value| Self::figure(format!("{value:.digits$}"))).into()
    }

    /// A whole number with its thousands apart.
    pub fn grouped(count: u64) -> Self {
        Self::figure(format::grouped(count))
    }

    /// A word of a file: a figure if it is a number, else text.
    pub fn parsed(text: &str) -> Self {
        match text {
            "" | ABSENT => Self::of(Content::Figure(text.to_owned())),
            _ if text.parse::<f64>().is_ok() => Self::figure(text),
            _ => Self::from(text),
        }
    }

    /// No figure, for a reason that the table makes plain.
    pub const fn absent() -> Self {
        Self::of(Content::Absent(String::new()))
    }

    /// No figure, and why.
    pub fn absent_because(reason: impl Into<String>) -> Self {
        Self::of(Content::Absent(reason.into()))
    }

    /// The same cell with what it means.
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// Its text.
    pub fn text(&self) -> Cow<'_, str> {
        let text = match &self.content {
            Content::Text(text) | Content::Figure(text) => return Cow::Borrowed(text),
            Content::Absent(reason) if reason.is_empty() => return Cow::Borrowed(ABSENT),
            Content::Absent(reason) => return Cow::Borrowed(reason),
            Content::Duration(duration_ns) => format::observed(duration_ns),
            Content::Ratio(mark, ratio) => format!("{mark}{}", format::times(*ratio)),
            Content::Interval(ends) => format::ratio_interval(*ends),
            Content::Count(count) => count.to_string(),
            Content::Share(share) => format::share(*share),
            Content::Size(size_bytes) => format_size(*size_bytes),
        };
        Cow::Owned(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::of(Content::Text(text))
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

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::count(count as u64)
    }
}

impl From<u32> for Cell {
    fn from(count: u32) -> Self {
        Self::count(count.into())
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::count(count)
    }
}

impl From<Option<Self>> for Cell {
    fn from(cell: Option<Self>) -> Self {
        cell.unwrap_or_else(Self::absent)
    }
}
