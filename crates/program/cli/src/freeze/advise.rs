//! `thrashlab freeze advise`: which settings the suite supports for this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use analysis::freeze::{FreezeSuiteRuns, MachineNow};
use clap::{Args, ValueEnum};
use counters::Roots;
use experiment::{freeze_results, known_freezes};
use model::units::format_size;
use render::format;
use report::{AdviceView, freeze_advice_document};

use crate::laboratory::failure;
use crate::output::{OutputArgs, show};
use crate::{Result, wrong};

pub(super) const EXAMPLES: &str = "\
Examples:
  thrashlab freeze advise
  thrashlab freeze advise --use ci --details
  thrashlab freeze advise mine.json

It compares what this machine has (swap, settings, kernel) with the suite in
docs/freeze/, or with results of your own, and prints the lines of files that
would change. It changes nothing.";

/// The sysctls that policies set.
const SYSCTLS: [&str; 6] = [
    "vm.swappiness",
    "vm.min_free_kbytes",
    "vm.watermark_scale_factor",
    "vm.overcommit_memory",
    "vm.oom_kill_allocating_task",
    "vm.page-cluster",
];
/// Daemons that kill before the kernel does.
const DAEMONS: [&str; 4] = ["systemd-oomd", "earlyoom", "nohang", "oomd"];

#[derive(Args)]
pub(super) struct AdviseArgs {
    /// Results of your own (`thrashlab freeze --json`) [default: the suite of docs/freeze/]
    #[arg(value_name = "FILE")]
    results: Option<PathBuf>,

    /// What the machine is for [default: all scenarios of the suite]
    #[arg(long = "use", value_name = "USE")]
    purpose: Option<Purpose>,

    #[command(flatten)]
    output: OutputArgs,
}

/// What turns around with another disk than the suite's (`docs/freeze/answers.md`).
const DISK_OF_SUITE: &str = "The suite's disk is slow (2 ms, 20 MB/s): in place of swap on an SSD, \
                             zram did not shorten freezes; no swap did. So did min-ttl and \
                             earlyoom-memory, with swap.";

/// What a machine is for.
#[derive(Clone, Copy, ValueEnum)]
enum Purpose {
    /// A leak, a greedy program, a build next to the user's work
    Desktop,
    /// Builds, many processes, a full tmpfs
    Ci,
    /// Containers at their limits
    Containers,
    /// A database whose cache is too large
    Database,
}

impl Purpose {
    /// The scenarios that matter.
    fn scenarios(self) -> &'static [&'static str] {
        match self {
            Self::Desktop => &["leak", "tail", "build", "page-cache"],
            Self::Ci => &["build", "forks", "tail", "tmpfs"],
            Self::Containers => &["container", "leak", "page-cache"],
            Self::Database => &["database", "page-cache", "leak"],
        }
    }
}

pub(super) fn advise(args: &AdviseArgs) -> Result<()> {
    let runs = match &args.results {
        Some(path) => freeze_results(path),
        None => known_freezes(),
    };
    let runs = runs.map_err(failure)?;
    let scenarios = scenarios(&runs, args.purpose);
    if scenarios.is_empty() {
        return Err(wrong("the results have none of the scenarios of this use; leave --use away"));
    }
    let (machine, about) = this_machine();
    let is_of_suite = args.results.is_none();
    let caveat = (is_of_suite && machine.has_swap_on_disk()).then_some(DISK_OF_SUITE);
    let (runs, machine, about, scenarios) = (&runs, &machine, &*about, &*scenarios);
    let view = AdviceView { runs, machine, about, scenarios, caveat };
    let nothing = || wrong("the results have no kernel or no policy");
    show(&freeze_advice_document(&view).ok_or_else(nothing)?, &args.output)
}

fn scenarios(runs: &FreezeSuiteRuns, purpose: Option<Purpose>) -> Vec<String> {
    let is_meant =
        |name: &&String| purpose.is_none_or(|it| it.scenarios().contains(&name.as_str()));
    runs.scenarios.iter().map(|it| &it.name).filter(is_meant).cloned().collect()
}

/// What this machine has, and the same in words.
fn this_machine() -> (MachineNow, String) {
    let (mut facts, _) = counters::environment(&Roots::system(None));
    let kernel = facts.remove("kernel").unwrap_or_default();
    let swaps = facts.remove("swaps").unwrap_or_default();
    let devices = swaps.split("; ").filter(|it| !matches!(*it, "none" | ""));
    let devices: Vec<String> =
        devices.filter_map(|it| it.split(' ').next()).map(str::to_owned).collect();
    let read = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
        Some((name.to_owned(), text.trim().to_owned()))
    };
    let sysctls: BTreeMap<String, String> = SYSCTLS.into_iter().filter_map(read).collect();
    let size = |name: &str| facts.get(name).and_then(|it| it.parse().ok()).map(format_size);
    let swap = match (devices.is_empty(), size("swap_bytes")) {
        (true, _) => "no swap".to_owned(),
        (false, size) => {
            format!("{} of swap on {}", size.unwrap_or_default(), format::and(devices.clone()))
        }
    };
    let mut words: Vec<String> = Vec::new();
    words.extend(size("memory_bytes").map(|size| format!("{size} of memory")));
    words.push(swap);
    words.extend(sysctls.get("vm.swappiness").map(|it| format!("vm.swappiness {it}")));
    words.push(format!("Linux {kernel}"));
    let daemons = daemons();
    let running = || format!("{} is running", format::and(daemons.clone()));
    words.extend((!daemons.is_empty()).then(running));
    (MachineNow { kernel, swaps: devices, sysctls, daemons }, words.join(", "))
}

/// The daemons that run here and kill before the kernel does.
fn daemons() -> Vec<String> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = names.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    let mut all: Vec<String> = names
        .map(|name| name.trim().to_owned())
        .filter(|name| DAEMONS.contains(&name.as_str()))
        .collect();
    all.sort();
    all.dedup();
    all
}
