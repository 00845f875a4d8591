//! What goes in comes out.

use proptest::prelude::*;
use trace::{Access, Effort, Encoder, Granularity, Reference, Source};

use crate::support::{blocks, finished, header, read, reader, stretches, write};

proptest! {
    #[test]
    fn a_trace_is_what_was_written(stretches in stretches()) {
        for recorded in [Granularity::Reference, Granularity::Page] {
            let (file, _) = write(&stretches, recorded);
            for wanted in [Granularity::Reference, Granularity::Page] {
                let mut reader = reader(&file, wanted).unwrap();
                prop_assert_eq!(reader.notes().header, Some(header()));
                let least = if recorded == wanted { recorded } else { Granularity::Page };
                let (read, error) = read(&mut reader);
                prop_assert_eq!(error, None);
                prop_assert_eq!(read, blocks(&stretches, least));
                prop_assert_eq!(reader.notes().cut_off, None);
            }
        }
    }
}

#[test]
fn a_long_run_and_a_full_block() {
    let mut encoder = Encoder::new(Granularity::Reference);
    let reference = Reference::new(0x1000, Access::Load, 3);
    let mut pushed = 1;
    while !encoder.push_all([reference]) {
        pushed += 1;
    }
    assert_eq!(pushed, trace::REFERENCES_PER_BLOCK);
    let block = finished(&mut encoder);
    assert_eq!((block.head.references, block.head.runs), (pushed, 1));
    assert!(encoder.is_empty());
    let mut writer = trace::Writer::new(Vec::new(), &header(), 1).unwrap();
    writer.add(&block, Effort::Compress).unwrap();
    let (read, error) =
        read(&mut reader(&writer.finish().unwrap(), Granularity::Reference).unwrap());
    assert_eq!(error, None);
    assert_eq!(read[0].runs[0].count, pushed);
    assert!(read[0].references.iter().all(|read| *read == reference));
}
