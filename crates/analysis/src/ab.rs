//! The decision after each look at a growing comparison of two levels, and why it ends.

use model::{Manifest, ManifestAb};
use serde::Serialize;
use stats::{Look, Settings, Verdict};

use crate::comparison::{Cell, Comparison, Outcome, Request, compare};
use crate::{Dataset, OUTCOME, Refused, Standing, Trial};

/// What is decided, and how certain it must be.
#[derive(Clone, Debug, PartialEq)]
pub struct AbRequest {
    /// The factor whose two levels are compared.
    pub factor: String,
    /// The response that decides.
    pub response: String,
    /// Ratios from 1 / (1 + margin) to 1 + margin do not matter.
    pub margin: f64,
    /// The planned looks; the chance of a wrong verdict at any of them is at most α.
    pub looks: Vec<Look>,
}

/// What a look showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AbLook {
    /// Number of blocks it is taken after, and of all that were planned.
    pub blocks: u32,
    /// The most blocks that were planned.
    pub most_blocks: u32,
    /// How many looks were planned.
    pub looks: usize,
    /// α at this look: 1 - α is the confidence of its interval.
    pub level: f64,
    /// Why no further block is needed; `None` to continue.
    pub stop: Option<Stop>,
    /// The levels compared at this α.
    pub comparison: Comparison,
}

/// Why a comparison ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The difference is certain.
    Different,
    /// The equivalence within the margin is certain.
    Equivalent,
    /// One level fails, and the other does not.
    Outcome,
    /// No run of either level succeeds.
    AllFailed,
    /// The planned blocks are over.
    MostBlocks,
}

impl AbRequest {
    /// The request of a comparison of which a manifest has the looks; `None` of other experiments.
    pub fn of_manifest(manifest: &Manifest) -> Option<Self> {
        let ab = manifest.ab.as_ref()?;
        let looks = ab.looks.iter().map(|(blocks, level)| Look { blocks: *blocks, level: *level });
        Some(Self {
            factor: manifest.factors.first()?.name.clone(),
            response: manifest.responses.first()?.clone(),
            margin: ab.margin,
            looks: looks.collect(),
        })
    }

    /// The looks for a manifest; `alpha` is the chance of a wrong verdict over all of them.
    pub fn recorded(&self, alpha: f64) -> ManifestAb {
        let looks = self.looks.iter().map(|look| (look.blocks, look.level)).collect();
        ManifestAb { margin: self.margin, alpha, looks }
    }

    /// The looks that the runs of a dataset allow, up to the one that ends the comparison. Fails as
    /// [`compare`].
    pub fn all_looks(&self, set: &Dataset) -> Result<Vec<AbLook>, Refused> {
        let mut all = Vec::new();
        for (position, look) in self.looks.iter().enumerate() {
            let trials = self.seen(set, look.blocks).trials;
            let counts = trials.iter().filter(|trial| trial.standing() != Standing::Excluded);
            if counts.count() < 2 * look.blocks as usize {
                break;
            }
            all.push(self.look(set, position)?);
            if all.last().is_some_and(|found| found.stop.is_some()) {
                break;
            }
        }
        Ok(all)
    }

    /// The look at this position, with the runs of its blocks. Fails as [`compare`].
    pub fn look(&self, set: &Dataset, position: usize) -> Result<AbLook, Refused> {
        let look = self.looks[position];
        let set = self.seen(set, look.blocks);
        let request = Request {
            factor: Some(self.factor.clone()),
            responses: vec![self.response.clone()],
            settings: Settings { margin: self.margin, alpha: look.level },
            ..Request::default()
        };
        let failed = |trial: &Trial| trial.standing() == Standing::Failed;
        let all_failed = set.trials.iter().all(failed);
        let comparison = compare(std::slice::from_ref(&set), &request)?;
        let is_last = position + 1 == self.looks.len();
        let stop = match decided(&comparison) {
            Some(stop) => Some(stop),
            None if all_failed => Some(Stop::AllFailed),
            None => is_last.then_some(Stop::MostBlocks),
        };
        let most_blocks = self.looks.last().map_or(0, |last| last.blocks);
        let (blocks, level, looks) = (look.blocks, look.level, self.looks.len());
        Ok(AbLook { blocks, most_blocks, looks, level, stop, comparison })
    }

