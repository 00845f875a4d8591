//! Block devices built from parts of others by the device mapper, with or without a delay.
//!
//! Follows `include/uapi/linux/dm-ioctl.h` (interface version 4) and
//! `Documentation/admin-guide/device-mapper/{linear,delay}.rst` of the kernel.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

const CONTROL: &str = "/dev/mapper/control";

/// `_IOWR(0xfd, number, struct dm_ioctl)`, but for the number.
const DM_IOCTL: u32 = 0xc138_fd00;
const DM_DEV_CREATE: u32 = DM_IOCTL | 3;
const DM_DEV_REMOVE: u32 = DM_IOCTL | 4;
/// Without a flag it resumes, which activates the loaded table.
const DM_DEV_SUSPEND: u32 = DM_IOCTL | 6;
const DM_TABLE_LOAD: u32 = DM_IOCTL | 9;

/// Bytes of `struct dm_ioctl`, and offsets in it.
const HEADER_BYTES: usize = 312;
const VERSION_AT: usize = 0;
const DATA_SIZE_AT: usize = 12;
const DATA_START_AT: usize = 16;
const TARGET_COUNT_AT: usize = 20;
const FLAGS_AT: usize = 28;
const DEVICE_AT: usize = 40;
const NAME_AT: usize = 48;
/// Bytes of the name, with its NUL.
const NAME_BYTES: usize = 128;
/// Bytes of `struct dm_target_spec`, and of the name of a target in it.
const TARGET_BYTES: usize = 40;
const TARGET_NAME_BYTES: usize = 16;
const SECTOR_BYTES: u64 = 512;
/// Suspend, and leave the file system on the device alone.
const DM_SUSPEND_FLAG: u32 = 1 << 1;
const DM_SKIP_LOCKFS_FLAG: u32 = 1 << 10;

/// The number of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNumber {
    /// The kind of device.
    pub major: u32,
    /// Which of its kind.
    pub minor: u32,
}

/// A segment of a mapped device, following the previous one, in whole sectors of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its length.
    pub length_bytes: u64,
    /// The device that contains it.
    pub device: DeviceNumber,
    /// Where it begins there.
    pub start_bytes: u64,
    /// By how much its requests are delayed; `None` maps them without any delay.
    pub delay: Option<Delay>,
}

/// How long requests are held back before they go to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Reading, in ms.
    pub read_ms: u32,
    /// Writing and flushing, in ms.
    pub write_ms: u32,
}

/// Creates a device of segments, `/dev/dm-<minor>` under devtmpfs. Fails without `CAP_SYS_ADMIN` or
/// the device mapper, for a bad or used name, or for a refused segment; nothing is left then.
pub fn create(name: &str, segments: &[Segment]) -> io::Result<DeviceNumber> {
    let table = table(segments)?;
    let reply = call(DM_DEV_CREATE, name, 0, &[])?;
    let loaded = call(DM_TABLE_LOAD, name, segments.len() as u32, &table)
        .and_then(|_| call(DM_DEV_SUSPEND, name, 0, &[]));
    if let Err(error) = loaded {
        // The first error is the interesting one.
        let _ = remove(name);
        return Err(error);
    }
    Ok(device_number(&reply))
}

/// Holds back new requests to a device, and waits for those under way. Fails when there is none of
/// this name.
pub fn suspend(name: &str) -> io::Result<()> {
    let mut request = request(name, 0, &[])?;
    put(&mut request, FLAGS_AT, &(DM_SUSPEND_FLAG | DM_SKIP_LOCKFS_FLAG).to_ne_bytes());
    send(DM_DEV_SUSPEND, request).map(drop)
}

/// Lets requests to a suspended device pass. Fails when there is none of this name.
pub fn resume(name: &str) -> io::Result<()> {
    call(DM_DEV_SUSPEND, name, 0, &[]).map(drop)
}

/// Removes a device. Fails when there is none of this name, or it is in use.
pub fn remove(name: &str) -> io::Result<()> {
    call(DM_DEV_REMOVE, name, 0, &[]).map(drop)
}

fn call(operation: u32, name: &str, target_count: u32, data: &[u8]) -> io::Result<Vec<u8>> {
    send(operation, request(name, target_count, data)?)
}

fn send(operation: u32, mut request: Vec<u8>) -> io::Result<Vec<u8>> {
    let control = File::options().read(true).write(true).open(CONTROL).map_err(|error| {
        io::Error::new(error.kind(), format!("{CONTROL}: {error}; is dm_mod loaded?"))
    })?;
    // SAFETY: `request` begins with a `struct dm_ioctl` that holds its whole length.
    let code =
        unsafe { libc::ioctl(control.as_raw_fd(), operation as libc::Ioctl, request.as_mut_ptr()) };
    if code == 0 { Ok(request) } else { Err(io::Error::last_os_error()) }
}

