//! The tables of policies.

use analysis::freeze::{
    FreezeCell, FreezeRanking, FreezeRun, FreezeScenario, FreezeSuiteRuns, PolicyScore,
};
use model::Observation;
use render::{Cell, Table, Tone, format};

const NS_PER_S: f64 = 1e9;
/// The column of the bystander's work.
const WORK_LOST: &str = "work lost";

/// Seconds as in a sentence: `≥ 12.3s`, `0s`.
pub(super) fn seconds(time: &Observation) -> String {
    match time.value {
        0.0 => format!("{}0s", time.mark()),
        value => {
            format::observed(&Observation { value: value * NS_PER_S, ..*time }).replace("≥ ", "≥")
        }
    }
}

/// A number of victims per run: a whole number without decimals.
pub(super) fn per_run(victims: f64) -> String {
    match victims.fract() {
        0.0 => format!("{victims:.0}"),
        _ => format!("{victims:.1}"),
    }
}

/// All scenarios: frozen seconds with a mark for each wrong victim, and the sums of both.
pub(super) fn matrix_table(runs: &FreezeSuiteRuns, kernel: &str, ranking: &FreezeRanking) -> Table {
    let names = runs.scenarios.iter().map(|scenario| scenario.name.as_str());
    let head = [kernel_heading(runs, kernel)].into_iter().chain(names.map(str::to_owned));
    let mut table = Table::new("", head.chain(["all", "wrong"].map(str::to_owned)));
    for score in &ranking.policies {
        let name = &runs.policies[score.policy].name;
        let mut cells = vec![name_cell(runs, score, ranking)];
        for scenario in &runs.scenarios {
            cells.push(match runs.cell(kernel, &scenario.name, name) {
                Some(cell) => frozen_cell(cell, cell.policy == *name),
                None => Cell::absent(),
            });
        }
        cells.extend(sums(score));
        table.row(cells);
    }
    table
}

/// One scenario: what happened under each policy.
pub(super) fn one_scenario_table(
    runs: &FreezeSuiteRuns,
    kernel: &str,
    scenario: &FreezeScenario,
    ranking: &FreezeRanking,
) -> Table {
    let mut table = details_table(runs, kernel, scenario, ranking);
    table.caption = String::new();
    table.head[0] = kernel_heading(runs, kernel);
    if runs.cells.iter().all(|cell| cell.runs.len() < 2) {
        table.remove_columns(&["over seeds"]);
    }
    table.remove_columns(&[WORK_LOST]);
    table
}

/// Everything about one scenario, policy by policy.
pub(super) fn details_table(
    runs: &FreezeSuiteRuns,
    kernel: &str,
    scenario: &FreezeScenario,
    ranking: &FreezeRanking,
) -> Table {
    let head = [
        "policy",
        "frozen",
        "over seeds",
        "longest",
        "lost",
        "killed",
        "after",
        "wrong",
        WORK_LOST,
    ];
    let mut table = Table::new(format!("{}: {}", scenario.name, scenario.about), head);
    for score in &ranking.policies {
        let name = &runs.policies[score.policy].name;
        let Some(cell) = runs.cell(kernel, &scenario.name, name) else { continue };
        let is_pending = cell.runs.is_empty() && cell.problem.is_none();
        if cell.policy != *name || is_pending {
            continue;
        }
        let label = name_cell(runs, score, ranking);
        if cell.runs.is_empty() {
            let mut row = vec![label, frozen_cell(cell, true)];
            row.resize(head.len(), Cell::absent());
            table.row(row);
            continue;
        }
        let range = cell
            .range_s()
            .map(|(least, most)| format!("[{}, {}]", seconds(&least), seconds(&most)));
        table.row([
            label,
            frozen_cell(cell, true),
            Cell::figure(range),
            Cell::figure(cell.longest_s().as_ref().map(seconds)),
            Cell::Figure(lost(&cell.runs)),
            Cell::Text(killed(&cell.runs), Tone::Plain),
            Cell::figure(kill_after(&cell.runs)),
            wrong_cell(cell.wrong_victims(), cell.deaths()),
            Cell::figure(cell.work_lost().map(format::share)),
        ]);
    }
    table
}

