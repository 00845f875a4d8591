//! Facts of a kernel's configuration in words.

use kernels::{ConfigFacts, Feature, HugePages, Part, Preemption};

/// What is not known.
const UNKNOWN: &str = "?";

/// Facts that matter most, with their names: they fit into a table.
pub(super) fn main_facts(facts: &ConfigFacts) -> [(&'static str, String); 7] {
    [
        ("PSI", word(facts.psi, feature)),
        ("MGLRU", word(facts.lru_gen, feature)),
        ("THP", word(facts.huge_pages, huge_pages)),
        ("swap", word(facts.swap, yes)),
        ("zswap", word(facts.zswap, feature)),
        ("preemption", preemption(facts)),
        ("HZ", facts.tick_hz.map_or(UNKNOWN.to_owned(), |hz| hz.to_string())),
    ]
}

/// The others.
pub(super) fn other_facts(facts: &ConfigFacts) -> [(&'static str, String); 11] {
    [
        ("task delays", word(facts.task_delay_accounting, yes)),
        ("taskstats", word(facts.taskstats, yes)),
        ("schedstats", word(facts.schedstats, yes)),
        ("memory cgroup", word(facts.memory_cgroup, yes)),
        ("null_blk", word(facts.null_blk, part)),
        ("scsi_debug", word(facts.scsi_debug, part)),
        ("dm_delay", word(facts.dm_delay, part)),
        ("ext4", word(facts.ext4, part)),
        ("PVH", word(facts.pvh, yes)),
        ("NUMA", word(facts.numa, yes)),
        ("KASLR", word(facts.kaslr, yes)),
    ]
}

fn word<T>(fact: Option<T>, name: fn(T) -> &'static str) -> String {
    fact.map_or(UNKNOWN, name).to_owned()
}

fn yes(fact: bool) -> &'static str {
    if fact { "yes" } else { "no" }
}

fn feature(fact: Feature) -> &'static str {
    match fact {
        Feature::Absent => "no",
        Feature::Off => "off",
        Feature::On => "on",
    }
}

fn huge_pages(fact: HugePages) -> &'static str {
    match fact {
        HugePages::Absent => "no",
        HugePages::Always => "always",
        HugePages::Madvise => "madvise",
        HugePages::Never => "never",
    }
}

fn part(fact: Part) -> &'static str {
    match fact {
        Part::Absent => "no",
        Part::Module => "module",
        Part::BuiltIn => "built in",
    }
}

fn preemption(facts: &ConfigFacts) -> String {
    let name = match facts.preemption {
        None => return UNKNOWN.to_owned(),
        Some(Preemption::None) => "none",
        Some(Preemption::Voluntary) => "voluntary",
        Some(Preemption::Full) => "full",
        Some(Preemption::Lazy) => "lazy",
        Some(Preemption::RealTime) => "real time",
    };
    let dynamic = if facts.preemption_is_dynamic == Some(true) { " (dynamic)" } else { "" };
    format!("{name}{dynamic}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_have_words() {
        let facts = ConfigFacts::parse(
            "CONFIG_PSI=y\nCONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\nCONFIG_HZ=250\n",
        );
        let words = main_facts(&facts).map(|(_, word)| word);
        assert_eq!(words, ["on", "no", "no", "no", "no", "full (dynamic)", "250"]);
        assert!(main_facts(&ConfigFacts::default()).iter().all(|(_, word)| word == UNKNOWN));
    }
}
