//! Where the time of several samples went, together.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Explained, Part};

/// The sum of explained samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    /// How many samples.
    pub samples: usize,
    /// Their delays together, in ns.
    pub delay_ns: u64,
    /// Each part of them together in ns; `None` = unknown in every one of them.
    pub parts_ns: BTreeMap<Part, Option<u64>>,
}

impl Account {
    /// Adds samples up.
    #[must_use]
    pub fn of<'a>(samples: impl IntoIterator<Item = &'a Explained>) -> Self {
        let mut account = Self::default();
        for sample in samples {
            account.samples += 1;
            account.delay_ns = account.delay_ns.saturating_add(sample.delay_ns);
            for (part, time_ns) in &sample.parts_ns {
                let sum = account.parts_ns.entry(*part).or_insert(None);
                *sum = match (*sum, time_ns) {
                    (Some(sum_ns), Some(time_ns)) => Some(sum_ns.saturating_add(*time_ns)),
                    (known, time_ns) => known.or(*time_ns),
                };
            }
        }
        account
    }

    /// A part as a share of the delay, from 0 to 1; `None` if it is unknown or there is no delay.
    #[must_use]
    pub fn share(&self, part: Part) -> Option<f64> {
        let time_ns = self.parts_ns.get(&part).copied().flatten()?;
        (self.delay_ns > 0).then(|| time_ns as f64 / self.delay_ns as f64)
    }

    /// The share of the delay that is not in the remainder; `None` without any delay.
    #[must_use]
    pub fn explained_share(&self) -> Option<f64> {
        self.share(Part::Remainder).map(|share| 1.0 - share)
    }

    /// The parts that are unknown.
    pub fn unknown(&self) -> impl Iterator<Item = Part> + '_ {
        self.parts_ns.iter().filter(|(_, time_ns)| time_ns.is_none()).map(|(part, _)| *part)
    }
}
