//! A trace on a machine with TLBs.

use std::path::Path;

use anyhow::{Context, anyhow};
use experiment::typed::Setting;
use mmu::tlb::{Machine, Options, Outcome, Simulator};
use model::units::format_size;
use report::{TlbRun, tlb_document};
use trace::{Block, Granularity, Notes, Source};

use super::RunArgs;
use crate::output::{OutputArgs, show};
use crate::trace::input::moving_line;
use crate::trace::read_ahead::ReadAhead;
use crate::{Failure, OrWrong, Result, complain, wrong};

pub(super) fn run_trace(machine: &Machine, args: &RunArgs, what: &str) -> Result<()> {
    args.refuse_what_programs_have()?;
    if args.sim.hat.is_some() {
        return Err(wrong!("--hat is for Sun-4s; {} has TLBs", args.sim.machine));
    }
    let options = options(&args.sim.set).map_err(Failure::WrongUse)?;
    let path = Path::new(what);
    let source = trace::open(path, Granularity::Page).or_wrong(format!("trace {what}"))?;
    let size_bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let mut source = ReadAhead::new(source);
    let outcome = simulate(machine, &options, &mut source, size_bytes)?;
    print_result(machine, what, &args.sim.set, &outcome, &source.notes(), &args.output)
}

pub(super) fn options(settings: &[Setting]) -> anyhow::Result<Options> {
    let mut options = Options::default();
    for (name, value) in settings {
        options.set(name, value).map_err(|why| anyhow!("in --set: {why}"))?;
    }
    Ok(options)
}

/// Runs a source to its end, with progress on a terminal; `size_bytes` 0 if it has no size.
pub(super) fn simulate(
    machine: &Machine,
    options: &Options,
    source: &mut dyn Source,
    size_bytes: u64,
) -> Result<Outcome> {
    let mut simulator = Simulator::new(machine, options).map_err(wrong)?;
    let bar = moving_line(None, "{msg}", false);
    let mut block = Block::default();
    while source.next(&mut block).context("read the trace")? {
        simulator.block(&block);
        if !bar.is_hidden() {
            let references = simulator.references() as f64 / 1e6;
            let read = format_size(source.read_bytes());
            bar.set_message(match size_bytes {
                0 => format!("{references:.0} M references"),
                _ => format!(
                    "{references:.0} M references, {read} of {} read",
                    format_size(size_bytes)
                ),
            });
        }
    }
    bar.finish_and_clear();
    Ok(simulator.outcome())
}

pub(super) fn print_result(
    machine: &Machine,
    subject: &str,
    settings: &[Setting],
    outcome: &Outcome,
    notes: &Notes,
    output: &OutputArgs,
) -> Result<()> {
    notes.problems().iter().for_each(|note| complain(note));
    let set: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let run = TlbRun {
        machine: &machine.about,
        subject,
        set: &set,
        bad_records: notes.bad.count,
        complete: notes.cut_off.is_none(),
        outcome,
    };
    show(&tlb_document(&run), output)
}
