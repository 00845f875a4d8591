//! Reading and writing a sweep (TOML), and putting one together from what was typed.

use analysis::sweep::{End, Range, SearchSettings, Settings, Spacing};
use serde::Deserialize;
use toml::{Table, Value};

use super::quantity::last;
use super::{Quantity, SweepPlan};
use crate::plan::{FactorFile, PlanError, PlanFactor, Setting, factor, scalar, settings};

/// Ends of a range this far apart, as a ratio, are gone between in equal ratios.
const FAR_APART: f64 = 4.0;
/// Most coarse levels, and most passes.
const MOST_LEVELS: usize = 1000;
/// Most measurements of a sweep.
const MOST_RUNS: usize = 100_000;
/// Letters of the hash that tells sweeps without a name apart.
const HASH_LETTERS: usize = 8;
/// What is swept of each job if nothing is named.
const USUAL: [(&str, &str); 3] =
    [("vmtest", "vmtest.size"), ("touch", "touch.footprint"), ("session", "session.users")];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepFile {
    name: Option<String>,
    #[serde(default)]
    base: Table,
    #[serde(default)]
    sweep: SweepTable,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepTable {
    over: Option<String>,
    range: Option<String>,
    by: Option<FactorFile>,
    spacing: Option<String>,
    resolution: Option<Value>,
    coarse: Option<usize>,
    passes: Option<u32>,
    budget: Option<usize>,
    least_rise: Option<f64>,
    present: Option<Value>,
    response: Option<String>,
}

/// What was typed, and goes before what the plan of a sweep says.
#[derive(Clone, Debug, Default)]
pub struct TypedSweep {
    /// Settings of all measurements; of two values of a parameter the last one counts.
    pub base: Vec<Setting>,
    /// Keys of `[sweep]`.
    pub sweep: Table,
}

/// Reads the plan of a sweep, or puts one together from what was typed (of an empty text). One
/// without a name is named by its parameter.
///
/// # Errors
/// With line and column for bad TOML; with the key for what is missing or makes no sense.
pub fn parse_sweep(text: &str, typed: TypedSweep) -> Result<SweepPlan, PlanError> {
    let toml = |error: toml::de::Error| PlanError::Toml(error.to_string());
    let file: SweepFile = toml::from_str(text).map_err(toml)?;
    let mut base = settings(&file.base).map_err(|why| wrong(format!("base: {why}")))?;
    base.extend(typed.base);
    let table = match (typed.sweep.is_empty(), text.parse::<Table>().map_err(toml)?.remove("sweep"))
    {
        (true, _) => file.sweep,
        (false, Some(Value::Table(mut table))) => {
            table.extend(typed.sweep);
            table.try_into().map_err(toml)?
        }
        (false, _) => typed.sweep.try_into().map_err(toml)?,
    };
    finish(file.name, once(base), table)
}

fn wrong(why: String) -> PlanError {
    PlanError::Wrong(why)
}

/// Reads a part of a whole: `5%` or `0.05`.
///
/// # Errors
/// When it is not between 0 and 1.
pub fn part(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    match number.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value < scale => Ok(value / scale),
        _ => Err(format!("{text:?} is not a part such as 5%")),
    }
}

