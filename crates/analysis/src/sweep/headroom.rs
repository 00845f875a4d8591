//! How far the present level is from the knee.

use serde::Serialize;

use super::End;

/// How far the present level is from the knee.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Headroom {
    /// The present level.
    pub present: f64,
    /// By which factor the level can change before the knee: knee / present where the plateau lies
    /// at low levels, present / knee where it lies at high ones. Below 1 the knee is passed.
    pub factor: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

impl Headroom {
    /// `None` if a level is not above 0, so that there is no ratio.
    pub(super) fn new(plateau: End, present: f64, level: f64, low: f64, high: f64) -> Option<Self> {
        if [present, level, low, high].iter().any(|level| *level <= 0.0) {
            return None;
        }
        let (factor, low, high) = match plateau {
            End::Low => (level / present, low / present, high / present),
            End::High => (present / level, present / high, present / low),
        };
        Some(Self { present, factor, low, high })
    }
}
