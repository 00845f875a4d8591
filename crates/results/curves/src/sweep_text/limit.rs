//! The limit at which work begins to pay, as sentences and a table.

use analysis::sweep::{Boundary, Curve, Priced, PricedLevel, Remedy, SweepResult};
use render::format::{self, factor, percent, share};
use render::{Cell, Table};

use super::Amounts;

/// The answer in one paragraph: what it costs, the limit to set, and where it dies.
pub(super) fn answer(curve: &Curve, priced: &Priced) -> String {
    let amounts = &Amounts::new(curve);
    let parts = [cost(priced, amounts), recommendation(priced, amounts), death(priced, amounts)];
    parts.join(" ")
}

fn cost(priced: &Priced, amounts: &Amounts<'_>) -> String {
    let price = percent(priced.price);
    let (cheap, dear) = priced.bracket();
    let cheapest = amounts.level(cheap.level);
    // What is cheap within its noise only is not claimed to be cheap.
    let is_certain = priced.recommended.is_some_and(|it| it.level <= cheap.level);
    match (&priced.knee, dear) {
        (Some(knee), _) => format!(
            "At {} {} it costs {price} more than without a limit.",
            amounts.level(knee.level),
            amounts.interval(knee.low, knee.high)
        ),
        (None, None) if is_certain => format!("Down to {cheapest} no limit costs {price} more."),
        (None, None) => format!(
            "It is unclear whether limits down to {cheapest} cost {price} more: the runs differ too \
             much."
        ),
        (None, Some(dear)) if dear.deaths > 0 && is_certain => {
            format!("It does not cost {price} more before it dies: {cheapest} costs no more.")
        }
        (None, Some(dear)) if dear.deaths > 0 => format!(
            "It is unclear whether it costs {price} more before it dies: the runs at {cheapest} \
             differ too much."
        ),
        (None, Some(dear)) => format!(
            "It is unclear whether {} costs {price} more: the runs differ too much.",
            amounts.level(dear.level)
        ),
    }
}

fn recommendation(priced: &Priced, amounts: &Amounts<'_>) -> String {
    let within = |it: &PricedLevel| {
        let most = it.ratio.map_or(0.0, |ratio| ratio.high - 1.0).max(0.0);
        format!("its cost is at most {} above that without a limit", share(most))
    };
    match priced.recommended.filter(|it| it.level < priced.levels[0].level) {
        Some(it) if it.is_loose => format!(
            "Recommended: {}, which it does not reach without a limit; no lower limit is certainly \
             within {}.",
            amounts.level(it.level),
            percent(priced.price)
        ),
        Some(it) => {
            let lower = match it.level > priced.bracket().0.level {
                true => format!("; no lower limit is certainly within {}", percent(priced.price)),
                false => String::new(),
            };
            format!(
                "Recommended: {} ({}, with headroom for the spread of {}){lower}.",
                amounts.level(it.level),
                within(&it),
                format::counted(it.runs, "run"),
            )
        }
        None => no_recommendation(priced, amounts),
    }
}

/// What is true of the limits when none is certainly within the price.
fn no_recommendation(priced: &Priced, amounts: &Amounts<'_>) -> String {
    let price = percent(priced.price);
    let limited = priced.levels.get(1..).unwrap_or_default();
    let living: Vec<_> = limited.iter().filter_map(|it| Some((it, it.ratio?))).collect();
    let measured = |(it, found): &(&PricedLevel, stats::OrderedRatio)| {
        let ends = (found.low > 0.0 && found.high.is_finite())
            .then(|| format!(" {}", format::interval(found.low, found.high, factor)));
        let runs = format::counted(it.runs, "run");
        format!(
            "{} costs {} times as much{} in {runs}",
            amounts.level(it.level),
            factor(found.ratio),
            ends.unwrap_or_default()
        )
    };
    let how = "more runs (--budget), a quieter machine, or --response cpu_ns";
    match living.iter().rfind(|(_, found)| found.ratio <= 1.0 + priced.price) {
        Some(lowest) => format!(
            "No limit is certainly within {price}, as the runs differ too much. The lowest that was \
             measured within it: {}; {how} would make it certain.",
            measured(lowest)
        ),
        None if let Some(highest) = living.first() => format!(
            "No limit that was measured is within {price}; the highest: {}.",
            measured(highest)
        ),
        None if limited.is_empty() => {
            "No limit was measured but the highest: a larger --budget tries others.".to_owned()
        }
        None => "It lives at the highest limit only.".to_owned(),
    }
}

