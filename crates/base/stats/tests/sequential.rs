//! Simulations of comparisons that are looked at as they grow: what they promise is kept, and they
//! need fewer runs than a fixed number. The figures are in docs/ab.md.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod draws;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use stats::{
    Arms, Look, Pairing, Settings, Verdict, compare, least_log_error, log_ratio, looks, median,
};

use draws::{heavy, most, normal};

/// Chances of a wrong verdict: the default of `thrashlab ab`, and five times as much.
const ALPHAS: [f64; 2] = [ALPHA, 0.05];
const ALPHA: f64 = 0.01;
const MOST_BLOCKS: u32 = 40;
/// As `thrashlab ab` has it by default.
const MARGIN: f64 = 0.03;
const RUNS: usize = 1000;

#[derive(Clone, Copy, Debug)]
enum Noise {
    Normal,
    /// Log-normal above a minimum: some runs take much longer.
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
        normal(&mut self.random)
    }

    fn run(&mut self) -> f64 {
        let z = self.normal();
        match self.noise {
            Noise::Normal | Noise::Drift => (self.spread * z).exp(),
            Noise::LogNormal => 1.0 + (z - 3.0).exp(),
            Noise::Heavy => (self.spread * heavy(z, &mut self.random)).exp(),
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

#[test]
fn t_at_every_look_raises_no_more_false_alarms_than_promised() {
    for (alpha, noise) in ALPHAS.into_iter().flat_map(|alpha| NOISES.map(|noise| (alpha, noise))) {
        let looks = looks(4, MOST_BLOCKS, alpha);
        let mut machine = Machine::new(noise, 0.025, 1);
        let differs = |first: &[f64], second: &[f64], level: f64| {
            let found = log_ratio(first, second, Pairing::Paired, 0.95)?;
            (found.p <= level).then_some(())
        };
        let runs = 4 * RUNS;
        let alarms =
            (0..runs).filter(|_| sequential(&mut machine, 1.0, &looks, differs).0.is_some());
        let alarms = alarms.count();
        assert!(alarms <= most(runs, alpha), "{noise:?}, {alpha}: {alarms} of {runs}");
        // The levels are not stricter than they need to be.
        let expected = alpha * runs as f64;
        let is_strict = (alarms as f64) < 0.66 * expected;
        assert!(!matches!(noise, Noise::Normal) || !is_strict, "{alpha}: {alarms} of {runs}");
    }
}

#[test]
fn equal_levels_are_called_different_no_more_often_than_promised() {
    for (alpha, noise) in ALPHAS.into_iter().flat_map(|alpha| NOISES.map(|noise| (alpha, noise))) {
        let looks = looks(4, MOST_BLOCKS, alpha);
        let mut machine = Machine::new(noise, 0.025, 2);
        let (mut alarms, mut equivalent) = (0, 0);
        for _ in 0..RUNS {
            match sequential(&mut machine, 1.0, &looks, verdict).0 {
                Some(Verdict::Equivalent) => equivalent += 1,
                Some(_) => alarms += 1,
                None => {}
            }
        }
        assert!(alarms <= most(RUNS, alpha), "{noise:?}, {alpha}: {alarms} of {RUNS}");
        assert!(equivalent >= RUNS / 100, "{noise:?}, {alpha}: {equivalent} equivalent");
    }
}

#[test]
fn levels_that_differ_by_the_margin_are_called_equivalent_no_more_often_than_promised() {
    let looks = looks(4, MOST_BLOCKS, ALPHA);
    for (noise, ratio) in NOISES.into_iter().zip([1.0 + MARGIN, 1.0 / (1.0 + MARGIN)].repeat(2)) {
        let mut machine = Machine::new(noise, 0.025, 3);
        let mut says = || sequential(&mut machine, ratio, &looks, verdict).0;
        let wrong = (0..RUNS).filter(|_| says() == Some(Verdict::Equivalent)).count();
        assert!(wrong <= most(RUNS, ALPHA), "{noise:?}: {wrong} of {RUNS}");
    }
}

#[test]
fn the_interval_after_stopping_has_the_true_ratio_as_often_as_promised() {
    let looks = looks(4, MOST_BLOCKS, ALPHA);
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
        assert!(missed <= most(RUNS, ALPHA), "×{ratio}: {missed} of {RUNS}");
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
    let looks = looks(4, MOST_BLOCKS, ALPHA);
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
    for (spread, fewer_than) in [(0.02, 10.0), (0.025, 13.0), (0.03, 17.0)] {
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
    assert!(power > 0.98 && blocks < 13.0, "{power} with {blocks}");
    assert!(found_by_welch(&mut machine, 10) < 0.2);
}

/// Repetitions in each run, as a busy machine makes them: three in ten take half as long again,
/// and runs differ little.
fn busy_run(machine: &mut Machine) -> Vec<f64> {
    let run = (0.01 * machine.normal()).exp();
    let slowed = |machine: &mut Machine| if machine.random.random_bool(0.3) { 1.5 } else { 1.0 };
    (0..5).map(|_| run * slowed(machine) * (0.02 * machine.normal()).exp()).collect()
}

/// Whether two levels are called different at any look, with the error that repetitions show or
/// without.
fn busy_alarm(machine: &mut Machine, ratio: f64, looks: &[Look], has_error: bool) -> bool {
    let (mut first, mut second): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    for look in looks {
        while first.len() < look.blocks as usize {
            first.push(busy_run(machine));
            second.push(busy_run(machine).into_iter().map(|value| value * ratio).collect());
        }
        let medians = [&first, &second]
            .map(|side| side.iter().map(|run| median(run).unwrap()).collect::<Vec<_>>());
        let mut arms = Arms::exact(&medians[0], &medians[1], Pairing::Paired);
        let [one, other] = [&first, &second].map(|side| side.iter().map(Vec::as_slice));
        arms.least_log_error = if has_error { least_log_error(one, other) } else { 0.0 };
        let settings = Settings { margin: MARGIN, alpha: look.level };
        match compare(&[arms], &[], &settings).cells[0].as_ref().unwrap().verdict {
            Verdict::CannotTell => {}
            verdict => return verdict != Verdict::Equivalent,
        }
    }
    false
}

#[test]
fn what_repetitions_show_prevents_early_false_alarms_and_finds_what_is_there() {
    // Later the signed rank test decides.
    let early = &looks(4, MOST_BLOCKS, 0.05)[..3];
    let share = |ratio: f64, has_error: bool| {
        let mut machine = Machine::new(Noise::Normal, 0.0, 7);
        (0..RUNS).filter(|_| busy_alarm(&mut machine, ratio, early, has_error)).count()
    };
    let (without, with) = (share(1.0, false), share(1.0, true));
    assert!(10 * with < without, "{with}, {without} without");
    assert!(share(1.5, true) > RUNS * 9 / 10);
}
