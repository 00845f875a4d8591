//! The disks of a guest together: what lies on each, and which module of the kernel simulates it.

use serde::{Deserialize, Serialize};

use crate::disk::{DiskDriver, DiskSpec, Service};

/// What `null_blk` needs for its index of pages, as a part of the disk: 26 bytes a page.
const INDEX_PART: u64 = 128;
/// The largest request of `null_blk` in bytes: the kernel's `BLK_DEF_MAX_SECTORS`.
pub const LARGEST_NULL_BLK_BYTES: u64 = 1280 << 10;
/// The kernel has a `struct page` of 64 bytes for each page of memory, and page tables (8 bytes for
/// each page).
const STRUCT_PAGE_PART: u64 = 64;
const PAGE_TABLE_PART: u64 = 512;
const MIB: u64 = 1 << 20;

named! {
    /// What lies on the second of two disks; the first has the rest.
    #[derive(Default)]
    pub enum SecondHolds {
        /// The swap area.
        #[default]
        Swap = "swap",
        /// The folder in which runs work.
        Files = "files",
    }
}

/// The second of two disks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SecondDisk {
    /// Its parameters.
    #[serde(flatten)]
    pub disk: DiskSpec,
    /// What lies on it.
    pub holds: SecondHolds,
}

impl SecondDisk {
    /// Its settings, without `disk2.` before their names.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let holds = ("holds", self.holds.name().to_owned());
        self.disk.settings().into_iter().chain([holds]).collect()
    }
}

/// The module of the kernel that simulates a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskModule {
    /// All its disks have the same delay.
    ScsiDebug,
    /// Each of its disks has its own delay, and none has a cache to flush.
    NullBlk,
}

/// A disk of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineDisk<'a> {
    /// 1 or 2.
    pub number: u8,
    /// Its parameters.
    pub spec: &'a DiskSpec,
    /// What simulates it.
    pub module: DiskModule,
    /// Size of the swap area on it in bytes; 0 = none.
    pub swap_bytes: u64,
    /// Whether runs have their files on it.
    pub has_files: bool,
}

impl<'a> MachineDisk<'a> {
    /// The disks of a machine with a swap area of this size.
    pub(crate) fn all(
        first: &'a DiskSpec,
        second: Option<&'a SecondDisk>,
        swap_bytes: u64,
    ) -> Vec<Self> {
        // In compressed memory it is on no disk.
        let swap_bytes = if first.has_zram() { 0 } else { swap_bytes };
        let holds = second.map(|second| second.holds);
        let (swaps, files) = match holds {
            None => ([swap_bytes, 0], [true, false]),
            Some(SecondHolds::Swap) => ([0, swap_bytes], [true, false]),
            Some(SecondHolds::Files) => ([swap_bytes, 0], [false, true]),
        };
        let specs = std::iter::once(first).chain(second.map(|second| &second.disk));
        let modules = modules(first, second);
        let disks = specs.zip(modules).zip(swaps).zip(files).zip(1..);
        disks
            .map(|((((spec, module), swap_bytes), has_files), number)| Self {
                number,
                spec,
                module,
                swap_bytes,
                has_files,
            })
            .collect()
    }

    /// Whether there may be a file system on it: the first disk has that of a root, if there is one.
    pub fn may_have_file_system(&self) -> bool {
        self.number == 1 || self.has_files
    }

    /// What it does with requests, as long as it has credits if it needs any.
    pub fn service(&self) -> Service {
        let service = self.spec.service();
        match self.module {
            DiskModule::ScsiDebug => service,
            DiskModule::NullBlk => Service {
                request_bytes: service.request_bytes.map(|bytes| bytes.min(LARGEST_NULL_BLK_BYTES)),
                ..service
            },
        }
    }

    /// The memory that it takes in a guest, in bytes: its store, its index, and for a second disk what
    /// the kernel needs to manage that memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let size_bytes = self.spec.size_bytes;
        let index_bytes = match self.module {
            DiskModule::NullBlk => size_bytes / INDEX_PART,
            DiskModule::ScsiDebug => 0,
        };
        let additional_bytes = match self.number {
            1 => index_bytes,
            _ => (index_bytes + structure_bytes(size_bytes)).next_multiple_of(MIB),
        };
        size_bytes.saturating_add(additional_bytes)
    }
}

/// What the kernel needs to manage so many bytes of memory, in bytes.
pub fn structure_bytes(memory_bytes: u64) -> u64 {
    memory_bytes / STRUCT_PAGE_PART + memory_bytes / PAGE_TABLE_PART
}

/// Where the swap area of a disk ends, in bytes: the first MiB stays free, and it takes whole MiB.
pub fn swap_end_bytes(swap_bytes: u64) -> u64 {
    swap_bytes.checked_next_multiple_of(MIB).unwrap_or(u64::MAX).saturating_add(MIB)
}