/// The sweep, complete.
fn finish(
    name: Option<String>,
    base: Vec<Setting>,
    table: SweepTable,
) -> Result<SweepPlan, PlanError> {
    let of_key = |key: &str, why: String| wrong(format!("sweep.{key}: {why}"));
    let text = |key: &str, value: Option<Value>| {
        value.map(|value| scalar(&value).map_err(|why| of_key(key, why))).transpose()
    };
    let over = match table.over {
        Some(over) => over,
        None => usual(&base).map_err(wrong)?.to_owned(),
    };
    let range = table.range.ok_or_else(|| wrong("a sweep needs its range: 2M..96M".to_owned()))?;
    let of_range = |why: String| wrong(format!("range {range:?} of {over}: {why}"));
    let (first, last_end) = range
        .split_once("..")
        .ok_or_else(|| of_range("it is not FIRST..LAST, such as 2M..96M or 1..64".to_owned()))?;
    let (first, last_end) = (first.trim(), last_end.trim());
    let quantity = Quantity::of(&over, &base, [first, last_end]).map_err(wrong)?;
    let first = quantity.parse(first).map_err(of_range)?;
    let last_end = quantity.parse(last_end).map_err(of_range)?;
    let present = text("present", table.present)?.map(|text| {
        quantity.parse(&text).map_err(|why| wrong(format!("the present level: {why}")))
    });
    let resolution = text("resolution", table.resolution)?
        .map(|text| part(&text).map_err(|why| of_key("resolution", why)));
    let spacing = match table.spacing.as_deref() {
        None => spacing(first, last_end),
        Some("geometric") => Spacing::Geometric,
        Some("linear") => Spacing::Linear,
        Some(name) => {
            let why = format!("{name:?}: there are geometric and linear");
            return Err(of_key("spacing", why));
        }
    };
    let standard = SearchSettings::default();
    // What a limit does at its two ends the cost shows; of what is done, the first level is the
    // harmless one, though its cost may be that of a single process.
    let of_work = ["vmtest.", "touch.", "load."].iter().any(|start| over.starts_with(start));
    let near = if first <= last_end { End::Low } else { End::High };
    let by = table.by.map(factor).transpose()?;
    let plan = SweepPlan {
        name: name.unwrap_or_else(|| usual_name(&over, &base, by.as_ref())),
        range: Range { first, last: last_end, spacing, quantum: quantity.quantum },
        settings: SearchSettings {
            resolution: resolution.transpose()?.unwrap_or(standard.resolution),
            coarse: table.coarse.unwrap_or(standard.coarse),
            passes: table.passes.unwrap_or(standard.passes),
            budget: table.budget.unwrap_or(standard.budget),
            find: Settings {
                least_rise: table.least_rise.unwrap_or(standard.find.least_rise),
                present: present.transpose()?,
                plateau: of_work.then_some(near),
                ..standard.find
            },
        },
        response: table.response,
        by,
        base,
        over,
        quantity,
    };
    check(&plan)?;
    Ok(plan)
}

/// A name that tells sweeps of one parameter apart by everything but how they are searched.
fn usual_name(over: &String, base: &[Setting], by: Option<&PlanFactor>) -> String {
    let hash = blake3::hash(format!("{over:?} {base:?} {by:?}").as_bytes()).to_hex();
    format!("sweep-{over}-{}", &hash[..HASH_LETTERS])
}

/// Every parameter once, with its last value, in the order of their names.
fn once(base: Vec<Setting>) -> Vec<Setting> {
    let mut names: Vec<String> = base.iter().map(|setting| setting.parameter.clone()).collect();
    names.sort();
    names.dedup();
    let setting = |parameter: String| {
        let value = last(&base, &parameter)?.to_owned();
        Some(Setting { parameter, value })
    };
    names.into_iter().filter_map(setting).collect()
}

/// What is swept if nothing is named.
fn usual(base: &[Setting]) -> Result<&'static str, String> {
    let Some(job) = last(base, "job") else {
        let loaded = last(base, "load").is_some_and(|load| load != model::BASELINE);
        return match loaded {
            true => Ok("load.intensity"),
            false => {
                Err("what is swept? Name a job, a load, or a parameter with --over".to_owned())
            }
        };
    };
    let found = USUAL.iter().find(|(name, _)| *name == job);
    found.map(|(_, over)| *over).ok_or_else(|| format!("{job}: name what is swept with --over"))
}

fn spacing(first: f64, last: f64) -> Spacing {
    let (low, high) = (first.min(last), first.max(last));
    if low > 0.0 && high / low >= FAR_APART { Spacing::Geometric } else { Spacing::Linear }
}

