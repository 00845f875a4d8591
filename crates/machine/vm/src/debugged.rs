//! A run that stops at a point of its virtual time, always at the same instruction, for gdb.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use keep::Scratch;
use model::{Line, Spec};
use serde_json::json;
use subject::RunLines;

use crate::gdb_remote::{GdbRemote, Registers, Stopped};
use crate::guest_process::{GuestProcess, Message};
use crate::named::RunRenamer;
use crate::qemu::{Restore, Stopping};
use crate::qmp::Event;
use crate::{Result, Stop, Vm, VmError};

const SOCKET: &str = "gdb";
/// The number of `rip` in [`crate::REGISTERS`].
const PC: usize = 16;

/// A guest that continues from its booted machine and is to stop.
pub struct Debugged {
    gdb: Option<GdbRemote>,
    guest: GuestProcess,
    folder: Scratch,
    thread: Option<String>,
}

/// Where a machine stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The emulator's clock, in ns.
    pub virtual_ns: u64,
    /// The virtual CPU, from 0.
    pub cpu: u32,
    /// Its registers.
    pub registers: Registers,
}

impl Position {
    /// The address of the next instruction.
    pub fn pc(&self) -> u64 {
        self.registers[PC]
    }
}

impl Vm {
    /// Makes a run ready that will stop at this time of the emulator, in ns. Fails as
    /// [`Self::profile`].
    pub fn debug(&self, spec: &Spec, virtual_ns: u64) -> Result<Debugged> {
        self.check_engine("a debugged run")?;
        let (cell, _) = self.cell(spec)?;
        let temporary = std::env::temp_dir();
        let folder = Scratch::make(&temporary, "thrashlab-gdb")
            .map_err(|error| VmError::Unavailable(format!("{}: {error}", temporary.display())))?;
        // A client of the stub acts for this user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
        let socket = folder.path().join(SOCKET);
        let stopping = Some(Stopping { virtual_ns, socket: &socket });
        let how = Restore { schedule: self.schedule(spec), stopping, ..Restore::default() };
        let guest = self.continued(&cell, how)?;
        let gdb = Some(GdbRemote::connect(&socket)?);
        Ok(Debugged { gdb, guest, folder, thread: None })
    }
}

impl Debugged {
    /// The folder of the machine's socket, which is removed with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The socket of the gdb stub, of a machine that was [released](Self::release).
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }

    /// Continues until the time at which the machine stops. Fails when the guest ends before.
    pub fn go(&mut self, stop: Stop<'_>) -> Result<Position> {
        match self.resume(stop)? {
            Stopped::Ended => Err(self.ended("before that time")),
            _ => self.position(),
        }
    }

    /// Continues until this address is executed and `holds`; `None` when the guest ends before.
    pub fn until(
        &mut self,
        address: u64,
        holds: &dyn Fn(&Registers) -> bool,
        stop: Stop<'_>,
    ) -> Result<Option<Position>> {
        loop {
            self.gdb()?.set_breakpoint(address)?;
            if self.resume(stop)? == Stopped::Ended {
                return Ok(None);
            }
            self.gdb()?.remove_breakpoint(address)?;
            let position = self.position()?;
            if position.pc() == address && holds(&position.registers) {
                return Ok(Some(position));
            }
            // Over the breakpoint.
            if self.noted(|gdb| gdb.step(stop))? == Stopped::Ended {
                return Ok(None);
            }
        }
    }

    /// The lines that the run has written so far, under its name.
    pub fn printed(&mut self, run_id: &str) -> Result<Vec<u8>> {
        let (mut lines, mut name) = (RunLines::default(), RunRenamer::new(run_id));
        let mut printed = Vec::new();
        let mut sink = |bytes: &[u8], _: Option<&Line>| {
            printed.extend_from_slice(bytes);
            Ok(())
        };
        for message in self.guest.messages()? {
            if let Message::Run(line) = message {
                let mut named =
                    |bytes: &[u8], line: Option<&Line>| name.line(bytes, line, &mut sink);
                lines.push(&line, &mut named).map_err(VmError::Results)?;
            }
        }
        Ok(printed)
    }

    /// Lets another client use the gdb stub.
    pub fn release(&mut self) {
        self.gdb = None;
    }

    /// Whether the machine has ended, by itself or by a client.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.guest.qmp.event(crate::TICK)? == Event::Ended)
    }

    fn gdb(&mut self) -> Result<&mut GdbRemote> {
        let gone = || VmError::Unavailable("another client has the gdb stub".to_owned());
        self.gdb.as_mut().ok_or_else(gone)
    }

    fn resume(&mut self, stop: Stop<'_>) -> Result<Stopped> {
        self.noted(|gdb| gdb.resume(stop))
    }

    /// Notes which virtual CPU stopped.
    fn noted(
        &mut self,
        act: impl FnOnce(&mut GdbRemote) -> io::Result<Stopped>,
    ) -> Result<Stopped> {
        let stopped = act(self.gdb()?).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => VmError::Interrupted,
            _ => error.into(),
        })?;
        self.thread = match &stopped {
            Stopped::Trap { thread } if !thread.is_empty() => Some(thread.clone()),
            _ => None,
        };
        Ok(stopped)
    }

    fn position(&mut self) -> Result<Position> {
        let thread = self.thread.clone();
        let registers = self.gdb()?.registers(thread.as_deref())?;
        // Threads are numbered from 1.
        let number = thread.as_deref().and_then(|thread| thread.rsplit('.').next());
        let number = number.and_then(|number| u32::from_str_radix(number, 16).ok());
        let cpu = number.unwrap_or(1).saturating_sub(1);
        Ok(Position { virtual_ns: self.virtual_ns()?, cpu, registers })
    }

    fn virtual_ns(&mut self) -> Result<u64> {
        let answer = self.guest.qmp.command("x-query-jit", json!({}))?;
        let text = answer["human-readable-text"].as_str().unwrap_or_default();
        clock_of(text).ok_or_else(|| {
            let why = "the engine does not tell its clock: thrashlab vm engine build";
            VmError::Unavailable(why.to_owned())
        })
    }

    fn ended(&mut self, when: &str) -> VmError {
        let how = format!("the guest ended {when}");
        VmError::Unavailable(self.guest.examine(&how).0)
    }
}

/// The guest's clock in the text of `x-query-jit`, in ns.
fn clock_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Guest clock"))?;
    line.trim().strip_suffix(" ns")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_in_the_emulator_s_statistics() {
        let text = "[TCG profiler]\nGuest clock         1234568 ns\nHost - Guest clock  5 ms\n";
        assert_eq!(clock_of(text), Some(1_234_568));
        assert_eq!(clock_of("Host - Guest clock  5 ms\n"), None);
    }
}
