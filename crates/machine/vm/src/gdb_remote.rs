//! A client of QEMU's gdb stub (GDB's manual, "Remote Serial Protocol"), for x86-64 guests: it sets
//! breakpoints, continues, and reads registers.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// For everything but continuing.
const ANSWER: Duration = Duration::from_secs(60);
const BREAK: u8 = 1;
/// `SIGTRAP`: a breakpoint or a step.
const TRAP: &str = "05";

/// The names of the registers, in the stub's order (`gdb-xml/i386-64bit.xml` of QEMU).
pub const REGISTERS: [&str; 17] = [
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15", "rip",
];

/// The values of [`REGISTERS`].
pub type Registers = [u64; REGISTERS.len()];

/// Why a machine stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// At a breakpoint or after a step, on this virtual CPU.
    Trap { thread: String },
    /// It was stopped otherwise, by its timer.
    Paused,
    /// The guest has ended.
    Ended,
}

/// A connection to the stub of a stopped machine.
pub(crate) struct GdbRemote {
    stream: UnixStream,
    received: Vec<u8>,
}

impl GdbRemote {
    /// Connects to the socket. Steps take interrupts and timers as they come from now on, also those of
    /// a later client, so that they change nothing.
    pub(crate) fn connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        let mut gdb = Self { stream, received: Vec::new() };
        gdb.expect_ok("Qqemu.sstep=1")?;
        Ok(gdb)
    }

    /// Stops the machine before it executes the instruction at this address.
    pub(crate) fn set_breakpoint(&mut self, address: u64) -> io::Result<()> {
        self.expect_ok(&format!("Z{BREAK},{address:x},1"))
    }

    pub(crate) fn remove_breakpoint(&mut self, address: u64) -> io::Result<()> {
        self.expect_ok(&format!("z{BREAK},{address:x},1"))
    }

    /// Continues until the machine stops, or `stop` says so.
    pub(crate) fn resume(&mut self, stop: &dyn Fn() -> bool) -> io::Result<Stopped> {
        self.send("c")?;
        self.stopped(stop)
    }

    /// Executes one instruction of the virtual CPU that stopped.
    pub(crate) fn step(&mut self, stop: &dyn Fn() -> bool) -> io::Result<Stopped> {
        self.send("s")?;
        self.stopped(stop)
    }

    /// The registers of a virtual CPU.
    pub(crate) fn registers(&mut self, thread: Option<&str>) -> io::Result<Registers> {
        if let Some(thread) = thread {
            self.expect_ok(&format!("Hg{thread}"))?;
        }
        self.send("g")?;
        let text = self.answer(&|| false, Some(ANSWER))?;
        registers_of(&text).ok_or_else(|| unexpected("g", &text))
    }

    fn stopped(&mut self, stop: &dyn Fn() -> bool) -> io::Result<Stopped> {
        match self.answer(stop, None) {
            Ok(text) => stopped_by(&text).ok_or_else(|| unexpected("c", &text)),
            // QEMU ends with its guest.
            Err(error) if is_end(&error) => Ok(Stopped::Ended),
            Err(error) => Err(error),
        }
    }

    fn expect_ok(&mut self, command: &str) -> io::Result<()> {
        self.send(command)?;
        match self.answer(&|| false, Some(ANSWER))?.as_str() {
            "OK" => Ok(()),
            other => Err(unexpected(command, other)),
        }
    }

    fn send(&mut self, command: &str) -> io::Result<()> {
        self.stream.write_all(&packet(command))
    }

    /// The next packet, which is acknowledged.
    fn answer(&mut self, stop: &dyn Fn() -> bool, limit: Option<Duration>) -> io::Result<String> {
        let begun = Instant::now();
        self.stream.set_read_timeout(Some(crate::TICK))?;
        loop {
            if let Some(text) = take_packet(&mut self.received)? {
                self.stream.write_all(b"+")?;
                return Ok(text);
            }
            if stop() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if limit.is_some_and(|limit| begun.elapsed() > limit) {
                return Err(io::Error::other("QEMU's gdb stub does not answer"));
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

fn unexpected(command: &str, answer: &str) -> io::Error {
    io::Error::other(format!("QEMU's gdb stub answers {command:?} with {answer:?}"))
}

fn packet(command: &str) -> Vec<u8> {
    let sum = command.bytes().fold(0_u8, u8::wrapping_add);
    format!("${command}#{sum:02x}").into_bytes()
}

/// Removes the first whole packet, with the acknowledgements before it. Fails when it is damaged.
fn take_packet(received: &mut Vec<u8>) -> io::Result<Option<String>> {
    let Some(begin) = received.iter().position(|byte| *byte == b'$') else {
        return Ok(None);
    };
    let Some(length) = received[begin..].iter().position(|byte| *byte == b'#') else {
        return Ok(None);
    };
    let end = begin + length;
    let Some(sum) = received.get(end + 1..end + 3) else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&received[begin + 1..end]).into_owned();
    let expected = packet(&text);
    let is_whole = expected.ends_with(sum);
    received.drain(..end + 3);
    match is_whole {
        true => Ok(Some(text)),
        false => Err(io::Error::other("a packet of QEMU's gdb stub is damaged")),
    }
}

/// What an answer to "continue" says.
fn stopped_by(text: &str) -> Option<Stopped> {
    match text.as_bytes().first()? {
        b'W' | b'X' => Some(Stopped::Ended),
        b'T' | b'S' => {
            let thread = text.split_once("thread:").map_or("", |(_, rest)| rest);
            let thread = thread.split(';').next().unwrap_or_default().to_owned();
            match text.get(1..3)? {
                TRAP => Some(Stopped::Trap { thread }),
                _ => Some(Stopped::Paused),
            }
        }
        _ => None,
    }
}

fn registers_of(text: &str) -> Option<Registers> {
    let mut registers = [0; REGISTERS.len()];
    for (register, digits) in registers.iter_mut().zip(text.as_bytes().chunks(16)) {
        let digits = str::from_utf8(digits).ok().filter(|digits| digits.len() == 16)?;
        *register = u64::from_str_radix(digits, 16).ok()?.swap_bytes();
    }
    (text.len() >= 16 * REGISTERS.len()).then_some(registers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn packets_have_checksums() {
        assert_eq!(packet("OK"), b"$OK#9a");
        let mut received = b"+$OK#9a+$T05thread:01;#07".to_vec();
        assert_eq!(take_packet(&mut received).unwrap().as_deref(), Some("OK"));
        assert_eq!(take_packet(&mut received).unwrap().as_deref(), Some("T05thread:01;"));
        assert_eq!(take_packet(&mut received).unwrap(), None);
        assert!(take_packet(&mut b"$OK#9b".to_vec()).is_err());
    }

    #[test]
    fn a_stop_has_a_reason() {
        let trap = |thread: &str| Stopped::Trap { thread: thread.to_owned() };
        assert_eq!(stopped_by("T05thread:02;"), Some(trap("02")));
        assert_eq!(stopped_by("T05thread:p01.02;watch:ffff;"), Some(trap("p01.02")));
        assert_eq!(stopped_by("T02thread:01;"), Some(Stopped::Paused));
        assert_eq!(stopped_by("W00"), Some(Stopped::Ended));
        assert_eq!(stopped_by("E22"), None);
    }

    #[test]
    fn registers_are_little_endian() {
        let text = format!("0100000000000000{}", "00000000000000ff".repeat(16));
        let registers = registers_of(&text).unwrap();
        assert_eq!((registers[0], registers[16]), (1, 0xff << 56));
        assert_eq!(registers_of(&text[..16 * 16]), None);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(bytes in any::<Vec<u8>>()) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let _ = (stopped_by(&text), registers_of(&text), take_packet(&mut bytes.clone()));
        }
    }
}
