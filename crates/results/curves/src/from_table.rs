//! CSV tables as curves: a row is a measurement of a level.
//!
//! `elapsed_s` is divided by the work, by default the level (in Irlam's tables work grows with
//! virtual memory). Prefixes (`old_elapsed_s`) make several curves.

use std::collections::BTreeMap;

use analysis::sweep::{Curve, Point};
use model::units::split_time_name;

use crate::refusal::Refusal;
use crate::table::{Table, ends_in};

/// Curves that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// The parameter of their rows, if there are several.
    pub by: Option<String>,
    /// Each curve with its level of `by`, empty if there is only one.
    pub rows: Vec<(String, Curve)>,
    /// Where they were measured: facts that all measurements share.
    pub place: String,
    /// The plan of the sweep (TOML), if a folder has it.
    pub plan: Option<String>,
}

/// Choices that a reader cannot infer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurveOptions {
    /// The factor or column that was swept.
    pub over: Option<String>,
    /// The cost: a response of runs, or a column of a table.
    pub cost: Option<String>,
    /// The column with the amount of work of a row; the cost is per unit of it.
    pub work: Option<String>,
}

/// Suffixes of level columns, with their units.
const LEVEL_UNITS: [(&str, &str); 5] =
    [("bytes", "bytes"), ("kb", "KB"), ("mb", "MB"), ("gb", "GB"), ("level", "")];
const ELAPSED: &str = "elapsed_s";
const COST: &str = "cost";

/// The meaning of the columns of a table.
struct Columns<'t> {
    table: &'t Table,
    level: usize,
    work: Option<usize>,
    /// Prefix and column of each curve's cost.
    costs: Vec<(String, usize)>,
}

/// The curves of a CSV table named `name`. Fails when columns are missing or a cell is not a number.
pub fn curves_of_table(name: &str, text: &str, options: &CurveOptions) -> Result<Curves, Refusal> {
    let table = Table::read(text)?;
    if table.rows.is_empty() {
        return Err(Refusal::whole("a heading row and no other: there is no curve"));
    }
    let columns = Columns::new(&table, options)?;
    let mut curves = Curves::default();
    for (prefix, cost) in &columns.costs {
        let curve = columns.curve(name, prefix, *cost)?;
        curves.rows.push((prefix.trim_end_matches('_').to_owned(), curve));
    }
    curves.by = (curves.rows.len() > 1).then(|| "table".to_owned());
    Ok(curves)
}

fn level_unit(name: &str) -> Option<&'static str> {
    LEVEL_UNITS.iter().find(|(ending, _)| ends_in(name, ending)).map(|(_, unit)| *unit)
}

impl<'t> Columns<'t> {
    fn new(table: &'t Table, options: &CurveOptions) -> Result<Self, Refusal> {
        let names = &table.names;
        let named =
            |wanted: &Option<String>| wanted.as_ref().map(|it| table.column(it)).transpose();
        let lacks = |what: &str, option: &str| {
            let names = names.join(", ");
            Refusal::line(1, format!("no column is {what}; name one of {names} with {option}"))
        };
        let level = named(&options.over)?
            .or_else(|| names.iter().position(|name| level_unit(name).is_some()))
            .ok_or_else(|| lacks("the level", "--level"))?;
        let work = named(&options.work)?;
        let cost =
            named(&options.cost)?.or_else(|| names.iter().position(|name| name.starts_with(COST)));
        if let Some(cost) = cost {
            return Ok(Self { table, level, work, costs: vec![(String::new(), cost)] });
        }
        let costs = names.iter().enumerate().filter_map(|(at, name)| {
            let prefix = name.strip_suffix(ELAPSED)?;
            (prefix.is_empty() || prefix.ends_with('_')).then(|| (prefix.to_owned(), at))
        });
        let costs: Vec<(String, usize)> = costs.collect();
        if costs.is_empty() {
            return Err(lacks("a cost", "--cost"));
        }
        // Without a work column, the time grows with the level.
        Ok(Self { table, level, work: Some(work.unwrap_or(level)), costs })
    }

    fn curve(&self, name: &str, prefix: &str, cost: usize) -> Result<Curve, Refusal> {
        let names = &self.table.names;
        let (level_name, cost_name) = (&names[self.level], &names[cost]);
        let per = self.work.map(|work| {
            let name = names[work].as_str();
            let short = level_unit(name).filter(|unit| !unit.is_empty()).unwrap_or(name);
            format!(" per {short}")
        });
        let mut curve = Curve {
            name: name.to_owned(),
            parameter: level_name.clone(),
            level_unit: level_unit(level_name).unwrap_or_default().to_owned(),
            response: format!("{cost_name}{}", per.unwrap_or_default()),
            cost_unit: split_time_name(cost_name).map_or("", |(_, unit, _)| unit).to_owned(),
            ..Curve::default()
        };
        let mut passes: BTreeMap<u64, u32> = BTreeMap::new();
        for row in &self.table.rows {
            let line = row.0;
            let Some(level) = self.number(row, self.level)? else {
                return Err(self.table.refused(line, self.level, "a row without a level"));
            };
            // It was not published.
            let Some(mut value) = self.number(row, cost)? else { continue };
            let mut figures = self.figures(row, prefix);
            if let Some(column) = self.work {
                let work = self.number(row, column)?.filter(|work| *work > 0.0);
                let refused = || self.table.refused(line, column, "work is a number above 0");
                let work = work.ok_or_else(refused)?;
                value /= work;
                figures.insert("work".to_owned(), work);
            }
            let pass = passes.entry(level.to_bits()).or_insert(0);
            curve.points.push(Point {
                level,
                name: format!("line {line}"),
                pass: *pass,
                cost: Some(value),
                figures,
                ..Point::default()
            });
            *pass += 1;
        }
        Ok(curve)
    }

    /// The other columns with the same prefix; times in ns.
    fn figures(&self, row: &(usize, Vec<String>), prefix: &str) -> BTreeMap<String, f64> {
        let figure = |(column, name): (usize, &String)| {
            let of_another = self.costs.iter().any(|(other, _)| {
                !other.is_empty() && other != prefix && name.starts_with(other.as_str())
            });
            if of_another || column == self.level || Some(column) == self.work {
                return None;
            }
            // Only the chosen cost must be a number.
            let value = self.number(row, column).ok()??;
            let own = name.strip_prefix(prefix).unwrap_or(name);
            Some(match split_time_name(own) {
                Some((stem, _, scale)) => (format!("{stem}_ns"), value * scale),
                None => (own.to_owned(), value),
            })
        };
        self.table.names.iter().enumerate().filter_map(figure).collect()
    }

    /// A cell of a row, which is a line number and its cells.
    fn number(&self, row: &(usize, Vec<String>), column: usize) -> Result<Option<f64>, Refusal> {
        let cell = row.1.get(column).map_or("", String::as_str);
        match cell.parse::<f64>() {
            _ if cell.is_empty() => Ok(None),
            Ok(value) if value.is_finite() => Ok(Some(value)),
            _ => Err(self.table.refused(row.0, column, format!("{cell:?} is not a number"))),
        }
    }
}
