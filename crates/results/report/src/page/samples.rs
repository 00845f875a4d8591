//! The responses under each load in time order.

use model::{Line, Observation, Run};
use stats::bounded_quantile;

use analysis::responsiveness::STALL_FACTOR;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadSamples {
    pub(crate) load: String,
    /// From the intended start, run by run; of a periodic probe the longest of each interval.
    pub(crate) delays_ns: Vec<Observation>,
}

impl LoadSamples {
    pub(crate) fn from_runs(runs: &[&Run], load: &str) -> Self {
        let is_under =
            |run: &&&Run| run.header.as_ref().is_some_and(|it| it.spec.load.name == load);
        let lines = runs.iter().filter(is_under).flat_map(|run| &run.lines);
        Self { load: load.to_owned(), delays_ns: lines.filter_map(delay).collect() }
    }
}

fn delay(line: &Line) -> Option<Observation> {
    match line {
        Line::Sample(sample) => Some(sample.delay()),
        Line::Histogram(record) => bounded_quantile(&record.delays_ns().ok()?, 1.0),
        _ => None,
    }
}

/// How a response ended; `reference_ns` is the median delay without load.
pub(crate) fn outcome(delay_ns: &Observation, reference_ns: Option<f64>) -> &'static str {
    let is_stalled = |reference_ns| delay_ns.value > STALL_FACTOR * reference_ns;
    match delay_ns.is_lower_bound {
        true => "never finished",
        false if reference_ns.is_some_and(is_stalled) => "stalled",
        false => "answered",
    }
}

/// Indices of at most `most` samples: the slowest fifth of that number, and evenly spaced others.
pub(crate) fn thinned(delays_ns: &[Observation], most: usize) -> Vec<usize> {
    let count = delays_ns.len();
    let mut kept: Vec<usize> = (0..count).collect();
    if count > most {
        kept.sort_by(|a, b| delays_ns[*b].value.total_cmp(&delays_ns[*a].value));
        kept.truncate(most.div_ceil(5));
        let rest = most - kept.len();
        kept.extend((0..rest).map(|step| step * count / rest));
        kept.sort_unstable();
        kept.dedup();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_order_and_the_worst() {
        let delay_ns = |index: usize| if index % 100 == 7 { 1e9 + index as f64 } else { 1e6 };
        let all: Vec<Observation> = (0..1000).map(delay_ns).map(Observation::exact).collect();
        let kept = thinned(&all, 100);
        assert!(kept.len() <= 100 && kept.len() > 80, "{}", kept.len());
        assert!(kept.is_sorted_by(|first, second| first < second));
        assert_eq!(kept.iter().filter(|index| all[**index].value > 1e9).count(), 10);
        assert_eq!(thinned(&all, 1000), (0..1000).collect::<Vec<_>>());
    }
}
