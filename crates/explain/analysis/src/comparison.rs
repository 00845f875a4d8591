//! Differences between observations: their sizes and certainty.
//!
//! **Arms**, which are inputs or the levels of one factor, are compared with the first one. A
//! **cell** is one response of one part at one combination of the other factors' levels. All cells
//! are one family: the chance of any wrong verdict is at most α ([`stats::compare`]). The cells of
//! an arm have one primary estimate ([`Overall`]).
//!
//! The *unit* of a cell is the trial, by its median, where both arms have at least two: samples of
//! one run share its boot, load and memory layout, and predict little about the next run (Kalibera
//! and Jones 2013). With a single trial it is the sample, which the cell notes.

mod alignment;
mod amount;
mod arms;
mod cells;
mod conclusion;
mod direction;
mod environment;
mod outcomes;
mod overall;
mod place;
mod seeds;
mod sessions;
mod stalls;
mod ticks;
mod unmatched;

use std::collections::BTreeMap;

use itertools::Itertools;
use model::Observation;
use serde::Serialize;
use stats::{CellResult, Settings, Verdict};

use crate::explained::ExplainedDifference;
use crate::{Dataset, Direction, OUTCOME, Refused, Response, distinct, unknown};
pub(crate) use amount::{amount, ratio_words};
pub use conclusion::method_words;
pub use environment::{BOOT_ID, Difference};
pub use outcomes::{EndCount, Ends};
pub use overall::Overall;
pub use seeds::Seeds;
pub use stalls::{Share, Stalls};
pub use ticks::Tick;

/// Factors whose levels are clear without the factor's name.
const SPEAKING: [&str; 3] = ["load", "command", "benchmark"];

/// Default responses: the first group whose first response is present, else the first with any of
/// its responses, else all.
const USUAL: [&str; 9] = [
    "delay_ns",
    "real_ns cpu_ns",
    "cpu_ns faults",
    "elapsed_s",
    "ns/op B/op allocs/op",
    "median_ms",
    "average_ns high_ns",
    "wakeup_latency_p50_us wakeup_latency_p99_us request_latency_p50_us request_latency_p99_us \
     rps_p50_per_s",
    "average_ms average_us high_ms high_us deadlines_met_percent",
];

/// What is compared, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The factor whose levels are compared; `None` = the inputs.
    pub factor: Option<String>,
    /// Responses to compare; empty = the usual ones.
    pub responses: Vec<String>,
    /// Directions that the user knows, by response; they replace those of the inputs.
    pub directions: BTreeMap<String, Direction>,
    /// Margin and level of the tests.
    pub settings: Settings,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Where the trials come from.
    pub inputs: Vec<String>,
    /// The arms; the first one is the reference.
    pub arms: Vec<Arm>,
    /// The factor whose levels the arms are; `None` = they are inputs.
    pub factor: Option<String>,
    /// Ratios from 1 / (1 + margin) to 1 + margin do not matter.
    pub margin: f64,
    /// Chance of any wrong verdict.
    pub alpha: f64,
    /// How the systems differ, as recorded.
    pub differences: Vec<Difference>,
    /// Important facts that no arm recorded.
    pub not_recorded: Vec<String>,
    /// What casts doubt on all cells.
    pub warnings: Vec<String>,
    /// Notes on the inputs.
    pub notes: Vec<String>,
    /// Whether an arm's trials are repetitions of one session, which the result is then about.
    pub one_session: bool,
    /// The compared responses.
    pub responses: BTreeMap<String, Response>,
    /// Every cell that two arms have in common.
    pub cells: Vec<Cell>,
    /// What was not compared, and why.
    pub left_out: Vec<String>,
    /// The primary estimates: the effect of each arm over all its cells.
    pub overall: Vec<Overall>,
    /// The conclusion, one sentence.
    pub conclusion: String,
}

