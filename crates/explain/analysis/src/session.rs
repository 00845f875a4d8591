//! Runs of a session: the cost of each command, and the performance measure.

use std::collections::{BTreeMap, BTreeSet};

use model::{EndStatus, Header, Measure, PassRecord, Run, Script, Tools, WorkEnd, WorkRecord};
use serde::Serialize;
use stats::median;

use crate::memory_job::elapsed_ns;
use crate::remarks::{by_load, passes, status};
use crate::{Remarks, Setup, Skipped};

/// The result of one invocation with a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session {
    /// Description of the work and the subject.
    pub setup: SessionSetup,
    /// The cost of each command, by load and script order.
    pub commands: Vec<CommandRow>,
    /// The first passes, by run and user.
    pub passes: Vec<PassRow>,
    /// The performance measure, a row per load.
    pub measures: Vec<MeasureRow>,
    /// The conclusion, one sentence.
    pub reading: String,
    /// Remarks on the runs.
    #[serde(flatten)]
    pub remarks: Remarks,
}

/// Description of the work and the subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionSetup {
    /// The subject in words: kind, memory, CPUs, swap, kernel.
    pub place: String,
    /// The script's name.
    pub script: String,
    /// Version of the script's meaning.
    pub version: u32,
    /// Number of concurrent users.
    pub users: u32,
    /// Mean think time in ns.
    pub think_ns: u64,
    /// Which programs ran.
    pub tools: Tools,
    /// The seeds, in ascending order.
    pub seeds: Vec<u64>,
}

/// The cost of one command under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandRow {
    /// The load.
    pub load: String,
    /// The command.
    pub command: String,
    /// The first invocation by each user.
    pub first: Figures,
    /// All later ones.
    pub later: Figures,
    /// Figures of each user, by user number: the first invocation, and all later ones.
    pub by_user: BTreeMap<u32, [Figures; 2]>,
}

/// The resource usage of invocations of one command.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Number of invocations.
    pub count: usize,
    /// Number that failed.
    pub failed: usize,
    /// Number abandoned; their elapsed times are lower bounds.
    pub censored: usize,
    /// Median time from start to end, in ns.
    pub wall_median_ns: Option<f64>,
    /// Mean usage, by the names of the run file.
    pub means: BTreeMap<String, f64>,
}

/// The first pass of one user in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassRow {
    /// The load.
    pub load: String,
    /// The run.
    pub run_id: String,
    /// The user, from 0.
    pub user: u32,
    /// CPU time of the user and all descendants, in ns.
    pub cpu_ns: u64,
    /// Time from the first think time to the end of the last command, in ns.
    pub wall_ns: u64,
    /// Its usage, by the names of the run file.
    pub usage: model::Values,
}

/// The performance measure under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasureRow {
    /// The load.
    pub load: String,
    /// Mean CPU time in ns of the users' first passes, for each run that all users finished.
    pub runs_ns: BTreeMap<String, f64>,
    /// Their mean in ns.
    pub mean_ns: Option<f64>,
    /// The first run ending that was not complete, else complete.
    pub status: EndStatus,
}

fn script(header: &Header) -> Option<&Script> {
    match &header.spec.measure {
        Measure::Session(session) => Some(&session.script),
        _ => None,
    }
}

impl Session {
    /// The tables of the runs of one invocation; runs without a script are omitted.
    pub fn from_runs<'a>(runs: impl IntoIterator<Item = &'a Run>, skipped: Skipped) -> Self {
        let all: Vec<&Run> = runs.into_iter().collect();
        let has_script = |run: &&Run| run.header.as_ref().is_some_and(|it| script(it).is_some());
        let runs: Vec<&Run> = all.iter().copied().filter(has_script).collect();
        let loads = by_load(&runs);
        let commands: Vec<CommandRow> =
            loads.iter().flat_map(|(load, group)| command_rows(load, group)).collect();
        let of_load = |(load, group): &(&str, Vec<&Run>)| -> Vec<PassRow> {
            group.iter().flat_map(|run| pass_rows(load, run)).collect()
        };
        let passes: Vec<PassRow> = loads.iter().flat_map(of_load).collect();
        let measures: Vec<MeasureRow> =
            loads.iter().map(|(load, group)| measure_row(load, group, &passes)).collect();
        let setup = Setup::of_first(&all, |header| script(header).is_some());
        let setup = setup.and_then(|(header, setup)| Some((script(header)?, setup)));
        Self {
            setup: setup.map_or_else(SessionSetup::default, |(script, setup)| SessionSetup {
                place: setup.place(),
                script: script.name.clone(),
                version: script.version,
                users: script.users,
                think_ns: script.think_ns,
                tools: script.tools,
                seeds: setup.seeds,
            }),
            reading: reading(&commands, &measures),
            commands,
            passes,
            measures,
            remarks: Remarks::new(&all, skipped),
        }
    }
}

