//! Formats are recognised by content, through compression too.

use std::io::Write;

use trace::{Format, Granularity};

use crate::support::{LACKEY, instruction, read, references, request};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn champsim() -> Vec<u8> {
    let one = |index: u64| {
        instruction(0x40_0000 + 4 * index, [0x7fff_0000 + index, 0], [0x60_0000, 0, 0, 0])
    };
    (0..500).flat_map(one).collect()
}

fn oracle() -> Vec<u8> {
    (0..500).flat_map(|index| request(1_700_000_000, index % 7, 4096, index as i64 + 8)).collect()
}

fn format_of(bytes: &[u8]) -> Result<Format, String> {
    read(bytes, Granularity::Page, None).map(|(format, ..)| format)
}

#[test]
fn content_tells_the_format() {
    assert_eq!(format_of(LACKEY), Ok(Format::Lackey));
    assert_eq!(format_of(b"0 1000\n1 2000\n"), Ok(Format::Din));
    assert_eq!(format_of(b"address\n4096\n"), Ok(Format::Csv));
    assert_eq!(format_of(&champsim()), Ok(Format::ChampSim));
    assert_eq!(format_of(&oracle()), Ok(Format::OracleGeneral));
}

#[test]
fn what_is_none_is_refused_with_a_way_out() {
    assert!(format_of(b"").unwrap_err().contains("empty"));
    let error = format_of(b"The quick brown fox.\nAnd so on.\n").unwrap_err();
    assert!(error.contains("--input-format") && error.contains("champsim-cloudsuite"), "{error}");
    assert!(format_of(&[0xff; 4096]).unwrap_err().contains("--input-format"));
    assert_eq!("ORACLEgeneral".parse(), Ok(Format::OracleGeneral));
    assert!("elf".parse::<Format>().unwrap_err().contains("lackey"));
}

#[test]
fn compressed_files_are_read_as_what_is_in_them() {
    let plain = champsim();
    let wanted = references(&plain, None);
    let twice = [gzip(&plain), gzip(&plain)].concat();
    let zstd = zstd::encode_all(plain.as_slice(), 1).unwrap();
    for packed in [gzip(&plain), xz(&plain), zstd] {
        assert_eq!(references(&packed, None), wanted);
    }
    assert_eq!(references(&twice, None).len(), 2 * wanted.len());
}

#[test]
fn a_compressed_file_that_is_cut_off_is_a_shorter_trace() {
    let plain = champsim();
    for packed in [gzip(&plain), xz(&plain)] {
        let short = &packed[..packed.len() * 2 / 3];
        let Ok((_, blocks, notes)) = read(short, Granularity::Reference, Some(Format::ChampSim))
        else {
            panic!("it is refused");
        };
        assert!(notes.cut_off.unwrap().starts_with("byte "));
        let all = references(&plain, None);
        let read: Vec<_> = blocks.into_iter().flat_map(|block| block.references).collect();
        assert_eq!(read[..], all[..read.len()]);
    }
}

#[test]
fn a_compressed_file_that_is_broken_is_refused_with_its_place() {
    let mut packed = xz(&champsim());
    let middle = packed.len() / 2;
    packed[middle] ^= 0x55;
    let error = read(&packed, Granularity::Page, Some(Format::ChampSim)).unwrap_err();
    assert!(error.starts_with("byte ") && error.contains("compressed"), "{error}");
}
