//! Disks of guests: their parameters, models with published ones, and what follows from them.

use serde::{Deserialize, Serialize};

use crate::units::{exact_duration, exact_size};

const NS_PER_S: u64 = 1_000_000_000;
const PAGE_BYTES: u64 = 4096;
/// Requests at a time without a setting and without a rate: the command slots that the driver once
/// had.
const DEFAULT_QUEUE: u32 = 64;
/// `null_blk` grants its rate in so many parts per second, and takes requests of less than 128 KiB.
/// A part has at least so many requests, so that little of it is lost where the next one does not fit.
const GRANTS_PER_S: u64 = 50;
const REQUESTS_PER_GRANT: u64 = 16;
const LARGEST_SHARED_BYTES: u64 = 124 << 10;
/// The largest request of a disk with credits, which counts as one I/O (gp2: 256 KiB).
const LARGEST_CREDIT_BYTES: u64 = 256 << 10;

/// A disk in the guest's memory, delayed by a virtual timer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskSpec {
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Time of a read request in ns.
    pub read_delay_ns: u64,
    /// Time of a write request in ns.
    pub write_delay_ns: u64,
    /// Most bytes per second; `None` = as many as requests carry.
    #[serde(rename = "spindle_bytes_per_s", default, skip_serializing_if = "Option::is_none")]
    pub rate_bytes_per_s: Option<u64>,
    /// The model from which parameters came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<DiskModel>,
    /// Requests at a time; `None` = one with a rate, else 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// Limits of requests per second, which replace `queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<BurstSpec>,
    /// The compressor of a swap area in compressed memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressor: Option<String>,
    /// The file system of its files.
    #[serde(rename = "fs", default, skip_serializing_if = "FileSystem::is_ext4")]
    pub file_system: FileSystem,
    /// Whether the kernel lacks `scsi_debug`, so that `null_blk` takes its place. Known once there
    /// is a kernel.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lacks_scsi_debug: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

named! {
    /// A file system of a disk.
    #[derive(Default)]
    pub enum FileSystem {
        /// Written by thrashlab.
        #[default]
        Ext4 = "ext4",
        /// Made in the guest by its root's `mkfs.xfs`.
        Xfs = "xfs",
        /// Made in the guest by its root's `mkfs.btrfs`.
        Btrfs = "btrfs",
    }
}

impl FileSystem {
    fn is_ext4(&self) -> bool {
        *self == Self::Ext4
    }

    /// The program of a root that makes it, and Debian's package that has it; `None` = none is needed.
    pub fn maker(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Ext4 => None,
            Self::Xfs => Some(("mkfs.xfs", "xfsprogs")),
            Self::Btrfs => Some(("mkfs.btrfs", "btrfs-progs")),
        }
    }
}

/// How many requests per second a disk takes, with credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstSpec {
    /// Requests per second without credits; so many credits are earned per second.
    pub iops: u64,
    /// Requests per second with credits.
    pub burst_iops: u64,
    /// Credits at the start, and the most that are kept; each pays for one request.
    pub credits: u64,
}

named! {
    /// A kind of disk.
    pub enum DiskModel {
        /// A hard disk of 7200 revolutions per minute.
        Spindle = "spindle",
        /// A solid-state disk at SATA.
        Ssd = "ssd",
        /// A solid-state disk at PCI Express.
        Nvme = "nvme",
        /// A rented volume with burst credits.
        Cloud = "cloud",
        /// Swap in compressed memory; the files stay on the disk as it is.
        Zram = "zram",
    }
}

/// The driver that simulates a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskDriver {
    /// `scsi_debug`: a delay per request, a number of requests at a time.
    Delayed,
    /// `null_blk`: the same, and a rate that all requests share.
    Shared,
    /// `scsi_debug` below a mapping that is switched when credits run out.
    Credited,
}

/// What a disk does with requests, at one level of credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Time of a request in ns.
    pub delay_ns: u64,
    /// Requests at a time.
    pub queue: u32,
    /// Largest request in bytes; `None` = the driver's own.
    pub request_bytes: Option<u64>,
}

impl Service {
    /// How many requests transfer a block of a size.
    pub fn requests(&self, block_bytes: u64) -> f64 {
        block_bytes.div_ceil(self.request_bytes.unwrap_or(block_bytes)) as f64
    }
}

