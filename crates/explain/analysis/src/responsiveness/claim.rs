//! The ratios of the responsiveness matrix, their intervals and their units.
//!
//! With one seed (and block) a ratio describes that run, with samples as units. With more, the
//! unit is the seed or block: the medians of its samples and of its own baseline.

use std::collections::BTreeMap;

use model::{Observation, Run};
use serde::Serialize;
use stats::{
    AllowedRatio, Arms, Method, Pairing, Settings, bounded_median, bounded_run_ratio, compare,
};

use crate::remarks::delays;

/// Confidence of all intervals.
const CONFIDENCE: f64 = 0.95;

/// What a ratio describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// One run and the baseline of its invocation.
    ThisRun,
    /// Several runs together, without a baseline for each seed.
    TheseRuns,
    /// All possible seeds.
    Seeds,
    /// All possible blocks.
    Blocks,
}

/// A ratio of delays with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The Hodges–Lehmann estimate (median of all ratios of a delay under load to one without) of
    /// the samples, or of the medians of seeds or blocks by `method`.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The possible estimates, if some delays are lower bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<AllowedRatio>,
    /// Confidence of the interval: less than requested with too few samples.
    pub confidence: f64,
    /// What it describes.
    pub claim: Claim,
    /// Number of seeds or blocks.
    pub units: usize,
    /// The method of a claim about seeds or blocks.
    pub method: Option<Method>,
    /// Seeds or blocks needed for a usable interval, if this one is too wide.
    pub needs: Option<u64>,
}

/// Block and seed of a run, and batches in time order: a sample each, or a histogram.
type RunUnits = (u64, u64, Vec<Vec<Observation>>);

/// The delays of one load, run by run.
pub(crate) struct Units {
    runs: Vec<RunUnits>,
}

impl Units {
    pub(crate) fn from_runs(runs: &[&Run]) -> Self {
        let of_run = |run: &&Run| {
            let spec = &run.header.as_ref()?.spec;
            Some((u64::from(spec.block), spec.seed, run.lines.iter().map(delays).collect()))
        };
        Self::new(runs.iter().filter_map(of_run).collect())
    }

    /// Takes the delays of these runs, without empty batches. A delay of 0, below the clock's
    /// resolution, counts as 1 ns.
    pub(crate) fn new(mut runs: Vec<RunUnits>) -> Self {
        for (_, _, batches) in &mut runs {
            batches.retain(|batch| !batch.is_empty());
            batches.iter_mut().flatten().for_each(|it| it.value = it.value.max(1.0));
        }
        runs.retain(|(_, _, batches)| !batches.is_empty());
        Self { runs }
    }

    /// The ratio to a baseline: over seeds or blocks if there are several, else over the samples.
    pub(crate) fn ratio_to(&self, baseline: &Self) -> Option<Ratio> {
        self.over_units(baseline).or_else(|| self.of_samples(baseline))
    }

    /// The ratio to others that were repeated within their runs: within a seed the pieces of the
    /// baseline do not repeat the experiment.
    pub(crate) fn repeated_ratio_to(&self, other: &Self) -> Option<Ratio> {
        if self.has_seeds() { self.ratio_to(other) } else { self.of_samples(other) }
    }

    /// Whether the runs have several seeds.
    pub(crate) fn has_seeds(&self) -> bool {
        self.runs.iter().any(|(_, seed, _)| *seed != self.runs[0].1)
    }

    /// The median delay of each unit.
    fn medians(&self, claim: Claim) -> BTreeMap<u64, Observation> {
        let mut units: BTreeMap<u64, Vec<Observation>> = BTreeMap::new();
        for (block, seed, batches) in &self.runs {
            let key = if claim == Claim::Seeds { seed } else { block };
            units.entry(*key).or_default().extend(batches.iter().flatten());
        }
        let median = |(key, delays): (u64, Vec<_>)| Some((key, bounded_median(&delays)?));
        units.into_iter().filter_map(median).collect()
    }

