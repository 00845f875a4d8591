//! Seeds the kernel's random numbers (`random(4)`, `include/uapi/linux/random.h`,
//! `drivers/char/random.c`).
//!
//! The kernel *mixes* the bytes with entropy of its own, so its output is a function of the bytes
//! alone only on a simulated machine with a simulated clock, without `rdrand` and `rdseed`, and
//! without devices that answer in the host's time. The caller's own addresses are fixed already.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Bytes that fill the kernel's pool, 256 bits: with fewer it does not count as seeded.
pub const SEED_BYTES: usize = 32;

/// `_IOW('R', 0x03, int[2])`.
const RNDADDENTROPY: libc::Ioctl = 0x4008_5203;
/// `_IO('R', 0x07)`.
const RNDRESEEDCRNG: libc::Ioctl = 0x5207;

/// Mixes bytes into the kernel's pool, credits each with 8 bits, and reseeds the generator from the
/// pool: new addresses and hash keys depend on them. Fails with fewer than [`SEED_BYTES`] bytes,
/// without `CAP_SYS_ADMIN`, or without `/dev/random`.
pub fn mix_in(bytes: &[u8]) -> io::Result<()> {
    let request = request(bytes)?;
    let device = File::options().write(true).open("/dev/random")?;
    // SAFETY: the kernel only reads `request`, a `struct rand_pool_info` with its length.
    crate::done(unsafe { libc::ioctl(device.as_raw_fd(), RNDADDENTROPY, request.as_ptr()) })?;
    // SAFETY: takes no argument.
    crate::done(unsafe { libc::ioctl(device.as_raw_fd(), RNDRESEEDCRNG) })
}

/// `struct rand_pool_info`: bits of entropy, bytes that follow, and those.
fn request(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let bits = bytes.len().checked_mul(8).and_then(|bits| i32::try_from(bits).ok());
    let Some(bits) = bits.filter(|_| bytes.len() >= SEED_BYTES) else {
        let text = format!("{} bytes are too few or too many for a seed", bytes.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    };
    let mut request = bits.to_ne_bytes().to_vec();
    request.extend((bits / 8).to_ne_bytes());
    request.extend(bytes);
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_credits_all_of_its_bits() {
        let request = request(&[7; SEED_BYTES]).unwrap();
        assert_eq!(request[..4], 256_i32.to_ne_bytes());
        assert_eq!(request[4..8], 32_i32.to_ne_bytes());
        assert_eq!(request[8..], [7; SEED_BYTES]);
    }

    #[test]
    fn a_short_seed_is_refused() {
        assert_eq!(mix_in(&[0; 31]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
