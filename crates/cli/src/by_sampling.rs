//! Which functions account for the difference between two commands of this machine: repetitions by
//! turns, besides those that were timed, observed by samples.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agent::Waiter;
use anyhow::{Context, anyhow};
use profile::{CallStacks, Counted, Difference, FunctionPair, Part, SampledProfile};
use report::lost_records;
use sampler::{Options, profile_command};

use crate::by_function::if_possible;
use crate::progress::Progress;
use crate::{Failure, Result};

/// Fewest pairs, from which an interval can exclude 0, and most. The verdict is known before, so that
/// long commands are repeated as seldom as possible.
const PAIRS: std::ops::RangeInclusive<usize> = 3..=20;
/// After this time no further pair is begun.
const ENOUGH: Duration = Duration::from_millis(1500);
/// Commands that take longer are not repeated for it.
const MOST: Duration = Duration::from_secs(20);
/// Samples a second: of a command that is over soon, more; prime numbers.
const LEAST_HZ: u64 = 997;
const MOST_HZ: u64 = 1999;
/// Samples of a repetition that are enough.
const SAMPLES: f64 = 1000.0;
const MOST_HZ_HERE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";

/// The mean difference of commands, each given by program and arguments: of their time on a CPU, or of
/// their waits, whichever differs more. What prevents it is said; then there is `None`.
pub(crate) fn sampled_difference(
    commands: &[Vec<String>; 2],
    progress: &Progress,
) -> Result<Option<Difference>> {
    let waiter = Waiter::new().context("catch signals")?;
    if_possible(difference(commands, &waiter), &waiter, progress)
}

fn difference([first, second]: &[Vec<String>; 2], waiter: &Waiter) -> Result<Difference> {
    let begun = Instant::now();
    // It says how many samples a second are needed, and counts if it has as many.
    let tried = observed(first, LEAST_HZ, waiter)?;
    let frequency_hz = frequency_hz(&tried);
    let mut tried = Some(tried).filter(|_| frequency_hz == LEAST_HZ);
    let run = |words: &[String]| observed(words, frequency_hz, waiter);
    let (mut on_cpu, mut waits): (Vec<FunctionPair>, Vec<FunctionPair>) = Default::default();
    while on_cpu.len() < *PAIRS.end() && (on_cpu.len() < *PAIRS.start() || begun.elapsed() < ENOUGH)
    {
        if begun.elapsed() > MOST {
            return Err(Failure::NotMeasured(anyhow!("the commands take too long for it")));
        }
        let pair = if on_cpu.len().is_multiple_of(2) {
            let first = tried.take().map_or_else(|| run(first), Ok)?;
            [first, run(second)?]
        } else {
            let second = run(second)?;
            [run(first)?, second]
        };
        let functions = |part| pair.each_ref().map(|it| it.functions(it.counts(part)));
        on_cpu.push(functions(Part::OnCpu));
        waits.push(functions(Part::Waits));
    }
    let of = |pairs: &[FunctionPair], counted| Difference { counted, ..Difference::of(pairs) };
    let [on_cpu, waits] = [of(&on_cpu, Counted::OnCpuNs), of(&waits, Counted::WaitsNs)];
    let size = |it: &Difference| it.second.abs_diff(it.first);
    Ok(if size(&waits) > size(&on_cpu) { waits } else { on_cpu })
}

/// Samples a second that are enough for a command with this time on a CPU.
fn frequency_hz(profile: &SampledProfile) -> u64 {
    let on_cpu_s = profile.counts(Part::OnCpu).total as f64 / 1e9;
    let most = std::fs::read_to_string(MOST_HZ_HERE).ok();
    let most = most.and_then(|text| text.trim().parse().ok()).unwrap_or(LEAST_HZ);
    ((SAMPLES / on_cpu_s) as u64).clamp(LEAST_HZ, MOST_HZ).min(most)
}

/// A repetition; its output goes nowhere, as where it is timed.
fn observed(words: &[String], frequency_hz: u64, waiter: &Waiter) -> Result<SampledProfile> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let stopped = || waiter.stop_requested();
    let (profile, status) =
        profile_command(&mut command, Options { frequency_hz, faults: None }, &stopped)
            .map_err(|error| Failure::NotMeasured(error.into()))?;
    if stopped() {
        return Err(Failure::Interrupted);
    }
    if !status.success() {
        return Err(Failure::NotMeasured(anyhow!("a repetition ended with {status}")));
    }
    if let Some(lost) = lost_records(&profile) {
        return Err(Failure::NotMeasured(anyhow!("{lost}")));
    }
    Ok(profile)
}
