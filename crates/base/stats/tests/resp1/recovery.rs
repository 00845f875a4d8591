//! Five points, printed as resp1 did, and recovered.

use proptest::prelude::*;
use stats::{Bounds, FivePoints, Spread, mean, median, one_sd_mean, standard_deviation};

/// Half a unit of three decimals.
const HALF_UNIT: f64 = 0.0005;

fn rounded(value: f64) -> f64 {
    format!("{value:.3}").parse().expect("a number")
}

/// The summary of sorted points as it is printed, to three decimals.
fn summary(points: &[f64; 5]) -> FivePoints {
    let printed = |value: f64| Bounds::printed(rounded(value), HALF_UNIT);
    FivePoints {
        low: printed(points[0]),
        median: printed(median(points).expect("five points")),
        high: printed(points[4]),
        average: printed(mean(points).expect("five points")),
    }
}

/// The deviation as the first format prints it: in s, to three decimals.
fn deviation(points: &[f64; 5]) -> Spread {
    let printed_s = rounded(standard_deviation(points).expect("five points") / 1e3);
    Spread::Deviation(Bounds::printed(1e3 * printed_s, 1e3 * HALF_UNIT))
}

fn delays() -> impl Strategy<Value = [f64; 5]> {
    let delay = prop_oneof![0.0..1.0_f64, 100.0..110.0, 100.0..5000.0, 1.0..100_000.0, Just(250.0)];
    prop::array::uniform5(delay).prop_map(|mut points| {
        points.sort_by(f64::total_cmp);
        points
    })
}

fn holds(bounds: Bounds, value: f64) -> bool {
    bounds.low <= value && value <= bounds.high
}

proptest! {
    #[test]
    fn what_is_recovered_holds_the_truth(points in delays(), ratio_to in 100.0..1000.0_f64) {
        let trimmed = one_sd_mean(&points).expect("possible figures");
        let ratio = Bounds::printed(rounded(trimmed / ratio_to), HALF_UNIT);
        let base = Bounds { low: ratio.low * ratio_to, high: ratio.high * ratio_to };
        let figures = summary(&points);
        let plain = figures.recovered(Spread::Unknown).expect("possible figures");
        for spread in [Spread::Unknown, deviation(&points), Spread::OneSdMean(base)] {
            let recovered = figures.recovered(spread);
            prop_assert!(recovered.is_some(), "{:?} {:?}", figures, spread);
            let found = recovered.expect("possible figures");
            prop_assert!(holds(found.second, points[1]), "{:?} {:?}", found, spread);
            prop_assert!(holds(found.fourth, points[3]), "{:?} {:?}", found, spread);
            prop_assert!(holds(found.one_sd_mean, trimmed), "{:?} {:?}", found, spread);
            prop_assert!(found.second.half_width() <= plain.second.half_width() + 1e-9);
        }
    }
}

#[test]
fn a_deviation_narrows_what_the_other_figures_leave_open() {
    let points = [100.0, 150.0, 1000.0, 1900.0, 2000.0];
    let figures = summary(&points);
    let open = figures.recovered(Spread::Unknown).expect("possible figures");
    let narrow = figures.recovered(deviation(&points)).expect("possible figures");
    assert!(open.second.half_width() > 20.0 && narrow.second.half_width() < 2.5, "{narrow:?}");
    assert!((narrow.second.middle() - 150.0).abs() < 2.5, "{narrow:?}");
    assert!((narrow.fourth.middle() - 1900.0).abs() < 2.5, "{narrow:?}");
}

#[test]
fn figures_of_more_points_are_those_of_no_five() {
    // `largewrite` of the manual's first table: seven points explain it, and no five do.
    let printed = |value| Bounds::printed(value, HALF_UNIT);
    let figures = FivePoints {
        low: printed(187.308),
        median: printed(243.612),
        high: printed(1997.804),
        average: printed(576.542),
    };
    let deviation = Spread::Deviation(Bounds::printed(688.0, 0.5));
    assert_eq!(figures.recovered(deviation), None);
    assert!(figures.recovered(Spread::Unknown).is_some());
}
