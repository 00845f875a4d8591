//! The tiny program of the `exec` probe: an ELF file that writes one byte to its output and exits.

const BASE: u64 = 0x40_0000;
/// Size of an ELF64 header and one program header, in bytes: the code begins after them.
const HEADERS_BYTES: u64 = 64 + 56;

/// `write(1, <itself>, 1); exit(0)` for x86-64.
#[cfg(target_arch = "x86_64")]
const CODE: &[u8] = &[
    0xb8, 0x01, 0x00, 0x00, 0x00, // mov eax, 1 (write)
    0xbf, 0x01, 0x00, 0x00, 0x00, // mov edi, 1
    0xbe, 0x00, 0x00, 0x40, 0x00, // mov esi, 0x400000 (first byte of this file)
    0xba, 0x01, 0x00, 0x00, 0x00, // mov edx, 1
    0x0f, 0x05, // syscall
    0xb8, 0x3c, 0x00, 0x00, 0x00, // mov eax, 60 (exit)
    0x31, 0xff, // xor edi, edi
    0x0f, 0x05, // syscall
];
/// `EM_X86_64`.
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;

/// `write(1, <itself>, 1); exit(0)` for aarch64.
#[cfg(target_arch = "aarch64")]
const CODE: &[u8] = &[
    0x20, 0x00, 0x80, 0xd2, // mov x0, #1
    0x01, 0x08, 0xa0, 0xd2, // movz x1, #0x40, lsl #16 (0x400000, first byte of this file)
    0x22, 0x00, 0x80, 0xd2, // mov x2, #1
    0x08, 0x08, 0x80, 0xd2, // mov x8, #64 (write)
    0x01, 0x00, 0x00, 0xd4, // svc #0
    0x00, 0x00, 0x80, 0xd2, // mov x0, #0
    0xa8, 0x0b, 0x80, 0xd2, // mov x8, #93 (exit)
    0x01, 0x00, 0x00, 0xd4, // svc #0
];
/// `EM_AARCH64`.
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

/// The bytes of the program (System V ABI, ELF-64 object file format).
pub(crate) fn tiny_program() -> Vec<u8> {
    let size_bytes = HEADERS_BYTES + CODE.len() as u64;
    let mut elf = Vec::with_capacity(size_bytes as usize);
    elf.extend([0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    elf.extend(2_u16.to_le_bytes()); // ET_EXEC
    elf.extend(MACHINE.to_le_bytes());
    elf.extend(1_u32.to_le_bytes()); // EV_CURRENT
    elf.extend((BASE + HEADERS_BYTES).to_le_bytes()); // entry
    elf.extend(64_u64.to_le_bytes()); // program headers
    elf.extend(0_u64.to_le_bytes()); // section headers: none
    elf.extend(0_u32.to_le_bytes()); // flags
    for half in [64_u16, 56, 1, 64, 0, 0] {
        elf.extend(half.to_le_bytes()); // header sizes and counts
    }
    elf.extend(1_u32.to_le_bytes()); // PT_LOAD
    elf.extend(5_u32.to_le_bytes()); // readable, executable
    for word in [0, BASE, BASE, size_bytes, size_bytes, 0x1_0000] {
        elf.extend(word.to_le_bytes()); // offset, addresses, sizes, alignment
    }
    elf.extend(CODE);
    elf
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_tiny_program_writes_one_byte_and_exits_with_0() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tiny");
        std::fs::write(&path, tiny_program()).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        let output = std::process::Command::new(&path).output().unwrap();
        assert_eq!((output.status.code(), output.stdout), (Some(0), vec![0x7f]));
    }
}
