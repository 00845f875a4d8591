//! Reading and writing a sweep (TOML), and building one from what was typed.

use analysis::sweep::{End, PriceSettings, Range, SearchSettings, Settings, Spacing};
use clap::Args;
use serde::{Deserialize, Serialize};
use stats::KneeSettings;
use toml::{Table, Value};

use super::{Quantity, SweepPlan};
use crate::job::size_of;
use crate::plan::{FactorFile, PlanError, PlanFactor, factor, scalar, settings, settings_table};
use crate::typed::{self, Setting, last, once, part};

/// Ranges with at least this ratio of their ends are spaced geometrically.
const FAR_APART: f64 = 4.0;
/// Most coarse levels, and most passes.
const MOST_LEVELS: usize = 1000;
/// Maximum number of measurements of a sweep.
const MOST_RUNS: usize = 100_000;
/// Length of the hash that distinguishes unnamed sweeps.
const HASH_LETTERS: usize = 8;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct SweepFile {
    name: Option<String>,
    #[serde(default)]
    base: Table,
    #[serde(default)]
    sweep: SearchArgs,
}

/// What is swept, and how the knee is looked for: `[sweep]` of a plan, and options of its names.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SearchArgs {
    /// The levels, such as 2M..96M; begin at the end where the plateau is expected
    #[arg(long, value_name = "FIRST..LAST", conflicts_with = "from")]
    pub(crate) range: Option<String>,

    /// The parameter that is swept: any number that a plan can set, such as sandbox.memory,
    /// touch.processes, load.intensity [default: vmtest.size, touch.footprint, session.users or
    /// load.intensity; with --from the only numeric factor]
    #[arg(long, value_name = "PARAM")]
    pub over: Option<String>,

    /// Width of the knee's interval at which the search ends [default: 5%]
    #[arg(long, value_name = "PERCENT", conflicts_with = "from",
        value_parser = |text: &str| part(text, 1.0).map(Value::Float))]
    pub(crate) resolution: Option<Value>,

    /// Levels of the coarse pass [default: 9]
    #[arg(long, value_name = "N", conflicts_with = "from")]
    pub(crate) coarse: Option<usize>,

    /// Passes over all levels, alternating in direction; in the deterministic machine, seeds
    /// [default: 2]
    #[arg(long, value_name = "N", conflicts_with = "from")]
    pub(crate) passes: Option<u32>,

    /// Maximum number of measurements; of each curve [default: 120]
    #[arg(long, value_name = "N", conflicts_with = "from")]
    pub(crate) budget: Option<usize>,

    #[arg(skip)]
    pub(crate) spacing: Option<String>,

    /// Linear spacing of the levels [default: if the ends are less than 4 times apart]
    #[arg(long, conflicts_with_all = ["geometric", "from"])]
    #[serde(skip)]
    pub(crate) linear: bool,

    /// Geometric spacing of the levels [default: if the ends are 4 times apart and more]
    #[arg(long, conflicts_with = "from")]
    #[serde(skip)]
    pub(crate) geometric: bool,

    /// Minimum rise of the cost that counts as a knee [default: 1.5 times]
    #[arg(long, value_name = "FACTOR", value_parser = typed::factor)]
    pub least_rise: Option<f64>,

    /// The level in use now, to report its distance to the knee
    #[arg(long, value_name = "LEVEL", value_parser = |text: &str| Ok::<_, String>(Value::from(text)))]
    pub present: Option<Value>,

    #[arg(skip)]
    pub(crate) price: Option<f64>,

    #[arg(skip)]
    pub(crate) most: Option<f64>,

    /// The cost of work: touch_ns, system_ns or faults for each touch; delay_ns,
    /// elapsed_ns, cpu_ns [default: time for each touch, a probe's delay, a session's time]
    #[arg(long, value_name = "RESPONSE")]
    pub response: Option<String>,

    /// A second parameter: one curve per value, and a map of both
    #[arg(long, value_name = "PARAM=V1,V2,…", conflicts_with = "from",
        value_parser = FactorFile::typed, display_order = 15)]
    pub(crate) by: Option<FactorFile>,
}

