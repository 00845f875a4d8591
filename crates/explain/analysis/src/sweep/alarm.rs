//! The pressure at which work costs more: what a value of pressure stall information means here.
//!
//! Each level has a pressure and a cost. More pressure goes with the same cost or more, so the costs
//! in the order of pressure are estimated by isotonic regression ([`stats::ordered_ratios`]).

use serde::Serialize;
use stats::OrderedRatio;

use super::pressure::STALLS;
use super::{Curve, Point, Priced, rows};

/// Pressure below this share of the time is not a signal: the kernel prints hundredths of a percent,
/// and any machine has some.
const LEAST_SHARE: f64 = 0.001;
/// Pressure below this multiple of that without a limit is taken for the machine's own.
const LEAST_RISE: f64 = 2.0;
/// Time constant of the kernel's `avg10` in s (`kernel/sched/psi.c`, `EXP_10s`).
const AVG10_S: f64 = 10.0;

/// Pressure and cost of the levels, and the pressure at which to alarm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PressureCosts {
    /// Whether it is the pressure of the control group alone, and not of the whole machine.
    pub is_of_group: bool,
    /// Median length of the measurements, in s.
    pub seconds: f64,
    /// The part of a constant share that `avg10` shows after that time: 1 - exp(-t / 10 s).
    pub avg10_part: f64,
    /// The levels that live, from the highest to the lowest.
    pub levels: Vec<PressureLevel>,
    /// What each kind of pressure shows of the price.
    pub alarms: Vec<Alarm>,
}

/// The pressure of one level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PressureLevel {
    /// The level, in the curve's unit.
    pub level: f64,
    /// Cost over the cost without a limit.
    pub ratio: f64,
    /// Medians of the shares of the time, in the order of [`PressureCosts::alarms`].
    pub shares: Vec<Option<f64>>,
}

/// What a kind of pressure shows of the price.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alarm {
    /// Resource and kind: `memory some`.
    pub name: String,
    /// The pressure at which the cost reaches the price, unless `problem` says why there is none.
    pub threshold: Option<Threshold>,
    /// Why there is no threshold.
    pub problem: Option<NoThreshold>,
}

/// The pressure at which the cost reaches the price, as a share of the time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// The estimate: between the two levels next to the price, extra cost goes with stalled time.
    pub share: f64,
    /// The highest pressure at which the cost is certainly within the price.
    pub low: f64,
    /// The lowest pressure at which it is certainly above; `None` if there is none.
    pub high: Option<f64>,
}

/// Why a kind of pressure has no threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoThreshold {
    /// No level certainly costs more than the price.
    NotReached,
    /// The cost rises, and this pressure does not certainly.
    NotRaised {
        /// Pressure of the level with the least pressure that certainly costs more.
        dear: f64,
        /// Its cost over the cost without a limit.
        ratio: f64,
        /// Highest pressure of a level that is certainly within the price.
        cheap: f64,
    },
}

/// The runs of one level.
struct Group {
    costs: Vec<f64>,
    shares: Vec<f64>,
}

impl Group {
    fn median(&self) -> f64 {
        stats::median(&self.shares).unwrap_or(0.0)
    }
}

impl PressureCosts {
    /// The pressures of a priced curve; `None` if they were not measured.
    pub(super) fn of(curve: &Curve, priced: &Priced) -> Option<Self> {
        let by_level = rows::by_level(curve);
        let living = priced.levels.iter().filter_map(|it| {
            let (_, points) = by_level.iter().find(|(level, _)| *level == it.level)?;
            Some((it.level, it.ratio?.ratio, points))
        });
        let living: Vec<(f64, f64, &Vec<&Point>)> = living.collect();
        let measured = living.iter().flat_map(|(.., points)| points.iter());
        let measured: Vec<_> = measured.filter_map(|point| point.pressure.as_ref()).collect();
        let is_of_group = measured.first()?.is_of_group;
        let seconds = stats::median(&measured.iter().map(|it| it.seconds).collect::<Vec<_>>())?;
        let names: Vec<&str> = STALLS
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| measured.iter().any(|it| it.shares.contains_key(*name)))
            .collect();
        let group = |points: &[&Point], name: &str| {
            let both = |point: &&Point| {
                let share = point.pressure.as_ref()?.shares.get(name)?;
                Some((point.cost.filter(|cost| *cost > 0.0)?, *share))
            };
            let (costs, shares) = points.iter().filter_map(both).unzip();
            Group { costs, shares }
        };
        let alarm = |name: &&str| {
            let groups: Vec<Group> =
                living.iter().map(|(.., points)| group(points, name)).collect();
            let found = threshold(groups, priced.price, priced.confidence);
            let (threshold, problem) = (found.ok(), found.err());
            Alarm { name: (*name).to_owned(), threshold, problem }
        };
        let level = |(level, ratio, points): &(f64, f64, &Vec<&Point>)| PressureLevel {
            level: *level,
            ratio: *ratio,
            shares: names.iter().map(|name| stats::median(&group(points, name).shares)).collect(),
        };
        Some(Self {
            is_of_group,
            seconds,
            avg10_part: 1.0 - (-seconds / AVG10_S).exp(),
            levels: living.iter().map(level).collect(),
            alarms: names.iter().map(alarm).collect(),
        })
    }

    /// The first kind of pressure that has a threshold.
    pub fn alarm(&self) -> Option<(&str, Threshold)> {
        self.alarms.iter().find_map(|alarm| Some((alarm.name.as_str(), alarm.threshold?)))
    }
}

