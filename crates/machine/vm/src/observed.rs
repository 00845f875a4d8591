//! Runs that are observed by the plugin of a profile, and what the plugin has to know of a guest.

use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use guest::SYMBOLS_CELL;
use keep::out_file::write_whole;
use model::{Architecture, Spec};
use profile::{LastWrite, PLUGIN, Recording, Symbols};
use subject::{Outcome, Sink};

use crate::engine::build_command;
use crate::guest_process::{Message, memory_file};
use crate::named::{IN_GUEST, RunRenamer};
use crate::qemu::{Restore, path_of};
use crate::{Result, Stop, Vm, VmError, listen};

/// The symbols in a folder of a booted machine.
const SYMBOLS: &str = "symbols";
/// References that are read at once, in bytes.
const PASSED_BYTES: usize = 1 << 16;
const LAST_LINE: &[u8] = b"end\n";
/// Longest wait for a guest that switches itself off; one whose kernel died does not.
const SWITCH_OFF: Duration = Duration::from_secs(5);

/// Which references are passed on, and to whom.
pub struct Passing<'a> {
    /// What the plugin has to know (`profile::Symbols::plan`).
    pub plan: &'a [u8],
    /// From when until when, in ns of the emulator.
    pub window_ns: Range<u64>,
    /// Takes some bytes of them, as `profile::GuestTrace` does.
    pub take: &'a mut (dyn FnMut(&[u8]) -> io::Result<()> + Send),
}

impl Vm {
    /// The functions of the guest's kernel and its clocks, from the cache or from another guest that
    /// continues from the same booted machine. Fails without the engine, with the next step.
    pub fn symbols(&self, stop: Stop<'_>, say: &mut dyn FnMut(&str)) -> Result<Symbols> {
        self.check_engine("a profile")?;
        let kept = self.folder.join(SYMBOLS);
        if let Some(symbols) = fs::read(&kept).ok().and_then(|text| Symbols::parse(&text).ok()) {
            return Ok(symbols);
        }
        say("reading the symbols of the guest's kernel");
        let mut guest = self.continued(SYMBOLS_CELL, Restore::default())?;
        let mut text = Vec::new();
        guest.follow("print its symbols", stop, |message| match message {
            Message::Run(line) => {
                text.extend_from_slice(&line);
                (line == LAST_LINE).then_some(())
            }
            _ => None,
        })?;
        let symbols = Symbols::parse(&text);
        let symbols = symbols.map_err(|error| VmError::Unavailable(error.to_string()))?;
        // The cache may be read-only.
        let _ = write_whole(&kept, &text);
        Ok(symbols)
    }