/// Reads the plan of a sweep. The default name is that of its parameter. Errors have line and column
/// of bad TOML, or the key.
pub fn parse_sweep(text: &str) -> Result<SweepPlan, PlanError> {
    parse_sweep_with(text, Vec::new(), &SearchArgs::default())
}

/// Reads the plan of a sweep; further settings and typed options override it.
pub(crate) fn parse_sweep_with(
    text: &str,
    further: Vec<Setting>,
    typed: &SearchArgs,
) -> Result<SweepPlan, PlanError> {
    let file: SweepFile = toml::from_str(text).map_err(wrong)?;
    let mut base = settings(&file.base).map_err(|why| wrong(format!("base: {why}")))?;
    base.extend(further);
    let mut table = Table::try_from(&file.sweep).map_err(wrong)?;
    table.extend(Table::try_from(typed).map_err(wrong)?);
    let search: SearchArgs = table.try_into().map_err(wrong)?;
    let SearchArgs { linear, geometric, .. } = *typed;
    SweepPlan::new(file.name, base, SearchArgs { linear, geometric, ..search })
}

fn wrong(why: impl ToString) -> PlanError {
    PlanError::Wrong(why.to_string())
}

/// What a limit may cost, if a price is stated.
fn price(
    price: Option<f64>,
    most: Option<f64>,
    falls: bool,
) -> Result<Option<PriceSettings>, String> {
    let Some(price) = price else {
        return match most {
            Some(_) => Err("most: only with a price".to_owned()),
            None => Ok(None),
        };
    };
    let most = most.unwrap_or(PriceSettings::default().most);
    if !(price > 0.0 && most.is_finite() && most > 1.0 + price) {
        return Err(format!("a price of {price} and most of {most}: 0 < price < most - 1"));
    }
    match falls {
        true => Ok(Some(PriceSettings { price, most })),
        false => Err("with a price the range goes from no limit downwards: 4G..16M".to_owned()),
    }
}

/// A name that distinguishes sweeps of one parameter by all but their search settings.
fn usual_name(is_limit: bool, over: &String, base: &[Setting], by: Option<&PlanFactor>) -> String {
    let hash = blake3::hash(format!("{over:?} {base:?} {by:?}").as_bytes()).to_hex();
    let kind = if is_limit { "limit" } else { "sweep" };
    format!("{kind}-{over}-{}", &hash[..HASH_LETTERS])
}

/// The default parameter.
fn usual(base: &[Setting]) -> Result<String, String> {
    let Some(job) = last(base, "job") else {
        let loaded = last(base, "load").is_some_and(|load| load != model::BASELINE);
        return match loaded {
            true => Ok("load.intensity".to_owned()),
            false => {
                Err("what is swept? Name a job, a load, or a parameter with --over".to_owned())
            }
        };
    };
    let size = size_of(job).map(|size| format!("{job}.{size}"));
    size.ok_or_else(|| format!("{job}: name what is swept with --over"))
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
            return refused(format!("by {}: level {:?} appears twice", by.name, names[index]));
        }
        if names.is_empty() || names.contains(&"") {
            return refused(format!("by {}: it needs levels with names", by.name));
        }
        if by.name == plan.over {
            return refused(format!("by {}: this parameter is swept already", by.name));
        }
    }
    plan.search().map(|_| ())
}

