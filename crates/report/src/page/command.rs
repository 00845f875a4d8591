//! The commands that make the results of a report again, the files that they read, and what no run
//! file tells of them.

mod files;
mod job;
mod machine;

use std::collections::BTreeSet;

use model::units::{exact_duration, exact_size};
use model::{BASELINE, Header, MachineSpec, Measure, SubjectSpec, Timing};

use files::Files;
use model::shown::quoted;
use render::Block;

/// Where the kernel's table of swap areas counts in pages of this size, the first of which is not
/// counted.
const SWAP_HEADER_BYTES: u64 = 4096;

/// The commands that make runs like these: one for each combination of subject, measure, times and
/// dose; each with its loads and seeds. `machines` are those that are known by their names.
pub(super) fn blocks<'a>(
    headers: impl Iterator<Item = &'a Header>,
    machines: &[MachineSpec],
) -> Vec<Block> {
    let mut found: Vec<Wanted> = Vec::new();
    let mut files = Files::default();
    let mut gaps = BTreeSet::new();
    let is_baseline = |header: &&Header| header.spec.load.name == BASELINE;
    let (baselines, loaded): (Vec<&Header>, Vec<&Header>) = headers.partition(is_baseline);
    for header in loaded.into_iter().chain(baselines) {
        let spec = &header.spec;
        gaps.extend(missing(header));
        let key = Key {
            subject: subject(header, machines, &mut files),
            measure: job::measure(&spec.measure, &mut files),
            timing: timing(&spec.timing, &spec.measure),
            intensity: spec.load.intensity.to_string(),
        };
        // The baseline's points are spread over several runs, so its times are its own. It has no
        // dose, and every command with loads measures without them too.
        let is_same = |wanted: &Wanted| match is_baseline(&header) {
            true => (&wanted.key.subject, &wanted.key.measure) == (&key.subject, &key.measure),
            false => wanted.key == key,
        };
        let place = found.iter().position(is_same).unwrap_or_else(|| {
            found.push(Wanted { key, ..Wanted::default() });
            found.len() - 1
        });
        let wanted = &mut found[place];
        if is_baseline(&header) && !wanted.loads.is_empty() {
            continue;
        }
        wanted.seeds.insert(spec.seed);
        if spec.load.name != BASELINE && !wanted.loads.contains(&spec.load.name) {
            wanted.loads.push(spec.load.name.clone());
        }
    }
    let commands = found.iter().map(|wanted| Block::Command(wanted.text()));
    let files = files.into_blocks();
    commands.chain(files).chain(gaps.into_iter().map(Block::Sentence)).collect()
}

/// What is the same in all runs of a command.
#[derive(Debug, Default, PartialEq)]
struct Key {
    subject: Vec<String>,
    measure: Vec<String>,
    timing: Vec<String>,
    intensity: String,
}

/// What a command asks for.
#[derive(Debug, Default)]
struct Wanted {
    key: Key,
    loads: Vec<String>,
    seeds: BTreeSet<u64>,
}

impl Wanted {
    fn text(&self) -> String {
        let mut words = vec!["thrashlab run".to_owned()];
        words.extend(self.key.subject.clone());
        words.extend(self.key.measure.clone());
        if !self.loads.is_empty() {
            words.push(option("load", &self.loads.join(",")));
        } else if self.key.measure.iter().any(|word| word.starts_with("--probe ")) {
            // A probe without any is under all loads.
            words.push(option("load", BASELINE));
        }
        words.extend(self.key.timing.clone());
        if !self.loads.is_empty() && self.key.intensity != "1" {
            words.push(option("intensity", &self.key.intensity));
        }
        words.push(match self.seeds.iter().collect::<Vec<_>>()[..] {
            [seed] => option("seed", &seed.to_string()),
            [first, .., last] if last - first + 1 == self.seeds.len() as u64 => {
                option("seeds", &format!("{first}..{last}"))
            }
            ref several => {
                let seeds: Vec<String> = several.iter().map(ToString::to_string).collect();
                option("seeds", &seeds.join(","))
            }
        });
        words.join(" ")
    }
}

/// Where a run was made, with the swap file that was made for it.
fn subject(header: &Header, machines: &[MachineSpec], files: &mut Files) -> Vec<String> {
    let spec = &header.spec;
    let (kind, settings) = match &spec.subject {
        SubjectSpec::Host { memory_bytes } => ("host", vec![("mem", exact_size(*memory_bytes))]),
        SubjectSpec::Sandbox(sandbox) => ("sandbox", sandbox.settings()),
        SubjectSpec::Vm(vm) => {
            let settings = machine::settings(vm, &spec.timing.profile, machines, files);
            return vec![option("subject", &format!("vm:{settings}"))];
        }
        SubjectSpec::Mmu(mmu) => {
            if mmu.machine.ends_with(".toml") {
                files.named(&mmu.machine, &mmu.description);
            }
            let asked = mmu.asked.iter().filter(|(name, _)| *name != "machine");
            let asked = asked.map(|(name, value)| (name.as_str(), value.clone()));
            ("mmu", std::iter::once(("machine", mmu.machine.clone())).chain(asked).collect())
        }
    };
    let settings: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let there = header.environment.get("remote").map(|address| format!("{address},"));
    let subject = format!("{}{kind}:{}", there.unwrap_or_default(), settings.join(","));
    let mut words = vec![option("subject", &subject)];
    let swaps = header.environment.get("swaps").map_or("", String::as_str);
    words.extend(swap_file_bytes(swaps).map(|bytes| option("swap", &exact_size(bytes))));
    words
}

