//! Numbers and sizes as texts of other tools have them.

/// A number in hexadecimal digits, with `0x` or without.
pub(crate) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        Some(number << 4 | u64::from(char::from(*digit).to_digit(16)?))
    })
}

/// A number in decimal digits.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The logarithm of a size in bytes, rounded up to the next power of two.
pub(crate) fn size_log2(size_bytes: u64) -> u8 {
    let power = size_bytes.clamp(1, 1 << crate::MAX_SIZE_LOG2).next_power_of_two();
    power.trailing_zeros() as u8
}

/// An address that a reference can have: of 59 bits, sign-extended.
pub(crate) fn fitting(address: u64) -> Option<u64> {
    let shortened = (address << 5).cast_signed() >> 5;
    (shortened.cast_unsigned() == address).then_some(address)
}
