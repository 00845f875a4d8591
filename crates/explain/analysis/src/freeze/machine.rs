//! The machine that is advised: which policy of a suite it has, which kernel is nearest to its own, and
//! what it would have to change for another policy.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ranking::{FreezePolicy, FreezeSuiteRuns};

/// The files of the changes.
const SYSCTLS: &str = "/etc/sysctl.d/90-freeze.conf";
const SWAPS: &str = "/etc/fstab";
const ZRAM: &str = "/etc/systemd/zram-generator.conf";
const AT_BOOT: &str = "/etc/tmpfiles.d/90-freeze.conf";
const UNIT: &str = "a drop-in of the unit (systemctl edit UNIT)";
const DAEMON: &str = "the unit of the daemon (systemctl edit UNIT)";
const SLICE: &str = "a drop-in of the slice (systemctl edit user.slice)";
/// What a policy does to control groups of its own, and the daemon that manages groups by itself.
const GROUP: &str = "group.";
const GROUP_DAEMON: &str = "systemd-oomd";
/// Files of control groups, and the settings of a unit that write them (systemd.resource-control(5),
/// systemd.service(5)).
const UNIT_SETTINGS: [(&str, &str); 7] = [
    ("memory.min", "MemoryMin"),
    ("memory.low", "MemoryLow"),
    ("memory.high", "MemoryHigh"),
    ("memory.max", "MemoryMax"),
    ("memory.swap.max", "MemorySwapMax"),
    ("memory.oom.group", "OOMPolicy"),
    ("oom_score_adj", "OOMScoreAdjust"),
];
/// The daemon that does nothing, which no machine needs.
pub const IDLE_DAEMON: &str = "sleep infinity";
/// How the setting of a policy begins that names its daemon.
const DAEMON_SETTING: &str = "daemon=";
/// The free memory that the kernel keeps has another size on each machine.
const MIN_FREE: &str = "vm.min_free_kbytes";
const SYSCTL: &str = "sysctl.";

/// What a machine has now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineNow {
    /// The release of its kernel.
    pub kernel: String,
    /// Devices of its swap, each as `/proc/swaps` names it.
    pub swaps: Vec<String>,
    /// Its sysctls by name, as far as they can be read.
    pub sysctls: BTreeMap<String, String>,
    /// Names of the daemons that run and kill before the kernel does.
    pub daemons: Vec<String>,
}

/// Lines of a file that a policy would change, each with `+` or `-`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The file.
    pub file: &'static str,
    /// The lines.
    pub lines: Vec<String>,
}

