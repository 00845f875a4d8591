//! Files from QEMU (`docs/specs/fw_cfg.rst` of QEMU), read from a register.

use std::io;

use sys::fw_cfg::FwCfg;

const DIRECTORY_KEY: u16 = 0x19;
/// Directory entry: size (4, big endian), key (2, big endian), reserved (2), name (56).
const ENTRY_BYTES: usize = 64;
const NAME_OFFSET: usize = 8;

/// Reads a file. Fails without the device or the file.
pub(crate) fn read(name: &str) -> io::Result<Vec<u8>> {
    let (key, size_bytes) = find(name)?;
    let device = FwCfg::open()?;
    let mut file = vec![0; size_bytes as usize];
    device.select(key);
    device.read_into(&mut file);
    Ok(file)
}

/// Key and size of a file. Fails as [`read`].
pub(crate) fn find(name: &str) -> io::Result<(u16, u32)> {
    let device = FwCfg::open()?;
    device.select(DIRECTORY_KEY);
    let mut count = [0; 4];
    device.read_into(&mut count);
    for _ in 0..u32::from_be_bytes(count) {
        let mut entry = [0; ENTRY_BYTES];
        device.read_into(&mut entry);
        let found = entry[NAME_OFFSET..].split(|byte| *byte == 0).next().unwrap_or_default();
        if found == name.as_bytes() {
            let size_bytes = u32::from_be_bytes([entry[0], entry[1], entry[2], entry[3]]);
            return Ok((u16::from_be_bytes([entry[4], entry[5]]), size_bytes));
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, format!("the host provides no fw_cfg file {name}")))
}
