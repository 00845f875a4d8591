//! A ratio with its interval.

/// How many times larger one sample is than another, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioInterval {
    /// Median of all pairwise ratios treated / baseline; 1.0 is "the same".
    pub ratio: f64,
    /// Lower end of the interval, included.
    pub low: f64,
    /// Upper end of the interval, included.
    pub high: f64,
    /// Coverage of the interval, 0 to 1: at least what was asked for, or, when these sample sizes
    /// cannot give that, the coverage of the full range of ratios. Compare it with the request.
    pub confidence_attained: f64,
}
