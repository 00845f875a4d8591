//! Records in the order of their time, although each CPU has its own.

use linux_perf_event_reader::{
    Endianness, PerfEventAttr, RawData, RawEventRecord, RecordParseInfo, RecordType,
};

const HEADER_BYTES: usize = 8;

/// Records that were taken, until it is certain that no earlier one comes.
pub(crate) struct Records {
    form: RecordParseInfo,
    waiting: Vec<(u64, Vec<u8>)>,
    /// The latest time of the last round: another CPU's records of before are all here.
    settled_ns: u64,
    /// Records up to this time were passed on.
    taken_until_ns: u64,
    latest_ns: u64,
    /// How many there were.
    pub(crate) count: u64,
}

impl Records {
    /// Reads records of events with these attributes. Fails for bytes that are not attributes.
    pub(crate) fn of(attributes: &[u8]) -> std::io::Result<Self> {
        let (attributes, _) = PerfEventAttr::parse::<_, Native>(attributes)?;
        let endian = if cfg!(target_endian = "little") {
            Endianness::LittleEndian
        } else {
            Endianness::BigEndian
        };
        let form = RecordParseInfo::new(&attributes, endian);
        Ok(Self {
            form,
            waiting: Vec::new(),
            settled_ns: 0,
            taken_until_ns: 0,
            latest_ns: 0,
            count: 0,
        })
    }

    /// Adds a record with its header.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.count += 1;
        // What has no time cannot be placed: a count of losses, which is read elsewhere.
        let Some(time_ns) = self.parsed(bytes).and_then(|record| record.timestamp()) else {
            return;
        };
        self.latest_ns = self.latest_ns.max(time_ns);
        self.waiting.push((time_ns, bytes.to_vec()));
    }

    /// Takes the records whose turn it is after a round over all CPUs; at the end, all.
    pub(crate) fn settle(&mut self, is_end: bool, mut take: impl FnMut(u64, &RawEventRecord<'_>)) {
        self.waiting.sort_by_key(|(time_ns, _)| *time_ns);
        let settled = match is_end {
            true => self.waiting.len(),
            false => self.waiting.partition_point(|(time_ns, _)| *time_ns <= self.settled_ns),
        };
        (self.taken_until_ns, self.settled_ns) = (self.settled_ns, self.latest_ns);
        let rest = self.waiting.split_off(settled);
        let settled = std::mem::replace(&mut self.waiting, rest);
        for (time_ns, bytes) in &settled {
            if let Some(record) = self.parsed(bytes) {
                take(*time_ns, &record);
            }
        }
    }

    /// Up to this time all records have been taken.
    pub(crate) fn taken_until_ns(&self) -> u64 {
        self.taken_until_ns
    }

    fn parsed<'a>(&self, bytes: &'a [u8]) -> Option<RawEventRecord<'a>> {
        let (header, body) = bytes.split_at_checked(HEADER_BYTES)?;
        let kind = u32::from_ne_bytes(header[..4].try_into().ok()?);
        let misc = u16::from_ne_bytes(header[4..6].try_into().ok()?);
        Some(RawEventRecord::new(RecordType(kind), misc, RawData::Single(body), self.form))
    }
}

#[cfg(target_endian = "little")]
type Native = byteorder::LittleEndian;
#[cfg(target_endian = "big")]
type Native = byteorder::BigEndian;
