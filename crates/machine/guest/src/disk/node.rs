//! Nodes of block devices, which the kernel usually creates before it answers.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::at;

const LOOKS: u32 = 500;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Waits for a node. Fails when it does not come for long.
pub(super) fn wait_for(node: &Path) -> io::Result<()> {
    let is_there = || node.exists().then_some(());
    look_for(is_there).ok_or_else(|| io::Error::from(ErrorKind::NotFound))
}

/// Looks for something until it is found; `None` after a long time.
pub(super) fn look_for<T>(mut find: impl FnMut() -> Option<T>) -> Option<T> {
    (0..LOOKS).find_map(|_| {
        find().or_else(|| {
            thread::sleep(BETWEEN_LOOKS);
            None
        })
    })
}

/// Writes to a device, and waits until it has everything.
pub(super) fn fill(node: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = File::options().write(true).open(node)?;
    write(&mut file)?;
    file.sync_all()
}

/// For `map_err`: names the step and the path.
pub(super) fn failed<E: Display>(what: &str, path: &Path) -> impl FnOnce(E) -> String + use<E> {
    at(format!("cannot {what} {}", path.display()))
}
