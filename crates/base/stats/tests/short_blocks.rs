//! Simulations of `thrashlab ab` on commands: blocks as short as they can be, whose repetitions and
//! number follow from what was seen before the looks, and two responses that share α. What they
//! promise is in docs/ab.md.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod draws;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use stats::{
    Arms, Pairing, Settings, Verdict, compare, least_log_error, looks, median, most_blocks,
};

use draws::{heavy, most, normal};

const ALPHA: f64 = 0.01;
const MARGIN: f64 = 0.03;
/// Blocks of the first look.
const FIRST: u32 = 6;
/// Least time of a run's repetitions, in ns.
const LEAST_NS: f64 = 50e6;
const RUNS: usize = 400;

/// How the times of a command vary from repetition to repetition.
#[derive(Clone, Copy, Debug)]
enum Noise {
    Normal,
    /// Some take much longer.
    LogNormal,
    /// Student's t with three degrees of freedom on logarithms.
    Heavy,
    /// Two modes, one half longer than the other, which change from run to run.
    TwoModes,
    /// Two modes, which change after spells of several runs.
    Spells,
    /// The second run of a block is slower.
    Order,
}

const NOISES: [Noise; 6] =
    [Noise::Normal, Noise::LogNormal, Noise::Heavy, Noise::TwoModes, Noise::Spells, Noise::Order];

struct Machine {
    random: Pcg64Mcg,
    noise: Noise,
    is_slow: bool,
}

/// The repetitions of a run: elapsed and CPU time, in ns.
type Run = [Vec<f64>; 2];

impl Machine {
    fn new(noise: Noise, seed: u64) -> Self {
        Self { random: Pcg64Mcg::seed_from_u64(seed), noise, is_slow: false }
    }

    fn normal(&mut self) -> f64 {
        normal(&mut self.random)
    }

    /// A run of a command that takes this time: as many repetitions as its first one asks for.
    fn run(&mut self, mean_ns: f64, is_second: bool) -> Run {
        let (z, changes) = (self.normal(), self.random.random_bool(0.2));
        self.is_slow = match self.noise {
            Noise::TwoModes => self.random.random_bool(0.5),
            Noise::Spells => self.is_slow != changes,
            _ => false,
        };
        let of_run = match self.noise {
            Noise::TwoModes | Noise::Spells if self.is_slow => 1.5 * (0.001 * z).exp(),
            Noise::TwoModes | Noise::Spells => (0.001 * z).exp(),
            Noise::Order if is_second => 1.1 * (0.005 * z).exp(),
            Noise::Order => (0.005 * z).exp(),
            Noise::LogNormal => 1.0 + (z - 3.0).exp(),
            Noise::Heavy => (0.02 * heavy(z, &mut self.random)).exp(),
            Noise::Normal => (0.02 * z).exp(),
        };
        let mut run = [Vec::new(), Vec::new()];
        loop {
            let of_repetition = (0.01 * self.normal()).exp();
            // CPU time shares the first part only: other processes make the rest.
            run[0].push(mean_ns * of_run * of_repetition * (0.005 * self.normal()).exp());
            run[1].push(0.9 * mean_ns * of_run.powf(0.3) * of_repetition);
            let repetitions = (LEAST_NS / run[0][0]).ceil().max(1.0);
            if run[0].len() as f64 >= repetitions {
                return run;
            }
        }
    }

    /// A run of A, and one of B, in random order, opposite in every second block.
    fn block(
        &mut self,
        mean_ns: f64,
        ratio: f64,
        number: usize,
        first_order: &mut bool,
    ) -> [Run; 2] {
        if number.is_multiple_of(2) {
            *first_order = self.random.random_bool(0.5);
        }
        let a_first = *first_order == (number.is_multiple_of(2));
        let times = [mean_ns, mean_ns * ratio];
        match a_first {
            true => [self.run(times[0], false), self.run(times[1], true)],
            false => {
                let other = self.run(times[1], false);
                [self.run(times[0], true), other]
            }
        }
    }
}

/// The verdict on one response of all blocks.
fn judge(blocks: &[[Run; 2]], response: usize, level: f64) -> Verdict {
    let repetitions = [0, 1].map(|arm| {
        blocks.iter().map(|block| block[arm][response].clone()).collect::<Vec<Vec<f64>>>()
    });
    let medians = repetitions
        .each_ref()
        .map(|side| side.iter().map(|run| median(run).unwrap()).collect::<Vec<f64>>());
    let mut arms = Arms::exact(&medians[0], &medians[1], Pairing::Paired);
    let [first, second] = repetitions.each_ref().map(|side| side.iter().map(Vec::as_slice));
    arms.least_log_error = least_log_error(first, second);
    let settings = Settings { margin: MARGIN, alpha: level };
    compare(&[arms], &[], &settings).cells[0].as_ref().unwrap().verdict
}