fn command_rows(load: &str, runs: &[&Run]) -> Vec<CommandRow> {
    let works: Vec<&WorkRecord> = runs.iter().flat_map(|run| run.works()).collect();
    let script = runs.iter().find_map(|run| script(run.header.as_ref()?));
    let commands = script.map_or(&[][..], |script| &script.commands);
    let workers: BTreeSet<u32> = works.iter().map(|work| work.worker).collect();
    let row = |name: &str| {
        let figures = |user: Option<u32>, is_first: bool| {
            let of_command = works.iter().filter(|work| work.item == name);
            let of_pass = of_command.filter(|work| (work.pass == 0) == is_first);
            let chosen = of_pass.filter(|work| user.is_none_or(|user| work.worker == user));
            Figures::from_works(&chosen.copied().collect::<Vec<_>>())
        };
        let both = |user| [figures(user, true), figures(user, false)];
        let [first, later] = both(None);
        let users = workers.iter().map(|worker| (*worker, both(Some(*worker))));
        let (load, command) = (load.to_owned(), name.to_owned());
        CommandRow { load, command, first, later, by_user: users.collect() }
    };
    commands.iter().map(|command| row(&command.name)).collect()
}

impl Figures {
    fn from_works(works: &[&WorkRecord]) -> Self {
        let walls_ns: Vec<f64> =
            works.iter().filter_map(|work| work.elapsed_ns()).map(|it| it.value).collect();
        let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for (name, value) in works.iter().flat_map(|work| &work.usage) {
            let sum = sums.entry(name).or_default();
            *sum = (sum.0 + *value as f64, sum.1 + 1.0);
        }
        Self {
            count: works.len(),
            failed: works.iter().filter(|work| work.failure.is_some()).count(),
            censored: works.iter().filter(|work| work.end() == WorkEnd::AtLimit).count(),
            wall_median_ns: median(&walls_ns),
            means: sums.into_iter().map(|(name, (sum, n))| (name.to_owned(), sum / n)).collect(),
        }
    }

    /// The sum of the means of these names, if any is known.
    pub fn mean(&self, names: &[&str]) -> Option<f64> {
        names.iter().filter_map(|name| self.means.get(*name).copied()).reduce(|a, b| a + b)
    }
}

/// Names of the CPU time in a usage.
pub const CPU: [&str; 2] = ["user_ns", "system_ns"];

fn pass_rows(load: &str, run: &Run) -> Vec<PassRow> {
    let run_id = run.header.as_ref().map_or("", |header| &header.run_id);
    let row = |pass: &PassRecord| PassRow {
        load: load.to_owned(),
        run_id: run_id.to_owned(),
        user: pass.worker,
        cpu_ns: CPU.iter().filter_map(|name| pass.usage.get(*name)).sum(),
        wall_ns: elapsed_ns(pass),
        usage: pass.usage.clone(),
    };
    let mut rows: Vec<PassRow> = passes(run).filter(|it| it.pass == 0).map(row).collect();
    rows.sort_by_key(|row| row.user);
    rows
}

fn measure_row(load: &str, runs: &[&Run], passes: &[PassRow]) -> MeasureRow {
    let of_run = |run: &&Run| {
        let header = run.header.as_ref()?;
        let own = passes.iter().filter(|it| it.load == load && it.run_id == header.run_id);
        let own: Vec<f64> = own.map(|pass| pass.cpu_ns as f64).collect();
        let is_whole = own.len() as u64 == u64::from(script(header)?.users);
        is_whole.then(|| (header.run_id.clone(), own.iter().sum::<f64>() / own.len() as f64))
    };
    let runs_ns: BTreeMap<String, f64> = runs.iter().filter_map(of_run).collect();
    let count = runs_ns.len();
    let mean_ns = (count > 0).then(|| runs_ns.values().sum::<f64>() / count as f64);
    MeasureRow { load: load.to_owned(), runs_ns, mean_ns, status: status(runs) }
}

/// One sentence: the measure, the ratio to the first load, and the largest cost.
fn reading(commands: &[CommandRow], measures: &[MeasureRow]) -> String {
    let Some((first, mean_ns)) = measures.iter().find_map(|row| Some((row, row.mean_ns?))) else {
        return "No run in which all users finished their first pass: there is no measure."
            .to_owned();
    };
    let load = &first.load;
    let mut text =
        format!("A user's first pass costs {:.3} s of CPU time under {load}", mean_ns / 1e9);
    for MeasureRow { load, mean_ns: other, .. } in measures.iter().filter(|it| it.load != *load) {
        text += &match other {
            Some(other_ns) if mean_ns > 0.0 => {
                format!(", {:.2} times that under {load}", other_ns / mean_ns)
            }
            _ => format!(", and was not finished under {load}"),
        };
    }
    let own = || commands.iter().filter(|row| row.load == first.load);
    let total_ns: f64 = own().filter_map(|row| row.first.mean(&CPU)).sum();
    let costs = own().filter_map(|row| Some((row.first.mean(&CPU)?, &row.command)));
    let costliest = costs.max_by(|one, other| one.0.total_cmp(&other.0));
    if let Some((cost_ns, command)) = costliest.filter(|_| total_ns > 0.0) {
        let share = 100.0 * cost_ns / total_ns;
        text.push_str(&format!("; {command} has the largest part of it, {share:.0} %"));
    }
    text + "."
}
