//! The format of pprof (<https://github.com/google/pprof>, `proto/profile.proto`), without compression.
//! Its programs draw call graphs and compare two profiles (`-diff_base`).

use std::collections::HashMap;

use prost::Message;

use crate::call_stacks::{CallStacks, Counts};

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Pprof {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
}

/// Strings by number; the first one is empty.
#[derive(Default)]
struct Strings {
    numbers: HashMap<String, i64>,
    all: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> i64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as i64;
        self.numbers.insert(text.to_owned(), number);
        self.all.push(text.to_owned());
        number
    }
}

/// The counts of each call stack. A function is a location.
pub fn pprof(stacks: &impl CallStacks, counts: &Counts) -> Vec<u8> {
    let mut strings = Strings::default();
    strings.number("");
    let mut value_type =
        |(kind, unit)| ValueType { kind: strings.number(kind), unit: strings.number(unit) };
    let sample_type = stacks.measures().map(&mut value_type).to_vec();
    let mut sample = Vec::new();
    for node in stacks.nodes() {
        let (own, entries) = (counts.own[node as usize], counts.entries[node as usize]);
        if own + entries > 0 {
            let path = stacks.path(node).map(|node| strings.number(stacks.name(node)) as u64);
            // Viewers show the last type of value.
            let value = vec![entries as i64, own as i64];
            sample.push(Sample { location_id: path.collect(), value });
        }
    }
    let names = 1..strings.all.len() as u64;
    let location = |id| Location { id, line: vec![Line { function_id: id }] };
    let (started_unix_ns, duration_ns) = stacks.span_ns();
    let pprof = Pprof {
        sample_type,
        sample,
        location: names.clone().map(location).collect(),
        function: names.map(|id| Function { id, name: id as i64 }).collect(),
        string_table: strings.all,
        time_nanos: i64::try_from(started_unix_ns).unwrap_or(0),
        duration_nanos: i64::try_from(duration_ns).unwrap_or(0),
    };
    pprof.encode_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;
    use crate::profile::tests::profile;

    #[test]
    fn samples_are_call_stacks_the_innermost_function_first() {
        let profile = profile();
        let bytes = pprof(&profile, &profile.select(&Selection::Run));
        let read = Pprof::decode(&bytes[..]).unwrap();
        let name = |id: &u64| read.string_table[*id as usize].as_str();
        let found: Vec<(Vec<&str>, &[i64])> = read
            .sample
            .iter()
            .map(|it| (it.location_id.iter().map(name).collect(), &it.value[..]))
            .collect();
        let system_call = ["entry_SYSCALL_64", "[user]"];
        assert_eq!(found[0], (vec!["[user]"], &[0, 12][..]));
        assert_eq!(found[1], (system_call.to_vec(), &[1, 2][..]));
        assert_eq!(found[2], ([&["vfs_read"], &system_call[..]].concat(), &[1, 11][..]));
        assert_eq!(read.location.len(), read.function.len());
    }
}