/// The pressure at which the cost reaches the price. The first group is that without a limit.
fn threshold(groups: Vec<Group>, price: f64, confidence: f64) -> Result<Threshold, NoThreshold> {
    let mut groups: Vec<Group> =
        groups.into_iter().filter(|group| !group.costs.is_empty()).collect();
    if let [_, others @ ..] = &mut groups[..] {
        others.sort_by(|one, other| one.median().total_cmp(&other.median()));
    }
    let most = 1.0 + price;
    let ratios = ratios(&groups, confidence)?;
    is_raised(&groups, &ratios, most)?;
    // What has no more pressure than no limit costs the same, but for noise.
    let base_share = crate::extent(&groups[0].shares).1;
    let without = groups.iter().skip(1).take_while(|it| it.median() <= base_share).count();
    let merged: Vec<Group> = groups.drain(1..=without).collect();
    groups[0].costs.extend(merged.iter().flat_map(|group| &group.costs));
    groups[0].shares.extend(merged.iter().flat_map(|group| &group.shares));
    estimate(&groups, &self::ratios(&groups, confidence)?, most)
}

/// Costs over that of the first group, in the order of pressure.
fn ratios(groups: &[Group], confidence: f64) -> Result<Vec<OrderedRatio>, NoThreshold> {
    let costs: Vec<Vec<f64>> = groups.iter().map(|group| group.costs.clone()).collect();
    stats::ordered_ratios(&costs, confidence).ok_or(NoThreshold::NotReached)
}

/// Fails unless what certainly costs more has certainly more pressure.
fn is_raised(groups: &[Group], ratios: &[OrderedRatio], most: f64) -> Result<(), NoThreshold> {
    let both = || groups.iter().zip(ratios);
    let dear = both().find(|(_, ratio)| ratio.low > most);
    let (group, OrderedRatio { ratio, .. }) = dear.ok_or(NoThreshold::NotReached)?;
    let cheap = both().filter(|(_, ratio)| ratio.high <= most).map(|(group, _)| group.median());
    let (dear, cheap) = (group.median(), cheap.fold(0.0, f64::max));
    let least = LEAST_SHARE.max(LEAST_RISE * groups[0].median());
    let is_raised =
        dear >= least && dear > cheap && crate::are_apart(&groups[0].shares, &group.shares);
    if is_raised { Ok(()) } else { Err(NoThreshold::NotRaised { dear, ratio: *ratio, cheap }) }
}

/// The pressure at the price: extra cost goes with stalled time between the two groups next to it.
fn estimate(
    groups: &[Group],
    ratios: &[OrderedRatio],
    most: f64,
) -> Result<Threshold, NoThreshold> {
    let both = || groups.iter().zip(ratios);
    let cheap = both().filter(|(_, ratio)| ratio.high <= most);
    let low = cheap.map(|(group, _)| crate::extent(&group.shares).0).fold(0.0, f64::max);
    let dear = both().filter(|(_, ratio)| ratio.low > most);
    let high = dear.map(|(group, _)| crate::extent(&group.shares).1).reduce(f64::min);
    let above = ratios.iter().position(|it| it.ratio > most).ok_or(NoThreshold::NotReached)?;
    // The first ratio is 1.
    let below = above.saturating_sub(1);
    // Stalled time for the work that without a limit takes 1.
    let stalled = |index: usize| groups[index].median() * ratios[index].ratio;
    let part = (most - ratios[below].ratio) / (ratios[above].ratio - ratios[below].ratio);
    let share = (stalled(below) + part * (stalled(above) - stalled(below))) / most;
    Ok(Threshold { share, low: low.min(share), high: high.map(|high| high.max(share)) })
}
