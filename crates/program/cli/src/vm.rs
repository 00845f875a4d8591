//! `thrashlab vm`: the deterministic machine itself, apart from measurements.

mod boot;
mod condition;
mod debug;
mod disk;
mod emulators;
mod engine;
mod kernels;
mod machines;
mod shell;
mod verify;

use ::kernels::KernelArg;
use agent::Waiter;
use anyhow::Context;
use clap::{Args, Subcommand};
use experiment::subject_arg;
use keep::Cache;
use model::{Spec, VmSpec};
use render::Document;
use subject::Outcome;
use vm::{Qemu, Vm, VmError, VmOptions, VmRequest};

use crate::output::{OutputArgs, show};
use crate::progress::Progress;
use crate::{Failure, OrWrong, Result, guests, settings};

pub(crate) const EXAMPLES: &str = "\
Examples:
  thrashlab vm kernels
  thrashlab vm boot machine=micro,kernel=deb:linux-image-cloud-amd64
  thrashlab vm verify machine=micro
  thrashlab run --subject vm:machine=micro --quick

Settings of machines: docs/vm.md.";

/// Name of a cell that is verified; a part of its bytes.
const RUN_ID: &str = "verify";

#[derive(Subcommand)]
pub(crate) enum VmCommand {
    /// List the available kernels, or describe some in full
    Kernels(kernels::KernelsArgs),
    /// List the machines by name, or print the description of one
    Machines(machines::MachinesArgs),
    /// Boot a machine once and report the result
    Boot(boot::BootArgs),
    /// Stop a run at a point of it, always at the same instruction, for gdb
    Debug(debug::DebugArgs),
    /// Measure the disk of a machine and compare it with its parameters
    Disk(disk::DiskArgs),
    /// List the engines, patched QEMUs for several virtual CPUs, or build one
    Engine(engine::EngineArgs),
    /// Open a shell in a machine, with its disk at /work
    Shell(shell::ShellArgs),
    /// Run one cell several times, once on a busy host, and compare the bytes
    Verify(verify::VerifyArgs),
}

#[derive(Args)]
struct MachineArgs {
    /// What follows `vm:` in --subject: `machine=NAME,kernel=KERNEL,mem=SIZE,…` [default: the
    /// machine p2-350]
    #[arg(id = "vm", value_name = "SETTINGS", default_value = "", hide_default_value = true,
        value_parser = request)]
    settings: VmRequest,

    /// The kernel, instead of kernel= in SETTINGS
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
}

/// What a command with a machine needs.
struct VmContext {
    waiter: Waiter,
    progress: Progress,
    spec: VmSpec,
}

impl MachineArgs {
    /// What both print together.
    fn request(&self) -> VmRequest {
        let is_stronger = settings::is_given("kernel") || self.settings.kernel.is_none();
        let kernel = if is_stronger { &self.kernel } else { &self.settings.kernel }.clone();
        VmRequest { kernel, ..self.settings.clone() }
    }

    fn prepare(&self) -> Result<VmContext> {
        let waiter = Waiter::new().context("catch signals")?;
        let progress = Progress::new(false, None);
        let (spec, note) = subject_arg::vm_spec(&self.request());
        note.iter().for_each(|note| progress.say(note));
        // An error of the name is wrong use; everything else about a kernel is found out later.
        spec.kernel.parse::<KernelArg>().map_err(anyhow::Error::msg).or_wrong("vm:kernel")?;
        Ok(VmContext { waiter, progress, spec })
    }
}

/// What machines are verified with: in this QEMU, if one is named, and no cell from the cache.
fn verify_options(cache: Cache, qemu: Option<Qemu>) -> VmOptions {
    VmOptions { cache, reuse_cells: false, silence: guests::SILENCE, qemu, freeze: None }
}

/// Makes a cell that is verified; returns how it ended, and its bytes. Fails as [`Vm::run`].
fn verified_run(vm: &Vm, spec: &Spec, waiter: &Waiter) -> Result<(Outcome, Vec<u8>), VmError> {
    let stop = || waiter.stop_requested();
    let (made, bytes) = guests::with_bytes(|sink| vm.run(spec, RUN_ID, &stop, sink))?;
    Ok((made.outcome, bytes))
}

/// Prints the result of a check. Fails when it is not as it should be.
fn show_verdict(document: &Document<'_>, output: &OutputArgs, is_right: bool) -> Result<()> {
    show(document, output)?;
    if is_right { Ok(()) } else { Err(Failure::CheckFailed) }
}

/// Reads settings, with the `vm:` of --subject or without it.
fn request(text: &str) -> Result<VmRequest, String> {
    vm::parse_request(text.strip_prefix("vm:").unwrap_or(text))
}

pub(crate) fn vm(command: &VmCommand) -> Result<()> {
    match command {
        VmCommand::Kernels(args) => kernels::kernels(args),
        VmCommand::Machines(args) => machines::machines(args),
        VmCommand::Boot(args) => boot::boot(args),
        VmCommand::Debug(args) => debug::debug(args),
        VmCommand::Disk(args) => disk::disk(args),
        VmCommand::Engine(args) => engine::engine(args),
        VmCommand::Shell(args) => shell::shell(args),
        VmCommand::Verify(args) => verify::verify(args),
    }
}
