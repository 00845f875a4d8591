//! Delay accounting of one task, over the generic netlink family `TASKSTATS`.
//!
//! Follows `Documentation/accounting/taskstats.rst`, `Documentation/accounting/delay-accounting.rst`
//! and the kernel's `include/uapi/linux/{taskstats,genetlink,netlink}.h`.
//!
//! The kernel answers only to `CAP_NET_ADMIN` (of the first user namespace), and counts delays
//! only for tasks that were started while the sysctl `kernel.task_delayacct` was 1.
//!
//! **Invariant:** a reply is read with bounds checks by pure functions; a field that this kernel's
//! `struct taskstats` does not have is absent, never 0.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use model::Values;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};

/// How long the kernel may take to answer; it answers within the call, so this never happens.
const TIMEOUT: Duration = Duration::from_millis(200);
/// Room for one reply, in bytes; `struct taskstats` has 560 in Linux 6.18.
const REPLY_BYTES: usize = 8192;

const FAMILY_NAME: &[u8] = b"TASKSTATS\0";
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const TASKSTATS_CMD_GET: u8 = 1;
const TASKSTATS_CMD_ATTR_PID: u16 = 1;
const TASKSTATS_CMD_ATTR_TGID: u16 = 2;
const TASKSTATS_TYPE_STATS: u16 = 3;
const TASKSTATS_TYPE_AGGR_PID: u16 = 4;
const TASKSTATS_TYPE_AGGR_TGID: u16 = 5;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
/// Type bits of an attribute; the two above are flags.
const NLA_TYPE_MASK: u16 = 0x3fff;
const NLMSG_HEADER_BYTES: usize = 16;
const GENL_HEADER_BYTES: usize = 4;
const ATTRIBUTE_HEADER_BYTES: usize = 4;

/// What a task can have waited for since it was started. Of each there is how often, as
/// `cpu_count`, and for how long in all, as `cpu_delay_total_ns`.
const WAITS: [&str; 8] = [
    // To be put on a CPU: runnable but not running.
    "cpu",
    // For synchronous block I/O.
    "blkio",
    // For a page to be swapped in.
    "swapin",
    // While it reclaimed memory itself.
    "freepages",
    // For a page that had been in memory shortly before (struct version 9, Linux 4.20).
    "thrashing",
    // While it compacted memory itself (struct version 11).
    "compact",
    // While a page was copied on the first write after a fork (struct version 13).
    "wpcopy",
    // While interrupts ran in its time (struct version 14).
    "irq",
];
/// Offsets of the pairs (count, total) in `struct taskstats`, in bytes, in the order of [`WAITS`].
/// The struct only ever grows at its end …
const OFFSETS: [usize; 8] = [16, 32, 48, 312, 328, 352, 400, 416];
/// … but for version 15 (Linux 6.14), which put a maximum and a minimum behind each total;
/// version 16 moved them to the end.
const OFFSETS_V15: [usize; 8] = [16, 48, 80, 360, 392, 432, 496, 528];
/// Length of version 14, in bytes. A longer one that still calls itself 14 is an early 15: the new
/// number came in a later commit than the new fields.
const V14_BYTES: usize = 432;

/// Reads a `struct taskstats` as this machine's kernel wrote it: the delays that it has, by name;
/// `None` if it has no version.
fn delays(bytes: &[u8]) -> Option<Values> {
    let version = u16_at(bytes, 0)?;
    let spread = version == 15 || (version == 14 && bytes.len() > V14_BYTES);
    let offsets = if spread { OFFSETS_V15 } else { OFFSETS };
    let pairs = WAITS.iter().zip(offsets).flat_map(|(wait, offset)| {
        [(format!("{wait}_count"), offset), (format!("{wait}_delay_total_ns"), offset + 8)]
    });
    Some(pairs.filter_map(|(name, at)| Some((name.into(), u64_at(bytes, at)?))).collect())
}

/// Reads a whole netlink message that answers the request with this sequence number; `None` if it
/// answers another request.
fn delays_reply(message: &[u8], sequence: u32) -> io::Result<Option<Values>> {
    let Some(attributes) = reply_attributes(message, sequence)? else { return Ok(None) };
    [TASKSTATS_TYPE_AGGR_PID, TASKSTATS_TYPE_AGGR_TGID]
        .into_iter()
        .find_map(|kind| attribute(attributes, kind))
        .and_then(|nested| attribute(nested, TASKSTATS_TYPE_STATS))
        .and_then(delays)
        .map(Some)
        .ok_or_else(|| invalid("the taskstats reply holds no struct taskstats"))
}

/// A connection to the kernel's taskstats family.
#[derive(Debug)]
pub(crate) struct Taskstats {
    socket: File,
    family: u16,
    sequence: u32,
    reply: Vec<u8>,
}

