//! Units of address space: pages and lines.

use thiserror::Error;
use trace::PAGE_SHIFT;

/// Highest bits of an address that only repeat its sign.
const SIGN_BITS: u32 = 5;
/// Smallest unit, as a logarithm: a line of a data cache.
const LINE_SHIFT: u32 = 6;
/// Largest unit: 2^40 bytes.
const LARGEST_SHIFT: u32 = 40;

/// The unit of address space of one entry: a page or a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    shift: u32,
}

/// Why a trace has no such curve, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct CurveError(pub(super) String);

impl Unit {
    /// A line of 64 bytes.
    pub const LINE: Self = Self { shift: LINE_SHIFT };

    /// A unit of 64 bytes, or of a power of two from 4096 to 2^40, else an error.
    pub fn new(unit_bytes: u64) -> Result<Self, CurveError> {
        let shift = unit_bytes.checked_ilog2().unwrap_or_default();
        let is_page = (PAGE_SHIFT..=LARGEST_SHIFT).contains(&shift);
        match unit_bytes.is_power_of_two() && (is_page || shift == LINE_SHIFT) {
            true => Ok(Self { shift }),
            false => Err(CurveError(format!(
                "{unit_bytes} bytes is neither a line of 64 nor a page: a power of two from 4096 \
                 (the trace's own) to 2^40"
            ))),
        }
    }

    /// Its size.
    pub fn bytes(self) -> u64 {
        1 << self.shift
    }

    /// Whether it is smaller than a trace's page.
    pub fn is_line(self) -> bool {
        self.shift < PAGE_SHIFT
    }

    /// The unit of an address, in `59 - log2(bytes)` bits.
    #[inline]
    pub(crate) fn of_address(self, address: u64) -> u64 {
        address << SIGN_BITS >> (SIGN_BITS + self.shift)
    }

    /// The unit of a page of the trace, or its first line.
    #[inline]
    pub(crate) fn of_page(self, page: u64) -> u64 {
        self.of_address(page << PAGE_SHIFT)
    }

    /// The process's number in the bits above its units; an error if there are too few.
    pub(crate) fn process_key(self, process: u32) -> Result<u64, CurveError> {
        let left = SIGN_BITS + self.shift;
        if left >= u32::BITS || process >> left == 0 {
            return Ok(u64::from(process) << (u64::BITS - left));
        }
        let (limit, unit_bytes) = ((1_u64 << left) - 1, self.bytes());
        Err(CurveError(format!(
            "process {process} is beyond {limit}, the largest number possible in units of \
             {unit_bytes} bytes: choose one process, or larger units"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_lines_and_pages() {
        assert_eq!(Unit::new(64), Ok(Unit::LINE));
        assert_eq!(Unit::new(1 << 21).map(Unit::bytes), Ok(2_097_152));
        for bad in [0, 1, 128, 2048, 4097, 1 << 41, u64::MAX] {
            assert!(Unit::new(bad).unwrap_err().to_string().starts_with(&bad.to_string()));
        }
    }

    #[test]
    fn processes_do_not_share_keys() {
        let page = Unit::new(4096).unwrap();
        // The last page of all, and the first of the kernel's half.
        let highest = page.of_page(u64::MAX);
        assert_eq!(highest, (1 << 47) - 1);
        assert_eq!(page.process_key(1).unwrap(), highest + 1);
        assert_eq!(page.process_key(131_071).unwrap() + highest, u64::MAX);
        assert!(page.process_key(131_072).is_err());
        assert!(Unit::LINE.process_key(2047).is_ok());
        assert!(Unit::LINE.process_key(2048).unwrap_err().to_string().contains("beyond 2047"));
        assert!(Unit::new(1 << 40).unwrap().process_key(u32::MAX).is_ok());
    }

    #[test]
    fn addresses_and_pages_agree() {
        let large = Unit::new(1 << 21).unwrap();
        for address in [0x7fff_ffff_f123, 0xffff_ffff_8000_0001_u64, 0x60_0000] {
            let page = (address.cast_signed() >> PAGE_SHIFT).cast_unsigned();
            assert_eq!(large.of_address(address), large.of_page(page));
        }
        assert_eq!(large.of_address(0x60_0000), 3);
    }
}
