//! The arms: inputs, or the levels of a factor within one of them.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use model::Observation;

use super::Arm;
use crate::{Dataset, Factor, Refused, Standing, Trial, distinct, grouped};

/// How many levels or cells an error lists.
const MOST_LISTED: usize = 6;

pub(super) type Levels = BTreeMap<String, String>;

pub(super) struct Arms<'a> {
    /// The first one is the reference.
    pub(super) all: Vec<ArmTrials<'a>>,
    /// The factor whose levels they are.
    pub(super) factor: Option<&'a str>,
    /// Factors whose single level in each arm is part of the arm.
    pub(super) folded: Vec<&'a str>,
    /// The levels of the other factors, in order.
    pub(super) order: BTreeMap<&'a str, Vec<&'a str>>,
    /// Whether blocks with the same number ran at the same time in all arms.
    pub(super) blocks_match: bool,
}

pub(super) struct ArmTrials<'a> {
    pub(super) arm: Arm,
    pub(super) trials: Vec<&'a Trial>,
}

/// A trial that counts: the number of its session in its arm, and its values in one cell.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) number: usize,
    pub(super) trial: &'a Trial,
    pub(super) samples: &'a [Observation],
}

pub(super) fn samples(side: &[Seen]) -> Vec<Observation> {
    side.iter().flat_map(|seen| seen.samples).copied().collect()
}

impl<'a> Arms<'a> {
    /// Whether an arm and the reference are deterministic.
    pub(super) fn are_exact(&self, second: usize) -> bool {
        [0, second].iter().all(|arm| self.all[*arm].arm.deterministic)
    }

    pub(super) fn trials(&self) -> impl Iterator<Item = &'a Trial> {
        self.all.iter().flat_map(|arm| arm.trials.iter().copied())
    }

    pub(super) fn at(&self, arm: usize, levels: &Levels) -> impl Iterator<Item = &'a Trial> {
        let trials = self.all[arm].trials.iter().copied();
        trials.filter(move |trial| self.place(trial) == *levels)
    }

    /// The levels that identify a trial's cell.
    pub(super) fn place(&self, trial: &Trial) -> Levels {
        let is_arm = |name: &str| Some(name) == self.factor || self.folded.contains(&name);
        let levels = trial.levels.iter().filter(|(name, _)| !is_arm(name));
        levels.map(|(name, level)| (name.clone(), level.clone())).collect()
    }
}

pub(super) fn find<'a>(sets: &'a [Dataset], factor: Option<&'a str>) -> Result<Arms<'a>, Refused> {
    let (all, folded) = match (sets, factor) {
        ([set], Some(factor)) => {
            let found = set.factor(factor).filter(|factor| factor.levels.len() > 1);
            let found = found.ok_or_else(|| {
                let (name, known) = (&set.name, factors_text(set));
                Refused::new(format!(
                    "{name} has no factor {factor:?} with two levels or more; choose from {known}"
                ))
            })?;
            let arm = |level: &String| arm(set, level, |it| it.levels.get(factor) == Some(level));
            (found.levels.iter().map(arm).collect(), Vec::new())
        }
        ([set], None) => {
            let known = factors_text(set);
            return Err(Refused::new(format!(
                "one input: name a second one, or a --factor whose levels to compare: {known}"
            )));
        }
        (_, None) => inputs(sets),
        (_, Some(_)) => {
            let inputs = sets.len();
            return Err(Refused::new(format!(
                "--factor compares the levels of a factor within one input, and {inputs} were \
                 given: compare the inputs without it, or one of them with it"
            )));
        }
    };
    let known = sets.iter().flat_map(|set| &set.factors);
    let levels =
        known.flat_map(|it| it.levels.iter().map(|level| (it.name.as_str(), level.as_str())));
    let order = grouped(distinct(levels)).into_iter().collect();
    let blocks_match =
        factor.is_some() || all[1..].iter().all(|arm| in_turn(&all[0], arm).is_none());
    Ok(Arms { all, factor, folded, order, blocks_match })
}

/// An arm for each input, and the factors that only distinguish inputs.
fn inputs(sets: &[Dataset]) -> (Vec<ArmTrials<'_>>, Vec<&str>) {
    let all = sets.iter().map(|set| arm(set, &set.name, |_| true)).collect();
    let names: BTreeSet<&str> =
        sets.iter().flat_map(|set| &set.factors).map(|factor| factor.name.as_str()).collect();
    let only_tells_apart = |name: &&str| {
        let levels = |set| Dataset::factor(set, name).map_or(&[][..], |factor| &factor.levels);
        sets.iter().all(|set| levels(set).len() <= 1)
            && sets.iter().any(|set| levels(set) != levels(&sets[0]))
    };
    (all, names.into_iter().filter(only_tells_apart).collect())
}

