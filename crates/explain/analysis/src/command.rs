//! Runs of the user's own commands: their times and usage under each load, and ratios.

use std::collections::BTreeMap;

use model::{
    BASELINE, CPU_OF_ALL, CPU_OF_WAITED_FOR, CommandSpec, CounterSet, EndStatus, Line, Observation,
    Run, WorkRecord, cpu_ns_of,
};
use serde::Serialize;
use stats::{bounded_median, hodges_lehmann_ratio};

use crate::command_counts::{CommandCount, command_counts};
use crate::explained::{Account, Explained, ExplainedDifference, difference, explain_work};
use crate::figures::{PrintedFigure, printed, with_figure_ratios};
use crate::remarks::{by_load, headers, status};
use crate::repetitions::{PEAK, Repetition, Repetitions, command, repetition_ns, units};
use crate::responsiveness::{Ratio, Units};
use crate::setup::seeds;
use crate::{Remarks, Setup, Skipped, distinct, increase};

/// Confidence of the parts of a difference.
const CONFIDENCE: f64 = 0.95;
/// Smaller drifts of the times are not reported.
const LEAST_DRIFT: f64 = 0.02;
/// What tasks of the sandbox waited for, and the counter of the time in us that some did.
const WAITS: [(&str, &str); 3] =
    [("CPU", "cpu_some_us"), ("I/O", "io_some_us"), ("memory", "memory_some_us")];

/// The result of one invocation with commands of the user.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandTimes {
    /// The subject in words: kind, memory, CPUs, swap, kernel.
    pub place: String,
    /// The folder of the commands, if it is the user's.
    pub folder: Option<String>,
    /// The seeds, in ascending order.
    pub seeds: Vec<u64>,
    /// Whose the CPU time of all rows is.
    pub cpu_of: CountedOf,
    /// A row per command and load, in order.
    pub rows: Vec<CommandTime>,
    /// What the commands printed: a row per figure, command and load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<PrintedFigure>,
    /// Remarks on the runs.
    #[serde(flatten)]
    pub remarks: Remarks,
}

/// Whose a figure is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountedOf {
    /// The command's first process, and the processes that were waited for.
    #[default]
    WaitedFor,
    /// All processes of the command.
    All,
}

impl CountedOf {
    /// All processes if that was counted for each repetition, so that rows can be compared.
    fn from_works<'a>(works: impl Iterator<Item = &'a WorkRecord>) -> Self {
        let is_of_all = |work: &WorkRecord| Self::All.cpu_ns(work).is_some();
        let mut works = works.peekable();
        match works.peek().is_some() && works.all(is_of_all) {
            true => Self::All,
            false => Self::WaitedFor,
        }
    }

    fn cpu_ns(self, work: &WorkRecord) -> Option<[u64; 2]> {
        let names = match self {
            Self::All => CPU_OF_ALL,
            Self::WaitedFor => CPU_OF_WAITED_FOR,
        };
        cpu_ns_of(&work.usage, names)
    }
}

/// CPU time of repetitions of a command.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CpuUse {
    /// Mean of a repetition in user mode, in ns.
    pub user_ns: f64,
    /// Mean of a repetition in the kernel, in ns.
    pub system_ns: f64,
    /// CPU time of all repetitions over their elapsed time.
    pub share: f64,
}

impl CpuUse {
    /// `None` unless it is known for each repetition.
    fn from_works<'a>(of: CountedOf, works: impl Iterator<Item = &'a WorkRecord>) -> Option<Self> {
        let (mut user_ns, mut system_ns, mut elapsed_ns, mut count) = (0.0, 0.0, 0.0, 0.0);
        for work in works {
            let [user, system] = of.cpu_ns(work)?;
            user_ns += user as f64;
            system_ns += system as f64;
            elapsed_ns += repetition_ns(work)?;
            count += 1.0;
        }
        (count > 0.0).then(|| Self {
            user_ns: user_ns / count,
            system_ns: system_ns / count,
            share: (user_ns + system_ns) / elapsed_ns,
        })
    }
}

