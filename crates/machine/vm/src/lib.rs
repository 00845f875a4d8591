//! The deterministic machine: an unmodified kernel in QEMU under instruction-counted virtual time,
//! with a slow disk in memory.
//!
//! [`Vm::prepare`] builds and boots a guest once; every [`Vm::run`] continues from there in its own
//! process, so many can run at a time.
//!
//! **Invariant:** the output of a deterministic guest is a function of kernel, modules, this
//! program, QEMU, machine and cell, which are all in the hash of a result. Nothing but the cache
//! outlives the process.

mod boot;
mod debugged;
mod disk;
mod disk_check;
mod disks;
mod engine;
mod gdb_remote;
mod guest_process;
mod guest_program;
mod guest_root;
mod initramfs;
mod kept_code;
mod kernel_room;
mod machine;
mod memory_clock;
mod modelled;
mod named;
mod observed;
mod overlay;
mod packed;
mod platform;
mod program_files;
mod qemu;
mod qmp;
mod shell;
mod snapshot;
mod start_script;
mod verify;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent::Freeze;
use guest::{Cell, Notice, Setup, Then};
use keep::{Cache, Cells, key_of};
use kernels::KernelError;
use model::{
    AGENT_FACT, Architecture, DeathRecord, EndStatus, Environment, Schedule, Spec, VmSpec,
};
use subject::{Outcome, RunLines, Sink};

pub use boot::{Booted, boot, modules_of};
pub use debugged::{Debugged, Position};
pub use disk_check::{
    CreditRow, DiskReport, DiskRow, DiskVerdict, MeasuredDisk, ZramRow, measure_disk,
};
pub use engine::{
    ENGINE_RELEASES, EngineBuild, EngineRelease, build_command as engine_command,
    built as built_engines,
};
pub use gdb_remote::{REGISTERS, Registers};
pub use guest::{DiskFigure, DiskPattern, DiskPhase, ZramFigure};
pub use machine::{
    DEFAULT, NAMED, VmRequest, load, parse_description, parse_request, parse_settings, request,
};
pub use named::{CellRun, IN_GUEST, run_cell};
pub use observed::Passing;
pub use overlay::{MECHANISMS, is_folder as is_folder_of_overlay};
pub use packed::PackedMachine;
pub use platform::obstacle;
pub use qemu::Qemu;
pub use roots::is_path as is_path_of_root;
pub use shell::{Shell, ShellState};
pub use start_script::{START_SCRIPT, START_SCRIPT_PACKAGE};
pub use verify::{Difference, first_difference};

use guest_process::{BootLimit, GuestProcess, Message};
use guest_root::GuestRoot;
use kept_code::KeptCode;
use memory_clock::{ClockFiles, MemoryClock};
use program_files::ProgramFiles;
use qemu::{Restore, Start, machine_arguments};
use qmp::Event;

/// Bumped when cells change although their inputs do not.
const CELL_VERSION: &str = "thrashlab cell 2";
const TICK: Duration = Duration::from_millis(5);
/// For what QEMU has to do after the end of a guest.
const LAST_WORK: Duration = Duration::from_secs(2);

/// Whether the user wants to stop; polled.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// How guests are run.
#[derive(Clone, Debug)]
pub struct VmOptions {
    /// Where kernels, booted machines and finished cells are kept.
    pub cache: Cache,
    /// Whether a finished cell is taken from the cache, and a new one kept there.
    pub reuse_cells: bool,
    /// A guest that is silent for longer than this on the wall clock is taken for stuck. A boot may
    /// take a third of it, and 5 minutes at least.
    pub silence: Duration,
    /// What runs them; `None` is the engine, or without it the QEMU of the system.
    pub qemu: Option<Qemu>,
    /// Test hook: freeze the prober.
    pub freeze: Option<Freeze>,
}

/// What the steps of a machine return.
pub(crate) type Result<T, E = VmError> = std::result::Result<T, E>;

