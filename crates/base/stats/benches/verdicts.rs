//! What verdicts are worth: the Monte Carlo tests at length, as Markdown.
//!
//! `cargo bench -p stats --bench verdicts` prints tables, and a line for each requirement.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../tests/monte_carlo/experiments.rs"]
mod experiments;
#[path = "../tests/monte_carlo/shapes.rs"]
mod shapes;

use stats::Pairing;

use experiments::{
    ALPHA, Order, alarms_under_drift, coverage, false_claims_at_the_margin, family_false_alarms,
    power,
};
use shapes::SHAPES;

const SIZES: [usize; 5] = [5, 7, 10, 15, 20];

/// Experiments of each kind; as a test, where no figure is wanted, a few are enough.
const EXPERIMENTS: u32 = 20_000;

fn main() {
    let measured = std::env::args().any(|argument| argument == "--bench");
    let experiments = if measured { EXPERIMENTS } else { 20 };
    coverages(experiments);
    false_claims(experiments);
    powers(experiments);
}

/// Three standard errors of a share whose probability is .05.
fn allowance(experiments: u32) -> f64 {
    3.0 * (ALPHA * (1.0 - ALPHA) / f64::from(experiments)).sqrt()
}

/// Prints whether a figure is at least `low` and at most `high`.
fn require(text: &str, found: f64, low: f64, high: f64) {
    let met = if (low..=high).contains(&found) { "met" } else { "not met" };
    println!("requirement | {text} | {found:.4} | {met}");
}

fn coverages(experiments: u32) {
    println!("| coverage of 95 % intervals | n = 5 | 7 | 10 | 15 | 20 |");
    println!("|---|---:|---:|---:|---:|---:|");
    let (mut least, mut most) = (1.0_f64, 0.0_f64);
    for pairing in [Pairing::Unpaired, Pairing::Paired] {
        for shape in SHAPES {
            let covered = SIZES.map(|n| coverage(shape, pairing, n, experiments));
            let row = covered.map(|share| format!("{share:.3}")).join(" | ");
            println!("| {shape:?}, {pairing:?} | {row} |");
            least = covered.into_iter().fold(least, f64::min);
            most = covered[2..].iter().copied().fold(most, f64::max);
        }
    }
    require("95 % intervals cover at least 94 %", least, 0.94, 1.0);
    require("and at most 98 % from ten values", most, 0.0, 0.98);
}

fn false_claims(experiments: u32) {
    println!("| false claims | share of experiments |");
    println!("|---|---:|");
    let mut most = 0.0_f64;
    let families = experiments / 2;
    for n in [3, 5, 7, 10, 20] {
        let alarms = family_false_alarms(n, families);
        println!("| any alarm in eight A/A cells, n = {n} | {alarms:.4} |");
        most = most.max(alarms);
    }
    let claims = false_claims_at_the_margin(experiments);
    println!("| anything false, three cells equal and three at the margin | {claims:.4} |");
    let mut drifting = 0.0_f64;
    for drift in [0.0, 0.05, 0.1] {
        let blocks = alarms_under_drift(Order::RandomisedBlocks, drift, experiments);
        let sequence = alarms_under_drift(Order::OneAfterTheOther, drift, experiments);
        println!("| drift of {:.0} %, randomised blocks | {blocks:.4} |", 100.0 * drift);
        println!("| drift of {:.0} %, one after the other | {sequence:.4} |", 100.0 * drift);
        drifting = drifting.max(blocks);
    }
    let few = ALPHA + allowance(families);
    require("at most 5 % of families of equal systems raise any alarm", most, 0.0, few);
    let few = ALPHA + allowance(experiments);
    require("at most 5 % of families make any false claim at the margin", claims, 0.0, few);
    require("at most 7 % alarms in randomised blocks under drift", drifting, 0.0, 0.07);
}

fn powers(experiments: u32) {
    println!(
        "| power at ratio 1.5, ten against ten | the method that decides | Welch on logarithms |"
    );
    println!("|---|---:|---:|");
    let mut least = 1.0_f64;
    for shape in SHAPES {
        let (decided, welch) = power(shape, experiments);
        println!("| {shape:?} | {decided:.3} | {welch:.3} |");
        least = least.min(decided - welch);
    }
    require("power less Welch's t, at least -0.03", least, -0.03, 1.0);
}
