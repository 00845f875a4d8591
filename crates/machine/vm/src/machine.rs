//! Machines: shipped descriptions, users' descriptions (TOML), and settings on top of them
//! (`mem=96M,disk.delay=8ms`), all with the same keys.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use model::units::{parse_duration_ns, parse_size_bytes};
use model::{Accel, CpuModel, MachineSpec, RootPlace, RootSpec, SandboxSpec, Schedule, TimeModel};
use subject::Limits;

use crate::{disks, modelled, overlay};

/// The machines that ship: name and description.
pub const NAMED: [(&str, &str); 3] = [
    ("p2-350", include_str!("../machines/p2-350.toml")),
    ("small-cloud", include_str!("../machines/small-cloud.toml")),
    ("micro", include_str!("../machines/micro.toml")),
];
/// The machine that is taken if none is named.
pub const DEFAULT: &str = "p2-350";
const SUFFIX: &str = ".toml";
const SMALLEST_MEMORY_BYTES: u64 = 16 << 20;
/// Most virtual CPUs.
const MOST_CPUS: u8 = 8;
/// Most NUMA nodes.
const MOST_NODES: u8 = 4;
/// Quanta of virtual CPUs: below, a turn is a few instructions; above, it is longer than a tick.
const QUANTA_NS: RangeInclusive<u64> = 1_000..=1_000_000;
/// 2^10 ns per instruction, QEMU's limit.
const LARGEST_SHIFT: u8 = 10;

/// What the settings of `vm:…` request.
#[derive(Clone, Debug, PartialEq)]
pub struct VmRequest {
    /// The machine.
    pub machine: MachineSpec,
    /// The kernel as named; `None` = whatever is at hand.
    pub kernel: Option<String>,
    /// A folder that is overlaid on the guest's root.
    pub overlay: Option<String>,
    /// The root of programs.
    pub root: Option<RootSpec>,
    /// A sandbox inside the guest.
    pub sandbox: Option<SandboxSpec>,
    /// The timing profile that suits the machine, if its description names one.
    pub profile: Option<String>,
}

/// Reads settings such as `kernel=deb:NAME,mem=128M`. The error has the setting and valid values.
pub fn parse_request(settings: &str) -> Result<VmRequest, String> {
    request(&parse_settings(settings)?)
}

/// The machine with these settings, the last of a name counting. Fails as [`parse_request`].
pub fn request(pairs: &[(String, String)]) -> Result<VmRequest, String> {
    let last = |wanted: &str| pairs.iter().rev().find(|(name, _)| name == wanted);
    let name = last("machine").map_or(DEFAULT, |(_, value)| value.as_str());
    let VmRequest { mut machine, profile, .. } = description(name)?;
    let mut limits: Option<Limits> = None;
    // What others build on: sandboxes on CPUs, parameters of a disk on its model.
    for (name, value) in ["cpus"].into_iter().chain(disks::MODELS).filter_map(last) {
        set(&mut machine, name, value)?;
    }
    let cpus = f64::from(machine.cpu_count());
    for (name, value) in pairs {
        match (name.as_str(), name.strip_prefix("sandbox.")) {
            ("machine" | "kernel" | "overlay" | "root" | "root.files" | "root.changes", _) => {}
            (name, _) if disks::MODELS.contains(&name) => {}
            (_, Some(limit)) => {
                let limits = limits.get_or_insert_default();
                limits.set(limit, value, cpus).map_err(|why| format!("{name}: {why}"))?;
            }
            (name, None) => set(&mut machine, name, value)?,
        }
    }
    check(&machine)?;
    disks::complete(&mut machine);
    modelled::complete(&mut machine);
    let sandbox = limits.map(|limits| limits.with_memory(0));
    if sandbox.as_ref().is_some_and(|sandbox| sandbox.memory_bytes == 0) {
        return Err("a sandbox in the guest needs its memory: sandbox.mem=SIZE".to_owned());
    }
    let value = |name: &str| last(name).map(|(_, value)| value.clone());
    let [kernel, overlay] = ["kernel", "overlay"].map(&value);
    overlay.as_deref().map_or(Ok(()), overlay::check)?;
    let root = root(value)?;
    disks::check_root(&machine, root.is_some())?;
    Ok(VmRequest { machine, kernel, overlay, root, sandbox, profile })
}

