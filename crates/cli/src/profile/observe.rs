//! A run repeated under the plugin, and the proof that it is the same run.

use std::fs;
use std::path::Path;

use agent::Waiter;
use anyhow::{Context, anyhow};
use experiment::as_planned;
use keep::Cache;
use model::{Header, Run, Spec, SubjectSpec, VmSpec};
use profile::{Profile, Responses};
use vm::{Vm, VmOptions, first_difference};

use crate::progress::Progress;
use crate::{Failure, OrWrong, Result, guests};

/// The fact of a run that names its booted machine.
const MACHINE_FACT: &str = "vm_machine_blake3";

/// A profile, and why its counts are those of the run.
pub(super) struct Observed {
    pub(super) run_id: String,
    pub(super) proof: String,
    pub(super) profile: Profile,
}

/// A run file, and what it says.
struct RunFile {
    bytes: Vec<u8>,
    run: Run,
    header: Header,
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

/// Makes the run of a file again, twice if the file is of another program, engine or host.
pub(super) fn observe(
    path: &Path,
    cuts_ns: &[u64],
    waiter: &Waiter,
    progress: &Progress,
) -> Result<Observed> {
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
    let (file, proof) = repeatable(file, &vm, &spec, waiter, progress)?;
    let run_id = file.header.run_id.clone();
    progress.say(&format!("{run_id}: observing the run"));
    let responses = Responses::of(&file.run, cuts_ns);
    let plan = symbols.plan(file.header.started_unix_ns, &responses.times_ns());
    let observed = guests::with_bytes(|sink| vm.profile(&spec, &run_id, &plan, &stop, sink));
    let ((_, recording), bytes) = observed.map_err(guests::failure)?;
    if let Some(why) = difference(&file.bytes, &bytes) {
        return Err(Failure::NotMeasured(anyhow!(
            "no profile of {run_id}: the observed run is another one; {why}"
        )));
    }
    let profile = Profile::new(recording, symbols, responses).context("read the profile")?;
    let misplaced = profile.misplaced_completions();
    if !misplaced.is_empty() {
        return Err(Failure::NotMeasured(anyhow!(
            "no profile of {run_id}: the clocks of guest and emulator do not agree at the \
             completion of {} of {} responses, first that of response {}",
            misplaced.len(),
            profile.responses.all.len(),
            misplaced[0]
        )));
    }
    Ok(Observed { run_id, proof, profile })
}

/// The file if this program, engine and machine made it, else the same run as they make it; and in
/// words how the observed run compares with it.
fn repeatable(
    file: RunFile,
    vm: &Vm,
    spec: &Spec,
    waiter: &Waiter,
    progress: &Progress,
) -> Result<(RunFile, String)> {
    let run_id = &file.header.run_id;
    if file.header.environment.get(MACHINE_FACT).is_some_and(|key| key == vm.key()) {
        let size = file.bytes.len();
        return Ok((file, format!("the observed run is the given file, all {size} bytes")));
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
    let proof = format!(
        "of the run as this thrashlab, engine and kernel make it, all {} bytes of it; the given \
         file is of others",
        made.bytes.len()
    );
    Ok((made, proof))
}

fn difference(expected: &[u8], made: &[u8]) -> Option<String> {
    let found = first_difference(expected, made)?;
    Some(format!(
        "they differ first in line {}, byte {}: {}\n  expected: {}\n  observed: {}",
        found.line, found.byte, found.event, found.around.0, found.around.1
    ))
}