fn check(plan: &SweepPlan) -> Result<(), PlanError> {
    let refused = |why: String| Err(wrong(why));
    let SearchSettings { coarse, passes, budget, .. } = plan.settings;
    if coarse > MOST_LEVELS || passes as usize > MOST_LEVELS || budget > MOST_RUNS {
        return refused(format!(
            "at most {MOST_LEVELS} coarse levels, {MOST_LEVELS} passes and a budget of \
             {MOST_RUNS}, not {coarse}, {passes} and {budget}"
        ));
    }
    if plan.name.is_empty() || plan.name.contains(['/', '\0']) || plan.name.starts_with('.') {
        return refused("name: the sweep's name is the name of its folder".to_owned());
    }
    if let Some(by) = &plan.by {
        let names: Vec<&str> = by.levels.iter().map(|level| level.name.as_str()).collect();
        let twice = (1..names.len()).find(|index| names[..*index].contains(&names[*index]));
        if let Some(index) = twice {
            return refused(format!("by {}: level {:?} stands there twice", by.name, names[index]));
        }
        if names.is_empty() || names.contains(&"") {
            return refused(format!("by {}: it needs levels with names", by.name));
        }
        if by.name == plan.over {
            return refused(format!("by {}: that is what is swept", by.name));
        }
    }
    plan.search().map(|_| ())
}

impl SweepPlan {
    /// The sweep as [`parse_sweep`] reads it.
    #[must_use]
    pub fn text(&self) -> String {
        let text = |text: &str| Value::String(text.to_owned());
        let level = |level: f64| Value::String(self.quantity.format(level));
        let spacing = match self.range.spacing {
            Spacing::Geometric => "geometric",
            Spacing::Linear => "linear",
        };
        let range = format!(
            "{}..{}",
            self.quantity.format(self.range.first),
            self.quantity.format(self.range.last)
        );
        let SearchSettings { resolution, coarse, passes, budget, find } = self.settings;
        let mut sweep = Table::from_iter([
            ("over".to_owned(), text(&self.over)),
            ("range".to_owned(), Value::String(range)),
            ("spacing".to_owned(), text(spacing)),
            ("resolution".to_owned(), Value::Float(resolution)),
            ("coarse".to_owned(), Value::Integer(coarse as i64)),
            ("passes".to_owned(), Value::Integer(i64::from(passes))),
            ("budget".to_owned(), Value::Integer(budget as i64)),
            ("least_rise".to_owned(), Value::Float(find.least_rise)),
        ]);
        sweep.extend(find.present.map(|present| ("present".to_owned(), level(present))));
        sweep.extend(self.response.iter().map(|name| ("response".to_owned(), text(name))));
        sweep.extend(self.by.iter().map(|by| ("by".to_owned(), Value::Table(by_table(by)))));
        let file = Table::from_iter([
            ("name".to_owned(), text(&self.name)),
            ("base".to_owned(), Value::Table(settings_table(&self.base))),
            ("sweep".to_owned(), Value::Table(sweep)),
        ]);
        file.to_string()
    }
}

fn settings_table(settings: &[Setting]) -> Table {
    let pair =
        |setting: &Setting| (setting.parameter.clone(), Value::String(setting.value.clone()));
    settings.iter().map(pair).collect()
}

fn by_table(by: &PlanFactor) -> Table {
    let level = |level: &crate::plan::PlanLevel| {
        let mut table = Table::from_iter([
            ("name".to_owned(), Value::String(level.name.clone())),
            ("set".to_owned(), Value::Table(settings_table(&level.settings))),
        ]);
        let build = level.build.iter();
        table.extend(build.map(|build| ("build".to_owned(), Value::String(build.clone()))));
        Value::Table(table)
    };
    Table::from_iter([
        ("name".to_owned(), Value::String(by.name.clone())),
        ("levels".to_owned(), Value::Array(by.levels.iter().map(level).collect())),
    ])
}
