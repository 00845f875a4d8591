//! The observations of an attribution: figures of each trial, with the levels of the chosen factors.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use stats::bounded_median;

use super::Options;
use crate::{Dataset, Factor, Refused, Standing, Trial, Values, distinct, unknown};

/// Trials as the statistics read them.
#[derive(Clone)]
pub(super) struct Table {
    pub response: String,
    pub factors: Vec<Factor>,
    pub rows: Vec<Row>,
    /// Parts of the trials, in the order in which they first appear.
    pub parts: Vec<String>,
    /// Other factors, and how each was treated.
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

/// Parts of the names of preferred responses, the best first.
const PREFERRED: [&str; 3] = ["cpu", "faults", "delay"];

impl Table {
    pub(super) fn new(dataset: &Dataset, options: &Options) -> Result<Table, Refused> {
        let response = choose_response(dataset, options.response.as_deref())?;
        let (usable, mut notes) = eligible_trials(dataset, &response, &options.factors);
        let observed = |factor: &Factor| {
            let seen = |level: &&String| {
                usable.iter().any(|trial| trial.levels.get(&factor.name) == Some(*level))
            };
            let levels = factor.levels.iter().filter(seen).cloned().collect();
            Factor { name: factor.name.clone(), levels }
        };
        let observed: Vec<Factor> = dataset.factors.iter().map(observed).collect();
        let factors = choose_factors(dataset, &observed, options, &notes)?;
        let is_chosen = |factor: &&Factor| factors.iter().any(|it| it.name == factor.name);
        let others: Vec<&Factor> = observed.iter().filter(|it| !is_chosen(it)).collect();
        let aside = |Factor { name, levels }: &&Factor| match &levels[..] {
            [] => format!("{name}: no trial names its level"),
            [level] => format!("{name} was always {level}"),
            levels => {
                let levels = levels.join(", ");
                format!("averaged over {name} ({levels}), comparing within each level only")
            }
        };
        let aside = others.iter().map(aside).collect();
        notes.extend(several_samples(&usable, &response, additive(dataset, &response)));
        let parts = parts_of(&usable, &response);
        let mut reading = Reading { dataset, response: &response, parts: &parts, notes };
        let rows = reading.rows(&usable, &factors, &others);
        let notes = reading.notes;
        if !rows.iter().any(|row| row.whole.is_some()) {
            return Err(Refused::new(format!(
                "{}: no trial has a total of {response}; choose another with --response",
                dataset.name
            )));
        }
        Ok(Table { response, factors, rows, parts, aside, notes })
    }
}

/// The response requested, else the author's, else the preferred one with most observations.
fn choose_response(dataset: &Dataset, asked: Option<&str>) -> Result<String, Refused> {
    let (source, known) = (&dataset.name, &dataset.responses);
    let mut wanted = dataset.wanted.iter().filter(|name| known.contains_key(*name));
    if let Some(name) = asked.or(wanted.next().map(String::as_str)) {
        let refused = || unknown(format!("{source} has no response {name:?}"), known.keys());
        return known.contains_key(name).then(|| name.to_owned()).ok_or_else(refused);
    }
    let count = |name: &str| {
        let values = dataset.trials.iter().flat_map(|trial| &trial.values);
        values.filter(|values| values.response == name && !values.samples.is_empty()).count()
    };
    let rank = |name: &str| {
        PREFERRED.iter().position(|word| name.contains(word)).unwrap_or(PREFERRED.len())
    };
    let best = known.keys().min_by_key(|name| (std::cmp::Reverse(count(name)), rank(name)));
    best.cloned().ok_or_else(|| Refused::new(format!("{source}: nothing was measured")))
}

/// `left_out` are notes on the trials that do not count.
fn choose_factors(
    dataset: &Dataset,
    observed: &[Factor],
    options: &Options,
    left_out: &[String],
) -> Result<Vec<Factor>, Refused> {
    let source = &dataset.name;
    let find = |name: &String| {
        observed.iter().find(|factor| factor.name == *name).cloned().ok_or_else(|| {
            let known = observed.iter().map(|factor| &factor.name);
            unknown(format!("{source} has no factor {name:?}"), known)
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
            return Err(unknown(format!("factor {name} has no level {level:?}"), &known));
        }
        let factor = Factor { name: name.clone(), levels: levels.clone() };
        match chosen.iter_mut().find(|chosen| chosen.name == *name) {
            Some(chosen) => *chosen = factor,
            None => chosen.push(factor),
        }
    }
    if let Some(Factor { name, .. }) = chosen.iter().find(|factor| factor.levels.len() < 2) {
        return Err(Refused::new(format!(
            "{source}: factor {name} has one level only, so no change can be caused by it"
        )));
    }
    if chosen.is_empty() {
        let left_out = match left_out {
            [] => String::new(),
            notes => format!(" in the trials that count ({})", notes.join("; ")),
        };
        return Err(Refused::new(format!(
            "{source}: nothing was varied{left_out}; attribution takes an experiment in which at \
             least one factor has two levels"
        )));
    }
    Ok(chosen)
}

/// Notes on trials with more than one value, and on lower bounds.
fn several_samples(trials: &[&Trial], response: &str, is_additive: bool) -> Vec<String> {
    let all = trials.iter().flat_map(|trial| &trial.values);
    let values: Vec<&Values> = all.filter(|values| values.response == response).collect();
    let mut notes = Vec::new();
    let by = if is_additive { "mean" } else { "median" };
    if values.iter().any(|values| values.samples.len() > 1) {
        notes.push(format!("each trial counts as the {by} of its values"));
    }
    let censored: usize = values.iter().map(|values| values.censored()).sum();
    if censored > 0 {
        notes.push(format!(
            "{censored} values are lower bounds; a trial whose {by} they would decide is left out"
        ));
    }
    notes
}

struct Reading<'a> {
    dataset: &'a Dataset,
    response: &'a str,
    parts: &'a [String],
    notes: Vec<String>,
}

impl Reading<'_> {
    fn rows(&mut self, trials: &[&Trial], factors: &[Factor], others: &[&Factor]) -> Vec<Row> {
        let mut rows = Vec::new();
        let blocks = self.blocks(trials, others);
        for (trial, block) in trials.iter().zip(blocks) {
            let level = |factor: &Factor| {
                let name = trial.levels.get(&factor.name)?;
                factor.levels.iter().position(|level| level == name)
            };
            let Some(levels) = factors.iter().map(level).collect::<Option<Vec<usize>>>() else {
                // A level that was not requested needs no note.
                if let Some(factor) = factors.iter().find(|f| !trial.levels.contains_key(&f.name)) {
                    let (trial, factor) = (&trial.name, &factor.name);
                    self.notes.push(format!("{trial} is left out: it has no {factor}"));
                }
                continue;
            };
            let part = |name: &String| {
                Some((name.clone(), self.figure(trial, Some(name), self.response)?))
            };
            let parts: BTreeMap<String, f64> = self.parts.iter().filter_map(part).collect();
            let whole = self.whole(trial, &parts);
            if whole.is_none() && parts.is_empty() {
                continue;
            }
            let other = |name: &String| Some((name.clone(), self.figure(trial, None, name)?));
            let others = self.dataset.responses.keys().filter(|name| *name != self.response);
            let others = others.filter_map(other).collect();
            rows.push(Row { levels, block, whole, parts, others });
        }
        rows
    }

