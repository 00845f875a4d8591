//! Irlam's estimate of what stealing pmegs cost.

use doctor::PmegEstimate;
use render::format::grouped;
use render::{Block, Document};
use serde_json::json;

/// The estimate with all pages of a stolen pmeg used again, and with half of them.
pub fn pmeg_estimate_document(allocations: u64, steals: u64) -> Document<'static> {
    let [whole, half] = [32, 16].map(|faults| PmegEstimate::published(allocations, steals, faults));
    let hours = |ns: u64| ns as f64 / 3.6e12;
    let line = |it: &PmegEstimate| {
        let (steals, faults, us) = (grouped(it.steals), it.faults_per_steal, it.fault_ns / 1000);
        let (lost_s, share) = (grouped(it.lost_ns / 1_000_000_000), 100.0 * it.lost_share);
        let (lost_h, of_h) = (hours(it.lost_ns), hours(it.uptime_ns));
        format!(
            "{steals} steals x {faults} faults x {us} us = {lost_s} s = {lost_h:.2} h of \
             {of_h:.0} h: {share:.1} %"
        )
    };
    let text = format!(
        "pmeg-steal: pmegs are stolen between processes; {:.1} % of {} allocations were steals\n\
         time lost if every page of a stolen pmeg is used again:\n  {}\n\
         if half of them are:\n  {}\n",
        100.0 * whole.steal_share(),
        grouped(allocations),
        line(&whole),
        line(&half),
    );
    Document::of(vec![Block::Verbatim(text)]).with_data(json!({
        "steal_share": whole.steal_share(),
        "all_pages": whole,
        "half_the_pages": half,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_estimate_is_printed() {
        let document = pmeg_estimate_document(3_173_659, 2_685_512);
        insta::assert_snapshot!(render::plain_text(&document), @r"
        pmeg-steal: pmegs are stolen between processes; 84.6 % of 3,173,659 allocations were steals
        time lost if every page of a stolen pmeg is used again:
          2,685,512 steals x 32 faults x 280 us = 24,062 s = 6.68 h of 48 h: 13.9 %
        if half of them are:
          2,685,512 steals x 16 faults x 280 us = 12,031 s = 3.34 h of 48 h: 7.0 %
        ");
    }
}
