//! What the disks do, measured on their empty devices past the page cache: patterns of requests, and
//! what is special about a model.

use std::fs;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use model::{MachineDisk, MachineSpec, Service};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sys::clock::monotonic_ns;

use super::aligned::Aligned;
use super::drivers::open_direct;
use super::node::failed;
use super::{credits, drivers, layout, part, zram};
use crate::channel::Channel;
use crate::protocol::{DiskFigure, DiskPattern, DiskPhase, Notice, ZramFigure};

const RANDOM_BYTES: u64 = 4096;
const SEQUENTIAL_BYTES: u64 = 1 << 20;
/// The place of random reads by many users in the list of patterns.
const READ_BY_MANY: usize = 2;
/// Users of the patterns with many of them.
const SEQUENTIAL_USERS: u32 = 2;
const FEWEST_USERS: u32 = 4;
const MOST_USERS: u32 = 64;
/// A pattern lasts for this many delays within these limits, which are tens of the parts of a second
/// in which a driver grants a rate.
const DELAYS: u64 = 100;
const SHORTEST_NS: u64 = 400_000_000;
const LONGEST_NS: u64 = 4_000_000_000;
/// Looks for the end of the credits.
const LOOK_NS: u64 = 200_000_000;
/// Pages of each kind written to compressed memory.
const PAGES: u64 = 256;
const PAGE_BYTES: usize = 4096;
/// What is written.
const CONTENT: u8 = 0xa5;
/// Hundredths of a second.
const TICK_NS: u64 = 10_000_000;

/// Measures the disks one after the other, and says each result.
pub(crate) fn run(machine: &MachineSpec, channel: &Channel) -> Result<(), String> {
    let disks = machine.disks();
    let nodes = drivers::prepare(&disks)?;
    let parts = disks.iter().zip(&nodes).map(|(disk, node)| {
        let (_, range) = layout(disk.spec.size_bytes, 0, false)?;
        part(disk, node, 1, &range)
    });
    let parts: Vec<PathBuf> = parts.collect::<Result<_, _>>()?;
    credits::start(machine)?;
    for (disk, node) in disks.iter().zip(&parts) {
        measure(disk, node, channel)?;
    }
    if let Some(compressor) = machine.disk.compressor.as_ref().filter(|_| machine.disk.has_zram()) {
        let node = zram::prepare(machine.swap_bytes, compressor)?;
        channel.say(&Notice::Zram(compressed(&node)?));
    }
    channel.say(&Notice::Ready);
    Ok(())
}

fn measure(disk: &MachineDisk<'_>, node: &Path, channel: &Channel) -> Result<(), String> {
    let measure = |phase: DiskPhase, pattern: DiskPattern, length_ns: u64| {
        pattern_on(node, phase, pattern, length_ns)
            .inspect(|figure| channel.say(&Notice::Disk(disk.number, *figure)))
            .map_err(failed("measure", node))
    };
    let service = disk.service();
    for pattern in patterns(service) {
        measure(DiskPhase::Usual, pattern, length_ns(service))?;
    }
    if let (Some(burst), Some(poor)) = (disk.spec.burst, disk.spec.service_without_credits()) {
        let pattern = patterns(service)[READ_BY_MANY];
        let middle = (burst.iops + burst.burst_iops) / 2;
        while measure(DiskPhase::Draining, pattern, LOOK_NS)?.per_s() > middle as f64 {}
        for pattern in patterns(poor) {
            measure(DiskPhase::WithoutCredits, pattern, length_ns(poor))?;
        }
    }
    Ok(())
}

fn length_ns(service: Service) -> u64 {
    (DELAYS * service.delay_ns).clamp(SHORTEST_NS, LONGEST_NS)
}

/// Random and sequential, read and written, by one user and by many.
fn patterns(service: Service) -> Vec<DiskPattern> {
    // The kernel builds requests of parts of 1 MiB: these are two of them, as computed.
    let large = service.request_bytes.filter(|bytes| *bytes >= SEQUENTIAL_BYTES);
    let two_requests = |bytes: u64| 2 * (bytes - bytes % SEQUENTIAL_BYTES);
    let sequential_bytes = large.map_or(SEQUENTIAL_BYTES, two_requests);
    let many = (2 * service.queue).clamp(FEWEST_USERS, MOST_USERS);
    let mut patterns = Vec::new();
    for (is_random, block_bytes, many) in
        [(true, RANDOM_BYTES, many), (false, sequential_bytes, SEQUENTIAL_USERS)]
    {
        for users in [1, many] {
            for is_write in [false, true] {
                patterns.push(DiskPattern { is_write, is_random, block_bytes, users });
            }
        }
    }
    patterns
}

/// Has users transfer blocks until a time has passed, each one block at a time.
fn pattern_on(
    node: &Path,
    phase: DiskPhase,
    pattern: DiskPattern,
    length_ns: u64,
) -> io::Result<DiskFigure> {
    let size_bytes = open_direct(node)?.seek(SeekFrom::End(0))?;
    let blocks = size_bytes / pattern.block_bytes;
    if blocks == 0 {
        return Err(io::Error::other("the disk is smaller than one block"));
    }
    let next = AtomicU64::new(0);
    let idle_ns = idle_ns()?;
    let start_ns = monotonic_ns();
    let results: io::Result<Vec<(u64, u64)>> = thread::scope(|scope| {
        let users = (0..pattern.users).map(|user| {
            let next = &next;
            scope.spawn(move || {
                let random = Pcg64Mcg::seed_from_u64(user.into());
                let user = User { random, next, blocks, pattern, until_ns: start_ns + length_ns };
                user.transfer(node)
            })
        });
        let users: Vec<_> = users.collect();
        users.into_iter().map(|user| user.join().unwrap_or(Err(ended()))).collect()
    });
    let results = results?;
    let elapsed_ns = monotonic_ns() - start_ns;
    let transferred = results.iter().map(|(count, _)| count).sum();
    let waited_ns = results.iter().map(|(_, waited_ns)| waited_ns).sum();
    let idle_ns = self::idle_ns()?.saturating_sub(idle_ns);
    Ok(DiskFigure { phase, pattern, transferred, elapsed_ns, waited_ns, idle_ns })
}

