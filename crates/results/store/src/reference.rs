//! The published results shipped with thrashlab (folder `reference/`), each with its source.
//!
//! Names are folder and file stem: `resp1/2.4.20`. Names of `multics/` end at the first `-`.

mod acceptance;
mod conditions;
mod table;

pub use acceptance::acceptance;
pub use conditions::add_conditions;
pub use table::ALL;

use itertools::Itertools;
use model::resp1::Resp1Table;
use results::ResultsError;

use crate::error::refused;

/// One published result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Folder and stem of the file, such as `resp1/2.4.20`.
    pub name: &'static str,
    /// What it shows, in a line.
    pub title: &'static str,
    /// The publication: authors, title, date.
    pub source: &'static str,
    /// What the text is.
    pub kind: Kind,
    /// The file, byte for byte.
    pub text: &'static str,
}

/// What the text of a published result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An output of resp1, readable by [`formats::resp1::parse`].
    Resp1,
    /// Comma-separated values with a heading; an empty cell was not published or is illegible.
    Csv,
}

/// The published result of this name. Fails if there is none; the message suggests the closest.
pub fn find(name: &str) -> Result<&'static Reference, ResultsError> {
    ALL.iter().find(|reference| reference.name == name).ok_or_else(|| {
        ResultsError::Refused(format!("no published result {name:?}; {}", hint(name)))
    })
}

fn hint(name: &str) -> String {
    let wanted = name.to_ascii_lowercase();
    let distance = |candidate: &str| {
        let stem = candidate.split_once('/').map_or(candidate, |(_, stem)| stem);
        let contained = !wanted.is_empty() && candidate.contains(&wanted);
        let distance = strsim::damerau_levenshtein(&wanted, candidate)
            .min(strsim::damerau_levenshtein(&wanted, stem));
        if contained { distance.min(1) } else { distance }
    };
    let all = || ALL.iter().map(|reference| reference.name);
    let close = all().map(|other| (distance(other), other));
    let close = close.filter(|(distance, _)| *distance <= 1 + name.chars().count() / 3).sorted();
    match close.take(3).map(|(_, name)| name).join(" or ").as_str() {
        "" => format!("choose from: {}", all().join(", ")),
        names => format!("did you mean {names}?"),
    }
}

impl Reference {
    pub(crate) fn expect(&self, kind: Kind) -> Result<(), ResultsError> {
        let expected = match kind {
            _ if kind == self.kind => return Ok(()),
            Kind::Resp1 => "an output of resp1",
            Kind::Csv => "a CSV table",
        };
        Err(ResultsError::Refused(format!("{} is not {expected}", self.name)))
    }

    /// The result as a resp1 table. Fails when it is not an output of resp1.
    pub fn resp1(&self) -> Result<Resp1Table, ResultsError> {
        self.expect(Kind::Resp1)?;
        formats::resp1::parse(self.text).map_err(refused(self.name))
    }

    /// The cells of a CSV result by row, heading first. Fails if it is not a CSV.
    pub fn cells(&self) -> Result<Vec<Vec<&'static str>>, ResultsError> {
        self.expect(Kind::Csv)?;
        // The published tables have no quoted cells (checked by a test).
        Ok(self.text.lines().map(|line| line.split(',').collect()).collect())
    }
}

fn rows(name: &str) -> Vec<Vec<&'static str>> {
    let cells = find(name).and_then(Reference::cells).unwrap_or_default();
    cells.into_iter().skip(1).collect()
}
