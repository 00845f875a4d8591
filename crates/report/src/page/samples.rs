//! The responses under each load in the order in which they were made.

use model::{Line, Observation, Run};
use stats::bounded_quantile;

use analysis::responsiveness::STALL_FACTOR;

/// The responses under one load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadSamples {
    pub(crate) load: String,
    /// The responses, in the order in which they were made, run by run.
    pub(crate) points: Vec<SamplePoint>,
}

/// One response, or the slowest of an interval of a periodic probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SamplePoint {
    pub(crate) number: usize,
    /// Its delay in ns from the intended start.
    pub(crate) delay_ns: f64,
    /// Whether it was given up, so that the delay is a lower bound.
    pub(crate) censored: bool,
}

impl SamplePoint {
    /// What became of it, in words; `reference_ns` is the median delay without load.
    pub(crate) fn outcome(&self, reference_ns: Option<f64>) -> &'static str {
        let limit_ns = reference_ns.map(|median_ns| STALL_FACTOR * median_ns);
        match self.censored {
            true => "never finished",
            false if limit_ns.is_some_and(|limit_ns| self.delay_ns > limit_ns) => "stalled",
            false => "answered",
        }
    }
}

impl LoadSamples {
    /// The responses of runs, by load, in the order of `loads`.
    pub(crate) fn of(runs: &[&Run], loads: &[&str]) -> Vec<Self> {
        let of_load = |load: &str| {
            let runs = runs.iter().filter(|run| {
                run.header.as_ref().is_some_and(|header| header.spec.load.name == load)
            });
            let points = (1..).zip(runs.flat_map(|run| delays(run)));
            let points = points.map(|(number, delay): (usize, Observation)| SamplePoint {
                number,
                delay_ns: delay.value,
                censored: delay.is_lower_bound,
            });
            Self { load: load.to_owned(), points: points.collect() }
        };
        loads.iter().map(|load| of_load(load)).collect()
    }

    /// At most about `most` points that stand for all of them: the slowest fifth of that number,
    /// and evenly spaced others.
    pub(crate) fn thinned(&self, most: usize) -> Vec<SamplePoint> {
        if self.points.len() <= most {
            return self.points.clone();
        }
        let mut slowest: Vec<usize> = (0..self.points.len()).collect();
        let delay = |index: &usize| self.points[*index].delay_ns;
        slowest.sort_by(|a, b| delay(b).total_cmp(&delay(a)).then(a.cmp(b)));
        slowest.truncate(most.div_ceil(5));
        let rest = most - slowest.len();
        let evenly = (0..rest).map(|step| step * self.points.len() / rest);
        let mut kept: Vec<usize> = slowest.into_iter().chain(evenly).collect();
        kept.sort_unstable();
        kept.dedup();
        kept.into_iter().map(|index| self.points[index]).collect()
    }
}

fn delays(run: &Run) -> Vec<Observation> {
    let of_line = |line: &Line| match line {
        Line::Sample(sample) => Some(sample.delay()),
        // The worst of the interval.
        Line::Histogram(record) => bounded_quantile(&record.delays_ns().ok()?, 1.0),
        _ => None,
    };
    run.lines.iter().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_order_and_the_worst() {
        let point = |number: usize| SamplePoint {
            number,
            delay_ns: if number % 100 == 7 { 1e9 + number as f64 } else { 1e6 },
            censored: false,
        };
        let all = LoadSamples { load: String::new(), points: (1..=1000).map(point).collect() };
        let kept = all.thinned(100);
        assert!(kept.len() <= 100 && kept.len() > 80, "{}", kept.len());
        assert!(kept.windows(2).all(|pair| pair[0].number < pair[1].number));
        assert_eq!(kept.iter().filter(|point| point.delay_ns > 1e9).count(), 10);
        assert_eq!(all.thinned(1000), all.points);
    }
}
