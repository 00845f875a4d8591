//! The decision after each look at a growing comparison of two levels, and why it ends.

use model::units::format_percent;
use model::{Manifest, ManifestAb};
use serde::Serialize;
use stats::{Look, Settings, Verdict, bounded_median, median};

use crate::comparison::{Cell, Comparison, Outcome, Request, amount, compare, ratio_words};
use crate::explained::Part;
use crate::{Dataset, OUTCOME, Refused, Standing, Trial};

/// From this share of waiting for a CPU on, elapsed time says more about others than about the
/// commands, so a certain CPU time may decide.
const BUSY_FROM: f64 = 0.1;
/// CPU time decides instead of elapsed time only if its interval is narrower by this factor.
const NARROWER: f64 = 2.0;

/// What is decided, and how certain it must be.
#[derive(Clone, Debug, PartialEq)]
pub struct AbRequest {
    /// The factor whose two levels are compared.
    pub factor: String,
    /// The response that decides.
    pub response: String,
    /// A second response, which decides where the first one cannot; each has half of α.
    pub second: Option<String>,
    /// Ratios from 1 / (1 + margin) to 1 + margin do not matter.
    pub margin: f64,
    /// The planned looks; the chance of a wrong verdict about one response at any of them is at most
    /// its share of α.
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
    /// The levels compared by the second response, if one was declared and measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<Comparison>,
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
    /// The first response is uncertain, as others took the CPU; the second one is certain.
    Second,
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
            second: manifest.responses.get(1).cloned(),
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
        let of_response = |response: &String| {
            let request = Request {
                factor: Some(self.factor.clone()),
                responses: vec![response.clone()],
                settings: Settings { margin: self.margin, alpha: look.level },
                ..Request::default()
            };
            compare(std::slice::from_ref(&set), &request)
        };
        let failed = |trial: &Trial| trial.standing() == Standing::Failed;
        let all_failed = set.trials.iter().all(failed);
        let comparison = of_response(&self.response)?;
        let is_measured = |response: &&String| set.responses.contains_key(*response);
        let second = self.second.as_ref().filter(is_measured);
        let second = second.and_then(|response| of_response(response).ok());
        let is_last = position + 1 == self.looks.len();
        let by_second = second.as_ref().is_some_and(|second| decides(second, &comparison));
        let stop = match decided(&comparison) {
            Some(stop) => Some(stop),
            None if all_failed => Some(Stop::AllFailed),
            None if by_second => Some(Stop::Second),
            None => is_last.then_some(Stop::MostBlocks),
        };
        let most_blocks = self.looks.last().map_or(0, |last| last.blocks);
        let (blocks, level, looks) = (look.blocks, look.level, self.looks.len());
        Ok(AbLook { blocks, most_blocks, looks, level, stop, comparison, second })
    }

    /// The times of the first blocks, in ns, as their repetitions took them; empty if times were not
    /// measured.
    pub fn block_times_ns(&self, set: &Dataset, blocks: u32) -> Vec<f64> {
        let set = self.seen(set, blocks);
        let of_block = |block: u32| {
            let trials = set.trials.iter().filter(|it| it.block == Some(u64::from(block)));
            let values = trials.flat_map(|trial| &trial.values);
            let times = values.filter(|it| it.response == "elapsed_ns" && it.part.is_none());
            times.flat_map(|it| &it.samples).map(|sample| sample.value).sum::<f64>()
        };
        (0..blocks).map(of_block).filter(|time_ns| *time_ns > 0.0).collect()
    }

    /// The ratio of the blocks before the first look, in a sentence; it has no interval.
    pub fn seen_before_looks(&self, set: &Dataset) -> Option<String> {
        let set = self.seen(set, self.looks.first()?.blocks);
        let levels = &set.factors.iter().find(|factor| factor.name == self.factor)?.levels;
        let cost = |level: &String, block: Option<u64>| {
            let mut trials = set.trials.iter();
            let trial = trials
                .find(|it| it.block == block && it.levels.get(&self.factor) == Some(level))?;
            let values = trial.values.iter().find(|it| it.response == self.response)?;
            bounded_median(&values.samples).map(|median| median.value)
        };
        let blocks = (0..self.looks[0].blocks).map(|block| Some(u64::from(block)));
        let ratio = |block| Some(cost(levels.get(1)?, block)? / cost(levels.first()?, block)?);
        let ratios: Vec<f64> = blocks.filter_map(ratio).collect();
        let ratio = median(&ratios)?;
        let (blocks, response) = (ratios.len(), response_words(&self.response));
        Some(format!(
            "after {blocks} blocks the median ratio of {response} is ×{ratio:.3}: no verdict yet"
        ))
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
        let is_one = |response: &String| {
            *response == self.response || self.second.as_ref() == Some(response)
        };
        let is_whole =
            |part: &Option<String>, response: &String| part.is_none() && is_one(response);
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

/// The cell of the response.
fn measured(comparison: &Comparison) -> Option<&Cell> {
    comparison.cells.iter().find(|cell| cell.response != OUTCOME)
}

/// The share of the mean time in which both levels waited for a CPU; `None` if unknown.
fn cpu_wait_share(comparison: &Comparison) -> Option<f64> {
    let explained = measured(comparison)?.explained.as_ref()?;
    let wait = explained.parts.get(&Part::CpuWait)?;
    let all_ns = explained.delay.first_ns + explained.delay.second_ns;
    (all_ns > 0.0).then(|| (wait.first_ns + wait.second_ns) / all_ns)
}

/// Whether a second response ends a comparison whose first one is open: it is certain, and the first
/// one is noisy because others took the CPU.
///
/// This depends on all that was seen. It costs no error rate, since each response keeps its own
/// share of α at every look, whatever the reason to stop.
fn decides(second: &Comparison, first: &Comparison) -> bool {
    let width = |comparison: &Comparison| {
        let found = measured(comparison)?.judged()?;
        Some((found.adjusted_high / found.adjusted_low).ln())
    };
    let is_certain = matches!(decided(second), Some(Stop::Different | Stop::Equivalent));
    let is_narrower =
        width(second).zip(width(first)).is_some_and(|(two, one)| NARROWER * two < one);
    is_certain && is_narrower && cpu_wait_share(first).is_some_and(|share| share >= BUSY_FROM)
}

/// What a response is called in a sentence.
fn response_words(response: &str) -> &str {
    match response {
        "elapsed_ns" => "time",
        "cpu_ns" => "CPU time",
        other => other,
    }
}

/// What a comparison of two levels says about its response, as a clause.
fn clause(comparison: &Comparison) -> Option<String> {
    let cell = measured(comparison)?;
    let (found, what) = (cell.judged()?, response_words(&cell.response));
    if comparison.responses[&cell.response].more_is_better() {
        return None;
    }
    let [first, second] = [&comparison.arms.first()?.name, &comparison.arms.last()?.name];
    let margin = format_percent(comparison.margin);
    let (amount, ratio) = (amount(found), ratio_words(found));
    Some(match (cell.verdict, what) {
        (Verdict::Regression, "time") => {
            format!("{second} is slower than {first}: {amount} time, {ratio}")
        }
        (Verdict::Improvement, "time") => {
            format!("{second} is faster than {first}: {amount} time, {ratio}")
        }
        (Verdict::Regression, _) => {
            format!("{second} takes more {what} than {first}: {amount}, {ratio}")
        }
        (Verdict::Improvement, _) => {
            format!("{second} takes less {what} than {first}: {amount}, {ratio}")
        }
        (Verdict::Difference, _) => {
            format!("{second} differs from {first} in {what}: {amount}, {ratio}")
        }
        (Verdict::Equivalent, _) => {
            format!("{second} is equivalent to {first} in {what} within {margin}: {ratio}")
        }
        (Verdict::CannotTell, _)
            if stats::says_nothing(found.adjusted_low, found.adjusted_high) =>
        {
            format!("{second} against {first}: cannot tell: too few runs for an interval of {what}")
        }
        (Verdict::CannotTell, _) => {
            format!("{second} against {first}: cannot tell: {amount} {what}, {ratio}")
        }
    })
}

impl AbLook {
    /// The verdict in a sentence; with that of the second response where the first one is open.
    pub fn sentence(&self) -> String {
        let first = match self.stop {
            Some(Stop::Outcome | Stop::AllFailed) => None,
            _ => clause(&self.comparison).map(|clause| clause + "."),
        };
        let Some(first) = first else { return self.comparison.conclusion.clone() };
        let is_open = decided(&self.comparison).is_none();
        let second = self.second.as_ref().filter(|second| is_open && decided(second).is_some());
        let Some(second) = second.and_then(clause) else { return first };
        let amount = measured(&self.comparison).and_then(Cell::judged).map(amount);
        let why = cpu_wait_share(&self.comparison).filter(|share| *share >= BUSY_FROM);
        let why = why.map_or_else(String::new, |share| {
            format!(", as {:.0} % of it was waiting for a CPU", 100.0 * share)
        });
        let amount = amount.unwrap_or_default();
        format!("{second}. The elapsed time is uncertain{why}: {amount}.")
    }

    /// How long it takes to be certain if it continues as it looks, in blocks; `None` where a look
    /// ended it, or nobody can know.
    pub fn blocks_left(&self) -> Option<u32> {
        let more = match self.stop {
            None => measured(&self.comparison)?.judged()?.more_blocks?,
            Some(_) => return None,
        };
        Some(u32::try_from(more).unwrap_or(u32::MAX).min(self.most_blocks - self.blocks))
    }

    /// How sure it is so far, in one sentence.
    pub fn so_far(&self) -> String {
        let cell = measured(&self.comparison);
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
            Some(Stop::Second) => "not certain, but the CPU time is",
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
            Some(Stop::Second) => format!("Stopped after {of}: the CPU time is certain."),
            Some(Stop::MostBlocks) => {
                format!("All {blocks} blocks were run, and it is not certain.")
            }
        }
    }

    /// What the interval stands for, in one sentence.
    pub fn interval_words(&self, alpha: f64) -> String {
        match self.looks {
            1 => format!(
                "The interval has a confidence of {}: one look was planned.",
                format_percent(1.0 - alpha)
            ),
            looks => format!(
                "The interval has a confidence of {} at this look, so that those of all {looks} \
                 planned looks{} together hold with {}.",
                format_percent(1.0 - self.level),
                if self.second.is_some() { " and of the CPU time" } else { "" },
                format_percent(1.0 - alpha)
            ),
        }
    }
}