fn ended() -> io::Error {
    io::Error::other("a thread ended early")
}

struct User<'a> {
    random: Pcg64Mcg,
    next: &'a AtomicU64,
    blocks: u64,
    pattern: DiskPattern,
    until_ns: u64,
}

impl User<'_> {
    /// Returns how many blocks it transferred, and how long it waited for them in ns.
    fn transfer(mut self, node: &Path) -> io::Result<(u64, u64)> {
        let device = open_direct(node)?;
        let mut buffer = Aligned::zeroed(self.pattern.block_bytes as usize);
        // Else all its pages were one page of zeros.
        buffer.bytes_mut().fill(CONTENT);
        let (mut count, mut waited_ns) = (0, 0);
        let mut now_ns = monotonic_ns();
        while now_ns < self.until_ns {
            let block = match self.pattern.is_random {
                true => self.random.random_range(0..self.blocks),
                false => self.next.fetch_add(1, Ordering::Relaxed) % self.blocks,
            };
            let at_byte = block * self.pattern.block_bytes;
            match self.pattern.is_write {
                true => device.write_all_at(buffer.bytes(), at_byte)?,
                false => device.read_exact_at(buffer.bytes_mut(), at_byte)?,
            }
            let done_ns = monotonic_ns();
            (count, waited_ns) = (count + 1, waited_ns + done_ns - now_ns);
            now_ns = done_ns;
        }
        Ok((count, waited_ns))
    }
}

/// For how long all CPUs together were idle or waited for disks, in ns.
fn idle_ns() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/stat")?;
    let ticks = text.split_whitespace().skip(4).take(2).filter_map(|it| it.parse::<u64>().ok());
    Ok(ticks.sum::<u64>() * TICK_NS)
}

/// Writes pages of random bytes, pages that are half zeros, and pages of zeros to compressed memory,
/// and reads them back.
fn compressed(node: &Path) -> Result<ZramFigure, String> {
    let device = open_direct(node).map_err(failed("open", node))?;
    let mut random = Pcg64Mcg::seed_from_u64(0);
    let mut page = Aligned::zeroed(PAGE_BYTES);
    let mut written = Vec::new();
    for (kind, random_bytes) in [PAGE_BYTES, PAGE_BYTES / 2, 0].into_iter().enumerate() {
        for index in 0..PAGES {
            page.bytes_mut().fill(0);
            random.fill_bytes(&mut page.bytes_mut()[..random_bytes]);
            let at_byte = (kind as u64 * PAGES + index) * PAGE_BYTES as u64;
            device.write_all_at(page.bytes(), at_byte).map_err(failed("write to", node))?;
            written.push((at_byte, page.bytes().to_vec()));
        }
    }
    let mut unequal = 0;
    for (at_byte, content) in &written {
        device.read_exact_at(page.bytes_mut(), *at_byte).map_err(failed("read from", node))?;
        unequal += u64::from(page.bytes() != content);
    }
    let pages = zram::Pages::read()?;
    Ok(ZramFigure {
        pages_of_each: PAGES,
        incompressible: pages.incompressible,
        same_filled: pages.same_filled,
        compressed_bytes: pages.compressed_bytes,
        unequal,
    })
}

#[cfg(test)]
mod tests {
    use model::{DiskModel, DiskSpec};

    use super::*;

    #[test]
    fn patterns_are_all_combinations_and_fit_the_disk() {
        for model in DiskModel::ALL {
            let mut disk = DiskSpec { read_delay_ns: 1, write_delay_ns: 1, ..DiskSpec::default() };
            model.apply(&mut disk);
            let patterns = patterns(disk.service());
            assert_eq!(patterns.len(), 8, "{model:?}");
            let many = patterns[READ_BY_MANY];
            assert!(many.is_random && !many.is_write && many.users > 1, "{many:?}");
            // Whole pages; so many buffers fit into the smallest machine.
            for pattern in patterns {
                assert_eq!(pattern.block_bytes % 4096, 0, "{pattern:?}");
                assert!(pattern.block_bytes * u64::from(pattern.users) < 24 << 20, "{pattern:?}");
            }
        }
    }

    #[test]
    fn users_transfer_blocks_of_a_file_until_the_time_is_over() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("device");
        fs::write(&path, vec![7; 1 << 20]).unwrap();
        let pattern = DiskPattern { is_write: true, is_random: false, block_bytes: 4096, users: 2 };
        let figure = pattern_on(&path, DiskPhase::Usual, pattern, 50_000_000);
        // Some file systems have no such access.
        if let Ok(figure) = figure {
            assert!(figure.transferred > 0 && figure.waited_ns > 0, "{figure:?}");
            assert!(figure.elapsed_ns >= 50_000_000, "{figure:?}");
            assert_eq!(fs::read(&path).unwrap()[..4096], [CONTENT; 4096]);
        }
        let pattern = DiskPattern { block_bytes: 2 << 20, ..pattern };
        assert!(pattern_on(&path, DiskPhase::Usual, pattern, 1).is_err());
    }
}
