//! How a ratio is printed.

/// A ratio with three significant digits or two decimals, whichever is shorter; from a million on it
/// is without limit.
pub(crate) fn ratio_text(ratio: f64) -> String {
    match ratio {
        huge if huge >= 1e6 => "∞".to_owned(),
        large if large >= 99.95 => format!("{large:.0}"),
        middle if middle >= 9.995 => format!("{middle:.1}"),
        small => format!("{small:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_short_and_have_an_end() {
        let ratios = [0.0, 1.492_4, 14.92, 149.2, f64::MAX, f64::INFINITY];
        assert_eq!(ratios.map(ratio_text), ["0.00", "1.49", "14.9", "149", "∞", "∞"]);
    }
}
