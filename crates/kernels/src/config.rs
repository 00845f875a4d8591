//! What a kernel's configuration says about measuring slow computers.

use std::collections::HashMap;

/// A part that can be absent, there but off until it is asked for, or on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Not built.
    Absent,
    /// Built, and off unless the command line or `/sys` turns it on.
    Off,
    /// Built, and on unless turned off.
    On,
}

/// How a part is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Not at all.
    Absent,
    /// As a module.
    Module,
    /// Into the image.
    BuiltIn,
}

/// When transparent huge pages are used by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HugePages {
    /// Not built.
    Absent,
    /// For all memory.
    Always,
    /// For memory that asks for them.
    Madvise,
    /// Not before they are turned on.
    Never,
}

/// Where kernel code gives way to other tasks by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preemption {
    /// Nowhere but at its end (server).
    None,
    /// At chosen points (desktop).
    Voluntary,
    /// Nearly everywhere (low latency).
    Full,
    /// Nearly everywhere, with delay for ordinary tasks.
    Lazy,
    /// Everywhere (`PREEMPT_RT`).
    RealTime,
}

/// Facts of a configuration; what is not known is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConfigFacts {
    /// Pressure stall information, `/proc/pressure` (`PSI`; boot option `psi=1`).
    pub psi: Option<Feature>,
    /// The multi-generational LRU (`LRU_GEN`; `/sys/kernel/mm/lru_gen/enabled`).
    pub lru_gen: Option<Feature>,
    /// Transparent huge pages.
    pub huge_pages: Option<HugePages>,
    /// Swapping.
    pub swap: Option<bool>,
    /// The compressed cache before swap (`ZSWAP`; boot option `zswap.enabled=1`).
    pub zswap: Option<Feature>,
    /// The default preemption.
    pub preemption: Option<Preemption>,
    /// Whether the boot option `preempt=` can change it.
    pub preemption_is_dynamic: Option<bool>,
    /// Rate of the timer tick.
    pub tick_hz: Option<u32>,
    /// Delay accounting of tasks (boot option `delayacct` since 5.14).
    pub task_delay_accounting: Option<bool>,
    /// Statistics of tasks by netlink.
    pub taskstats: Option<bool>,
    /// Statistics of the scheduler.
    pub schedstats: Option<bool>,
    /// The memory controller of control groups.
    pub memory_cgroup: Option<bool>,
    /// The block device without a medium, `null_blk`.
    pub null_blk: Option<Part>,
    /// The simulated SCSI disk, `scsi_debug`.
    pub scsi_debug: Option<Part>,
    /// The delay below a block device, `dm-delay`.
    pub dm_delay: Option<Part>,
    /// The file system `ext4`.
    pub ext4: Option<Part>,
    /// Boot of a vmlinux without its bzImage.
    pub pvh: Option<bool>,
    /// Several memory nodes.
    pub numa: Option<bool>,
    /// Addresses that differ from boot to boot (boot option `nokaslr`).
    pub kaslr: Option<bool>,
}

/// Something that a guest would have to do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Missing {
    /// The name of the setting, `CONFIG_…`.
    pub config: &'static str,
    /// What is lost with it.
    pub lost: &'static str,
}

impl ConfigFacts {
    /// Reads a configuration (`.config`, `/boot/config-*`). What it does not set is not built, as
    /// kernels write only what their other settings leave open. A text without any setting is no
    /// configuration, and leaves everything unknown.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let settings: HashMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("CONFIG_")?.split_once('='))
            .collect();
        if settings.is_empty() {
            return Self::default();
        }
        let is_on = |name: &str| settings.get(name) == Some(&"y");
        let part = |name: &str| match settings.get(name) {
            Some(&"y") => Part::BuiltIn,
            Some(&"m") => Part::Module,
            _ => Part::Absent,
        };
        let feature = |name: &str, is_default: bool| match (is_on(name), is_default) {
            (false, _) => Feature::Absent,
            (true, false) => Feature::Off,
            (true, true) => Feature::On,
        };
        Self {
            psi: Some(feature("PSI", !is_on("PSI_DEFAULT_DISABLED"))),
            lru_gen: Some(feature("LRU_GEN", is_on("LRU_GEN_ENABLED"))),
            huge_pages: huge_pages(&is_on),
            swap: Some(is_on("SWAP")),
            zswap: Some(feature("ZSWAP", is_on("ZSWAP_DEFAULT_ON"))),
            preemption: preemption(&is_on),
            preemption_is_dynamic: Some(is_on("PREEMPT_DYNAMIC")),
            tick_hz: settings.get("HZ").and_then(|number| number.parse().ok()),
            task_delay_accounting: Some(is_on("TASK_DELAY_ACCT")),
            taskstats: Some(is_on("TASKSTATS")),
            schedstats: Some(is_on("SCHEDSTATS")),
            memory_cgroup: Some(is_on("MEMCG")),
            null_blk: Some(part("BLK_DEV_NULL_BLK")),
            scsi_debug: Some(part("SCSI_DEBUG")),
            dm_delay: Some(part("DM_DELAY")),
            ext4: Some(part("EXT4_FS")),
            pvh: Some(is_on("PVH")),
            numa: Some(is_on("NUMA")),
            kaslr: Some(is_on("RANDOMIZE_BASE")),
        }
    }

    /// What a guest with this kernel would certainly miss, and what is lost by it. What is unknown
    /// is not listed.
    #[must_use]
    pub fn missing(&self) -> Vec<Missing> {
        let no = |fact: Option<bool>| fact == Some(false);
        let no_part = |fact: Option<Part>| fact == Some(Part::Absent);
        let no_feature = |fact: Option<Feature>| fact == Some(Feature::Absent);
        let no_huge_pages = self.huge_pages == Some(HugePages::Absent);
        [
            (no_feature(self.psi), "PSI", "no stall times (/proc/pressure)"),
            (no_feature(self.lru_gen), "LRU_GEN", "no comparison of the two page replacements"),
            (no_huge_pages, "TRANSPARENT_HUGEPAGE", "no comparison with huge pages"),
            (no(self.swap), "SWAP", "no swap: thrashing is of file pages only"),
            (no_feature(self.zswap), "ZSWAP", "no compressed cache before swap"),
            (no(self.task_delay_accounting), "TASK_DELAY_ACCT", "no delays of tasks by cause"),
            (no(self.taskstats), "TASKSTATS", "no delays of tasks by cause"),
            (no(self.schedstats), "SCHEDSTATS", "no waiting times in run queues"),
            (no(self.memory_cgroup), "MEMCG", "no memory limits of control groups"),
            (no_part(self.null_blk), "BLK_DEV_NULL_BLK", "no block device of known speed"),
            (no_part(self.scsi_debug), "SCSI_DEBUG", "no simulated disk of known delay"),
            (no_part(self.dm_delay), "DM_DELAY", "no delay below a block device"),
            (no_part(self.ext4), "EXT4_FS", "no ext4: file loads need another file system"),
            (no(self.pvh), "PVH", "no direct boot of vmlinux: the guest unpacks its kernel"),
            (no(self.numa), "NUMA", "no machine with several memory nodes"),
        ]
        .into_iter()
        .filter(|(is_missing, _, _)| *is_missing)
        .map(|(_, config, lost)| Missing { config, lost })
        .collect()
    }
}

