//! The commands that make the results of a report again.

use std::collections::BTreeSet;

use model::units::{exact_duration, exact_size};
use model::{BASELINE, Header, Measure, SandboxSpec, SubjectSpec, Timing};

/// The commands that make runs like these: one for each combination of subject, measure, times and
/// dose; each with its loads and seeds.
pub(super) fn commands<'a>(headers: impl Iterator<Item = &'a Header>) -> Vec<String> {
    let mut found: Vec<Wanted> = Vec::new();
    let is_baseline = |header: &&Header| header.spec.load.name == BASELINE;
    let (baselines, loaded): (Vec<&Header>, Vec<&Header>) = headers.partition(is_baseline);
    for header in loaded.into_iter().chain(baselines) {
        let spec = &header.spec;
        let key = Key {
            subject: subject(&spec.subject),
            measure: measure(&spec.measure),
            timing: match &spec.measure {
                Measure::Probe(_) => timing(&spec.timing),
                Measure::Job(_) => Vec::new(),
            },
        };
        // The baseline's points are spread over several runs, so its times are its own.
        let is_same = |wanted: &Wanted| match is_baseline(&header) {
            true => (&wanted.key.subject, &wanted.key.measure) == (&key.subject, &key.measure),
            false => wanted.key == key,
        };
        let place = found.iter().position(is_same).unwrap_or_else(|| {
            found.push(Wanted { key, ..Wanted::default() });
            found.len() - 1
        });
        let wanted = &mut found[place];
        wanted.seeds.insert(spec.seed);
        if spec.load.name != BASELINE {
            if !wanted.loads.contains(&spec.load.name) {
                wanted.loads.push(spec.load.name.clone());
            }
            wanted.intensities.insert(spec.load.intensity.to_string());
        }
    }
    found.iter().map(Wanted::text).collect()
}

/// What is the same in all runs of a command.
#[derive(Debug, Default, PartialEq)]
struct Key {
    subject: String,
    measure: Vec<String>,
    timing: Vec<String>,
}

/// What a command asks for.
#[derive(Debug, Default)]
struct Wanted {
    key: Key,
    loads: Vec<String>,
    intensities: BTreeSet<String>,
    seeds: BTreeSet<u64>,
}

impl Wanted {
    fn text(&self) -> String {
        let mut words = vec!["thrashlab run".to_owned(), format!("--subject {}", self.key.subject)];
        words.extend(self.key.measure.clone());
        if !self.loads.is_empty() {
            words.push(format!("--load {}", self.loads.join(",")));
        }
        words.extend(self.key.timing.clone());
        if let [intensity] = self.intensities.iter().collect::<Vec<_>>()[..]
            && intensity != "1"
        {
            words.push(format!("--intensity {intensity}"));
        }
        words.push(match self.seeds.iter().collect::<Vec<_>>()[..] {
            [seed] => format!("--seed {seed}"),
            [first, .., last] if last - first + 1 == self.seeds.len() as u64 => {
                format!("--seeds {first}..{last}")
            }
            ref several => {
                let seeds: Vec<String> = several.iter().map(ToString::to_string).collect();
                format!("--seeds {}", seeds.join(","))
            }
        });
        words.join(" ")
    }
}

fn subject(subject: &SubjectSpec) -> String {
    let with = |kind: &str, settings: &[String]| match settings {
        [] => kind.to_owned(),
        settings => quoted(&format!("{kind}:{}", settings.join(","))),
    };
    match subject {
        SubjectSpec::Host { memory_bytes } => with("host", &[memory(*memory_bytes)]),
        SubjectSpec::Sandbox(sandbox) => with("sandbox", &sandbox_settings(sandbox)),
        SubjectSpec::Vm(vm) => {
            let mut settings =
                vec![format!("machine={}", vm.machine.name), format!("kernel={}", vm.kernel)];
            settings.extend(vm.overlay.iter().map(|folder| format!("overlay={folder}")));
            with("vm", &settings)
        }
        SubjectSpec::Mmu(mmu) => {
            let asked = mmu.asked.iter().filter(|(name, _)| *name != "machine");
            let machine = format!("machine={}", mmu.machine);
            let settings: Vec<String> = std::iter::once(machine)
                .chain(asked.map(|(name, value)| format!("{name}={value}")))
                .collect();
            with("mmu", &settings)
        }
    }
}

fn sandbox_settings(sandbox: &SandboxSpec) -> Vec<String> {
    let cpus = sandbox.cpus_milli.map(|milli| format!("cpus={}", milli as f64 / 1000.0));
    let processes = sandbox.processes.map(|count| format!("pids={count}"));
    std::iter::once(memory(sandbox.memory_bytes)).chain(cpus).chain(processes).collect()
}

fn memory(size_bytes: u64) -> String {
    format!("mem={}", exact_size(size_bytes))
}

fn measure(measure: &Measure) -> Vec<String> {
    match measure {
        Measure::Probe(probe) => vec![format!("--probe {}", probe.name)],
        Measure::Job(job) => {
            let mut words = vec![format!("--job {}", job.name)];
            let params = job.params.iter().map(|(name, value)| (name, value.to_string()));
            let choices = job.choices.iter().map(|(name, value)| (name, value.clone()));
            words.extend(
                params
                    .chain(choices)
                    .map(|(name, value)| format!("--set {}", quoted(&format!("{name}={value}")))),
            );
            words
        }
    }
}

fn timing(timing: &Timing) -> Vec<String> {
    let exact = |name: &str, ns: u64| format!("--{name} {}", exact_duration(ns));
    match timing.profile.as_str() {
        "quick" | "classic" => vec![format!("--{}", timing.profile)],
        // The one that a subject has by itself.
        profile if profile != "custom" => Vec::new(),
        _ => vec![
            exact("interval", timing.interval_ns),
            format!("--points {}", timing.points),
            exact("warmup", timing.warmup_ns),
            exact("timeout", timing.timeout_ns),
        ],
    }
}

/// A word as a shell takes it for one.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:,=+@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_blanks_are_quoted() {
        assert_eq!(quoted("vm:machine=p2-350"), "vm:machine=p2-350");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
