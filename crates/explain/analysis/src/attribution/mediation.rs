//! What a counter explains of a time, at a price for each count.

use std::collections::BTreeMap;

use model::units::TIME_UNITS;

use super::Options;
use super::outcome::{CostOrigin, Mediated, MediationOutcome};
use super::table::{Row, Table};
use crate::{Dataset, Refused, unknown};

/// Fact of a system: the cost of a page fault, in ns.
pub const FAULT_COST_FACT: &str = "page_fault_ns";
/// Fact of a trial: how many users share the count, where the response is per user.
pub const USERS_FACT: &str = "users_per_count";

/// Tries the mediator requested, or page faults where a time was measured too.
pub(super) fn mediation(
    dataset: &Dataset,
    table: &mut Table,
    options: &Options,
) -> Result<Option<MediationOutcome>, Refused> {
    let asked = options.mediator.as_deref();
    let response = &table.response;
    let mut faults = dataset.responses.keys().filter(|name| name.contains("faults"));
    let automatic = faults.find(|name| *name != response).map(String::as_str);
    let Some(mediator) = asked.or(automatic) else { return Ok(None) };
    let refused = |reason: &str| Err(Refused::new(format!("mediator {mediator:?}: {reason}")));
    if mediator == response {
        return refused("a response cannot explain itself");
    }
    let Some(units_per_ns) = units_per_ns(&dataset.responses[response].unit) else {
        let reason = format!("{response} is not a time; choose one with --response");
        return if asked.is_some() { refused(&reason) } else { Ok(None) };
    };
    if !table.rows.iter().any(|row| row.others.contains_key(mediator)) {
        let what = format!("mediator {mediator:?}: no trial has this response");
        return Err(unknown(what, dataset.responses.keys()));
    }
    let per = options.per.or_else(|| fact(dataset, USERS_FACT)).unwrap_or(1.0);
    let Some(mut found) = priced(dataset, table, options, mediator, units_per_ns, per) else {
        let advice = "what one costs is not known and cannot be estimated from these trials: give \
                      it with --unit-cost";
        if asked.is_some() {
            return refused(advice);
        }
        table.notes.push(format!("{mediator} may explain a part of {response}, but {advice}"));
        return Ok(None);
    };
    let ends = super::step::ends(table);
    found.steps = ends.iter().filter_map(|end| mediated(table, &found, end)).collect();
    Ok(Some(found))
}

fn priced(
    dataset: &Dataset,
    table: &Table,
    options: &Options,
    mediator: &str,
    units_per_ns: f64,
    per: f64,
) -> Option<MediationOutcome> {
    let priced = |unit_cost, unit_cost_interval, cost_origin| {
        let (mediator, steps) = (mediator.to_owned(), Vec::new());
        Some(MediationOutcome { mediator, unit_cost, unit_cost_interval, cost_origin, per, steps })
    };
    if let Some(cost_ns) = options.unit_cost_ns {
        return priced(cost_ns * units_per_ns, None, CostOrigin::Given);
    }
    if let Some(cost_ns) = fact(dataset, FAULT_COST_FACT).filter(|_| mediator.contains("faults")) {
        return priced(cost_ns * units_per_ns, None, CostOrigin::Fact);
    }
    // Within cells: the difference between levels is what it explains.
    let mut cells: BTreeMap<&[usize], Vec<(f64, f64)>> = BTreeMap::new();
    for row in &table.rows {
        if let Some((counted, figure)) = row.others.get(mediator).zip(row.whole) {
            cells.entry(&row.levels).or_default().push((counted / per, figure));
        }
    }
    let cells: Vec<Vec<(f64, f64)>> = cells.into_values().collect();
    let found = stats::unit_cost(&cells, options.confidence)?;
    priced(found.cost, Some((found.low, found.high)), CostOrigin::Estimated)
}

fn mediated(table: &Table, price: &MediationOutcome, end: &[usize]) -> Option<Mediated> {
    let start = vec![0; end.len()];
    let mean = |levels: &[usize], figure: &dyn Fn(&Row) -> Option<f64>| {
        let rows = table.rows.iter().filter(|row| row.levels == levels);
        stats::mean(&rows.filter_map(figure).collect::<Vec<f64>>())
    };
    let change =
        |figure: &dyn Fn(&Row) -> Option<f64>| Some(mean(end, figure)? - mean(&start, figure)?);
    let of = change(&|row| row.whole)?;
    let counted = change(&|row| row.others.get(&price.mediator).copied())?;
    let found = stats::mediation(counted / price.per, of, price.unit_cost);
    let names = |levels: &[usize]| {
        table.factors.iter().zip(levels).map(|(f, level)| f.levels[*level].clone()).collect()
    };
    Some(Mediated {
        from: names(&start),
        to: names(end),
        counted,
        explained: found.explained,
        of,
        percent: found.share.map(|share| 100.0 * share),
        cost_of_all: found.unit_cost_for_all,
    })
}

fn fact(dataset: &Dataset, name: &str) -> Option<f64> {
    let mut values = dataset.trials.iter().map(|trial| trial.environment.get(name));
    let first = values.next()??;
    values.all(|other| other == Some(first)).then(|| first.parse().ok())?
}

/// One ns in a unit; `None` if that is not a unit of time.
fn units_per_ns(unit: &str) -> Option<f64> {
    let unit = if unit == "µs" { "us" } else { unit };
    TIME_UNITS.iter().find(|(known, _)| *known == unit).map(|(_, ns)| 1.0 / ns)
}