fn huge_pages(is_on: &impl Fn(&str) -> bool) -> Option<HugePages> {
    [
        ("TRANSPARENT_HUGEPAGE_ALWAYS", HugePages::Always),
        ("TRANSPARENT_HUGEPAGE_MADVISE", HugePages::Madvise),
        ("TRANSPARENT_HUGEPAGE_NEVER", HugePages::Never),
    ]
    .into_iter()
    .find(|(name, _)| is_on(name))
    .map(|(_, default)| default)
    .or_else(|| (!is_on("TRANSPARENT_HUGEPAGE")).then_some(HugePages::Absent))
}

fn preemption(is_on: &impl Fn(&str) -> bool) -> Option<Preemption> {
    [
        ("PREEMPT_RT", Preemption::RealTime),
        ("PREEMPT_LAZY", Preemption::Lazy),
        ("PREEMPT", Preemption::Full),
        ("PREEMPT_VOLUNTARY", Preemption::Voluntary),
        ("PREEMPT_NONE", Preemption::None),
    ]
    .into_iter()
    .find(|(name, _)| is_on(name))
    .map(|(_, preemption)| preemption)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "\
# Linux/x86 6.1.176 Kernel Configuration
CONFIG_PREEMPT_VOLUNTARY=y
CONFIG_PREEMPT_DYNAMIC=y
CONFIG_PSI=y
# CONFIG_PSI_DEFAULT_DISABLED is not set
CONFIG_LRU_GEN=y
# CONFIG_LRU_GEN_ENABLED is not set
CONFIG_HZ=250
CONFIG_TRANSPARENT_HUGEPAGE=y
CONFIG_TRANSPARENT_HUGEPAGE_MADVISE=y
CONFIG_EXT4_FS=y
CONFIG_SCSI_DEBUG=m
CONFIG_SWAP=y
";

    #[test]
    fn facts_are_read_and_the_rest_is_missing() {
        let facts = ConfigFacts::parse(CONFIG);
        assert_eq!(facts.psi, Some(Feature::On));
        assert_eq!(facts.lru_gen, Some(Feature::Off));
        assert_eq!(facts.zswap, Some(Feature::Absent));
        assert_eq!(facts.huge_pages, Some(HugePages::Madvise));
        assert_eq!(facts.preemption, Some(Preemption::Voluntary));
        assert_eq!(facts.preemption_is_dynamic, Some(true));
        assert_eq!(facts.tick_hz, Some(250));
        assert_eq!((facts.ext4, facts.scsi_debug), (Some(Part::BuiltIn), Some(Part::Module)));
        let missing: Vec<&str> = facts.missing().iter().map(|missing| missing.config).collect();
        assert!(missing.contains(&"ZSWAP") && missing.contains(&"DM_DELAY"), "{missing:?}");
        assert!(!missing.contains(&"PSI") && !missing.contains(&"SWAP"), "{missing:?}");
    }

    #[test]
    fn what_is_no_configuration_leaves_all_unknown() {
        let facts = ConfigFacts::parse("<html>not found</html>");
        assert_eq!(facts, ConfigFacts::default());
        assert_eq!(facts.missing(), []);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(CONFIG_(PSI|HZ|SWAP|PREEMPT)=?[a-z0-9]{0,9}\n|.{0,9}\n){0,9}") {
            let _ = ConfigFacts::parse(&text).missing();
        }
    }
}
