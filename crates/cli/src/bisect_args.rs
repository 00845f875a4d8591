//! The arguments of `thrashlab bisect`.

use std::path::PathBuf;

use clap::Args;

use crate::laboratory::LabArgs;

const EXAMPLES: &str = "\
Examples:
  thrashlab bisect examples/planted-regression.toml
                                      which level of the plan's factor made it worse?
  thrashlab bisect plan.toml --git v6.11..v6.12 --repo ~/linux
                                      commits: the plan's `build` makes each from {level}
  thrashlab bisect --range 1..128 --run './measure.sh {level}'
                                      the last line that a command prints is its measurement
  thrashlab bisect --values a,b,c,d --run './is-it-bad.sh {level}' --exit-code
                                      as `git bisect run`: 0 good, 125 skip, else bad

On a deterministic subject every step is measured once, and the answer is exact. Elsewhere each
measurement changes the probabilities of all steps, until one of them has 95 %. A step that cannot
be built is skipped. What was measured before is not measured again.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BisectArgs {
    /// The plan (TOML); its factor's levels, in their order, are the steps
    #[arg(required_unless_present = "run", conflicts_with = "run")]
    pub(crate) plan: Option<PathBuf>,

    /// The factor whose levels are the steps [default: the plan's only one]
    #[arg(long, value_name = "FACTOR", requires = "plan")]
    pub(crate) factor: Option<String>,

    /// What is measured, such as faults or cpu_ns [default: the first one that the plan names];
    /// `outcome` finds the first step of which a run fails, with any level of the other factors,
    /// which in guests is also tried where the ends are alike
    #[arg(long, value_name = "RESPONSE", requires = "plan")]
    pub(crate) response: Option<String>,

    /// Measure this part of the whole, such as a command of a session
    #[arg(long, value_name = "PART", requires = "plan")]
    pub(crate) part: Option<String>,

    /// The steps are the commits GOOD..BAD, GOOD among them, instead of the factor's levels
    #[arg(long, value_name = "GOOD..BAD", requires = "plan")]
    pub(crate) git: Option<String>,

    /// The repository of --git
    #[arg(long, value_name = "DIR", default_value = ".", requires = "git")]
    pub(crate) repo: PathBuf,

    /// A command that measures a step: {level} stands for its name; run by `sh -c`
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Option<String>,

    /// The steps of --run, in their order
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', requires = "run")]
    pub(crate) values: Vec<String>,

    /// The steps of --run, as numbers
    #[arg(long, value_name = "FIRST..LAST", requires = "run", conflicts_with = "values")]
    pub(crate) range: Option<String>,

    /// The exit code of --run is the verdict: 0 good, 125 skip, anything else up to 127 bad
    #[arg(long, requires = "run")]
    pub(crate) exit_code: bool,

    /// What --run prints is certain: measure every step once
    #[arg(long, requires = "run", conflicts_with = "exit_code")]
    pub(crate) exact: bool,

    /// Probability at which the answer is given
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    pub(crate) confidence: f64,

    /// Most measurements of a noisy search
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) budget: usize,

    /// The machine does not drift: needs fewer measurements, and fails where it does drift
    #[arg(long)]
    pub(crate) no_drift: bool,

    /// Folder for the runs [default: one of the plan's name in the user's data directory]
    #[arg(long, value_name = "DIR", requires = "plan")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) lab: LabArgs,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
