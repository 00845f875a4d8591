//! The compressions of tar files, known by their first bytes.

use std::io::Read;
use std::io::{self, BufRead};

use liblzma::bufread::XzDecoder;

/// Decompresses by the first bytes.
pub(crate) fn reader<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match input.fill_buf()? {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Box::new(XzDecoder::new_multi_decoder(input)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(input)?),
        [b'B', b'Z', b'h', ..] => {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "compressed with bzip2, which is not supported; use gzip, xz or zstd",
            ));
        }
        _ => Box::new(input),
    })
}