impl MachineNow {
    /// The kernel of a suite that is nearest: the newest that is not newer, else the oldest.
    pub fn nearest_kernel<'a>(&self, runs: &'a FreezeSuiteRuns) -> Option<&'a str> {
        let own = version(&self.kernel);
        let not_newer = runs.kernels.iter().filter(|it| version(it) <= own);
        let nearest = not_newer.max_by_key(|it| version(it));
        nearest.or_else(|| runs.kernels.iter().min_by_key(|it| version(it))).map(String::as_str)
    }

    /// The policy of a suite that the machine has: by its swap, by a daemon, and by its swappiness. The
    /// first one where none fits.
    pub fn policy<'a>(&self, runs: &'a FreezeSuiteRuns) -> Option<&'a FreezePolicy> {
        let has = |setting: String| {
            move |it: &&FreezePolicy| it.settings.len() == 1 && it.settings[0] == setting
        };
        let swappiness = self.sysctls.get("vm.swappiness");
        let swappiness = swappiness.map(|it| format!("sysctl.vm.swappiness={it}"));
        let has_daemon = |it: &&FreezePolicy| {
            let runs_it = daemon(it).is_some_and(|name| self.daemons.iter().any(|it| it == name));
            runs_it && has_zram(it) == self.has_zram()
        };
        let fitting = if self.swaps.is_empty() {
            runs.policies.iter().find(has("subject.swap=0".to_owned()))
        } else if let Some(policy) = runs.policies.iter().find(has_daemon) {
            Some(policy)
        } else if self.has_zram() {
            runs.policies.iter().find(|it| has_zram(it))
        } else {
            swappiness.and_then(|setting| runs.policies.iter().find(has(setting)))
        };
        fitting.or_else(|| runs.policies.first())
    }

    /// What would have to be changed for a policy; nothing if it has all of it.
    pub fn changes(&self, policy: &FreezePolicy) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        for (file, lines) in policy.settings.iter().flat_map(|it| self.lines(policy, it)) {
            match changes.iter_mut().find(|change| change.file == file) {
                // Several settings of one unit are below one heading.
                Some(change) => {
                    let new = lines.into_iter().filter(|line| !change.lines.contains(line));
                    let new: Vec<String> = new.collect();
                    change.lines.extend(new);
                }
                None => changes.push(Change { file, lines }),
            }
        }
        changes.retain(|change| !change.lines.is_empty());
        changes
    }

    /// The lines for one setting of a policy, by file.
    fn lines(&self, policy: &FreezePolicy, setting: &str) -> Vec<(&'static str, Vec<String>)> {
        let Some((name, value)) = setting.split_once('=') else { return Vec::new() };
        let (name, value) = (name.trim(), value.trim());
        if let Some(name) = name.strip_prefix(SYSCTL) {
            return vec![(SYSCTLS, self.sysctl(name, value))];
        }
        if let Some(name) = name.strip_prefix(GROUP) {
            return unit_lines(name, value).into_iter().collect();
        }
        let wants_zram = has_zram(policy);
        let at_boot = |file: &str, value: &str| {
            vec![(AT_BOOT, vec![format!("+w /sys/kernel/mm/lru_gen/{file} - - - - {value}")])]
        };
        match name {
            "subject.swap" if value == "0" => vec![(SWAPS, self.without_swaps())],
            "subject.swap" if !wants_zram => {
                vec![(SWAPS, vec![format!("+/swapfile none swap sw 0 0  # {}", policy.about)])]
            }
            "subject.disk.model" if wants_zram && !self.has_zram() => vec![
                (ZRAM, vec!["+[zram0]".to_owned(), "+zram-size = ram".to_owned()]),
                (SWAPS, self.without_swaps()),
            ],
            "subject.disk.compressor" if !self.has_zram() => {
                vec![(ZRAM, vec![format!("+compression-algorithm = {value}")])]
            }
            "subject.lru_gen" => at_boot("enabled", if value == "on" { "y" } else { "n" }),
            "subject.lru_gen.min_ttl_ms" => at_boot("min_ttl_ms", value),
            "daemon" if daemon(policy) == Some(GROUP_DAEMON) => {
                let lines = ["+[Slice]", "+ManagedOOMSwap=kill", "+ManagedOOMMemoryPressure=kill"];
                let about = format!("+# {}", policy.about);
                vec![(SLICE, lines.map(str::to_owned).into_iter().chain([about]).collect())]
            }
            "daemon" if value == IDLE_DAEMON => Vec::new(),
            "daemon" => {
                let lines = ["+[Service]", "+ExecStart="].map(str::to_owned);
                vec![(DAEMON, [&lines[..], &[format!("+ExecStart={value}")]].concat())]
            }
            "memory.high" => {
                let share = value.trim_end_matches(" x limit");
                let high = format!("+MemoryHigh=…  # {share} of MemoryMax");
                vec![(UNIT, vec!["+[Service]".to_owned(), high])]
            }
            _ => Vec::new(),
        }
    }

    /// The lines for a sysctl; none if the machine has its value.
    fn sysctl(&self, name: &str, value: &str) -> Vec<String> {
        let now = self.sysctls.get(name);
        let wanted = match (name, now.and_then(|now| now.parse::<u64>().ok())) {
            // What the suite sets is four times what its machine has by itself.
            (MIN_FREE, Some(now)) => now.saturating_mul(4).to_string(),
            _ => value.to_owned(),
        };
        if now == Some(&wanted) {
            return Vec::new();
        }
        let before = now.map(|now| format!("-{name} = {now}"));
        before.into_iter().chain([format!("+{name} = {wanted}")]).collect()
    }

    fn without_swaps(&self) -> Vec<String> {
        self.swaps.iter().map(|device| format!("-{device} none swap …")).collect()
    }

    /// Whether it has swap that is not in compressed memory.
    pub fn has_swap_on_disk(&self) -> bool {
        !self.swaps.iter().all(|device| is_zram(device))
    }

    fn has_zram(&self) -> bool {
        self.swaps.iter().any(|device| is_zram(device))
    }
}

