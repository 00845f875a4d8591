//! The JSON of `hyperfine --export-json`. Every run is a trial. hyperfine keeps only means of user
//! and system time, which form a separate trial.

use std::collections::{BTreeMap, BTreeSet};

use analysis::Direction::LessIsBetter;
use serde::Deserialize;
use serde_json::Value;

use crate::dataset::{Imported, Options, Refusal, fact, json};
use crate::measurement::{ForeignMeasurement, ForeignTrial, TrialOutcome};
use crate::results::ForeignResults;

const COMMAND: &str = "command";
/// Printed statistics may differ from those of the times by this part, as they are rounded.
const ROUNDING: f64 = 0.1;
/// The exit code of a shell is this number and that of the signal that ended its command.
const OF_SIGNAL: i64 = 128;

#[derive(Deserialize)]
struct Export {
    results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    command: String,
    mean: Option<f64>,
    median: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    user: Option<f64>,
    system: Option<f64>,
    times: Option<Vec<f64>>,
    memory_usage_byte: Option<Vec<f64>>,
    exit_codes: Option<Vec<Option<i64>>>,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
}

pub(crate) fn read(text: &str, options: &Options) -> Imported {
    let export: Export = json(text)?;
    if export.results.is_empty() {
        return Err(Refusal::whole("\"results\" is empty"));
    }
    let mut found = ForeignResults { factors: factors(&export.results), ..Default::default() };
    found.implied = match found.factors.iter().any(|name| name == COMMAND) {
        true => Vec::new(),
        false => vec![COMMAND.to_owned()],
    };
    found.notes = vec![
        "hyperfine executes all runs of one command before the next: a drift of the machine would \
         look like a difference"
            .to_owned(),
        "of user and system time hyperfine keeps means only".to_owned(),
    ];
    for (index, entry) in export.results.iter().enumerate() {
        let is_same = |it: &Entry| it.command == entry.command && it.parameters == entry.parameters;
        if export.results[..index].iter().any(is_same) {
            let note = format!("several results of {:?}: their runs count as one", entry.command);
            found.notes.push(note);
        }
        push(&mut found, index + 1, entry)?;
    }
    found.finish(options)
}

/// The parameters if they distinguish all results, else the commands.
fn factors(results: &[Entry]) -> Vec<String> {
    let names = &results[0].parameters;
    let texts = |entry: &Entry| -> Vec<String> { entry.parameters.values().map(fact).collect() };
    let distinguished: BTreeSet<Vec<String>> = results.iter().map(texts).collect();
    let enough = distinguished.len() == results.len()
        && results.iter().all(|entry| entry.parameters.keys().eq(names.keys()));
    match !names.is_empty() && enough {
        true => names.keys().cloned().collect(),
        false => vec![COMMAND.to_owned()],
    }
}

fn push(found: &mut ForeignResults, number: usize, entry: &Entry) -> Result<(), Refusal> {
    let refused =
        |what: String| Refusal::whole(format!("result {number}, {:?}: {what}", entry.command));
    let checked = |what: &str, value: f64| match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => Err(refused(format!("{what} is {value}; a time is finite and not negative"))),
    };
    let mut times = entry.times.clone().unwrap_or_default();
    times.iter().try_for_each(|time| checked("a time", *time).map(drop))?;
    entry.check(&times).map_err(refused)?;
    if times.is_empty() {
        let mean = entry.mean.ok_or_else(|| refused("neither times nor a mean".to_owned()))?;
        let why = format!("{:?}: no single times, its mean is used as one", entry.command);
        found.notes.push(why);
        times = vec![checked("the mean", mean)?];
    }
    let identity = || {
        let parameters = entry.parameters.iter();
        let parameters = parameters.map(|(name, value)| (name.as_str(), fact(value)));
        parameters.chain([(COMMAND, entry.command.clone())])
    };
    let mut has_failed = false;
    for (run, seconds) in times.iter().enumerate() {
        let mut figures =
            vec![ForeignMeasurement::figure("elapsed_s", "s", LessIsBetter, *seconds)];
        let memory = entry.memory_usage_byte.as_ref().and_then(|all| all.get(run).copied());
        if let Some(peak) = memory.filter(|bytes| *bytes > 0.0) {
            figures.push(ForeignMeasurement::figure("peak_bytes", "bytes", LessIsBetter, peak));
        }
        let name = format!("result {number}, run {}", run + 1);
        let mut trial = ForeignTrial::of_file(name, identity(), figures);
        if let Some(cause) = entry.failure(run) {
            has_failed = true;
            trial.outcome = TrialOutcome::Failed(cause);
        }
        found.trials.push(trial);
    }
    let means = [("user_s", entry.user), ("system_s", entry.system)].into_iter();
    let means = means.filter_map(|(response, mean)| Some((response, mean?)));
    let means = means.map(|(response, mean)| {
        let mean = checked(response, mean)?;
        let figure = ForeignMeasurement::figure(response, "s", LessIsBetter, mean);
        Ok(ForeignMeasurement { additive: true, ..figure })
    });
    let means = means.collect::<Result<Vec<_>, Refusal>>()?;
    if has_failed && !means.is_empty() {
        found.notes.push(format!(
            "{:?}: means of user and system time left out, as they include runs that failed",
            entry.command
        ));
    } else if !means.is_empty() {
        let name = format!("result {number}, means");
        let trial = ForeignTrial::of_file(name, identity(), means);
        found.trials.push(ForeignTrial { is_summary: true, ..trial });
    }
    Ok(())
}

impl Entry {
    /// Fails when the statistics do not follow from the times.
    fn check(&self, times: &[f64]) -> Result<(), String> {
        if let Some(codes) = &self.exit_codes
            && !(times.is_empty() || codes.is_empty())
            && codes.len() != times.len()
        {
            return Err(format!("{} times, but {} exit codes", times.len(), codes.len()));
        }
        let Some(mean) = stats::mean(times) else { return Ok(()) };
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = times.iter().copied().fold(0.0, f64::max);
        let printed = [
            ("mean", self.mean, (mean, mean)),
            ("median", self.median, (least, most)),
            ("min", self.min, (least, least)),
            ("max", self.max, (most, most)),
        ];
        for (what, printed, (low, high)) in printed {
            let slack = ROUNDING * high.abs();
            let fits = |printed: f64| printed >= low - slack && printed <= high + slack;
            if let Some(printed) = printed.filter(|printed| !fits(*printed)) {
                return Err(format!(
                    "\"{what}\" is {printed}, but its times are from {least} to {most} with the \
                     mean {mean}: the file contradicts itself"
                ));
            }
        }
        Ok(())
    }

    /// Why a run failed. A code that is null is of a signal or of a limit of time.
    fn failure(&self, run: usize) -> Option<String> {
        match self.exit_codes.as_ref()?.get(run)? {
            Some(0) => None,
            Some(code) if (OF_SIGNAL + 1..OF_SIGNAL + 65).contains(code) => {
                Some(format!("exit code {code}, of signal {} in a shell", code - OF_SIGNAL))
            }
            Some(code) => Some(format!("exit code {code}")),
            None => Some("no exit code: ended by a signal or at a limit of time".to_owned()),
        }
    }
}
