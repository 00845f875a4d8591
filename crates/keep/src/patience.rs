//! Retries while dying processes are in the way.

use std::io;
use std::time::{Duration, Instant};

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) fn patiently(mut work: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match work() {
            Err(error)
                if Instant::now() < deadline
                    && matches!(
                        error.kind(),
                        io::ErrorKind::ResourceBusy
                            | io::ErrorKind::DirectoryNotEmpty
                            | io::ErrorKind::WouldBlock
                    ) =>
            {
                std::thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}