impl DiskModel {
    /// Sets the parameters of the model. Sources are in `docs/vm.md`.
    pub fn apply(self, disk: &mut DiskSpec) {
        let (delay_ns, queue, rate) = match self {
            // Ultrastar 7K4000: seek 8.2 ms, half a revolution 4.16 ms, 171 MB/s.
            Self::Spindle => (12_360_000, None, Some(171_000_000)),
            // 870 EVO: 13,000 reads per second one by one, 98,000 at depth 32, 560 MB/s.
            Self::Ssd => (77_000, Some(8), Some(560_000_000)),
            // 980 (1 TB): 17,000 reads per second one by one, 500,000 at depth 32, 3500 MB/s.
            Self::Nvme => (58_000, Some(29), Some(3_500_000_000)),
            // gp2 up to 33 GiB: 100 to 3000 I/Os per second, 128 MiB/s, a hundredth of its credits.
            Self::Cloud => (1_000_000, None, Some(128 << 20)),
            Self::Zram => {
                disk.model = Some(self);
                // The kernel's default since 5.1.
                disk.compressor = Some("lzo-rle".to_owned());
                return;
            }
        };
        let credits = BurstSpec { iops: 100, burst_iops: 3000, credits: 54_000 };
        *disk = DiskSpec {
            size_bytes: disk.size_bytes,
            read_delay_ns: delay_ns,
            write_delay_ns: delay_ns,
            rate_bytes_per_s: rate,
            model: Some(self),
            queue,
            burst: (self == Self::Cloud).then_some(credits),
            compressor: None,
            file_system: disk.file_system,
            lacks_scsi_debug: disk.lacks_scsi_debug,
        };
    }
}

impl DiskSpec {
    /// Whether reads and writes have different delays, which a driver cannot provide.
    pub fn needs_mapper(&self) -> bool {
        self.read_delay_ns != self.write_delay_ns
    }

    /// Whether swap is in compressed memory.
    pub fn has_zram(&self) -> bool {
        self.model == Some(DiskModel::Zram)
    }

    /// The driver that provides its parameters.
    pub fn driver(&self) -> DiskDriver {
        match (self.burst, self.rate_bytes_per_s) {
            (Some(_), _) => DiskDriver::Credited,
            (None, Some(_)) if self.depth() > 1 => DiskDriver::Shared,
            _ => DiskDriver::Delayed,
        }
    }

    /// Requests at a time, without credits.
    fn depth(&self) -> u32 {
        let usual = if self.rate_bytes_per_s.is_some() { 1 } else { DEFAULT_QUEUE };
        self.queue.unwrap_or(usual)
    }

    /// What it does with requests, as long as it has credits if it needs any.
    pub fn service(&self) -> Service {
        let Some(burst) = self.burst else {
            let (delay_ns, queue) = (self.read_delay_ns, self.depth());
            let request_bytes = self.rate_bytes_per_s.map(|rate| match self.driver() {
                DiskDriver::Shared => {
                    let part_ns = NS_PER_S / GRANTS_PER_S / REQUESTS_PER_GRANT;
                    transferred_bytes(rate, part_ns).min(LARGEST_SHARED_BYTES)
                }
                _ => transferred_bytes(rate, delay_ns),
            });
            return Service { delay_ns, queue, request_bytes };
        };
        // As many at a time as make up the rate with at least this delay.
        let queue = u128::from(burst.burst_iops) * u128::from(self.read_delay_ns);
        let queue = queue.div_ceil(u128::from(NS_PER_S)).max(1);
        let delay_ns = (queue * u128::from(NS_PER_S) / u128::from(burst.burst_iops)) as u64;
        let request_bytes = Some(self.credit_bytes(burst.burst_iops));
        Service { delay_ns, queue: queue as u32, request_bytes }
    }

    /// What it does with requests when its credits are used up.
    pub fn service_without_credits(&self) -> Option<Service> {
        let iops = self.burst?.iops;
        let request_bytes = Some(self.credit_bytes(iops));
        Some(Service { delay_ns: NS_PER_S / iops, queue: 1, request_bytes })
    }

    /// How many blocks of a size it transfers per second for so many users, each of whom waits for
    /// one block at a time. Infinite for a disk without delay and shared rate.
    pub fn blocks_per_s(&self, service: Service, block_bytes: u64, users: u32) -> f64 {
        let (users, queue) = (f64::from(users), f64::from(service.queue));
        let requests = service.requests(block_bytes);
        let delay_s = service.delay_ns as f64 / NS_PER_S as f64;
        let waiting = users / ((requests / queue).ceil() * delay_s);
        let shared = match (self.driver(), self.rate_bytes_per_s) {
            (DiskDriver::Shared, Some(rate)) => rate as f64 / block_bytes as f64,
            _ => f64::INFINITY,
        };
        waiting.min(queue / (requests * delay_s)).min(shared)
    }

