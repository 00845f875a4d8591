//! The figures of a history: what each kernel measured, seed by seed, without the run files.
//!
//! They are all that [`super::History`] is a function of, so a page can be redrawn from a file of
//! some hundred kilobytes instead of run files of some hundred megabytes.

use std::collections::BTreeMap;

use model::{EndStatus, Line, Observation, Run};
use serde::{Deserialize, Serialize};
use stats::bounded_median;

use crate::explained::Explained;
use crate::{Trial, from_runs};

/// Version of the format that this build writes and reads.
pub const HISTORY_SCHEMA: u32 = 1;

/// Responses of a measure if the suite names none, the main one first.
const RESPONSES: [&str; 4] = ["delay_ns", "touch_ns", "elapsed_ns", "cpu_ns"];
/// Facts of the system under test that decide how a kernel behaves, by their names in run files.
const FACTS: [&str; 8] = [
    "thp",
    "thp_defrag",
    "lru_gen",
    "preempt",
    "swappiness",
    "dirty_ratio",
    "dirty_background_ratio",
    "vm_kernel_mem",
];
/// Facts of what measures: figures of different ones do not belong to one history.
const INSTRUMENT: [&str; 2] = ["agent", "vm_qemu"];
/// The state that work depends on: name, and the counters of `meminfo` that it is the sum of, in KiB.
const STATES: [(&str, &[&str]); 6] = [
    ("huge pages", &["AnonHugePages_kb"]),
    ("dirty", &["Dirty_kb", "Writeback_kb"]),
    ("mapped", &["Mapped_kb"]),
    ("anonymous", &["AnonPages_kb"]),
    ("cached", &["Cached_kb"]),
    ("free", &["MemFree_kb"]),
];

/// All that was measured for a history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryData {
    /// Format version.
    pub schema: u32,
    /// Version of thrashlab that measured.
    pub thrashlab: String,
    /// The suite.
    pub suite: HistorySuite,
    /// How certain its claims are.
    pub settings: HistorySettings,
    /// What measured, by name: the agent and the emulator. All runs have the same.
    #[serde(default)]
    pub instrument: BTreeMap<String, String>,
    /// The texts that named kernels, as typed.
    pub requested: Vec<String>,
    /// The kernels in the order of their versions.
    pub kernels: Vec<HistoryKernel>,
    /// The measures in the order of the suite.
    pub measures: Vec<String>,
    /// The runs of each kernel and measure.
    pub cells: Vec<HistoryCell>,
    /// The functions that account for steps, where both kernels were profiled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<StepFunctions>,
}

/// The functions that account for the difference between two kernels under one measure, from exact
/// profiles of both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepFunctions {
    /// The measure's name.
    pub measure: String,
    /// The names of the kernels before and after.
    pub kernels: [String; 2],
    /// How many seeds were profiled; the figures are their means.
    pub seeds: usize,
    /// Instructions of a run, or of a repetition of its command, with each kernel.
    pub instructions: [u64; 2],
    /// The function that most of the difference is in, and which part, with what it calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<(String, f64)>,
    /// The functions that differ most, with their own instructions with each kernel, where it has them.
    pub functions: Vec<(String, [Option<u64>; 2])>,
}

/// The suite as it was written, and how to name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistorySuite {
    /// Its name.
    pub name: String,
    /// The options that name it on the command line; empty for the default suite.
    #[serde(default)]
    pub typed: String,
    /// Its text (TOML).
    pub text: String,
    /// The folder in which its paths begin, on the machine that made the history; empty for a suite without
    /// a file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
}

/// How certain the claims of a history are, and how many seeds a cell may take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistorySettings {
    /// Ratios from 1 / (1 + margin) to 1 + margin do not matter.
    pub margin: f64,
    /// Chance of any wrong claim over all comparisons and looks.
    pub alpha: f64,
    /// The most seeds of a cell.
    pub seeds: u32,
}

impl Default for HistorySettings {
    fn default() -> Self {
        Self { margin: 0.05, alpha: 0.05, seeds: 12 }
    }
}

/// A kernel of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryKernel {
    /// Its version, which names it in tables.
    pub name: String,
    /// Its name on the command line.
    pub typed: String,
    /// Its release.
    pub release: String,
    /// BLAKE3 of its image; empty if it is not available.
    pub blake3: String,
    /// Settings of its machine that make it a variant of the kernel, each as `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Facts of its configuration, in words.
    pub facts: BTreeMap<String, String>,
    /// Why no cell of it could run: it is not available, or does not boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The runs of one kernel under one measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryCell {
    /// The kernel's name.
    pub kernel: String,
    /// The measure's name.
    pub measure: String,
    /// What was measured.
    pub response: String,
    /// The unit of the values.
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
    /// What the clock counts, in words; empty if unknown.
    pub clock: String,
    /// Facts of the system before the measured part.
    pub facts: BTreeMap<String, String>,
    /// One per seed, in ascending order.
    pub runs: Vec<HistoryRun>,
}

