//! The arguments of `thrashlab sweep`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use experiment::{Setting, TypedSweep};
use serde::Serialize;
use toml::{Table, Value};

use crate::Failure;
use crate::laboratory::LabArgs;

const EXAMPLES: &str = "\
Examples:
  thrashlab sweep vmtest --range 2M..96M            Irlam's program over active virtual memory
  thrashlab sweep touch --over sandbox.memory --range 56M..20M \\
      --set touch.footprint=48M --set touch.backing=file --set touch.pattern=uniform
                                                    a limit that shrinks under a file mapping
  thrashlab sweep touch --range 1M..1G --set touch.pattern=chase --by touch.pages=small,thp
                                                    two curves side by side
  thrashlab sweep session --range 1..24             users at work at the same time
  thrashlab sweep cpuload --range 0.1..4 --set probe=wake
                                                    a dose of a load, and how a probe feels it
  thrashlab sweep plan.toml                         the plan of a sweep
  thrashlab sweep --from reference:sun4/vmtest-sparcstation1-old-hat
                                                    the table of 1990: where is its knee?
  thrashlab sweep --from FOLDER                     a sweep that was made, again

An interrupted sweep goes on where it was when it is started again. How to ask, how to read the
answer, and why it can be trusted: docs/sweeps.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    /// What is measured: a job (vmtest, touch, session), a probe, a load, or the plan of a sweep
    /// (*.toml)
    #[arg(required_unless_present = "from", conflicts_with = "from")]
    pub(crate) what: Option<String>,

    #[command(flatten)]
    pub(crate) search: SearchArgs,

    /// Another parameter of the plan, as in plans: subject=host, touch.pattern=chase, profile=quick
    #[arg(long, value_name = "PARAM=VALUE", conflicts_with = "from", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,

    /// Where to run, as with `thrashlab run`
    #[arg(long, value_name = "SUBJECT", conflicts_with = "from")]
    pub(crate) subject: Option<String>,

    /// The load in the background
    #[arg(long, value_name = "LOAD", conflicts_with = "from")]
    pub(crate) load: Option<String>,

    /// A second parameter: a curve for each of its values, and a map of both
    #[arg(long, value_name = "PARAM=V1,V2,…", conflicts_with = "from", value_parser = by)]
    pub(crate) by: Option<(String, Vec<String>)>,

    #[command(flatten)]
    pub(crate) source: SourceArgs,

    /// Folder for the runs; what it has already is not run again [default: one of the sweep's name
    /// in the user's data directory]
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    pub(crate) output: Option<PathBuf>,

    /// Print the plan as it is understood and run nothing
    #[arg(long, conflicts_with = "from")]
    pub(crate) print_plan: bool,

    #[command(flatten)]
    pub(crate) lab: LabArgs,

    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What is swept, and how the knee is looked for: by their names, the keys of a plan's `[sweep]`.
#[derive(Args, Serialize)]
pub(crate) struct SearchArgs {
    /// From where to where, such as 2M..96M; the first end is where the plateau is expected
    #[arg(long, value_name = "FIRST..LAST", conflicts_with = "from")]
    pub(crate) range: Option<String>,

    /// The parameter that is swept: any number that a plan can set, such as sandbox.memory,
    /// touch.processes, load.intensity [default: vmtest.size, touch.footprint, session.users or
    /// load.intensity; with --from the only numeric factor]
    #[arg(long, value_name = "PARAM")]
    pub(crate) over: Option<String>,

    /// Width of the knee's interval at which the search ends [default: 5%]
    #[arg(long, value_name = "PERCENT", value_parser = experiment::part, conflicts_with = "from")]
    pub(crate) resolution: Option<f64>,

    /// Levels of the coarse pass [default: 9]
    #[arg(long, value_name = "N", conflicts_with = "from")]
    pub(crate) coarse: Option<usize>,

    /// Measurements of each level, every second one on the way back; in the deterministic machine
    /// its seeds [default: 2]
    #[arg(long, value_name = "N", conflicts_with = "from")]
    pub(crate) passes: Option<u32>,

    /// Most measurements in all, of each curve [default: 120]
    #[arg(long, value_name = "N", conflicts_with = "from")]
    pub(crate) budget: Option<usize>,

    /// Levels in equal differences [default: if the ends are less than 4 times apart]
    #[arg(long, conflicts_with_all = ["geometric", "from"])]
    #[serde(skip)]
    pub(crate) linear: bool,

