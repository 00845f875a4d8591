//! Bisection along an ordered axis, whose steps the caller measures.

use stats::{Conclusion, ExactBisect, NoisyBisect, NoisySettings, Outcome, Posterior};

use crate::are_apart;

/// The result of measuring a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// Its values: one per seed on a deterministic subject, else one.
    Values(Vec<f64>),
    /// Judged by a command.
    Judged(Outcome),
    /// It ran and failed, with the cause.
    Failed(String),
    /// It cannot be built or run, with the reason.
    Skip(String),
}

/// What a search looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The first step with values like the last one; if only the last one fails, the first that
    /// fails, and if only the first one fails, the first that does not.
    Change,
    /// The first failing step, even if the last one does not fail.
    Failure,
}

/// The axis of a bisection in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What its steps are: `compiler`, `kernel`, `step`.
    pub name: String,
    /// The steps' names, in order.
    pub steps: Vec<String>,
    /// What was measured, with its unit.
    pub response: String,
}

/// How a search ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BisectResult {
    /// The first changed step is one of these, from 0; `None` if unknown.
    pub changed: Option<(usize, usize)>,
    /// Whether nothing changed.
    pub no_change: bool,
    /// Probabilities, of a search on noisy measurements.
    pub posterior: Option<Posterior>,
    /// The number of measurements.
    pub measurements: usize,
    /// Steps that could not be built or run, with the reasons.
    pub skipped: Vec<(usize, String)>,
    /// Steps and their values, in order of time.
    pub values: Vec<(usize, Vec<f64>)>,
    /// Steps that failed, with the causes.
    pub failed: Vec<(usize, String)>,
    /// Whether the answer is the first failing step instead of a change of values.
    pub by_outcome: bool,
    /// Whether that is the first step that does not fail, as the first of all does.
    pub is_repair: bool,
    /// How often a command gave each verdict that decides; `None` if no command judged.
    pub verdicts: Option<usize>,
    /// A step that a command judged good and bad, so that there is no answer.
    pub contradicted: Option<usize>,
}

/// A search that cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum BisectError<E> {
    /// A measurement failed.
    #[error("{0}")]
    Measurement(E),
    /// Fewer than two steps, or invalid settings.
    #[error("a bisection needs at least two steps, and a confidence from 0.5 to below 1")]
    TooFew,
    /// An end cannot be measured: the step, from 0, and the reason.
    #[error("step {0}, an end of the axis, cannot be measured: {1}")]
    End(usize, String),
    /// Nothing to find: the values of the first and of the last step.
    #[error(
        "the ends do not differ measurably: {0:?} against {1:?}; if there is a difference, more \
         seeds show it"
    )]
    EndsAlike(Vec<f64>, Vec<f64>),
    /// The measurements cannot be searched.
    #[error("{0}")]
    Senseless(String),
}

impl<E> BisectError<E> {
    fn senseless(error: impl std::fmt::Display) -> Self {
        Self::Senseless(error.to_string())
    }
}

type Measure<'m, E> = &'m mut dyn FnMut(usize) -> Result<Measured, E>;
type Searched<E, T = BisectResult> = Result<T, BisectError<E>>;

/// How often a command must give the same verdict, so that one that judges at random does not with
/// this confidence.
pub fn verdicts_needed(confidence: f64) -> usize {
    let needed = (1.0 / (1.0 - confidence.clamp(0.0, 0.999))).log2().ceil();
    (needed as usize).max(1)
}

