//! Texts of files as they are kept: compressed with gzip, xz or zstd, and in UTF-8 or UTF-16.

use std::io::ErrorKind::InvalidData;
use std::io::{self, Read};

use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;

/// A longer text is refused, so that a small compressed file cannot fill the memory.
const MOST_BYTES: u64 = 256 << 20;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The text of bytes. Fails when they are damaged, too many or not text.
pub fn decode(bytes: Vec<u8>) -> io::Result<String> {
    let bytes = match &bytes[..] {
        start if start.starts_with(&GZIP) => bounded(MultiGzDecoder::new(start))?,
        start if start.starts_with(&XZ) => bounded(XzDecoder::new_multi_decoder(start))?,
        start if start.starts_with(&ZSTD) => bounded(zstd::stream::read::Decoder::new(start)?)?,
        _ => bytes,
    };
    match &bytes[..] {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => {
            let invalid =
                |error: std::string::FromUtf8Error| io::Error::new(InvalidData, error.utf8_error());
            String::from_utf8(bytes).map_err(invalid)
        }
    }
}

/// All that a reader has. Fails when that is too much.
pub(crate) fn bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length_bytes = reader.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match length_bytes as u64 > MOST_BYTES {
        true => Err(io::Error::other(format!("has more than {MOST_BYTES} bytes of text"))),
        false => Ok(bytes),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> io::Result<String> {
    let pairs = bytes.chunks(2).map(|pair| match pair {
        [one, two] => Ok(unit([*one, *two])),
        _ => Err(io::Error::new(InvalidData, "UTF-16 that is cut within a character")),
    });
    let units = pairs.collect::<io::Result<Vec<u16>>>()?;
    String::from_utf16(&units).map_err(|error| io::Error::new(InvalidData, error))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use liblzma::write::XzEncoder;

    use super::*;

    const TEXT: &str = "system,cpu_s\nold,1.5\n";

    #[test]
    fn compressed_texts_are_read() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(TEXT.as_bytes()).unwrap();
        assert_eq!(decode(gzip.finish().unwrap()).unwrap(), TEXT);
        let mut xz = XzEncoder::new(Vec::new(), 6);
        xz.write_all(TEXT.as_bytes()).unwrap();
        let xz = xz.finish().unwrap();
        assert!(decode(xz[..xz.len() / 2].to_vec()).is_err(), "cut");
        assert_eq!(decode(xz).unwrap(), TEXT);
        let zstd = zstd::stream::encode_all(TEXT.as_bytes(), 3).unwrap();
        assert_eq!(decode(zstd).unwrap(), TEXT);
    }

    #[test]
    fn utf_16_of_both_orders_is_read() {
        let units: Vec<u16> = TEXT.encode_utf16().collect();
        let little = units.iter().flat_map(|unit| unit.to_le_bytes());
        let little: Vec<u8> = [0xff, 0xfe].into_iter().chain(little).collect();
        let big = units.iter().flat_map(|unit| unit.to_be_bytes());
        assert_eq!(decode([0xfe, 0xff].into_iter().chain(big).collect()).unwrap(), TEXT);
        assert!(decode(little[..little.len() - 1].to_vec()).is_err(), "cut");
        assert_eq!(decode(little).unwrap(), TEXT);
        assert!(decode(vec![0xff, 0xff, 0xff]).is_err());
    }
}