/// An arm of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arm {
    /// Its name: an input's or a level's.
    pub name: String,
    /// How many trials it has.
    pub trials: usize,
    /// Whether its values have no measurement noise.
    pub deterministic: bool,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Index of the arm that is compared with the first.
    pub arm: usize,
    /// What was measured.
    pub response: String,
    /// The levels of the factors that are not compared.
    pub levels: BTreeMap<String, String>,
    /// The part; `None` = the whole.
    pub part: Option<String>,
    /// What counts as one value.
    pub unit: Unit,
    /// What pairs the values of both arms.
    pub paired_by: Option<PairedBy>,
    /// The first arm's values.
    pub first: Side,
    /// The other arm's values.
    pub second: Side,
    /// The verdict.
    pub verdict: Verdict,
    /// The basis of the verdict.
    pub outcome: Outcome,
    /// Ratios by seed, for deterministic arms with common seeds.
    pub seeds: Option<Seeds>,
    /// Delays that are not slow but stand out, of a probe.
    pub stalls: Option<Stalls>,
    /// The kernel's tick, if all values are multiples of it.
    pub tick: Option<Tick>,
    /// The parts of the difference of mean delays, or of mean times of a command, if both arms have
    /// explained samples or repetitions.
    pub explained: Option<ExplainedDifference>,
    /// What a reader of this cell must know.
    pub notes: Vec<String>,
}

/// What counts as one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A trial, by the median of its samples.
    Trials,
    /// A sample.
    Samples,
}

/// What pairs the values of two arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairedBy {
    /// They are of one block.
    Block,
    /// They have one seed, and equal inputs give equal values.
    Seed,
}

/// One arm's values in a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// Compared values, in the response's unit and in trial order.
    pub values: Vec<Observation>,
    /// Their median; `None` without values, as of outcomes.
    pub median: Option<Observation>,
    /// Number of trials.
    pub trials: usize,
    /// Number of samples that are lower bounds only.
    pub censored: usize,
    /// Number of samples.
    pub samples: usize,
}

/// What a verdict is based on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The tests; a ratio above 1 is worse whatever the response.
    Judged(Box<CellResult>),
    /// All values are the same, or were the same seed by seed.
    Identical,
    /// How the trials ended.
    Ends(Box<Ends>),
    /// There is nothing to test.
    Untested {
        /// Why.
        reason: String,
        /// The ratio of the medians, if there is one.
        ratio: Option<f64>,
    },
}

impl Cell {
    /// The other arm's value over the first one's, above 1 = worse.
    pub fn ratio(&self) -> Option<f64> {
        match &self.outcome {
            Outcome::Judged(found) => Some(found.ratio),
            Outcome::Identical => Some(1.0),
            Outcome::Untested { ratio, .. } => *ratio,
            Outcome::Ends(_) => None,
        }
    }

    /// `≥` or `≤` before the ratio if censored values leave it open, else nothing.
    pub fn ratio_mark(&self) -> &'static str {
        self.judged().and_then(|found| found.allowed).map_or("", stats::AllowedRatio::mark)
    }

    /// What would settle it: more blocks, seeds, or values per side.
    pub fn more_of(&self) -> &'static str {
        match (self.paired_by, self.unit) {
            (Some(PairedBy::Block), _) => "blocks",
            (Some(PairedBy::Seed), _) => "seeds",
            (None, Unit::Trials) => "trials a side",
            (None, Unit::Samples) => "samples a side",
        }
    }

    /// The tests, if there were any.
    pub fn judged(&self) -> Option<&CellResult> {
        if let Outcome::Judged(found) = &self.outcome { Some(found) } else { None }
    }

    /// Whether the kernel's tick, longer than the margin, prevented an equivalence.
    pub fn tick_hides(&self) -> bool {
        self.tick.is_some_and(|tick| tick.hides_equivalence)
    }

    /// Levels and part in words, such as `pl1_version one`; empty for the whole without factors.
    pub fn label(&self) -> String {
        let level = |(factor, level): (&String, &String)| {
            if SPEAKING.contains(&&**factor) { level.clone() } else { format!("{factor} {level}") }
        };
        self.levels.iter().map(level).chain(self.part.clone()).join(" ")
    }
}

