//! Bisection for the first value that satisfies a monotone condition.

/// The first of `low..=high` for which `holds`, as for all larger ones; `high` is assumed to.
pub(crate) fn first_where(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// As [`first_where`] among positive floats, which are ordered like their bit patterns.
pub(crate) fn first_float_where(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    f64::from_bits(first_where(low.to_bits(), high.to_bits(), |bits| holds(f64::from_bits(bits))))
}
