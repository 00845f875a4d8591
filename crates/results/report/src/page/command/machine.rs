//! The settings of a guest's machine, as they are typed.

use itertools::Itertools;
use model::{MachineSpec, VmSpec};

use super::Files;

/// Timing profiles that the command names itself.
const OWN_PROFILES: [&str; 3] = ["quick", "classic", "custom"];

const DISK_MODEL: &str = "disk.model";

/// The settings after `vm:`: a machine of `machines` by name with its changes, else a file.
pub(super) fn settings(
    vm: &VmSpec,
    profile: &str,
    machines: &[MachineSpec],
    files: &mut Files,
) -> String {
    let machine = &vm.machine;
    let base = machines.iter().find(|base| base.name == machine.name);
    let (name, changes) = match base.and_then(|base| changes(base, machine)) {
        Some(changes) => (machine.name.clone(), changes),
        None => (files.add(&machine.name, description(machine, profile)), Vec::new()),
    };
    let mut settings = vec![("machine".to_owned(), name)];
    settings.extend(changes);
    settings.push(("kernel".to_owned(), vm.kernel.clone()));
    settings.extend(vm.overlay.iter().map(|folder| ("overlay".to_owned(), folder.clone())));
    let root = vm.root.iter().flat_map(model::RootSpec::settings);
    settings.extend(root.map(|(name, value)| (name.to_owned(), value)));
    let limits = vm.sandbox.iter().flat_map(model::SandboxSpec::settings);
    settings.extend(limits.map(|(name, value)| (format!("sandbox.{name}"), value)));
    settings.iter().map(|(name, value)| format!("{name}={value}")).join(",")
}

/// The settings that turn `base` into `machine`, if any can.
fn changes(base: &MachineSpec, machine: &MachineSpec) -> Option<Vec<(String, String)>> {
    let (before, after) = (base.settings(), machine.settings());
    // The kernel's own value cannot be set; delays of disks replace each other.
    let is_delay = |name: &str| name.starts_with("disk.") && name.ends_with("delay");
    if before.keys().any(|name| !after.contains_key(name) && !is_delay(name)) {
        return None;
    }
    // A model sets the others.
    let has_other_model = before.get(DISK_MODEL) != after.get(DISK_MODEL);
    let changed = after.into_iter().filter(|(name, value)| {
        before.get(name) != Some(value)
            || has_other_model && name.starts_with("disk.") && name != "disk.size"
    });
    let changed: Vec<(String, String)> = changed.collect();
    // A comma must not separate settings.
    let is_plain = |piece: &str| !piece.is_empty() && !piece.contains('=');
    let is_one_setting = |(_, value): &(_, String)| value.split(',').skip(1).all(is_plain);
    changed.iter().all(is_one_setting).then_some(changed)
}

fn description(machine: &MachineSpec, profile: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let key = |part: &str| if part.chars().all(is_bare) { part.to_owned() } else { text(part) };
    // `cpus` has a value of its own, so it cannot be a table.
    let path = |name: &str| match name.starts_with("cpus.") {
        true => text(name),
        false => name.split('.').map(key).join("."),
    };
    let settings = machine.settings();
    let lines = settings.iter().map(|(name, value)| format!("{} = {}\n", path(name), text(value)));
    let is_own = OWN_PROFILES.contains(&profile);
    let profile = (!is_own).then(|| format!("profile = {}\n", text(profile)));
    profile.into_iter().chain(lines).collect()
}

/// A TOML string: JSON's escapes and one more.
fn text(value: &str) -> String {
    serde_json::Value::from(value).to_string().replace('\x7f', "\\u007f")
}

#[cfg(test)]
mod tests {
    use model::{Accel, DiskSpec};

    use super::*;

    fn base() -> MachineSpec {
        MachineSpec {
            name: "micro".to_owned(),
            accel: Accel::Tcg,
            memory_bytes: 48 << 20,
            kernel_memory_bytes: 29 << 20,
            icount_shift: 3,
            disk: DiskSpec {
                size_bytes: 112 << 20,
                read_delay_ns: 2_000_000,
                write_delay_ns: 2_000_000,
                rate_bytes_per_s: Some(20 << 20),
                ..DiskSpec::default()
            },
            swap_bytes: 48 << 20,
            ..MachineSpec::default()
        }
    }

    fn typed(machine: MachineSpec, base: MachineSpec) -> (String, Vec<(String, String)>) {
        let (kernel, overlay, root) = ("host".to_owned(), None, None);
        let vm = VmSpec { machine, kernel, overlay, root, sandbox: None };
        let mut files = Files::default();
        let text = settings(&vm, "slow", &[base], &mut files);
        (text, files.0)
    }

    #[test]
    fn a_machine_that_ships_is_named_with_what_is_different() {
        let mut machine = base();
        assert_eq!(typed(machine.clone(), base()).0, "machine=micro,kernel=host");
        machine.memory_bytes = 40 << 20;
        machine.disk.write_delay_ns = 9_000_000;
        machine.disk.rate_bytes_per_s = None;
        machine.sysctls.insert("vm.swappiness".to_owned(), "10".to_owned());
        let (text, files) = typed(machine, base());
        assert_eq!(
            text,
            "machine=micro,disk.rate=0B,disk.read_delay=2ms,disk.write_delay=9ms,mem=40M,\
             sysctl.vm.swappiness=10,kernel=host"
        );
        assert!(files.is_empty());
    }

    #[test]
    fn a_model_of_a_disk_is_named_with_all_that_it_could_change() {
        let mut machine = base();
        machine.disk.model = Some(model::DiskModel::Ssd);
        machine.disk.queue = Some(8);
        // The delay is that of the machine, and not that of the model.
        assert_eq!(
            typed(machine.clone(), base()).0,
            "machine=micro,disk.delay=2ms,disk.model=ssd,disk.queue=8,disk.rate=20M,kernel=host"
        );
        assert_eq!(typed(base(), machine).0, "machine=micro.toml,kernel=host", "no model");
    }

    #[test]
    fn any_other_machine_becomes_a_file() {
        let mut machine = base();
        machine.cmdline = "a=\"1\",b=2".to_owned();
        (machine.cpus, machine.cpu_model) = (Some(2), model::CpuModel::Parallel);
        let (text, files) = typed(machine, base());
        assert_eq!(text, "machine=micro.toml,kernel=host");
        let (name, description) = &files[0];
        assert_eq!(name, "micro.toml");
        assert!(description.starts_with("profile = \"slow\"\naccel = \"tcg\"\n"), "{description}");
        assert!(description.contains("\ncmdline = \"a=\\\"1\\\",b=2\"\n"), "{description}");
        assert!(
            description.contains("\ncpus = \"2\"\n\"cpus.model\" = \"parallel\"\n"),
            "{description}"
        );
        let with_thp = MachineSpec { thp: Some("never".to_owned()), ..base() };
        assert_eq!(typed(base(), with_thp).0, "machine=micro.toml,kernel=host", "unset");
    }
}
