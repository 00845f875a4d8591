//! The commands that reproduce the results of a report, their files, and what is not recorded.

mod machine;

use std::collections::BTreeSet;

use analysis::seeds_text;
use itertools::Itertools;
use jobs::Kind;
use model::shown::quoted;
use model::units::{exact_duration, exact_size};
use model::{BASELINE, Header, JobSpec, MachineSpec, Measure, Script, SubjectSpec, Timing};
use render::Block;
use serde_json::json;

use super::Input;

/// The header page of a swap area, which the kernel's table of them does not count.
const SWAP_HEADER_BYTES: u64 = 4096;

/// One command per combination of subject, measure, timing and load volume, with all loads and
/// seeds. `machines` are those that have names.
pub(super) fn blocks(input: &Input<'_>, machines: &[MachineSpec]) -> Vec<Block> {
    let (mut found, mut gaps): (Vec<RunCommand>, _) = (Vec::new(), BTreeSet::new());
    let mut files = Files::default();
    let is_baseline = |header: &&Header| header.spec.load.name == BASELINE;
    let (baselines, loaded): (Vec<&Header>, Vec<&Header>) = input.headers().partition(is_baseline);
    for header in loaded.into_iter().chain(baselines) {
        let (spec, is_baseline) = (&header.spec, is_baseline(&header));
        gaps.extend(missing(header));
        let what = [subject(header, machines, &mut files), measure(&spec.measure, &mut files)];
        let how = (timing(&spec.timing, &spec.measure), spec.load.intensity.to_string());
        // Baseline points are spread over several runs, so their timing differs. The baseline has
        // no load volume, and every command with loads measures it too.
        let is_same = |it: &RunCommand| it.what == what && (is_baseline || it.how == how);
        let index = found.iter().position(is_same).unwrap_or_else(|| {
            found.push(RunCommand { what, how, ..RunCommand::default() });
            found.len() - 1
        });
        let command = &mut found[index];
        if is_baseline && !command.loads.is_empty() {
            continue;
        }
        command.seeds.insert(spec.seed);
        if !is_baseline && !command.loads.contains(&spec.load.name) {
            command.loads.push(spec.load.name.clone());
        }
    }
    let commands = found.iter().map(|command| Block::Command(command.text()));
    let files = files.0.into_iter();
    let files = files.map(|(name, text)| Block::Folded(name, vec![Block::Verbatim(text)]));
    commands.chain(files).chain(gaps.into_iter().map(Block::Sentence)).collect()
}

#[derive(Debug, Default)]
struct RunCommand {
    /// Options of the subject and the measure.
    what: [Vec<String>; 2],
    /// Options of the timing, and the load's intensity.
    how: (Vec<String>, String),
    loads: Vec<String>,
    seeds: BTreeSet<u64>,
}

impl RunCommand {
    fn text(&self) -> String {
        let (timing, intensity) = &self.how;
        let mut words = vec!["thrashlab run".to_owned()];
        words.extend(self.what.concat());
        if !self.loads.is_empty() {
            words.push(option("load", &self.loads.join(",")));
        } else if self.what[1].iter().any(|word| word.starts_with("--probe ")) {
            // Without the option, a probe runs under all loads.
            words.push(option("load", BASELINE));
        }
        words.extend(timing.clone());
        if !self.loads.is_empty() && intensity != "1" {
            words.push(option("intensity", intensity));
        }
        let seeds: Vec<u64> = self.seeds.iter().copied().collect();
        words.push(format!("--{}", seeds_text(&seeds)));
        words.join(" ")
    }
}

#[derive(Debug, Default)]
struct Files(Vec<(String, String)>);

impl Files {
    /// Adds a file and returns its name: `stem.toml`, with a number if another text has that name.
    fn add(&mut self, stem: &str, text: String) -> String {
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let stem: String = stem.chars().map(plain).collect();
        let mut name = format!("{stem}.toml");
        for number in 2.. {
            match self.0.iter().find(|(known, _)| *known == name) {
                None => break,
                Some((_, known)) if *known == text => return name,
                Some(_) => name = format!("{stem}-{number}.toml"),
            }
        }
        self.0.push((name.clone(), text));
        name
    }
}

fn subject(header: &Header, machines: &[MachineSpec], files: &mut Files) -> Vec<String> {
    let spec = &header.spec;
    let (kind, settings) = match &spec.subject {
        SubjectSpec::Host { memory_bytes } => ("host", vec![("mem", exact_size(*memory_bytes))]),
        SubjectSpec::Sandbox(sandbox) => ("sandbox", sandbox.settings()),
        SubjectSpec::Group(group) => ("group", group.settings()),
        SubjectSpec::Vm(vm) => {
            let settings = machine::settings(vm, &spec.timing.profile, machines, files);
            return vec![option("subject", &format!("vm:{settings}"))];
        }
        SubjectSpec::Mmu(mmu) => {
            let machine = match mmu.machine.strip_suffix(".toml") {
                Some(stem) => files.add(stem, mmu.description.clone()),
                None => mmu.machine.clone(),
            };
            let asked = mmu.asked.iter().filter(|(name, _)| *name != "machine");
            let asked = asked.map(|(name, value)| (name.as_str(), value.clone()));
            ("mmu", [("machine", machine)].into_iter().chain(asked).collect())
        }
    };
    let settings = settings.iter().map(|(name, value)| format!("{name}={value}")).join(",");
    let there = header.environment.get("remote").map(|address| format!("{address},"));
    let subject = format!("{}{kind}:{}", there.unwrap_or_default(), settings);
    let swaps = header.environment.get("swaps").map_or("", String::as_str);
    let swap = swap_file_bytes(swaps).map(|bytes| option("swap", &exact_size(bytes)));
    [option("subject", &subject)].into_iter().chain(swap).collect()
}

