//! The command line of `thrashlab vm` and `thrashlab cache`, as it is typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use vm::VmRequest;

use crate::names::{load_name, probe_name};
use crate::timing::TimingArgs;

/// A load that uses processor, memory and disk.
const VERIFIED_LOAD: &str = "2ctx-mem";

#[derive(Args)]
pub(crate) struct VmArgs {
    #[command(subcommand)]
    pub(crate) command: VmCommand,
}

#[derive(Subcommand)]
pub(crate) enum VmCommand {
    /// List the kernels at hand, or describe some in full
    Kernels(KernelsArgs),
    /// List the machines by name, or print the description of one
    Machines(MachinesArgs),
    /// Boot a machine once, and tell how that went
    Boot(BootArgs),
    /// Open a shell in a machine, with its disk at /work
    Shell(ShellArgs),
    /// Run one cell several times, once on a busy host, and compare the bytes
    Verify(VerifyArgs),
}

/// A machine with a kernel.
#[derive(Args)]
pub(crate) struct MachineArgs {
    /// What follows `vm:` in --subject: `machine=NAME,kernel=KERNEL,mem=SIZE,…` [default: the
    /// machine p2-350]
    #[arg(value_name = "SETTINGS", value_parser = request)]
    settings: Option<VmRequest>,

    /// The kernel, instead of kernel= in SETTINGS
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
}

impl MachineArgs {
    /// What both say together.
    pub(crate) fn request(&self) -> Result<VmRequest, String> {
        let mut request = match &self.settings {
            Some(request) => request.clone(),
            None => vm::parse_request("")?,
        };
        if let Some(kernel) = &self.kernel {
            request.kernel = Some(kernel.clone());
        }
        Ok(request)
    }
}

/// Reads settings, with the `vm:` of --subject or without it.
fn request(text: &str) -> Result<VmRequest, String> {
    vm::parse_request(text.strip_prefix("vm:").unwrap_or(text))
}

const KERNELS_EXAMPLES: &str = "\
A kernel that is named is fetched if need be, and kept in the cache. Nothing is installed.

Examples:
  thrashlab vm kernels
  thrashlab vm kernels --dir ~/kernels --all
  thrashlab vm kernels deb:linux-image-cloud-amd64 host";

#[derive(Args)]
#[command(after_help = KERNELS_EXAMPLES)]
pub(crate) struct KernelsArgs {
    /// Kernels to describe in full, each as in kernel=
    #[arg(value_name = "KERNEL")]
    pub(crate) kernels: Vec<String>,

    /// Look in this folder, too
    #[arg(long = "dir", value_name = "DIR", conflicts_with = "kernels")]
    pub(crate) dirs: Vec<PathBuf>,

    /// List all kernels of the archive
    #[arg(long, conflicts_with = "kernels")]
    pub(crate) all: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

const MACHINES_EXAMPLES: &str = "\
Examples:
  thrashlab vm machines
  thrashlab vm machines p2-350 > mine.toml         to be changed, and used as machine=mine.toml";

#[derive(Args)]
#[command(after_help = MACHINES_EXAMPLES)]
pub(crate) struct MachinesArgs {
    /// The machine whose description is printed, or the file of one, which is checked
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Print JSON instead of a table or TOML
    #[arg(long)]
    pub(crate) json: bool,
}

const BOOT_EXAMPLES: &str = "\
Times are those of the wall clock.

Examples:
  thrashlab vm boot
  thrashlab vm boot machine=micro,kernel=deb:linux-image-cloud-amd64
  thrashlab vm boot --kernel host --dmesg";

#[derive(Args)]
#[command(after_help = BOOT_EXAMPLES)]
pub(crate) struct BootArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,

    /// Print all that the kernel said
    #[arg(long)]
    pub(crate) dmesg: bool,

    /// Print JSON
    #[arg(long, conflicts_with = "dmesg")]
    pub(crate) json: bool,
}

const SHELL_EXAMPLES: &str = "\
For looking around. Leave it with `exit` or Ctrl-D, or with Ctrl-] at once. Nothing of it is kept.
It is not deterministic: while nobody types, its time follows the wall clock. It needs a static
busybox on this machine. Without a terminal, it runs its input as a script.

Examples:
  thrashlab vm shell
  thrashlab vm shell machine=micro --kernel host
  echo 'uname -r; cat /proc/swaps' | thrashlab vm shell";

#[derive(Args)]
#[command(after_help = SHELL_EXAMPLES)]
pub(crate) struct ShellArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

const VERIFY_EXAMPLES: &str = "\
Nothing is taken from the cache of cells. Exit codes: 0 identical, 1 not identical.

Examples:
  thrashlab vm verify machine=micro
  thrashlab vm verify machine=micro --boots 2      boots afresh, too
  thrashlab vm verify kernel=deb:linux-image-cloud-amd64 --load largewrite --probe exec";

#[derive(Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,

    /// The load
    #[arg(long, value_name = "LOAD", default_value = VERIFIED_LOAD, value_parser = load_name)]
    pub(crate) load: String,

    /// The interaction that is timed
    #[arg(long, value_name = "PROBE", default_value = "response", value_parser = probe_name)]
    pub(crate) probe: String,

    #[command(flatten)]
    pub(crate) timing: TimingArgs,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Boots to compare; with more than one, all of them are made afresh
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) boots: u32,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

const STAT_EXAMPLES: &str = "\
The cache is $XDG_CACHE_HOME/thrashlab, else ~/.cache/thrashlab.

Examples:
  thrashlab cache stat
  thrashlab cache stat --json";

const PRUNE_EXAMPLES: &str = "\
All of it is made again when it is needed; kernels of packages may have to be fetched again.

Examples:
  thrashlab cache prune
  thrashlab cache prune --all";

#[derive(Subcommand)]
pub(crate) enum CacheCommand {
    /// Count and size of kernels, booted machines, cells and what fleets keep
    #[command(after_help = STAT_EXAMPLES)]
    Stat {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Remove booted machines, cells and what fleets keep
    #[command(after_help = PRUNE_EXAMPLES)]
    Prune {
        /// The kernels, too
        #[arg(long)]
        all: bool,
    },
}
