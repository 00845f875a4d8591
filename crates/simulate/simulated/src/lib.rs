//! Simulated machines as subjects, and what runs on them as run files.
//!
//! **Invariant:** a run is a pure function of its spec; no files, clocks or threads.

use std::collections::BTreeMap;

use jobs::MemoryJob;
use model::description::{Description, DescriptionError};
use model::units::parse_size_bytes;
use model::{
    BASELINE, CounterRecord, CounterSet, EndStatus, Environment, Header, JobSpec, Line, LoadSpec,
    Measure, MmuSpec, Name, PassRecord, Phase, PhaseRecord, RunEncoder, Spec, SubjectSpec, Timing,
    Values,
};
use serde::Deserialize;
use sun4::{Outcome, Setup, System, Workload, simulate};

/// The default machine: that of the tables of 1990.
const DEFAULT_MACHINE: &str = "sparcstation1";
/// The default system: the one whose thrashing was reported.
const DEFAULT_HAT: &str = "old";
/// Default loops of each `vmtest` process, as in 1990. Simulated time needs no calibration.
const LOOPS: u64 = 5000;
/// Fact of a run: which simulator produced it.
pub const SIMULATOR: &str = "mmu_simulator";

/// Counts of the simulator under the names of a job's usage.
const USAGE: [&str; 7] = [
    "touches",
    "user_ns",
    "system_ns",
    "idle_ns",
    "translation_faults",
    "swap_ins",
    "context_switches",
];
/// Counts that SunOS lacks.
const OTHERS: [&str; 3] = ["steals", "loads", "software_steals"];

/// The simulator and the version of its model: other versions, other results.
pub fn simulator() -> String {
    format!("sun4 {}", sun4::VERSION)
}

/// A machine that can be simulated.
#[derive(Clone, Debug, PartialEq)]
pub enum Machine {
    /// Page tables in a fixed store of groups.
    Sun4(Box<sun4::Machine>),
    /// Translation look-aside buffers and page walks.
    Tlb(Box<mmu::tlb::Machine>),
}

impl Machine {
    /// Reads a description of any `kind`. The error has the problem and its place.
    pub fn parse(text: &str) -> Result<Self, DescriptionError> {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        let description = Description(text);
        match description.read::<Kind>()?.kind.as_str() {
            "sun4" => sun4::Machine::parse(text).map(Box::new).map(Self::Sun4),
            "tlb" => mmu::tlb::Machine::parse(text).map(Box::new).map(Self::Tlb),
            other => {
                let reason = format!("no kind of machine is named {other:?}; choose sun4 or tlb");
                description.refuse("kind", reason)
            }
        }
    }

    /// The machines shipped with thrashlab: names and descriptions.
    pub fn shipped() -> impl Iterator<Item = (&'static str, &'static str)> {
        sun4::MACHINES.iter().chain(mmu::tlb::MACHINES).copied()
    }
}

/// The description of a shipped machine; `None` for an unknown name.
pub fn shipped_text(name: &str) -> Option<&'static str> {
    Machine::shipped().find(|(known, _)| *known == name).map(|(_, text)| text)
}

/// A simulated machine from settings: `machine`, `hat` and those of `sun4`; the last of a name
/// counts. `text_of` returns the description of a machine by name. The error names an unknown
/// setting, a bad value, or the problem in the description with line and column.
pub fn mmu_spec(
    settings: &[(String, String)],
    text_of: impl FnOnce(&str) -> Result<String, String>,
) -> Result<MmuSpec, String> {
    let mut asked: BTreeMap<String, String> = settings.iter().cloned().collect();
    if let Some(memory) = asked.remove("mem").or_else(|| asked.remove("memory")) {
        let bytes = parse_size_bytes(&memory).map_err(|error| format!("memory: {error}"))?;
        asked.insert("memory".to_owned(), bytes.to_string());
    }
    let machine = asked.remove("machine").unwrap_or_else(|| DEFAULT_MACHINE.to_owned());
    let description = text_of(&machine)?;
    asked.entry("hat".to_owned()).or_insert_with(|| DEFAULT_HAT.to_owned());
    let made = setup_of(&machine, &description, &asked)?;
    let mut settings = made.resolved();
    settings.extend(asked.get("hat").map(|hat| ("hat".to_owned(), hat.clone())));
    let memory_bytes = made.machine.memory.bytes;
    Ok(MmuSpec { machine, memory_bytes, description, asked, settings })
}

/// The machine and system of a subject. Fails when this build cannot simulate it.
pub fn mmu_setup(mmu: &MmuSpec) -> Result<Setup, String> {
    setup_of(&mmu.machine, &mmu.description, &mmu.settings)
}

