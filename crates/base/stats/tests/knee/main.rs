//! Knees of curves whose truth is known, of published tables, and of thousands of noisy curves.

mod monte_carlo;
mod published;
mod shapes;
mod source;
mod steps;

use stats::{Knee, KneeSettings, Level, NoKnee, Shape, knee};

/// The knee at default settings.
#[track_caller]
fn found(levels: &[Level]) -> Knee {
    match knee(levels, &KneeSettings::default()) {
        Shape::Knee(knee) => knee,
        other => panic!("{other:?}"),
    }
}

/// The reason why there is no knee at default settings.
#[track_caller]
fn none(levels: &[Level]) -> NoKnee {
    match knee(levels, &KneeSettings::default()) {
        Shape::NoKnee(none) => none,
        other => panic!("{other:?}"),
    }
}
