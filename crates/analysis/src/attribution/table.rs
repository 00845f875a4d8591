//! The observations of an attribution: one figure a trial, with the levels of the chosen factors.

use std::collections::{BTreeMap, BTreeSet};

use stats::bounded_median;

use super::eligible::{additive, eligible_trials, parts_of};
use super::{AttributionError, Options};
use crate::{Dataset, Factor, Trial, Values};

/// Trials as the statistics read them.
#[derive(Clone)]
pub(super) struct Table {
    pub response: String,
    pub factors: Vec<Factor>,
    pub rows: Vec<Row>,
    /// Parts of the trials, in the order in which they first appear.
    pub parts: Vec<String>,
    /// Factors that are not attributed to, and what was done with each.
    pub aside: Vec<String>,
    pub notes: Vec<String>,
}

/// One trial.
#[derive(Clone)]
pub(super) struct Row {
    pub levels: Vec<usize>,
    pub block: Option<usize>,
    /// Absent when a part is missing of which it would be the sum.
    pub whole: Option<f64>,
    pub parts: BTreeMap<String, f64>,
    /// Other responses of the whole, by name.
    pub others: BTreeMap<String, f64>,
}

/// Names that a response has when it says how long something took or what it did, best first.
const PREFERRED: [&str; 3] = ["cpu", "faults", "delay"];

impl Table {
    pub(super) fn new(dataset: &Dataset, options: &Options) -> Result<Table, AttributionError> {
        let response = choose_response(dataset, options.response.as_deref())?;
        let (usable, mut notes) = eligible_trials(dataset, &response, &options.factors);
        let observed = observed_levels(dataset, &usable);
        let factors = choose_factors(dataset, &observed, options).map_err(|error| match error {
            AttributionError::NothingVaried { source_name, .. } if !notes.is_empty() => {
                let left_out = format!(" in the trials that count ({})", notes.join("; "));
                AttributionError::NothingVaried { source_name, left_out }
            }
            error => error,
        })?;
        let others: Vec<&Factor> = observed
            .iter()
            .filter(|factor| !factors.iter().any(|chosen| chosen.name == factor.name))
            .collect();
        let aside = others.iter().map(|factor| told_aside(factor)).collect();
        notes.extend(several_samples(&usable, &response, additive(dataset, &response)));
        let parts = parts_of(&usable, &response);
        let rows = rows(
            dataset,
            &usable,
            &factors,
            &others,
            &Reading { response: &response, parts: &parts },
            &mut notes,
        );
        if !rows.iter().any(|row| row.whole.is_some()) {
            let source = dataset.name.clone();
            return Err(AttributionError::NoObservation { source_name: source, response });
        }
        Ok(Table { response, factors, rows, parts, aside, notes })
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.rows.iter().any(|row| row.block.is_some())
    }

    /// Takes all trials as comparable, and says why.
    pub(super) fn forget_blocks(&mut self, term: &str) {
        self.rows.iter_mut().for_each(|row| row.block = None);
        self.notes.push(format!("blocks are not used: with them {term} cannot be told"));
    }
}

/// What is read of each trial.
struct Reading<'a> {
    response: &'a str,
    parts: &'a [String],
}

/// The response that was asked for, or the first that the experiment's author wanted, or the preferred one of those with most observations.
fn choose_response(dataset: &Dataset, asked: Option<&str>) -> Result<String, AttributionError> {
    let known = || dataset.responses.keys().cloned().collect::<Vec<_>>();
    let mut wanted = dataset.wanted.iter().map(String::as_str);
    let wanted = wanted.find(|name| dataset.responses.contains_key(*name));
    if let Some(name) = asked.or(wanted) {
        return match dataset.responses.contains_key(name) {
            true => Ok(name.to_owned()),
            false => Err(AttributionError::UnknownResponse {
                source_name: dataset.name.clone(),
                name: name.to_owned(),
                known: known(),
            }),
        };
    }
    let count = |name: &str| {
        let values = dataset.trials.iter().flat_map(|trial| &trial.values);
        values.filter(|values| values.response == name && !values.samples.is_empty()).count()
    };
    let rank = |name: &str| {
        PREFERRED.iter().position(|word| name.contains(word)).unwrap_or(PREFERRED.len())
    };
    let best = known().into_iter().min_by_key(|name| (std::cmp::Reverse(count(name)), rank(name)));
    best.ok_or_else(|| AttributionError::NothingMeasured { source_name: dataset.name.clone() })
}

