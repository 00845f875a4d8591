//! The levels that a sweep may measure.

use serde::Serialize;

/// From which level to which, and in what steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// The first level, where the plateau is expected. It may lie above `last`.
    pub first: f64,
    /// The last level.
    pub last: f64,
    /// The spacing of levels.
    pub spacing: Spacing,
    /// Levels are multiples of it, in their unit; 0 = any number is a level.
    pub quantum: f64,
}

/// How levels are spread over a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// In equal ratios; both ends must be above 0.
    Geometric,
    /// In equal differences.
    Linear,
}

impl Range {
    /// Fails if the range makes no sense, with the numbers.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self { first, last, spacing, quantum } = *self;
        if ![first, last, quantum].iter().all(|value| value.is_finite()) {
            return Err(format!("the range {first} to {last} in steps of {quantum} is not finite"));
        }
        if quantum < 0.0 {
            return Err(format!("levels cannot be multiples of {quantum}; 0 allows any number"));
        }
        if spacing == Spacing::Geometric && first.min(last) <= 0.0 {
            return Err(format!(
                "levels in equal ratios need both ends above 0, not {first} to {last}; linear \
                 spacing takes any numbers"
            ));
        }
        if self.rounded(first) == self.rounded(last) {
            return Err(format!("the range {first} to {last} holds one level only"));
        }
        Ok(())
    }

    /// At most `count` distinct levels from `from` to `to`, with both ends.
    pub(super) fn spread(&self, from: f64, to: f64, count: usize) -> Vec<f64> {
        let gaps = count.saturating_sub(1).max(1) as f64;
        let level = |step: usize| match (step as f64 / gaps, self.spacing) {
            (part, _) if part <= 0.0 => from,
            (part, _) if part >= 1.0 => to,
            (part, Spacing::Geometric) => from * (to / from).powf(part),
            (part, Spacing::Linear) => from + (to - from) * part,
        };
        crate::distinct((0..count).map(|step| self.rounded(level(step))))
    }

    /// At most `count` levels strictly between two others, in the order from `from` to `to`.
    pub(super) fn inside(&self, from: f64, to: f64, count: usize) -> Vec<f64> {
        let mut levels = self.spread(from, to, count + 2);
        levels.retain(|level| *level > from.min(to) && *level < from.max(to));
        levels
    }

    /// The nearest level of the range: a multiple of the quantum, between the ends. Without quantum
    /// levels have nine digits, independent of the mathematics library.
    pub(super) fn rounded(&self, level: f64) -> f64 {
        if self.quantum == 0.0 {
            return nine_digits(level);
        }
        let (low, high) = crate::extent(&[self.first, self.last]);
        let multiples = |level: f64| level / self.quantum;
        let (fewest, most) = (multiples(low).ceil(), multiples(high).floor());
        if fewest > most {
            return low;
        }
        let level = multiples(level).round().clamp(fewest, most) * self.quantum;
        // Multiples of 0.001 must have a short text.
        if self.quantum.fract() == 0.0 { level } else { nine_digits(level) }
    }
}

/// A number cut to nine significant digits.
fn nine_digits(number: f64) -> f64 {
    format!("{number:.8e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: f64, last: f64, spacing: Spacing, quantum: f64) -> Range {
        Range { first, last, spacing, quantum }
    }

    #[test]
    fn levels_are_spread_in_either_direction_and_on_the_quantum() {
        let doubling = range(2.0, 32.0, Spacing::Geometric, 0.0);
        assert_eq!(doubling.spread(2.0, 32.0, 5), [2.0, 4.0, 8.0, 16.0, 32.0]);
        let down = range(56.0, 20.0, Spacing::Linear, 4.0);
        assert_eq!(down.spread(56.0, 20.0, 5), [56.0, 48.0, 40.0, 28.0, 20.0]);
        assert_eq!(down.inside(48.0, 40.0, 3), [44.0]);
        assert_eq!(
            range(3.0, 21.0, Spacing::Linear, 5.0).spread(3.0, 21.0, 9),
            [5.0, 10.0, 15.0, 20.0]
        );
    }

    #[test]
    fn ranges_without_sense_are_refused_in_words() {
        for (wrong, word) in [
            (range(0.0, 8.0, Spacing::Geometric, 1.0), "linear"),
            (range(8.0, 8.0, Spacing::Linear, 1.0), "one level"),
            (range(1.0, f64::INFINITY, Spacing::Linear, 1.0), "finite"),
            (range(1.0, 2.0, Spacing::Linear, -1.0), "multiples of -1"),
        ] {
            let error = wrong.check().unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
