//! Reading a plan (TOML).

use serde::{Deserialize, Serialize};
use toml::Value;

use super::{DEFAULT_BLOCKS, Design, Order, Plan, PlanFactor, PlanLevel};
use crate::typed::{Setting, setting, whole_numbers};

/// Placeholder for the level's name in the settings of all levels of a factor.
const LEVEL: &str = "{level}";
const MOST_RUNS: usize = 100_000;

/// A plan that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// It is not a plan, incomplete or contradictory.
    #[error("{0}")]
    Wrong(String),
    /// All that cannot be set.
    #[error("{} of the plan cannot be set:\n  {}", count(.0.len()), .0.join("\n  "))]
    Problems(Vec<String>),
}

fn count(problems: usize) -> String {
    if problems == 1 { "one level".to_owned() } else { format!("{problems} levels or values") }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    name: String,
    design: Option<String>,
    blocks: Option<u32>,
    seeds: Option<Vec<u64>>,
    #[serde(default)]
    order_seed: u64,
    #[serde(default)]
    responses: Vec<String>,
    #[serde(default)]
    base: toml::Table,
    #[serde(default)]
    factor: Vec<FactorFile>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FactorFile {
    name: String,
    /// The parameter that a bare value sets.
    parameter: Option<String>,
    /// Settings and build command of every level; `{level}` is the level's name.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    set: toml::Table,
    build: Option<String>,
    #[serde(default)]
    levels: Vec<Value>,
    /// Levels that are numbers, such as `1..20`.
    range: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct LevelFile {
    name: String,
    value: Option<Value>,
    #[serde(default)]
    set: toml::Table,
    build: Option<String>,
}

impl FactorFile {
    /// A factor of these levels, as they are in a file.
    pub(crate) fn of_levels(name: &str, levels: Vec<Value>) -> Self {
        Self { name: name.to_owned(), levels, ..Self::default() }
    }

    /// Reads `PARAM=V1,V2`: the values of a parameter.
    pub(crate) fn typed(text: &str) -> Result<Self, String> {
        let example = "write PARAM=V1,V2, such as touch.pages=small,thp";
        let (name, values) = setting(text).map_err(|_| example)?;
        let values: Vec<&str> = values.split(',').map(str::trim).collect();
        if let Some(index) = values.iter().position(|value| value.is_empty()) {
            return Err(format!("value {} is empty; {example}", index + 1));
        }
        let levels = values.into_iter().map(Value::from).collect();
        Ok(Self { parameter: Some(name.clone()), name, levels, ..Self::default() })
    }
}

impl From<&PlanFactor> for FactorFile {
    fn from(factor: &PlanFactor) -> Self {
        let level = |level: &PlanLevel| {
            let (name, build) = (level.name.clone(), level.build.clone());
            Value::try_from(LevelFile {
                name,
                value: None,
                set: settings_table(&level.settings),
                build,
            })
        };
        let levels = factor.levels.iter().flat_map(level).collect();
        Self { name: factor.name.clone(), levels, ..Self::default() }
    }
}

/// Reads a plan. Errors have line and column of bad TOML, or the factor and level.
pub fn parse_plan(text: &str) -> Result<Plan, PlanError> {
    plan(read_toml(text)?)
}

/// A plan of full design and random order as [`parse_plan`] reads it.
pub(crate) fn plan_text(plan: &Plan) -> String {
    let is_counted = (1..).zip(&plan.seeds).all(|(number, seed)| number == *seed);
    let file = PlanFile {
        name: plan.name.clone(),
        design: None,
        blocks: is_counted.then_some(plan.seeds.len() as u32),
        seeds: (!is_counted).then(|| plan.seeds.clone()),
        order_seed: 0,
        responses: plan.responses.clone(),
        base: settings_table(&plan.base),
        factor: plan.factors.iter().map(FactorFile::from).collect(),
    };
    // All its values are valid TOML.
    toml::to_string(&file).unwrap_or_default()
}

/// Reads a plan, but with these levels of one factor. Fails as [`parse_plan`], and for an unknown
/// factor.
pub(crate) fn parse_plan_with(
    text: &str,
    factor: &str,
    levels: &[String],
) -> Result<Plan, PlanError> {
    let mut file = read_toml(text)?;
    let Some(found) = file.factor.iter_mut().find(|found| found.name == factor) else {
        return Err(PlanError::Wrong(format!("the plan has no factor {factor:?}")));
    };
    found.levels = levels.iter().cloned().map(Value::String).collect();
    found.range = None;
    plan(file)
}

/// Reads a plan with one more factor, which comes first and replaces one of its name. Fails as
/// [`parse_plan`].
pub(crate) fn parse_plan_along(text: &str, factor: PlanFactor) -> Result<Plan, PlanError> {
    let mut plan = unchecked(read_toml(text)?)?;
    plan.factors.retain(|other| other.name != factor.name);
    plan.factors.insert(0, factor);
    plan.checked()
}

fn read_toml(text: &str) -> Result<PlanFile, PlanError> {
    toml::from_str(text).map_err(|error| PlanError::Wrong(error.to_string()))
}

fn plan(file: PlanFile) -> Result<Plan, PlanError> {
    unchecked(file)?.checked()
}

/// The plan of a file, which may not meet the conditions on all plans.
fn unchecked(file: PlanFile) -> Result<Plan, PlanError> {
    let design = match file.design.as_deref() {
        None | Some("full") => Design::Full,
        Some("resolution-4") => Design::Fraction(stats::Resolution::Four),
        Some("resolution-5") => Design::Fraction(stats::Resolution::Five),
        Some(other) => {
            return Err(PlanError::Wrong(format!(
                "design {other:?}: choose from full, resolution-4 and resolution-5"
            )));
        }
    };
    let factors = file.factor.into_iter().map(factor).collect::<Result<Vec<_>, _>>()?;
    Ok(Plan {
        name: file.name,
        design,
        seeds: seeds(file.blocks, file.seeds)?,
        order: Order::Random(file.order_seed),
        responses: file.responses,
        base: settings(&file.base).map_err(|why| PlanError::Wrong(format!("base: {why}")))?,
        factors,
        first_cell: 1,
    })
}

fn seeds(blocks: Option<u32>, seeds: Option<Vec<u64>>) -> Result<Vec<u64>, PlanError> {
    match (blocks, seeds) {
        (Some(blocks), Some(seeds)) if blocks as usize != seeds.len() => {
            Err(PlanError::Wrong(format!(
                "{blocks} blocks and {} seeds: every block has a seed of its own; give only one of \
                 the two",
                seeds.len()
            )))
        }
        (_, Some(seeds)) => Ok(seeds),
        (blocks, None) => Ok((1..=u64::from(blocks.unwrap_or(DEFAULT_BLOCKS))).collect()),
    }
}

pub(crate) fn factor(file: FactorFile) -> Result<PlanFactor, PlanError> {
    let name = &file.name;
    let of_factor = |why: String| PlanError::Wrong(format!("factor {name}: {why}"));
    let shared = settings(&file.set).map_err(of_factor)?;
    let mut values = file.levels.clone();
    if let Some(range) = &file.range {
        let numbers = whole_numbers(range, MOST_RUNS as u64).map_err(of_factor)?;
        if !numbers.is_sorted() {
            return Err(of_factor(format!("range {range:?} is not FIRST..LAST, such as 1..20")));
        }
        values.extend(numbers.into_iter().map(Value::Integer));
    }
    let mut levels = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let place = |why| PlanError::Wrong(format!("factor {name}, level {}: {why}", index + 1));
        let mut made = level(value, &file).map_err(place)?;
        let filled = |text: &str| text.replace(LEVEL, &made.name);
        let of_all = shared.iter().map(|(parameter, value)| (parameter.clone(), filled(value)));
        made.build = made.build.or_else(|| file.build.as_deref().map(filled));
        made.settings.splice(0..0, of_all.collect::<Vec<_>>());
        levels.push(made);
    }
    Ok(PlanFactor { name: file.name, levels })
}

/// A level: a bare value, or a table with a name and settings.
fn level(value: &Value, factor: &FactorFile) -> Result<PlanLevel, String> {
    let own = |value: &Value| -> Result<Setting, String> {
        let parameter = factor.parameter.clone().ok_or(
            "a bare value needs the factor's `parameter`, or a `set` with {level} in it; or \
             write { name = …, set = { … } }",
        )?;
        Ok((parameter, scalar(value)?))
    };
    let Value::Table(table) = value else {
        let settings = match factor.parameter {
            None if !factor.set.is_empty() => Vec::new(),
            _ => vec![own(value)?],
        };
        return Ok(PlanLevel { name: scalar(value)?, settings, build: None });
    };
    let file: LevelFile =
        table.clone().try_into().map_err(|error: toml::de::Error| error.to_string())?;
    let mut all = settings(&file.set)?;
    if let Some(value) = &file.value {
        all.insert(0, own(value)?);
    }
    Ok(PlanLevel { name: file.name, settings: all, build: file.build })
}

/// The settings of a table, with dotted names for tables within tables.
pub(crate) fn settings(table: &toml::Table) -> Result<Vec<Setting>, String> {
    let mut found = Vec::new();
    collect("", table, &mut found)?;
    Ok(found)
}

fn collect(prefix: &str, table: &toml::Table, found: &mut Vec<Setting>) -> Result<(), String> {
    for (key, value) in table {
        let parameter = format!("{prefix}{key}");
        match value {
            Value::Table(inner) => collect(&format!("{parameter}."), inner, found)?,
            value => {
                let value = scalar(value).map_err(|why| format!("{parameter}: {why}"))?;
                found.push((parameter, value));
            }
        }
    }
    Ok(())
}

/// Settings as the table that they are read from.
pub(crate) fn settings_table(settings: &[Setting]) -> toml::Table {
    let pairs = settings.iter().cloned();
    pairs.map(|(parameter, value)| (parameter, value.into())).collect()
}

/// The text of a value that is text, a number or true/false.
pub(crate) fn scalar(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(on) => Ok(on.to_string()),
        _ => Err("a value is text, a number or true/false".to_owned()),
    }
}

