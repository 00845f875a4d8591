//! Simulated runs: samples that follow each other in time, and runs that differ.

use stats::{Arms, Pairing, Settings, compare, hodges_lehmann_ratio, median, run_ratio};

use crate::shapes::Source;

/// The true ratio of all.
const TRUTH: f64 = 1.5;
const CONFIDENCE: f64 = 0.95;

/// How runs are. Spreads are standard deviations of logarithms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runs {
    /// Samples of each.
    pub(crate) samples: usize,
    /// Autocorrelation of neighbouring samples.
    pub(crate) correlation: f64,
    /// How far runs are from each other.
    pub(crate) by_run: f64,
}

impl Runs {
    /// The samples of a run at this level.
    fn run(&self, level: f64, source: &mut Source) -> Vec<f64> {
        let fresh = (1.0 - self.correlation * self.correlation).sqrt();
        let mut state = source.normal();
        let mut sample = || {
            state = self.correlation * state + fresh * source.normal();
            level * (0.3 * state).exp()
        };
        (0..self.samples).map(|_| sample()).collect()
    }
}

fn share(experiments: u32, mut happens: impl FnMut() -> bool) -> f64 {
    f64::from((0..experiments).map(|_| u32::from(happens())).sum::<u32>()) / f64::from(experiments)
}

/// How often the interval of one run to one baseline contains the ratio of *their* levels: as users
/// get it, and if samples are taken as independent.
pub(crate) fn coverage_of_one_run(runs: &Runs, experiments: u32) -> (f64, f64) {
    let mut source = Source::new(1990);
    let singles = |run: &[f64]| -> Vec<Vec<f64>> { run.iter().map(|one| vec![*one]).collect() };
    let mut independent = 0;
    let covered = share(experiments, || {
        let (first, second) = (runs.run(1.0, &mut source), runs.run(TRUTH, &mut source));
        let inside = |low: f64, high: f64| low <= TRUTH && TRUTH <= high;
        let plain = hodges_lehmann_ratio(&first, &second, CONFIDENCE).expect("positive");
        independent += u32::from(inside(plain.low, plain.high));
        let found = run_ratio(&singles(&first), &singles(&second), CONFIDENCE).expect("positive");
        inside(found.low, found.high)
    });
    (covered, f64::from(independent) / f64::from(experiments))
}

/// How often an interval contains the true ratio of all runs that there might be: over the medians
/// of so many seeds, and over all their samples together.
pub(crate) fn coverage_of_seeds(runs: &Runs, seeds: usize, experiments: u32) -> (f64, f64) {
    let mut source = Source::new(2003);
    let mut pooled = 0;
    let covered = share(experiments, || {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let mut all = [Vec::new(), Vec::new()];
        for _ in 0..seeds {
            // A seed has something in common, and each of its runs something of its own.
            let common = (runs.by_run * source.normal()).exp();
            let arms = [&mut first, &mut second].into_iter().zip(&mut all).zip([1.0, TRUTH]);
            for ((medians, samples), ratio) in arms {
                let level = ratio * common * (runs.by_run * source.normal()).exp();
                let run = runs.run(level, &mut source);
                medians.extend(median(&run));
                samples.extend(run);
            }
        }
        let inside = |low: f64, high: f64| low <= TRUTH && TRUTH <= high;
        let naive = hodges_lehmann_ratio(&all[0], &all[1], CONFIDENCE).expect("positive");
        pooled += u32::from(inside(naive.low, naive.high));
        let arms = Arms::exact(&first, &second, Pairing::Paired);
        let found = compare(&[arms], &[], &Settings::default()).cells.remove(0).expect("positive");
        inside(found.low, found.high)
    });
    (covered, f64::from(pooled) / f64::from(experiments))
}