/// The factors with those of their levels that some trial has.
fn observed_levels(dataset: &Dataset, trials: &[&Trial]) -> Vec<Factor> {
    let observed = |factor: &Factor| {
        let seen: BTreeSet<&str> = trials
            .iter()
            .filter_map(|trial| trial.levels.get(&factor.name).map(String::as_str))
            .collect();
        let levels = factor.levels.iter().filter(|level| seen.contains(level.as_str()));
        Factor { name: factor.name.clone(), levels: levels.cloned().collect() }
    };
    dataset.factors.iter().map(observed).collect()
}

fn choose_factors(
    dataset: &Dataset,
    observed: &[Factor],
    options: &Options,
) -> Result<Vec<Factor>, AttributionError> {
    let source_name = || dataset.name.clone();
    let find = |name: &String| {
        observed.iter().find(|factor| factor.name == *name).cloned().ok_or_else(|| {
            AttributionError::UnknownFactor {
                source_name: source_name(),
                name: name.clone(),
                known: observed.iter().map(|factor| factor.name.clone()).collect(),
            }
        })
    };
    let mut chosen: Vec<Factor> = if options.factors.is_empty() {
        observed.iter().filter(|factor| factor.levels.len() > 1).cloned().collect()
    } else {
        options.factors.iter().map(find).collect::<Result<_, _>>()?
    };
    for (name, levels) in &options.levels {
        let known = find(name)?.levels;
        if let Some(level) = levels.iter().find(|level| !known.contains(level)) {
            let (factor, level) = (name.clone(), level.clone());
            return Err(AttributionError::UnknownLevel { factor, level, known });
        }
        let factor = Factor { name: name.clone(), levels: levels.clone() };
        match chosen.iter_mut().find(|chosen| chosen.name == *name) {
            Some(chosen) => *chosen = factor,
            None => chosen.push(factor),
        }
    }
    if let Some(factor) = chosen.iter().find(|factor| factor.levels.len() < 2) {
        return Err(AttributionError::OneLevel {
            source_name: source_name(),
            factor: factor.name.clone(),
        });
    }
    if chosen.is_empty() {
        return Err(AttributionError::NothingVaried {
            source_name: source_name(),
            left_out: String::new(),
        });
    }
    Ok(chosen)
}

fn told_aside(factor: &Factor) -> String {
    match factor.levels.as_slice() {
        [] => format!("{}: no trial says its level", factor.name),
        [level] => format!("{} was always {level}", factor.name),
        levels => format!(
            "averaged over {} ({}), comparing within each level only",
            factor.name,
            levels.join(", ")
        ),
    }
}

/// What became of trials with more than one value, and of values that are lower bounds.
fn several_samples(trials: &[&Trial], response: &str, additive: bool) -> Vec<String> {
    let values = || {
        trials.iter().flat_map(|trial| &trial.values).filter(|values| values.response == response)
    };
    let mut notes = Vec::new();
    let by = if additive { "mean" } else { "median" };
    if values().any(|values| values.samples.len() > 1) {
        notes.push(format!("each trial counts as the {by} of its values"));
    }
    let censored: usize = values().map(Values::censored).sum();
    if censored > 0 {
        notes.push(format!(
            "{censored} values are lower bounds; a trial whose {by} they would decide is left out"
        ));
    }
    notes
}

