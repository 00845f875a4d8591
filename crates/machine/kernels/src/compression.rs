//! The compressions of packages, modules and kernels, known by their first bytes.

use std::io::{self, Read};

use liblzma::bufread::XzDecoder;
use liblzma::stream::Stream;

/// Packages are cut off there.
const PACKAGE_LIMIT_BYTES: u64 = 4 << 30;

const RESULT_LIMIT_BYTES: u64 = 512 << 20;

/// Memory for decompression; kernels use dictionaries of up to 128 MiB.
const MEMORY_LIMIT_BYTES: u64 = 512 << 20;

const LZ4_BLOCK_BYTES: usize = 8 << 20;

/// Decompresses by the first bytes. Trailing bytes are ignored, as kernels append their length.
pub(crate) fn reader<'a>(bytes: &'a [u8]) -> io::Result<Box<dyn Read + 'a>> {
    let xz = |stream: Result<Stream, liblzma::stream::Error>| {
        Ok::<_, io::Error>(Box::new(XzDecoder::new_stream(bytes, stream?)))
    };
    let unlimited: Box<dyn Read + 'a> = match bytes {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::GzDecoder::new(bytes)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            xz(Stream::new_stream_decoder(MEMORY_LIMIT_BYTES, 0))?
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(bytes)?.single_frame()),
        // The older LZMA container.
        [0x5d, 0, 0, ..] => xz(Stream::new_lzma_decoder(MEMORY_LIMIT_BYTES))?,
        [0x02, 0x21, 0x4c, 0x18, rest @ ..] => Box::new(io::Cursor::new(lz4_legacy(rest)?)),
        [b'B', b'Z', b'h', ..] => {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "compressed with bzip2, which is not supported; use gzip, xz or zstd",
            ));
        }
        plain => Box::new(plain),
    };
    Ok(Box::new(unlimited.take(PACKAGE_LIMIT_BYTES)))
}

pub(crate) fn decompressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut result = Vec::new();
    let length_bytes = reader(bytes)?.take(RESULT_LIMIT_BYTES).read_to_end(&mut result)?;
    if length_bytes as u64 == RESULT_LIMIT_BYTES {
        let reason = format!("decompresses to {RESULT_LIMIT_BYTES} bytes or more");
        return Err(io::Error::other(reason));
    }
    Ok(result)
}

/// LZ4's legacy frame after its magic: blocks with their lengths.
fn lz4_legacy(mut rest: &[u8]) -> io::Result<Vec<u8>> {
    let cut_off = || io::Error::new(io::ErrorKind::UnexpectedEof, "an LZ4 block is cut off");
    let mut result = Vec::new();
    // A length without a block is the total length that kernels append.
    while let Some((length, after)) = rest.split_first_chunk()
        && !after.is_empty()
    {
        let length_bytes = u32::from_le_bytes(*length) as usize;
        let (block, after) = after.split_at_checked(length_bytes).ok_or_else(cut_off)?;
        let block =
            lz4_flex::block::decompress(block, LZ4_BLOCK_BYTES).map_err(io::Error::other)?;
        result.extend_from_slice(&block);
        if result.len() as u64 >= RESULT_LIMIT_BYTES {
            break;
        }
        rest = after;
    }
    Ok(result)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use super::*;

    /// How a test packs bytes.
    pub(crate) type Pack = fn(&[u8]) -> Vec<u8>;

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
        ::zstd::encode_all(bytes, 1).unwrap()
    }

    pub(crate) fn lzma(bytes: &[u8]) -> Vec<u8> {
        let options = liblzma::stream::LzmaOptions::new_preset(1).unwrap();
        let stream = Stream::new_lzma_encoder(&options).unwrap();
        let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// One block of literals: LZ4 without any compression.
    pub(crate) fn lz4(bytes: &[u8]) -> Vec<u8> {
        let mut block = vec![if bytes.len() < 15 { (bytes.len() as u8) << 4 } else { 0xf0 }];
        if let Some(mut rest) = bytes.len().checked_sub(15) {
            while rest >= 255 {
                block.push(255);
                rest -= 255;
            }
            block.push(rest as u8);
        }
        block.extend_from_slice(bytes);
        let mut frame = b"\x02\x21\x4c\x18".to_vec();
        frame.extend_from_slice(&(block.len() as u32).to_le_bytes());
        frame.extend_from_slice(&block);
        frame
    }

    #[test]
    fn every_compression_gives_back_what_went_in_whatever_follows() {
        let text = b"page ".repeat(1000);
        for compress in [gzip, xz, zstd, lzma, lz4, <[u8]>::to_vec] {
            let packed = compress(&text);
            assert_eq!(decompressed(&packed).unwrap(), text);
        }
        for compress in [gzip, xz, zstd, lzma, lz4] {
            let mut packed = compress(&text);
            packed.extend_from_slice(&(text.len() as u32).to_le_bytes());
            assert_eq!(decompressed(&packed).unwrap(), text);
            packed.truncate(packed.len() / 2);
            assert!(decompressed(&packed).is_err());
        }
        let error = decompressed(b"BZh91AY").unwrap_err().to_string();
        assert!(error.contains("bzip2"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_decompressed_or_refused(
            magic in 0usize..6,
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        ) {
            let magics: [&[u8]; 6] =
                [b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"\x5d\0\0", b"\x02\x21\x4c\x18", b""];
            let _ = decompressed(&[magics[magic], &bytes].concat());
        }
    }
}
