//! Waits with a limit: for dying processes that are in the way, and for the other end of a FIFO.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// Opens a file. A FIFO waits for the process at its other end, at most 10 s. Fails then, or if the
/// file cannot be opened.
pub fn open_patiently(path: &Path, options: &OpenOptions) -> io::Result<File> {
    open_within(PATIENCE, path, options)
}

/// Reads a file to its end, a FIFO as [`open_patiently`] does. Fails as it, or if it cannot be read.
pub fn read_patiently(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_patiently(path, File::options().read(true))?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_within(limit: Duration, path: &Path, options: &OpenOptions) -> io::Result<File> {
    if !fs::metadata(path).is_ok_and(|facts| facts.file_type().is_fifo()) {
        return options.open(path);
    }
    let (sender, opened) = mpsc::channel();
    let (options, owned) = (options.clone(), path.to_owned());
    // Open waits in the kernel, without a limit: beyond the patience the thread stays there.
    thread::Builder::new().spawn(move || sender.send(options.open(owned)))?;
    opened.recv_timeout(limit).unwrap_or_else(|_| {
        let why = format!("a FIFO whose other end nobody opened within {} s", limit.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, why))
    })
}

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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_fifo_waits_for_its_other_end_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = |name: &str| {
            let path = folder.path().join(name);
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            path
        };
        let (mut reads, mut writes) = (File::options(), File::options());
        reads.read(true);
        writes.write(true);
        for (name, options) in [("unwritten", &reads), ("unread", &writes)] {
            let failed = open_within(Duration::from_millis(20), &fifo(name), options).unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
        }
        let fifo = fifo("written");
        let writer = thread::spawn({
            let fifo = fifo.clone();
            move || {
                thread::sleep(Duration::from_millis(50));
                File::options().write(true).open(fifo).unwrap().write_all(b"late").unwrap();
            }
        });
        assert_eq!(read_patiently(&fifo).unwrap(), b"late");
        writer.join().unwrap();
    }
}
