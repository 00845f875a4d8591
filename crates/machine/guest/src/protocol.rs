//! Messages between host and guest: fw_cfg files in, bytes through a register of a device out.

use agent::Freeze;
use model::{Architecture, Environment, MachineSpec, RootPlace, Spec, Unavailable};
use serde::{Deserialize, Serialize};

/// Port of QEMU's `isa-debugcon`, for output. Not the usual 0x402, which the BIOS uses.
pub const CHANNEL_PORT: u16 = 0xe9;
/// Port of `pvpanic`: writing there pauses the whole machine at that instruction.
pub const PAUSE_PORT: u16 = 0x505;
/// Port of `isa-debug-exit`: writing there ends QEMU.
pub const EXIT_PORT: u16 = 0xf4;
/// The PCI slot of QEMU's `pci-serial` in a guest of aarch64, for output.
pub const CHANNEL_SLOT: u8 = 2;
/// The PCI slot of `pvpanic-pci` in a guest of aarch64.
pub const PAUSE_SLOT: u8 = 1;
/// Name of the fw_cfg file with the [`Setup`].
pub const SETUP_FILE: &str = "opt/thrashlab/setup";
/// Name of the fw_cfg file with the [`Cell`].
pub const CELL_FILE: &str = "opt/thrashlab/cell";
/// The content of [`CELL_FILE`] for a guest that prints its kernel's symbols instead of a run.
pub const SYMBOLS_CELL: &[u8] = b"symbols";
/// Name of the fw_cfg file with the archive of the root; only while the machine boots.
pub const ROOT_FILE: &str = "opt/thrashlab/root";
/// The agent in the guest's root.
pub const PROGRAM: &str = "/thrashlab-agent";
/// A static busybox in the root of a guest with a shell.
pub const BUSYBOX: &str = "/bin/busybox";
/// Hidden command of the first process.
pub const ROLE: &str = "guest";
/// Where the modules are in the guest's root.
pub const MODULES_DIR: &str = "/modules";
/// Where the programs are that make the disks' file systems, with loader and libraries under the names
/// that follow; gone once they have run.
pub const TOOLS_DIR: &str = "/tools";
/// What follows a program's name in the name of its dynamic loader, if it has one.
pub const TOOL_LOADER: &str = ".loader";
/// The folder of the programs' libraries.
pub const TOOL_LIBRARIES: &str = "lib";

/// Where the overlay is in the root of a guest that moves into another root.
pub const OVERLAY_DIR: &str = "/overlay";

/// How a guest is set up before it is paused for the first time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The machine that it is to be.
    pub machine: MachineSpec,
    /// Names of the files in [`MODULES_DIR`], in the order in which they are loaded.
    pub modules: Vec<String>,
    /// The root of programs; `None` = only what the kernel unpacked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<RootSetup>,
    /// The instruction set of the guest.
    #[serde(default, skip_serializing_if = "is_x86_64")]
    pub architecture: Architecture,
    /// Size of the agent, which is in the guest's memory.
    pub agent_bytes: u64,
    /// What follows.
    pub then: Then,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_x86_64(architecture: &Architecture) -> bool {
    *architecture == Architecture::X86_64
}

/// The root of programs in a guest, whose archive is [`ROOT_FILE`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootSetup {
    /// BLAKE3 of the archive.
    pub blake3: String,
    /// Where its files are.
    pub files: RootPlace,
    /// Where changes to them go.
    pub changes: RootPlace,
    /// The latest time of a file, in s since 1970: the guest's clock is later.
    pub newest_s: u64,
    /// Variables of its programs, besides the usual ones.
    pub environment: Vec<(String, String)>,
}

/// What a guest does once it is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// Pauses, and runs the cell that it finds when it continues.
    Cell,
    /// Says that it is ready, and ends.
    Report,
    /// Measures its disks instead of setting them up, and ends.
    Disk,
    /// Runs an interactive shell on the console, and ends with it.
    Shell,
    /// Runs what comes on the console, without prompt and echo, and ends with it.
    Script,
}

