//! CPU time that is saved for the looks at which it matters most: when memory is being taken, those who
//! take it are to be seen before the machine freezes.
//!
//! A look at all processes of a large machine costs more than the black box may use, so a usual look
//! leaves out those that were least active. But a process that fills memory is often one that was idle
//! before, and after it has begun there are only a few looks left. So each look leaves a fifth of its
//! budget unused, up to ten budgets are saved, and all of it is spent on the first look after which
//! less memory is available than before by 2 % of the whole. The average never exceeds the budget.

use doctor::Snapshot;

/// Share of each budget that is saved.
const SAVED_SHARE: f64 = 0.2;
/// Most that is saved, in budgets.
const SAVED_MAX: f64 = 10.0;
/// Share of memory by which what is available falls between two looks when a process takes it.
const FALL_SHARE: f64 = 0.02;

/// The reserve of a survey.
#[derive(Debug)]
pub(crate) struct Reserve {
    budget_ns: f64,
    saved_ns: f64,
    /// Available memory at the last look, in kB; more than there can be before the first.
    available_kb: u64,
}

impl Reserve {
    /// A full one, for a first look at everything: growth needs a beginning.
    pub(crate) fn new(budget_ns: u64) -> Self {
        let budget_ns = budget_ns as f64;
        Self { budget_ns, saved_ns: SAVED_MAX * budget_ns, available_kb: u64::MAX }
    }

    /// CPU time for this look, in ns; `machine` has the counters of the machine now.
    pub(crate) fn spend(&mut self, machine: &Snapshot) -> f64 {
        let kb = |name: &str| machine.machine.get("meminfo")?.get(name).copied();
        // A kernel that does not have the figure has no fall after the first look.
        let now_kb = kb("MemAvailable_kb").unwrap_or(0);
        let fallen_kb = std::mem::replace(&mut self.available_kb, now_kb).saturating_sub(now_kb);
        let least_kb = FALL_SHARE * kb("MemTotal_kb").unwrap_or(u64::MAX) as f64;
        let saved_ns = SAVED_SHARE * self.budget_ns;
        if fallen_kb as f64 > least_kb {
            return self.budget_ns - saved_ns + std::mem::take(&mut self.saved_ns);
        }
        self.saved_ns = (self.saved_ns + saved_ns).min(SAVED_MAX * self.budget_ns);
        self.budget_ns - saved_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_available(available_kb: u64) -> Snapshot {
        let values = [("MemTotal_kb", 1_000_000), ("MemAvailable_kb", available_kb)];
        let values = values.map(|(name, value)| (name.into(), value)).into();
        Snapshot { machine: [("meminfo".into(), values)].into(), ..Snapshot::default() }
    }

    #[test]
    fn what_is_saved_is_spent_when_memory_is_taken() {
        let mut reserve = Reserve::new(1000);
        assert_eq!(reserve.spend(&with_available(900_000)), 10_800.0, "the first look");
        assert_eq!(reserve.spend(&with_available(890_000)), 800.0);
        assert_eq!(reserve.spend(&with_available(900_000)), 800.0, "memory became free");
        assert_eq!(reserve.spend(&with_available(800_000)), 1200.0, "two looks saved 200 each");
        assert_eq!(reserve.spend(&with_available(700_000)), 800.0, "nothing is left");
        for _ in 0..100 {
            reserve.spend(&with_available(700_000));
        }
        assert_eq!(reserve.spend(&with_available(600_000)), 10_800.0);
    }

    #[test]
    fn a_kernel_without_the_figure_has_equal_looks_after_the_first() {
        let mut reserve = Reserve::new(1000);
        reserve.spend(&Snapshot::default());
        assert_eq!(reserve.spend(&Snapshot::default()), 800.0);
        assert_eq!(reserve.spend(&with_available(1)), 800.0);
    }
}