    /// Levels in equal ratios [default: if the ends are 4 times apart and more]
    #[arg(long, conflicts_with = "from")]
    #[serde(skip)]
    pub(crate) geometric: bool,

    /// Smallest rise of the cost that is a knee [default: 1.5 times]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) least_rise: Option<f64>,

    /// The level in use now: how far is the knee?
    #[arg(long, value_name = "LEVEL")]
    pub(crate) present: Option<String>,

    /// What stands for the cost: touch_ns, system_ns or faults for each touch; delay_ns, elapsed_ns,
    /// cpu_ns [default: time for each touch, a probe's delay, a session's time]
    #[arg(long, value_name = "RESPONSE")]
    pub(crate) response: Option<String>,
}

/// Measurements that are there already.
#[derive(Args)]
pub(crate) struct SourceArgs {
    /// Measure nothing: read a folder of runs, `reference:NAME`, or a CSV (- is standard input)
    #[arg(long, value_name = "WHAT")]
    pub(crate) from: Option<String>,

    /// With --from: the column of a CSV that is the level [default: by its name]
    #[arg(long, value_name = "COLUMN", requires = "from", conflicts_with = "over")]
    pub(crate) level: Option<String>,

    /// With --from: the column that is the cost [default: by its name]
    #[arg(long, value_name = "COLUMN", requires = "from", conflicts_with = "response")]
    pub(crate) cost: Option<String>,

    /// With --from: the column by which the cost is divided [default: of elapsed times the level]
    #[arg(long, value_name = "COLUMN", requires = "from")]
    pub(crate) work: Option<String>,
}

impl SweepArgs {
    /// What was typed of the sweep's plan.
    pub(crate) fn typed(&self) -> Result<TypedSweep, Failure> {
        let setting = |parameter: &str, value: &String| Setting {
            parameter: parameter.to_owned(),
            value: value.clone(),
        };
        let named = [("subject", &self.subject), ("load", &self.load)];
        let named = named.iter().filter_map(|(name, value)| Some((*name, value.as_ref()?)));
        let set = self.set.iter().map(|(name, value)| (name.as_str(), value));
        let base = named.chain(set).map(|(name, value)| setting(name, value)).collect();
        let mut sweep = Table::try_from(&self.search).context("write the search as TOML")?;
        let spacing = [("linear", self.search.linear), ("geometric", self.search.geometric)];
        let spacing = spacing.into_iter().find(|(_, is_set)| *is_set);
        sweep.extend(spacing.map(|(name, _)| ("spacing".to_owned(), name.into())));
        sweep.extend(self.by.as_ref().map(|(parameter, levels)| {
            let by =
                [("name", parameter.as_str().into()), ("parameter", parameter.as_str().into())];
            let levels = ("levels", Value::from(levels.clone()));
            let by = by.into_iter().chain([levels]).map(|(key, value)| (key.to_owned(), value));
            ("by".to_owned(), Value::Table(by.collect()))
        }));
        Ok(TypedSweep { base, sweep })
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err("write PARAM=VALUE, such as touch.pattern=chase".to_owned()),
    }
}

fn by(text: &str) -> Result<(String, Vec<String>), String> {
    let example = "write PARAM=V1,V2, such as touch.pages=small,thp";
    let (name, values) = text.split_once('=').ok_or(example)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    match (name.trim(), values.iter().position(String::is_empty)) {
        ("", _) => Err(example.to_owned()),
        (_, Some(index)) => Err(format!("value {} is empty; {example}", index + 1)),
        (name, None) => Ok((name.to_owned(), values)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_second_parameters_are_read_or_refused() {
        assert_eq!(setting("a.b=c=d").unwrap(), ("a.b".to_owned(), "c=d".to_owned()));
        let (name, values) = by("touch.pages = small, thp").unwrap();
        assert_eq!((name.as_str(), values), ("touch.pages", vec!["small".into(), "thp".into()]));
        for (text, why) in
            [("", "PARAM"), ("=a,b", "PARAM"), ("a=b,,c", "value 2"), ("a=", "value 1")]
        {
            assert!(by(text).unwrap_err().contains(why), "{text}");
        }
        assert!(setting("=x").is_err() && setting("x").is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = (setting(&text), by(&text));
        }
    }
}
