//! Which functions account for the difference between two commands of this machine: repetitions by
//! turns, besides those that were timed, observed by samples.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agent::Waiter;
use anyhow::{Context, anyhow};
use model::units::format_duration;
use profile::{Difference, Part, SampledProfile};
use report::lost_records;
use sampler::{KnownFiles, Options, SWITCHES_HZ, profile_command};
use stats::randomised_blocks;

use crate::by_function::if_possible;
use crate::progress::Progress;
use crate::{Failure, Result};

/// Most blocks, each a run of both commands in random order.
const MOST_BLOCKS: usize = 20;
/// More blocks than the fewest with which a level can be reached show changes that are not much larger
/// than the noise.
const MORE_BLOCKS: usize = 4;
/// After this time no further block is begun, if there are as many.
const ENOUGH: Duration = Duration::from_secs(3);
/// Commands of any length are observed for so long, and for as long as their comparison took.
const MOST: Duration = Duration::from_secs(60);
/// What takes longer is announced.
const ANNOUNCED: Duration = Duration::from_secs(5);
const ORDER_SEED: u64 = 43;
/// Samples a second: of a command that is over soon, more; prime numbers.
const LEAST_HZ: u64 = 997;
const MOST_HZ: u64 = 1999;
/// Samples of a repetition that are enough.
const SAMPLES: f64 = 1000.0;
const MOST_HZ_HERE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";

/// How two commands differ, each given by program and arguments: in their time on a CPU or in their waits.
/// The chance that a function is named wrongly is `level`; they were compared for the time that `took`. What
/// prevents it is said; then there is `None`.
pub(crate) fn sampled_difference(
    commands: &[Vec<String>; 2],
    level: f64,
    took: Duration,
    progress: &Progress,
) -> Result<Option<Difference>> {
    let waiter = Waiter::new().context("catch signals")?;
    let found = blocks(commands, level, took.max(MOST), &waiter, progress);
    let found = found.map(|blocks| Difference::of_profiles(&blocks, level));
    if_possible(found, &waiter, progress)
}

/// Observes both commands in blocks, their number a matter of their time alone.
fn blocks(
    commands: &[Vec<String>; 2],
    level: f64,
    most: Duration,
    waiter: &Waiter,
    progress: &Progress,
) -> Result<Vec<[SampledProfile; 2]>> {
    // Two of the 2^n choices of signs of n blocks are as extreme as any can be.
    let reaches = |blocks: &usize| 0.5_f64.powi(*blocks as i32 - 1) <= level;
    let Some(fewest) = (1..=MOST_BLOCKS).find(reaches) else {
        return Err(Failure::NotMeasured(anyhow!("--alpha {level} takes too many repetitions")));
    };
    let enough = (fewest + MORE_BLOCKS).min(MOST_BLOCKS);
    let mut files = KnownFiles::default();
    // It says how many samples a second are needed, and is not counted: its place is not random.
    let tried = observed(&commands[0], LEAST_HZ, &mut files, waiter)?;
    let block = Duration::from_nanos(2 * tried.elapsed_ns);
    if block * fewest as u32 > most {
        let needed = format_duration((block * fewest as u32).as_nanos() as u64);
        let why = anyhow!("it takes {fewest} more runs of each command, about {needed}");
        return Err(Failure::NotMeasured(why));
    }
    let expected = (block * enough as u32).min(most);
    if expected > ANNOUNCED {
        let time = format_duration(expected.as_nanos() as u64);
        progress.say(&format!("finding the functions takes about {time}; Ctrl-C ends it"));
    }
    let frequency_hz = frequency_hz(&tried);
    let begun = Instant::now();
    let mut blocks: Vec<[SampledProfile; 2]> = Vec::new();
    for order in randomised_blocks(commands.len(), MOST_BLOCKS, ORDER_SEED) {
        let is_enough = blocks.len() >= enough && begun.elapsed() > ENOUGH;
        if is_enough || blocks.len() >= fewest && begun.elapsed() > most {
            break;
        }
        if begun.elapsed() > 2 * most {
            return Err(Failure::NotMeasured(anyhow!("the commands take too long for it")));
        }
        let is_second_first = order[0] == 1;
        let mut run =
            |command: usize| observed(&commands[command], frequency_hz, &mut files, waiter);
        blocks.push(match is_second_first {
            false => [run(0)?, run(1)?],
            true => {
                let second = run(1)?;
                [run(0)?, second]
            }
        });
    }
    Ok(blocks)
}

/// Samples a second that are enough for a command with this time on a CPU.
fn frequency_hz(profile: &SampledProfile) -> u64 {
    let on_cpu_s = profile.counts(Part::OnCpu).total as f64 / 1e9;
    let most = std::fs::read_to_string(MOST_HZ_HERE).ok();
    let most = most.and_then(|text| text.trim().parse().ok()).unwrap_or(LEAST_HZ);
    ((SAMPLES / on_cpu_s) as u64).clamp(LEAST_HZ, MOST_HZ).min(most)
}

/// A repetition; its output goes nowhere, as where it is timed.
fn observed(
    words: &[String],
    frequency_hz: u64,
    files: &mut KnownFiles,
    waiter: &Waiter,
) -> Result<SampledProfile> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let stopped = || waiter.stop_requested();
    let options =
        Options { frequency_hz, switches_hz: Some(SWITCHES_HZ), faults: None, with_times: false };
    let (profile, status) = profile_command(&mut command, options, files, &stopped)
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