    /// Makes a run under the plugin, with this plan; returns also what the plugin counted. It is never
    /// taken from the cache. Fails as [`Self::run`], without the engine, and without the plugin's file.
    pub fn profile(
        &self,
        spec: &Spec,
        run_id: &str,
        plan: &[u8],
        stop: Stop<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(Outcome, Recording)> {
        self.check_engine("a profile")?;
        let (outcome, written) = self.observed(spec, run_id, plan, "", stop, sink)?;
        Ok((outcome, Recording::parse(&written).map_err(unreadable)?))
    }

    /// Makes a run as [`Self::profile`] on a simulated machine with TLBs, whose numbers these are
    /// (`mmu::tlb::Machine::words`); returns also the file of what translations cost, for
    /// `profile::Prices`.
    pub fn profile_memory(
        &self,
        spec: &Spec,
        run_id: &str,
        plan: &[u8],
        machine: &[u64],
        stop: Stop<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(Recording, Vec<u8>)> {
        self.check_engine("a profile")?;
        let words: Vec<u8> = machine.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (tlbs, prices) = (memory_file("tlbs", &words)?, memory_file("prices", &[])?);
        let cpus = self.machine.setup.machine.cpu_count();
        let more = format!(",cpus={cpus},tlbs={},prices={}", path_of(&tlbs), path_of(&prices));
        let (_, written) = self.observed(spec, run_id, plan, &more, stop, sink)?;
        let recording = Recording::parse(&written).map_err(unreadable)?;
        Ok((recording, fs::read(path_of(&prices))?))
    }

    /// Makes a run, and passes on references of the guest, kernel included. Fails as [`Self::profile`],
    /// and when they are not taken.
    pub fn references(
        &self,
        spec: &Spec,
        run_id: &str,
        passing: Passing<'_>,
        stop: Stop<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        self.check_engine("a trace")?;
        let Passing { plan, window_ns, take } = passing;
        let (reader, writer) = io::pipe()?;
        let cpus = self.machine.setup.machine.cpu_count();
        let path = format!("/proc/{}/fd/{}", std::process::id(), writer.as_raw_fd());
        let Range { start, end } = window_ns;
        let more = format!(",cpus={cpus},references={path},from={start},to={end}");
        thread::scope(|scope| {
            let taking = scope.spawn(|| take_all(reader, take));
            let observed = self.observed(spec, run_id, plan, &more, stop, sink);
            // The plugin's end was closed with the emulator: now nothing more can come.
            drop(writer);
            let taken = taking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            observed?;
            Ok(taken?)
        })
    }

    /// Makes a run, and finds the last write to some bytes before a time (`LastWrite::plan`); `None` if
    /// there is none. Fails as [`Self::profile`].
    pub fn last_write(
        &self,
        spec: &Spec,
        plan: &[u8],
        stop: Stop<'_>,
    ) -> Result<Option<LastWrite>> {
        self.check_engine("the last write")?;
        let (_, written) = self.observed(spec, IN_GUEST, plan, "", stop, &mut |_, _| Ok(()))?;
        LastWrite::parse(&written).map_err(unreadable)
    }

    /// Makes a run under the plugin, with more options; returns also the file that it wrote.
    fn observed(
        &self,
        spec: &Spec,
        run_id: &str,
        plan: &[u8],
        more: &str,
        stop: Stop<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(Outcome, Vec<u8>)> {
        let (cell, _) = self.cell(spec)?;
        let [plugin, plan] =
            [("plugin", PLUGIN), ("plan", plan)].map(|(name, content)| memory_file(name, content));
        let (plugin, plan, output) = (plugin?, plan?, memory_file("profile", &[])?);
        let option = format!(
            "{},plan={},output={},shift={}{more}",
            path_of(&plugin),
            path_of(&plan),
            path_of(&output),
            self.machine.setup.machine.icount_shift
        );
        let (schedule, plugin) = (self.schedule(spec), Some(option.as_str()));
        let mut guest =
            self.continued(&cell, Restore { schedule, plugin, ..Restore::default() })?;
        let mut name = RunRenamer::new(run_id);
        let mut sink = |bytes: &[u8], line: Option<&model::Line>| name.line(bytes, line, sink);
        let outcome = listen(&mut guest, self.options.silence, stop, &mut sink)?;
        if stop() {
            return Err(VmError::Interrupted);
        }
        // The guest switches itself off after its last line. Ended before, what it still executes
        // would depend on the host.
        guest.ends_within(SWITCH_OFF)?;
        guest.quit()?;
        let written = fs::read(path_of(&output))?;
        match written.is_empty() {
            true => Err(unreadable(format!("the plugin wrote nothing: {}", guest.errors()))),
            false => Ok((outcome, written)),
        }
    }

    /// Fails without the engine, with what needs it and the next step, and for guests whose registers
    /// the plugin and the client of gdb do not know.
    pub(crate) fn check_engine(&self, what: &str) -> Result<()> {
        let architecture = self.machine.setup.architecture;
        let why = if architecture != Architecture::X86_64 {
            let name = architecture.name();
            format!("{what} needs a guest of x86-64, and the kernel is for {name}")
        } else if self.qemu.firmware.is_none() {
            let command = build_command(architecture);
            format!("{what} needs the engine, a QEMU with patches: {command}")
        } else {
            return Ok(());
        };
        Err(VmError::Unavailable(why))
    }
}

/// Takes all that comes. After a failure it is read nevertheless, so that the guest ends.
fn take_all(
    mut reader: io::PipeReader,
    take: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send),
) -> io::Result<()> {
    let mut buffer = vec![0; PASSED_BYTES];
    let mut outcome = Ok(());
    loop {
        match reader.read(&mut buffer)? {
            0 => return outcome,
            count if outcome.is_ok() => outcome = take(&buffer[..count]),
            _ => {}
        }
    }
}

fn unreadable(why: impl ToString) -> VmError {
    VmError::Unavailable(why.to_string())
}