/// The root that settings name. Fails for a bad name or place, and for a place without a root.
fn root(value: impl Fn(&str) -> Option<String>) -> Result<Option<RootSpec>, String> {
    let place = |setting: &str| {
        let place = value(setting).map(|name| RootPlace::named(&name)).transpose();
        place.map_err(|why| format!("{setting}: {why}"))
    };
    let (files, changes) = (place("root.files")?, place("root.changes")?);
    match value("root") {
        Some(name) => {
            roots::check(&name).map_err(|why| format!("root: {why}"))?;
            let files = files.unwrap_or_default();
            Ok(Some(RootSpec { name, files, changes: changes.unwrap_or(files) }))
        }
        None if files.or(changes).is_some() => {
            Err("root.files and root.changes are settings of a root: root=NAME, too".to_owned())
        }
        None => Ok(None),
    }
}

/// Splits settings. A part without `=` continues the value before it, since kernel files are
/// separated by commas too. Fails when the first part has no `=`.
pub fn parse_settings(settings: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
        match (setting.split_once('='), pairs.last_mut()) {
            (Some((name, value)), _) => pairs.push((name.to_owned(), value.to_owned())),
            (None, Some((_, value))) => *value += &format!(",{setting}"),
            (None, None) => return Err(format!("{setting:?} is not NAME=VALUE")),
        }
    }
    Ok(pairs)
}

/// A machine by name, or from a TOML file. Fails when there is none or it is bad, with the place.
pub fn load(name: &str) -> Result<VmRequest, String> {
    let mut description = description(name)?;
    disks::complete(&mut description.machine);
    modelled::complete(&mut description.machine);
    Ok(description)
}

/// A machine as [`load`] reads it, before what follows from other settings is added.
fn description(name: &str) -> Result<VmRequest, String> {
    if let Some((_, text)) = NAMED.iter().find(|(known, _)| *known == name) {
        return parse_description(name, text);
    }
    if !name.ends_with(SUFFIX) {
        let names: Vec<&str> = NAMED.iter().map(|(known, _)| *known).collect();
        return Err(format!(
            "no machine is named {name:?}; choose from {}, or name a description (*{SUFFIX})",
            names.join(", ")
        ));
    }
    let text = fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?;
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    parse_description(&stem, &text).map_err(|why| format!("{name}: {why}"))
}

/// Reads a description. The error has the place of bad TOML, or the key of a bad value.
pub fn parse_description(name: &str, text: &str) -> Result<VmRequest, String> {
    let mut table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let mut machine =
        MachineSpec { name: name.to_owned(), icount_shift: 3, ..MachineSpec::default() };
    let profile = match table.remove("profile") {
        None => None,
        Some(toml::Value::String(name)) => Some(name),
        Some(_) => return Err("profile is the name of a timing profile".to_owned()),
    };
    let mut pairs = Vec::new();
    flatten("", &table, &mut pairs)?;
    // The others change its parameters.
    pairs.sort_by_key(|(key, _)| !disks::MODELS.contains(&key.as_str()));
    for (key, value) in &pairs {
        set(&mut machine, key, value)?;
    }
    for needed in ["mem", "kernel_mem", "disk.size"] {
        if !pairs.iter().any(|(key, _)| key == needed) {
            return Err(format!("a machine needs {needed}"));
        }
    }
    check(&machine)?;
    let (kernel, overlay, root, sandbox) = (None, None, None, None);
    Ok(VmRequest { machine, kernel, overlay, root, sandbox, profile })
}

