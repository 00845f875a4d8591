//! Partitions of a block device (`include/uapi/linux/fs.h` and `blkpg.h` of the kernel).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `_IO(0x12, 105)`.
const BLKPG: libc::Ioctl = 0x1269;
const BLKPG_ADD_PARTITION: libc::c_int = 1;

/// `struct blkpg_ioctl_arg`.
#[repr(C)]
struct Request {
    operation: libc::c_int,
    flags: libc::c_int,
    data_bytes: libc::c_int,
    data: *mut Partition,
}

/// `struct blkpg_partition`; the names have never been used by the kernel.
#[repr(C)]
struct Partition {
    start_bytes: libc::c_longlong,
    length_bytes: libc::c_longlong,
    number: libc::c_int,
    device_name: [u8; 64],
    volume_name: [u8; 64],
}

/// Adds a partition (number from 1) to the kernel's list until the device goes; the disk itself
/// stays as it is. Start and length are multiples of the device's block size. Fails without
/// `CAP_SYS_ADMIN`, when the number is taken, the range is empty, overlaps another partition or
/// exceeds the device, or when the device has no partitions.
pub fn add_partition(
    device: &File,
    number: u8,
    start_bytes: u64,
    length_bytes: u64,
) -> io::Result<()> {
    let too_large = |_| io::Error::new(io::ErrorKind::InvalidInput, "a partition is too large");
    let mut partition = Partition {
        start_bytes: start_bytes.try_into().map_err(too_large)?,
        length_bytes: length_bytes.try_into().map_err(too_large)?,
        number: number.into(),
        device_name: [0; 64],
        volume_name: [0; 64],
    };
    let request = Request {
        operation: BLKPG_ADD_PARTITION,
        flags: 0,
        data_bytes: size_of::<Partition>() as libc::c_int,
        data: &raw mut partition,
    };
    // SAFETY: `request` points to a `struct blkpg_partition` that outlives the call.
    crate::done(unsafe { libc::ioctl(device.as_raw_fd(), BLKPG, &raw const request) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_are_those_of_the_kernel() {
        assert_eq!(size_of::<Request>(), 24);
        assert_eq!(size_of::<Partition>(), 152);
    }

    #[test]
    fn a_file_that_is_no_block_device_is_refused() {
        let file = File::open("/dev/null").unwrap();
        assert!(add_partition(&file, 1, 0, 1 << 20).is_err());
        assert_eq!(
            add_partition(&file, 1, u64::MAX, 1).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }
}
