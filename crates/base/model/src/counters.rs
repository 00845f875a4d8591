//! Raw kernel counters: never rates or differences.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A counter's name. Up to 24 bytes need no heap: each sample reads a thousand names.
pub type Name = compact_str::CompactString;

/// Numbers by their names.
pub type Values = BTreeMap<Name, u64>;

/// Raw counters by source.
///
/// Outer key: the source (`vmstat`, `psi`, `memcg`, `load`, …). Inner key: the kernel's name of
/// the counter, with a unit last where that has none (`MemFree_kb`, `memory_some_us`). Unreadable
/// counters are absent; a whole source is in [`Unavailable`] with its reason.
pub type CounterSet = BTreeMap<Name, Values>;

/// A capability unavailable to this run, with the reason; listed once, in the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// What is missing: a counter source, a privilege or a kernel feature.
    pub capability: String,
    /// Why, naming the path or call that failed.
    pub reason: String,
}

/// Deserializes sorted counters several times faster: the map is built from a list at once.
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