impl Request {
    fn responses(&self, sets: &[Dataset]) -> Result<BTreeMap<String, Response>, Refused> {
        let known: BTreeMap<&String, &Response> =
            sets.iter().flat_map(|set| &set.responses).collect();
        let usual = || {
            let names = known.keys().map(|name| (*name).clone());
            let is_in = |group: &str, name: &str| group.split(' ').any(|usual| usual == name);
            let has_first = |group: &&&str| {
                let first = group.split(' ').next().unwrap_or_default();
                known.keys().any(|name| *name == first)
            };
            let has_any = |group: &&&str| names.clone().any(|name| is_in(group, &name));
            match USUAL.iter().find(has_first).or_else(|| USUAL.iter().find(has_any)) {
                Some(group) => names.filter(|name| is_in(group, name)).collect(),
                None => names.collect(),
            }
        };
        // The first experiment's author selects. Rows without any failure must be requested.
        let mut of_author = sets.first().map_or(Vec::new(), |set| set.wanted.clone());
        of_author.retain(|name| name != OUTCOME);
        let mut of_source = sets.first().map_or(Vec::new(), |set| set.usual.clone());
        of_source.retain(|name| known.contains_key(name));
        let usual = || if of_source.is_empty() { usual() } else { of_source };
        let wanted = match (self.responses.is_empty(), of_author.is_empty()) {
            (false, _) => self.responses.clone(),
            (true, false) => of_author,
            (true, true) => usual(),
        };
        wanted
            .into_iter()
            .map(|name| match known.get(&name) {
                Some(response) => Ok((name, (*response).clone())),
                None if name == OUTCOME => Ok((name, Response::default())),
                None => {
                    let what = format!("no input has the response {name:?}");
                    Err(unknown(what, known.keys().copied()))
                }
            })
            .collect()
    }
}

/// Compares inputs with the first one, or the levels of a factor within one input. Fails without
/// two arms, with nothing in common, or if versions of load, measure or script differ.
pub fn compare(sets: &[Dataset], request: &Request) -> Result<Comparison, Refused> {
    let named = alignment::with_common_names(sets);
    let names = request.responses(&named)?.into_keys().collect();
    let sets = &*alignment::with_common_meaning(named, &names, &request.directions)?;
    let factor = request.factor.as_deref();
    let repetitions = arms::find(sets, factor)?;
    let by_session = sessions::merged(sets, factor);
    let arms = arms::find(by_session.as_deref().unwrap_or(sets), factor)?;
    environment::check_meaning(&arms)?;
    let mut responses = request.responses(sets)?;
    let Settings { margin, alpha } = request.settings;
    let (mut drafts, mut cells, left_out) =
        cells::cells([&arms, &repetitions], &responses, &request.settings);
    if drafts.is_empty() && cells.is_empty() {
        return Err(Refused::new(format!(
            "nothing in common to compare: {}",
            arms::nothing_in_common(sets, &left_out)
        )));
    }
    if !cells.is_empty() {
        responses.insert(OUTCOME.to_owned(), Response::default());
    }
    for cell in drafts.iter_mut().map(|draft| &mut draft.cell) {
        let exact = arms.are_exact(cell.arm);
        ticks::add(cell, &responses[&cell.response].unit, margin, exact);
    }
    let stalls = drafts.iter_mut().filter_map(|draft| draft.cell.stalls.as_mut()).collect_vec();
    let p_values: Vec<f64> = stalls.iter().map(|stalls| stalls.p).collect();
    for (stalls, p_adjusted) in stalls.into_iter().zip(stats::holm(&p_values)) {
        stalls.p_adjusted = p_adjusted;
    }
    let overall = overall::overall(&arms, &drafts, &responses, &request.settings);
    cells.extend(drafts.into_iter().map(|draft| draft.cell));
    let mut notes = distinct(sets.iter().flat_map(|set| set.notes.clone()));
    notes.extend(alignment::procs_note(sets));
    let measured = sets.iter().flat_map(|set| set.responses.keys());
    let others = measured.filter(|it| !responses.contains_key(*it)).sorted().dedup();
    let others: Vec<String> = others.cloned().collect();
    if !others.is_empty() {
        let listed = arms::listed(&others, ", ");
        notes.push(format!("also measured, see --response: {listed}"));
    }
    let of_sessions = sessions::remark(&arms);
    let mut comparison = Comparison {
        inputs: sets.iter().map(|set| set.name.clone()).collect(),
        factor: request.factor.clone(),
        margin,
        alpha,
        differences: environment::differences(&arms),
        not_recorded: environment::not_recorded(&arms),
        warnings: arms::warnings(&repetitions),
        one_session: of_sessions.is_some(),
        notes,
        overall,
        responses,
        cells,
        left_out,
        conclusion: String::new(),
        arms: repetitions.all.into_iter().map(|it| it.arm).collect(),
    };
    comparison.conclusion = conclusion::sentence(&comparison, of_sessions);
    Ok(comparison)
}
