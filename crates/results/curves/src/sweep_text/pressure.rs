//! What a value of pressure stall information means for a cost, as sentences and tables.

use analysis::sweep::{Alarm, NoThreshold, PressureCosts, Priced, Threshold};
use render::format::{self, percent, share};
use render::{Block, Cell, Table};

use super::Amounts;

/// Part of a constant pressure from which `avg10` counts as that pressure.
const REACHED: f64 = 0.95;

/// The pressure to alarm at, or why there is none; and what `avg10` shows of it.
pub(super) fn sentences(found: &PressureCosts, priced: &Priced) -> Vec<String> {
    let price = percent(priced.price);
    let Some((name, threshold)) = found.alarm() else { return no_alarm(found) };
    let is_lasting = found.avg10_part >= REACHED;
    let (what, of_time) = if is_lasting { (" avg10", "") } else { ("", " of the time") };
    let mut sentences = vec![format!(
        "Alarm at {name}{what} above {}{of_time}: there it costs {price} more.",
        with_interval(threshold)
    )];
    if !is_lasting {
        sentences.push(format!(
            "A run took {}, in which avg10 rises to {} of a constant share (1 - exp(-t / 10s)), here \
             {}: compare the share with avg10 only where the pressure lasts for 30s.",
            format::duration(found.seconds * 1e9),
            share(found.avg10_part),
            pressure(threshold.share * found.avg10_part),
        ));
    }
    if !found.is_of_group {
        sentences.push(
            "Pressure is that of the whole machine, with all other processes: no pressure files of \
             the control group were read."
                .to_owned(),
        );
    }
    sentences
}

/// Why no pressure shows the cost; nothing if no cost reaches the price.
fn no_alarm(found: &PressureCosts) -> Vec<String> {
    let why = found.alarms.iter().find_map(|alarm| match alarm.problem? {
        NoThreshold::NotRaised { dear, ratio, cheap } => Some((&alarm.name, dear, ratio, cheap)),
        NoThreshold::NotReached => None,
    });
    let sentence = |(name, dear, ratio, cheap): (&String, f64, f64, f64)| {
        format!(
            "No value of the pressure shows this cost: {name} is {} at the limit that costs {} times \
             as much, and up to {} at limits within the price. Either the extra time is work and not \
             waiting, or other processes cause the pressure.",
            pressure(dear),
            format::factor(ratio),
            pressure(cheap)
        )
    };
    why.map(sentence).into_iter().collect()
}

/// A pressure with the digits that the kernel prints: hundredths of a percent below 1 %.
fn pressure(value: f64) -> String {
    if value < 0.009_95 { format!("{:.2} %", 100.0 * value) } else { share(value) }
}

fn with_interval(Threshold { share: at, low, high }: Threshold) -> String {
    match high {
        Some(high) => format!("{} {}", pressure(at), format::interval(low, high, pressure)),
        None => format!("{} (at least {})", pressure(at), pressure(low)),
    }
}

/// Pressure and cost of each level, and what each kind of pressure shows.
pub(super) fn tables(found: &PressureCosts, amounts: &Amounts<'_>) -> [Block; 2] {
    let names = found.alarms.iter().map(|alarm| alarm.name.as_str());
    let head = ["limit", "times"].into_iter().chain(names);
    let levels = found.levels.iter().map(|level| {
        let shares =
            level.shares.iter().map(|share| share.map(|it| Cell::Figure(pressure(it))).into());
        let first =
            [Cell::figure(amounts.level(level.level)), Cell::decimals(Some(level.ratio), 2)];
        first.into_iter().chain(shares).collect::<Vec<Cell>>()
    });
    let whose = if found.is_of_group { "the control group" } else { "the machine" };
    let caption = format!("pressure of {whose}, as a share of the time (medians)");
    let head_of_alarms = ["pressure", "alarm at", "interval"];
    let row = |alarm: &Alarm| {
        let ends = alarm.threshold.and_then(|it| Some((it.low, it.high?)));
        let text = |(low, high)| format::interval(low, high, pressure);
        [
            Cell::from(&alarm.name),
            alarm.threshold.map(|it| Cell::Figure(pressure(it.share))).into(),
            ends.map(|ends| Cell::Figure(text(ends))).into(),
        ]
    };
    [
        Table::of(&caption, head, levels).into(),
        Table::of(
            "pressure at which the cost reaches the price",
            head_of_alarms,
            found.alarms.iter().map(row),
        )
        .into(),
    ]
}
