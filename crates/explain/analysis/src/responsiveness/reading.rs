//! The effect of a load on the user, in a line.

use model::units::measured_duration;
use model::{BASELINE, EndStatus};

use super::matrix::{DELIVERED_AT_LEAST, Row, STALL_FACTOR};

/// Ratio from which a machine feels slower, not only busy.
const SLOW_RATIO: f64 = 2.0;
/// Share of stalled responses from which a machine feels uneven.
const UNEVEN_SHARE: f64 = 0.05;

pub(crate) fn reading(row: &Row, baseline_median_ns: Option<f64>) -> String {
    let count = row.delays_ns.len();
    let died = match row.status {
        EndStatus::LoadDied => "the load died",
        EndStatus::KernelDied => "the kernel died",
        EndStatus::OutOfMemory => "killed for lack of memory",
        EndStatus::Killed => "killed",
        EndStatus::Failed => "failed",
        EndStatus::Complete | EndStatus::Interrupted | EndStatus::Timeout => "",
    };
    if count == 0 {
        let is_told = matches!(row.status, EndStatus::LoadDied | EndStatus::KernelDied);
        return if is_told { format!("not measured: {died}") } else { "not measured".to_owned() };
    }
    let mut text = feeling(row, baseline_median_ns);
    if row.censored > 0 {
        text += &format!("; {} of {count} never finished", row.censored);
    }
    if !died.is_empty() {
        text += &format!("; {died}");
    }
    if let Some(delivered) = row.delivered.filter(|delivered| *delivered < DELIVERED_AT_LEAST) {
        text.push_str(&format!("; load not delivered ({:.0} %)", 100.0 * delivered));
    }
    if !row.warm {
        text.push_str("; the load never became warm");
    }
    text
}

/// The effect of a load on the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feeling {
    /// There are no responses.
    NotMeasured,
    /// It is the reference.
    Reference,
    /// There is no reference.
    NoReference,
    /// Most responses take several times as long.
    Slow,
    /// Some responses take several times as long.
    Uneven,
    /// It is significantly slower, by a noticeable factor.
    Slower,
    /// It is significantly slower.
    LittleSlower,
    /// It is significantly faster.
    LittleFaster,
    /// The interval is too wide.
    Unsure,
    /// There is no significant difference.
    Same,
}

impl Feeling {
    /// Judges a load.
    pub fn new(row: &Row, baseline_median_ns: Option<f64>) -> Self {
        if row.delays_ns.is_empty() {
            return Self::NotMeasured;
        }
        if row.load == BASELINE {
            return Self::Reference;
        }
        let (Some(ratio), Some(baseline_ns)) = (row.ratio, baseline_median_ns) else {
            return Self::NoReference;
        };
        let median_ratio = row.median_ns.map_or(ratio.ratio, |median_ns| median_ns / baseline_ns);
        match ratio {
            // It was slow, whatever more seeds would show.
            _ if median_ratio > STALL_FACTOR && (ratio.low > 1.0 || ratio.method.is_some()) => {
                Self::Slow
            }
            _ if row.stalled_share() >= Some(UNEVEN_SHARE) => Self::Uneven,
            _ if ratio.low >= SLOW_RATIO => Self::Slower,
            _ if ratio.low > 1.0 => Self::LittleSlower,
            _ if ratio.high < 1.0 => Self::LittleFaster,
            _ if ratio.says_nothing() => Self::Unsure,
            _ => Self::Same,
        }
    }
}

fn feeling(row: &Row, baseline_median_ns: Option<f64>) -> String {
    let [_, _, max] = row.quantiles_ns();
    let max =
        max.map_or_else(String::new, |it| it.mark().to_owned() + &measured_duration(it.value));
    let ratio = row.ratio.map_or(f64::NAN, |ratio| ratio.ratio);
    let times = row.ratio.map_or_else(String::new, |ratio| ratio.times());
    match Feeling::new(row, baseline_median_ns) {
        Feeling::NotMeasured => "not measured".to_owned(),
        Feeling::Reference if row.stalled == 0 => "the reference".to_owned(),
        Feeling::Reference => format!("the reference, but with stalls up to {max}"),
        Feeling::NoReference => "no reference to compare with".to_owned(),
        Feeling::Slow => format!("feels slow: {times} times the time without load, at worst {max}"),
        Feeling::Uneven => {
            let (stalled, all) = (row.stalled, row.delays_ns.len());
            format!("feels uneven: {stalled} of {all} responses stall, up to {max}")
        }
        Feeling::Slower => format!("feels slower: {times} times the time without load"),
        Feeling::LittleSlower => format!("a little slower ({:+.0} %)", 100.0 * (ratio - 1.0)),
        Feeling::LittleFaster => format!("a little faster ({:+.0} %)", 100.0 * (ratio - 1.0)),
        Feeling::Unsure => {
            let needs = row.ratio.map_or_else(String::new, |ratio| ratio.needs_text());
            format!("cannot tell: an interval {needs}")
        }
        Feeling::Same => "as without load, as far as this run shows".to_owned(),
    }
}

pub(crate) fn overall(rows: &[Row]) -> String {
    let compared = || rows.iter().filter_map(|row| row.ratio.map(|ratio| (row, ratio)));
    if compared().next().is_none() {
        return "Nothing to compare: it takes noload and at least one load.".to_owned();
    }
    let worst = compared()
        .filter(|(_, ratio)| ratio.low > 1.0)
        .max_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio));
    let text = match worst {
        None => "No load makes it slower, as far as this run shows".to_owned(),
        Some((row, ratio)) => {
            let high = match ratio.high {
                f64::INFINITY => "∞".to_owned(),
                high => format!("{high:.1}"),
            };
            format!(
                "Worst under {}: {} times the time without load ({:.0} % interval {:.1} to {high} \
                 {})",
                row.load,
                ratio.times(),
                100.0 * ratio.confidence,
                ratio.low,
                ratio.over()
            )
        }
    };
    let stalling = rows.iter().filter(|row| row.stalled > 0).map(|row| row.load.as_str());
    match stalling.collect::<Vec<_>>()[..] {
        [] => text + "; no response stalled.",
        ref loads => format!("{text}; responses stall under {}.", loads.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::responsiveness::{Claim, LowerBounds, Ratio};
    use std::collections::BTreeMap;

    fn row(load: &str, ratio: f64, low: f64) -> Row {
        Row {
            load: load.to_owned(),
            version: 1,
            delays_ns: vec![model::Observation::exact(1.0)],
            censored: 0,
            median_ns: Some(1.0),
            p90_ns: None,
            max_ns: None,
            lower_bounds: LowerBounds::default(),
            ratio: Some(Ratio {
                ratio,
                low,
                high: 9.0,
                allowed: None,
                confidence: 0.95,
                claim: Claim::ThisRun,
                units: 1,
                method: None,
                needs: None,
            }),
            stalled: 0,
            parts_ns: BTreeMap::new(),
            delivered: None,
            totals: BTreeMap::new(),
            warm: true,
            status: EndStatus::Complete,
            reading: String::new(),
        }
    }

    #[test]
    fn the_worst_load_is_one_that_is_surely_slower() {
        let rows = [row("cpuload", 1.8, 1.4), row("2ctx-mem", 2.6, 0.8)];
        assert!(overall(&rows).starts_with("Worst under cpuload: 1.8 times"), "{}", overall(&rows));
        assert!(overall(&rows[1..]).starts_with("No load makes it slower"));
        assert!(overall(&[]).starts_with("Nothing to compare"));
    }
}