fn request(name: &str, target_count: u32, data: &[u8]) -> io::Result<Vec<u8>> {
    if name.is_empty() || name.len() >= NAME_BYTES || name.contains('\0') {
        let text = format!("a mapped device cannot have the name {name:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let mut request = vec![0; HEADER_BYTES];
    put(&mut request, VERSION_AT, &4_u32.to_ne_bytes());
    put(&mut request, DATA_SIZE_AT, &((HEADER_BYTES + data.len()) as u32).to_ne_bytes());
    put(&mut request, DATA_START_AT, &(HEADER_BYTES as u32).to_ne_bytes());
    put(&mut request, TARGET_COUNT_AT, &target_count.to_ne_bytes());
    put(&mut request, NAME_AT, name.as_bytes());
    request.extend(data);
    Ok(request)
}

/// One `struct dm_target_spec` a segment, each followed by its parameters and a NUL.
fn table(segments: &[Segment]) -> io::Result<Vec<u8>> {
    let mut table = Vec::new();
    let mut first_sector = 0_u64;
    for segment in segments {
        let length = sectors(segment.length_bytes)?;
        let DeviceNumber { major, minor } = segment.device;
        let start = sectors(segment.start_bytes)?;
        let (name, parameters) = match segment.delay {
            None => ("linear", format!("{major}:{minor} {start}\0")),
            Some(Delay { read_ms, write_ms }) => {
                let leg = format!("{major}:{minor} {start}");
                ("delay", format!("{leg} {read_ms} {leg} {write_ms}\0"))
            }
        };
        let spec_bytes = (TARGET_BYTES + parameters.len()).next_multiple_of(8);
        let mut spec = vec![0; spec_bytes];
        put(&mut spec, 0, &first_sector.to_ne_bytes());
        put(&mut spec, 8, &length.to_ne_bytes());
        put(&mut spec, 20, &(spec_bytes as u32).to_ne_bytes());
        put(&mut spec, TARGET_BYTES - TARGET_NAME_BYTES, name.as_bytes());
        put(&mut spec, TARGET_BYTES, parameters.as_bytes());
        table.extend(spec);
        first_sector = first_sector.saturating_add(length);
    }
    Ok(table)
}

fn sectors(bytes: u64) -> io::Result<u64> {
    if bytes.is_multiple_of(SECTOR_BYTES) {
        return Ok(bytes / SECTOR_BYTES);
    }
    let text = format!("{bytes} bytes are not whole sectors of {SECTOR_BYTES}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// The device of a reply (`huge_encode_dev` of the kernel).
fn device_number(reply: &[u8]) -> DeviceNumber {
    let code = u64::from_ne_bytes(reply.as_chunks().0[DEVICE_AT / 8]);
    let major = (code >> 8 & 0xfff) as u32;
    let minor = (code & 0xff | code >> 12 & 0xf_ff00) as u32;
    DeviceNumber { major, minor }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: DeviceNumber = DeviceNumber { major: 254, minor: 16 };

    fn segment(length_bytes: u64, delay: Option<Delay>) -> Segment {
        Segment { length_bytes, device: DISK, start_bytes: 1 << 20, delay }
    }

    #[test]
    fn a_table_has_one_aligned_entry_a_segment() {
        let delay = Delay { read_ms: 8, write_ms: 9 };
        let table = table(&[segment(4096, None), segment(1024, Some(delay))]).unwrap();
        let second = 40 + 16;
        assert_eq!(table[..16], [0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(table[20..24], (second as u32).to_ne_bytes());
        assert_eq!(&table[24..31], b"linear\0");
        assert_eq!(&table[40..second], b"254:16 2048\0\0\0\0\0");
        assert_eq!(table[second..second + 8], 8_u64.to_ne_bytes());
        assert_eq!(&table[second + 24..second + 30], b"delay\0");
        assert!(table[second + 40..].starts_with(b"254:16 2048 8 254:16 2048 9\0"));
        assert_eq!(table.len() % 8, 0);
    }

    #[test]
    fn a_request_says_how_long_it_is() {
        let request = request("slow", 1, &[1, 2, 3]).unwrap();
        assert_eq!(request.len(), 315);
        assert_eq!(request[DATA_SIZE_AT..DATA_SIZE_AT + 4], 315_u32.to_ne_bytes());
        assert_eq!(&request[NAME_AT..NAME_AT + 5], b"slow\0");
    }

    #[test]
    fn names_and_lengths_that_cannot_be_are_refused_before_the_kernel_is_asked() {
        assert!(request("", 0, &[]).is_err());
        assert!(request("a\0b", 0, &[]).is_err());
        assert!(request(&"n".repeat(128), 0, &[]).is_err());
        assert!(request(&"n".repeat(127), 0, &[]).is_ok());
        assert_eq!(
            create("x", &[segment(100, None)]).unwrap_err().to_string(),
            "100 bytes are not whole sectors of 512"
        );
    }

    #[test]
    fn numbers_of_devices_are_decoded_as_the_kernel_encodes_them() {
        let mut reply = vec![0; HEADER_BYTES];
        put(&mut reply, DEVICE_AT, &0x1230_fd45_u64.to_ne_bytes());
        assert_eq!(device_number(&reply), DeviceNumber { major: 0xfd, minor: 0x12345 });
    }
}