/// One run: a seed of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryRun {
    /// Its seed.
    pub seed: u64,
    /// The median of its samples; absent if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Whether the true value may be larger.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
    /// Why it has no value, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether the kernel died.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_died: bool,
    /// Memory before the measured part, in bytes.
    pub state: BTreeMap<String, u64>,
    /// The mean delay and its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Explained>,
}

impl HistoryData {
    /// The settings of machines with which kernels are measured as well, each as `NAME=VALUE`.
    pub fn variants(&self) -> Vec<String> {
        let mut variants: Vec<String> = Vec::new();
        for setting in self.kernels.iter().flat_map(|kernel| &kernel.settings) {
            if !variants.contains(setting) {
                variants.push(setting.clone());
            }
        }
        variants
    }

    /// The cell of a kernel and a measure.
    pub fn cell(&self, kernel: &str, measure: &str) -> Option<&HistoryCell> {
        self.cells.iter().find(|cell| cell.kernel == kernel && cell.measure == measure)
    }

    /// The functions behind a step of a measure between two kernels, if they were profiled.
    pub fn functions_of(&self, measure: &str, kernels: [&str; 2]) -> Option<&StepFunctions> {
        self.functions.iter().find(|it| it.measure == measure && it.kernels == kernels)
    }

    /// Adds a run to its cell, unless its seed is there. `wanted` are the responses of interest. A
    /// run that shows nothing about the kernel (interrupted, or truncated) is left out. Fails when
    /// another agent or emulator measured it than the others.
    pub fn add(
        &mut self,
        kernel: &str,
        measure: &str,
        wanted: &[String],
        run: &Run,
    ) -> Result<(), String> {
        let mut set = from_runs("", &[(String::new(), run.clone())]);
        let Some(trial) = set.trials.pop() else { return Ok(()) };
        let (Some(seed), Some(_)) = (trial.seed, trial.failed()) else { return Ok(()) };
        self.same_instrument(&trial)?;
        let cell = self.cell_of(kernel, measure);
        let Err(place) = cell.runs.binary_search_by_key(&seed, |run| run.seed) else {
            return Ok(());
        };
        let of_suite = wanted.iter().map(String::as_str);
        let has = |name: &&str| trial.samples(None, name).is_some();
        if let Some(response) = of_suite.chain(RESPONSES).find(has) {
            let known = set.responses.get(response);
            response.clone_into(&mut cell.response);
            cell.unit = known.map_or_else(String::new, |it| it.unit.clone());
            cell.more_is_better = known.is_some_and(crate::Response::more_is_better);
        }
        if let Some(clock) = trial.meaning.get("clock") {
            cell.clock.clone_from(clock);
        }
        let facts = trial.environment.iter().filter(|(name, _)| FACTS.contains(&&***name));
        cell.facts = facts.map(|(name, fact)| (name.clone(), fact.clone())).collect();
        cell.runs.insert(place, history_run(seed, &cell.response, &trial, run));
        Ok(())
    }

    /// Remembers what measured the first run, and fails for another one.
    fn same_instrument(&mut self, trial: &Trial) -> Result<(), String> {
        for name in INSTRUMENT {
            let Some(fact) = trial.environment.get(name) else { continue };
            let known = self.instrument.entry(name.to_owned()).or_insert_with(|| fact.clone());
            if known != fact {
                return Err(format!("it was measured with {name} {known}, and this is {fact}"));
            }
        }
        Ok(())
    }

    /// The cell of a kernel and a measure, a new one if there is none.
    fn cell_of(&mut self, kernel: &str, measure: &str) -> &mut HistoryCell {
        let is_it = |it: &HistoryCell| it.kernel == kernel && it.measure == measure;
        let position = self.cells.iter().position(is_it).unwrap_or_else(|| {
            let (kernel, measure) = (kernel.to_owned(), measure.to_owned());
            self.cells.push(HistoryCell { kernel, measure, ..HistoryCell::default() });
            self.cells.len() - 1
        });
        &mut self.cells[position]
    }
}

