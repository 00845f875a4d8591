//! The last write to some bytes of a guest's memory.

use crate::plan::Plan;

/// Kind and version of the plugin's file (`crates/explain/profile-plugin/src/watch.rs`).
const MAGIC: u64 = u64::from_le_bytes(*b"tlwrite\x01");

/// The last write to some bytes, of those before a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastWrite {
    /// The number of writes.
    pub writes: u64,
    /// The emulator's time at which the instruction begins, in ns.
    pub virtual_ns: u64,
    /// The address of the instruction.
    pub address: u64,
    /// The virtual CPU.
    pub cpu: u32,
}

impl LastWrite {
    /// What the plugin has to know to find the last write to these bytes before this time of the
    /// emulator, in ns.
    pub fn plan(address: u64, size_bytes: u64, virtual_ns: u64) -> Vec<u8> {
        let watched = Some((address, size_bytes));
        Plan { watched, times_ns: vec![virtual_ns], ..Plan::default() }.encode()
    }

    /// Reads the plugin's file: `None` if nothing was written. Fails on other files.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, &'static str> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let [MAGIC, writes, virtual_ns, address, cpu] = words[..] else {
            return Err("the plugin's file is not one");
        };
        let cpu = u32::try_from(cpu).ok().filter(|_| rest.is_empty());
        let cpu = cpu.ok_or("the plugin's file is damaged")?;
        Ok((writes > 0).then_some(Self { writes, virtual_ns, address, cpu }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_or_refused() {
        let file = |writes: u64| [MAGIC, writes, 80, 4096, 1].map(u64::to_le_bytes).concat();
        let found = LastWrite { writes: 3, virtual_ns: 80, address: 4096, cpu: 1 };
        assert_eq!(LastWrite::parse(&file(3)), Ok(Some(found)));
        assert_eq!(LastWrite::parse(&file(0)), Ok(None));
        for length in 0..file(3).len() {
            assert!(LastWrite::parse(&file(3)[..length]).is_err(), "{length}");
        }
    }
}