fn kernel_heading(runs: &FreezeSuiteRuns, kernel: &str) -> String {
    match runs.kernels.len() {
        1 => "policy".to_owned(),
        _ => kernel.to_owned(),
    }
}

/// The name of a policy, with a star if no other one surpasses it in both sums.
fn name_cell(runs: &FreezeSuiteRuns, score: &PolicyScore, ranking: &FreezeRanking) -> Cell {
    let name = &runs.policies[score.policy].name;
    match ranking.front.contains(&score.policy) && runs.policies.len() > 1 {
        true => Cell::Text(format!("{name} *"), Tone::Better),
        false => Cell::from(name),
    }
}

fn frozen_cell(cell: &FreezeCell, is_own: bool) -> Cell {
    let Some(frozen) = cell.frozen_s() else {
        return match cell.problem {
            Some(_) => Cell::Text("does not run".to_owned(), Tone::Unknown),
            None => Cell::absent(),
        };
    };
    let wrong = cell.wrong_victims().filter(|wrong| *wrong > 0.0);
    let wrong = wrong.map_or(String::new(), |wrong| format!(" ✗{}", per_run(wrong)));
    let died = if cell.deaths() > 0 { " dies" } else { "" };
    let is_bad = frozen.is_lower_bound || !wrong.is_empty() || !died.is_empty();
    let tone = if is_bad { Tone::Bad } else { Tone::Plain };
    let own = if is_own { "" } else { " =" };
    Cell::Text(format!("{}{wrong}{died}{own}", seconds(&frozen)), tone)
}

fn sums(score: &PolicyScore) -> [Cell; 2] {
    let frozen = match score.is_complete {
        true => Cell::Figure(seconds(&score.frozen_s)),
        false => Cell::absent(),
    };
    let wrong = score.is_complete.then_some(score.wrong_victims);
    [frozen, wrong_cell(wrong, score.deaths)]
}

fn wrong_cell(wrong: Option<f64>, deaths: usize) -> Cell {
    match wrong {
        Some(wrong) if deaths > 0 => {
            Cell::Text(format!("{} and the machine", per_run(wrong)), Tone::Bad)
        }
        Some(wrong) if wrong > 0.0 => Cell::Text(per_run(wrong), Tone::Bad),
        Some(_) => Cell::Text("0".to_owned(), Tone::Plain),
        None => Cell::absent(),
    }
}

/// Lost responses of all that were due, over the seeds.
fn lost(runs: &[FreezeRun]) -> String {
    let lost: usize = runs.iter().map(|run| run.lost).sum();
    let due: usize = runs.iter().map(|run| run.responses).sum();
    format!("{lost}/{due}")
}

/// Who was killed in all runs together.
fn killed(runs: &[FreezeRun]) -> String {
    let sum = |of: fn(&FreezeRun) -> u64| runs.iter().map(of).sum::<u64>();
    let all = [
        (sum(|run| run.victims.offenders), "offender"),
        (sum(|run| run.victims.bystanders), "bystander"),
        (sum(|run| run.victims.probe), "probe"),
        (sum(|run| run.victims.others), "other"),
    ];
    let killed = all.iter().filter(|(count, _)| *count > 0);
    let killed: Vec<String> = killed.map(|(count, who)| format!("{count} {who}")).collect();
    match killed.is_empty() {
        true => "nothing".to_owned(),
        false => killed.join(", "),
    }
}

/// The median time to the first kill; absent if no run has one.
fn kill_after(runs: &[FreezeRun]) -> Option<String> {
    let after: Vec<f64> = runs.iter().filter_map(|run| run.first_kill_after_s).collect();
    stats::median(&after).map(|after_s| seconds(&Observation::exact(after_s)))
}
