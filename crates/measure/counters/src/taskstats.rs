//! Delay accounting of one task, over the generic netlink family `TASKSTATS`.
//!
//! Follows `Documentation/accounting/{taskstats,delay-accounting}.rst` and the kernel's
//! `include/uapi/linux/{taskstats,genetlink,netlink}.h`. The kernel requires `CAP_NET_ADMIN`, and
//! counts delays of tasks started while the sysctl `kernel.task_delayacct` was 1.
//!
//! **Invariant:** replies are read with bounds checks; a field that this kernel lacks is absent.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use model::Values;
use rustix::net::sockopt::{self, Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};

/// The kernel answers within the call, so this time never passes.
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
const TASKSTATS_CMD_ATTR_REGISTER_CPUMASK: u16 = 3;
const TASKSTATS_TYPE_PID: u16 = 1;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
/// Type bits of an attribute; the two above are flags.
const NLA_TYPE_MASK: u16 = 0x3fff;
const NLMSG_HEADER_BYTES: usize = 16;
const GENL_HEADER_BYTES: usize = 4;
const ATTRIBUTE_HEADER_BYTES: usize = 4;

/// What a task may wait for. Of each there is a count (`cpu_count`) and a total
/// (`cpu_delay_total_ns`), a pair at an offset of `struct taskstats`. The struct only grows at its
/// end, except version 15 (Linux 6.14), with a maximum and minimum after each total, which 16
/// moved to the end.
const WAITS: [(&str, usize, usize); 8] = [
    // To be put on a CPU: runnable but not running.
    ("cpu", 16, 16),
    // For synchronous block I/O.
    ("blkio", 32, 48),
    // For a page to be swapped in.
    ("swapin", 48, 80),
    // While it reclaimed memory itself.
    ("freepages", 312, 360),
    // For a page that had been in memory shortly before (struct version 9, Linux 4.20).
    ("thrashing", 328, 392),
    // While it compacted memory itself (struct version 11).
    ("compact", 352, 432),
    // While a page was copied on the first write after a fork (struct version 13).
    ("wpcopy", 400, 496),
    // While interrupts ran in its time (struct version 14).
    ("irq", 416, 528),
];
/// Number of the parent of a task, and how much later it is in a version with maxima between.
const PARENT_OFFSET: usize = 132;
const PARENT_SPREAD: usize = 48;
/// Lifetime of a task in us, from the number of its parent on; 0 in the sums of a process.
const LIFETIME_AFTER_PARENT: usize = 12;
/// How much longer than its task a wait may seem, in ns, as two clocks are read.
const CLOCK_ERROR_NS: u64 = 10_000_000;
/// Length of version 14, in bytes. A longer 14 is an early 15, whose number changed a commit later.
const V14_BYTES: usize = 432;

/// Reads a `struct taskstats`: the delays that it has, by name; `None` if it has no version.
///
/// The kernel may end a wait whose beginning it has not recorded (seen in Linux 6.18, of block I/O):
/// it then lasts as long as the machine is up. A wait that is longer than its task is absent.
fn delays(bytes: &[u8]) -> Option<Values> {
    let is_spread = is_spread(bytes)?;
    let value = |at| number_at(bytes, at).map(u64::from_ne_bytes);
    let parent = PARENT_OFFSET + if is_spread { PARENT_SPREAD } else { 0 };
    let lifetime_ns = value(parent + LIFETIME_AFTER_PARENT).unwrap_or(0).saturating_mul(1000);
    let longest_ns = match lifetime_ns {
        0 => u64::MAX,
        known => known.saturating_mul(2).saturating_add(CLOCK_ERROR_NS),
    };
    let mut found = Values::new();
    for (wait, offset, spread) in WAITS {
        let at = if is_spread { spread } else { offset };
        let Some((count, total_ns)) = value(at).zip(value(at + 8)) else { continue };
        if total_ns <= longest_ns {
            found.insert(format!("{wait}_count").into(), count);
            found.insert(format!("{wait}_delay_total_ns").into(), total_ns);
        }
    }
    Some(found)
}

