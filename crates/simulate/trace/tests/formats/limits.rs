//! Whatever is read, memory and patience are bounded.

use proptest::prelude::*;
use trace::{Format, Granularity};

use crate::support::read;

#[test]
fn a_file_of_another_format_is_given_up_soon() {
    let text = "neither this nor that\n".repeat(100_000);
    for format in [Format::Lackey, Format::Din, Format::Csv] {
        let error = read(text.as_bytes(), Granularity::Page, Some(format)).unwrap_err();
        assert!(error.starts_with("line 1: "), "{error}");
        assert!(error.contains("100 of 100 records are bad"), "{error}");
        assert!(error.contains("--input-format"), "{error}");
    }
}

#[test]
fn a_few_bad_lines_among_many_are_no_reason_to_give_up() {
    let mut text = "0 1000\n".repeat(10_000);
    text.push_str(&"x\n".repeat(500));
    let (_, _, notes) = read(text.as_bytes(), Granularity::Page, None).unwrap();
    assert_eq!((notes.bad.count, notes.bad.first.len()), (500, 8));
}

#[test]
fn a_line_without_end_is_one_bad_record() {
    let mut text = b"0 1000\n".to_vec();
    text.extend(vec![b'7'; 1_000_000]);
    text.extend(b"\n1 2000\n");
    let (_, blocks, notes) = read(&text, Granularity::Page, Some(Format::Din)).unwrap();
    assert_eq!(notes.bad.count, 1);
    assert_eq!(blocks[0].runs.len(), 2);
}

proptest! {
    #[test]
    fn any_bytes_in_any_format_end_well(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        for format in Format::ALL {
            for columns in [Granularity::Page, Granularity::Reference] {
                if let Ok((_, blocks, _)) = read(&bytes, columns, Some(*format)) {
                    for block in blocks {
                        let counted: u64 = block.runs.iter().map(|run| u64::from(run.count)).sum();
                        let read = block.references.len() as u64;
                        prop_assert!(read == 0 || read == counted);
                    }
                }
            }
        }
    }
}