fn rows(
    dataset: &Dataset,
    trials: &[&Trial],
    factors: &[Factor],
    others: &[&Factor],
    reading: &Reading<'_>,
    notes: &mut Vec<String>,
) -> Vec<Row> {
    let mut rows = Vec::new();
    let blocks = Blocks::new(dataset, trials, others, notes);
    for trial in trials {
        let level = |factor: &Factor| {
            let name = trial.levels.get(&factor.name)?;
            factor.levels.iter().position(|level| level == name)
        };
        let Some(levels) = factors.iter().map(level).collect::<Option<Vec<usize>>>() else {
            // A level that was not asked for is no news; one that nobody knows is.
            if let Some(factor) = factors.iter().find(|f| !trial.levels.contains_key(&f.name)) {
                notes.push(format!("{} is left out: it has no {}", trial.name, factor.name));
            }
            continue;
        };
        let parts: BTreeMap<String, f64> = reading
            .parts
            .iter()
            .filter_map(|part| {
                figure(dataset, trial, Some(part), reading.response).map(|f| (part.clone(), f))
            })
            .collect();
        let whole = whole(dataset, trial, reading, &parts, notes);
        if whole.is_none() && parts.is_empty() {
            continue;
        }
        let others = dataset
            .responses
            .keys()
            .filter(|name| *name != reading.response)
            .filter_map(|name| figure(dataset, trial, None, name).map(|f| (name.clone(), f)))
            .collect();
        rows.push(Row { levels, block: blocks.of(trial), whole, parts, others });
    }
    rows
}

/// The figure of the whole trial: its own, or the sum of its parts where all of them are known.
fn whole(
    dataset: &Dataset,
    trial: &Trial,
    reading: &Reading<'_>,
    parts: &BTreeMap<String, f64>,
    notes: &mut Vec<String>,
) -> Option<f64> {
    let own = figure(dataset, trial, None, reading.response);
    if own.is_some() || !additive(dataset, reading.response) || parts.is_empty() {
        return own;
    }
    let missing: Vec<&str> = reading
        .parts
        .iter()
        .filter(|part| !parts.contains_key(*part))
        .map(String::as_str)
        .collect();
    if missing.is_empty() {
        return Some(parts.values().sum());
    }
    notes.push(format!(
        "{} has no total, as {} of it {} not known",
        trial.name,
        missing.join(", "),
        if missing.len() == 1 { "is" } else { "are" }
    ));
    None
}

/// Several samples become one figure: their mean when the response adds up, else their median,
/// which a few stalls do not move. `None` where it is only known by a lower bound.
fn figure(dataset: &Dataset, trial: &Trial, part: Option<&str>, response: &str) -> Option<f64> {
    let samples = trial.samples(part, response)?;
    if !additive(dataset, response) {
        return bounded_median(samples).filter(|it| !it.is_lower_bound).map(|it| it.value);
    }
    let known = samples.iter().map(|it| (!it.is_lower_bound).then_some(it.value));
    stats::mean(&known.collect::<Option<Vec<f64>>>()?)
}

/// Which trials are compared with each other: those of one block, of one seed in deterministic
/// machines, and of equal levels of the factors that are averaged over.
struct Blocks {
    keys: BTreeMap<Key, usize>,
    others: Vec<String>,
    by_seed: bool,
    by_block: bool,
}

type Key = (Vec<String>, Option<u64>);

impl Blocks {
    fn new(
        dataset: &Dataset,
        trials: &[&Trial],
        others: &[&Factor],
        notes: &mut Vec<String>,
    ) -> Blocks {
        let with_block = trials.iter().filter(|trial| trial.block.is_some()).count();
        if with_block > 0 && with_block < trials.len() {
            notes.push("only some trials have a block, so blocks are not used".to_owned());
        }
        let by_seed = dataset.deterministic && trials.iter().all(|trial| trial.seed.is_some());
        let by_block = !by_seed && with_block == trials.len();
        let others = others.iter().filter(|f| f.levels.len() > 1).map(|f| f.name.clone()).collect();
        let mut blocks = Blocks { keys: BTreeMap::new(), others, by_seed, by_block };
        let keys: BTreeSet<Key> = trials.iter().map(|trial| blocks.key(trial)).collect();
        blocks.keys = keys.into_iter().zip(0..).collect();
        blocks
    }

    fn key(&self, trial: &Trial) -> Key {
        let level = |name: &String| trial.levels.get(name).cloned().unwrap_or_default();
        let group = match (self.by_seed, self.by_block) {
            (true, _) => trial.seed,
            (false, true) => trial.block,
            (false, false) => None,
        };
        (self.others.iter().map(level).collect(), group)
    }

    /// The number of the block; none where all trials are comparable.
    fn of(&self, trial: &Trial) -> Option<usize> {
        (self.keys.len() > 1).then(|| self.keys.get(&self.key(trial)).copied()).flatten()
    }
}
