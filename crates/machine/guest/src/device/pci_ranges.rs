//! Where the registers of a PCI device are in memory.

/// Where the I/O ports of PCI are in memory (`hw/arm/virt.c` of QEMU).
const PORTS_START: u64 = 0x3eff_0000;
/// Flag of a range of I/O ports (`IORESOURCE_IO` of the kernel); others are of memory.
const IS_PORTS: u64 = 0x100;

/// The address of the first range in a device's file `resource`: lines `start end flags` in
/// hexadecimal.
pub(super) fn address(ranges: &str) -> Option<u64> {
    let words = ranges.lines().next()?.split_whitespace();
    let numbers: Vec<u64> = words
        .map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok())
        .collect::<Option<_>>()?;
    match numbers[..] {
        [0, ..] => None,
        [start, _, flags] if flags & IS_PORTS != 0 => PORTS_START.checked_add(start),
        [start, _, _] => Some(start),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_memory_have_an_address() {
        let ports = "0x0000000000001000 0x0000000000001007 0x0000000000040101\n0x0 0x0 0x0\n";
        assert_eq!(address(ports), Some(0x3eff_1000));
        let memory = "0x0000000010000000 0x000000001000000f 0x0000000000040200\n";
        assert_eq!(address(memory), Some(0x1000_0000));
        for none in ["", "\n", "0x0 0x0 0x0\n", "0x1 0x2\n", "x y z\n"] {
            assert_eq!(address(none), None, "{none:?}");
        }
    }
}