    /// The look at which a dataset ends the comparison; `None` if runs are missing before that.
    /// Fails as [`compare`].
    pub fn last_look(&self, set: &Dataset) -> Result<Option<AbLook>, Refused> {
        Ok(self.all_looks(set)?.pop().filter(|look| look.stop.is_some()))
    }

    /// The runs of the first blocks, with the deciding response as a whole: its parts would make
    /// other comparisons of one.
    fn seen(&self, set: &Dataset, blocks: u32) -> Dataset {
        let mut set = set.clone();
        set.trials.retain(|trial| trial.block.is_some_and(|block| block < u64::from(blocks)));
        let is_whole =
            |part: &Option<String>, response: &String| part.is_none() && *response == self.response;
        let mut values = set.trials.iter().flat_map(|trial| &trial.values);
        if values.any(|values| is_whole(&values.part, &values.response)) {
            for trial in &mut set.trials {
                trial.values.retain(|values| is_whole(&values.part, &values.response));
            }
        }
        set
    }
}

fn decided(comparison: &Comparison) -> Option<Stop> {
    let is_end = |cell: &&Cell| matches!(cell.outcome, Outcome::Ends(_));
    let differs = |cell: &Cell| matches!(cell.verdict, Verdict::Regression | Verdict::Improvement);
    let (ends, measured): (Vec<&Cell>, Vec<&Cell>) = comparison.cells.iter().partition(is_end);
    match measured[..] {
        _ if ends.iter().any(|cell| differs(cell)) => Some(Stop::Outcome),
        [] => None,
        _ if measured.iter().any(|cell| differs(cell)) => Some(Stop::Different),
        _ if measured.iter().all(|cell| cell.verdict == Verdict::Equivalent) => {
            Some(Stop::Equivalent)
        }
        _ => None,
    }
}

impl AbLook {
    /// How sure it is so far, in one sentence.
    pub fn so_far(&self) -> String {
        let cell = self.comparison.cells.iter().find(|cell| cell.response != OUTCOME);
        let ratio = cell.and_then(|cell| {
            let interval = cell.judged().map_or_else(String::new, |found| {
                let (low, high) = (found.adjusted_low, found.adjusted_high);
                let says_nothing = stats::says_nothing(low, high);
                if says_nothing { String::new() } else { format!(" [{low:.3}, {high:.3}]") }
            });
            Some(format!("{} {}×{:.3}{interval}", cell.response, cell.ratio_mark(), cell.ratio()?))
        });
        let ratio = ratio.unwrap_or_else(|| "no ratio yet".to_owned());
        let next = match self.stop {
            None => "not certain yet",
            Some(Stop::Different) => "different",
            Some(Stop::Equivalent) => "equivalent",
            Some(Stop::Outcome) => "the runs of the two end differently",
            Some(Stop::AllFailed) => "every run failed",
            Some(Stop::MostBlocks) => "not certain",
        };
        format!("after {} of at most {} blocks: {ratio}: {next}", self.blocks, self.most_blocks)
    }

    /// Why it ended, and what its interval is, in one sentence.
    pub fn reason(&self) -> String {
        let Self { blocks, most_blocks, .. } = self;
        let of = format!("{blocks} of at most {most_blocks} blocks");
        match self.stop {
            None => format!("Interrupted after {of}: the figures are those of the last look."),
            Some(Stop::Different) => format!("Stopped after {of}: the difference is certain."),
            Some(Stop::Equivalent) => format!("Stopped after {of}: the equivalence is certain."),
            Some(Stop::Outcome) => {
                format!("Stopped after {of}: that the runs of the two end differently is certain.")
            }
            Some(Stop::AllFailed) => format!("Stopped after {of}: every run failed."),
            Some(Stop::MostBlocks) => {
                format!("All {blocks} blocks were run, and it is not certain.")
            }
        }
    }

    /// What the interval stands for, in one sentence.
    pub fn interval_words(&self, alpha: f64) -> String {
        let percent = |share: f64| format!("{} %", (1000.0 * share).round() / 10.0);
        match self.looks {
            1 => format!(
                "The interval has a confidence of {}: one look was planned.",
                percent(1.0 - alpha)
            ),
            looks => format!(
                "The interval has a confidence of {} at this look, so that those of all {looks} \
                 planned looks together hold with {}.",
                percent(1.0 - self.level),
                percent(1.0 - alpha)
            ),
        }
    }
}
