//! One run in a guest.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use agent::Waiter;
use keep::AgentProgram;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use subject::{Stage, StageOptions};
use sys::entropy::{SEED_BYTES, mix_in};

use crate::at;
use crate::channel::Channel;
use crate::disk::WORK_DIR;
use crate::protocol::{Cell, Notice, PROGRAM, ROLE, RootSetup};
use crate::root;

/// Argument of the first process's second start.
pub(crate) const COMMAND: &str = "cell";
const CELL_PATH: &str = "/run/cell";
/// The run starts at a seeded time within this span (a few ticks), in ns.
const START_NS: u64 = 50_000_000;
/// The environment has a seeded size up to this, which moves the stack (Mytkowicz et al.,
/// "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009).
const PAD_BYTES: usize = 4096;

/// Applies the seed, then restarts this program to run the cell. Returns only on failure.
pub(crate) fn begin(bytes: &[u8], cell: &Cell, setup: Option<&RootSetup>) -> Result<(), String> {
    let mut random = Pcg64Mcg::seed_from_u64(cell.spec.seed);
    let mut entropy = [0; 2 * SEED_BYTES];
    random.fill_bytes(&mut entropy);
    let delay_ns = random.random_range(0..START_NS);
    let pad = "x".repeat(random.random_range(0..PAD_BYTES));
    mix_in(&entropy).map_err(at("seed the kernel's randomness"))?;
    fs::write(CELL_PATH, bytes).map_err(at("keep the cell"))?;
    std::thread::sleep(Duration::from_nanos(delay_ns));
    let error = Command::new(PROGRAM)
        .args([ROLE, COMMAND])
        .env_clear()
        .envs(setup.into_iter().flat_map(root::environment))
        .env("XDG_STATE_HOME", "/run")
        .env("PAD", pad)
        .exec();
    Err(at("begin the cell")(error))
}

pub(crate) fn run() -> Result<(), String> {
    let mut channel = Channel::open().map_err(at("open the channel to the host"))?;
    let bytes = fs::read(CELL_PATH).map_err(at("read the cell"))?;
    let cell: Cell = model::json::from_bytes(&bytes).map_err(at("read the cell"))?;
    // The observer must not thrash.
    sys::memory::lock_all().map_err(at("lock the first process into memory"))?;
    sys::process::become_urgent().map_err(at("become urgent"))?;
    let waiter = Waiter::new().map_err(at("catch signals"))?;
    let options = StageOptions {
        work_dir: Some(Path::new(WORK_DIR).to_owned()),
        facts: cell.facts,
        missed: cell.missed,
        freeze: cell.freeze,
        ..StageOptions::default()
    };
    let mut stage =
        Stage::set(options, AgentProgram::this(), &waiter).map_err(at("prepare the run"))?;
    let outcome = stage
        .run(&cell.spec, &cell.run_id, &waiter, &mut |bytes, _| {
            std::io::Write::write_all(&mut channel, bytes)
        })
        .map_err(at("execute the run"))?;
    channel.say(&Notice::Ended { death: outcome.death });
    // The machine ends here: no cleanup.
    crate::channel::end();
    Ok(())
}
