//! The command line of `thrashlab vm` and `thrashlab cache`, as it is typed.

use clap::{Args, Subcommand};
use vm::VmRequest;

use crate::args::{TimingArgs, load_name, probe_name};

/// A load that uses processor, memory and disk.
const VERIFIED_LOAD: &str = "2ctx-mem";

#[derive(Args)]
pub(crate) struct VmArgs {
    #[command(subcommand)]
    pub(crate) command: VmCommand,
}

#[derive(Subcommand)]
pub(crate) enum VmCommand {
    /// Run one cell several times, once on a busy host, and compare the bytes
    Verify(Box<VerifyArgs>),
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
    /// Count and size of kernels, booted machines and cells
    #[command(after_help = STAT_EXAMPLES)]
    Stat {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Remove booted machines and cells
    #[command(after_help = PRUNE_EXAMPLES)]
    Prune {
        /// The kernels, too
        #[arg(long)]
        all: bool,
    },
}
