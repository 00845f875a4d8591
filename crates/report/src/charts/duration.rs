//! Durations on axes and in descriptions.

use serde_json::{Value, json};

use super::encoding::rounded;

/// A duration in ns as text, as an expression of Vega; `value` is an expression too.
pub(super) fn expression(value: &str) -> String {
    let units = [("1e9", "s"), ("1e6", "ms"), ("1e3", "us")];
    let mut text = format!("format({value}, '.3~r') + 'ns'");
    for (size, unit) in units.iter().rev() {
        text = format!("{value} >= {size} ? format({value} / {size}, '.3~r') + '{unit}' : {text}");
    }
    text
}

/// A logarithmic scale and axis of durations between these two.
pub(super) fn log_axis(title: &str, values: impl Iterator<Item = f64> + Clone) -> Value {
    json!({
        "type": "quantitative",
        "title": title,
        "scale": { "type": "log", "nice": false, "domain": domain(values.clone()) },
        "axis": { "values": ticks(values), "labelExpr": expression("datum.value") },
    })
}

/// The smallest and largest value, with some room.
fn domain(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let (low, high) = range(values);
    [rounded(low / 1.15), rounded(high * 1.15)]
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let positive = values.filter(|value| value.is_finite() && *value > 0.0);
    let (low, high) =
        positive.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    if low > high { (1.0, 10.0) } else { (low, high) }
}

/// Round values for ticks of a logarithmic axis: 1, 2, 5 in each decade, more of a part of a decade,
/// or less of many.
pub(super) fn ticks(values: impl Iterator<Item = f64>) -> Vec<f64> {
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
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let every = if decades > 6.0 { 2 } else { 1 };
    let all = (first..=last)
        .filter(|power| power % every == 0)
        .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
    all.filter(|tick| (low..=high).contains(tick)).map(rounded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_and_round() {
        assert_eq!(ticks([1.5e6, 9e6].into_iter()), [2e6, 5e6, 1e7]);
        assert_eq!(ticks([4.1, 5.2].into_iter()), [4.0, 4.5, 5.0, 5.5]);
        assert_eq!(ticks([2e3, 9e9].into_iter()), [1e4, 1e6, 1e8, 1e10]);
        assert!(ticks(std::iter::empty()).len() < 5);
    }

    #[test]
    fn a_duration_has_its_unit() {
        assert_eq!(
            expression("x"),
            "x >= 1e9 ? format(x / 1e9, '.3~r') + 's' : x >= 1e6 ? format(x / 1e6, '.3~r') + 'ms' \
             : x >= 1e3 ? format(x / 1e3, '.3~r') + 'us' : format(x, '.3~r') + 'ns'"
        );
    }
}