/// Searches exact measurements; each of the `steps` steps is measured once, but a verdict of a
/// command that decides `verdicts` times. For a change of values, a failing step between good ends
/// is skipped. A change is expected where `weights` are large, one for each step; empty if the steps
/// are alike.
pub fn bisect_exactly<E>(
    steps: usize,
    target: Target,
    verdicts: usize,
    weights: &[f64],
    measure: Measure<E>,
) -> Searched<E> {
    let mut search = ExactBisect::new(steps).ok_or(BisectError::TooFew)?;
    if !weights.is_empty() {
        search.expect(weights).map_err(BisectError::senseless)?;
    }
    let mut found = BisectResult::default();
    let (first, last) = (found.end(0, measure)?, found.end(steps - 1, measure)?);
    match (&first, target, &last) {
        (Measured::Failed(_), Target::Change, Measured::Values(_)) => {
            (found.by_outcome, found.is_repair) = (true, true);
        }
        (Measured::Failed(why), ..) => {
            return Err(BisectError::Senseless(format!(
                "the first step fails already ({why}): begin with one that does not"
            )));
        }
        (_, _, Measured::Failed(_)) => found.by_outcome = true,
        (_, Target::Failure, _) => return found.first_failure(steps, measure),
        (_, Target::Change, _) => {}
    }
    if first == last && first != Measured::Judged(Outcome::Bad) {
        found.no_change = true;
        return found.repeat_verdicts(&[(steps - 1, last)], verdicts, measure);
    }
    let means = match (&first, &last) {
        (Measured::Values(first), Measured::Values(last)) => {
            // If the values of the ends overlap, no step can be judged with certainty.
            let means = stats::mean(first).zip(stats::mean(last));
            let alike = || BisectError::EndsAlike(first.clone(), last.clone());
            Some(means.filter(|_| are_apart(first, last)).ok_or_else(alike)?)
        }
        (_, Measured::Failed(_)) | (Measured::Failed(_), _) => None,
        (Measured::Judged(Outcome::Good), Measured::Judged(Outcome::Bad)) => None,
        (first, last) => {
            let (first, last) = (in_words(first), in_words(last));
            return Err(BisectError::Senseless(format!(
                "the first step must be good and the last one bad; the first is {first}, the last \
                 {last}"
            )));
        }
    };
    while let Some(step) = search.next() {
        let outcome = match found.measure(step, measure)? {
            Measured::Judged(outcome) => outcome,
            measured => match found.is_like_last(&measured, means) {
                Some(true) => Outcome::Bad,
                Some(false) => Outcome::Good,
                None => Outcome::Skip,
            },
        };
        search.record(step, outcome).map_err(BisectError::senseless)?;
    }
    let (one, other) = search.suspects().into_inner();
    found.changed = Some((one, other));
    let deciding = [(one - 1, Outcome::Good), (other, Outcome::Bad)];
    match last {
        Measured::Judged(_) => {
            let deciding = deciding.map(|(step, outcome)| (step, Measured::Judged(outcome)));
            found.repeat_verdicts(&deciding, verdicts, measure)
        }
        _ => Ok(found),
    }
}

fn in_words(measured: &Measured) -> &'static str {
    match measured {
        Measured::Judged(Outcome::Good) => "good",
        Measured::Judged(Outcome::Bad) => "bad",
        Measured::Values(_) => "a number",
        Measured::Failed(_) => "failed",
        Measured::Judged(Outcome::Skip) | Measured::Skip(_) => "skipped",
    }
}

/// Searches noisy measurements of `steps` steps, after those at hand. Fails when a measurement
/// fails, and as [`BisectError`] lists.
pub fn bisect_noisily<E>(
    steps: usize,
    settings: NoisySettings,
    at_hand: &[(usize, f64)],
    measure: Measure<E>,
    on_posterior: &mut dyn FnMut(&Posterior),
) -> Searched<E> {
    let mut search = NoisyBisect::new(steps, settings).ok_or(BisectError::TooFew)?;
    let mut found = BisectResult::default();
    for (step, value) in at_hand {
        search.record(*step, *value).map_err(BisectError::senseless)?;
    }
    while let Some(step) = search.next() {
        let is_end = step == 0 || step == steps - 1;
        match found.measure(step, measure)? {
            Measured::Values(values) => {
                let value = stats::median(&values).unwrap_or(f64::NAN);
                search.record(step, value).map_err(BisectError::senseless)?;
                on_posterior(&search.posterior());
            }
            Measured::Failed(why) if is_end => {
                let why = format!("{why}; look for the first step that fails instead");
                return Err(BisectError::End(step, why));
            }
            Measured::Skip(why) if is_end => return Err(BisectError::End(step, why)),
            Measured::Judged(_) if is_end => return Err(BisectError::End(step, String::new())),
            _ => search.skip(step),
        }
    }
    match search.conclusion() {
        Conclusion::Changed(steps) => found.changed = Some(steps.into_inner()),
        Conclusion::NoChange => found.no_change = true,
        Conclusion::Undecided => {}
    }
    found.posterior = Some(search.posterior());
    Ok(found)
}

impl BisectResult {
    /// Whether what was measured is like the last step rather than like the first, of `steps` steps;
    /// `None` where that cannot be decided.
    pub fn resembles_last(&self, measured: &Measured, steps: usize) -> Option<bool> {
        let mean = |step: usize| {
            let (_, values) = self.values.iter().find(|(known, _)| *known == step)?;
            stats::mean(values)
        };
        let means = if self.by_outcome { None } else { mean(0).zip(mean(steps - 1)) };
        self.is_like_last(measured, means)
    }

    fn is_like_last(&self, measured: &Measured, means: Option<(f64, f64)>) -> Option<bool> {
        match (measured, means) {
            (Measured::Values(values), Some((first, last))) => {
                let value = stats::mean(values)?;
                Some((value - last).abs() < (value - first).abs())
            }
            (Measured::Values(_), None) if self.by_outcome => Some(self.is_repair),
            (Measured::Failed(_), None) if self.by_outcome => Some(!self.is_repair),
            _ => None,
        }
    }