    /// The figure of the whole trial: its own, or the sum of its parts where all of them are known.
    fn whole(&mut self, trial: &Trial, parts: &BTreeMap<String, f64>) -> Option<f64> {
        let own = self.figure(trial, None, self.response);
        if own.is_some() || !additive(self.dataset, self.response) || parts.is_empty() {
            return own;
        }
        let missing = self.parts.iter().filter(|part| !parts.contains_key(*part)).collect_vec();
        if missing.is_empty() {
            return Some(parts.values().sum());
        }
        let are = if missing.len() == 1 { "is" } else { "are" };
        let missing = missing.iter().join(", ");
        let note = format!("{} has no total, as {missing} of it {are} not known", trial.name);
        self.notes.push(note);
        None
    }

    /// The mean of an additive response, else the median, robust to stalls; `None` if it is a bound.
    fn figure(&self, trial: &Trial, part: Option<&str>, response: &str) -> Option<f64> {
        let samples = trial.samples(part, response)?;
        if !additive(self.dataset, response) {
            return bounded_median(samples).filter(|it| !it.is_lower_bound).map(|it| it.value);
        }
        let known = samples.iter().map(|it| (!it.is_lower_bound).then_some(it.value));
        stats::mean(&known.collect::<Option<Vec<f64>>>()?)
    }

    /// Each trial's block, within which trials are compared: its own block, its seed on deterministic
    /// machines, and equal levels of other factors. None if all are comparable.
    fn blocks(&mut self, trials: &[&Trial], others: &[&Factor]) -> Vec<Option<usize>> {
        let with_block = trials.iter().filter(|trial| trial.block.is_some()).count();
        if with_block > 0 && with_block < trials.len() {
            self.notes.push("only some trials have a block, so blocks are not used".to_owned());
        }
        let by_seed = self.dataset.deterministic && trials.iter().all(|trial| trial.seed.is_some());
        let key = |trial: &&Trial| {
            let several = others.iter().filter(|factor| factor.levels.len() > 1);
            let levels: Vec<Option<String>> =
                several.map(|factor| trial.levels.get(&factor.name).cloned()).collect();
            let block = trial.block.filter(|_| with_block == trials.len());
            (levels, if by_seed { trial.seed } else { block })
        };
        let keys: BTreeSet<_> = trials.iter().map(key).collect();
        let numbers: BTreeMap<_, usize> = keys.into_iter().zip(0..).collect();
        let several = numbers.len() > 1;
        trials.iter().map(|trial| numbers.get(&key(trial)).copied().filter(|_| several)).collect()
    }
}