/// Whether a device of swap is in compressed memory.
fn is_zram(device: &str) -> bool {
    device.contains("zram")
}

/// The lines of a unit for a file of a group, which is named as in `bystander.memory.min`. Sizes are
/// those of the suite's machine.
fn unit_lines(name: &str, value: &str) -> Option<(&'static str, Vec<String>)> {
    let (group, file) = name.split_once('.')?;
    let (_, setting) = UNIT_SETTINGS.iter().find(|(known, _)| *known == file)?;
    let unit = match group {
        "offenders" => "a drop-in of the unit that may fill memory (systemctl edit UNIT)",
        _ => "a drop-in of the unit that must survive (systemctl edit UNIT)",
    };
    let line = match (*setting, value) {
        ("OOMPolicy", _) => format!("+{setting}=kill"),
        ("OOMScoreAdjust", _) | (_, "0") => format!("+{setting}={value}"),
        _ => format!("+{setting}=…  # {group}: {value} in the suite"),
    };
    Some((unit, vec!["+[Service]".to_owned(), line]))
}

/// The name of the daemon that a policy starts.
fn daemon(policy: &FreezePolicy) -> Option<&str> {
    let command = policy.settings.iter().find_map(|it| it.strip_prefix(DAEMON_SETTING))?;
    command.split_whitespace().next()?.rsplit('/').next()
}

/// Whether swap is in compressed memory with a policy.
fn has_zram(policy: &FreezePolicy) -> bool {
    policy.settings.iter().any(|setting| setting.ends_with("=zram"))
}