fn flatten(
    prefix: &str,
    table: &toml::Table,
    pairs: &mut Vec<(String, String)>,
) -> Result<(), String> {
    for (key, value) in table {
        let name = format!("{prefix}{key}");
        match value {
            toml::Value::Table(inner) => flatten(&format!("{name}."), inner, pairs)?,
            toml::Value::String(text) => pairs.push((name, text.clone())),
            toml::Value::Integer(number) => pairs.push((name, number.to_string())),
            toml::Value::Boolean(on) => pairs.push((name, on.to_string())),
            _ => return Err(format!("{name} is neither text, whole number nor true/false")),
        }
    }
    Ok(())
}

fn set(machine: &mut MachineSpec, key: &str, value: &str) -> Result<(), String> {
    let failed = |why: String| format!("{key}: {why}");
    let size = || parse_size_bytes(value).map_err(failed);
    let one_of = |known: &[&str]| match known.contains(&value) {
        true => Ok(Some(value.to_owned())),
        false => Err(failed(format!("choose from {}", known.join(", ")))),
    };
    let switch = || match value {
        "on" | "true" | "1" => Ok(Some(true)),
        "off" | "false" | "0" => Ok(Some(false)),
        _ => Err(failed("on or off".to_owned())),
    };
    // One is what a machine has by default.
    let count = |most: u8| {
        let count = value.parse().ok().filter(|count| (1..=most).contains(count));
        let count = count.ok_or_else(|| failed(format!("a number from 1 to {most}")));
        count.map(|count| (count > 1).then_some(count))
    };
    match key {
        "accel" => {
            machine.accel = match value {
                "tcg" => Accel::Tcg,
                "kvm" => Accel::Kvm,
                _ => return Err(failed("choose tcg (deterministic) or kvm".to_owned())),
            }
        }
        "mem" => machine.memory_bytes = size()?,
        "kernel_mem" => machine.kernel_memory_bytes = size()?,
        "shift" => {
            let shift = value.parse().ok().filter(|shift| *shift <= LARGEST_SHIFT);
            machine.icount_shift =
                shift.ok_or_else(|| failed(format!("a number from 0 to {LARGEST_SHIFT}")))?;
        }
        "cpus" => machine.cpus = count(MOST_CPUS)?,
        "nodes" => machine.nodes = count(MOST_NODES)?,
        "cpus.model" => machine.cpu_model = CpuModel::named(value).map_err(failed)?,
        "cpus.quantum" => {
            let quantum_ns = parse_duration_ns(value).map_err(failed)?;
            if !QUANTA_NS.contains(&quantum_ns) {
                return Err(failed("a time from 1us to 1ms".to_owned()));
            }
            machine.cpu_quantum_ns = Some(quantum_ns);
        }
        "schedule" => machine.schedule = Schedule::named(value).map_err(failed)?,
        "time.model" => machine.time_model = TimeModel::named(value).map_err(failed)?,
        "time.machine" => machine.time_machine = Some(value.to_owned()),
        "swap" => machine.swap_bytes = size()?,
        "cmdline" => machine.cmdline = value.to_owned(),
        "thp" => machine.thp = one_of(&["always", "madvise", "never"])?,
        "thp_defrag" => {
            let known = ["always", "defer", "defer+madvise", "madvise", "never"];
            machine.thp_defrag = one_of(&known)?;
        }
        "lru_gen" => machine.lru_gen = switch()?,
        "lru_gen.min_ttl_ms" => {
            let milliseconds = value.parse::<u32>();
            milliseconds.map_err(|_| failed("a number of milliseconds".to_owned()))?;
            machine.lru_gen_min_ttl_ms = Some(value.to_owned());
        }
        "zswap" => machine.zswap = switch()?,
        _ if disks::set(machine, key, value)? => {}
        _ => match key.strip_prefix("sysctl.") {
            Some(name) if name.split('.').all(|part| !part.is_empty() && !part.contains('/')) => {
                machine.sysctls.insert(name.to_owned(), value.to_owned());
            }
            _ => return Err(format!("a machine has no setting {key:?}; see docs/vm.md")),
        },
    }
    Ok(())
}

