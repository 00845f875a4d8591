//! What the CPU and the kernel counted for a command: means of its repetitions.

use model::{ACTIVE_PERMILLE, COMMAND_COUNTERS, WorkRecord};
use serde::Serialize;
use stats::{mean, mean_interval};

/// Confidence of the interval of a mean.
const CONFIDENCE: f64 = 0.95;

/// A counter of a command, by repetition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandCount {
    /// Its name, one of [`COMMAND_COUNTERS`].
    pub name: &'static str,
    /// Mean of the repetitions.
    pub mean: f64,
    /// Interval of 95 % of the mean (Student's t over repetitions); `None` for a single one.
    pub interval: Option<(f64, f64)>,
    /// The least part of the time in which it was on the CPU; below 1 counts are estimates.
    pub active: f64,
}

/// The counters that each repetition has, in the order of [`COMMAND_COUNTERS`].
pub(crate) fn command_counts(works: &[&WorkRecord]) -> Vec<CommandCount> {
    let count = |name: &'static str| {
        let value = |work: &&WorkRecord| work.usage.get(name).map(|value| *value as f64);
        let values: Vec<f64> = works.iter().map(value).collect::<Option<_>>()?;
        let active = format!("{name}{ACTIVE_PERMILLE}");
        let least = works.iter().filter_map(|work| work.usage.get(active.as_str())).min();
        let active = least.map_or(1.0, |permille| *permille as f64 / 1000.0);
        let interval = mean_interval(&values, CONFIDENCE);
        Some(CommandCount { name, mean: mean(&values)?, interval, active })
    };
    COMMAND_COUNTERS.into_iter().filter_map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(values: &[(&str, u64)]) -> WorkRecord {
        let usage = values.iter().map(|(name, value)| ((*name).into(), *value)).collect();
        WorkRecord { usage, ..WorkRecord::default() }
    }

    #[test]
    fn counts_are_means_with_intervals_and_what_one_repetition_lacks_is_absent() {
        let one = work(&[("instructions", 90), ("cycles", 40), ("cycles_active_permille", 500)]);
        let other = work(&[("instructions", 110), ("cycles", 60), ("branches", 3)]);
        let found = command_counts(&[&one, &other]);
        let names: Vec<&str> = found.iter().map(|it| it.name).collect();
        assert_eq!(names, ["instructions", "cycles"]);
        assert_eq!((found[0].mean, found[0].active, found[1].active), (100.0, 1.0, 0.5));
        // t of one degree of freedom is 12.706, and the standard error is 10.
        let (low, high) = found[0].interval.unwrap();
        assert!((low + 27.06).abs() < 0.01 && (high - 227.06).abs() < 0.01, "{low} {high}");
        assert_eq!(command_counts(&[&one])[0].interval, None);
        assert!(command_counts(&[]).is_empty());
    }
}