fn death(priced: &Priced, amounts: &Amounts<'_>) -> String {
    if let Some(death @ Boundary { last, first, reason }) = &priced.death {
        let [last, first] = [last, first].map(|level| amounts.level(*level));
        let below = priced.levels.iter().find(|it| it.level < death.first && it.deaths == 0);
        let but = below.map_or_else(String::new, |it| {
            format!(
                " It does not die at every lower limit: at {} it lived.",
                amounts.level(it.level)
            )
        });
        // What killed it in detail stands at its level.
        let cause = reason.split(": ").next().unwrap_or(reason);
        return format!("At {first} it dies ({cause}), at {last} it lives.{but}");
    }
    let Some(lowest) = priced.levels.last() else { return String::new() };
    let level = amounts.level(lowest.level);
    match lowest.ratio.filter(|ratio| ratio.ratio >= priced.most) {
        Some(ratio) => format!(
            "At {level} it costs {} times as much; lower limits were not tried.",
            factor(ratio.ratio)
        ),
        None => format!("It lives at {level}, the lowest limit that was tried."),
    }
}

/// Whether repetitions just above and just below agree, and the remedies.
pub(super) fn others(found: &SweepResult, priced: &Priced, amounts: &Amounts<'_>) -> Vec<String> {
    let side = |level: f64| {
        let row = found.rows.iter().find(|row| row.level == level)?;
        let base = priced.base_cost;
        let costs = format::interval(row.lowest_cost? / base, row.highest_cost? / base, factor);
        let runs = format::counted(row.measurements, "run");
        Some(format!("{runs} at {} cost {costs} times", amounts.level(level)))
    };
    let both = priced.knee.and_then(|knee| side(knee.cheap).zip(side(knee.dear)));
    let both =
        both.map(|(above, below)| format!("Both sides: {above}, {below} as much as without."));
    both.into_iter().chain(found.remedies.iter().map(|it| remedy(*it))).collect()
}

fn remedy(remedy: Remedy) -> String {
    let size = |bytes: f64| format::level(bytes, "bytes");
    match remedy {
        Remedy::HoldFiles { bytes } => format!(
            "Its {0} of file pages are what it lacks: they are evicted and read again. Leave room \
             for them; if the limit is shared, put it on a parent group and give this one \
             memory.low = {0}.",
            size(bytes)
        ),
        Remedy::FasterSwap { bytes } => format!(
            "{} is swapped: zram or zswap would make it cheaper, memory.swap.max = 0 would make it \
             die instead.",
            bytes.map_or("Anonymous memory".to_owned(), |bytes| {
                format!("About {} of anonymous memory", size(bytes))
            })
        ),
        Remedy::Swap { bytes } => format!(
            "Nothing was swapped. It may live there with {0} or more of swap; --set swap={0} measures \
             the cost.",
            size(bytes)
        ),
        Remedy::High { bytes } => format!(
            "It is killed at its limit: memory.high = {} with a higher memory.max slows it down \
             instead.",
            size(bytes)
        ),
        Remedy::Quota => {
            "Its quota of CPU time is used up: raise it, or run fewer threads.".to_owned()
        }
    }
}

/// The levels from no limit downwards.
pub(super) fn levels(priced: &Priced, found: &SweepResult, amounts: &Amounts<'_>) -> Table {
    let head = ["limit", "runs", "died", "times", "interval", "cost"];
    let row = |it: &PricedLevel| {
        let cost = found.rows.iter().find(|row| row.level == it.level).and_then(|row| row.cost);
        let ends = it.ratio.map(|ratio| (ratio.low, ratio.high));
        let ends = ends.filter(|(low, high)| *low > 0.0 && high.is_finite());
        [
            Cell::figure(amounts.level(it.level)),
            it.runs.into(),
            it.deaths.into(),
            Cell::decimals(it.ratio.map(|ratio| ratio.ratio), 2),
            Cell::Interval(ends),
            Cell::figure(cost.map(|cost| amounts.cost(cost))),
        ]
    };
    Table::of("", head, priced.levels.iter().map(row))
}

/// The price so far, in one line.
pub(super) fn so_far(curve: &Curve, priced: &Priced) -> String {
    let amounts = Amounts::new(curve);
    let (cheap, dear) = priced.bracket();
    let below = dear.map_or_else(String::new, |dear| {
        let is_dead = dear.deaths > 0;
        let what = if is_dead { "it dies" } else { "it costs more" };
        format!(", at {} {what}", amounts.level(dear.level))
    });
    format!("at {} it costs no more{below}", amounts.level(cheap.level))
}