fn check(machine: &MachineSpec) -> Result<(), String> {
    if machine.memory_bytes < SMALLEST_MEMORY_BYTES {
        return Err("mem: a machine has at least 16M".to_owned());
    }
    let has_model = machine.cpu_model != CpuModel::default() || machine.cpu_quantum_ns.is_some();
    if has_model && machine.accel != Accel::Tcg {
        return Err("cpus.model, cpus.quantum: only virtual CPUs of accel=tcg have them".to_owned());
    }
    let has_turns = machine.cpu_count() > 1 && machine.accel == Accel::Tcg;
    if machine.schedule == Schedule::Seed && !has_turns {
        return Err(
            "schedule=seed: only several virtual CPUs of accel=tcg take turns: cpus=2, too"
                .to_owned(),
        );
    }
    let (cpus, nodes) = (machine.cpu_count(), machine.node_count());
    if !cpus.is_multiple_of(nodes) {
        return Err(format!(
            "nodes={nodes}: a machine's NUMA nodes have equally many virtual CPUs, which {cpus} in \
             all do not allow; cpus={nodes} does"
        ));
    }
    if nodes > 1 && machine.accel == Accel::Kvm {
        return Err("nodes: a machine of accel=kvm has one NUMA node".to_owned());
    }
    modelled::check(machine)?;
    disks::check(machine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_machine_that_ships_is_sound() {
        for (name, _) in NAMED {
            let machine = load(name).unwrap().machine;
            assert_eq!(machine.name, name);
            assert!(machine.is_deterministic());
        }
    }

    #[test]
    fn settings_change_a_machine() {
        let request = parse_request(
            "machine=p2-350,kernel=deb:x,mem=128M,disk.rate=0,disk.read_delay=1ms,thp=never,\
             thp_defrag=madvise,disk.write_delay=4ms,lru_gen=on,sysctl.vm.swappiness=10,sandbox.mem=64M,sandbox.high=32M,overlay=programs/new,root=debian:13,g++,redis,root.files=memory",
        )
        .unwrap();
        assert_eq!(request.machine.memory_bytes, 128 << 20);
        assert_eq!(request.machine.disk.rate_bytes_per_s, None);
        assert_eq!(request.machine.disk.write_delay_ns, 4_000_000);
        assert_eq!(request.machine.lru_gen, Some(true));
        assert_eq!(request.machine.thp_defrag.as_deref(), Some("madvise"));
        assert_eq!(request.machine.sysctls["vm.swappiness"], "10");
        assert_eq!(request.kernel.as_deref(), Some("deb:x"));
        assert_eq!(request.overlay.as_deref(), Some("programs/new"));
        let root = request.root.unwrap();
        assert_eq!(root.name, "debian:13,g++,redis");
        assert_eq!((root.files, root.changes), (RootPlace::Memory, RootPlace::Memory));
        let sandbox = request.sandbox.unwrap();
        assert_eq!((sandbox.memory_bytes, sandbox.high_bytes), (64 << 20, Some(32 << 20)));
    }

    /// What a machine says of itself makes it again, from any other machine that lacks nothing.
    #[test]
    fn settings_of_a_machine_make_it_again() {
        for changes in [
            "mem=100000K,shift=5,accel=kvm,swap=20M",
            "cpus=8,nodes=4,schedule=seed",
            "disk.rate=0,disk.read_delay=1ms,disk.write_delay=4ms,cmdline=quiet a,b",
            "disk.delay=1500us,thp=never,thp_defrag=defer+madvise,lru_gen=off,zswap=on",
            "lru_gen=on,lru_gen.min_ttl_ms=1000",
            "sysctl.vm.swappiness=10,sysctl.kernel.x=a,b",
            "disk.model=ssd",
            "disk.model=nvme,disk.queue=7,disk.delay=2ms,disk.rate=20M",
            "disk.model=cloud,disk.iops=50,disk.burst_credits=900",
            "disk.model=zram,disk.compressor=lz4,disk.rate=0",
            "disk.fs=xfs,disk.size=2G,disk.model=ssd,root=x",
            "disk2.model=cloud",
            "disk.model=ssd,disk2.delay=3ms,disk2.holds=files,disk2.size=1G,disk2.fs=btrfs,root=x",
            "cpus=4,cpus.model=parallel,cpus.quantum=2us,schedule=seed",
            "time.model=memory",
            "time.model=memory,time.machine=skylake-sp,cpus=2",
        ] {
            for (name, _) in NAMED {
                let asked = parse_request(&format!("machine={name},{changes}"));
                let asked = asked.unwrap_or_else(|why| panic!("{name},{changes}: {why}")).machine;
                let mut typed = vec![("machine".to_owned(), name.to_owned())];
                // Some file systems need one.
                typed.push(("root".to_owned(), "x".to_owned()));
                typed.extend(asked.settings());
                assert_eq!(request(&typed).unwrap().machine, asked);
            }
        }
    }

    #[test]
    fn bad_settings_are_refused_by_name() {
        for (bad, why) in [
            ("machine=pdp11", "p2-350"),
            ("mem=1M", "at least 16M"),
            ("swap=8G", "disk.size"),
            ("speed=9", "no setting \"speed\""),
            ("disk.read_delay=1ms", "one delay"),
            ("sysctl.../x=1", "no setting"),
            ("sandbox.cpus=0.5", "sandbox.mem"),
            ("shift=11", "from 0 to 10"),
            ("cpus=2,cpus.model=lockstep", "turns, parallel"),
            ("cpus=2,cpus.quantum=2ms", "from 1us to 1ms"),
            ("accel=kvm,cpus=2,cpus.model=parallel", "accel=tcg"),
            ("mem", "NAME=VALUE"),
            ("cpus=9", "from 1 to 8"),
            ("cpus=8,nodes=5", "from 1 to 4"),
            ("nodes=2", "cpus=2"),
            ("cpus=3,nodes=2", "cpus=2"),
            ("cpus=2,nodes=2,accel=kvm", "one NUMA node"),
            ("time.model=caches", "instructions, memory"),
            ("time.machine=zen4", "time.model=memory"),
            ("time.model=memory,accel=kvm", "accel=tcg"),
            ("time.model=memory,time.machine=sparcstation1", "golden-cove"),
            ("time.model=memory,time.machine=none.toml", "none.toml"),
            ("root=debian:99", "not a suite"),
            ("root=x,root.files=cloud", "disk, memory"),
            ("root.changes=disk", "root=NAME"),
        ] {
            let found = parse_request(bad).unwrap_err();
            assert!(found.contains(why), "{bad}: {found}");
        }
        assert!(parse_description("x", "mem = 1.5").unwrap_err().contains("mem is neither"));
        assert!(parse_description("x", "mem = ").unwrap_err().contains("line 1"));
        assert!(parse_description("x", "mem = \"64M\"").unwrap_err().contains("needs kernel_mem"));
    }

    /// `cpus` is a number in TOML, so it has no keys of its own.
    #[test]
    fn a_description_quotes_settings_of_virtual_cpus() {
        let quoted = "cpus = 2\n\"cpus.model\" = \"parallel\"";
        let text = format!("mem = \"64M\"\nkernel_mem = \"29M\"\ndisk.size = \"64M\"\n{quoted}");
        let machine = parse_description("x", &text).unwrap().machine;
        assert_eq!((machine.cpus, machine.cpu_model), (Some(2), CpuModel::Parallel));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}") {
            let _ = parse_request(&text);
            let _ = parse_description("x", &text);
        }
    }
}