/// Whether maxima are between the totals; `None` without a version.
fn is_spread(bytes: &[u8]) -> Option<bool> {
    let version = number_at(bytes, 0).map(u16::from_ne_bytes)?;
    Some(version == 15 || (version == 14 && bytes.len() > V14_BYTES))
}

/// A task that ended.
#[derive(Debug)]
pub(crate) struct EndedTask {
    pub(crate) pid: u32,
    /// The process that its process was a child of.
    pub(crate) parent: u32,
    pub(crate) delays: Values,
}

/// The task of a report of its end; `None` for another message.
fn ended_task(message: &[u8]) -> Option<EndedTask> {
    let attributes = message.get(NLMSG_HEADER_BYTES + GENL_HEADER_BYTES..)?;
    let nested = attribute(attributes, TASKSTATS_TYPE_AGGR_PID)?;
    let pid = number_at(attribute(nested, TASKSTATS_TYPE_PID)?, 0).map(u32::from_ne_bytes)?;
    let stats = attribute(nested, TASKSTATS_TYPE_STATS)?;
    let spread = if is_spread(stats)? { PARENT_SPREAD } else { 0 };
    let parent = number_at(stats, PARENT_OFFSET + spread).map(u32::from_ne_bytes)?;
    Some(EndedTask { pid, parent, delays: delays(stats)? })
}

fn delays_in(attributes: &[u8]) -> Option<Values> {
    let kinds = [TASKSTATS_TYPE_AGGR_PID, TASKSTATS_TYPE_AGGR_TGID];
    let nested = kinds.into_iter().find_map(|kind| attribute(attributes, kind))?;
    delays(attribute(nested, TASKSTATS_TYPE_STATS)?)
}

fn family_in(attributes: &[u8]) -> Option<u16> {
    number_at(attribute(attributes, CTRL_ATTR_FAMILY_ID)?, 0).map(u16::from_ne_bytes)
}

