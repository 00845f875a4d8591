//! The virtual clock that pays for memory: a plugin simulates the TLBs and page walks of a machine on
//! each reference of a guest, and charges the virtual CPU that refers with what they cost.
//!
//! It begins with the cell, with empty TLBs: the booted machine paid for instructions only.

use std::fs::File;
use std::io;

use model::MachineSpec;
use profile::PLUGIN;
use serde::{Deserialize, Serialize};

use crate::guest_process::memory_file;
use crate::modelled;
use crate::qemu::path_of;
use crate::{Result, VmError};

/// The model of a machine's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MemoryClock {
    /// The numbers of the machine with TLBs (`mmu::tlb::Machine::words`).
    words: Vec<u64>,
}

/// What QEMU loads.
pub(crate) struct ClockFiles {
    plugin: File,
    tlbs: File,
    cpus: u8,
}

impl MemoryClock {
    /// The clock of a machine; `None` if each instruction takes the same time. Fails where the
    /// description of its TLBs cannot be read any more.
    pub(crate) fn of(machine: &MachineSpec) -> Result<Option<Self>> {
        let modelled = modelled::of(machine).map_err(VmError::Unavailable)?;
        Ok(modelled.map(|modelled| Self { words: modelled.words() }))
    }

    /// All that the time of a guest depends on besides the guest.
    pub(crate) fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(PLUGIN);
        hasher.update(&self.bytes());
        hasher.finalize().to_hex().to_string()
    }

    /// The files for one guest, which has so many virtual CPUs. Fails without memory for them.
    pub(crate) fn files(&self, cpus: u8) -> io::Result<ClockFiles> {
        let plugin = memory_file("clock", PLUGIN)?;
        Ok(ClockFiles { plugin, tlbs: memory_file("tlbs", &self.bytes())?, cpus })
    }

    fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

impl ClockFiles {
    /// QEMU's option `-plugin`, valid as long as these files are open.
    pub(crate) fn option(&self) -> String {
        let Self { plugin, tlbs, cpus } = self;
        format!("{},clock={},cpus={cpus}", path_of(plugin), path_of(tlbs))
    }
}