/// The first two numbers of a kernel's name: `deb:linux-image-6.12.117+deb12` is (6, 12).
fn version(name: &str) -> (u32, u32) {
    let words = name.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let number = |word: &str| {
        let mut parts = word.split('.').map(str::parse::<u32>);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    };
    words.filter_map(number).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(name: &str, settings: &[&str]) -> FreezePolicy {
        let settings = settings.iter().map(|it| (*it).to_owned()).collect();
        FreezePolicy { name: name.to_owned(), settings, ..FreezePolicy::default() }
    }

    fn suite() -> FreezeSuiteRuns {
        FreezeSuiteRuns {
            kernels: [
                "deb:linux-image-6.1.0-56-cloud-amd64",
                "deb:linux-image-6.12.117+deb12",
                "7.3",
            ]
            .map(str::to_owned)
            .into(),
            policies: vec![
                policy("kernel", &[]),
                policy("no-swap", &["subject.swap=0"]),
                policy("zram", &["subject.swap=48M", "subject.disk.model=zram"]),
                policy("swappiness-10", &["sysctl.vm.swappiness=10"]),
                policy("earlyoom", &["daemon=/usr/bin/earlyoom -r 3600"]),
            ],
            ..FreezeSuiteRuns::default()
        }
    }

    fn machine(kernel: &str, swaps: &[&str], swappiness: &str) -> MachineNow {
        let swappiness = ("vm.swappiness".to_owned(), swappiness.to_owned());
        MachineNow {
            kernel: kernel.to_owned(),
            swaps: swaps.iter().map(|it| (*it).to_owned()).collect(),
            sysctls: [swappiness].into(),
            daemons: Vec::new(),
        }
    }

    #[test]
    fn the_nearest_kernel_is_not_newer_if_there_is_one() {
        let suite = suite();
        let nearest = |release: &str| machine(release, &[], "60").nearest_kernel(&suite);
        assert_eq!(nearest("6.8.0-1-generic"), Some("deb:linux-image-6.1.0-56-cloud-amd64"));
        assert_eq!(nearest("6.12.48-amd64"), Some("deb:linux-image-6.12.117+deb12"));
        assert_eq!(nearest("9.0"), Some("7.3"));
        assert_eq!(nearest("5.4.0"), Some("deb:linux-image-6.1.0-56-cloud-amd64"));
    }

    #[test]
    fn a_machine_has_the_policy_of_its_swap() {
        let suite = suite();
        let has = |swaps: &[&str], swappiness: &str| {
            machine("6.1", swaps, swappiness).policy(&suite).unwrap().name.clone()
        };
        assert_eq!(has(&[], "60"), "no-swap");
        assert_eq!(has(&["/dev/zram0"], "180"), "zram");
        assert_eq!(has(&["/dev/sda2"], "10"), "swappiness-10");
        assert_eq!(has(&["/dev/sda2"], "60"), "kernel");
        let with_daemon = |swaps: &[&str], daemon: &str| {
            let daemons = vec![daemon.to_owned()];
            let machine = MachineNow { daemons, ..machine("6.1", swaps, "10") };
            machine.policy(&suite).unwrap().name.clone()
        };
        assert_eq!(with_daemon(&["/dev/sda2"], "earlyoom"), "earlyoom");
        assert_eq!(with_daemon(&["/dev/sda2"], "systemd-oomd"), "swappiness-10");
        assert_eq!(with_daemon(&["/dev/zram0"], "earlyoom"), "zram", "the suite has not both");
        assert_eq!(with_daemon(&[], "earlyoom"), "no-swap");
    }

    #[test]
    fn changes_are_those_that_the_machine_lacks() {
        let now = machine("6.1", &["/dev/sda2"], "60");
        let lines = |policy: &FreezePolicy| -> Vec<String> {
            now.changes(policy).into_iter().flat_map(|change| change.lines).collect()
        };
        let [_, no_swap, zram, swappiness, daemon] = &suite().policies[..] else { panic!() };
        assert_eq!(lines(no_swap), ["-/dev/sda2 none swap …"]);
        assert_eq!(lines(zram), ["+[zram0]", "+zram-size = ram", "-/dev/sda2 none swap …"]);
        assert_eq!(lines(swappiness), ["-vm.swappiness = 60", "+vm.swappiness = 10"]);
        assert_eq!(
            lines(daemon),
            ["+[Service]", "+ExecStart=", "+ExecStart=/usr/bin/earlyoom -r 3600"]
        );
        assert!(lines(&policy("same", &["sysctl.vm.swappiness=60"])).is_empty());
        let high = lines(&policy("high", &["memory.high = 0.8 x limit"]));
        assert_eq!(high[1], "+MemoryHigh=…  # 0.8 of MemoryMax");
        let grouped = ["group.offenders.memory.max=14M", "group.offenders.memory.swap.max=0"];
        let grouped = [&grouped[..], &["daemon=sleep infinity"]].concat();
        assert_eq!(
            lines(&policy("limited", &grouped)),
            ["+[Service]", "+MemoryMax=…  # offenders: 14M in the suite", "+MemorySwapMax=0"]
        );
        let oomd = policy("oomd", &["group.*=one each", "daemon=/usr/lib/systemd/systemd-oomd"]);
        assert_eq!(lines(&oomd)[1], "+ManagedOOMSwap=kill");
        let mut keeps = now.clone();
        keeps.sysctls.insert(MIN_FREE.to_owned(), "11000".to_owned());
        let reserve = keeps.changes(&policy("reserve", &["sysctl.vm.min_free_kbytes=5120"]));
        assert_eq!(reserve[0].lines[1], "+vm.min_free_kbytes = 44000");
    }
}
