//! Bisection for the first value that satisfies a monotone condition.

pub(crate) use steady::first_where;

/// As [`first_where`] among positive floats, which are ordered like their bit patterns.
pub(crate) fn first_float_where(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    f64::from_bits(first_where(low.to_bits(), high.to_bits(), |bits| holds(f64::from_bits(bits))))
}