fn setup_of(
    name: &str,
    description: &str,
    settings: &BTreeMap<String, String>,
) -> Result<Setup, String> {
    let machine = match Machine::parse(description) {
        Ok(Machine::Sun4(machine)) => *machine,
        Ok(Machine::Tlb(_)) => {
            return Err(format!(
                "machine {name} has TLBs and runs traces: thrashlab mmu run \
                 --machine {name} TRACE"
            ));
        }
        Err(error) => return Err(format!("machine {name}: {error}")),
    };
    let hat = settings.get("hat").map_or(DEFAULT_HAT, String::as_str);
    let mut setup = Setup::new(machine, System::named(hat).map_err(|why| format!("hat: {why}"))?);
    // A later setting may make an impossible one possible.
    let mut open: Vec<(&String, &String)> =
        settings.iter().filter(|(name, _)| name.as_str() != "hat").collect();
    loop {
        let mut refused = Vec::new();
        for (name, value) in &open {
            if let Err(why) = setup.set(name, value) {
                refused.push(((*name, *value), why));
            }
        }
        match refused.first() {
            None => return Ok(setup),
            Some((_, why)) if refused.len() == open.len() => return Err(why.clone()),
            Some(_) => open = refused.into_iter().map(|(setting, _)| setting).collect(),
        }
    }
}

/// The spec of a job on a simulated machine. Its timing is that of probes, so it is empty.
pub fn spec_of(mmu: MmuSpec, job: JobSpec, seed: u64) -> Spec {
    Spec {
        subject: SubjectSpec::Mmu(Box::new(mmu)),
        load: LoadSpec {
            name: BASELINE.to_owned(),
            version: 1,
            intensity: 1.0,
            params: BTreeMap::new(),
        },
        measure: Measure::Memory(Box::new(job)),
        timing: Timing {
            profile: "default".to_owned(),
            interval_ns: 0,
            points: 0,
            warmup_ns: 0,
            timeout_ns: 0,
        },
        sysctls: BTreeMap::new(),
        seed,
        block: 0,
        order: 0,
    }
}

/// Whether something can be simulated. The error has the reason.
pub fn check(measure: &Measure, load: &LoadSpec) -> Result<(), String> {
    if load.name != BASELINE {
        return Err(format!(
            "load {}: a simulated machine runs one program and no load; what runs next to \
             it is a setting: mmu.daemons",
            load.name
        ));
    }
    workload(measure).map(|_| ())
}

fn workload(measure: &Measure) -> Result<(Workload, MemoryJob), String> {
    let mut job = match measure {
        Measure::Memory(job) => MemoryJob::new(job)?,
        Measure::Probe(probe) => {
            return Err(format!(
                "probe {}: a probe is a process of a real machine; on a simulated one time a job, \
                 vmtest or touch",
                probe.name
            ));
        }
        Measure::Command(_) | Measure::Session(_) => {
            return Err(format!(
                "job {}: its commands are programs of a real machine; on a simulated one run \
                 vmtest or touch",
                measure.name()
            ));
        }
    };
    if let MemoryJob::Vmtest(plan) = &mut job
        && plan.loops == 0
    {
        plan.loops = LOOPS;
    }
    Workload::of_job(&job).map(|workload| (workload, job))
}

/// The run file of a simulated run. Fails when this build cannot simulate it.
pub fn simulated_run(spec: &Spec, run_id: &str) -> Result<Vec<u8>, String> {
    let lines = simulated_lines(spec, run_id)?;
    let mut encoder = RunEncoder::default();
    let mut text: String = lines.iter().map(|line| encoder.line(line)).collect();
    let end_ns = lines.iter().filter_map(Line::at_ns).max().unwrap_or(0);
    text += &encoder.end(end_ns, EndStatus::Complete);
    Ok(text.into_bytes())
}

fn simulated_lines(spec: &Spec, run_id: &str) -> Result<Vec<Line>, String> {
    let SubjectSpec::Mmu(mmu) = &spec.subject else {
        return Err(format!("a {} is not simulated", spec.subject.kind()));
    };
    check(&spec.measure, &spec.load)?;
    let (workload, job) = workload(&spec.measure)?;
    let outcome = simulate(&mmu_setup(mmu)?, &workload, spec.seed);
    let counted = counters(&outcome);
    let zero = |(source, counters): (&Name, &Values)| {
        (source.clone(), counters.keys().map(|name| (name.clone(), 0)).collect())
    };
    let counters = |at_ns: u64, counters: CounterSet| {
        Line::Counters(Box::new(CounterRecord { at_ns, counters }))
    };
    Ok(vec![
        Line::Header(Box::new(header(spec, mmu, run_id))),
        Line::Phase(PhaseRecord { at_ns: 0, phase: Phase::Measuring, instrument: None }),
        counters(0, counted.iter().map(zero).collect()),
        Line::Pass(Box::new(PassRecord {
            at_ns: outcome.elapsed_ns,
            worker: 0,
            pass: 0,
            started_ns: 0,
            completed_ns: outcome.elapsed_ns,
            usage: usage(&outcome, &job),
        })),
        counters(outcome.elapsed_ns, counted),
        Line::Phase(PhaseRecord {
            at_ns: outcome.elapsed_ns,
            phase: Phase::Stopped,
            instrument: None,
        }),
    ])
}

