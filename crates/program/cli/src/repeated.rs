//! A run file whose run is repeated in its deterministic machine, equal to the byte.

use std::fs;
use std::path::Path;

use agent::Waiter;
use anyhow::Context;
use experiment::as_planned;
use keep::Cache;
use model::{Header, Run, Spec, SubjectSpec, VmSpec};
use profile::Symbols;
use vm::{Vm, VmOptions, first_difference};

use crate::progress::Progress;
use crate::{Failure, OrWrong, Result, guests};

/// The fact of a run that names its booted machine.
const MACHINE_FACT: &str = "vm_machine_blake3";

/// A run file, and what it says.
pub(crate) struct RunFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) run: Run,
    pub(crate) header: Header,
}

impl RunFile {
    fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let bytes = fs::read(path).or_wrong(format!("read {shown}"))?;
        Self::of(bytes).or_wrong(format!("{shown} is not a run file"))
    }

    fn of(bytes: Vec<u8>) -> anyhow::Result<Self> {
        let run = Run::parse(&bytes)?;
        let header = run.header.clone().context("it has no header")?;
        Ok(Self { bytes, run, header })
    }

    /// The machine of a run that can be repeated.
    fn machine(&self) -> Result<&VmSpec> {
        match &self.header.spec.subject {
            SubjectSpec::Vm(machine) if self.header.is_deterministic() => Ok(machine),
            other => Err(wrong!(
                "{} ran on {}: only a run in a deterministic machine can be repeated; make one \
                 with: thrashlab run --subject vm",
                self.header.run_id,
                match other {
                    SubjectSpec::Vm(_) => "a machine with accel=kvm",
                    other => other.kind(),
                }
            )),
        }
    }
}

/// A run that can be repeated, and its machine.
pub(crate) struct Repeatable {
    /// The file if this program, engine and machine made it, else the same run as they make it.
    pub(crate) file: RunFile,
    pub(crate) vm: Vm,
    pub(crate) symbols: Symbols,
    pub(crate) spec: Spec,
    /// Whether it is the file.
    pub(crate) is_given: bool,
}

impl Repeatable {
    /// Reads a file, and makes its machine ready. Fails when the run is of no deterministic machine,
    /// and without the engine.
    pub(crate) fn read(path: &Path, waiter: &Waiter, progress: &Progress) -> Result<Self> {
        let file = RunFile::read(path)?;
        let options = VmOptions {
            cache: Cache::of_user(),
            reuse_cells: true,
            silence: guests::SILENCE,
            qemu: None,
            freeze: None,
        };
        let stop = || waiter.stop_requested();
        let say = &mut |text: &str| progress.say(text);
        let vm = Vm::prepare(file.machine()?, &options, &stop, say).map_err(guests::failure)?;
        let symbols = vm.symbols(&stop, say).map_err(guests::failure)?;
        let spec = as_planned(&file.header.spec);
        let (file, is_given) = repeatable(file, &vm, &spec, waiter, progress)?;
        Ok(Self { file, vm, symbols, spec, is_given })
    }

    pub(crate) fn run_id(&self) -> &str {
        &self.file.header.run_id
    }
}

/// The file if this program, engine and machine made it, else the same run as they make it; and
/// whether it is the file.
fn repeatable(
    file: RunFile,
    vm: &Vm,
    spec: &Spec,
    waiter: &Waiter,
    progress: &Progress,
) -> Result<(RunFile, bool)> {
    let run_id = &file.header.run_id;
    if file.header.environment.get(MACHINE_FACT).is_some_and(|key| key == vm.key()) {
        return Ok((file, true));
    }
    progress.say(&format!(
        "{run_id} was made by another thrashlab, engine or kernel: making it here first"
    ));
    let stop = || waiter.stop_requested();
    let made = guests::with_bytes(|sink| vm.run(spec, run_id, &stop, sink));
    let (_, bytes) = made.map_err(guests::failure)?;
    if stop() {
        return Err(Failure::Interrupted);
    }
    let made = RunFile::of(bytes).context("read the run that was made here")?;
    Ok((made, false))
}

/// Where a repeated run differs, if it does.
pub(crate) fn difference(expected: &[u8], made: &[u8]) -> Option<String> {
    let found = first_difference(expected, made)?;
    Some(format!(
        "they differ first in line {}, byte {}: {}\n  expected: {}\n  observed: {}",
        found.line, found.byte, found.event, found.around.0, found.around.1
    ))
}