    /// If neither end fails, measures every step until one does.
    fn first_failure<E>(mut self, steps: usize, measure: Measure<E>) -> Searched<E> {
        self.by_outcome = true;
        let mut alive = 0;
        for step in 1..steps - 1 {
            match self.measure(step, measure)? {
                Measured::Failed(_) => {
                    self.changed = Some((alive + 1, step));
                    return Ok(self);
                }
                Measured::Skip(_) => {}
                Measured::Values(_) | Measured::Judged(_) => alive = step,
            }
        }
        // A skipped step may fail.
        self.no_change = self.skipped.is_empty();
        Ok(self)
    }

    /// Measures steps again until a command has given each verdict `count` times; one that differs
    /// leaves no answer. Values are exact, and not repeated.
    fn repeat_verdicts<E>(
        mut self,
        deciding: &[(usize, Measured)],
        count: usize,
        measure: Measure<E>,
    ) -> Searched<E> {
        let judged = deciding.iter().filter(|(_, verdict)| matches!(verdict, Measured::Judged(_)));
        for (step, verdict) in judged {
            self.verdicts = Some(count);
            for _ in 1..count {
                if self.measure(*step, measure)? != *verdict {
                    self.contradicted = Some(*step);
                    (self.changed, self.no_change) = (None, false);
                    return Ok(self);
                }
            }
        }
        Ok(self)
    }

    fn measure<E>(&mut self, step: usize, measure: Measure<E>) -> Searched<E, Measured> {
        let measured = measure(step).map_err(BisectError::Measurement)?;
        match &measured {
            Measured::Values(values) => self.values.push((step, values.clone())),
            Measured::Judged(_) => {}
            Measured::Failed(why) => self.failed.push((step, why.clone())),
            Measured::Skip(why) => {
                self.skipped.push((step, why.clone()));
                return Ok(measured);
            }
        }
        self.measurements += 1;
        Ok(measured)
    }

