//! What the host asks of the plugin, as 64-bit little-endian words: magic, the fields of tasks, the
//! address and size of watched bytes, the number of times, the times, then two words per function, its
//! address and its kind. The crate `profile` includes this file by its path.

/// Kind and version of a plan.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"tlplan\0\x03");

/// How a function is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// By calls, and by jumps of a function that ends with it.
    Function = 0,
    /// By the processor: an interrupt, an exception or a system call.
    Entry = 1,
    /// By a task that starts to execute.
    Start = 2,
    /// By a call, and left on the stack of another task.
    Switch = 3,
    /// In the middle of others, whose part it is; nothing is recorded.
    Part = 4,
    /// By a call, and moves its return address before it returns.
    Moving = 5,
    /// By a call, and wakes up the task in its first argument, if the second has its state.
    Wake = 6,
    /// By a call, and lets the new task in its first argument continue.
    New = 7,
}

const KINDS: [Kind; 8] = [
    Kind::Function,
    Kind::Entry,
    Kind::Start,
    Kind::Switch,
    Kind::Part,
    Kind::Moving,
    Kind::Wake,
    Kind::New,
];

impl Kind {
    fn of(word: u64) -> Option<Self> {
        KINDS.into_iter().find(|kind| *kind as u64 == word)
    }
}

/// Where the fields of a task are, in bytes from its address; [`NO_FIELD`] where that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskFields {
    pub(crate) pid: u64,
    pub(crate) name: u64,
    pub(crate) state: u64,
}

/// The offset of a field that is not known.
pub(crate) const NO_FIELD: u64 = u64::MAX;

impl Default for TaskFields {
    fn default() -> Self {
        Self { pid: NO_FIELD, name: NO_FIELD, state: NO_FIELD }
    }
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) fields: TaskFields,
    /// The address and size of bytes, to find the last write to them before the first time, and
    /// nothing else.
    pub(crate) watched: Option<(u64, u64)>,
    /// Virtual times in ns at which an interval ends, ascending.
    pub(crate) times_ns: Vec<u64>,
    /// Address and kind of each function, by ascending address.
    pub(crate) functions: Vec<(u64, Kind)>,
}

impl Plan {
    /// Its bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let functions = self.functions.iter().flat_map(|(address, kind)| [*address, *kind as u64]);
        let TaskFields { pid, name, state } = self.fields;
        let (address, size_bytes) = self.watched.unwrap_or_default();
        [MAGIC, pid, name, state, address, size_bytes, self.times_ns.len() as u64]
            .into_iter()
            .chain(self.times_ns.iter().copied())
            .chain(functions)
            .flat_map(u64::to_le_bytes)
            .collect()
    }

    /// Reads its bytes; `None` if they are none of a plan.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        if !rest.is_empty() || words.next()? != MAGIC {
            return None;
        }
        let fields = TaskFields { pid: words.next()?, name: words.next()?, state: words.next()? };
        let (address, size_bytes) = (words.next()?, words.next()?);
        let watched = (size_bytes > 0).then_some((address, size_bytes));
        let count = words.next()?;
        let words: Vec<u64> = words.collect();
        let (times_ns, functions) = words.split_at_checked(usize::try_from(count).ok()?)?;
        let (functions, rest) = functions.as_chunks::<2>();
        let functions = functions.iter().map(|[address, kind]| Some((*address, Kind::of(*kind)?)));
        let plan = Self {
            fields,
            watched,
            times_ns: times_ns.to_vec(),
            functions: functions.collect::<Option<_>>()?,
        };
        let ascends = plan.times_ns.is_sorted() && plan.functions.is_sorted_by_key(|(at, _)| *at);
        (rest.is_empty() && ascends).then_some(plan)
    }

    /// The number of the function that contains an address, or is the last one before it.
    pub(crate) fn function_around(&self, address: u64) -> Option<u32> {
        function_around(&self.functions, address)
    }

    /// The number of the function that begins at an address.
    pub(crate) fn function_at(&self, address: u64) -> Option<u32> {
        let found = self.functions.binary_search_by_key(&address, |(at, _)| *at).ok()?;
        u32::try_from(found).ok()
    }
}

/// The number of the last of these functions that begins at an address or before it.
pub(crate) fn function_around(functions: &[(u64, Kind)], address: u64) -> Option<u32> {
    let after = functions.partition_point(|(at, _)| *at <= address);
    u32::try_from(after.checked_sub(1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_its_bytes() {
        let functions = vec![(u64::MAX << 40, Kind::Function), (u64::MAX, Kind::Entry)];
        let fields = TaskFields { pid: 8, name: NO_FIELD, state: 16 };
        let plan = Plan { fields, watched: Some((64, 8)), times_ns: vec![3, 3, 7], functions };
        let bytes = plan.encode();
        assert_eq!(Plan::decode(&bytes).as_ref(), Some(&plan));
        assert_eq!(plan.function_at(u64::MAX), Some(1));
        assert_eq!(plan.function_at(7), None);
        assert_eq!(plan.function_around(u64::MAX - 1), Some(0));
        assert_eq!(plan.function_around(7), None);
        for length in 0..bytes.len() {
            let shorter = Plan::decode(&bytes[..length]);
            assert!(shorter.is_none_or(|shorter| shorter.functions.len() < 2), "{length}");
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let plan = Plan { times_ns: vec![9, 3], ..Plan::default() };
        assert_eq!(Plan::decode(&plan.encode()), None);
        assert_eq!(
            Plan::decode(&[MAGIC, 0, 0, 0, 0, 0, u64::MAX].map(u64::to_le_bytes).concat()),
            None
        );
        let mut bytes = Plan { functions: vec![(1, Kind::Part)], ..Plan::default() }.encode();
        bytes[64] = 9;
        assert_eq!(Plan::decode(&bytes), None);
    }
}