/// Why two inputs have no cell in common: one of which no trial counts, or a factor without a common
/// level, each with the next step, else what each has alone.
pub(super) fn nothing_in_common(sets: &[Dataset], left_out: &[String]) -> String {
    let is_excluded = |set: &&Dataset| {
        !set.trials.is_empty() && set.trials.iter().all(|it| it.standing() == Standing::Excluded)
    };
    if let Some(set) = sets.iter().find(is_excluded) {
        let why = distinct(set.trials.iter().map(Trial::outcome));
        return format!(
            "no trial of {} counts ({}): measure it again",
            set.name,
            listed(&why, ", ")
        );
    }
    let is_apart = |factor: &&Factor| {
        let of_others = sets[1..].iter().filter_map(|set| set.factor(&factor.name));
        let mut others = of_others.flat_map(|it| &it.levels).peekable();
        others.peek().is_some() && !others.any(|level| factor.levels.contains(level))
    };
    if let Some(Factor { name, .. }) = sets[0].factors.iter().find(is_apart) {
        let levels = |set: &Dataset| {
            let levels = set.factor(name).map_or(&[][..], |factor| &factor.levels);
            format!("{} has {}", set.name, listed(levels, ", "))
        };
        return format!(
            "no level of {name} is in several inputs ({}): compare one input with --factor {name}; \
             files of other programs can be one input as a folder",
            sets.iter().map(levels).join("; ")
        );
    }
    listed(left_out, "; ")
}

/// The first items, with the number of the others.
pub(super) fn listed(all: &[String], separator: &str) -> String {
    let first = all.iter().take(MOST_LISTED).join(separator);
    match all.len().checked_sub(MOST_LISTED) {
        None | Some(0) => first,
        Some(more) => format!("{first}{separator}and {more} more"),
    }
}

fn arm<'a>(set: &'a Dataset, name: &str, is_of: impl Fn(&Trial) -> bool) -> ArmTrials<'a> {
    let trials: Vec<&Trial> = set.trials.iter().filter(|trial| is_of(trial)).collect();
    let (name, deterministic) = (name.to_owned(), set.deterministic);
    let runs = trials.iter().filter(|trial| !trial.is_summary).count();
    ArmTrials { arm: Arm { name, trials: runs, deterministic }, trials }
}

/// Two arms in time order, if one is known to have ended before the other began.
fn in_turn<'s>(
    first: &'s ArmTrials<'s>,
    second: &'s ArmTrials<'s>,
) -> Option<[&'s ArmTrials<'s>; 2]> {
    let starts = |arm: &ArmTrials| -> Option<Vec<u64>> {
        arm.trials.iter().map(|trial| trial.started_unix_ns).collect()
    };
    let (one, other) = (starts(first)?, starts(second)?);
    let is_before = |one: &[u64], other: &[u64]| Some(one.iter().max()? < other.iter().min()?);
    match is_before(&one, &other)? {
        true => Some([first, second]),
        false => is_before(&other, &one)?.then_some([second, first]),
    }
}

/// Doubts about all cells: the order of the trials, and trials with problems.
pub(super) fn warnings(arms: &Arms) -> Vec<String> {
    let mut warnings = Vec::new();
    let noisy = (1..arms.all.len()).filter(|second| !arms.are_exact(*second));
    for [before, after] in noisy.filter_map(|at| in_turn(&arms.all[0], &arms.all[at])) {
        warnings.push(format!(
            "{} ran entirely before {}: a drift of the machine would look like a difference; \
             interleave them in blocks (thrashlab experiment)",
            before.arm.name, after.arm.name
        ));
    }
    let recorded = |trial: &Trial| trial.started_unix_ns.is_some() || trial.block.is_some();
    if !arms.trials().all(recorded) {
        warnings.push(
            "the order in which the trials ran is not recorded: a drift of the machine \
             cannot be ruled out"
                .to_owned(),
        );
    }
    for ArmTrials { arm: Arm { name, trials: all, .. }, trials } in &arms.all {
        let problems = trials.iter().filter_map(|trial| trial.remark()).counts();
        let warning = |(problem, count)| format!("{name}: {count} of {all} trials: {problem}");
        warnings.extend(problems.into_iter().sorted().map(warning));
    }
    warnings
}

fn factors_text(set: &Dataset) -> String {
    let several = set.factors.iter().filter(|factor| factor.levels.len() > 1);
    let texts = several.map(|it| format!("{} ({})", it.name, listed(&it.levels, ", "))).join(", ");
    if texts.is_empty() { "none with two levels".to_owned() } else { texts }
}