impl Plan {
    /// The plan, if it meets the conditions on all plans.
    pub(crate) fn checked(self) -> Result<Self, PlanError> {
        check(&self).map(|()| self)
    }
}

fn check(plan: &Plan) -> Result<(), PlanError> {
    let wrong = |text: String| Err(PlanError::Wrong(text));
    if plan.name.is_empty() || plan.name.contains(['/', '\0']) || plan.name.starts_with('.') {
        return wrong("name: it must be usable as the name of a folder".to_owned());
    }
    if plan.factors.is_empty() {
        return wrong("an experiment needs something to vary: add a [[factor]]".to_owned());
    }
    if plan.seeds.is_empty() {
        return wrong("an experiment needs at least one block".to_owned());
    }
    let mut seeds = plan.seeds.clone();
    seeds.sort_unstable();
    if seeds.windows(2).any(|pair| pair[0] == pair[1]) {
        return wrong("seeds: each block needs a seed of its own".to_owned());
    }
    let mut names: Vec<&str> = Vec::new();
    for factor in &plan.factors {
        if factor.name.is_empty() || names.contains(&factor.name.as_str()) {
            return wrong(format!(
                "factor {:?}: every factor needs a name of its own",
                factor.name
            ));
        }
        names.push(&factor.name);
        if factor.levels.len() < 2 {
            return wrong(format!("factor {}: it needs at least two levels", factor.name));
        }
        for (index, level) in factor.levels.iter().enumerate() {
            let twice = factor.levels[..index].iter().any(|other| other.name == level.name);
            if twice || level.name.is_empty() {
                let (factor, level) = (&factor.name, &level.name);
                return wrong(format!("factor {factor}: level {level:?} needs a name of its own"));
            }
        }
    }
    let counts = plan.factors.iter().map(|factor| factor.levels.len());
    let cells = counts.fold(1_usize, usize::saturating_mul);
    let runs = cells.saturating_mul(plan.seeds.len());
    if runs > MOST_RUNS {
        return wrong(format!("{runs} runs; a plan has at most {MOST_RUNS}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_parameter_is_read_or_refused() {
        let typed = FactorFile::typed("touch.pages = small, thp").unwrap();
        assert_eq!(typed.name, "touch.pages");
        assert_eq!(typed.levels, ["small", "thp"].map(toml::Value::from));
        let refused =
            [("", "PARAM"), ("=a,b", "PARAM"), ("a=b,,c", "value 2 is empty"), ("a=", "value 1")];
        for (text, why) in refused {
            assert!(FactorFile::typed(text).err().unwrap().contains(why), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_second_parameter_is_read_or_refused(text in ".{0,40}") {
            let _ = FactorFile::typed(&text);
        }
    }
}
