//! `--fail-on`: which verdicts make the exit code 1.

use analysis::comparison::{Cell, Comparison, Outcome};
use analysis::distinct;
use stats::Verdict;

use crate::{Failure, Result, complain, settings};

/// What makes the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FailOn {
    /// A regression by more than this, if a margin was given.
    limit: Option<f64>,
    /// Also a verdict that cannot tell.
    unclear: bool,
}

impl FailOn {
    /// Reads `regression[:15%][,unclear]`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (what, unclear) = match text.split_once(',') {
            Some((what, "unclear")) => (what, true),
            Some((_, other)) => {
                return Err(format!("{other:?} is not known; write regression,unclear"));
            }
            None => (text, false),
        };
        let (what, limit) = match what.split_once(':') {
            Some((what, limit)) => (what, Some(margin(limit)?)),
            None => (what, None),
        };
        match what {
            "regression" => Ok(Self { limit, unclear }),
            _ => Err(format!(
                "{what:?} is not known; write regression, regression:15% or regression,unclear"
            )),
        }
    }

    /// Fails if the comparison has what was named. What it cannot judge is said, and fails where
    /// verdicts that cannot tell do.
    pub(crate) fn judge(self, found: &Comparison) -> Result<()> {
        if self.is_met(found) {
            return Err(Failure::CheckFailed);
        }
        let differ = responses(found, Verdict::Difference);
        if !differ.is_empty() {
            return Err(wrong!(
                "--fail-on cannot judge {}: it differs, and it is unknown whether more is better; \
                 name it with --higher-is-better or --lower-is-better",
                differ.join(", ")
            ));
        }
        let unclear = responses(found, Verdict::CannotTell);
        match (unclear.is_empty(), self.unclear) {
            (true, _) => Ok(()),
            (false, true) => Err(Failure::CheckFailed),
            (false, false) => {
                complain(&format!(
                    "thrashlab: --fail-on cannot judge all of {}: the verdict is \"cannot tell\"; \
                     more trials would tell, and regression,unclear would fail",
                    unclear.join(", ")
                ));
                Ok(())
            }
        }
    }

    /// Whether a cell, or an arm over all its cells, is a regression by more than the limit as
    /// estimated.
    fn is_met(self, found: &Comparison) -> bool {
        let limit = self.limit.unwrap_or(0.0);
        // A death has no size that a margin could forgive.
        let ratio = |cell: &Cell| match &cell.outcome {
            Outcome::Ends(_) => Some(f64::INFINITY),
            _ => cell.ratio(),
        };
        let cells = found.cells.iter().map(|cell| (cell.verdict, ratio(cell)));
        let overall = found.overall.iter().map(|overall| (overall.verdict, Some(overall.ratio)));
        cells.chain(overall).any(|(verdict, ratio)| {
            verdict == Verdict::Regression && ratio.is_some_and(|ratio| ratio > 1.0 + limit)
        })
    }
}

/// Responses of which a cell, or an arm over all its cells, has this verdict.
fn responses(found: &Comparison, wanted: Verdict) -> Vec<String> {
    let cells = found.cells.iter().map(|cell| (cell.verdict, &cell.response));
    let overall = found.overall.iter().map(|overall| (overall.verdict, &overall.response));
    let matching = cells.chain(overall).filter(|(verdict, _)| *verdict == wanted);
    distinct(matching.map(|(_, response)| response.clone()))
}

/// The margin as given: a limit that was given is stronger than a margin that was not.
pub(crate) fn margin_or(usual: f64, margin: Option<f64>, fail_on: Option<FailOn>) -> f64 {
    let limit = fail_on.and_then(|fail_on| fail_on.limit);
    let margin = margin.filter(|_| limit.is_none() || settings::is_given("margin"));
    margin.or(limit).unwrap_or(usual)
}

/// `10%`, `10`, `2.5%`: a difference in percent.
pub(crate) fn margin(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 1000.0 => Ok(percent / 100.0),
        _ => Err("a margin is above 0% and at most 1000%, such as 10%".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_and_unclear_verdicts_can_be_named() {
        let parsed = |text| FailOn::parse(text).map(|it| (it.limit, it.unclear));
        assert_eq!(parsed("regression"), Ok((None, false)));
        assert_eq!(parsed("regression:15%"), Ok((Some(0.15), false)));
        assert_eq!(parsed("regression:15%,unclear"), Ok((Some(0.15), true)));
        for wrong in ["improvement", "regression,", "unclear", "regression:x"] {
            assert!(FailOn::parse(wrong).is_err(), "{wrong}");
        }
    }
}
