//! Steps that a command measures.

use std::process::{Command, Stdio};

use analysis::bisect::{Axis, Measured};
use clap::Args;
use stats::Outcome;

use super::Steps;
use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::typed::whole_numbers;

/// Exit code of a command that cannot build or run a step, as in git-bisect(1).
const SKIP: i32 = 125;
/// Largest exit code that is a verdict, as in git-bisect(1).
const LAST_VERDICT: i32 = 127;
/// Most steps of a range.
const MOST_STEPS: u64 = 1_000_000;
/// Placeholder for the step's name in the command.
const LEVEL: &str = "{level}";

/// Steps that a command measures.
#[derive(Args, Clone, Debug)]
pub struct CommandSteps {
    /// A command that measures a step; {level} is replaced with its name; run by `sh -c`
    #[arg(long, value_name = "COMMAND")]
    pub run: Option<String>,

    /// The steps of --run, in their order
    #[arg(
        long,
        value_name = "A,B,C",
        value_delimiter = ',',
        requires = "run",
        conflicts_with = "plan"
    )]
    values: Vec<String>,

    /// The steps of --run, as numbers
    #[arg(long, value_name = "FIRST..LAST", requires = "run", conflicts_with_all = ["values", "plan"])]
    range: Option<String>,

    /// The exit code of --run is the verdict: 0 good, 125 skip, anything else up to 127 bad
    #[arg(long, requires = "run", conflicts_with = "plan")]
    exit_code: bool,

    /// The output of --run is exact: measure every step once
    #[arg(long, requires = "run", conflicts_with_all = ["exit_code", "plan"])]
    exact: bool,
}

impl CommandSteps {
    /// The steps with their names. Fails when there are none.
    pub fn named(mut self) -> Result<Self> {
        if let Some(range) = &self.range {
            let numbers = whole_numbers(range, MOST_STEPS).map_err(ExperimentError::WrongUse)?;
            self.values = numbers.iter().map(i64::to_string).collect();
        }
        match self.values.is_empty() {
            true => Err(ExperimentError::WrongUse(
                "name the steps of --run with --values A,B,C or --range FIRST..LAST".to_owned(),
            )),
            false => Ok(self),
        }
    }
}

impl Steps for CommandSteps {
    fn axis(&self) -> Axis {
        let response = "measurement".to_owned();
        Axis { name: "step".to_owned(), steps: self.values.clone(), response }
    }

    fn is_exact(&self) -> bool {
        self.exact || self.exit_code
    }

    fn measure(&mut self, step: usize, driver: &mut Driver<'_>) -> Result<Measured> {
        if driver.waiter.stop_requested() {
            return Err(ExperimentError::Interrupted);
        }
        let command = self.run.as_deref().unwrap_or_default().replace(LEVEL, &self.values[step]);
        driver.note(&command);
        let output =
            Command::new("sh").args(["-c", &command]).stderr(Stdio::inherit()).output().map_err(
                |error| ExperimentError::NotMeasured(format!("start {command:?}: {error}")),
            )?;
        if driver.waiter.stop_requested() {
            return Err(ExperimentError::Interrupted);
        }
        let failed = |how: &str| {
            Err(ExperimentError::NotMeasured(format!(
                "{command:?} {how}; exit code {SKIP} means that a step cannot be measured"
            )))
        };
        match output.status.code() {
            Some(SKIP) => Ok(Measured::Skip(format!("exit code {SKIP}"))),
            Some(0) if self.exit_code => Ok(Measured::Judged(Outcome::Good)),
            Some(1..=LAST_VERDICT) if self.exit_code => Ok(Measured::Judged(Outcome::Bad)),
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