/// Size of the swap file that `--swap` made, if it is among these swap areas (the fact `swaps`,
/// such as `/var/tmp/thrashlab-0/swap-123 file 1048572kB priority -2`).
fn swap_file_bytes(swaps: &str) -> Option<u64> {
    let of = |area: &str| -> Option<u64> {
        let mut words = area.split_whitespace();
        let (path, kind, size) = (words.next()?, words.next()?, words.next()?);
        let process = path.rsplit('/').next()?.strip_prefix("swap-")?;
        let is_ours = kind == "file" && process.parse::<u32>().is_ok();
        let size_kb: u64 = size.strip_suffix("kB")?.parse().ok()?;
        is_ours.then(|| size_kb * 1024 + SWAP_HEADER_BYTES)
    };
    swaps.split("; ").find_map(of)
}

/// What the command of a run cannot ask for, because no run file tells it, or no option does.
fn missing(header: &Header) -> Vec<String> {
    let (spec, facts) = (&header.spec, &header.environment);
    let mut gaps = Vec::new();
    match &spec.subject {
        SubjectSpec::Host { .. } | SubjectSpec::Sandbox(_) => {
            gaps.push(match facts.get("disk_filesystem") {
                Some(system) => format!(
                    "Which folder the files of loads and measures were in (--work-dir) is not \
                     recorded; it was on {system}{}.",
                    facts.get("disk_device").map(|it| format!(" of {it}")).unwrap_or_default()
                ),
                None => "Which folder the files of loads and measures were in (--work-dir) is not \
                         recorded."
                    .to_owned(),
            });
            let swap_bytes = facts.get("swap_bytes").map(String::as_str);
            if !facts.contains_key("swaps") && swap_bytes != Some("0") {
                let text = "Whether a swap file was made for the run (--swap) is not recorded.";
                gaps.push(text.to_owned());
            }
        }
        SubjectSpec::Vm(vm) => gaps.extend(vm.overlay.iter().map(|folder| {
            format!("What lay in the folder {folder} is not in the run files, only what it did.")
        })),
        SubjectSpec::Mmu(_) => {}
    }
    gaps.extend(spec.sysctls.iter().map(|(name, value)| {
        format!(
            "{name} was set to {value}, which a plan does (sysctl.{name}), but not the command."
        )
    }));
    gaps
}

fn timing(timing: &Timing, measure: &Measure) -> Vec<String> {
    let exact = |name: &'static str, ns: u64| option(name, &exact_duration(ns));
    match (timing.profile.as_str(), measure) {
        (profile @ ("quick" | "classic"), Measure::Probe(_)) => vec![format!("--{profile}")],
        ("custom", Measure::Probe(_)) => vec![
            exact("interval", timing.interval_ns),
            option("points", &timing.points.to_string()),
            exact("warmup", timing.warmup_ns),
            exact("timeout", timing.timeout_ns),
        ],
        // A job has its own times, but its load becomes warm as any other.
        ("custom", Measure::Job(_)) => vec![exact("warmup", timing.warmup_ns)],
        // The one that a subject has by itself.
        _ => Vec::new(),
    }
}

/// An option and its value, which a shell takes for one word whatever is in it.
fn option(name: &'static str, value: &str) -> String {
    format!("--{name} {}", quoted(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_run_file_are_words_and_no_commands() {
        let hostile = "cpuload;reboot".to_owned();
        let measure = vec![option("probe", "$(id)")];
        let key = Key { measure, intensity: "1".to_owned(), ..Key::default() };
        let text = Wanted { key, loads: vec![hostile], seeds: [1].into() }.text();
        assert_eq!(text, "thrashlab run --probe '$(id)' --load 'cpuload;reboot' --seed 1");
    }

    #[test]
    fn only_a_swap_file_of_ours_is_made_again() {
        let ours = "/dev/sda2 partition 8388604kB priority -2; \
                    /var/tmp/thrashlab-0/swap-4711 file 1048572kB priority -3";
        assert_eq!(swap_file_bytes(ours), Some(1 << 30));
        for other in [
            "none",
            "",
            "/swapfile file 12kB priority 1",
            "/x/swap-1 partition 12kB",
            "/x/swap-1 file 99",
        ] {
            assert_eq!(swap_file_bytes(other), None, "{other}");
        }
    }
}