    /// Over seeds or blocks, paired if each has its own baseline; `None` if a side has only one.
    fn over_units(&self, baseline: &Self) -> Option<Ratio> {
        // Within one invocation blocks are repetitions of a seed.
        let claim =
            if self.medians(Claim::Seeds).len() == 1 { Claim::Blocks } else { Claim::Seeds };
        let (quiet, loaded) = (baseline.medians(claim), self.medians(claim));
        if quiet.len() < 2 || loaded.len() < 2 {
            return None;
        }
        let own: Option<Vec<_>> = loaded.keys().map(|key| quiet.get(key).copied()).collect();
        let pairing = if own.is_some() { Pairing::Paired } else { Pairing::Unpaired };
        let first = own.unwrap_or_else(|| quiet.into_values().collect());
        let (units, second) = (loaded.len(), loaded.into_values().collect());
        let settings = Settings { alpha: 1.0 - CONFIDENCE, ..Settings::default() };
        let judgement = compare(&[Arms::new(first, second, pairing)], &[], &settings);
        let found = judgement.cells.into_iter().next()?.ok()?;
        Some(Ratio {
            ratio: found.ratio,
            low: found.low,
            high: found.high,
            allowed: found.allowed,
            confidence: found.confidence_attained,
            claim,
            units,
            method: Some(found.method),
            needs: found.interval_needs,
        })
    }

    /// Over the samples of all units.
    pub(crate) fn of_samples(&self, baseline: &Self) -> Option<Ratio> {
        let [first, second] = [baseline, self].map(|units| -> Vec<Vec<Observation>> {
            units.runs.iter().flat_map(|(_, _, batches)| batches).cloned().collect()
        });
        let (found, allowed) = bounded_run_ratio(&first, &second, CONFIDENCE)?;
        let units = self.runs.len();
        Some(Ratio {
            ratio: found.ratio,
            low: found.low,
            high: found.high,
            allowed,
            confidence: found.confidence_attained,
            claim: if units == 1 { Claim::ThisRun } else { Claim::TheseRuns },
            units,
            method: None,
            needs: None,
        })
    }
}

impl Ratio {
    /// `≥ ` or `≤ ` if censored values leave it open, else nothing.
    pub fn mark(&self) -> &'static str {
        self.allowed.map_or("", AllowedRatio::mark)
    }

    /// The ratio with one decimal.
    pub fn times(&self) -> String {
        format!("{}{:.1}", self.mark(), self.ratio)
    }

    /// The units of the interval in words: `of this run`, `over 5 seeds`.
    pub fn over(&self) -> String {
        match self.claim {
            Claim::ThisRun => "of this run".to_owned(),
            Claim::TheseRuns => format!("of these {} runs", self.units),
            Claim::Seeds => format!("over {} seeds", self.units),
            Claim::Blocks => format!("over {} blocks", self.units),
        }
    }

    /// Whether the interval is too wide to be useful.
    pub fn says_nothing(&self) -> bool {
        stats::says_nothing(self.low, self.high)
    }

    /// Seeds or blocks needed for a usable interval; empty if this one is usable.
    pub fn needs_text(&self) -> String {
        let unit = if self.claim == Claim::Blocks { "blocks" } else { "seeds" };
        match self.needs {
            Some(needs) => format!("takes about {needs} {unit}"),
            None if self.says_nothing() => format!("takes more {unit}"),
            None => String::new(),
        }
    }
}

/// The units and methods of ratios, a sentence for each claim.
pub fn claims<'a>(ratios: impl Iterator<Item = (&'a str, Ratio)>) -> Vec<String> {
    type Kind = (Claim, usize, bool, &'static str);
    let mut found: BTreeMap<Kind, Vec<&str>> = BTreeMap::new();
    for (load, ratio) in ratios {
        let method = ratio.method.map_or("Hodges-Lehmann", crate::comparison::method_words);
        let paired = matches!(ratio.method, Some(Method::SignedRank | Method::PairedLog));
        found.entry((ratio.claim, ratio.units, paired, method)).or_default().push(load);
    }
    let several = found.len() > 1;
    let sentence = |((claim, units, paired, method), loads): (&Kind, &Vec<&str>)| {
        let loads = if several { format!("{}: ", loads.join(", ")) } else { String::new() };
        match claim {
            Claim::ThisRun => format!(
                "{loads}The ratio to noload ({method}) and its interval describe this run, whose \
                 samples are the unit. Variation between runs is unknown: --seeds 1..5 would show \
                 it."
            ),
            Claim::TheseRuns => format!(
                "{loads}The ratio to noload ({method}) and its interval describe these {units} runs, \
                 whose samples are the unit: they lack a noload run each."
            ),
            Claim::Seeds | Claim::Blocks => {
                let unit = if *claim == Claim::Seeds { "seed" } else { "block" };
                let own = match paired {
                    true => "each to its own noload",
                    false => "next to those of noload, which lacks some of them",
                };
                format!(
                    "{loads}The unit of the ratio and its interval is the {unit}: medians of {units} \
                     {unit}s, {own} ({method})."
                )
            }
        }
    };
    found.iter().map(sentence).collect()
}
