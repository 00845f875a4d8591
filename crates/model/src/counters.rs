//! Raw kernel counters as read: never rates, never differences.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The name of a counter. Up to 24 bytes, which is most of them, it needs no memory of its own: a
/// run reads a thousand of them before and after every sample.
pub type Name = compact_str::CompactString;

/// Numbers by their names.
pub type Values = BTreeMap<Name, u64>;

/// Raw counters, grouped by the source that they were read from.
///
/// Outer key: the source (`vmstat`, `meminfo`, `stat`, `psi`, `rusage`, `schedstat`, `taskstats`,
/// `memcg`, `memcg_psi`, `cpu_cgroup`, `load`). Inner key: the counter's name as the kernel spells
/// it, with a unit last where the kernel's own name has none (`MemFree_kb`, `memory_some_us`).
/// A counter that cannot be read is absent; a source that cannot be read is absent as a whole and
/// stands with its reason in [`Missed`].
pub type CounterSet = BTreeMap<Name, Values>;

/// Something that this run could not have, with the reason; listed once, in the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// What is missing: a counter source, a privilege or a kernel feature.
    pub capability: String,
    /// Why, in words that name the path or call that failed.
    pub reason: String,
}

/// Reads counters that are sorted, as they are written, several times faster than one by one: a map
/// is built from a list in one go, where single entries are looked up each.
pub(crate) fn sorted_set<'de, D: Deserializer<'de>>(from: D) -> Result<CounterSet, D::Error> {
    from.deserialize_map(Entries(PhantomData)).map(|sources: Vec<(Name, Sorted)>| {
        sources.into_iter().map(|(source, values)| (source, values.0)).collect()
    })
}

struct Sorted(Values);

impl<'de> Deserialize<'de> for Sorted {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let entries: Vec<(Name, u64)> = from.deserialize_map(Entries(PhantomData))?;
        Ok(Self(entries.into_iter().collect()))
    }
}

struct Entries<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
    type Value = Vec<(Name, T)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries)
    }
}