/// `scsi_debug` simulates at most one of two disks, since all of its disks have one delay. It can
/// change its delay, which credits need, and its disks have a cache to flush, as the files of a machine
/// with one disk have. A kernel without it has `null_blk` for all disks without credits.
fn modules(first: &DiskSpec, second: Option<&SecondDisk>) -> [DiskModule; 2] {
    let own = |disk: &DiskSpec| match disk.driver() {
        DiskDriver::Shared => DiskModule::NullBlk,
        DiskDriver::Delayed if disk.lacks_scsi_debug => DiskModule::NullBlk,
        DiskDriver::Delayed | DiskDriver::Credited => DiskModule::ScsiDebug,
    };
    let Some(second) = second else { return [own(first), DiskModule::NullBlk] };
    match [own(first), own(&second.disk)] {
        [DiskModule::ScsiDebug, DiskModule::ScsiDebug] => {
            let is_second = match (first.burst, second.disk.burst) {
                (Some(_), _) => false,
                (None, Some(_)) => true,
                (None, None) => second.holds == SecondHolds::Files,
            };
            match is_second {
                true => [DiskModule::NullBlk, DiskModule::ScsiDebug],
                false => [DiskModule::ScsiDebug, DiskModule::NullBlk],
            }
        }
        own => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::DiskModel;

    fn disk(model: DiskModel) -> DiskSpec {
        let mut disk = DiskSpec { size_bytes: 128 << 20, ..DiskSpec::default() };
        model.apply(&mut disk);
        disk
    }

    #[test]
    fn two_disks_with_a_delay_each_are_of_two_modules() {
        use DiskModel::{Cloud, Spindle, Ssd};
        use DiskModule::{NullBlk, ScsiDebug};
        use SecondHolds::{Files, Swap};
        for (first, second, holds, modules) in [
            (Spindle, Ssd, Swap, [ScsiDebug, NullBlk]),
            (Ssd, Spindle, Swap, [NullBlk, ScsiDebug]),
            (Ssd, Ssd, Files, [NullBlk, NullBlk]),
            (Spindle, Spindle, Swap, [ScsiDebug, NullBlk]),
            (Spindle, Spindle, Files, [NullBlk, ScsiDebug]),
            (Spindle, Cloud, Swap, [NullBlk, ScsiDebug]),
            (Cloud, Spindle, Files, [ScsiDebug, NullBlk]),
        ] {
            let (first, second) = (disk(first), SecondDisk { disk: disk(second), holds });
            let disks = MachineDisk::all(&first, Some(&second), 64 << 20);
            let found = [disks[0].module, disks[1].module];
            assert_eq!(found, modules, "{first:?} {second:?}");
            assert_eq!([disks[0].has_files, disks[1].has_files], [holds == Swap, holds == Files]);
            let swaps = if holds == Swap { [0, 64 << 20] } else { [64 << 20, 0] };
            assert_eq!([disks[0].swap_bytes, disks[1].swap_bytes], swaps);
        }
    }

    #[test]
    fn a_kernel_without_scsi_debug_has_null_blk_for_every_disk() {
        let lacking = |model| DiskSpec { lacks_scsi_debug: true, ..disk(model) };
        let first = lacking(DiskModel::Spindle);
        assert_eq!(MachineDisk::all(&first, None, 1)[0].module, DiskModule::NullBlk);
        let second = SecondDisk { disk: first.clone(), holds: SecondHolds::Files };
        let disks = MachineDisk::all(&first, Some(&second), 1);
        assert!(disks.iter().all(|disk| disk.module == DiskModule::NullBlk));
        let credited = disk(DiskModel::Cloud);
        assert_eq!(MachineDisk::all(&credited, None, 1)[0].module, DiskModule::ScsiDebug);
    }

    #[test]
    fn one_disk_has_everything_unless_swap_is_in_memory() {
        for (model, swap_bytes) in [(DiskModel::Ssd, 9), (DiskModel::Zram, 0)] {
            let first = disk(model);
            let disks = MachineDisk::all(&first, None, 9);
            assert_eq!(
                (disks.len(), disks[0].swap_bytes, disks[0].has_files),
                (1, swap_bytes, true)
            );
        }
    }

    #[test]
    fn a_spindle_of_null_blk_has_smaller_requests() {
        let (first, second) = (disk(DiskModel::Spindle), disk(DiskModel::Spindle));
        let second = SecondDisk { disk: second, holds: SecondHolds::Swap };
        let disks = MachineDisk::all(&first, Some(&second), 1);
        let requests = [0, 1].map(|index: usize| disks[index].service().request_bytes);
        assert_eq!(requests, [Some(2_113_536), Some(1280 << 10)]);
        assert_eq!(disks[0].memory_bytes(), 128 << 20);
        assert_eq!(disks[1].memory_bytes(), (128 + 1 + 2 + 1) << 20, "whole MiB");
    }
}