    /// Measures an end, which must not be skipped.
    fn end<E>(&mut self, step: usize, measure: Measure<E>) -> Searched<E, Measured> {
        match self.measure(step, measure)? {
            Measured::Skip(why) => Err(BisectError::End(step, why)),
            measured => Ok(measured),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 versions, of which those from `planted` on are worse.
    fn versions(planted: usize, broken: &[usize]) -> impl FnMut(usize) -> Result<Measured, String> {
        let broken = broken.to_vec();
        move |step| {
            Ok(match broken.contains(&step) {
                true => Measured::Skip("does not build".to_owned()),
                false if step < planted => Measured::Values(vec![100.0, 101.0, 99.0]),
                false => Measured::Values(vec![130.0, 129.0, 131.0]),
            })
        }
    }

    #[test]
    fn every_planted_version_is_found_exactly() {
        for planted in 1..20 {
            let found =
                bisect_exactly(20, Target::Change, 1, &[], &mut versions(planted, &[])).unwrap();
            assert_eq!(found.changed, Some((planted, planted)));
            assert!(found.measurements <= 2 + 5, "{}", found.measurements);
        }
    }

    #[test]
    fn versions_that_do_not_build_widen_the_answer_and_no_more() {
        let found =
            bisect_exactly(20, Target::Change, 1, &[], &mut versions(10, &[9, 10])).unwrap();
        assert_eq!(found.changed, Some((9, 11)));
        assert_eq!(found.skipped.len(), 2);
        let Err(error) = bisect_exactly(20, Target::Change, 1, &[], &mut versions(10, &[19]))
        else {
            panic!("the last version does not build");
        };
        assert!(error.to_string().contains("step 19, an end"), "{error}");
    }

    #[test]
    fn ends_that_overlap_are_not_bisected() {
        let mut alike = |step: usize| -> Result<Measured, String> {
            Ok(Measured::Values(vec![100.0, 110.0 + step as f64, 105.0]))
        };
        let Err(error) = bisect_exactly(8, Target::Change, 1, &[], &mut alike) else {
            panic!("the ends overlap");
        };
        assert!(error.to_string().contains("do not differ measurably"), "{error}");
    }

    #[test]
    fn verdicts_of_a_command_are_taken_as_they_are() {
        let mut judged = |step: usize| -> Result<Measured, String> {
            Ok(Measured::Judged(if step < 5 { Outcome::Good } else { Outcome::Bad }))
        };
        assert_eq!(
            bisect_exactly(16, Target::Change, 1, &[], &mut judged).unwrap().changed,
            Some((5, 5))
        );
    }

    #[test]
    fn a_command_that_judges_at_random_has_no_answer() {
        assert_eq!([0.5, 0.95, 0.99].map(verdicts_needed), [1, 5, 7]);
        // Bad steps pass every other time.
        for from in 2..15 {
            let mut count = 0;
            let mut flaky = |step: usize| -> Result<Measured, String> {
                count += 1;
                let is_bad = step >= from && (step == 15 || count % 2 == 0);
                Ok(Measured::Judged(if is_bad { Outcome::Bad } else { Outcome::Good }))
            };
            let found = bisect_exactly(16, Target::Change, 5, &[], &mut flaky).unwrap();
            assert!(found.changed == Some((from, from)) || found.contradicted.is_some(), "{from}");
        }
        let mut steady = |step: usize| -> Result<Measured, String> {
            Ok(Measured::Judged(if step < 5 { Outcome::Good } else { Outcome::Bad }))
        };
        let found = bisect_exactly(16, Target::Change, 5, &[], &mut steady).unwrap();
        assert_eq!((found.changed, found.verdicts), (Some((5, 5)), Some(5)));
    }

    #[test]
    fn equal_ends_are_no_change_and_the_wrong_way_round_is_refused() {
        let mut equal = |_| -> Result<Measured, String> { Ok(Measured::Values(vec![5.0, 6.0])) };
        let found = bisect_exactly(16, Target::Change, 1, &[], &mut equal).unwrap();
        assert_eq!((found.changed, found.no_change, found.measurements), (None, true, 2));
        for first in [Outcome::Bad, Outcome::Good] {
            let mut judged = |step: usize| -> Result<Measured, String> {
                Ok(Measured::Judged(if step == 0 { first } else { Outcome::Good }))
            };
            let found = bisect_exactly(16, Target::Change, 1, &[], &mut judged);
            match first {
                Outcome::Good => assert!(found.unwrap().no_change),
                _ => assert!(matches!(found, Err(BisectError::Senseless(_)))),
            }
        }
    }

    /// Steps of which those in `dying` fail.
    fn dying(dying: std::ops::Range<usize>) -> impl FnMut(usize) -> Result<Measured, String> {
        move |step| {
            Ok(match dying.contains(&step) {
                true => Measured::Failed("the kernel died: BUG".to_owned()),
                false => Measured::Values(vec![100.0 + step as f64]),
            })
        }
    }

    #[test]
    fn an_end_that_dies_is_bisected_by_outcome_without_being_asked() {
        let found = bisect_exactly(32, Target::Change, 1, &[], &mut dying(19..32)).unwrap();
        assert_eq!((found.changed, found.by_outcome), (Some((19, 19)), true));
        assert!(found.measurements <= 7 && !found.failed.is_empty());
        let Err(BisectError::Senseless(why)) =
            bisect_exactly(4, Target::Failure, 1, &[], &mut dying(0..2))
        else {
            panic!("the first step fails");
        };
        assert!(why.contains("fails already (the kernel died: BUG"), "{why}");
    }

    #[test]
    fn the_first_step_that_does_not_fail_is_found_where_only_the_first_ones_do() {
        for repaired in 1..16 {
            let mut measure = dying(0..repaired);
            let found = bisect_exactly(16, Target::Change, 1, &[], &mut measure).unwrap();
            assert_eq!(found.changed, Some((repaired, repaired)));
            assert!(found.by_outcome && found.is_repair);
            let dead = Measured::Failed(String::new());
            assert_eq!(found.resembles_last(&dead, 16), Some(false));
            assert_eq!(found.resembles_last(&Measured::Values(vec![1.0]), 16), Some(true));
        }
        assert!(bisect_exactly(4, Target::Change, 1, &[], &mut dying(0..4)).is_err(), "all fail");
    }

    #[test]
    fn a_failure_between_living_ends_is_found_if_it_is_asked_for() {
        let found = bisect_exactly(6, Target::Failure, 1, &[], &mut dying(2..3)).unwrap();
        assert_eq!((found.changed, found.measurements), (Some((2, 2)), 4));
        let none = bisect_exactly(6, Target::Failure, 1, &[], &mut dying(0..0)).unwrap();
        assert_eq!((none.changed, none.no_change), (None, true));
        let change = bisect_exactly(6, Target::Change, 1, &[], &mut dying(2..3)).unwrap();
        assert!(!change.by_outcome && change.changed.is_some());
    }

    #[test]
    fn a_clear_change_is_found_in_measurements_of_small_noise() {
        let mut count = 0_u32;
        let mut measured = |step: usize| -> Result<Measured, String> {
            count += 1;
            let noise = f64::from(count % 5) * 0.3;
            let level = if step < 11 { 100.0 } else { 120.0 };
            Ok(Measured::Values(vec![level + noise]))
        };
        let mut looks = 0;
        let settings = NoisySettings::default();
        let found = bisect_noisily(20, settings, &[], &mut measured, &mut |_| looks += 1).unwrap();
        assert_eq!(found.changed, Some((11, 11)));
        assert_eq!(looks, found.measurements);
        assert!(found.posterior.unwrap().first_changed[11] >= 0.95);
    }
}
