//! The options that all drivers share.

use std::path::PathBuf;
use std::time::Duration;

use agent::Freeze;
use keep::Cells;
use remote::RemoteOptions;
use vm::VmOptions;

/// How often the user's wish to stop is looked for.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// How runs are made, whatever asks for them.
#[derive(Clone, Debug)]
pub struct DriverOptions {
    /// How guests are run.
    pub guests: VmOptions,
    /// Guests or simulations at a time; `None` = one a CPU, as long as their memory fits into half
    /// of what is available.
    pub jobs: Option<usize>,
    /// Where the files of loads and probes go on this host, and on others.
    pub work_dir: Option<PathBuf>,
    /// How sessions on other hosts are held; purpose, work directory and swap are set by the driver.
    pub remote: RemoteOptions,
    /// Where finished simulations are taken from and kept; they are not, if missing.
    pub simulated: Option<Cells>,
    /// Test hook: freezes the probe's process.
    pub freeze: Option<Freeze>,
}