impl SweepPlan {
    /// The plan of these settings, of which the last of a name counts, and of this search; the
    /// default name is that of its parameter. The error names the key.
    pub(crate) fn new(
        name: Option<String>,
        base: Vec<Setting>,
        table: SearchArgs,
    ) -> Result<Self, PlanError> {
        let base = once(base);
        let of_key = |key: &str, why: String| wrong(format!("sweep.{key}: {why}"));
        let text = |key: &str, value: Option<Value>| {
            value.map(|value| scalar(&value).map_err(|why| of_key(key, why))).transpose()
        };
        let over = match table.over {
            Some(over) => over,
            None => usual(&base).map_err(wrong)?,
        };
        let range = table
            .range
            .ok_or_else(|| wrong("a sweep needs a range, such as 2M..96M".to_owned()))?;
        let of_range = |why: String| wrong(format!("range {range:?} of {over}: {why}"));
        let ends = typed::range(&range, |end| Ok(end.to_owned())).map_err(of_range)?;
        let quantity = Quantity::new(&over, &base, [&ends.0, &ends.1]).map_err(wrong)?;
        let [first, last_end] = [&ends.0, &ends.1].map(|end| quantity.parse(end).map_err(of_range));
        let (first, last_end) = (first?, last_end?);
        let present = text("present", table.present)?.map(|text| {
            quantity.parse(&text).map_err(|why| wrong(format!("the present level: {why}")))
        });
        let resolution = text("resolution", table.resolution)?
            .map(|text| part(&text, 1.0).map_err(|why| of_key("resolution", why)));
        let spacing = match table.spacing.as_deref() {
            _ if table.linear => Spacing::Linear,
            _ if table.geometric => Spacing::Geometric,
            None => spacing(first, last_end),
            Some("geometric") => Spacing::Geometric,
            Some("linear") => Spacing::Linear,
            Some(name) => {
                let why = format!("{name:?}: choose geometric or linear");
                return Err(of_key("spacing", why));
            }
        };
        let standard = SearchSettings::default();
        // For a limit, the cost at both ends shows the plateau; for work, the first level is the
        // harmless one, though its cost may be that of a single process.
        let of_work = ["vmtest.", "touch.", "load."].iter().any(|start| over.starts_with(start));
        let price = price(table.price, table.most, first > last_end).map_err(wrong)?;
        let near = if first <= last_end { End::Low } else { End::High };
        let by = table.by.map(factor).transpose()?;
        let plan = Self {
            name: name.unwrap_or_else(|| usual_name(price.is_some(), &over, &base, by.as_ref())),
            range: Range { first, last: last_end, spacing, quantum: quantity.quantum },
            settings: SearchSettings {
                resolution: resolution.transpose()?.unwrap_or(standard.resolution),
                coarse: table.coarse.unwrap_or(standard.coarse),
                passes: table.passes.unwrap_or(standard.passes),
                budget: table.budget.unwrap_or(standard.budget),
                find: Settings {
                    knee: KneeSettings {
                        least_rise: table.least_rise.unwrap_or(standard.find.knee.least_rise),
                        ..standard.find.knee
                    },
                    present: present.transpose()?,
                    plateau: if price.is_some() {
                        Some(End::High)
                    } else {
                        of_work.then_some(near)
                    },
                    price,
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

    /// The sweep as text that [`parse_sweep`] reads.
    pub fn text(&self) -> String {
        let level = |level: f64| self.quantity.format(level);
        let SearchSettings { resolution, coarse, passes, budget, find } = self.settings;
        let Range { first, last, spacing, .. } = self.range;
        let spacing = match spacing {
            Spacing::Geometric => "geometric",
            Spacing::Linear => "linear",
        };
        let search = SearchArgs {
            over: Some(self.over.clone()),
            range: Some(format!("{}..{}", level(first), level(last))),
            spacing: Some(spacing.to_owned()),
            resolution: Some(resolution.into()),
            coarse: Some(coarse),
            passes: Some(passes),
            budget: Some(budget),
            least_rise: Some(find.knee.least_rise),
            present: find.present.map(|present| level(present).into()),
            price: find.price.map(|it| it.price),
            most: find.price.map(|it| it.most),
            response: self.response.clone(),
            by: self.by.as_ref().map(FactorFile::from),
            ..SearchArgs::default()
        };
        let base = settings_table(&self.base);
        let file = SweepFile { name: Some(self.name.clone()), base, sweep: search };
        // All its values are valid TOML.
        Table::try_from(&file).unwrap_or_default().to_string()
    }
}
