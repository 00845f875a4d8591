//! What a kernel's configuration means for measuring slow computers.

use std::collections::HashMap;

const UNKNOWN: &str = "?";
/// The first facts, which fit into a table.
const MAIN_COUNT: usize = 7;

enum Kind {
    /// `no`, `off`, or `on` if the second setting is set.
    OnWith(&'static str),
    /// `no`, `on`, or `off` if the second setting is set.
    OnWithout(&'static str),
    Number,
    /// The word of the first of these that is set; `no` without the main setting.
    OneOf(&'static [(&'static str, &'static str)]),
    /// The first of [`PREEMPTION`], and whether `preempt=` can change it.
    Preemption,
    /// `no`, `module` or `built in`.
    Part,
    /// `no` or `yes`.
    Switch,
}

const HUGE_PAGES: Kind = Kind::OneOf(&[
    ("TRANSPARENT_HUGEPAGE_ALWAYS", "always"),
    ("TRANSPARENT_HUGEPAGE_MADVISE", "madvise"),
    ("TRANSPARENT_HUGEPAGE_NEVER", "never"),
]);
const PREEMPTION: [(&str, &str); 5] = [
    ("PREEMPT_RT", "real time"),
    ("PREEMPT_LAZY", "lazy"),
    ("PREEMPT", "full"),
    ("PREEMPT_VOLUNTARY", "voluntary"),
    ("PREEMPT_NONE", "none"),
];

/// Facts: name, setting (`CONFIG_…`), form, and what a guest loses without it (may be empty).
const FACTS: [(&str, &str, Kind, &str); 18] = [
    ("PSI", "PSI", Kind::OnWithout("PSI_DEFAULT_DISABLED"), "no stall times (/proc/pressure)"),
    (
        "MGLRU",
        "LRU_GEN",
        Kind::OnWith("LRU_GEN_ENABLED"),
        "no comparison of the two page replacements",
    ),
    ("THP", "TRANSPARENT_HUGEPAGE", HUGE_PAGES, "no comparison with huge pages"),
    ("swap", "SWAP", Kind::Switch, "no swap: thrashing is of file pages only"),
    ("zswap", "ZSWAP", Kind::OnWith("ZSWAP_DEFAULT_ON"), "no compressed cache before swap"),
    ("preemption", "", Kind::Preemption, ""),
    ("HZ", "HZ", Kind::Number, ""),
    ("task delays", "TASK_DELAY_ACCT", Kind::Switch, "no delays of tasks by cause"),
    ("taskstats", "TASKSTATS", Kind::Switch, "no delays of tasks by cause"),
    ("schedstats", "SCHEDSTATS", Kind::Switch, "no waiting times in run queues"),
    ("memory cgroup", "MEMCG", Kind::Switch, "no memory limits of control groups"),
    ("null_blk", "BLK_DEV_NULL_BLK", Kind::Part, "no block device of known speed"),
    ("scsi_debug", "SCSI_DEBUG", Kind::Part, "no disk with burst credits"),
    ("dm_delay", "DM_DELAY", Kind::Part, "no delay below a block device"),
    ("ext4", "EXT4_FS", Kind::Part, "no ext4: file loads need another file system"),
    ("PVH", "PVH", Kind::Switch, "no direct boot of vmlinux: the guest unpacks its kernel"),
    ("NUMA", "NUMA", Kind::Switch, "no machine with several memory nodes"),
    ("KASLR", "RANDOMIZE_BASE", Kind::Switch, ""),
];

/// Facts of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFacts {
    /// All facts by their names, in words; `?` for what is not known.
    pub words: Vec<(&'static str, String)>,
    /// What a guest with this kernel would certainly miss; not what is unknown.
    pub missing: Vec<Missing>,
}

/// Something that a guest would have to do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The name of the setting, `CONFIG_…`.
    pub config: &'static str,
    /// What is lost without it.
    pub lost: &'static str,
}

impl ConfigFacts {
    /// Reads a configuration (`.config`); what is absent is not built, in an empty one unknown.
    pub fn parse(text: &str) -> Self {
        let settings: HashMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("CONFIG_")?.split_once('='))
            .collect();
        let mut facts = Self { words: Vec::new(), missing: Vec::new() };
        for (name, config, kind, lost) in &FACTS {
            let word = (!settings.is_empty()).then(|| word(&settings, config, kind)).flatten();
            if word.as_deref() == Some("no") && !lost.is_empty() {
                facts.missing.push(Missing { config, lost });
            }
            facts.words.push((name, word.unwrap_or_else(|| UNKNOWN.to_owned())));
        }
        facts
    }

    /// Facts that matter most, by their names, in words.
    pub fn main_words(&self) -> &[(&'static str, String)] {
        &self.words[..MAIN_COUNT]
    }
}

fn word(settings: &HashMap<&str, &str>, config: &str, kind: &Kind) -> Option<String> {
    let is_on = |name: &str| settings.get(name) == Some(&"y");
    let first = |words: &[(&str, &'static str)]| {
        words.iter().find(|(name, _)| is_on(name)).map(|(_, word)| *word)
    };
    let word = match kind {
        Kind::Number => return settings.get(config)?.parse::<u32>().ok().map(|n| n.to_string()),
        Kind::Preemption => {
            let dynamic = if is_on("PREEMPT_DYNAMIC") { " (dynamic)" } else { "" };
            return Some(format!("{}{dynamic}", first(&PREEMPTION)?));
        }
        Kind::Part if settings.get(config) == Some(&"m") => "module",
        _ if !is_on(config) => "no",
        Kind::OnWith(other) if is_on(other) => "on",
        Kind::OnWithout(other) if !is_on(other) => "on",
        Kind::OnWith(_) | Kind::OnWithout(_) => "off",
        Kind::Switch => "yes",
        Kind::Part => "built in",
        Kind::OneOf(words) => first(words)?,
    };
    Some(word.to_owned())
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
        let word = |wanted: &str| &*facts.words.iter().find(|(name, _)| *name == wanted).unwrap().1;
        let main = ["PSI", "MGLRU", "THP", "swap", "zswap", "preemption", "HZ"];
        let words = ["on", "off", "madvise", "yes", "no", "voluntary (dynamic)", "250"];
        assert_eq!(main.map(word), words);
        assert_eq!((word("ext4"), word("scsi_debug")), ("built in", "module"));
        let missing: Vec<&str> = facts.missing.iter().map(|missing| missing.config).collect();
        assert!(missing.contains(&"ZSWAP") && missing.contains(&"DM_DELAY"), "{missing:?}");
        assert!(!missing.contains(&"PSI") && !missing.contains(&"SWAP"), "{missing:?}");
    }

    #[test]
    fn what_is_no_configuration_leaves_all_unknown() {
        let facts = ConfigFacts::parse("<html>not found</html>");
        assert!(facts.words.iter().all(|(_, word)| word == UNKNOWN));
        assert_eq!(facts.missing, []);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(CONFIG_(PSI|HZ|SWAP|PREEMPT)=?[a-z0-9]{0,9}\n|.{0,9}\n){0,9}") {
            let _ = ConfigFacts::parse(&text).missing;
        }
    }
}
