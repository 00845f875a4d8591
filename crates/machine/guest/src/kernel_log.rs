//! Sends the kernel's log (`Documentation/ABI/testing/dev-kmsg`) to the host.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use crate::channel::Channel;
use crate::protocol::Notice;

const DEVICE: &str = "/dev/kmsg";
/// Longest record (`CONSOLE_EXT_LOG_MAX` of the kernel).
const RECORD_BYTES: usize = 8192;

/// Messages in an error.
const LAST: usize = 3;

pub(crate) fn tell(channel: &Channel) -> io::Result<()> {
    read(|at_us, text| channel.say(&Notice::Log { at_us, text }))
}

/// The last messages.
pub(crate) fn last() -> io::Result<Vec<String>> {
    let mut texts = Vec::new();
    read(|_, text| texts.push(text))?;
    Ok(texts.split_off(texts.len().saturating_sub(LAST)))
}

fn read(mut each: impl FnMut(u64, String)) -> io::Result<()> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut log = OpenOptions::new().read(true).custom_flags(nonblocking).open(DEVICE)?;
    let mut bytes = [0; RECORD_BYTES];
    loop {
        match log.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                if let Some((at_us, text)) = record(&String::from_utf8_lossy(&bytes[..count])) {
                    each(at_us, text);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            // Records were overwritten; the next read continues.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => return Err(error),
        }
    }
}

/// A record `priority,number,µs,flags;text`, perhaps with key-value lines below.
fn record(text: &str) -> Option<(u64, String)> {
    let (head, rest) = text.split_once(';')?;
    let at_us = head.split(',').nth(2)?.parse().ok()?;
    Some((at_us, rest.lines().next().unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_time_and_a_text() {
        let text = "6,339,5140900,-;NET: Registered PF_INET6\n SUBSYSTEM=net\n";
        assert_eq!(record(text), Some((5_140_900, "NET: Registered PF_INET6".to_owned())));
        assert_eq!(record("no record"), None);
    }
}