/// One command under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandTime {
    /// The command's name.
    pub command: String,
    /// The load.
    pub load: String,
    /// Elapsed times of the counted repetitions, in ns, in time order.
    pub times_ns: Vec<Observation>,
    /// Elapsed times of cold repetitions at the start of a run, in ns, which do not count.
    pub cold_ns: Vec<f64>,
    /// Ratio of the later half of a run's repetitions to the earlier one, if certain and large.
    pub drift: Option<f64>,
    /// The counted and the failed repetitions, in time order.
    #[serde(skip)]
    pub repetitions: Vec<Repetition>,
    /// Number of repetitions that failed.
    pub failed: usize,
    /// How the first one failed.
    pub failure: Option<String>,
    /// Median elapsed time, in ns.
    pub median_ns: Option<Observation>,
    /// Mean usage of a counted repetition, by the names of the run file, of the processes that were
    /// waited for.
    pub means: BTreeMap<String, f64>,
    /// CPU time of the counted repetitions.
    pub cpu: Option<CpuUse>,
    /// What the CPU and the kernel counted, of all processes that had ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<CommandCount>,
    /// Largest resident memory of any one process, in bytes.
    pub peak_bytes: Option<u64>,
    /// Share of the time in which some task of the sandbox waited (an upper bound of what the
    /// command lost), by what it waited for; empty without a sandbox or pressure counters.
    pub waits: BTreeMap<String, f64>,
    /// The parts of the counted repetitions, if delays were counted.
    pub parts: Option<Account>,
    /// How many of its processes were busy or delayed at a time on average, if delays were counted.
    pub parallel: Option<f64>,
    /// What the difference to the same command without load consists of, by means.
    pub extra: Option<ExplainedDifference>,
    /// Ratio to the same command without load.
    pub to_noload: Option<Ratio>,
    /// Ratio to the first command under the same load.
    pub to_first: Option<Ratio>,
    /// The first run ending that was not complete, else complete.
    pub status: EndStatus,
}

impl CommandTimes {
    /// The table of the runs of one invocation; runs of other measures are omitted.
    pub fn from_runs<'a>(runs: impl IntoIterator<Item = &'a Run>, skipped: Skipped) -> Self {
        let all: Vec<&Run> = runs.into_iter().collect();
        let is_own = |run: &&Run| run.header.as_ref().is_some_and(|it| command(it).is_some());
        let runs: Vec<&Run> = all.iter().copied().filter(is_own).collect();
        let mut loads = by_load(&runs);
        loads.sort_by_key(|(load, _)| *load != BASELINE);
        let repetitions = |group: &[&'a Run]| -> Vec<(&'a Run, Vec<(&'a str, Repetitions<'a>)>)> {
            group.iter().map(|run| (*run, Repetitions::from_run(run))).collect()
        };
        let loads: Vec<_> =
            loads.iter().map(|(load, group)| (*load, group, repetitions(group))).collect();
        let all_names = loads.iter().flat_map(|(_, _, runs)| runs).flat_map(|(_, of_run)| of_run);
        let names: Vec<&str> = distinct(all_names.map(|(name, _)| *name));
        let of_runs = loads.iter().flat_map(|(_, _, runs)| runs).flat_map(|(_, of_run)| of_run);
        let cpu_of =
            CountedOf::from_works(of_runs.flat_map(|(_, own)| own.counted.iter().copied()));
        let (mut rows, mut figures) = (Vec::<Row>::new(), Vec::new());
        for name in names {
            for (load, group, of_load) in &loads {
                let own = of_load.iter().filter_map(|(run, of_run)| {
                    Some((*run, &of_run.iter().find(|(other, _)| *other == name)?.1))
                });
                let own: Vec<(&Run, &Repetitions<'_>)> = own.collect();
                figures.extend(printed((name, *load), &own));
                let own = row(name, load, cpu_of, &own);
                rows.push(Row { time: CommandTime { status: status(group), ..own.time }, ..own });
            }
        }
        let first = rows.first().map(|row| row.time.command.clone()).unwrap_or_default();
        let (header, setup) = Setup::of_first(&all, |header| command(header).is_some()).unzip();
        let folder = header.and_then(command).map(CommandSpec::folder);
        let folder = folder.filter(|folder| !folder.is_empty()).map(str::to_owned);
        Self {
            place: setup.map_or_else(String::new, |setup| setup.place()),
            folder,
            seeds: seeds(headers(&runs)),
            cpu_of,
            rows: with_ratios(rows, &first),
            figures: with_figure_ratios(figures, &first),
            remarks: Remarks::new(&all, skipped),
        }
    }
}

