//! What freezes show, in sentences.

use analysis::freeze::{FreezeRanking, FreezeSuiteRuns, PolicyScore};
use render::{Tone, Verdict, format};

use super::table::{per_run, seconds};

/// Most scenarios that the sentence about the reference names.
const MOST_NAMED: usize = 4;
/// Fewest seeds whose range holds the median at 95 %.
const SEEDS_OF_AN_INTERVAL: usize = 6;

/// How long the machine freezes with the first policy.
pub(super) fn of_reference(runs: &FreezeSuiteRuns, kernel: &str) -> Option<Verdict> {
    let reference = runs.policies.first()?;
    let mut times = Vec::new();
    for scenario in &runs.scenarios {
        let Some(cell) = runs.cell(kernel, &scenario.name, &reference.name) else { continue };
        let Some(frozen) = cell.frozen_s() else { continue };
        times.push(format!("{} under {}", seconds(&frozen), scenario.name));
    }
    let more = times.len().saturating_sub(MOST_NAMED);
    times.truncate(MOST_NAMED);
    if more > 0 {
        times.push(format!("{more} more"));
    }
    let with = match runs.kernels.len() {
        1 => format!("the policy {}", reference.name),
        _ => format!("{} and the policy {}", kernel, reference.name),
    };
    (!times.is_empty()).then(|| Verdict {
        text: format!("With {with} the machine is frozen for {}.", format::and(times)),
        tone: Tone::Plain,
    })
}

/// Which policy is best, or that none is.
pub(super) fn conclusion(runs: &FreezeSuiteRuns, ranking: &FreezeRanking) -> Option<Verdict> {
    let complete: Vec<&PolicyScore> =
        ranking.policies.iter().filter(|score| score.is_complete).collect();
    if complete.len() < 2 {
        return None;
    }
    let name = |score: &PolicyScore| runs.policies[score.policy].name.clone();
    let figures = |score: &PolicyScore| {
        let wrong = per_run(score.wrong_victims);
        format!("{}, {wrong} wrong", seconds(&score.frozen_s))
    };
    let dominating: Vec<String> =
        ranking.dominating.iter().map(|index| runs.policies[*index].name.clone()).collect();
    if !dominating.is_empty() {
        let best = complete.first()?;
        let verb = if dominating.len() == 1 { "dominates" } else { "are equal and dominate" };
        let text = format!(
            "{} {verb}: no other policy freezes shorter or kills fewer wrong processes in any \
             scenario ({}).",
            format::and(dominating),
            figures(best)
        );
        return Some(Verdict { text, tone: Tone::Better });
    }
    let shortest = complete.first()?;
    let is_better = |a: &&&PolicyScore, b: &&&PolicyScore| {
        (a.deaths, a.wrong_victims)
            .partial_cmp(&(b.deaths, b.wrong_victims))
            .unwrap_or(std::cmp::Ordering::Equal)
    };
    // The first of equal ones freezes shortest.
    let fewest = complete.iter().min_by(is_better)?;
    let text = match fewest.policy == shortest.policy {
        true => format!(
            "No policy dominates; {} is best in the sums ({}).",
            name(shortest),
            figures(shortest)
        ),
        false => format!(
            "No policy dominates: {} freezes shortest ({}), {} kills the fewest wrong processes \
             ({}).",
            name(shortest),
            figures(shortest),
            name(fewest),
            figures(fewest)
        ),
    };
    Some(Verdict { text, tone: Tone::Unknown })
}

/// What the marks mean, and what the figures rest on.
pub(super) fn legend(runs: &FreezeSuiteRuns) -> Vec<String> {
    let mut marks = vec!["✗ wrong victims per run"];
    let has = |is: fn(&analysis::freeze::FreezeRun) -> bool| {
        runs.cells.iter().flat_map(|cell| &cell.runs).any(is)
    };
    if has(|run| run.frozen_s.is_some_and(|frozen| frozen.is_lower_bound)) {
        marks.push("≥ still frozen when the run ended");
    }
    if runs.policies.len() > 1 {
        marks.push("* best in one sum");
    }
    if runs.scenarios.len() > 1 && is_shared(runs) {
        marks.push("= no setting here");
    }
    let mut notes = vec![format!("{}.", marks.join("; ")), seeds(runs)];
    let empty = runs.cells.iter().filter(|cell| cell.runs.is_empty());
    for problem in empty.filter_map(|cell| cell.problem.as_ref()) {
        let note = format!("Does not run: {problem}");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Whether some policy has no setting for some scenario.
fn is_shared(runs: &FreezeSuiteRuns) -> bool {
    let cells = |kernel: &String| runs.cells.iter().filter(|it| it.kernel == *kernel).count();
    runs.kernels.iter().any(|it| cells(it) < runs.scenarios.len() * runs.policies.len())
}

fn seeds(runs: &FreezeSuiteRuns) -> String {
    let most = runs.cells.iter().map(|cell| cell.runs.len()).max().unwrap_or(0);
    match most {
        0 | 1 => "One seed of each: --seeds 6 shows how much of a difference is chance.".to_owned(),
        few if few < SEEDS_OF_AN_INTERVAL => format!(
            "Medians of {few} seeds; a range holds the true median with {}.",
            format::percent(coverage(few))
        ),
        many => format!(
            "Medians of {many} seeds; a range over seeds is an interval of the median at {} or more.",
            format::percent(coverage(many))
        ),
    }
}

/// The chance that the range of a sample holds the median of its distribution, whichever that is.
fn coverage(count: usize) -> f64 {
    1.0 - (1.0 - count as f64).exp2()
}

/// How the figures are defined, for the page.
pub(super) fn reading() -> Vec<String> {
    vec![
        "Frozen: while a response is under way that takes more than three times the idle median, \
         from its intended start, or the end of the response before it. The idle median is that of \
         the responses before the load began, in the same run. Times are in instructions."
            .to_owned(),
        "Wrong victims: processes that were killed and had not filled memory: the bystander, which \
         holds a quarter of memory, the probe, and others."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::coverage;

    #[test]
    fn a_range_of_six_is_an_interval_at_95_percent() {
        assert!((coverage(3) - 0.75).abs() < 1e-12);
        assert!(coverage(5) < 0.95 && coverage(super::SEEDS_OF_AN_INTERVAL) > 0.95);
    }
}
