//! Common to all drivers: options, the stop request, and the event listener.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use agent::{Freeze, Waiter};
use clap::Args;
use instrument::Agent;
use keep::{Cache, Cells};
use model::units::parse_duration_ns;
use model::{AGENT_FACT, Environment};
use remote::RemoteOptions;
use subject::{Machine, StageOptions};
use vm::VmOptions;

use crate::event::{Event, Listener};

/// How runs are executed, for every search, as typed.
#[derive(Args, Clone, Debug)]
pub struct DriverOptions {
    /// With vm: run every cell again and keep none
    #[arg(long)]
    pub no_cache: bool,

    /// Guests or simulations at a time; on all nodes of a fleet together [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,

    /// With vm: a guest that writes nothing for this long, on the wall clock, counts as stuck; a
    /// boot may take a third of it, and 5 min at least
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_duration_ns)]
    pub wall_limit: u64,

    #[command(flatten)]
    pub(crate) remote: RemoteOptions,

    /// Folder on a disk for files: those of loads and measures; with ssh:// on that machine, with
    /// --fleet on the nodes [default: /var/tmp/thrashlab-UID]
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,

    /// Folder in which finished cells (guests and simulations) are looked up and stored, instead of
    /// the user's cache
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    pub(crate) cells: Option<PathBuf>,

    /// Sources of options that are not built in, for run headers.
    #[arg(skip)]
    pub origins: BTreeMap<String, String>,

    /// Test hook: freezes the probe's process.
    #[arg(skip)]
    pub freeze: Option<Freeze>,
}

impl DriverOptions {
    /// Takes finished cells from this folder, and keeps them there.
    pub fn with_cells(mut self, folder: PathBuf) -> Self {
        self.cells = Some(folder);
        self
    }

    /// The store of finished simulations, if there is one.
    pub(crate) fn simulated(&self) -> Option<Cells> {
        Some(Cells { folder: self.cells.clone()? })
    }

    pub(crate) fn stage(&self, swap_bytes: Option<u64>) -> StageOptions {
        StageOptions {
            work_dir: self.work_dir.clone(),
            swap_bytes,
            facts: facts_of_agent(),
            origins: self.origins.clone(),
            freeze: self.freeze,
            ..StageOptions::default()
        }
    }

    pub(crate) fn guests(&self) -> VmOptions {
        let cache = Cache::of_user();
        VmOptions {
            cache: match self.simulated() {
                Some(cells) => Cache { cells, ..cache },
                None => cache,
            },
            reuse_cells: !self.no_cache,
            silence: Duration::from_nanos(self.wall_limit),
            qemu: None,
            freeze: self.freeze,
        }
    }
}

/// Executes plans and matrices: sets up machines, executes the runs, and cleans up.
pub struct Driver<'a> {
    /// How runs are executed.
    pub options: &'a DriverOptions,
    /// The user's stop request.
    pub waiter: &'a Waiter,
    pub(crate) on_event: &'a mut Listener<'a>,
    /// Notes that are reported once: a search sets machines up again for each batch.
    noted: BTreeSet<String>,
}

impl<'a> Driver<'a> {
    /// A new driver.
    pub fn new(
        options: &'a DriverOptions,
        waiter: &'a Waiter,
        on_event: &'a mut Listener<'a>,
    ) -> Self {
        Self { options, waiter, on_event, noted: BTreeSet::new() }
    }

    /// Reports a note to the user.
    pub fn note(&mut self, text: &str) {
        (self.on_event)(&Event::Note { text });
    }

    /// Reports a note once, as what is true of a machine is true of all cells on it.
    pub(crate) fn note_once(&mut self, text: String) {
        if !self.noted.contains(&text) {
            self.note(&text);
            self.noted.insert(text);
        }
    }

    /// How many guests of at most this memory run at a time.
    pub fn jobs(&self, largest_bytes: Option<u64>) -> usize {
        let cpus = sys::process::usable_cpus() as usize;
        let guest_bytes = largest_bytes.unwrap_or(0).max(1);
        let fitting = Machine::read()
            .map_or(cpus, |machine| (machine.available_bytes / 2 / guest_bytes) as usize);
        self.options.jobs.map_or_else(|| cpus.min(fitting).max(1), usize::from)
    }
}

/// What identifies the agent of this machine, for the headers of its runs.
fn facts_of_agent() -> Environment {
    let agent = Agent::here().ok();
    agent.map(|agent| (AGENT_FACT.to_owned(), agent.hash.to_owned())).into_iter().collect()
}