impl Taskstats {
    /// Opens a socket and asks for the family. Works without privileges; [`Self::read`] does not.
    ///
    /// # Errors
    /// When there is no netlink, or (not found) the kernel was built without `CONFIG_TASKSTATS`.
    pub(crate) fn open() -> io::Result<Self> {
        let socket = open_socket()?;
        let mut opened = Self { socket, family: 0, sequence: 0, reply: vec![0; REPLY_BYTES] };
        let message =
            opened.request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, FAMILY_NAME);
        opened.family = opened.ask(&message, family_id)?;
        Ok(opened)
    }

    /// The delays of one thread (for a process id: of its first thread).
    ///
    /// # Errors
    /// Permission denied without `CAP_NET_ADMIN`, `ESRCH` when there is no such task, timed out
    /// when the kernel does not answer within 200 ms.
    pub(crate) fn read(&mut self, pid: u32) -> io::Result<Values> {
        self.delays(TASKSTATS_CMD_ATTR_PID, pid)
    }

    /// The delays of all threads of a process together, those that have ended included.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn read_process(&mut self, pid: u32) -> io::Result<Values> {
        self.delays(TASKSTATS_CMD_ATTR_TGID, pid)
    }

    fn delays(&mut self, attribute: u16, pid: u32) -> io::Result<Values> {
        let message = self.request(self.family, TASKSTATS_CMD_GET, attribute, &pid.to_ne_bytes());
        self.ask(&message, delays_reply)
    }

    /// Makes a request of one attribute, with a sequence number of its own.
    fn request(&mut self, family: u16, command: u8, attribute: u16, payload: &[u8]) -> Vec<u8> {
        self.sequence = self.sequence.wrapping_add(1);
        let attribute_bytes = ATTRIBUTE_HEADER_BYTES + payload.len();
        let padding = attribute_bytes.next_multiple_of(4) - attribute_bytes;
        let total_bytes = NLMSG_HEADER_BYTES + GENL_HEADER_BYTES + attribute_bytes + padding;
        let mut message = Vec::with_capacity(total_bytes);
        message.extend_from_slice(&(total_bytes as u32).to_ne_bytes());
        message.extend_from_slice(&family.to_ne_bytes());
        message.extend_from_slice(&NLM_F_REQUEST.to_ne_bytes());
        message.extend_from_slice(&self.sequence.to_ne_bytes());
        message.extend_from_slice(&0_u32.to_ne_bytes());
        message.extend_from_slice(&[command, 1, 0, 0]);
        message.extend_from_slice(&(attribute_bytes as u16).to_ne_bytes());
        message.extend_from_slice(&attribute.to_ne_bytes());
        message.extend_from_slice(payload);
        message.extend(std::iter::repeat_n(0, padding));
        message
    }

    /// Sends a request and waits for its answer; late answers to earlier requests are dropped.
    fn ask<T>(
        &mut self,
        message: &[u8],
        parse: fn(&[u8], u32) -> io::Result<Option<T>>,
    ) -> io::Result<T> {
        self.socket.write_all(message)?;
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            let length = match self.socket.read(&mut self.reply) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            if let Some(answer) = parse(&self.reply[..length], self.sequence)? {
                return Ok(answer);
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "netlink: no answer within 200 ms"))
    }
}

/// A generic netlink socket whose reads give up after [`TIMEOUT`].
///
/// It is never connected, so that a plain write goes to the kernel (port 0).
fn open_socket() -> io::Result<File> {
    let (family, protocol) = (AddressFamily::NETLINK, Some(netlink::GENERIC));
    let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
    Ok(File::from(socket))
}

/// The number of the family in an answer to `CTRL_CMD_GETFAMILY`; `None` for another request's.
fn family_id(message: &[u8], sequence: u32) -> io::Result<Option<u16>> {
    let Some(attributes) = reply_attributes(message, sequence)? else { return Ok(None) };
    attribute(attributes, CTRL_ATTR_FAMILY_ID)
        .and_then(|payload| u16_at(payload, 0))
        .map(Some)
        .ok_or_else(|| invalid("the netlink family reply holds no number"))
}

/// The attributes of a generic netlink message; `None` if it answers another request.
fn reply_attributes(message: &[u8], sequence: u32) -> io::Result<Option<&[u8]>> {
    let short = || invalid("the netlink message is cut off");
    let length = u32_at(message, 0).ok_or_else(short)? as usize;
    let kind = u16_at(message, 4).ok_or_else(short)?;
    if u32_at(message, 8).ok_or_else(short)? != sequence {
        return Ok(None);
    }
    let body = message.get(NLMSG_HEADER_BYTES..length).ok_or_else(short)?;
    if kind == NLMSG_ERROR {
        let code = u32_at(body, 0).ok_or_else(short)?.cast_signed();
        return Err(match code {
            ..0 => io::Error::from_raw_os_error(code.saturating_neg()),
            0.. => invalid("the netlink reply is an acknowledgement without data"),
        });
    }
    body.get(GENL_HEADER_BYTES..).map(Some).ok_or_else(short)
}

/// The payload of the first attribute of a type; `None` if there is none, or it is cut off.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_at(attributes, 0)?);
        let kind = u16_at(attributes, 2)? & NLA_TYPE_MASK;
        let payload = attributes.get(ATTRIBUTE_HEADER_BYTES..length)?;
        if kind == wanted {
            return Some(payload);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array_at(bytes, offset).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array_at(bytes, offset).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array_at(bytes, offset).map(u64::from_ne_bytes)
}

/// `N` bytes from an offset on, if there are so many.
fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
#[path = "taskstats_tests.rs"]
mod tests;