/// Why there is no machine, or no run on it.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// A requirement is missing (QEMU, a static program, an overlay), with the next step.
    #[error("{0}")]
    Unavailable(String),
    /// No kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// What the user named as kernel cannot be understood.
    #[error("{0}")]
    KernelName(String),
    /// There is no root of the user's name.
    #[error("{0}")]
    RootName(String),
    /// A root that is damaged or cannot be read.
    #[error("{0}")]
    Root(String),
    /// The guest does not boot.
    #[error("the guest does not boot: {0}")]
    Boot(String),
    /// The guest's kernel needs more memory for itself than the machine gives it.
    #[error(
        "the guest does not boot: {0}; a larger kernel needs more than this machine has: kernel_mem=SIZE"
    )]
    KernelMemory(String),
    /// QEMU fails.
    #[error("{0}")]
    Qemu(#[from] io::Error),
    /// The cache cannot be used.
    #[error("the cache {path} cannot be used: {source}; name another one in XDG_CACHE_HOME")]
    Cache {
        /// The folder.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The results.
    #[error(
        "the results cannot be written: {0}; name a folder with enough space with --output DIR"
    )]
    Results(io::Error),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl VmError {
    /// For `map_err`: an error at this folder of the cache.
    fn cache(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Cache { path: path.to_owned(), source }
    }
}

/// A machine with a kernel, booted and ready for cells.
pub struct Vm {
    qemu: Qemu,
    machine: PackedMachine,
    folder: PathBuf,
    options: VmOptions,
    programs: ProgramFiles,
}

impl Vm {
    /// Finds everything, and boots the machine unless it is cached. Fails when something is
    /// missing, with the next step, or when the guest does not boot, with its last output.
    /// `say` gets the steps that take long.
    pub fn prepare(
        spec: &VmSpec,
        options: &VmOptions,
        stop: Stop<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let cache = &options.cache;
        let overlay = overlay::of(spec, cache)?;
        let root = GuestRoot::of(spec, cache, stop, say)?;
        let (qemu, root_files) = (options.qemu.as_ref(), root.as_ref());
        let mut parts = boot::Parts::gather(qemu, spec, cache, &overlay, root_files, Then::Cell)?;
        parts.boot_limit = BootLimit::of_silence(options.silence);
        let clock = MemoryClock::of(&parts.setup.machine)?;
        let (key, folder) = parts.with_room(say, |parts, say| {
            let hashes = [&*parts.kernel.image_hash, &*parts.initramfs_hash];
            let key = machine_key(&parts.qemu, &parts.setup, clock.as_ref(), hashes)?;
            let folder = match snapshot::find(&cache.snapshots, &key) {
                Some(folder) => folder,
                None => {
                    root.iter().for_each(|root| say(&root.step()));
                    snapshot::make(&cache.snapshots, &key, parts, stop)?
                }
            };
            Ok((key, folder))
        })?;
        let machine = PackedMachine {
            qemu: parts.qemu.version.clone(),
            memory_bytes: parts.setup.machine.ram_bytes(),
            facts: facts(&parts, &key, clock.as_ref()),
            missed: parts.missed(),
            clock,
            files: BTreeMap::new(),
            setup: parts.setup,
            key,
        };
        let programs = ProgramFiles {
            overlay: spec.overlay.as_ref().filter(|it| overlay::is_folder(it)).map(PathBuf::from),
            archive: root.map(|root| root.archive),
        };
        Ok(Self { qemu: parts.qemu, machine, folder, options: options.clone(), programs })
    }

    /// The hash of everything that the booted machine depends on.
    pub fn key(&self) -> &str {
        &self.machine.key
    }

    /// A function that reads a file of the guest's programs by its path; `None` for one that is not in
    /// what the guest was made of.
    pub fn program_files(&self) -> impl Fn(&str) -> Option<Vec<u8>> + use<> {
        self.programs.reader()
    }

