//! Raw kernel counters as read: never rates, never differences.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The name of a counter. Up to 24 bytes need no heap: a run reads a thousand names per sample.
pub type Name = compact_str::CompactString;

/// Numbers by their names.
pub type Values = BTreeMap<Name, u64>;

/// Raw counters, grouped by the source that they were read from.
///
/// Outer key: the source (`vmstat`, `psi`, `memcg`, `load`, …). Inner key: the kernel's name of the
/// counter, with a unit last where that has none (`MemFree_kb`, `memory_some_us`). What cannot be
/// read is absent; a whole source is in [`Missed`] with its reason.
pub type CounterSet = BTreeMap<Name, Values>;

/// Something that this run could not have, with the reason; listed once, in the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// What is missing: a counter source, a privilege or a kernel feature.
    pub capability: String,
    /// Why, in words that name the path or call that failed.
    pub reason: String,
}

/// Reads sorted counters, several times faster than one by one: a map is built from a list at once.
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
