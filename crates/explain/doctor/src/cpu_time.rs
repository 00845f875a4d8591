//! The CPU time of the machine: the denominator of CPU losses.

use crate::LostTime;
use crate::interval::{Interval, TICK_NS};

/// States of `/proc/stat` in which a CPU was wanted; `guest` is in `user` already.
const WANTED: [&str; 6] = ["user", "nice", "system", "irq", "softirq", "steal"];
const NOT_WANTED: [&str; 2] = ["idle", "iowait"];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CpuTime {
    pub(crate) cpus: u64,
    /// Time in which CPUs were wanted, in ns: an idle CPU loses nothing.
    pub(crate) wanted_ns: f64,
}

impl CpuTime {
    /// The counts of `/proc/stat`; `None` if unavailable.
    pub(crate) fn in_interval(interval: &Interval<'_>) -> Option<Self> {
        let ns = |states: &[&str]| {
            let known = states.iter().filter_map(|state| cpu_ticks(interval, state));
            known.reduce(|sum, ticks| sum + ticks).map(|ticks| ticks * TICK_NS)
        };
        let wanted_ns = ns(&WANTED)?;
        let all_ns = wanted_ns + ns(&NOT_WANTED).unwrap_or(0.0);
        let cpus = (all_ns / interval.elapsed_ns().max(1) as f64).round().max(1.0) as u64;
        Some(Self { cpus, wanted_ns })
    }

    pub(crate) fn lost(&self, lost_ns: f64) -> LostTime {
        LostTime::of_cpus(lost_ns, self.cpus, self.wanted_ns)
    }
}

/// CPU time of the machine in a state, in ticks.
pub(crate) fn cpu_ticks(interval: &Interval<'_>, state: &str) -> Option<f64> {
    interval.machine().grown("stat", &format!("cpu_{state}_ticks"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Second;

    #[test]
    fn cpus_are_counted_and_idle_ones_have_no_time_to_lose() {
        let second = Second::of_machine(&[
            ("stat", "cpu_user_ticks", 90),
            ("stat", "cpu_steal_ticks", 10),
            ("stat", "cpu_idle_ticks", 300),
        ]);
        let cpus = CpuTime::in_interval(&second.interval()).unwrap();
        assert_eq!(cpus, CpuTime { cpus: 4, wanted_ns: 1e9 });
        assert_eq!(cpus.lost(2.5e8).lost_share, 0.25);
        assert_eq!(CpuTime::in_interval(&Second::bare().interval()), None);
    }
}
