//! Simulated experiments, judged by the code that users get. Each returns a share of experiments.

use stats::{Arms, CellResult, Pairing, Settings, Verdict, compare};

use crate::shapes::{SHAPES, Shape, Source};

pub(crate) const ALPHA: f64 = 0.05;

/// Without a margin every significant difference is a verdict: the strictest count of alarms.
const NO_MARGIN: Settings = Settings { margin: 0.0, alpha: ALPHA };

fn share(experiments: u32, mut happens: impl FnMut() -> bool) -> f64 {
    let happened = (0..experiments).filter(|_| happens()).count();
    happened as f64 / f64::from(experiments)
}

fn alone(arms: Arms, settings: &Settings) -> CellResult {
    compare(&[arms], &[], settings).cells.remove(0).expect("positive costs")
}

fn is_alarm(found: &CellResult) -> bool {
    matches!(found.verdict, Verdict::Regression | Verdict::Improvement)
}

/// How often the plain 95 % interval of n against n contains the true ratio.
pub(crate) fn coverage(shape: Shape, pairing: Pairing, n: usize, experiments: u32) -> f64 {
    const TRUTH: f64 = 1.5;
    let mut source = Source::new(1973 + n as u64);
    share(experiments, || {
        let (first, second) = (source.costs(shape, n, 1.0), source.costs(shape, n, TRUTH));
        let found = alone(Arms::exact(&first, &second, pairing), &NO_MARGIN);
        found.low <= TRUTH && TRUTH <= found.high
    })
}

/// How often *any* of eight cells, of all shapes, paired and not, is called different, though all
/// are A against A.
pub(crate) fn family_false_alarms(n: usize, experiments: u32) -> f64 {
    let mut source = Source::new(1987 + n as u64);
    share(experiments, || {
        let mut cells = vec![];
        for pairing in [Pairing::Unpaired, Pairing::Paired] {
            for shape in SHAPES {
                let (first, second) = (source.costs(shape, n, 1.0), source.costs(shape, n, 1.0));
                cells.push(Arms::exact(&first, &second, pairing));
            }
        }
        compare(&cells, &[], &NO_MARGIN).cells.iter().flatten().any(is_alarm)
    })
}

/// How often anything false is claimed of six cells that are as hard as they can be: three have no
/// difference, three differ by exactly the margin, and all are measured so well that the other kind
/// of claim is usually made.
pub(crate) fn false_claims_at_the_margin(experiments: u32) -> f64 {
    let mut source = Source::new(2003);
    let shape = Shape::LogNormal(0.03);
    share(experiments, || {
        let mut cell = |second| {
            let first = source.costs(shape, 20, 1.0);
            Arms::exact(&first, &source.costs(shape, 20, second), Pairing::Unpaired)
        };
        let cells = [1.0, 1.0, 1.0, 1.1, 1.1, 1.1].map(&mut cell);
        let found = compare(&cells, &[], &Settings { margin: 0.1, alpha: ALPHA }).cells;
        let found: Vec<&CellResult> = found.iter().flatten().collect();
        // Any difference that was shown counts, whether or not it is beyond the margin.
        found[..3].iter().any(|cell| cell.p_adjusted <= ALPHA)
            || found[3..].iter().any(|cell| cell.verdict == Verdict::Equivalent)
    })
}

/// How the runs of two equal systems were put in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// All of the first, then all of the second.
    OneAfterTheOther,
    /// Pairs, each in random order.
    RandomisedBlocks,
}

/// How often ten runs each of equal systems are called different, when every run spreads by 3 % and
/// the machine gets slower by `drift` from the first run to the last.
pub(crate) fn alarms_under_drift(order: Order, drift: f64, experiments: u32) -> f64 {
    const N: usize = 10;
    let mut source = Source::new(1952);
    share(experiments, || {
        let run = |place: usize, source: &mut Source| {
            let slower = 1.0 + drift * place as f64 / (2 * N - 1) as f64;
            source.cost(Shape::LogNormal(0.03)) * slower
        };
        let arms = match order {
            Order::OneAfterTheOther => {
                let all: Vec<f64> = (0..2 * N).map(|place| run(place, &mut source)).collect();
                Arms::exact(&all[..N], &all[N..], Pairing::Unpaired)
            }
            Order::RandomisedBlocks => {
                let block = |block: usize| {
                    let (one, other) =
                        (run(2 * block, &mut source), run(2 * block + 1, &mut source));
                    if source.uniform() < 0.5 { (one, other) } else { (other, one) }
                };
                let (first, second): (Vec<f64>, Vec<f64>) = (0..N).map(block).unzip();
                Arms::exact(&first, &second, Pairing::Paired)
            }
        };
        is_alarm(&alone(arms, &NO_MARGIN))
    })
}

/// How often ten against ten of this shape show a ratio of 1.5: by the method that decides, and by
/// Welch's t on the logarithms of the same draws.
pub(crate) fn power(shape: Shape, experiments: u32) -> (f64, f64) {
    let mut source = Source::new(1993);
    let (mut decided, mut welch) = (0, 0);
    for _ in 0..experiments {
        let (first, second) = (source.costs(shape, 10, 1.0), source.costs(shape, 10, 1.5));
        let found = alone(Arms::exact(&first, &second, Pairing::Unpaired), &NO_MARGIN);
        decided += u32::from(is_alarm(&found));
        welch += u32::from(found.log_ratio.is_some_and(|found| found.p <= ALPHA));
    }
    let share = |count: u32| f64::from(count) / f64::from(experiments);
    (share(decided), share(welch))
}
