//! Burst credits: a process of the guest counts the disk's requests, and switches the disk to fewer
//! requests per second while it has no credits.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use model::{BurstSpec, DiskSpec, MachineSpec};
use sys::clock::monotonic_ns;
use sys::device_mapper::{resume, suspend};

use super::drivers::{BLOCK_DEVICES, SCSI_DISK, find, switch};
use super::mappings;
use crate::at;
use crate::protocol::{PROGRAM, ROLE};

/// Argument of the process that watches the disk.
pub(crate) const COMMAND: &str = "credits";
const DISK_PATH: &str = "/run/disk";
const POLL: Duration = Duration::from_millis(50);
const NS_PER_S: i128 = 1_000_000_000;
/// Finished requests in a disk's `stat`: reads, writes, discards, flushes
/// (`Documentation/block/stat.rst`).
const FINISHED: [usize; 4] = [0, 4, 11, 15];

/// Starts the process if a disk has credits; it begins with all of them.
pub(crate) fn start(machine: &MachineSpec) -> Result<(), String> {
    let disks = machine.disks();
    let Some(disk) = disks.iter().find(|disk| disk.spec.burst.is_some()) else { return Ok(()) };
    let bytes = serde_json::to_vec(disk.spec).map_err(at("describe the disk"))?;
    fs::write(DISK_PATH, bytes).map_err(at("describe the disk"))?;
    let started = Command::new(PROGRAM).args([ROLE, COMMAND]).env_clear().spawn();
    started.map(drop).map_err(at("watch the disk's credits"))
}

/// The process.
pub(crate) fn run() -> Result<(), String> {
    let bytes = fs::read(DISK_PATH).map_err(at("read the disk's description"))?;
    let spec: DiskSpec = model::json::from_bytes(&bytes).map_err(at("read the description"))?;
    let (Some(burst), Some(poor)) = (spec.burst, spec.service_without_credits()) else {
        return Err("the disk has no credits to watch".to_owned());
    };
    sys::memory::lock_all().map_err(at("lock the disk's watcher into memory"))?;
    sys::process::become_urgent().map_err(at("become urgent"))?;
    let disk = find(SCSI_DISK)?;
    let parts = mappings(&disk)?;
    // The mapping was made with the larger requests of the other level.
    switch(&disk, spec.service())?;
    let stat = Path::new(BLOCK_DEVICES).join(&disk).join("stat");
    let file = File::open(&stat).map_err(at(stat.display()))?;
    let (mut balance, mut is_rich) = (Balance::full(burst), true);
    let mut before = (monotonic_ns(), finished(&file)?);
    loop {
        thread::sleep(POLL);
        let now = (monotonic_ns(), finished(&file)?);
        balance.update(now.0 - before.0, now.1.saturating_sub(before.1));
        before = now;
        if balance.is_rich(is_rich) != is_rich {
            is_rich = !is_rich;
            let service = if is_rich { spec.service() } else { poor };
            // Its delay can only change while no request is under way.
            parts.iter().try_for_each(|name| suspend(name)).map_err(at("suspend the disk"))?;
            switch(&disk, service)?;
            parts.iter().try_for_each(|name| resume(name)).map_err(at("resume the disk"))?;
        }
    }
}

/// Requests that the disk has finished since it was made.
fn finished(file: &File) -> Result<u64, String> {
    let mut bytes = [0; 512];
    let count = file.read_at(&mut bytes, 0).map_err(at("read the disk's counters"))?;
    parse_finished(&String::from_utf8_lossy(&bytes[..count]))
        .ok_or_else(|| "the disk's counters cannot be read".to_owned())
}

fn parse_finished(stat: &str) -> Option<u64> {
    let fields: Vec<u64> = stat.split_whitespace().map_while(|field| field.parse().ok()).collect();
    // Before 5.5 flushes are not counted.
    let counts = FINISHED.iter().filter_map(|index| fields.get(*index));
    (fields.len() > FINISHED[1]).then(|| counts.sum())
}

/// Credits, in parts of 10⁻⁹.
struct Balance {
    burst: BurstSpec,
    nanos: i128,
}

impl Balance {
    fn full(burst: BurstSpec) -> Self {
        Self { burst, nanos: i128::from(burst.credits) * NS_PER_S }
    }

    fn update(&mut self, elapsed_ns: u64, requests: u64) {
        let earned = i128::from(self.burst.iops) * i128::from(elapsed_ns);
        let most = i128::from(self.burst.credits) * NS_PER_S;
        self.nanos = (self.nanos + earned - i128::from(requests) * NS_PER_S).min(most);
    }

    /// Whether it has credits; once without, only when they last until they are counted again.
    fn is_rich(&self, was_rich: bool) -> bool {
        let lasting = i128::from(self.burst.burst_iops) * POLL.as_nanos() as i128;
        let most = i128::from(self.burst.credits) * NS_PER_S;
        self.nanos >= if was_rich { 1 } else { lasting.min(most) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURST: BurstSpec = BurstSpec { iops: 100, burst_iops: 3000, credits: 290 };
    const POLL_NS: u64 = POLL.as_nanos() as u64;

    #[test]
    fn credits_last_as_long_as_the_difference_of_the_rates_says() {
        let mut balance = Balance::full(BURST);
        let mut polls = 0;
        while balance.is_rich(true) {
            balance.update(POLL_NS, 150);
            polls += 1;
        }
        // 290 / (3000 - 100) s = 100 ms.
        assert_eq!(polls, 2);
        // At the lower rate it earns what it spends, and stays as it is.
        balance.update(10 * POLL_NS, 50);
        assert!(!balance.is_rich(false));
        // 150 credits last for one poll at the higher rate.
        balance.update(29 * POLL_NS, 0);
        assert!(!balance.is_rich(false));
        balance.update(POLL_NS, 0);
        assert!(balance.is_rich(false));
        balance.update(1_000_000 * POLL_NS, 0);
        assert_eq!(balance.nanos, 290 * NS_PER_S);
    }

    #[test]
    fn a_small_store_of_credits_is_enough_when_it_is_full() {
        let mut balance = Balance::full(BurstSpec { credits: 1, ..BURST });
        balance.update(0, 1);
        assert!(!balance.is_rich(true));
        balance.update(POLL_NS, 0);
        assert!(balance.is_rich(false));
    }

    #[test]
    fn finished_requests_are_of_all_kinds() {
        let stat = "     1 0 8 4  20 0 8 4  0 12 12  300 0 0 0  4000 7\n";
        assert_eq!(parse_finished(stat), Some(4321));
        assert_eq!(parse_finished("1 0 8 4 20 0 8 4 0 12 12"), Some(21));
        assert_eq!(parse_finished("1 0"), None);
    }
}