/// What `find` finds in a netlink message; `None` if that answers another request than `sequence`.
fn answer<T>(message: &[u8], sequence: u32, find: fn(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
    let invalid = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    let short = || invalid("the netlink message is cut off");
    let word_at = |bytes, at| number_at(bytes, at).map(u32::from_ne_bytes).ok_or_else(short);
    let length = word_at(message, 0)? as usize;
    let kind = number_at(message, 4).map(u16::from_ne_bytes).ok_or_else(short)?;
    if word_at(message, 8)? != sequence {
        return Ok(None);
    }
    let body = message.get(NLMSG_HEADER_BYTES..length).ok_or_else(short)?;
    if kind == NLMSG_ERROR {
        return Err(match word_at(body, 0)?.cast_signed() {
            code @ ..0 => io::Error::from_raw_os_error(code.saturating_neg()),
            0.. => invalid("the netlink reply is an acknowledgement without data"),
        });
    }
    let found = find(body.get(GENL_HEADER_BYTES..).ok_or_else(short)?);
    found.map(Some).ok_or_else(|| invalid("the netlink reply lacks the requested statistics"))
}

#[derive(Debug)]
pub(crate) struct Taskstats {
    socket: File,
    family: u16,
    sequence: u32,
    reply: Vec<u8>,
}

impl Taskstats {
    /// Opens a socket and looks up the family. Not found without `CONFIG_TASKSTATS`.
    pub(crate) fn open() -> io::Result<Self> {
        // Not connected, so a plain write goes to the kernel (port 0).
        let (family, protocol) = (AddressFamily::NETLINK, Some(netlink::GENERIC));
        let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
        let mut opened =
            Self { socket: socket.into(), family: 0, sequence: 0, reply: vec![0; REPLY_BYTES] };
        let message =
            opened.request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, FAMILY_NAME);
        opened.family = opened.query(&message, family_in)?;
        Ok(opened)
    }

    /// The delays of one thread, or of a process. Needs `CAP_NET_ADMIN`; `ESRCH` without the task.
    pub(crate) fn read(&mut self, pid: u32, of_all_threads: bool) -> io::Result<Values> {
        let attribute =
            if of_all_threads { TASKSTATS_CMD_ATTR_TGID } else { TASKSTATS_CMD_ATTR_PID };
        let message = self.request(self.family, TASKSTATS_CMD_GET, attribute, &pid.to_ne_bytes());
        self.query(&message, delays_in)
    }

    /// Requests a report of every task of the machine that ends on one of these CPUs (a list such
    /// as `0-3`), for [`Self::ended`]. Fails without `CAP_NET_ADMIN`, and in a namespace.
    pub(crate) fn report_ends(&mut self, cpus: &str, room_bytes: usize) -> io::Result<()> {
        // Else reports are lost sooner, which is noticed.
        let _ = sockopt::set_socket_recv_buffer_size_force(&self.socket, room_bytes);
        let list = [cpus.as_bytes(), b"\0"].concat();
        let attribute = TASKSTATS_CMD_ATTR_REGISTER_CPUMASK;
        let message = self.request(self.family, TASKSTATS_CMD_GET, attribute, &list);
        self.socket.write_all(&message)?;
        rustix::io::ioctl_fionbio(&self.socket, true)?;
        // Only a refusal is answered, within the call.
        let length = match self.socket.read(&mut self.reply) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        let reply = self.reply.get(..length).unwrap_or_default();
        answer(reply, self.sequence, |_| Some(())).map(drop)
    }

    /// The next task that ended; `None` if there is no report now. Fails if reports were lost.
    pub(crate) fn ended(&mut self) -> io::Result<Option<EndedTask>> {
        loop {
            match self.socket.read(&mut self.reply) {
                Ok(length) => {
                    let found = ended_task(self.reply.get(..length).unwrap_or_default());
                    if found.is_some() {
                        return Ok(found);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn request(&mut self, family: u16, command: u8, attribute: u16, payload: &[u8]) -> Vec<u8> {
        self.sequence = self.sequence.wrapping_add(1);
        let attribute_bytes = ATTRIBUTE_HEADER_BYTES + payload.len();
        let total_bytes =
            (NLMSG_HEADER_BYTES + GENL_HEADER_BYTES + attribute_bytes).next_multiple_of(4);
        let mut message = [
            &(total_bytes as u32).to_ne_bytes()[..],
            &family.to_ne_bytes(),
            &NLM_F_REQUEST.to_ne_bytes(),
            &self.sequence.to_ne_bytes(),
            &0_u32.to_ne_bytes(),
            &[command, 1, 0, 0],
            &(attribute_bytes as u16).to_ne_bytes(),
            &attribute.to_ne_bytes(),
            payload,
        ]
        .concat();
        message.resize(total_bytes, 0);
        message
    }

    /// Sends a request and waits for its answer; late answers are dropped.
    fn query<T>(&mut self, message: &[u8], find: fn(&[u8]) -> Option<T>) -> io::Result<T> {
        self.socket.write_all(message)?;
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            let length = match self.socket.read(&mut self.reply) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            if let Some(found) = answer(&self.reply[..length], self.sequence, find)? {
                return Ok(found);
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "netlink: no answer within 200 ms"))
    }
}

/// The payload of the first attribute of a type, if it is complete.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(number_at(attributes, 0).map(u16::from_ne_bytes)?);
        let kind = number_at(attributes, 2).map(u16::from_ne_bytes)? & NLA_TYPE_MASK;
        let payload = attributes.get(ATTRIBUTE_HEADER_BYTES..length)?;
        if kind == wanted {
            return Some(payload);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn number_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

#[cfg(test)]
#[path = "taskstats_tests.rs"]
mod tests;
