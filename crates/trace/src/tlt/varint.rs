//! Numbers in as few bytes as they need: seven bits a byte, lowest first, the top bit says that
//! more follow. Signed ones alternate: 0, −1, 1, −2, …

/// Appends a number.
pub(crate) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a signed number.
pub(crate) fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put(bytes, (value << 1 ^ value >> 63).cast_unsigned());
}

/// Takes a number off the front; `None` if there is none of at most 64 bits.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(bytes)?;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Takes a signed number off the front.
pub(crate) fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    let value = take(bytes)?;
    Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
}

/// Takes a byte off the front.
pub(crate) fn take_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (byte, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_put_is_taken(value: u64, signed: i64) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            put_signed(&mut bytes, signed);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(take(&mut rest), Some(value));
            prop_assert_eq!(take_signed(&mut rest), Some(signed));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_are_a_number_or_none(bytes: Vec<u8>) {
            let mut rest = bytes.as_slice();
            if take(&mut rest).is_some() {
                prop_assert!(rest.len() < bytes.len());
            }
        }
    }
}
