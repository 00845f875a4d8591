//! Irlam's estimate of what stealing pmegs cost, as text and JSON.

use doctor::PmegEstimate;
use serde_json::{Value, json};

/// The estimate with all pages of a stolen pmeg used again, and with half of them. Ends in a
/// newline.
#[must_use]
pub fn pmeg_estimate_text(whole: &PmegEstimate) -> String {
    let hours = |ns: u64| ns as f64 / 3.6e12;
    let line = |it: &PmegEstimate| {
        format!(
            "{} steals x {} faults x {} us = {} s = {:.2} h of {:.0} h: {:.1} %\n",
            thousands(it.steals),
            it.faults_per_steal,
            it.fault_ns / 1000,
            thousands(it.lost_ns() / 1_000_000_000),
            hours(it.lost_ns()),
            hours(it.uptime_ns),
            100.0 * it.lost_share(),
        )
    };
    format!(
        "pmeg-steal: pmegs are stolen between processes; {:.1} % of {} allocations were steals\n\
         time lost if every page of a stolen pmeg is used again:\n  {}if half of them are:\n  {}",
        100.0 * whole.steal_share(),
        thousands(whole.allocations),
        line(whole),
        line(&whole.with_half_the_faults()),
    )
}

/// The same as JSON.
#[must_use]
pub fn pmeg_estimate_json(whole: &PmegEstimate) -> Value {
    let figures = |it: &PmegEstimate| {
        let mut value = json!(it);
        value["lost_ns"] = json!(it.lost_ns());
        value["lost_share"] = json!(it.lost_share());
        value
    };
    json!({
        "steal_share": whole.steal_share(),
        "all_pages": figures(whole),
        "half_the_pages": figures(&whole.with_half_the_faults()),
    })
}

/// A number with commas between thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut parts = vec![&digits[..first]];
    parts.extend((first..digits.len()).step_by(3).map(|at| &digits[at..at + 3]));
    parts.retain(|part| !part.is_empty());
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_estimate_is_printed() {
        let text = pmeg_estimate_text(&PmegEstimate::published(3_173_659, 2_685_512));
        insta::assert_snapshot!(text, @r"
        pmeg-steal: pmegs are stolen between processes; 84.6 % of 3,173,659 allocations were steals
        time lost if every page of a stolen pmeg is used again:
          2,685,512 steals x 32 faults x 280 us = 24,062 s = 6.68 h of 48 h: 13.9 %
        if half of them are:
          2,685,512 steals x 16 faults x 280 us = 12,031 s = 3.34 h of 48 h: 7.0 %
        ");
    }
}
