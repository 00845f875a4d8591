//! `thrashlab vm verify --emulators`: whether a cell ends alike in every QEMU at hand. What ends in
//! one only is a defect of an emulator, not of the kernel.

use std::time::{Duration, Instant};

use keep::Cache;
use model::units::format_duration;
use model::{EndStatus, Line, Spec, whole_lines};
use render::{Block, Cell, Document, Table};
use serde_json::{Value, json};
use vm::{Qemu, Vm, VmError};

use super::{VmContext, show_verdict, verified_run, verify_options};
use crate::output::OutputArgs;
use crate::{Failure, Result, guests};

/// How the cell ended in one QEMU.
struct Ended {
    qemu: String,
    /// Such as `complete`, or `kernel-died: BUG: …`.
    outcome: String,
    samples: usize,
    wall: Duration,
}

/// Runs the cell once in each QEMU. Fails like the other runs, and where there is only one QEMU.
pub(super) fn compare(context: &VmContext, spec: &Spec, output: &OutputArgs) -> Result<()> {
    let cache = Cache::of_user();
    let qemus = Qemu::all(&context.spec, &cache).map_err(guests::failure)?;
    if let [only] = &qemus[..] {
        return Err(Failure::NotMeasured(anyhow::anyhow!(
            "only one QEMU can run this machine, {}: build another one with `thrashlab vm engine \
             build --qemu VERSION` (for a guest of aarch64 with --arch aarch64, too)",
            only.version
        )));
    }
    let mut ended = Vec::new();
    for qemu in qemus {
        context.progress.say(&format!("run {}: {}", ended.len() + 1, qemu.version));
        ended.push(run(context, spec, &cache, qemu)?);
    }
    if ended.iter().all(|run| run.samples == 0) {
        let said = &ended[0].outcome;
        return Err(Failure::NotMeasured(anyhow::anyhow!("no QEMU makes this cell: {said}")));
    }
    let difference = difference(&ended);
    let data = as_json(&ended, difference.is_none());
    show_verdict(&document(&ended, difference).with_data(data), output, difference.is_none())
}

fn run(context: &VmContext, spec: &Spec, cache: &Cache, qemu: Qemu) -> Result<Ended> {
    let version = qemu.version.clone();
    let VmContext { waiter, progress, spec: machine } = context;
    let options = verify_options(cache.clone(), Some(qemu));
    let begun = Instant::now();
    let vm = Vm::prepare(machine, &options, &|| waiter.stop_requested(), &mut |text| {
        progress.say(text);
    });
    let (outcome, bytes) = match vm.and_then(|vm| verified_run(&vm, spec, waiter)) {
        Ok((outcome, _)) if outcome.status == EndStatus::Interrupted => {
            return Err(Failure::Interrupted);
        }
        Ok((outcome, bytes)) => match outcome.death {
            Some(why) => (format!("{}: {why}", outcome.status.name()), bytes),
            None => (outcome.status.name().to_owned(), bytes),
        },
        // A machine that does not boot is an outcome; what fails on this host is not.
        Err(error @ (VmError::Boot(_) | VmError::KernelMemory(_))) => {
            (error.to_string(), Vec::new())
        }
        Err(error) => return Err(guests::failure(error)),
    };
    let is_sample = |line: &&[u8]| {
        matches!(std::str::from_utf8(line).map(Line::parse), Ok(Ok(Line::Sample(_))))
    };
    let samples = whole_lines::lines(&bytes).filter(is_sample).count();
    Ok(Ended { qemu: version, outcome, samples, wall: begun.elapsed() })
}

/// An outcome without what differs between two machines that do the same: numbers and addresses.
fn kind(outcome: &str) -> String {
    let has_digit = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    outcome.split_whitespace().filter(|word| !has_digit(word)).collect::<Vec<_>>().join(" ")
}

/// The first run that ended otherwise than the first one.
fn difference(ended: &[Ended]) -> Option<&Ended> {
    let first = kind(&ended[0].outcome);
    ended.iter().find(|other| kind(&other.outcome) != first)
}

fn document(ended: &[Ended], difference: Option<&Ended>) -> Document<'static> {
    let rows = ended.iter().map(|run| {
        let wall = format_duration(run.wall.as_nanos() as u64);
        [Cell::from(run.qemu.clone()), run.outcome.clone().into(), run.samples.into(), wall.into()]
    });
    let table = Table::of("", ["QEMU", "outcome", "samples", "wall"], rows);
    let verdict = match difference {
        None => format!("the same outcome in {} QEMUs", ended.len()),
        Some(other) => format!(
            "the outcome differs: an emulator, not the kernel, may be to blame\n  {}: {}\n  {}: {}",
            ended[0].qemu, ended[0].outcome, other.qemu, other.outcome
        ),
    };
    Document::of(vec![table.into(), Block::Verbatim(verdict)])
}

fn as_json(ended: &[Ended], is_same: bool) -> Value {
    let runs: Vec<Value> = ended
        .iter()
        .map(|run| {
            json!({
                "qemu": run.qemu,
                "outcome": run.outcome,
                "samples": run.samples,
                "wall_s": run.wall.as_secs_f64(),
            })
        })
        .collect();
    json!({ "same_outcome": is_same, "runs": runs })
}

#[cfg(test)]
mod tests {
    use render::plain_text;

    use super::*;

    fn ended(qemu: &str, outcome: &str) -> Ended {
        let (qemu, outcome) = (qemu.to_owned(), outcome.to_owned());
        Ended { qemu, outcome, samples: 10, wall: Duration::from_secs(2) }
    }

    #[test]
    fn an_outcome_of_one_emulator_only_is_told() {
        let died = "kernel-died: the guest's kernel died: BUG: unable to handle page fault";
        let runs = [ended("QEMU A", "complete"), ended("QEMU B", died)];
        let text = plain_text(&document(&runs, difference(&runs)));
        assert!(
            text.contains("the outcome differs") && text.contains("QEMU B: kernel-died"),
            "{text}"
        );
    }

    #[test]
    fn addresses_make_no_other_outcome() {
        let died =
            |address: &str| format!("kernel-died: BUG: kernel NULL pointer, address: {address}");
        let runs = [ended("QEMU A", &died("00000008")), ended("QEMU B", &died("00000010"))];
        assert!(difference(&runs).is_none());
    }
}
