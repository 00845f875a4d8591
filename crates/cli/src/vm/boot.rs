//! `thrashlab vm boot`: whether a kernel comes up as a guest, and what it says.

use agent::Waiter;
use anyhow::{Context, anyhow};
use keep::Cache;
use model::units::format_duration;
use report::columns::aligned;
use serde_json::json;
use vm::Booted;

use crate::progress::Progress;
use crate::vm_args::BootArgs;
use crate::{Failure, guests, print, print_json};

/// What of a kernel's messages says which machine it found.
const TELLING: [&str; 3] = ["Linux version ", "Kernel command line: ", "Memory: "];
/// What warns, as it is written.
const WARNING: [&str; 3] = ["WARNING", "BUG", "Call Trace"];
/// What warns, in whatever letters.
const WARNING_WORDS: [&str; 2] = ["error", "fail"];
/// Warnings shown without --dmesg.
const MOST_WARNINGS: usize = 20;

/// Boots, and tells how that went.
pub(crate) fn boot(args: &BootArgs) -> Result<(), Failure> {
    let request = args.machine.request().map_err(|why| Failure::WrongUse(anyhow!(why)))?;
    let waiter = Waiter::new().context("catch signals")?;
    let progress = Progress::new(false);
    let spec = guests::spec(&request, &progress)?;
    progress.say(&format!("booting {} with {}", spec.machine.name, spec.kernel));
    let cache = Cache::of_user();
    let stop = || waiter.stop_requested();
    let booted = vm::boot(&spec.machine, &spec.kernel, &cache, &stop)
        .map_err(|error| guests::stopped_or(&waiter, guests::failure(error)))?;
    if args.json {
        return print_json(&json!({
            "machine": spec.machine,
            "kernel": spec.kernel,
            "release": booted.release,
            "first_line_s": booted.first_line.as_secs_f64(),
            "ready_s": booted.ready.as_secs_f64(),
            "warnings": warnings(&booted.dmesg),
            "dmesg": booted.dmesg.lines().map(str::trim_end).collect::<Vec<_>>(),
        }));
    }
    print(&as_text(&booted, args.dmesg))
}

fn as_text(booted: &Booted, is_whole: bool) -> String {
    let seconds = |time: std::time::Duration| format_duration(time.as_nanos() as u64);
    let mut text = aligned(
        &[
            ["release", &booted.release],
            ["first line", &seconds(booted.first_line)],
            ["ready", &seconds(booted.ready)],
        ]
        .map(|row| row.map(str::to_owned).to_vec()),
    );
    let mut add = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    add("");
    if is_whole {
        booted.dmesg.lines().for_each(|line| add(line.trim_end()));
        return text;
    }
    let lines = booted.dmesg.lines().map(str::trim_end);
    lines.filter(|line| TELLING.iter().any(|word| line.contains(word))).for_each(&mut add);
    let warnings = warnings(&booted.dmesg);
    add(&format!("\nwarnings and errors: {}", warnings.len()));
    warnings.iter().take(MOST_WARNINGS).for_each(|line| add(line));
    if warnings.len() > MOST_WARNINGS {
        add(&format!("… and {} more (--dmesg)", warnings.len() - MOST_WARNINGS));
    }
    text
}

/// Lines that speak of something wrong.
fn warnings(console: &str) -> Vec<&str> {
    let is_warning = |line: &&str| {
        let small = line.to_lowercase();
        WARNING.iter().any(|word| line.contains(word))
            || WARNING_WORDS.iter().any(|word| small.contains(word))
    };
    console.lines().map(str::trim_end).filter(is_warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn highlights_are_told() {
        let booted = Booted {
            release: "6.1".to_owned(),
            first_line: Duration::from_millis(700),
            ready: Duration::from_secs(1),
            dmesg: "[ 0.0] Linux version 6.1\r\n[ 0.1] pid_max: 1\r\n[ 0.2] x: Failed\r\n"
                .to_owned(),
        };
        let text = as_text(&booted, false);
        assert!(text.contains("[ 0.0] Linux version 6.1\n\nwarnings and errors: 1\n[ 0.2] x: Fai"));
        assert!(!text.contains("pid_max"), "{text}");
        assert!(as_text(&booted, true).contains("pid_max"));
    }
}
