//! Where fields are in the kernel's structures, from its type information (BTF,
//! `Documentation/bpf/btf.rst` of the kernel).

/// The magic number, as little-endian bytes.
const MAGIC: [u8; 2] = [0x9f, 0xeb];
const STRUCT: u32 = 4;

/// The offset of a field in a structure, in bytes; `None` if there is none, or the bytes are not BTF.
pub(crate) fn field_offset(btf: &[u8], structure: &str, field: &str) -> Option<u64> {
    let word = |at: usize| Some(u32::from_le_bytes(*btf.get(at..)?.first_chunk()?));
    if !btf.starts_with(&MAGIC) {
        return None;
    }
    let [header, types, types_bytes, strings] =
        [4, 8, 12, 16].map(|at| word(at).map(|it| it as usize));
    let types_begin = header?.checked_add(types?)?;
    let types_end = types_begin.checked_add(types_bytes?)?;
    let strings_begin = header?.checked_add(strings?)?;
    let is_named = |offset: u32, name: &str| {
        let text = strings_begin.checked_add(offset as usize).and_then(|at| btf.get(at..));
        text.is_some_and(|text| {
            text.starts_with(name.as_bytes()) && text.get(name.len()) == Some(&0)
        })
    };
    let mut at = types_begin;
    while at < types_end {
        let (name, info) = (word(at)?, word(at + 4)?);
        let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        at += 12;
        if kind == STRUCT && is_named(name, structure) {
            let member = (0..count).map(|number| at + 12 * number);
            let found = member
                .into_iter()
                .find(|at| word(*at).is_some_and(|name| is_named(name, field)))?;
            // With the flag, the upper bits are the size of a bit field.
            let has_bit_fields = info >> 31 == 1;
            let bits = word(found + 8)? & if has_bit_fields { 0xff_ffff } else { u32::MAX };
            return Some(u64::from(bits / 8));
        }
        at += match kind {
            // Integers, variables, tags of declarations.
            1 | 14 | 17 => 4,
            // Arrays.
            3 => 12,
            // Structures, unions, sections, enumerations of 64 bits.
            4 | 5 | 15 | 19 => 12 * count,
            // Enumerations, prototypes.
            6 | 13 => 8 * count,
            _ => 0,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An integer, an array, another structure, and the one that is looked for.
    fn btf() -> Vec<u8> {
        let strings = b"\0int\0other\0task\0pid\0comm\0";
        let words: [&[u32]; 4] = [
            &[1, 1 << 24, 4, 32],
            &[0, 3 << 24, 0, 1, 1, 16],
            &[5, 4 << 24 | 1, 4, 16, 1, 0],
            &[11, 4 << 24 | 2 | 1 << 31, 24, 16, 1, 4 << 24 | 32, 20, 2, 64],
        ];
        let types: Vec<u8> = words.concat().into_iter().flat_map(u32::to_le_bytes).collect();
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        let lengths = [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32];
        bytes.extend(lengths.into_iter().flat_map(u32::to_le_bytes));
        bytes.extend(types);
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn fields_are_found() {
        let btf = btf();
        assert_eq!(field_offset(&btf, "task", "pid"), Some(4));
        assert_eq!(field_offset(&btf, "task", "comm"), Some(8));
        assert_eq!(field_offset(&btf, "other", "pid"), Some(0));
        assert_eq!(field_offset(&btf, "other", "comm"), None);
        assert_eq!(field_offset(&btf, "tas", "pid"), None);
        assert_eq!(field_offset(b"else", "task", "pid"), None);
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_survived() {
        let whole = btf();
        for length in 0..whole.len() {
            let _ = field_offset(&whole[..length], "task", "comm");
            for byte in [0, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[length] = byte;
                let _ = field_offset(&damaged, "task", "comm");
            }
        }
    }
}
