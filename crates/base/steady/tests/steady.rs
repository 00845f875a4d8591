//! What `steady_from` promises, on thousands of series whose cold start is known.
//!
//! All draws are seeded, so a test passes always or never. The table in the module's documentation
//! is what the first test prints (`--nocapture`).

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use steady::steady_from;

/// Noise, as the standard deviation of the logarithm.
const NOISES: [f64; 5] = [0.005, 0.02, 0.05, 0.1, 0.2];

/// Series of each cold start.
const SERIES: u32 = 60;

/// More windows than any series here needs.
const MOST_WINDOWS: usize = 1_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    /// None: steady from the first window.
    Warm,
    /// This excess over the limit, divided by e every this many windows.
    Decay(f64, f64),
    /// This excess in this many windows.
    Step(f64, usize),
    /// The decay, and then two regimes, a fifth above and below the limit, of three windows each
    /// on average.
    Regimes(f64, f64),
}

impl Start {
    fn excess(self, window: usize) -> f64 {
        match self {
            Self::Warm => 0.0,
            Self::Decay(excess, windows) | Self::Regimes(excess, windows) => {
                excess * (-(window as f64) / windows).exp()
            }
            Self::Step(excess, windows) => {
                if window < windows {
                    excess
                } else {
                    0.0
                }
            }
        }
    }

    /// The warm-up that is long enough: windows with more than 10 % of excess.
    fn warm_up(self) -> usize {
        (0..).find(|window| self.excess(*window) <= 0.1).expect("it ends")
    }
}

/// The cold starts of the benchmark.
fn starts() -> Vec<Start> {
    let dear = [1.0, 5.0, 30.0].map(|excess| Start::Step(excess, 1));
    let steps =
        [2, 4, 8].into_iter().flat_map(|windows| [1.0, 5.0].map(|e| Start::Step(e, windows)));
    let excesses = [0.5, 1.0, 3.0, 10.0, 30.0].into_iter();
    let decays =
        excesses.flat_map(|e| [1.0, 2.0, 4.0, 8.0].map(|windows| Start::Decay(e, windows)));
    let others = [Start::Warm, Start::Regimes(3.0, 2.0)].into_iter();
    others.chain(dear).chain(steps).chain(decays).collect()
}

/// A series that never ends.
struct Series {
    random: Pcg64,
    start: Start,
    noise: f64,
    above: bool,
    costs: Vec<f64>,
}

impl Series {
    fn new(start: Start, noise: f64, seed: u64) -> Self {
        let random = Pcg64::seed_from_u64(seed);
        Self { random, start, noise, above: false, costs: vec![] }
    }

    fn uniform(&mut self) -> f64 {
        self.random.random()
    }

    fn advance(&mut self) {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.uniform()).cos();
        self.above ^= self.uniform() < 1.0 / 3.0;
        let regime = match self.start {
            Start::Regimes(..) if self.above => 1.2,
            Start::Regimes(..) => 1.0 / 1.2,
            _ => 1.0,
        };
        let stall = if self.uniform() < 0.03 { 10.0 } else { 1.0 };
        let level = 1.0 + self.start.excess(self.costs.len());
        self.costs.push(level * regime * stall * (self.noise * normal).exp());
    }

    fn steady_from(&self) -> Option<usize> {
        steady_from(&self.costs)
    }

    /// Goes on until it is steady.
    fn run(&mut self) {
        while self.steady_from().is_none() {
            assert!(self.costs.len() < MOST_WINDOWS, "{:?} {}", self.start, self.noise);
            self.advance();
        }
    }
}

struct Measured {
    /// Part of the decays that were called steady in a window with more than 10 % of excess.
    early: f64,
    /// Windows until steady over windows of warm-up and least tail, both summed over all series.
    time: f64,
    /// Part of the steady series that were steady in each of ten windows more.
    kept: f64,
}

fn measured(noise: f64, series: u32) -> Measured {
    let least_tail = 5;
    let (mut early, mut decays, mut kept, mut steady) = (0, 0, 0, 0);
    let (mut windows, mut fixed) = (0, 0);
    for start in starts() {
        for seed in 0..series {
            let mut series = Series::new(start, noise, u64::from(seed));
            series.run();
            let last = series.costs.len() - 1;
            windows += last + 1;
            fixed += start.warm_up() + least_tail;
            if matches!(start, Start::Decay(..)) {
                decays += 1;
                early += i32::from(start.excess(last) > 0.1);
            }
            // What a step still brings cannot be foreseen, and has to undo it.
            if start.excess(last) == 0.0 || matches!(start, Start::Decay(..)) {
                steady += 1;
                kept += i32::from((0..10).all(|_| {
                    series.advance();
                    series.steady_from().is_some()
                }));
            }
        }
    }
    let share = |part: i32, whole: i32| f64::from(part) / f64::from(whole);
    Measured {
        early: share(early, decays),
        time: windows as f64 / fixed as f64,
        kept: share(kept, steady),
    }
}

/// Standard error of the share: .006 at .05.
#[test]
fn detection_is_nearly_as_quick_as_knowing_and_rarely_early() {
    let found = NOISES.map(|noise| measured(noise, SERIES));
    for (noise, found) in NOISES.iter().zip(&found) {
        let Measured { early, time, kept } = found;
        println!("| {noise} | {early:.3} | {time:.2} | {kept:.3} |");
        assert!(*early < 0.05, "{noise}: {early} early");
        assert!(*kept > 0.7, "{noise}: {kept} kept");
    }
    let mean = found.iter().map(|found| found.time).sum::<f64>() / found.len() as f64;
    assert!(mean < 1.2, "{mean} of the time of a fixed warm-up");
}

#[test]
fn what_was_judged_online_is_judged_alike_offline() {
    for start in starts().into_iter().filter(|start| !matches!(start, Start::Regimes(..))) {
        let mut series = Series::new(start, 0.05, 7);
        series.run();
        (0..60).for_each(|_| series.advance());
        let from = series.steady_from().expect("steady after sixty windows more");
        assert!(start.excess(from) < 0.2, "{start:?}: from {from}");
    }
}
