//! `thrashlab vm boot`: whether a kernel boots as a guest, and its messages.

use clap::Args;
use keep::Cache;
use model::units::format_duration;
use render::{Block, Document};
use serde_json::json;
use vm::Booted;

use super::{MachineArgs, VmContext};
use crate::output::{OutputArgs, show};
use crate::{Result, guests};

const EXAMPLES: &str = "\
Times are wall-clock times.

Examples:
  thrashlab vm boot
  thrashlab vm boot machine=micro,kernel=deb:linux-image-cloud-amd64
  thrashlab vm boot --kernel host --dmesg";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BootArgs {
    #[command(flatten)]
    machine: MachineArgs,

    /// Print all kernel messages
    #[arg(long, conflicts_with = "json")]
    dmesg: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// The kernel messages that show which machine it found.
const TELLING: [&str; 3] = ["Linux version ", "Kernel command line: ", "Memory: "];
/// What warns, as it is written.
const WARNING: [&str; 3] = ["WARNING", "BUG", "Call Trace"];
/// Words of a warning, in any case.
const WARNING_WORDS: [&str; 2] = ["error", "fail"];
const MOST_WARNINGS: usize = 20;

pub(crate) fn boot(args: &BootArgs) -> Result<()> {
    let VmContext { waiter, progress, spec } = args.machine.prepare()?;
    progress.say(&format!("booting {} with {}", spec.machine.name, spec.kernel));
    let cache = Cache::of_user();
    let stop = || waiter.stop_requested();
    let booted = vm::boot(&spec, &cache, &stop, &mut |text| progress.say(text))
        .map_err(|error| guests::stopped_or(&waiter, guests::failure(error)))?;
    let data = json!({
        "machine": spec.machine,
        "kernel": spec.kernel,
        "release": booted.release,
        "first_line_s": booted.first_line.as_secs_f64(),
        "ready_s": booted.ready.as_secs_f64(),
        "warnings": warnings(&booted.dmesg),
        "dmesg": booted.dmesg.lines().map(str::trim_end).collect::<Vec<_>>(),
    });
    show(&document(&booted, args.dmesg).with_data(data), &args.output)
}

fn document(booted: &Booted, is_whole: bool) -> Document<'static> {
    let seconds = |time: std::time::Duration| format_duration(time.as_nanos() as u64);
    let all = booted.dmesg.lines().map(str::trim_end);
    let telling = |line: &&str| is_whole || TELLING.iter().any(|word| line.contains(word));
    let mut lines: Vec<String> = all.filter(telling).map(str::to_owned).collect();
    if !is_whole {
        let warnings = warnings(&booted.dmesg);
        lines.push(format!("\nwarnings and errors: {}", warnings.len()));
        lines.extend(warnings.iter().take(MOST_WARNINGS).map(|line| (*line).to_owned()));
        let more = warnings.len().saturating_sub(MOST_WARNINGS);
        lines.extend((more > 0).then(|| format!("… and {more} more (--dmesg)")));
    }
    Document::of(vec![Block::Verbatim(lines.join("\n"))]).with_facts([
        ("release", booted.release.clone()),
        ("first line", seconds(booted.first_line)),
        ("ready", seconds(booted.ready)),
    ])
}

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
    use std::time::Duration;

    use render::plain_text;

    use super::*;

    #[test]
    fn highlights_are_told() {
        let booted = Booted {
            release: "6.1".to_owned(),
            first_line: Duration::from_millis(700),
            ready: Duration::from_secs(1),
            dmesg: "[ 0.0] Linux version 6.1\r\n[ 0.1] pid_max: 1\r\n[ 0.2] x: Failed\r\n"
                .to_owned(),
        };
        let text = plain_text(&document(&booted, false));
        assert!(text.contains("[ 0.0] Linux version 6.1\n\nwarnings and errors: 1\n[ 0.2] x: Fai"));
        assert!(!text.contains("pid_max"), "{text}");
        assert!(
            text.starts_with("release     6.1\nfirst line  700ms\nready       1.00s\n\n"),
            "{text}"
        );
        assert!(plain_text(&document(&booted, true)).contains("pid_max"));
    }
}
