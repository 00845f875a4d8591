//! The architecture of the guest and of the program in it: x86-64, or what `make test-aarch64` sets.

use std::path::{Path, PathBuf};

/// Set by `make test-aarch64`.
const CHOSEN: &str = "THRASHLAB_DISTRO_ARCH";
/// The folder of the workspace.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// What differs between architectures: where their files are, and how QEMU starts them.
pub(crate) struct Architecture {
    folder: &'static str,
    program: &'static str,
    pub(crate) compiler: &'static str,
    pub(crate) emulator: &'static str,
    pub(crate) machine: &'static str,
    pub(crate) processor: &'static str,
    /// Options for the kernel's command line.
    pub(crate) kernel_options: &'static str,
}

/// Without `cmpxchg16b`: in QEMU 7.2 that instruction corrupts the flags, and the kernel's
/// allocator, which uses it where available, double-faults.
const X86_64: Architecture = Architecture {
    folder: "target/distro",
    program: "target/release/thrashlab",
    compiler: "cc",
    emulator: "qemu-system-x86_64",
    machine: "pc",
    processor: "qemu64,-cx16",
    kernel_options: "console=ttyS0 tsc=reliable",
};

const AARCH64: Architecture = Architecture {
    folder: "target/distro-aarch64",
    program: "target/aarch64-unknown-linux-gnu/release/thrashlab",
    compiler: "aarch64-linux-gnu-gcc",
    emulator: "qemu-system-aarch64",
    machine: "virt",
    processor: "cortex-a72",
    kernel_options: "console=ttyAMA0",
};

impl Architecture {
    /// The architecture that is tested.
    pub(crate) fn chosen() -> &'static Self {
        match std::env::var(CHOSEN).as_deref() {
            Err(_) | Ok("x86_64") => &X86_64,
            Ok("aarch64") => &AARCH64,
            Ok(other) => panic!("{CHOSEN}={other}: there are guests of x86_64 and aarch64"),
        }
    }

    /// The folder of the guest's files.
    pub(crate) fn folder(&self) -> PathBuf {
        Path::new(WORKSPACE).join(self.folder)
    }

    /// The static program.
    pub(crate) fn program(&self) -> PathBuf {
        let program = Path::new(WORKSPACE).join(self.program);
        assert!(program.is_file(), "{} is missing: make binary", program.display());
        program
    }
}
