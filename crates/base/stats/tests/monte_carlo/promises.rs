//! Whether as many values as `compare` asks for give the verdict as often as it says.

use stats::{Arms, CellResult, NotDecided, Pairing, Settings, Verdict, compare};

use crate::shapes::{Shape, Source};

/// What a pilot experiment asks for, and how often that many values then keep the promise.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) more: u64,
    pub(crate) share: f64,
}

/// A pilot of `n` values a side whose ratio and spread are exactly the true ones, and experiments
/// of as many values as it asks for.
pub(crate) fn promise(ratio: f64, spread: f64, n: usize, experiments: u32) -> Kept {
    let settings = Settings { margin: 0.1, alpha: 0.05 };
    let judge = |first: Vec<f64>, second: Vec<f64>| -> CellResult {
        let arms = Arms::exact(&first, &second, Pairing::Unpaired);
        compare(&[arms], &[], &settings).cells.remove(0).expect("positive costs")
    };
    // Evenly spread logarithms with the standard deviation `spread`.
    let middle = (n as f64 - 1.0) / 2.0;
    let places = || (0..n).map(|place| place as f64 - middle);
    let unit = (places().map(|place| place * place).sum::<f64>() / (n as f64 - 1.0)).sqrt();
    let pilot = |scale: f64| places().map(|x| scale * (spread * x / unit).exp()).collect();
    let found = judge(pilot(1.0), pilot(ratio));
    let why = found.why.expect("the pilot cannot tell");
    assert_ne!(why, NotDecided::TooFewValues);
    let more = found.more_blocks.expect("less than a million");
    let right = if ratio > 1.1 { Verdict::Regression } else { Verdict::Equivalent };
    let mut source = Source::new(1711);
    let size = n + more as usize;
    let kept = (0..experiments).filter(|_| {
        let first = source.costs(Shape::LogNormal(spread), size, 1.0);
        judge(first, source.costs(Shape::LogNormal(spread), size, ratio)).verdict == right
    });
    Kept { more, share: kept.count() as f64 / f64::from(experiments) }
}
