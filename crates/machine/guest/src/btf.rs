//! Where fields are in the kernel's structures, from its type information (BTF,
//! `Documentation/bpf/btf.rst` of the kernel).

/// The magic number, as little-endian bytes.
const MAGIC: [u8; 2] = [0x9f, 0xeb];
const STRUCT: u32 = 4;
const UNION: u32 = 5;
/// Structures within structures; more are deeper than any of the kernel's.
const MOST_NESTED: u32 = 8;

/// The types of a kernel.
pub(crate) struct Types<'a> {
    btf: &'a [u8],
    strings: usize,
    /// Where each type begins; the first one has the number 1.
    places: Vec<usize>,
}

impl<'a> Types<'a> {
    /// `None` if the bytes are not BTF.
    pub(crate) fn of(btf: &'a [u8]) -> Option<Self> {
        if !btf.starts_with(&MAGIC) {
            return None;
        }
        let [header, types, types_bytes, strings] =
            [4, 8, 12, 16].map(|at| word(btf, at).map(|it| it as usize));
        let header = header?;
        let mut at = header.checked_add(types?)?;
        let end = at.checked_add(types_bytes?)?;
        let strings = header.checked_add(strings?)?;
        let mut places = Vec::new();
        while at < end {
            places.push(at);
            let info = word(btf, at + 4)?;
            at += 12 + rest_bytes(info);
        }
        Some(Self { btf, strings, places })
    }

    /// The offset of a field in a structure, in bytes, also in structures and unions without a name in
    /// it; `None` if there is none.
    pub(crate) fn field_offset(&self, structure: &str, field: &str) -> Option<u64> {
        let is_it = |at: &usize| {
            let (name, kind) = (word(self.btf, *at), word(self.btf, *at + 4).map(kind));
            kind == Some(STRUCT) && name.is_some_and(|name| self.is_named(name, structure))
        };
        let bits = self
            .places
            .iter()
            .copied()
            .filter(is_it)
            .find_map(|at| self.bits(at, field, MOST_NESTED))?;
        Some(u64::from(bits / 8))
    }

    /// The offset of a field in the type at a place, in bits.
    fn bits(&self, at: usize, field: &str, nested: u32) -> Option<u32> {
        let info = word(self.btf, at + 4)?;
        if !matches!(kind(info), STRUCT | UNION) || nested == 0 {
            return None;
        }
        // With the flag, the upper bits are the size of a bit field.
        let mask = if info >> 31 == 1 { 0xff_ffff } else { u32::MAX };
        (0..count(info)).find_map(|number| {
            let member = at + 12 + 12 * number;
            let (name, offset) = (word(self.btf, member)?, word(self.btf, member + 8)? & mask);
            if self.is_named(name, field) {
                return Some(offset);
            }
            let inner = (word(self.btf, member + 4)? as usize).checked_sub(1)?;
            let inner = *self.places.get(inner).filter(|_| self.is_named(name, ""))?;
            self.bits(inner, field, nested - 1)?.checked_add(offset)
        })
    }

    fn is_named(&self, offset: u32, name: &str) -> bool {
        let text = self.strings.checked_add(offset as usize).and_then(|at| self.btf.get(at..));
        text.is_some_and(|text| {
            text.starts_with(name.as_bytes()) && text.get(name.len()) == Some(&0)
        })
    }
}

fn word(btf: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*btf.get(at..)?.first_chunk()?))
}

fn kind(info: u32) -> u32 {
    info >> 24 & 0x1f
}

fn count(info: u32) -> usize {
    (info & 0xffff) as usize
}

/// The size of what follows the first three words of a type.
fn rest_bytes(info: u32) -> usize {
    match kind(info) {
        // Integers, variables, tags of declarations.
        1 | 14 | 17 => 4,
        // Arrays.
        3 => 12,
        // Structures, unions, sections, enumerations of 64 bits.
        STRUCT | UNION | 15 | 19 => 12 * count(info),
        // Enumerations, prototypes.
        6 | 13 => 8 * count(info),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An integer, an array, another structure, a union without a name, and the structure that is looked
    /// for.
    fn btf() -> Vec<u8> {
        let strings = b"\0int\0other\0task\0pid\0comm\0state\0";
        let words: [&[u32]; 5] = [
            &[1, 1 << 24, 4, 32],
            &[0, 3 << 24, 0, 1, 1, 16],
            &[5, 4 << 24 | 1, 4, 16, 1, 0],
            &[0, 5 << 24 | 2, 8, 1, 1, 0, 25, 1, 32],
            &[11, 4 << 24 | 3 | 1 << 31, 32, 16, 1, 4 << 24 | 32, 20, 2, 64, 0, 4, 192],
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
        let types = Types::of(&btf).unwrap();
        assert_eq!(types.field_offset("task", "pid"), Some(4));
        assert_eq!(types.field_offset("task", "comm"), Some(8));
        assert_eq!(types.field_offset("task", "state"), Some(28), "in a union without a name");
        assert_eq!(types.field_offset("other", "pid"), Some(0));
        assert_eq!(types.field_offset("other", "comm"), None);
        assert_eq!(types.field_offset("tas", "pid"), None);
        assert!(Types::of(b"else").is_none());
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_survived() {
        let whole = btf();
        for length in 0..whole.len() {
            let found = |btf: &[u8]| Types::of(btf).and_then(|it| it.field_offset("task", "state"));
            let _ = found(&whole[..length]);
            for byte in [0, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[length] = byte;
                let _ = found(&damaged);
            }
        }
    }
}
