//! Quantiles of one sample; `None` without values, or unless all of them and the result are finite.

/// Middle value; of an even number the mean of the two middle values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Quantile at `probability` (0 to 1) by Hyndman and Fan's definition 7, the default of R and
/// NumPy: the value at position `(n - 1) * probability` of the sorted values, counted from 0,
/// interpolated linearly between neighbours. `None` too when `probability` is outside 0 to 1.
pub fn quantile(values: &[f64], probability: f64) -> Option<f64> {
    let sorted = sorted_finite(values).filter(|_| (0.0..=1.0).contains(&probability))?;
    let position = (sorted.len() - 1) as f64 * probability;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    let quantile = below + (above - below) * position.fract();
    Some(quantile).filter(|quantile| quantile.is_finite())
}

/// Sorts the values; `None` if there are none or one is not finite.
pub fn sorted_finite(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}
