//! Simulations of comparisons that are looked at as they grow: what they promise is kept, and they
//! need fewer runs than a fixed number. The figures are in docs/ab.md.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use stats::{Arms, Look, Pairing, Settings, Verdict, compare, log_ratio, looks};

const ALPHA: f64 = 0.05;
const MOST_BLOCKS: u32 = 40;
/// As `thrashlab ab` has it by default.
const MARGIN: f64 = 0.03;
const RUNS: usize = 1000;

#[derive(Clone, Copy, Debug)]
enum Noise {
    Normal,
    /// Of which some runs take much longer.
    LogNormal,
    /// Student's t with three degrees of freedom on logarithms.
    Heavy,
    /// Normal, in blocks that differ much more, and get slower.
    Drift,
}

const NOISES: [Noise; 4] = [Noise::Normal, Noise::LogNormal, Noise::Heavy, Noise::Drift];

struct Machine {
    random: Pcg64Mcg,
    noise: Noise,
    spread: f64,
    block: f64,
}

impl Machine {
    fn new(noise: Noise, spread: f64, seed: u64) -> Self {
        Self { random: Pcg64Mcg::seed_from_u64(seed), noise, spread, block: 0.0 }
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.random.random::<f64>()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.random.random::<f64>()).cos()
    }

    fn run(&mut self) -> f64 {
        let z = self.normal();
        match self.noise {
            Noise::Normal | Noise::Drift => (self.spread * z).exp(),
            Noise::LogNormal => 1.0 + (z - 3.0).exp(),
            Noise::Heavy => {
                let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
                (self.spread * z / (squares / 3.0).sqrt()).exp()
            }
        }
    }

    /// A run of A, and one of B, which takes `ratio` times as long.
    fn block(&mut self, ratio: f64) -> (f64, f64) {
        let drift = match self.noise {
            Noise::Drift => (0.02 * self.block + 0.05 * self.normal()).exp(),
            _ => 1.0,
        };
        self.block += 1.0;
        (drift * self.run(), ratio * drift * self.run())
    }
}

/// What a sequential comparison says, with how many blocks.
fn sequential<T>(
    machine: &mut Machine,
    ratio: f64,
    looks: &[Look],
    decide: impl Fn(&[f64], &[f64], f64) -> Option<T>,
) -> (Option<T>, u32) {
    machine.block = 0.0;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for look in looks {
        while first.len() < look.blocks as usize {
            let (a, b) = machine.block(ratio);
            first.push(a);
            second.push(b);
        }
        if let Some(said) = decide(&first, &second, look.level) {
            return (Some(said), look.blocks);
        }
    }
    (None, MOST_BLOCKS)
}

/// The verdict as `thrashlab ab` makes it.
fn verdict(first: &[f64], second: &[f64], level: f64) -> Option<Verdict> {
    let arms = Arms::exact(first, second, Pairing::Paired);
    let found = compare(&[arms], &[], &Settings { margin: MARGIN, alpha: level });
    let verdict = found.cells[0].as_ref().unwrap().verdict;
    (verdict != Verdict::CannotTell).then_some(verdict)
}

/// Of this many, the most that happen with a chance of 5 %, but for one test in 1,000.
fn most(of: usize) -> usize {
    let of = of as f64;
    (ALPHA * of + 3.1 * (of * ALPHA * (1.0 - ALPHA)).sqrt()) as usize
}

#[test]
fn t_at_every_look_raises_false_alarms_in_no_more_than_5_percent() {
    let looks = looks(MOST_BLOCKS, ALPHA);
    for noise in NOISES {
        let mut machine = Machine::new(noise, 0.025, 1);
        let differs = |first: &[f64], second: &[f64], level: f64| {
            let found = log_ratio(first, second, Pairing::Paired, 0.95)?;
            (found.p <= level).then_some(())
        };
        let runs = 4 * RUNS;
        let alarms =
            (0..runs).filter(|_| sequential(&mut machine, 1.0, &looks, differs).0.is_some());
        let alarms = alarms.count();
        assert!(alarms <= most(runs), "{noise:?}: {alarms} of {runs}");
        // The levels are not stricter than they need to be.
        assert!(!matches!(noise, Noise::Normal) || alarms > runs / 30, "{alarms} of {runs}");
    }
}