impl HistoryCell {
    /// The values, without those of runs that failed.
    pub fn values(&self) -> Vec<Observation> {
        self.runs.iter().filter_map(HistoryRun::observation).collect()
    }

    /// The median; `None` if no run has a value.
    pub fn median(&self) -> Option<Observation> {
        bounded_median(&self.values())
    }

    /// How many runs failed, and whether the kernel died in any.
    pub fn failures(&self) -> (usize, bool) {
        let failed = self.runs.iter().filter(|run| run.failure.is_some());
        (failed.clone().count(), failed.into_iter().any(|run| run.has_died))
    }

    /// An amount of memory in each run that recorded it, in bytes.
    pub(super) fn states(&self, name: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| Some(*run.state.get(name)? as f64)).collect()
    }

    /// The costs of the first seeds, less is better; `None` if it has fewer. A failed run costs
    /// infinitely much.
    pub(super) fn costs(&self, seeds: usize) -> Option<Vec<f64>> {
        let of = |run: &HistoryRun| match run.observation() {
            Some(found) => cost(found, self.more_is_better).value,
            None => f64::INFINITY,
        };
        Some(self.runs.get(..seeds)?.iter().map(of).collect())
    }
}

/// A value as a cost, of which less is better. A delay of 0, below the clock's resolution, is 1 ns.
pub(super) fn cost(observed: Observation, more_is_better: bool) -> Observation {
    let value = observed.value.max(f64::MIN_POSITIVE);
    let value = match more_is_better {
        true => 1.0 / value,
        false if value < 1.0 && observed.value == 0.0 => 1.0,
        false => value,
    };
    Observation { value, ..observed }
}

impl HistoryRun {
    /// The value, which may be a lower bound; `None` if the run failed.
    pub(super) fn observation(&self) -> Option<Observation> {
        let value = self.value.filter(|_| self.failure.is_none())?;
        Some(Observation { value, is_lower_bound: self.is_lower_bound })
    }
}

fn history_run(seed: u64, response: &str, trial: &Trial, run: &Run) -> HistoryRun {
    let ending = trial.ending.as_ref();
    let is_death = ending.is_some_and(|ending| ending.status == EndStatus::KernelDied);
    // What a timeout cut off is among the values, as lower bounds.
    let counts = trial.standing() == crate::Standing::Counts;
    let value = trial.samples(None, response).and_then(bounded_median).filter(|_| counts);
    let failure = match value {
        Some(_) => None,
        None => Some(ending.and_then(crate::Ending::text).unwrap_or("it has no value".to_owned())),
    };
    HistoryRun {
        seed,
        value: value.map(|it| it.value),
        is_lower_bound: value.is_some_and(|it| it.is_lower_bound),
        failure,
        has_died: is_death,
        state: state(run),
        parts: mean_parts(&trial.explained),
    }
}

/// Memory before the first sample, or where a job has none, at its first reading.
fn state(run: &Run) -> BTreeMap<String, u64> {
    let of_sample = run.lines.iter().find_map(|line| match line {
        Line::Sample(sample) => Some(&sample.before),
        _ => None,
    });
    let first = || run.lines.iter().find_map(|line| Some(line.readings().next()?.1));
    let Some(meminfo) = of_sample.or_else(first).and_then(|set| set.get("meminfo")) else {
        return BTreeMap::new();
    };
    let sum = |names: &[&str]| -> Option<u64> {
        names.iter().map(|name| meminfo.get(*name).map(|kib| kib.saturating_mul(1024))).sum()
    };
    let mut state: BTreeMap<String, u64> =
        STATES.iter().filter_map(|(name, of)| Some(((*name).to_owned(), sum(of)?))).collect();
    if let (Some(all), Some(free)) = (sum(&["SwapTotal_kb"]), sum(&["SwapFree_kb"])) {
        state.insert("swap used".to_owned(), all.saturating_sub(free));
    }
    state
}

/// The mean of a run's explained delays, part by part. A part that some samples lack is unknown.
fn mean_parts(all: &[Explained]) -> Option<Explained> {
    let count = u64::try_from(all.len()).ok().filter(|count| *count > 0)?;
    let delay_ns = all.iter().map(|it| it.delay_ns / count).sum();
    let part = |part| {
        let of_all = all.iter().map(|it| it.parts_ns.get(&part).copied().flatten());
        of_all.map(|ns| ns.map(|ns| ns / count)).sum::<Option<u64>>()
    };
    let parts = crate::explained::Part::ALL.iter().map(|one| (*one, part(*one)));
    Some(Explained { delay_ns, parts_ns: parts.collect() })
}