/// The verdicts on both responses, and the number of blocks. `decides` is the stopping rule, given
/// both verdicts.
fn ab(
    machine: &mut Machine,
    (mean_ns, ratio): (f64, f64),
    decides: impl Fn([Verdict; 2]) -> bool,
) -> ([Verdict; 2], usize) {
    let (mut blocks, mut order) = (Vec::new(), false);
    let mut add_until = |count: u32, blocks: &mut Vec<[Run; 2]>, machine: &mut Machine| {
        while blocks.len() < count as usize {
            let block = machine.block(mean_ns, ratio, blocks.len(), &mut order);
            blocks.push(block);
        }
    };
    add_until(FIRST, &mut blocks, machine);
    let time_ns = |block: &[Run; 2]| block.iter().flat_map(|run| &run[0]).sum::<f64>();
    let most = most_blocks(&blocks.iter().map(time_ns).collect::<Vec<f64>>());
    let mut verdicts = [Verdict::CannotTell; 2];
    for look in looks(FIRST, most, ALPHA / 2.0) {
        add_until(look.blocks, &mut blocks, machine);
        verdicts = [0, 1].map(|response| judge(&blocks, response, look.level));
        if decides(verdicts) {
            break;
        }
    }
    (verdicts, blocks.len())
}

fn is_decided(verdict: Verdict) -> bool {
    verdict != Verdict::CannotTell
}

fn differs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Regression | Verdict::Improvement)
}

#[test]
fn equal_commands_are_called_different_in_no_response_more_often_than_promised() {
    for noise in NOISES {
        for mean_ns in [20e6, 1e9] {
            let mut machine = Machine::new(noise, 11);
            // As soon as any of both claims can be made: the worst way to stop.
            let ends = |verdicts: [Verdict; 2]| verdicts.into_iter().any(differs);
            let alarm =
                |_: &usize| ab(&mut machine, (mean_ns, 1.0), ends).0.into_iter().any(differs);
            let alarms = (0..RUNS).filter(alarm).count();
            assert!(alarms <= most(RUNS, ALPHA), "{noise:?}, {mean_ns}: {alarms} of {RUNS}");
            eprintln!("{noise:?} {mean_ns:e}: {alarms} of {RUNS} false alarms");
        }
    }
}

#[test]
fn commands_at_the_margin_are_called_equivalent_no_more_often_than_promised() {
    for noise in [Noise::Normal, Noise::Heavy, Noise::Order] {
        let mut machine = Machine::new(noise, 12);
        let is_wrong = |verdict: Verdict| verdict == Verdict::Equivalent;
        let ends = |verdicts: [Verdict; 2]| verdicts.into_iter().any(is_wrong);
        let wrong =
            |_: &usize| ab(&mut machine, (1e9, 1.0 + MARGIN), ends).0.into_iter().any(is_wrong);
        let wrong = (0..RUNS).filter(wrong).count();
        assert!(wrong <= most(RUNS, ALPHA), "{noise:?}: {wrong} of {RUNS}");
        eprintln!("{noise:?}: {wrong} of {RUNS} wrongly equivalent");
    }
}

#[test]
fn elapsed_time_is_decided_in_few_blocks_and_cpu_time_where_it_cannot_be() {
    let of_elapsed = |verdicts: [Verdict; 2]| is_decided(verdicts[0]);
    let of_either = |verdicts: [Verdict; 2]| verdicts.into_iter().any(is_decided);
    let mut figures = Vec::new();
    for (noise, ratio) in [(Noise::Normal, 1.05), (Noise::Normal, 1.0), (Noise::Order, 1.3)] {
        let mut machine = Machine::new(noise, 13);
        let found: Vec<_> =
            (0..RUNS / 4).map(|_| ab(&mut machine, (1e9, ratio), of_elapsed)).collect();
        let right = if ratio > 1.0 { Verdict::Regression } else { Verdict::Equivalent };
        let share = found.iter().filter(|it| it.0[0] == right).count() as f64 / found.len() as f64;
        let blocks = found.iter().map(|it| it.1 as f64).sum::<f64>() / found.len() as f64;
        eprintln!("{noise:?} ×{ratio}: {share} right after {blocks} blocks");
        figures.push((share, blocks));
    }
    assert!(figures.iter().all(|(share, _)| *share > 0.95), "{figures:?}");
    assert!(figures[0].1 < 14.0 && figures[2].1 < 7.5, "{figures:?}");
    let mut machine = Machine::new(Noise::TwoModes, 14);
    let found: Vec<_> = (0..RUNS / 4).map(|_| ab(&mut machine, (1e9, 1.2), of_either)).collect();
    let by_cpu = found.iter().filter(|it| it.0[1] == Verdict::Regression).count();
    let open = found.iter().filter(|it| !is_decided(it.0[0])).count();
    assert!(2 * by_cpu > found.len() && 2 * open > found.len(), "{by_cpu}, {open}");
}
