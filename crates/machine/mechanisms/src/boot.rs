//! How long the kernel took to boot.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

/// What the kernel logs when it starts the first process (`init/main.c`).
const FIRST_PROCESS: &str = "as init process";
/// Longest record of the kernel's log, in bytes (`include/linux/printk.h`).
const RECORD_BYTES: usize = 8192;

/// The time at which the kernel started its first process. It is read from the kernel's log, so it
/// does not repeat.
pub(crate) fn boot(_count: u32) -> io::Result<f64> {
    // Each read is a record, and at the end of the log it would wait for the next one.
    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    let mut log = File::options().read(true).custom_flags(flags.cast_signed()).open("/dev/kmsg")?;
    let mut record = [0; RECORD_BYTES];
    loop {
        let length = match log.read(&mut record) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            // Older records were overwritten meanwhile.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => continue,
            Err(error) => return Err(error),
        };
        if let Some(ns) = started_ns(&String::from_utf8_lossy(&record[..length])) {
            return Ok(ns);
        }
    }
    Err(io::Error::other(format!("no {FIRST_PROCESS:?} in the kernel's log")))
}

/// The time of a record if it is that of the first process: `PRIORITY,NUMBER,MICROSECONDS,-;TEXT`
/// (Documentation/ABI/testing/dev-kmsg).
fn started_ns(record: &str) -> Option<f64> {
    let (head, text) = record.split_once(';')?;
    let us: f64 = head.split(',').nth(2)?.parse().ok()?;
    (text.starts_with("Run ") && text.contains(FIRST_PROCESS)).then_some(us * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_of_the_first_process_has_the_time() {
        let record = "6,412,813245,-;Run /init as init process\n";
        assert_eq!(started_ns(record), Some(813_245_000.0));
        assert_eq!(started_ns("6,1,0,-;Linux version 6.1"), None);
        assert_eq!(started_ns("nothing"), None);
    }
}