    /// Memory that a guest takes of its host, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.machine.memory_bytes
    }

    /// The hash of all inputs of a run. Fails when the spec cannot be serialized.
    pub fn cell_key(&self, spec: &Spec) -> Result<String> {
        self.cell(spec).map(|(_, key)| key)
    }

    /// The finished cells that count: none where a cell may end in another way, or is to run again.
    pub fn finished_cells(&self) -> Option<&Cells> {
        let reuses = self.options.reuse_cells && self.machine.setup.machine.is_deterministic();
        reuses.then_some(&self.options.cache.cells)
    }

    fn cell(&self, spec: &Spec) -> Result<(Vec<u8>, String)> {
        let cell = Cell {
            run_id: IN_GUEST.to_owned(),
            spec: spec.clone(),
            facts: self.machine.facts.clone(),
            missed: self.machine.missed.clone(),
            freeze: self.options.freeze,
        };
        let cell = serde_json::to_vec(&cell).map_err(io::Error::from)?;
        let key = key_of(&[CELL_VERSION.as_bytes(), self.machine.key.as_bytes(), &cell]);
        Ok((cell, key))
    }

    /// Makes one run in its own guest, or reads it from the cache. Whatever happens to a running guest
    /// is an outcome. Fails when QEMU cannot start or lines cannot be passed on.
    pub fn run(
        &self,
        spec: &Spec,
        run_id: &str,
        stop: Stop<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<CellRun> {
        let (cell, key) = self.cell(spec)?;
        run_cell(self.finished_cells(), &key, run_id, sink, |sink| {
            self.in_guest(&cell, spec, stop, sink)
        })
    }

    fn in_guest(
        &self,
        cell: &[u8],
        spec: &Spec,
        stop: Stop<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<Outcome> {
        // Without it, in a cache that cannot be written, guests are slower.
        let keeps_code = self.qemu.firmware.is_some() && self.machine.clock.is_none();
        let code = keeps_code.then(|| KeptCode::open(&self.folder).ok()).flatten();
        let options = code.as_ref().map(KeptCode::options);
        let (schedule, options) = (self.schedule(spec), options.as_deref());
        let how = Restore { schedule, code: options, ..Restore::default() };
        let mut guest = self.continued(cell, how)?;
        let outcome = listen(&mut guest, self.options.silence, stop, sink)?;
        if let Some(code) = code
            && outcome.status == EndStatus::Complete
            && guest.ends_within(LAST_WORK).unwrap_or(false)
        {
            // Lost where the cache cannot be written.
            let _ = code.keep();
        }
        Ok(outcome)
    }

    /// The seed of the turns of virtual CPUs, if the machine has them seeded.
    fn schedule(&self, spec: &Spec) -> Option<u64> {
        let is_seeded = self.machine.setup.machine.schedule == Schedule::Seed;
        is_seeded.then(|| spec.seed.wrapping_add(1).max(1))
    }

    /// A guest that continues from the booted machine with this cell.
    fn continued(&self, cell: &[u8], how: Restore<'_>) -> io::Result<GuestProcess> {
        let setup = &self.machine.setup;
        let clock = self.machine.clock.as_ref();
        let clock = clock.map(|clock| clock.files(setup.machine.cpu_count())).transpose()?;
        let option = clock.as_ref().map(ClockFiles::option);
        let how = Restore { clock: option.as_deref(), ..how };
        snapshot::restore(&self.folder, &self.qemu, setup, cell, how)
    }
}

fn machine_key(
    qemu: &Qemu,
    setup: &Setup,
    clock: Option<&MemoryClock>,
    [kernel_hash, initramfs_hash]: [&str; 2],
) -> Result<String> {
    let is_engine = qemu.firmware.is_some();
    let arguments = [Start::Boot { terminal: None }, Start::Restore(Restore::default())]
        .map(|start| machine_arguments(setup, start, is_engine).join("\0"))
        .join("\0");
    let clock = clock.map(MemoryClock::hash);
    let setup = serde_json::to_vec(setup).map_err(io::Error::from)?;
    let fixed = [
        CELL_VERSION.as_bytes(),
        qemu.version.as_bytes(),
        arguments.as_bytes(),
        &setup,
        kernel_hash.as_bytes(),
        initramfs_hash.as_bytes(),
    ];
    let parts: Vec<&[u8]> = fixed.into_iter().chain(clock.as_deref().map(str::as_bytes)).collect();
    Ok(key_of(&parts))
}

/// Facts that the guest cannot see.
fn facts(parts: &boot::Parts, key: &str, clock: Option<&MemoryClock>) -> Environment {
    let deterministic = if parts.setup.machine.is_deterministic() { "yes" } else { "no" };
    let architecture = parts.setup.architecture;
    let clock = clock.map(MemoryClock::hash);
    let kernel_memory = parts.room.grown(&parts.setup.machine).map(model::units::exact_size);
    let other = Some(architecture).filter(|it| *it != Architecture::X86_64);
    [
        (AGENT_FACT, parts.agent_hash),
        ("vm_qemu", parts.qemu.version.as_str()),
        ("vm_kernel_blake3", parts.kernel.image_hash.as_str()),
        ("vm_initramfs_blake3", parts.initramfs_hash.as_str()),
        ("vm_machine_blake3", key),
        ("vm_deterministic", deterministic),
    ]
    .into_iter()
    .chain(other.map(|architecture| ("vm_architecture", architecture.name())))
    .chain(kernel_memory.iter().map(|size| ("vm_kernel_mem", size.as_str())))
    .chain(clock.iter().map(|hash| ("vm_time_blake3", hash.as_str())))
    .chain(parts.setup.root.iter().map(|root| ("vm_root_blake3", root.blake3.as_str())))
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}

fn listen(
    guest: &mut GuestProcess,
    silence: Duration,
    stop: Stop<'_>,
    sink: &mut Sink<'_>,
) -> Result<Outcome> {
    let mut lines = RunLines::default();
    let mut heard = Instant::now();
    let mut ended = None;
    let died = |(text, death): (String, Option<DeathRecord>), otherwise| {
        let status = if death.is_some() { EndStatus::KernelDied } else { otherwise };
        (status, Some(text), death)
    };
    let (status, why, death) = loop {
        let event = guest.qmp.event(TICK)?;
        for said in guest.messages()? {
            heard = Instant::now();
            match said {
                Message::Run(line) => lines.push(&line, sink).map_err(VmError::Results)?,
                Message::Notice(Notice::Ended { death }) => ended = Some(death),
                Message::Notice(Notice::Failed(why)) => ended = Some(Some(why)),
                _ => {}
            }
        }
        match (event, &ended) {
            (_, Some(why)) => break (EndStatus::Killed, why.clone(), None),
            (Event::Ended | Event::Paused, None) => {
                let what = if event == Event::Ended { "ended" } else { "paused" };
                let how = format!("the guest {what} by itself");
                break died(guest.examine(&how), EndStatus::Killed);
            }
            _ if stop() => break (EndStatus::Interrupted, Some("interrupted".to_owned()), None),
            _ if heard.elapsed() > silence => {
                let how = format!("the guest was silent for {} s", silence.as_secs());
                break died(guest.examine(&how), EndStatus::Timeout);
            }
            _ => {}
        }
    };
    if let Some(status) = lines.status {
        return Ok(Outcome { status, death: why });
    }
    if let Some(why) = why.as_ref().filter(|_| death.is_none()) {
        lines.warn(why, sink).map_err(VmError::Results)?;
    }
    let at_ns = lines.last_ns;
    let death = death.map(|death| DeathRecord { at_ns, ..death });
    lines.end_early(at_ns, status, death, sink).map_err(VmError::Results)?;
    Ok(Outcome { status, death: why.or_else(|| Some("the run has no end".to_owned())) })
}