fn header(spec: &Spec, mmu: &MmuSpec, run_id: &str) -> Header {
    let environment: Environment = [
        (SIMULATOR, simulator()),
        ("mmu_machine", mmu.machine.clone()),
        ("memory_bytes", mmu.memory_bytes.to_string()),
    ]
    .map(|(name, fact)| (name.to_owned(), fact))
    .into();
    Header {
        schema: spec.schema(),
        run_id: run_id.to_owned(),
        thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
        // No time passes during a simulation.
        started_unix_ns: 0,
        spec: spec.clone(),
        environment,
        origins: BTreeMap::new(),
        missed: Vec::new(),
    }
}

/// The program's usage, named as in real jobs, and figures that only a simulator has.
fn usage(outcome: &Outcome, job: &MemoryJob) -> Values {
    let mut usage = selected(outcome, &USAGE);
    usage.insert("processes".into(), job.processes());
    if let MemoryJob::Vmtest(plan) = job {
        usage.insert("loops".into(), plan.loops);
    }
    usage
}

/// The simulator's counters: those of `hatcnt`, and others that SunOS lacks.
fn counters(outcome: &Outcome) -> CounterSet {
    let hat = outcome.hat.words().map(|(name, count)| (name.into(), count)).into();
    [("hat".into(), hat), ("mmu".into(), selected(outcome, &OTHERS))].into()
}

fn selected(outcome: &Outcome, names: &[&str]) -> Values {
    let counts = outcome.counts().into_iter().filter(|(name, _)| names.contains(name));
    counts.map(|(name, count)| (name.into(), count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(settings: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        settings.iter().map(owned).collect()
    }

    fn made(settings: &[(String, String)]) -> Result<MmuSpec, String> {
        mmu_spec(settings, |name| shipped_text(name).map(str::to_owned).ok_or("no machine".into()))
    }

    fn spec(subject: MmuSpec, seed: u64) -> Spec {
        let mut job = jobs::VMTEST.spec();
        for (name, value) in [("size", "4M"), ("loops", "7")] {
            jobs::VMTEST.set(&mut job, name, value).unwrap();
        }
        spec_of(subject, job, seed)
    }

    #[test]
    fn a_spec_says_all_that_is_needed_to_simulate_it_again() {
        let asked = pairs(&[
            ("hat", "new"),
            ("machine", "sparcstation2"),
            // One makes the other possible.
            ("pmegs", "30"),
            ("reserved_pmegs", "9"),
            ("memory", "12M"),
            ("victim", "lru-visit"),
            ("victim", "random"),
        ]);
        let made = made(&asked).unwrap();
        assert_eq!((made.machine.as_str(), made.memory_bytes), ("sparcstation2", 12 << 20));
        assert_eq!((&*made.settings["victim"], &*made.settings["hat"]), ("random", "new"));
        let again = mmu_setup(&made).unwrap().resolved();
        assert!(again.iter().all(|(name, value)| made.settings[name] == *value), "{again:?}");
        let read: MmuSpec = serde_json::from_str(&serde_json::to_string(&made).unwrap()).unwrap();
        let first = simulated_run(&spec(made, 3), "r").unwrap();
        assert_eq!(simulated_run(&spec(read, 3), "r").unwrap(), first);
    }

    #[test]
    fn a_run_counts_what_was_touched_and_nothing_before_its_beginning() {
        let bytes = simulated_run(&spec(made(&[]).unwrap(), 1), "r").unwrap();
        let run = model::Run::parse(&bytes).unwrap();
        assert_eq!((run.checksum_ok, run.status()), (Some(true), EndStatus::Complete));
        let work = analysis::MemoryWork::from_run(&run).unwrap();
        assert_eq!((work.processes, work.loops, work.steady_from), (Some(2), Some(7), Some(0)));
        assert!(work.touches >= 2 * 7 * 512, "{}", work.touches);
        let time_ns = work.used(&["user_ns", "system_ns", "idle_ns"]).unwrap();
        assert!(time_ns > 0 && work.elapsed_ns > 0);
        assert!(work.increase("hat", "pmgalloc").is_some_and(|count| count > 0));
    }

    #[test]
    fn what_a_machine_cannot_be_is_refused_with_the_reason() {
        for (settings, why) in [
            (&[("machine", "vax")][..], "no machine"),
            (&[("hat", "felt")], "netbsd"),
            (&[("speed", "9")], "pmegs"),
            (&[("memory", "much")], "memory"),
            (&[("pmegs", "30"), ("reserved_pmegs", "31")], "none for processes"),
        ] {
            let told = made(&pairs(settings)).unwrap_err();
            assert!(told.contains(why), "{settings:?}: {told}");
        }
    }
}
