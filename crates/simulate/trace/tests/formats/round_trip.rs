//! Out and in again.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trace::{Block, Event, Format, Granularity, Reference};

use crate::support::{LACKEY, load, read, references, write};

/// Blocks of these references, as an importer builds them.
fn blocks(references: &[Reference]) -> Vec<Block> {
    let mut text = String::new();
    for reference in references {
        let access = format!("{:?}", reference.access()).to_lowercase();
        text += &format!("{:#x},{access},{}\n", reference.address(), reference.size_bytes());
    }
    read(text.as_bytes(), Granularity::Reference, Some(Format::Csv)).unwrap().1
}

/// Addresses of the lower half, as other formats know no signs, and little enough apart.
fn any_references() -> impl Strategy<Value = Vec<Reference>> {
    let access = prop_oneof![
        Just(trace::Access::Load),
        Just(trace::Access::Store),
        Just(trace::Access::Fetch)
    ];
    let one = (0_u64..1 << 47, access, 0_u8..=6)
        .prop_map(|(address, access, size)| Reference::new(address, access, size));
    prop::collection::vec(one, 1..200)
}

proptest! {
    #[test]
    fn text_formats_keep_references(wanted in any_references()) {
        let blocks = blocks(&wanted);
        for format in [Format::Lackey, Format::Csv, Format::Tlt] {
            prop_assert_eq!(&references(&write(&blocks, format), None), &wanted);
        }
        // din has no sizes.
        let of_a_byte: Vec<Reference> = wanted
            .iter()
            .map(|reference| Reference::new(reference.address(), reference.access(), 0))
            .collect();
        prop_assert_eq!(references(&write(&blocks, Format::Din), None), of_a_byte);
    }

    #[test]
    fn oracle_general_keeps_pages_and_knows_the_future(
        pages in prop::collection::vec(0_u64..20, 1..300)
    ) {
        let wanted: Vec<Reference> = pages.iter().map(|page| load(page << 12, 0)).collect();
        let file = write(&blocks(&wanted), Format::OracleGeneral);
        prop_assert_eq!(references(&file, Some(Format::OracleGeneral)), wanted);
        check_the_future(&file);
    }
}

/// Each request has to name the next one of its object, counted from 1, or -1.
fn check_the_future(file: &[u8]) {
    let mut next = BTreeMap::new();
    for (index, record) in file.chunks_exact(24).enumerate().rev() {
        let object = u64::from_le_bytes(record[4..12].try_into().unwrap());
        let found = i64::from_le_bytes(record[16..].try_into().unwrap());
        assert_eq!(found, next.insert(object, index as i64 + 1).unwrap_or(-1), "request {index}");
    }
}

#[test]
fn oracle_general_knows_a_far_future() {
    // The first object comes again when its request is in the file already.
    let mut pages: Vec<u64> = vec![1 << 20];
    pages.extend((0..2_500_000).map(|index: u64| index * 7 % 100_003));
    pages.push(1 << 20);
    let wanted: Vec<Reference> = pages.iter().map(|page| load(page << 12, 0)).collect();
    check_the_future(&write(&blocks(&wanted), Format::OracleGeneral));
}

#[test]
fn the_own_format_keeps_events_threads_and_times() {
    let (_, mut wanted, _) = read(LACKEY, Granularity::Reference, None).unwrap();
    let mut other = wanted[0].clone();
    (other.process, other.thread, other.at_ns) = (3, 2, Some(77));
    other.first = other.references.len() as u64;
    let last = other.runs.len() as u32;
    other.events.push((last, Event::Missed { reason: "more".to_owned() }));
    wanted.push(other);
    let file = write(&wanted, Format::Tlt);
    let (format, read_back, notes) = read(&file, Granularity::Reference, None).unwrap();
    assert_eq!((format, notes.cut_off), (Format::Tlt, None));
    assert_eq!(read_back, wanted);
}
