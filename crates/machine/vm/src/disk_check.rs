//! Whether a machine's disk does what its parameters say: measured in a guest, and computed.

use guest::{DiskFigure, DiskPhase, Notice, Then, ZramFigure};
use keep::{Cache, Scratch};
use model::{Accel, DiskDriver, MachineDisk, MachineSpec, Service, VmSpec};
use serde::Serialize;

use crate::boot::Parts;
use crate::guest_process::Message;
use crate::qmp::Event;
use crate::{Result, Stop, VmError};

/// Instructions that the kernel executes at most for a request, and for a page of it.
const REQUEST_INSTRUCTIONS: f64 = 15_000.0;
const PAGE_INSTRUCTIONS: f64 = 2_000.0;
const PAGE_BYTES: u64 = 4096;
/// A disk is at most this much faster than computed: requests at the ends of the time. With a shared
/// rate also what it grants at the start.
const FASTER: f64 = 1.03;
const FASTER_SHARED: f64 = 1.08;
/// It is at most this much slower, apart from those instructions.
const SLOWER: f64 = 0.92;
/// CPUs that are idle for less than this part of the time are the limit.
const IDLE: f64 = 0.05;
/// Credits are counted every 50 ms, and looked for every 200 ms.
const DRAIN_S: f64 = 0.5;
const DRAIN_PART: f64 = 0.1;
const HALF_PAGE: f64 = 0.15;

/// The disks of a machine, measured.
#[derive(Clone, Debug, Serialize)]
pub struct DiskReport {
    /// The kernel's release.
    pub kernel: String,
    /// The first or only disk.
    #[serde(flatten)]
    pub first: MeasuredDisk,
    /// The second disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<MeasuredDisk>,
    /// Swap in compressed memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zram: Option<ZramRow>,
}

/// A disk, measured.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredDisk {
    /// Patterns of requests.
    pub patterns: Vec<DiskRow>,
    /// How long its credits lasted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credits: Option<CreditRow>,
}

/// A pattern of requests: blocks per second, computed and measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DiskRow {
    /// What was measured.
    #[serde(flatten)]
    pub figure: DiskFigure,
    /// Blocks per second that the parameters allow.
    pub computed_per_s: f64,
    /// Blocks per second.
    pub measured_per_s: f64,
    /// Mean time of a block, in ns.
    pub delay_ns: f64,
    /// The part of the time in which the CPUs were idle.
    pub idle: f64,
    /// What the comparison says.
    pub verdict: DiskVerdict,
}

/// The time for which credits lasted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CreditRow {
    /// Credits that were left before.
    pub credits: f64,
    /// Seconds that these credits last, computed from their number and both rates.
    pub computed_s: f64,
    /// Until the rate dropped.
    pub measured_s: f64,
    /// What the comparison says.
    pub verdict: DiskVerdict,
}

/// What became of pages in compressed memory.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ZramRow {
    /// What was measured.
    #[serde(flatten)]
    pub figure: ZramFigure,
    /// Size of the pages that are neither kept as they are nor of equal bytes, by their randomness.
    pub computed_bytes: u64,
    /// What the comparison says.
    pub verdict: DiskVerdict,
}

/// What a comparison of a disk with its parameters says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskVerdict {
    /// As computed.
    AsComputed,
    /// Slower, because the guest's CPUs are busy.
    Processor,
    /// Something else.
    Different,
}

impl DiskReport {
    /// Whether nothing is different from what was computed.
    pub fn is_sound(&self) -> bool {
        let disks = || std::iter::once(&self.first).chain(&self.second);
        let patterns = disks().flat_map(|disk| &disk.patterns).map(|row| row.verdict);
        let credits = disks().filter_map(|disk| disk.credits).map(|row| row.verdict);
        let mut all = patterns.chain(credits).chain(self.zram.map(|row| row.verdict));
        all.all(|verdict| verdict != DiskVerdict::Different)
    }
}

/// Boots a guest that measures its disks. Fails as [`crate::boot`].
pub fn measure_disk(spec: &VmSpec, cache: &Cache, stop: Stop<'_>) -> Result<DiskReport> {
    let machine = &spec.machine;
    if machine.accel != Accel::Tcg {
        return Err(VmError::Unavailable(
            "accel=kvm: only in virtual time does a disk do what can be computed".to_owned(),
        ));
    }
    let parts = Parts::gather(None, spec, cache, &[], None, Then::Disk)?;
    let folder = Scratch::make(&cache.root, "disk").map_err(VmError::cache(&cache.root))?;
    parts.write(&parts.image()?, folder.path())?;
    let mut guest = parts.boot(folder.path(), None)?;
    let (mut figures, mut zram, mut is_ready) = (Vec::new(), None, false);
    guest.follow("measure its disk", stop, |said| {
        match said {
            Message::Notice(Notice::Disk(number, figure)) => figures.push((number, figure)),
            Message::Notice(Notice::Zram(figure)) => zram = Some(figure),
            Message::Notice(Notice::Ready) => is_ready = true,
            Message::Event(Event::Ended) => return is_ready.then_some(()),
            _ => {}
        }
        None
    })?;
    Ok(report(&parts.setup.machine, parts.kernel.release, &figures, zram))
}

