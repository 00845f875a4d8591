//! `thrashlab vm shell`: this terminal as the console of a guest.

use std::io::{self, IsTerminal, Read, Write, stdin, stdout};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use keep::Cache;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use vm::{Shell, ShellState};

use super::{MachineArgs, VmContext};
use crate::{Failure, Result, guests};

const EXAMPLES: &str = "\
For exploring. Leave it with `exit` or Ctrl-D, or immediately with Ctrl-].
Nothing is kept. It is not deterministic: while it waits for input, its time
follows the wall clock. It needs a static busybox on this machine. Without a
terminal, it runs its input as a script.

Examples:
  thrashlab vm shell
  thrashlab vm shell machine=micro --kernel host
  thrashlab vm shell machine=small-cloud,root=debian:13
  echo 'uname -r; cat /proc/swaps' | thrashlab vm shell";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ShellArgs {
    #[command(flatten)]
    machine: MachineArgs,
}

/// Ctrl-]: leave at once.
const LEAVE: u8 = 0x1d;
/// Ctrl-D, the end of input on a terminal.
const END: &[u8] = b"\n\x04";
/// How often the end of a script is repeated: a program of the script may have read it.
const END_AGAIN: Duration = Duration::from_secs(1);
/// How often the guest and the wish to stop are looked at.
const TICK_NS: i64 = 20_000_000;

pub(crate) fn shell(args: &ShellArgs) -> Result<()> {
    let VmContext { waiter, progress, spec } = args.machine.prepare()?;
    let is_script = !stdin().is_terminal();
    progress.say(&format!("booting {} with {}", spec.machine.name, spec.kernel));
    let failed = |error| guests::stopped_or(&waiter, guests::failure(error));
    let (cache, stop) = (Cache::of_user(), || waiter.stop_requested());
    let mut say = |text: &str| progress.say(text);
    let mut shell = Shell::start(&spec, &cache, is_script, &stop, &mut say).map_err(failed)?;
    while shell.state().map_err(failed)? == ShellState::Booting {
        if waiter.stop_requested() {
            return Err(Failure::Interrupted);
        }
        wait(&mut []).context("wait for the guest")?;
    }
    if !is_script {
        progress.say("leave with exit or Ctrl-D, or immediately with Ctrl-]");
    }
    let raw = RawTerminal::enter().context("set the terminal")?;
    let mut relay = Relay { is_script, typed: Vec::new(), input_ended: None };
    let outcome = loop {
        if waiter.stop_requested() {
            break Err(Failure::Interrupted);
        }
        // In this order: what an ended guest has written is passed on before it is left.
        let state = shell.state();
        match relay.turn(&shell).context("copy the terminal's input and output") {
            Ok(Turn::GoOn) => {}
            Ok(Turn::Leave) => break Ok(()),
            Err(error) => break Err(Failure::NotMeasured(error)),
        }
        match state {
            Ok(ShellState::Ended) => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(guests::failure(error)),
        }
    };
    drop(raw);
    outcome
}

/// Waits a tick, or until there is something to do.
fn wait(fds: &mut [PollFd<'_>]) -> io::Result<()> {
    match poll(fds, Some(&Timespec { tv_sec: 0, tv_nsec: TICK_NS })) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Turn {
    GoOn,
    Leave,
}

struct Relay {
    is_script: bool,
    /// What the guest has not taken yet.
    typed: Vec<u8>,
    /// When the end of the input was last passed on.
    input_ended: Option<Instant>,
}

impl Relay {
    /// Passes on what there is, both ways.
    fn turn(&mut self, shell: &Shell) -> io::Result<Turn> {
        let (input, console) = (stdin(), &shell.console);
        let takes_input = self.typed.is_empty() && self.input_ended.is_none();
        let wanted =
            if self.typed.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        let mut fds = vec![PollFd::new(console, wanted)];
        fds.extend(takes_input.then(|| PollFd::new(&input, PollFlags::IN)));
        wait(&mut fds)?;
        if fds.get(1).is_some_and(|fd| !fd.revents().is_empty())
            && self.read_input(input.as_fd())? == Turn::Leave
        {
            return Ok(Turn::Leave);
        }
        if self.input_ended.is_some_and(|moment| moment.elapsed() > END_AGAIN) {
            self.end_input();
        }
        self.write_typed(console)?;
        show(console)?;
        Ok(Turn::GoOn)
    }

    fn read_input(&mut self, input: BorrowedFd<'_>) -> io::Result<Turn> {
        let mut bytes = [0; 1024];
        // Not through the standard library's buffer, of which poll knows nothing.
        let count = match rustix::io::read(input, &mut bytes) {
            Err(rustix::io::Errno::INTR) => return Ok(Turn::GoOn),
            other => other?,
        };
        let bytes = &bytes[..count];
        match self.is_script {
            true if bytes.is_empty() => self.end_input(),
            // The terminal is gone.
            false if bytes.is_empty() || bytes.contains(&LEAVE) => return Ok(Turn::Leave),
            _ => self.typed.extend_from_slice(bytes),
        }
        Ok(Turn::GoOn)
    }

    fn end_input(&mut self) {
        self.typed.extend_from_slice(END);
        self.input_ended = Some(Instant::now());
    }

    fn write_typed(&mut self, mut console: impl Write) -> io::Result<()> {
        if self.typed.is_empty() {
            return Ok(());
        }
        match console.write(&self.typed) {
            Ok(count) => drop(self.typed.drain(..count)),
            Err(error) if is_momentary(&error) => {}
            // The guest ended.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.typed.clear(),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn show(mut console: impl Read) -> io::Result<()> {
    let mut bytes = [0; 4096];
    loop {
        match console.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                stdout().write_all(&bytes[..count])?;
                stdout().flush()?;
            }
            Err(error) if is_momentary(&error) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn is_momentary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// A terminal that passes every key on; as it was when dropped. Nothing where there is none.
struct RawTerminal(Option<Termios>);

impl RawTerminal {
    fn enter() -> io::Result<Self> {
        if !stdin().is_terminal() {
            return Ok(Self(None));
        }
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        Ok(Self(Some(before)))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(stdin(), OptionalActions::Drain, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], is_script: bool) -> (Turn, Vec<u8>) {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(text).unwrap();
        drop(writer);
        let mut relay = Relay { is_script, typed: Vec::new(), input_ended: None };
        let turn = relay.read_input(reader.as_fd()).unwrap();
        (turn, relay.typed)
    }

    #[test]
    fn a_terminal_can_be_left_at_once_and_a_script_ends() {
        assert_eq!(read(b"ls\n", false), (Turn::GoOn, b"ls\n".to_vec()));
        assert_eq!(read(b"ls\x1d", false).0, Turn::Leave);
        assert_eq!(read(b"", false).0, Turn::Leave);
        assert_eq!(read(b"a\x1d", true), (Turn::GoOn, b"a\x1d".to_vec()));
        assert_eq!(read(b"", true), (Turn::GoOn, END.to_vec()));
    }
}
