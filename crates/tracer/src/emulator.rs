//! The emulator: QEMU user mode for programs of this machine's own architecture.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::TracerError;

/// A program that is in a directory of `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// QEMU user mode.
#[derive(Clone, Debug)]
pub(crate) struct Emulator {
    pub path: PathBuf,
    /// Its name and version.
    pub version: String,
}

impl Emulator {
    /// Name of the program.
    pub(crate) fn name() -> String {
        format!("qemu-{}", env::consts::ARCH)
    }

    /// Finds it in `PATH`.
    ///
    /// # Errors
    /// When it is not installed.
    pub(crate) fn find() -> Result<Self, TracerError> {
        let name = Self::name();
        let path = in_path(&name).ok_or_else(|| TracerError::NoEmulator(name.clone()))?;
        let said = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
        let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let first = said.unwrap_or_default().lines().next().unwrap_or(&name).to_owned();
        Ok(Self { path, version: first })
    }
}