/// One run in a guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Name of the run.
    pub run_id: String,
    /// What to run.
    pub spec: Spec,
    /// What the host knows of the machine and the guest does not.
    pub facts: Environment,
    /// What the machine could not have.
    pub missed: Vec<Unavailable>,
    /// Test hook: freeze the prober.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze: Option<Freeze>,
}

/// What the guest sends besides the lines of a run: a line that begins with [`NOTICE`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// The first process runs.
    Started,
    /// Set up.
    Ready,
    /// It continues after the pause.
    Resumed {
        /// Virtual time from the instruction before the pause to the one after it, in ns.
        gap_ns: u64,
    },
    /// A record of the kernel's log.
    Log {
        /// Virtual time since the start of the kernel, in µs.
        at_us: u64,
        /// A kernel message.
        text: String,
    },
    /// A pattern of requests to the disk of this number.
    Disk(u8, DiskFigure),
    /// Pages in compressed memory.
    Zram(ZramFigure),
    /// The guest cannot continue, and why.
    Failed(String),
    /// The kernel leaves too little memory, and how much.
    LacksMemory(String),
    /// The run has ended; what the agent printed if it died or refused.
    Ended {
        /// The agent's last words.
        death: Option<String>,
    },
}

/// A pattern of requests to a disk: users transfer blocks, each one block at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskPattern {
    /// Whether blocks are written.
    pub is_write: bool,
    /// Whether blocks are anywhere; else each follows the last one.
    pub is_random: bool,
    /// Size of a block.
    pub block_bytes: u64,
    /// How many users.
    pub users: u32,
}

/// The state of a disk while it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskPhase {
    /// As it is at first.
    Usual,
    /// Until its credits are used up: the last figure is after that.
    Draining,
    /// Without credits.
    WithoutCredits,
}

/// How a disk served a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskFigure {
    /// The state of the disk.
    pub phase: DiskPhase,
    /// The pattern.
    pub pattern: DiskPattern,
    /// Blocks.
    pub transferred: u64,
    /// From the first request to the end of the last one, in virtual ns.
    pub elapsed_ns: u64,
    /// For how long all users together waited, in virtual ns.
    pub waited_ns: u64,
    /// For how long the guest's CPUs were idle, in virtual ns, counted in ticks.
    pub idle_ns: u64,
}

impl DiskFigure {
    /// Blocks per second.
    pub fn per_s(&self) -> f64 {
        self.transferred as f64 * 1e9 / self.elapsed_ns as f64
    }
}

/// What compressed memory did with pages of random bytes, of half as many, and of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZramFigure {
    /// Pages of each of the three kinds.
    pub pages_of_each: u64,
    /// Pages kept as they are.
    pub incompressible: u64,
    /// Pages of which only one word is kept.
    pub same_filled: u64,
    /// Size of the others after compression.
    pub compressed_bytes: u64,
    /// Pages that were read back with another content.
    pub unequal: u64,
}

/// First byte of a notice; a line of a run begins with `{`.
pub const NOTICE: u8 = b'!';

impl Notice {
    /// The notice as a line, newline included.
    pub fn encode(&self) -> Vec<u8> {
        let mut line = vec![NOTICE];
        // JSON can express all of it.
        line.extend(serde_json::to_vec(self).unwrap_or_default());
        line.push(b'\n');
        line
    }

    /// Reads a line of the channel; `None` if it is not a notice.
    pub fn decode(line: &[u8]) -> Option<Self> {
        model::json::from_bytes(line.strip_prefix(&[NOTICE])?.trim_ascii_end()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn notices_survive_the_channel() {
        let death = Some("two\nlines, \"quoted\"".to_owned());
        for notice in [Notice::Ready, Notice::Failed("why".to_owned()), Notice::Ended { death }] {
            let line = notice.encode();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert_eq!(Notice::decode(&line), Some(notice));
        }
        assert_eq!(Notice::decode(b"{\"type\":\"phase\"}\n"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
            let _ = Notice::decode(&bytes);
        }
    }
}