    /// Its settings, without `disk.` before their names.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let count = |count: Option<u64>| count.map(|count| count.to_string());
        let burst = |value: fn(BurstSpec) -> u64| count(self.burst.map(value));
        let read_delay = if self.needs_mapper() { "read_delay" } else { "delay" };
        let settings = [
            ("size", Some(exact_size(self.size_bytes))),
            ("model", self.model.map(|model| model.name().to_owned())),
            ("rate", Some(exact_size(self.rate_bytes_per_s.unwrap_or(0)))),
            ("queue", count(self.queue.map(u64::from))),
            ("iops", burst(|burst| burst.iops)),
            ("burst_iops", burst(|burst| burst.burst_iops)),
            ("burst_credits", burst(|burst| burst.credits)),
            ("compressor", self.compressor.clone()),
            (read_delay, Some(exact_duration(self.read_delay_ns))),
            ("write_delay", self.needs_mapper().then(|| exact_duration(self.write_delay_ns))),
            ("fs", (!self.file_system.is_ext4()).then(|| self.file_system.name().to_owned())),
        ];
        settings.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn credit_bytes(&self, iops: u64) -> u64 {
        let rate = self.rate_bytes_per_s.unwrap_or(u64::MAX);
        transferred_bytes(rate, NS_PER_S / iops).min(LARGEST_CREDIT_BYTES)
    }
}

/// Whole pages that are transferred in a time.
fn transferred_bytes(bytes_per_s: u64, time_ns: u64) -> u64 {
    let bytes = u128::from(bytes_per_s) * u128::from(time_ns) / u128::from(NS_PER_S);
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    (bytes - bytes % PAGE_BYTES).max(PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(model: DiskModel) -> DiskSpec {
        let mut disk = DiskSpec { size_bytes: 64 << 20, ..DiskSpec::default() };
        model.apply(&mut disk);
        disk
    }

    /// What data sheets state, within what whole numbers of requests allow.
    #[test]
    fn models_have_their_published_rates() {
        for (model, one, many) in [
            (DiskModel::Spindle, 1e9 / 12.36e6, 1e9 / 12.36e6),
            (DiskModel::Ssd, 13_000.0, 98_000.0),
            (DiskModel::Nvme, 17_000.0, 500_000.0),
            (DiskModel::Cloud, 1_000.0, 3_000.0),
        ] {
            let service = disk(model).service();
            let rate = 1e9 / service.delay_ns as f64;
            assert!((rate / one - 1.0).abs() < 0.02, "{model:?}: {rate}");
            let rate = rate * f64::from(service.queue);
            assert!((rate / many - 1.0).abs() < 0.07, "{model:?}: {rate}");
        }
        let poor = disk(DiskModel::Cloud).service_without_credits().unwrap();
        assert_eq!((poor.delay_ns, poor.queue, poor.request_bytes), (10_000_000, 1, Some(1 << 18)));
    }

    #[test]
    fn drivers_follow_from_parameters() {
        let plain = DiskSpec { read_delay_ns: 8_000_000, ..DiskSpec::default() };
        let spindle = DiskSpec { rate_bytes_per_s: Some(10 << 20), ..plain.clone() };
        assert_eq!((plain.driver(), plain.service().queue), (DiskDriver::Delayed, 64));
        let service = spindle.service();
        assert_eq!((service.queue, service.request_bytes), (1, Some(80 << 10)));
        assert_eq!(DiskSpec { queue: Some(2), ..spindle }.driver(), DiskDriver::Shared);
        assert_eq!(disk(DiskModel::Cloud).driver(), DiskDriver::Credited);
        assert_eq!(disk(DiskModel::Zram).driver(), DiskDriver::Delayed);
        assert_eq!(transferred_bytes(1, 8_000_000), 4096);
        assert_eq!(transferred_bytes(u64::MAX, u64::MAX), u64::MAX - 4095);
    }

    #[test]
    fn blocks_wait_for_each_other_and_for_the_rate() {
        let spindle = disk(DiskModel::Spindle);
        let (service, seek_s) = (spindle.service(), 0.012_36);
        let near =
            |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-9, "{found}");
        near(spindle.blocks_per_s(service, 4096, 1), 1.0 / seek_s);
        near(spindle.blocks_per_s(service, 4096, 9), 1.0 / seek_s);
        near(spindle.blocks_per_s(service, 4 << 20, 1), 0.5 / seek_s);
        let ssd = disk(DiskModel::Ssd);
        let service = ssd.service();
        near(ssd.blocks_per_s(service, 4096, 4), 4.0 / 77e-6);
        near(ssd.blocks_per_s(service, 4096, 99), 8.0 / 77e-6);
        near(ssd.blocks_per_s(service, 1 << 20, 1), 560e6 / 1_048_576.0);
    }

    #[test]
    fn a_burst_is_as_fast_as_it_says_at_any_delay() {
        for (delay_ns, burst_iops) in [(0, 7), (1_000_000, 3000), (999, 1), (700_000, 16_000)] {
            let mut disk = disk(DiskModel::Cloud);
            disk.read_delay_ns = delay_ns;
            disk.burst = Some(BurstSpec { iops: 1, burst_iops, credits: 1 });
            let service = disk.service();
            assert!(service.delay_ns >= delay_ns, "{service:?}");
            let rate = f64::from(service.queue) * 1e9 / service.delay_ns as f64;
            assert!((rate / burst_iops as f64 - 1.0).abs() < 1e-3, "{service:?}: {rate}");
        }
    }
}
