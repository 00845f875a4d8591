//! What the host asks of the plugin, as 64-bit little-endian words: magic, the fields of the kernel's
//! structures, the address and size of watched bytes, the number of times, the times, then two words
//! per function, its address, and its kind with its area. The crate `profile` includes this file by its
//! path.

/// Kind and version of a plan.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"tlplan\0\x04");

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
    /// By a call, and gives the task another program.
    Exec = 8,
    /// By a call, after the mapping in its first argument was added to the task's program.
    Map = 9,
}

const KINDS: [Kind; 10] = [
    Kind::Function,
    Kind::Entry,
    Kind::Start,
    Kind::Switch,
    Kind::Part,
    Kind::Moving,
    Kind::Wake,
    Kind::New,
    Kind::Exec,
    Kind::Map,
];

impl Kind {
    fn of(word: u64) -> Option<Self> {
        KINDS.into_iter().find(|kind| *kind as u64 == word)
    }
}

/// The fields of the kernel's structures that the plugin reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// Fields of a task: its number, name and state.
    Pid,
    Name,
    State,
    /// Fields of a mapping: its first address, the one after its last, where it begins in its file
    /// in pages, its rights, and its file.
    Start,
    End,
    Page,
    Rights,
    File,
    /// Field of a file: its place in its folder (its `dentry`).
    Place,
    /// Fields of a place: the place of its folder, and its name.
    Folder,
    Text,
}

/// Their number.
pub(crate) const FIELDS: usize = Field::Text as usize + 1;

/// Where these fields are, in bytes from the address of their structure; [`NO_FIELD`] where that is
/// not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields(pub(crate) [u64; FIELDS]);

/// The offset of a field that is not known.
pub(crate) const NO_FIELD: u64 = u64::MAX;

impl Fields {
    pub(crate) fn offset(&self, field: Field) -> u64 {
        self.0[field as usize]
    }
}

impl Default for Fields {
    fn default() -> Self {
        Self([NO_FIELD; FIELDS])
    }
}

/// Areas by number: 0 is that of the caller, then those of `profile::Area` in order.
pub(crate) const OF_CALLER: u8 = 0;
pub(crate) const USER_AREA: u8 = 1;
pub(crate) const SYSTEM_CALL_AREA: u8 = 2;
pub(crate) const THREAD_AREA: u8 = 6;
/// How many numbers there are.
pub(crate) const AREAS: usize = 8;

/// A function of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) address: u64,
    pub(crate) kind: Kind,
    /// The area that begins with it.
    pub(crate) area: u8,
}

impl Function {
    fn word(self) -> u64 {
        self.kind as u64 | u64::from(self.area) << 8
    }

    fn of(address: u64, word: u64) -> Option<Self> {
        let area = u8::try_from(word >> 8).ok().filter(|area| usize::from(*area) < AREAS)?;
        Some(Self { address, kind: Kind::of(word & 0xff)?, area })
    }
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) fields: Fields,
    /// The address and size of bytes, to find the last write to them before the first time, and
    /// nothing else.
    pub(crate) watched: Option<(u64, u64)>,
    /// Virtual times in ns at which an interval ends, ascending.
    pub(crate) times_ns: Vec<u64>,
    /// All functions, by ascending address.
    pub(crate) functions: Vec<Function>,
}

impl Plan {
    /// Its bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let functions = self.functions.iter().flat_map(|it| [it.address, it.word()]);
        let (address, size_bytes) = self.watched.unwrap_or_default();
        [MAGIC]
            .into_iter()
            .chain(self.fields.0)
            .chain([address, size_bytes, self.times_ns.len() as u64])
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
        let mut fields = Fields::default();
        for offset in &mut fields.0 {
            *offset = words.next()?;
        }
        let (address, size_bytes) = (words.next()?, words.next()?);
        let watched = (size_bytes > 0).then_some((address, size_bytes));
        let count = words.next()?;
        let words: Vec<u64> = words.collect();
        let (times_ns, functions) = words.split_at_checked(usize::try_from(count).ok()?)?;
        let (functions, rest) = functions.as_chunks::<2>();
        let functions = functions.iter().map(|[address, word]| Function::of(*address, *word));
        let plan = Self {
            fields,
            watched,
            times_ns: times_ns.to_vec(),
            functions: functions.collect::<Option<_>>()?,
        };
        let ascends = plan.times_ns.is_sorted() && plan.functions.is_sorted_by_key(|it| it.address);
        (rest.is_empty() && ascends).then_some(plan)
    }

    /// The number of the function that contains an address, or is the last one before it.
    pub(crate) fn function_around(&self, address: u64) -> Option<u32> {
        function_around(&self.functions, address)
    }

    /// The number of the function that begins at an address.
    pub(crate) fn function_at(&self, address: u64) -> Option<u32> {
        let found = self.functions.binary_search_by_key(&address, |it| it.address).ok()?;
        u32::try_from(found).ok()
    }
}

/// The number of the last of these functions that begins at an address or before it.
pub(crate) fn function_around(functions: &[Function], address: u64) -> Option<u32> {
    let after = functions.partition_point(|it| it.address <= address);
    u32::try_from(after.checked_sub(1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_its_bytes() {
        let functions = vec![
            Function { address: u64::MAX << 40, kind: Kind::Function, area: OF_CALLER },
            Function { address: u64::MAX, kind: Kind::Entry, area: SYSTEM_CALL_AREA },
        ];
        let mut fields = Fields::default();
        fields.0[Field::State as usize] = 16;
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
        let mut many = Plan::default().encode();
        let last = many.len() - 8;
        many[last..].fill(0xff);
        assert_eq!(Plan::decode(&many), None);
        let function = Function { address: 1, kind: Kind::Part, area: OF_CALLER };
        let bytes = Plan { functions: vec![function], ..Plan::default() }.encode();
        for (from_end, byte) in [(8, KINDS.len() as u8), (7, AREAS as u8)] {
            let mut bytes = bytes.clone();
            let at = bytes.len() - from_end;
            bytes[at] = byte;
            assert_eq!(Plan::decode(&bytes), None);
        }
    }
}
