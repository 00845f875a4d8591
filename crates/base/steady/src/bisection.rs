//! Bisection for the first value that satisfies a monotone condition.

/// The first of `low..=high` for which `holds`, as for all larger ones; `high` is assumed to.
pub fn first_where(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
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