/// One command under one load, with what it is compared by.
struct Row {
    time: CommandTime,
    units: Units,
    /// Its counted repetitions by run, if delays were counted.
    explained: Vec<Vec<Explained>>,
}

fn row(command: &str, load: &str, of: CountedOf, runs: &[(&Run, &Repetitions<'_>)]) -> Row {
    let counted = || runs.iter().flat_map(|(_, own)| own.counted.iter().copied());
    let failed: Vec<&WorkRecord> = runs.iter().flat_map(|(_, own)| own.failed.clone()).collect();
    let times_ns: Vec<Observation> = counted().filter_map(WorkRecord::elapsed_ns).collect();
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (name, value) in counted().flat_map(|work| &work.usage).filter(|(it, _)| it != &PEAK) {
        let sum = sums.entry(name).or_default();
        *sum = (sum.0 + *value as f64, sum.1 + 1.0);
    }
    let works: Vec<Vec<_>> = runs
        .iter()
        .map(|(_, own)| own.counted.iter().filter_map(|work| explain_work(work)).collect())
        .collect();
    let parallel: Vec<f64> = works.iter().flatten().map(|work| work.parallel).collect();
    let explained: Vec<Vec<Explained>> =
        works.into_iter().map(|run| run.into_iter().map(|work| work.explained).collect()).collect();
    let all = explained.concat();
    let time = CommandTime {
        command: command.to_owned(),
        load: load.to_owned(),
        median_ns: bounded_median(&times_ns),
        times_ns,
        cold_ns: runs
            .iter()
            .flat_map(|(_, own)| &own.cold)
            .filter_map(|it| repetition_ns(it))
            .collect(),
        repetitions: runs.iter().flat_map(|(_, own)| own.in_time_order()).collect(),
        drift: runs.iter().find_map(|(_, own)| drift(&own.counted)),
        failed: failed.len(),
        failure: failed.iter().find_map(|work| work.failure.clone()),
        means: sums.into_iter().map(|(name, (sum, n))| (name.to_owned(), sum / n)).collect(),
        cpu: CpuUse::from_works(of, counted()),
        counts: command_counts(&counted().collect::<Vec<_>>()),
        peak_bytes: counted().filter_map(|work| work.usage.get(PEAK).copied()).max(),
        waits: waits(runs.iter().map(|(run, _)| *run)),
        parts: (!all.is_empty()).then(|| Account::from_samples(&all)),
        parallel: stats::mean(&parallel),
        extra: None,
        to_noload: None,
        to_first: None,
        status: EndStatus::Complete,
    };
    let units = units(runs, WorkRecord::elapsed_ns);
    Row { time, units, explained }
}

/// How much longer the later half takes, if that is certain and at least [`LEAST_DRIFT`].
fn drift(counted: &[&WorkRecord]) -> Option<f64> {
    let times: Vec<f64> = counted.iter().filter_map(|it| repetition_ns(it)).collect();
    let (earlier, later) = times.split_at(times.len() / 2);
    let found = hodges_lehmann_ratio(earlier, later, 0.99)
        .filter(|found| found.confidence_attained >= 0.95)?;
    let is_apart = found.low > 1.0 || found.high < 1.0;
    (is_apart && (found.ratio - 1.0).abs() >= LEAST_DRIFT).then_some(found.ratio)
}

/// Each row with its ratios to the same command without load and to the `first` one of its load,
/// and the parts of its difference to the former.
fn with_ratios(mut rows: Vec<Row>, first: &str) -> Vec<CommandTime> {
    for index in 0..rows.len() {
        let Row { time, units, explained } = &rows[index];
        let other = |command: &str, load: &str| {
            let is_other = |row: &Row| row.time.command == command && row.time.load == load;
            let other = rows.iter().position(is_other).filter(|other| *other != index)?;
            Some(&rows[other])
        };
        let to = |other: Option<&Row>| units.repeated_ratio_to(&other?.units);
        let noload = other(&time.command, BASELINE);
        let ratios = (to(noload), to(other(first, &time.load)));
        let extra = noload.and_then(|noload| {
            // A repetition is a value, or a run: the repetitions of a seed are alike.
            let by_run = units.has_seeds();
            let arms = [&noload.explained, explained].map(|runs| -> Vec<&[Explained]> {
                let runs = runs.iter().filter(|run| !run.is_empty());
                runs.flat_map(|run| run.chunks(if by_run { run.len() } else { 1 })).collect()
            });
            difference([&arms[0], &arms[1]], false, CONFIDENCE)
        });
        let time = &mut rows[index].time;
        (time.to_noload, time.to_first) = ratios;
        time.extra = extra;
    }
    rows.into_iter().map(|row| row.time).collect()
}

/// The shares of the measured time in which some task of the sandbox waited.
fn waits<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> BTreeMap<String, f64> {
    let span = |run: &'a Run| -> Option<(f64, &'a CounterSet, &'a CounterSet)> {
        let mut sets = run.lines.iter().filter_map(|line| match line {
            Line::Counters(record) => Some((record.at_ns, &record.counters)),
            _ => None,
        });
        let (first_ns, first) = sets.next()?;
        let (last_ns, last) = sets.next_back()?;
        Some((last_ns.saturating_sub(first_ns) as f64, first, last))
    };
    let share = |(what, counter): (&str, &str)| {
        let (mut waited_ns, mut all_ns) = (0.0, 0.0);
        for (elapsed_ns, first, last) in runs.clone().filter_map(span) {
            waited_ns += increase(first, last, "memcg_psi", counter)? as f64 * 1e3;
            all_ns += elapsed_ns;
        }
        (all_ns > 0.0).then(|| (what.to_owned(), waited_ns / all_ns))
    };
    WAITS.into_iter().filter_map(share).collect()
}

#[cfg(test)]
mod tests {

    use super::*;

    /// A run of one command under a load, whose repetitions took so long, in ms.
    fn run(load: &str, block: u32, times_ms: &[u64], warmup: u64) -> Run {
        let header = Box::new(crate::repetitions::tests::header(load, block, warmup));
        let work = |(pass, ms): (u32, &u64)| {
            Line::Work(Box::new(WorkRecord {
                pass,
                item: "gzip".to_owned(),
                completed_ns: Some(ms * 1_000_000),
                usage: [("user_ns".into(), 7), (PEAK.into(), 100 + u64::from(pass))].into(),
                ..WorkRecord::default()
            }))
        };
        let mut lines = vec![Line::Header(header.clone())];
        lines.extend((0..).zip(times_ms).map(work));
        Run { header: Some(*header), lines, ..Run::default() }
    }

    fn rows(runs: &[Run]) -> Vec<CommandTime> {
        CommandTimes::from_runs(runs, BTreeMap::new()).rows
    }

    #[test]
    fn a_cold_start_and_warm_up_repetitions_do_not_count() {
        let times = [900, 100, 101, 99, 100, 102, 100, 98];
        let row = rows(&[run(BASELINE, 0, &times, 0)]).remove(0);
        assert_eq!((row.cold_ns.len(), row.times_ns.len()), (1, 7));
        assert_eq!(row.cold_ns[0], 900e6);
        assert_eq!(row.median_ns.unwrap().value, 100e6);
        assert_eq!((row.peak_bytes, row.means["user_ns"]), (Some(107), 7.0));
        assert!(!row.means.contains_key(PEAK), "a peak has no mean");
        let row = rows(&[run(BASELINE, 0, &times, 2)]).remove(0);
        assert_eq!((row.cold_ns.len(), row.times_ns.len()), (0, 6));
    }

    #[test]
    fn a_load_is_compared_with_both_parts_of_the_baseline() {
        let quiet = [100, 102, 98, 101, 99, 100];
        let loaded = [300, 303, 297, 301, 299, 306];
        let runs = [
            run(BASELINE, 0, &quiet, 0),
            run("cpuload", 0, &loaded, 0),
            run(BASELINE, 1, &quiet, 0),
        ];
        let rows = rows(&runs);
        assert_eq!((rows[0].times_ns.len(), rows[1].times_ns.len()), (12, 6));
        let ratio = rows[1].to_noload.unwrap();
        assert!((2.9..3.1).contains(&ratio.ratio) && ratio.low > 2.5, "{ratio:?}");
        assert_eq!((rows[0].to_noload, rows[1].to_first), (None, None));
    }

    #[test]
    fn the_extra_time_under_a_load_has_parts_that_sum_to_it() {
        let waits = |load: &str, block: u32, times_ms: &[u64]| {
            let mut run = run(load, block, times_ms, 0);
            for line in &mut run.lines {
                let Line::Work(work) = line else { continue };
                // All but 90 ms are waits for a CPU, of which 1 ms is not counted.
                let waited_ns = work.completed_ns.unwrap() - 91_000_000;
                let delays = [("cpu_delay_total_ns".into(), waited_ns)].into();
                work.delays = [("taskstats".into(), delays)].into();
                work.usage.insert("user_ns".into(), 90_000_000);
                work.usage.insert("system_ns".into(), 0);
            }
            run
        };
        let quiet = [100, 102, 98, 101, 99, 100];
        let runs = [
            waits(BASELINE, 0, &quiet),
            waits("cpuload", 0, &[300, 303, 297, 301, 299, 306]),
            waits(BASELINE, 1, &quiet),
        ];
        let rows = rows(&runs);
        assert!(rows[0].extra.is_none() && rows[0].parts.as_ref().unwrap().samples == 12);
        let extra = rows[1].extra.as_ref().unwrap();
        let sum: f64 = extra.parts.values().map(|part| part.difference_ns).sum();
        assert!((sum - extra.delay.difference_ns).abs() < 1.0, "{extra:?}");
        let of_waits = extra.parts[&crate::explained::Part::CpuWait].difference_ns;
        assert!((of_waits / extra.delay.difference_ns - 1.0).abs() < 1e-6, "{extra:?}");
        assert_eq!(extra.values, [12, 6]);
        assert!((rows[1].parallel.unwrap() - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_drift_is_reported_and_noise_is_not() {
        let drifting: Vec<u64> = (0..24).map(|number| 1000 + 20 * number + number % 3).collect();
        let row = rows(&[run(BASELINE, 0, &drifting, 0)]).remove(0);
        assert!(row.drift.is_some_and(|drift| drift > 1.1), "{:?}", row.drift);
        let noisy: Vec<u64> = (0..24).map(|number| 1000 + (number * 37) % 50).collect();
        assert_eq!(rows(&[run(BASELINE, 0, &noisy, 0)])[0].drift, None);
    }

    #[test]
    fn the_share_of_the_cpu_is_a_sum_over_a_sum_however_slow_one_repetition_was() {
        let mut run = run(BASELINE, 0, &[100, 100, 4000, 100, 100], 0);
        let works = run.lines.iter_mut().filter_map(|line| match line {
            Line::Work(work) => Some(work),
            _ => None,
        });
        for work in works {
            // One thread that never waits.
            work.usage.insert("user_ns".into(), work.completed_ns.unwrap());
            work.usage.insert("system_ns".into(), 0);
        }
        let cpu = rows(&[run])[0].cpu.unwrap();
        assert!((cpu.share - 1.0).abs() < 1e-9, "{cpu:?}");
    }

    #[test]
    fn whose_the_cpu_time_is_goes_by_what_all_repetitions_have() {
        let with = |of_all: &[u32]| {
            let mut run = run(BASELINE, 0, &[100, 100, 100], 0);
            for line in &mut run.lines {
                let Line::Work(work) = line else { continue };
                work.usage.insert("system_ns".into(), 1);
                if of_all.contains(&work.pass) {
                    work.usage.extend(CPU_OF_ALL.map(|name| (name.into(), 50)));
                }
            }
            let times = CommandTimes::from_runs([&run], BTreeMap::new());
            (times.cpu_of, times.rows[0].cpu.unwrap().user_ns)
        };
        assert_eq!(with(&[0, 1, 2]), (CountedOf::All, 50.0));
        assert_eq!(with(&[0, 2]), (CountedOf::WaitedFor, 7.0));
    }

    #[test]
    fn failures_and_limits_are_told_apart() {
        let mut failing = run(BASELINE, 0, &[100, 100, 100], 0);
        for (line, completed_ns) in failing.lines[2..].iter_mut().zip([Some(5), None]) {
            let Line::Work(work) = line else { panic!("a repetition") };
            work.completed_ns = completed_ns;
            work.censored_at_ns = completed_ns.is_none().then_some(700);
            let why = if completed_ns.is_some() { "why" } else { "not done within the limit" };
            work.failure = Some(why.to_owned());
        }
        let row = rows(&[failing]).remove(0);
        assert_eq!((row.failed, row.failure.as_deref()), (1, Some("why")));
        let bounds: Vec<bool> = row.times_ns.iter().map(|time| time.is_lower_bound).collect();
        assert_eq!(bounds, [false, true]);
    }
}