#[test]
fn equal_levels_are_called_different_in_no_more_than_5_percent() {
    let looks = looks(MOST_BLOCKS, ALPHA);
    for noise in NOISES {
        let mut machine = Machine::new(noise, 0.025, 2);
        let (mut alarms, mut equivalent) = (0, 0);
        for _ in 0..RUNS {
            match sequential(&mut machine, 1.0, &looks, verdict).0 {
                Some(Verdict::Equivalent) => equivalent += 1,
                Some(_) => alarms += 1,
                None => {}
            }
        }
        assert!(alarms <= most(RUNS), "{noise:?}: {alarms} of {RUNS}");
        assert!(equivalent >= RUNS / 10, "{noise:?}: {equivalent} of {RUNS} equivalent");
    }
}

#[test]
fn levels_that_differ_by_the_margin_are_called_equivalent_in_no_more_than_5_percent() {
    let looks = looks(MOST_BLOCKS, ALPHA);
    for (noise, ratio) in NOISES.into_iter().zip([1.0 + MARGIN, 1.0 / (1.0 + MARGIN)].repeat(2)) {
        let mut machine = Machine::new(noise, 0.025, 3);
        let mut says = || sequential(&mut machine, ratio, &looks, verdict).0;
        let wrong = (0..RUNS).filter(|_| says() == Some(Verdict::Equivalent)).count();
        assert!(wrong <= most(RUNS), "{noise:?}: {wrong} of {RUNS}");
    }
}

#[test]
fn the_interval_after_stopping_has_the_true_ratio_in_95_percent() {
    let looks = looks(MOST_BLOCKS, ALPHA);
    for ratio in [1.0, 1.03, 1.05, 1.2] {
        let mut machine = Machine::new(Noise::Normal, 0.025, 4);
        let interval = |first: &[f64], second: &[f64], level: f64| {
            let found = log_ratio(first, second, Pairing::Paired, 1.0 - level)?;
            // The worst time to stop: as soon as the interval excludes the true ratio.
            (found.low > ratio || found.high < ratio).then_some(())
        };
        let missed =
            (0..RUNS).filter(|_| sequential(&mut machine, ratio, &looks, interval).0.is_some());
        let missed = missed.count();
        assert!(missed <= most(RUNS), "×{ratio}: {missed} of {RUNS}");
    }
}

/// The share of fixed comparisons by Welch's test in which a true 5 % is found, with `count` runs
/// a side.
fn found_by_welch(machine: &mut Machine, count: usize) -> f64 {
    let found = (0..RUNS).filter(|_| {
        machine.block = 0.0;
        let (first, second): (Vec<f64>, Vec<f64>) = (0..count).map(|_| machine.block(1.05)).unzip();
        log_ratio(&first, &second, Pairing::Unpaired, 0.95).is_some_and(|found| found.p <= ALPHA)
    });
    found.count() as f64 / RUNS as f64
}

/// The share of sequential comparisons in which a true 5 % is found, and their mean blocks.
fn found_by_looks(machine: &mut Machine) -> (f64, f64) {
    let looks = looks(MOST_BLOCKS, ALPHA);
    let (mut found, mut blocks) = (0, 0);
    for _ in 0..RUNS {
        let (said, after) = sequential(machine, 1.05, &looks, verdict);
        found += usize::from(said == Some(Verdict::Regression));
        blocks += after;
    }
    (found as f64 / RUNS as f64, f64::from(blocks) / RUNS as f64)
}

#[test]
fn a_true_5_percent_takes_fewer_runs_than_welch_with_10_and_10() {
    for (spread, fewer_than) in [(0.02, 8.0), (0.025, 10.0), (0.03, 12.0)] {
        let mut machine = Machine::new(Noise::Normal, spread, 5);
        let (power, blocks) = found_by_looks(&mut machine);
        assert!(power > 0.98 && blocks < fewer_than, "{spread}: {power} with {blocks}");
        // A fixed test with the same error rates takes more. Its power is estimated, too.
        let enough = |count: &usize| found_by_welch(&mut machine, *count) >= power - 0.005;
        let fixed = (2..100).find(enough).unwrap();
        assert!(fixed as f64 > blocks, "{spread}: {power} with {blocks}, or {fixed} a side");
    }
    // Where blocks differ, the fixed test finds nothing.
    let mut machine = Machine::new(Noise::Drift, 0.025, 6);
    let (power, blocks) = found_by_looks(&mut machine);
    assert!(power > 0.98 && blocks < 10.0, "{power} with {blocks}");
    assert!(found_by_welch(&mut machine, 10) < 0.2);
}
