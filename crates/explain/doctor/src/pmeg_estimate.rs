//! Irlam's estimate of the cost of stolen pmegs on a Sun-4: steals x faults per steal x fault cost.
//!
//! Source: Gordon Irlam, article of 9 July 1990, in Mark Lawrence, "Summary: Sun 4 MMU & the 'PMEG
//! Thrashing (Stealing) Problem'", 14 September 1990.

use serde::Serialize;

/// The cost of a fault in ns, which Irlam derived from two rows of his table.
const FAULT_NS: u64 = 280_000;
/// Uptime of the machine in ns.
const UPTIME_NS: u64 = 48 * 3_600_000_000_000;

/// A Sun-4's pmeg counters since boot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PmegEstimate {
    /// Pmegs that were allocated.
    pub allocations: u64,
    /// Pmegs that were stolen from another process.
    pub steals: u64,
    /// Faults until a stolen pmeg is complete again: its pages in use, at most 32 of 8 KB.
    pub faults_per_steal: u64,
    /// The cost of a fault in ns.
    pub fault_ns: u64,
    /// The time since boot in ns.
    pub uptime_ns: u64,
    /// The time lost in ns.
    pub lost_ns: u64,
    /// Lost time as a share of the time since boot.
    pub lost_share: f64,
}

impl PmegEstimate {
    /// The estimate for the published counters.
    pub fn published(allocations: u64, steals: u64, faults_per_steal: u64) -> Self {
        let (fault_ns, uptime_ns) = (FAULT_NS, UPTIME_NS);
        let lost_ns = steals.saturating_mul(faults_per_steal).saturating_mul(fault_ns);
        let lost_share = lost_ns as f64 / uptime_ns as f64;
        Self { allocations, steals, faults_per_steal, fault_ns, uptime_ns, lost_ns, lost_share }
    }

    /// The share of allocations that were steals, 0 to 1.
    pub fn steal_share(&self) -> f64 {
        self.steals as f64 / self.allocations.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_counters_cost_seven_of_forty_eight_hours() {
        let whole = PmegEstimate::published(3_173_659, 2_685_512, 32);
        assert_eq!(whole.lost_ns / 1_000_000_000, 24_062);
        assert_eq!(format!("{:.1}", 100.0 * whole.lost_share), "13.9");
        assert_eq!(format!("{:.1}", 100.0 * whole.steal_share()), "84.6");
    }
}