fn report(
    machine: &MachineSpec,
    kernel: String,
    figures: &[(u8, DiskFigure)],
    zram: Option<ZramFigure>,
) -> DiskReport {
    let measured = |disk: &MachineDisk<'_>| {
        let own = figures.iter().filter(|(number, _)| *number == disk.number);
        let figures: Vec<DiskFigure> = own.map(|(_, figure)| *figure).collect();
        let steady = figures.iter().filter(|figure| figure.phase != DiskPhase::Draining);
        let patterns = steady.map(|figure| row(machine, disk, *figure)).collect();
        MeasuredDisk { patterns, credits: credits(disk, &figures) }
    };
    let disks = machine.disks();
    let (first, second) = (measured(&disks[0]), disks.get(1).map(measured));
    let zram = zram.map(|figure| {
        let computed_bytes = figure.pages_of_each * PAGE_BYTES * 3 / 2;
        let ratio = figure.compressed_bytes as f64 / computed_bytes as f64;
        let is_sound = figure.unequal == 0
            && figure.incompressible == figure.pages_of_each
            && figure.same_filled == figure.pages_of_each
            && (ratio - 1.0).abs() < HALF_PAGE;
        ZramRow { figure, computed_bytes, verdict: verdict(is_sound) }
    });
    DiskReport { kernel, first, second, zram }
}

fn verdict(is_sound: bool) -> DiskVerdict {
    if is_sound { DiskVerdict::AsComputed } else { DiskVerdict::Different }
}

fn service(disk: &MachineDisk<'_>, phase: DiskPhase) -> Service {
    let usual = disk.service();
    match phase {
        DiskPhase::WithoutCredits => disk.spec.service_without_credits().unwrap_or(usual),
        _ => usual,
    }
}

fn row(machine: &MachineSpec, disk: &MachineDisk<'_>, figure: DiskFigure) -> DiskRow {
    let service = service(disk, figure.phase);
    let (disk, pattern) = (disk.spec, figure.pattern);
    let delay_ns = if pattern.is_write { disk.write_delay_ns } else { disk.read_delay_ns };
    let service = match disk.needs_mapper() {
        // The mapping holds any number of requests.
        true => Service { delay_ns, queue: u32::MAX, ..service },
        false => service,
    };
    let computed_per_s = disk.blocks_per_s(service, pattern.block_bytes, pattern.users);
    let measured_per_s = figure.per_s();
    let pages = pattern.block_bytes.div_ceil(PAGE_BYTES) as f64;
    let instructions =
        service.requests(pattern.block_bytes) * REQUEST_INSTRUCTIONS + pages * PAGE_INSTRUCTIONS;
    let software_s = instructions * f64::from(1_u32 << machine.icount_shift) / 1e9;
    let cpus_ns = figure.elapsed_ns as f64 * f64::from(machine.cpu_count());
    let idle = (figure.idle_ns as f64 / cpus_ns).min(1.0);
    let faster = if disk.driver() == DiskDriver::Shared { FASTER_SHARED } else { FASTER };
    let slowest_per_s = SLOWER / (1.0 / computed_per_s + software_s);
    let verdict = match measured_per_s {
        fast if fast > computed_per_s * faster => DiskVerdict::Different,
        near if near >= computed_per_s * SLOWER => DiskVerdict::AsComputed,
        _ if idle < IDLE => DiskVerdict::Processor,
        slow if slow >= slowest_per_s => DiskVerdict::AsComputed,
        _ => DiskVerdict::Different,
    };
    let delay_ns = figure.waited_ns as f64 / figure.transferred.max(1) as f64;
    DiskRow { figure, computed_per_s, measured_per_s, delay_ns, idle, verdict }
}

/// From the credits that are left after the first patterns until the rate drops.
fn credits(disk: &MachineDisk<'_>, figures: &[DiskFigure]) -> Option<CreditRow> {
    let burst = disk.spec.burst?;
    let service = service(disk, DiskPhase::Usual);
    let of = |phase| figures.iter().filter(move |figure| figure.phase == phase);
    let used: f64 = of(DiskPhase::Usual)
        .map(|figure| figure.transferred as f64 * service.requests(figure.pattern.block_bytes))
        .sum();
    let elapsed_s = |figure: &DiskFigure| figure.elapsed_ns as f64 / 1e9;
    let earned = of(DiskPhase::Usual).map(elapsed_s).sum::<f64>() * burst.iops as f64;
    let most = burst.credits as f64;
    let credits = (most - (used - earned).max(0.0)).max(0.0);
    let computed_s = credits / (burst.burst_iops - burst.iops) as f64;
    // In the last figure the rate has dropped.
    let mut draining: Vec<&DiskFigure> = of(DiskPhase::Draining).collect();
    draining.pop()?;
    let measured_s: f64 = draining.into_iter().map(elapsed_s).sum();
    let is_near = (measured_s - computed_s).abs() <= DRAIN_S + DRAIN_PART * computed_s;
    Some(CreditRow { credits, computed_s, measured_s, verdict: verdict(is_near) })
}

