//! Which x86-64 instructions change translations.

/// What an instruction does to translations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Another address space, or the same again.
    Space,
    /// All translations, global ones too.
    All,
    /// The translation of the page with this address.
    Page(Operand),
}

/// The address of an operand in memory, in an instruction of 64-bit mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operand {
    /// The number of a register: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
    pub(crate) base: Option<u8>,
    /// The number of another one, and by how many bits it is shifted.
    pub(crate) index: Option<(u8, u8)>,
    pub(crate) displacement: i64,
    /// Whether the displacement counts from the end of the instruction.
    pub(crate) is_relative: bool,
}

/// Decodes the first bytes of an instruction of the kernel; `None` if translations stay.
pub(crate) fn change(bytes: &[u8]) -> Option<Change> {
    let (mut rest, mut rex) = (bytes, 0);
    while let [first @ (0x66 | 0xf2 | 0xf3 | 0x40..=0x4f), others @ ..] = rest {
        (rest, rex) = (others, if first & 0xf0 == 0x40 { *first } else { 0 });
    }
    match rest {
        // mov to CR0, CR3 and CR4.
        [0x0f, 0x22, modrm, ..] => match modrm >> 3 & 7 | rex << 1 & 8 {
            3 => Some(Change::Space),
            0 | 4 => Some(Change::All),
            _ => None,
        },
        // invpcid
        [0x0f, 0x38, 0x82, ..] => Some(Change::All),
        // invlpg
        [0x0f, 0x01, modrm, ..] if modrm >> 3 & 7 == 7 && modrm >> 6 != 3 => {
            operand(*modrm, rex, &rest[3..]).map(Change::Page)
        }
        _ => None,
    }
}

/// The operand in memory that `modrm` and what follows it name.
fn operand(modrm: u8, rex: u8, rest: &[u8]) -> Option<Operand> {
    let (mode, register) = (modrm >> 6, modrm & 7);
    let mut operand = Operand::default();
    let mut rest = rest;
    if register == 4 {
        let (scaled, others) = rest.split_first()?;
        rest = others;
        let index = scaled >> 3 & 7 | rex << 2 & 8;
        operand.index = (index != 4).then_some((index, scaled >> 6));
        let is_absent = scaled & 7 == 5 && mode == 0;
        operand.base = (!is_absent).then_some(scaled & 7 | rex << 3 & 8);
    } else if register == 5 && mode == 0 {
        operand.is_relative = true;
    } else {
        operand.base = Some(register | rex << 3 & 8);
    }
    operand.displacement = match mode {
        1 => i64::from(rest.first()?.cast_signed()),
        0 if operand.base.is_some() => 0,
        _ => i64::from(i32::from_le_bytes(*rest.first_chunk()?)),
    };
    Some(operand)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_change_translations_are_found() {
        let page = |base, index, displacement| {
            let is_relative = false;
            Some(Change::Page(Operand { base, index, displacement, is_relative }))
        };
        for (bytes, expected) in [
            // mov %rax,%cr3; mov %r15,%cr3; mov %rdi,%cr4; mov %rax,%cr0; mov %rax,%cr2; cr8.
            (&[0x0f, 0x22, 0xd8][..], Some(Change::Space)),
            (&[0x41, 0x0f, 0x22, 0xdf], Some(Change::Space)),
            (&[0x0f, 0x22, 0xe7], Some(Change::All)),
            (&[0x0f, 0x22, 0xc0], Some(Change::All)),
            (&[0x0f, 0x22, 0xd0], None),
            (&[0x44, 0x0f, 0x22, 0xc0], None),
            // mov %cr3,%rax; invpcid (%rsp),%rax.
            (&[0x0f, 0x20, 0xd8], None),
            (&[0x66, 0x0f, 0x38, 0x82, 0x04, 0x24], Some(Change::All)),
            // invlpg (%rax); (%r12); 8(%rsp); -4096(%rbp,%r9,8); swapgs.
            (&[0x0f, 0x01, 0x38], page(Some(0), None, 0)),
            (&[0x41, 0x0f, 0x01, 0x3c, 0x24], page(Some(12), None, 0)),
            (&[0x0f, 0x01, 0x7c, 0x24, 0x08], page(Some(4), None, 8)),
            (
                &[0x42, 0x0f, 0x01, 0xbc, 0xcd, 0x00, 0xf0, 0xff, 0xff],
                page(Some(5), Some((9, 3)), -4096),
            ),
            (&[0x0f, 0x01, 0xf8], None),
            (&[], None),
        ] {
            assert_eq!(change(bytes), expected, "{bytes:x?}");
        }
        let relative = [0x0f, 0x01, 0x3d, 0xf0, 0, 0, 0];
        let operand = Operand { displacement: 0xf0, is_relative: true, ..Operand::default() };
        assert_eq!(change(&relative), Some(Change::Page(operand)));
    }
}
