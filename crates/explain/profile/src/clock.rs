//! How the clocks of a guest are related: the emulator's, the kernel's, and that of a run.

/// Two readings of the emulator's clock (the time stamp counter) and `CLOCK_MONOTONIC`, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) first: (u64, u64),
    pub(crate) last: (u64, u64),
    /// `CLOCK_REALTIME` less `CLOCK_MONOTONIC`, which is constant in a guest.
    pub(crate) realtime_offset_ns: u64,
}

impl Clock {
    /// Whether both clocks continued between the readings.
    pub(crate) fn goes(&self) -> bool {
        self.first.0 < self.last.0 && self.first.1 < self.last.1
    }

    /// The emulator's time at a time of day.
    pub(crate) fn virtual_ns(&self, realtime_ns: u64) -> u64 {
        let monotonic_ns = i128::from(realtime_ns) - i128::from(self.realtime_offset_ns);
        let since_first = monotonic_ns - i128::from(self.first.1);
        let counted = i128::from(self.last.0 - self.first.0);
        let elapsed = i128::from(self.last.1 - self.first.1);
        let at = i128::from(self.first.0) + (since_first * counted).div_euclid(elapsed);
        at.clamp(0, i128::from(u64::MAX)) as u64
    }

    /// The time of day at a time of the emulator: the inverse of [`Self::virtual_ns`], to 1 ns.
    pub(crate) fn realtime_ns(&self, virtual_ns: u64) -> u64 {
        let since_first = i128::from(virtual_ns) - i128::from(self.first.0);
        let counted = i128::from(self.last.0 - self.first.0);
        let elapsed = i128::from(self.last.1 - self.first.1);
        let monotonic_ns =
            i128::from(self.first.1) + (since_first * elapsed + counted - 1).div_euclid(counted);
        let at = monotonic_ns + i128::from(self.realtime_offset_ns);
        at.clamp(0, i128::from(u64::MAX)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lie_on_a_line() {
        let clock = Clock { first: (1000, 50), last: (3000, 1050), realtime_offset_ns: 7 };
        assert!(clock.goes());
        for (realtime_ns, expected) in [(57, 1000), (1057, 3000), (558, 2002), (7, 900), (0, 886)] {
            assert_eq!(clock.virtual_ns(realtime_ns), expected, "{realtime_ns}");
            assert_eq!(clock.realtime_ns(expected), realtime_ns);
        }
        assert!(!Clock::default().goes());
    }
}
