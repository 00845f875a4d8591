//! A run repeated under the plugin, and the proof that it is the same run.

use std::path::Path;

use agent::Waiter;
use anyhow::{Context, anyhow};
use mmu::tlb::Machine;
use profile::{Prices, Profile, Responses, Selection};

use crate::progress::Progress;
use crate::repeated::{Repeatable, difference};
use crate::{Failure, Result, guests};

/// A profile, and why its counts are those of the run.
pub(crate) struct Observed {
    pub(super) run_id: String,
    pub(super) proof: String,
    pub(crate) profile: Profile,
    pub(crate) selection: Selection,
}

/// Makes the run of a file again, twice if the file is of another program, engine or host; with a
/// machine, its TLBs are simulated meanwhile.
pub(crate) fn observe(
    path: &Path,
    cuts_ns: &[u64],
    select: &dyn Fn(&Responses) -> Result<Selection>,
    memory: Option<&Machine>,
    waiter: &Waiter,
    progress: &Progress,
) -> Result<Observed> {
    let repeatable = Repeatable::read(path, waiter, progress)?;
    let run_id = repeatable.run_id().to_owned();
    let Repeatable { file, vm, symbols, spec, is_given } = repeatable;
    let responses = Responses::of(&file.run, cuts_ns);
    let selection = select(&responses)?;
    let stop = || waiter.stop_requested();
    progress.say(&format!("{run_id}: observing the run"));
    let plan = symbols.plan(file.header.started_unix_ns, &responses.times_ns());
    let observed = guests::with_bytes(|sink| match memory {
        None => vm.profile(&spec, &run_id, &plan, &stop, sink).map(|(_, found)| (found, None)),
        Some(machine) => {
            let words = machine.words();
            let found = vm.profile_memory(&spec, &run_id, &plan, &words, &stop, sink)?;
            Ok((found.0, Some((machine, found.1))))
        }
    });
    let ((recording, prices), bytes) = observed.map_err(guests::failure)?;
    if let Some(why) = difference(&file.bytes, &bytes) {
        return Err(Failure::NotMeasured(anyhow!(
            "no profile of {run_id}: the observed run is another one; {why}"
        )));
    }
    let prices = prices.map(|(machine, written)| Prices::parse(&written, machine, &recording));
    let prices = prices.transpose().context("read what translations cost")?;
    let (started_unix_ns, files) = (file.header.started_unix_ns, vm.program_files());
    let profile = Profile::new(recording, prices, symbols, responses, started_unix_ns, &files)
        .context("read the profile")?;
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
    let size = file.bytes.len();
    let proof = match is_given {
        true => format!("the observed run is the given file, all {size} bytes"),
        false => format!(
            "of the run as this thrashlab, engine and kernel make it, all {size} bytes of it; the \
             given file is of others"
        ),
    };
    Ok(Observed { run_id, proof, profile, selection })
}
