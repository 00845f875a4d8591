//! The agent (`agent/`): its bytes for each architecture, and the file from which it is started.
//!
//! The agent is apart so that what measures is light, and so that its bytes do not change with the
//! rest. They are its identity: cells of deterministic machines are keyed by their hash, which run
//! files have too.
//!
//! It is packed in this program and started from memory, from a sealed file without a name
//! (`memfd_create(2)`). Where the system forbids that, it is started from a file in the user's cache.

mod started;

use std::sync::OnceLock;

use model::Architecture;

pub use started::program;

/// The agent for one architecture.
#[derive(Debug)]
pub struct Agent {
    /// The program, an ELF file.
    pub bytes: Vec<u8>,
    /// BLAKE3 of the bytes, in hexadecimal.
    pub hash: String,
}

impl Agent {
    /// The agent for an architecture. The error has the next step, if this build has none for it.
    pub fn of(architecture: Architecture) -> Result<&'static Self, String> {
        let unpacked = match architecture {
            Architecture::X86_64 => &X86_64,
            Architecture::Aarch64 => &AARCH64,
        };
        let agent = unpacked.get_or_init(|| Self::unpack(packed(architecture)));
        agent.as_ref().ok_or_else(|| {
            let name = architecture.name();
            format!(
                "this build of thrashlab has no agent for {name}: install a package, which has one, \
                 or build thrashlab with `make build AGENTS={name}`"
            )
        })
    }

    /// The agent for this machine.
    pub fn here() -> Result<&'static Self, String> {
        let architecture = Architecture::of_program();
        Self::of(architecture.ok_or("thrashlab measures on x86-64 and aarch64 only")?)
    }

    fn unpack(packed: &[u8]) -> Option<Self> {
        // Written by the build script, and of length 0 for architectures that it left out.
        let bytes = lz4_flex::decompress_size_prepended(packed).ok()?;
        Some(Self { hash: blake3::hash(&bytes).to_hex().to_string(), bytes })
    }
}

static X86_64: OnceLock<Option<Agent>> = OnceLock::new();
static AARCH64: OnceLock<Option<Agent>> = OnceLock::new();

fn packed(architecture: Architecture) -> &'static [u8] {
    match architecture {
        Architecture::X86_64 => include_bytes!(concat!(env!("OUT_DIR"), "/x86_64")),
        Architecture::Aarch64 => include_bytes!(concat!(env!("OUT_DIR"), "/aarch64")),
    }
}
