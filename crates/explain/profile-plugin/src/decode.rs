//! Which x86-64 instructions change the call stack.

/// What an instruction does to the call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// Pushes a return address.
    Call,
    /// Pops a return address.
    Return,
    /// Returns from an interrupt; pops the interrupted stack pointer too.
    InterruptReturn,
    /// Returns to user code without the stack.
    SystemReturn,
}

/// Prefixes before the opcode: segments, sizes, locks and repeats.
const PREFIXES: [u8; 11] = [0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3];

/// Decodes the first bytes of an instruction in 64-bit mode; `None` if it leaves the stack alone.
pub(crate) fn transfer(bytes: &[u8]) -> Option<Transfer> {
    let mut rest = bytes;
    while let [first, others @ ..] = rest
        && (PREFIXES.contains(first) || first & 0xf0 == 0x40)
    {
        rest = others;
    }
    match rest {
        [0xe8, ..] => Some(Transfer::Call),
        [0xff, modrm, ..] if matches!(modrm >> 3 & 7, 2 | 3) => Some(Transfer::Call),
        [0xc2 | 0xc3 | 0xca | 0xcb, ..] => Some(Transfer::Return),
        [0xcf, ..] => Some(Transfer::InterruptReturn),
        [0x0f, 0x07 | 0x35, ..] => Some(Transfer::SystemReturn),
        _ => None,
    }
}

/// Whether an instruction jumps to where a word next to the code leads: the procedure linkage table of
/// a program, with which it calls functions of other files.
pub(crate) fn is_linkage(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0x25, ..] | [0xf2, 0xff, 0x25, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_returns_are_found_behind_prefixes() {
        for (bytes, expected) in [
            (&[0xe8, 1, 2, 3, 4][..], Some(Transfer::Call)),
            // call *%rax, call *0x8(%rdi), callq *%r11 with a segment prefix.
            (&[0xff, 0xd0], Some(Transfer::Call)),
            (&[0xff, 0x57, 8], Some(Transfer::Call)),
            (&[0x2e, 0x41, 0xff, 0xd3], Some(Transfer::Call)),
            (&[0xf3, 0xc3], Some(Transfer::Return)),
            (&[0xc3], Some(Transfer::Return)),
            (&[0x48, 0xcf], Some(Transfer::InterruptReturn)),
            (&[0x48, 0x0f, 0x07], Some(Transfer::SystemReturn)),
            // jmp *%rax, inc (%rax), push %rax, endbr64, jmp.
            (&[0xff, 0xe0], None),
            (&[0xff, 0x00], None),
            (&[0x50], None),
            (&[0xf3, 0x0f, 0x1e, 0xfa], None),
            (&[0xe9, 0, 0, 0, 0], None),
            (&[], None),
        ] {
            assert_eq!(transfer(bytes), expected, "{bytes:x?}");
        }
    }
}
