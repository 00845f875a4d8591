//! Steps that a command measures.

use std::process::{Command, Stdio};

use agent::Waiter;
use analysis::bisect::{Measured, Target};
use anyhow::{Context, anyhow};
use report::Axis;
use stats::Outcome;

use super::Steps;
use crate::Failure;
use crate::bisect_args::BisectArgs;
use crate::progress::Progress;

/// Exit code of a command that cannot build or run a step, as in git-bisect(1).
const SKIP: i32 = 125;
/// Largest exit code that is a verdict, as in git-bisect(1).
const LAST_VERDICT: i32 = 127;
/// What stands for the name of a step in the command.
const LEVEL: &str = "{level}";
/// Most steps of a range.
const MOST_STEPS: u64 = 1_000_000;

/// Steps that a command measures.
pub(super) struct CommandSteps<'a> {
    names: Vec<String>,
    command: &'a str,
    by_exit_code: bool,
    is_exact: bool,
    waiter: &'a Waiter,
}

impl<'a> CommandSteps<'a> {
    pub(super) fn new(
        args: &BisectArgs,
        command: &'a str,
        waiter: &'a Waiter,
    ) -> Result<Self, Failure> {
        let names = match &args.range {
            Some(range) => numbers(range).map_err(|why| Failure::WrongUse(anyhow!(why)))?,
            None => args.values.clone(),
        };
        if names.is_empty() {
            return Err(Failure::WrongUse(anyhow!(
                "name the steps of --run with --values A,B,C or --range FIRST..LAST"
            )));
        }
        let by_exit_code = args.exit_code;
        let is_exact = args.exact || by_exit_code;
        Ok(Self { names, command, by_exit_code, is_exact, waiter })
    }
}

/// The numbers of a range; both ends belong to it, and it may count down.
fn numbers(range: &str) -> Result<Vec<String>, String> {
    let ends = range.split_once("..").and_then(|(first, last)| {
        Some((first.trim().parse::<i64>().ok()?, last.trim().parse::<i64>().ok()?))
    });
    match ends {
        Some((first, last)) if first.abs_diff(last) < MOST_STEPS => {
            let up = (first.min(last)..=first.max(last)).map(|number| number.to_string());
            Ok(if first <= last { up.collect() } else { up.rev().collect() })
        }
        _ => Err(format!("{range:?} is not FIRST..LAST, as 1..128")),
    }
}

impl Steps for CommandSteps<'_> {
    fn axis(&self) -> Axis {
        let response = "measurement".to_owned();
        Axis { name: "step".to_owned(), steps: self.names.clone(), response }
    }

    fn is_exact(&self) -> bool {
        self.is_exact
    }

    fn target(&self) -> Target {
        Target::Change
    }

    fn at_hand(&self) -> Result<Vec<(usize, f64)>, Failure> {
        Ok(Vec::new())
    }

    fn measure(&mut self, step: usize, progress: &mut Progress) -> Result<Measured, Failure> {
        if self.waiter.stop_requested() {
            return Err(Failure::Interrupted);
        }
        let command = self.command.replace(LEVEL, &self.names[step]);
        progress.say(&command);
        let output = Command::new("sh")
            .args(["-c", &command])
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("start {command:?}"))?;
        if self.waiter.stop_requested() {
            return Err(Failure::Interrupted);
        }
        let failed = |how: &str| {
            Err(Failure::NotMeasured(anyhow!(
                "{command:?} {how}; exit code {SKIP} says that a step cannot be measured"
            )))
        };
        match output.status.code() {
            Some(SKIP) => Ok(Measured::Skip(format!("exit code {SKIP}"))),
            Some(0) if self.by_exit_code => Ok(Measured::Judged(Outcome::Good)),
            Some(1..=LAST_VERDICT) if self.by_exit_code => Ok(Measured::Judged(Outcome::Bad)),
            Some(0) => {
                let said = String::from_utf8_lossy(&output.stdout);
                let last = said.lines().rev().find(|line| !line.trim().is_empty());
                match last.and_then(|line| line.trim().parse::<f64>().ok()) {
                    Some(value) if value.is_finite() => Ok(Measured::Values(vec![value])),
                    _ => failed("does not end its output with a number"),
                }
            }
            _ => failed(&format!("failed ({})", output.status)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_counts_up_or_down() {
        assert_eq!(numbers("1..3").unwrap(), ["1", "2", "3"]);
        assert_eq!(numbers("2..-1").unwrap(), ["2", "1", "0", "-1"]);
        assert!(numbers("1-3").is_err() && numbers("0..9000000000").is_err());
    }
}
