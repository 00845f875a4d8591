//! A command on a simulated machine: its references are simulated while it runs.

use simulated::Machine;
use trace::Source;
use tracer::Request;

use super::RunArgs;
use super::trace_run::{options, print_result, simulate};
use crate::start::pass_on;
use crate::trace::record::{report_missed, start};
use crate::{Failure, Result};

/// The setting that is the recorder's.
const FETCHES: &str = "fetches";

/// Runs a command. `--set` are those of [`mmu::tlb::Options`], and `fetches=yes` for instruction
/// fetches too.
pub(super) fn run_command(machine: &Machine, args: &RunArgs) -> Result<()> {
    let settings = &args.sim.set;
    let Machine::Tlb(machine) = machine else {
        let why = "a Sun-4 runs only its own programs; to run a command choose a machine with TLBs";
        return Err(wrong!("{why} (thrashlab mmu machines)"));
    };
    let (of_recorder, others): (Vec<_>, Vec<_>) =
        settings.iter().cloned().partition(|(name, _)| name == FETCHES);
    let fetches = match of_recorder.last().map(|(_, value)| value.as_str()) {
        None | Some("no") => false,
        Some("yes") => true,
        Some(value) => {
            return Err(wrong!("--set {FETCHES}={value}: it takes yes or no"));
        }
    };
    let options = options(&others).map_err(Failure::WrongUse)?;
    let (command, input) = (args.command.program()?, args.command.input()?);
    let (command, input) = (&command[..], input.as_ref());
    let mut recording = start(&Request { command, input, fetches, pages: true, tool: None })?;
    let outcome = simulate(machine, &options, &mut recording, 0);
    let notes = recording.notes();
    let ended = recording.finish().map_err(anyhow::Error::new)?;
    print_result(machine, &args.command.text(), settings, &outcome?, &notes, &args.output)?;
    report_missed(&ended);
    pass_on(ended.exit)
}