type Combinations<'a> = BTreeSet<Vec<&'a str>>;

/// The trials that count, and notes on omitted trials and levels.
///
/// A fit requires all level combinations. Where none has a trial that counts, the level in most
/// such combinations is omitted; ties go to the factor with most levels. `asked` are the requested
/// factors; empty means all.
fn eligible_trials<'a>(
    dataset: &'a Dataset,
    response: &str,
    asked: &[String],
) -> (Vec<&'a Trial>, Vec<String>) {
    let mut notes = Vec::new();
    let (mut usable, mut lost) = (Vec::new(), Vec::new());
    let mut parts = parts_of(&dataset.trials.iter().collect::<Vec<_>>(), response);
    parts.retain(|_| additive(dataset, response));
    for trial in &dataset.trials {
        match why_not(trial, response, &parts) {
            Some(reason) => {
                notes.push(format!("{} is left out: {reason}", trial.name));
                lost.push(trial);
            }
            None => {
                notes.extend(trial.problem.as_ref().map(|it| format!("{}: {it}", trial.name)));
                usable.push(trial);
            }
        }
    }
    let several = dataset.factors.iter().filter(|factor| factor.levels.len() > 1);
    let varied = several.filter(|factor| asked.is_empty() || asked.contains(&factor.name));
    let varied: Vec<&str> = varied.map(|factor| factor.name.as_str()).collect();
    loop {
        let of = |trials: &[&'a Trial]| -> Combinations<'a> {
            trials.iter().filter_map(|trial| combination(trial, &varied)).collect()
        };
        let measured = of(&usable);
        let missing = &of(&lost) - &measured;
        let Some((factor, level)) = most_missing(&missing, &measured) else { break };
        notes.push(format!(
            "{} {level} is left out: not every combination with it has a trial that counts",
            varied[factor]
        ));
        let keeps = |trial: &&Trial| trial.levels.get(varied[factor]) != Some(&level);
        usable.retain(keeps);
        lost.retain(keeps);
    }
    (usable, notes)
}

/// Why a trial does not count; `parts` are those that sum to the response, if any.
fn why_not(trial: &Trial, response: &str, parts: &[String]) -> Option<String> {
    if trial.standing() != Standing::Counts {
        return trial.remark();
    }
    let ending = trial.ending.as_ref().and_then(crate::Ending::text);
    let Some(whole) = trial.samples(None, response).and_then(bounded_median) else {
        // A run that failed lacks the whole if a part is missing; of others it was not published.
        let ending = ending?;
        let has = |part: &String| trial.samples(Some(part), response).is_some();
        let is_lost = parts.is_empty() || !parts.iter().all(has);
        return is_lost.then(|| format!("it has no {response} ({ending})"));
    };
    whole.is_lower_bound.then(|| {
        let ending = ending.map_or_else(String::new, |text| format!(" ({text})"));
        format!("its {response} is only known to be at least {}{ending}", whole.value)
    })
}

fn combination<'a>(trial: &'a Trial, factors: &[&str]) -> Option<Vec<&'a str>> {
    factors.iter().map(|factor| trial.levels.get(*factor).map(String::as_str)).collect()
}

/// The factor and level in most missing combinations, unless nothing would be left.
fn most_missing(missing: &Combinations, measured: &Combinations) -> Option<(usize, String)> {
    let counts = missing.iter().flat_map(|it| it.iter().copied().enumerate()).counts();
    let levels = |factor: usize| {
        let all = missing.iter().chain(measured).map(|combination| combination[factor]);
        all.collect::<BTreeSet<&str>>().len()
    };
    let is_left = |factor: usize, level: &str| measured.iter().any(|it| it[factor] != level);
    let most = counts.into_iter().sorted().filter(|((factor, level), _)| is_left(*factor, level));
    let most = most.max_by_key(|((factor, _), count)| (*count, levels(*factor)));
    most.map(|((factor, level), _)| (factor, level.to_owned()))
}

/// Whether values of a response add up over its parts.
fn additive(dataset: &Dataset, response: &str) -> bool {
    dataset.responses.get(response).is_some_and(|found| found.additive)
}

fn parts_of(trials: &[&Trial], response: &str) -> Vec<String> {
    let values = trials.iter().flat_map(|trial| &trial.values);
    let values = values.filter(|values| values.response == response);
    distinct(values.filter_map(|values| values.part.clone()))
}