/// Size of the swap file of `--swap` in the fact `swaps`, such as `/var/tmp/thrashlab-0/swap-123
/// file 1048572kB priority -2`.
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

/// The probe or job; a script that does not ship becomes a file.
fn measure(measure: &Measure, files: &mut Files) -> Vec<String> {
    let mut words = match measure {
        Measure::Probe(probe) => return vec![option("probe", &probe.name)],
        _ => vec![option("job", measure.name())],
    };
    if let Measure::Session(asked) = measure {
        words.extend(session(&asked.script, files));
    }
    if let Some(job) = measure.settings() {
        let params = job.params.iter().map(|(name, value)| (name, typed(job, name, *value)));
        let choices = job.choices.iter().map(|(name, value)| (name, value.clone()));
        words.extend(params.chain(choices).map(|(name, value)| set(name, &value)));
    }
    words
}

fn set(name: &str, value: &str) -> String {
    option("set", &format!("{name}={value}"))
}

fn typed(job: &JobSpec, name: &str, value: u64) -> String {
    let number = workloads::find_job(&job.name).and_then(|known| known.number(name));
    match number.map(|number| number.kind) {
        Some(Kind::Size) => exact_size(value),
        Some(Kind::Time) => exact_duration(value),
        Some(kind) => kind.format(value),
        None => value.to_string(),
    }
}

/// The script: the changes to the one that ships, or a file.
fn session(script: &Script, files: &mut Files) -> Vec<String> {
    let shipped = workloads::parse_script(workloads::DEFAULT_SCRIPT).ok();
    let (shipped, after) = (json!(shipped), json!(script));
    let fields = after.as_object().into_iter().flatten();
    let changed = fields.filter(|(name, value)| shipped.get(name) != Some(value));
    let words = changed.map(|(name, value)| match (name.as_str(), value.as_str()) {
        ("users", _) => Some(option("users", &value.to_string())),
        ("think_ns", _) => Some(set("think", &exact_duration(script.think_ns))),
        ("limit_ns", _) => Some(set("limit", &exact_duration(script.limit_ns))),
        ("tools", Some(whose)) => Some(set("tools", whose)),
        _ => None,
    });
    words.collect::<Option<Vec<String>>>().unwrap_or_else(|| {
        // Every script that was read has a text.
        let file = workloads::script_text(script).map(|text| files.add(&script.name, text));
        vec![option("script", &file.unwrap_or_else(|_| script.name.clone()))]
    })
}

/// What the command cannot reproduce, because it was not recorded or has no option.
fn missing(header: &Header) -> Vec<String> {
    let (spec, facts) = (&header.spec, &header.environment);
    let fact = |name: &str| facts.get(name).map(String::as_str);
    let mut gaps = Vec::new();
    match &spec.subject {
        SubjectSpec::Host { .. } | SubjectSpec::Sandbox(_) | SubjectSpec::Group(_) => {
            let device = fact("disk_device").map(|device| format!(" of {device}"));
            let place = fact("disk_filesystem")
                .map(|system| format!("; it was on {system}{}", device.unwrap_or_default()));
            gaps.push(format!(
                "Which folder the files of loads and measures were in (--work-dir) is not \
                 recorded{}.",
                place.unwrap_or_default()
            ));
            if fact("swaps").is_none() && fact("swap_bytes") != Some("0") {
                let text = "Whether a swap file was created for the run (--swap) is not recorded.";
                gaps.push(text.to_owned());
            }
        }
        SubjectSpec::Vm(vm) => gaps.extend(vm.overlay.iter().map(|folder| {
            format!(
                "The contents of the folder {folder} are not in the run files, only their effect."
            )
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
    let warmup = option("warmup", &exact_duration(timing.warmup_ns));
    match (timing.profile.as_str(), measure.is_probe()) {
        (profile @ ("quick" | "classic"), true) => vec![format!("--{profile}")],
        ("custom", true) => vec![
            option("interval", &exact_duration(timing.interval_ns)),
            option("points", &timing.points.to_string()),
            warmup,
            option("timeout", &exact_duration(timing.timeout_ns)),
        ],
        // A job has its own timing; its load warms up as usual.
        ("custom", false) => vec![warmup],
        // Default of the subject.
        _ => Vec::new(),
    }
}

/// An option and its value, quoted for a shell.
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
        let (what, how) = ([Vec::new(), measure], (Vec::new(), "1".to_owned()));
        let text = RunCommand { what, how, loads: vec![hostile], seeds: [1].into() }.text();
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
