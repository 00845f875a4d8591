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
    pub hash: &'static str,
}

/// An agent as the build script left it: its hash, empty if it built none, and its packed bytes.
struct Packed {
    hash: &'static str,
    bytes: &'static [u8],
    unpacked: OnceLock<Option<Agent>>,
}

static X86_64: Packed = Packed {
    hash: env!("AGENT_X86_64"),
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/thrashlab-agent-x86_64")),
    unpacked: OnceLock::new(),
};
static MECHANISM_X86_64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/mechanism-x86_64"));
static MECHANISM_AARCH64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/mechanism-aarch64"));
static AARCH64: Packed = Packed {
    hash: env!("AGENT_AARCH64"),
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/thrashlab-agent-aarch64")),
    unpacked: OnceLock::new(),
};

fn packed(architecture: Architecture) -> &'static Packed {
    match architecture {
        Architecture::X86_64 => &X86_64,
        Architecture::Aarch64 => &AARCH64,
    }
}

impl Agent {
    /// The agent for an architecture. The error has the next step, if this build has none for it.
    pub fn of(architecture: Architecture) -> Result<&'static Self, String> {
        let packed = packed(architecture);
        let agent = packed.unpacked.get_or_init(|| packed.unpack());
        agent.as_ref().ok_or_else(|| none("agent", architecture))
    }

    /// The agent for this machine.
    pub fn here() -> Result<&'static Self, String> {
        let architecture = Architecture::of_program();
        Self::of(architecture.ok_or("thrashlab measures on x86-64 and aarch64 only")?)
    }
}

impl Packed {
    fn unpack(&self) -> Option<Agent> {
        let bytes = lz4_flex::decompress_size_prepended(self.bytes).ok()?;
        (!self.hash.is_empty()).then_some(Agent { bytes, hash: self.hash })
    }
}

/// The program `mechanism` for an architecture: what one mechanism of a kernel costs. The error has the
/// next step, if this build has none for it.
pub fn mechanism(architecture: Architecture) -> Result<Vec<u8>, String> {
    let packed = match architecture {
        Architecture::X86_64 => MECHANISM_X86_64,
        Architecture::Aarch64 => MECHANISM_AARCH64,
    };
    let bytes = lz4_flex::decompress_size_prepended(packed).ok();
    bytes.filter(|bytes| !bytes.is_empty()).ok_or_else(|| none("mechanism", architecture))
}

fn none(program: &str, architecture: Architecture) -> String {
    let name = architecture.name();
    format!(
        "this build of thrashlab has no {program} for {name}: install a package, which has one, or \
         build thrashlab with `make build AGENTS={name}`"
    )
}

/// The agents of this build: their architectures and hashes.
pub fn identities() -> impl Iterator<Item = (Architecture, &'static str)> {
    let all =
        Architecture::ALL.iter().map(|architecture| (*architecture, packed(*architecture).hash));
    all.filter(|(_, hash)| !hash.is_empty())
}
