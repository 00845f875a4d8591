//! Numbers on scales and axes.

/// A number with at most six significant digits, to save space.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = (5 - value.abs().log10().floor() as i32).clamp(-300, 300);
    let factor = 10_f64.powi(digits.abs());
    if digits >= 0 { (value * factor).round() / factor } else { (value / factor).round() * factor }
}

/// The extent of the values with some room on a logarithmic axis.
pub fn domain(values: &[f64]) -> [f64; 2] {
    let (low, high) = range(values);
    [rounded(low / 1.15), rounded(high * 1.15)]
}

fn range(values: &[f64]) -> (f64, f64) {
    let positive = values.iter().filter(|value| value.is_finite() && **value > 0.0);
    let (low, high) =
        positive.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
    if low > high { (1.0, 10.0) } else { (low, high) }
}

/// Ticks of a logarithmic axis: 1, 2, 5 per decade, more for few decades and fewer for many.
pub fn ticks(values: &[f64]) -> Vec<f64> {
    let (low, high) = range(values);
    let (low, high) = (low / 1.15, high * 1.15);
    let decades = (high / low).log10();
    let steps: &[f64] = match decades {
        tiny if tiny < 0.4 => {
            &[1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0, 9.0]
        }
        small if small < 0.8 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
        narrow if narrow < 2.0 => &[1.0, 2.0, 5.0],
        middle if middle < 3.5 => &[1.0, 3.0],
        _ => &[1.0],
    };
    let every = if decades > 6.0 { 2 } else { 1 };
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let powers = powers.filter(|power| power % every == 0).map(|power| 10_f64.powi(power));
    multiples(powers, steps, low, high).map(rounded).collect()
}

/// Ticks for sizes: powers of two, with steps between them if there are few.
pub fn powers_of_two(values: &[f64]) -> Vec<f64> {
    let (low, high) = range(values);
    let octaves = (high / low).log2();
    let steps: &[f64] = match octaves {
        narrow if narrow < 2.5 => &[1.0, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875],
        middle if middle < 6.0 => &[1.0, 1.5],
        _ => &[1.0],
    };
    let powers = low.log2().floor() as i32..=high.log2().ceil() as i32;
    multiples(powers.map(|power| 2_f64.powi(power)), steps, low, high).collect()
}

/// At most `most` points: the largest of each chunk.
pub fn largest_of_chunks<T: Copy>(points: &[(T, f64)], most: usize) -> Vec<(T, f64)> {
    let chunks = points.chunks(points.len().div_ceil(most).max(1));
    chunks.filter_map(|chunk| chunk.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))).collect()
}

fn multiples(
    powers: impl Iterator<Item = f64>,
    steps: &[f64],
    low: f64,
    high: f64,
) -> impl Iterator<Item = f64> {
    let all = powers.flat_map(move |power| steps.iter().map(move |step| step * power));
    all.filter(move |tick| (low..=high).contains(tick))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_long_as_they_need_to_be() {
        assert_eq!(rounded(1_234_567.89), 1_234_570.0);
        assert_eq!(rounded(0.000_123_456_789), 0.000_123_457);
        assert_eq!((rounded(0.0), rounded(-2.5)), (0.0, -2.5));
    }

    #[test]
    fn ticks_are_few_and_round() {
        assert_eq!(ticks(&[1.5e6, 9e6]), [2e6, 5e6, 1e7]);
        assert_eq!(ticks(&[4.1, 5.2]), [4.0, 4.5, 5.0, 5.5]);
        assert_eq!(ticks(&[2e3, 9e9]), [1e4, 1e6, 1e8, 1e10]);
        assert!(ticks(&[]).len() < 5);
    }
}
