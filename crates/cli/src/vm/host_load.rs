//! A busy host: as many processes that never wait as there are processors.

use std::io;

use sys::process::{fork_child, signal, signals, usable_cpus, wait};

/// Busy processes; killed when dropped, and when this process dies.
pub(super) struct HostLoad(Vec<u32>);

impl HostLoad {
    /// Starts one a processor. Only a process with a single thread can.
    pub(super) fn start() -> io::Result<Self> {
        let mut load = Self(Vec::new());
        for _ in 0..usable_cpus() {
            load.0.push(fork_child(|| {
                let mut number = 0_u64;
                loop {
                    number = std::hint::black_box(number.wrapping_add(1));
                }
            })?);
        }
        Ok(load)
    }
}

impl Drop for HostLoad {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = signal(*pid, signals::KILL);
            let _ = wait(*pid, true);
        }
    }
}