#[cfg(test)]
mod tests {
    use guest::DiskPattern;

    use crate::machine::parse_request;

    use super::*;

    const S_NS: u64 = 1_000_000_000;

    fn machine(settings: &str) -> MachineSpec {
        parse_request(&format!("machine=micro,shift=0,{settings}")).unwrap().machine
    }

    fn figure(phase: DiskPhase, users: u32, transferred: u64, idle_ns: u64) -> DiskFigure {
        let pattern = DiskPattern { is_write: false, is_random: true, block_bytes: 4096, users };
        DiskFigure { phase, pattern, transferred, elapsed_ns: S_NS, waited_ns: S_NS, idle_ns }
    }

    #[test]
    fn a_disk_is_as_computed_or_limited_by_the_processor_or_different() {
        let verdict = |settings: &str, users: u32, transferred: u64, idle_ns: u64| {
            let machine = machine(settings);
            let figure = figure(DiskPhase::Usual, users, transferred, idle_ns);
            row(&machine, &machine.disks()[0], figure).verdict
        };
        let idle = S_NS / 2;
        for (transferred, expected) in [
            (400, DiskVerdict::Different),
            (470, DiskVerdict::AsComputed),
            (500, DiskVerdict::AsComputed),
            (520, DiskVerdict::Different),
        ] {
            assert_eq!(verdict("", 1, transferred, idle), expected, "{transferred}");
        }
        // 77 µs and the kernel's instructions are 92 µs.
        assert_eq!(verdict("disk.model=ssd", 1, 10_870, idle), DiskVerdict::AsComputed);
        assert_eq!(verdict("disk.model=ssd", 1, 9_000, idle), DiskVerdict::Different);
        assert_eq!(verdict("disk.model=ssd", 16, 50_000, 0), DiskVerdict::Processor);
        assert_eq!(verdict("disk.model=ssd", 16, 200_000, 0), DiskVerdict::Different);
        let two = "disk.rate=0,disk.read_delay=8ms,disk.write_delay=1ms";
        assert_eq!(verdict(two, 4, 495, idle), DiskVerdict::AsComputed);
    }

    #[test]
    fn credits_last_from_what_the_first_patterns_left() {
        let machine = machine("disk.model=cloud,disk.burst_credits=3800");
        let figures = |drained: usize| {
            // 1000 requests, and 100 credits earned: 2900 are left.
            let usual = figure(DiskPhase::Usual, 1, 1000, 0);
            let draining = figure(DiskPhase::Draining, 6, 3000, 0);
            let mut figures = vec![usual];
            figures.extend(vec![draining; drained]);
            figures.push(figure(DiskPhase::Draining, 6, 100, 0));
            figures
        };
        let row = credits(&machine.disks()[0], &figures(1)).unwrap();
        assert!((row.credits - 2900.0).abs() < 1e-6, "{row:?}");
        assert!((row.computed_s - 1.0).abs() < 1e-6, "{row:?}");
        assert_eq!((row.measured_s, row.verdict), (1.0, DiskVerdict::AsComputed));
        let row = credits(&machine.disks()[0], &figures(2)).unwrap();
        assert_eq!((row.measured_s, row.verdict), (2.0, DiskVerdict::Different));
        assert!(credits(&parse_request("").unwrap().machine.disks()[0], &figures(1)).is_none());
    }

    #[test]
    fn each_of_two_disks_is_compared_with_its_own_parameters() {
        let machine = machine("disk.rate=0,disk2.model=ssd");
        let figures = [500, 10_870].map(|count| figure(DiskPhase::Usual, 1, count, S_NS / 2));
        let report = |first: u8| {
            let figures = [(first, figures[0]), (3 - first, figures[1])];
            report(&machine, String::new(), &figures, None)
        };
        let (right, wrong) = (report(1), report(2));
        assert!(right.is_sound(), "{right:?}");
        assert_eq!(right.second.as_ref().unwrap().patterns.len(), 1);
        assert!(!wrong.is_sound(), "{wrong:?}");
    }

    #[test]
    fn compressed_memory_keeps_each_kind_of_page_as_it_should() {
        let machine = machine("disk.model=zram");
        let report = |unequal: u64, compressed_bytes: u64| {
            let figure = ZramFigure {
                pages_of_each: 256,
                incompressible: 256,
                same_filled: 256,
                compressed_bytes,
                unequal,
            };
            report(&machine, String::new(), &[], Some(figure))
        };
        assert!(report(0, 1_598_976).is_sound());
        assert!(!report(1, 1_598_976).is_sound());
        assert!(!report(0, 3_000_000).is_sound());
    }
}
