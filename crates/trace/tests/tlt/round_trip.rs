//! What goes in comes out.

use std::io::{Seek, Write};

use proptest::prelude::*;
use trace::{Access, Columns, Encoder, PackedBlock, Reader, Reference, Source};

use crate::support::{blocks, header, read, reader, stretches, write};

proptest! {
    #[test]
    fn a_trace_is_what_was_written(stretches in stretches()) {
        for recorded in [Columns::References, Columns::Pages] {
            let (file, _) = write(&stretches, recorded);
            for wanted in [Columns::References, Columns::Pages] {
                let mut reader = reader(&file, wanted).unwrap();
                prop_assert_eq!(reader.header(), &header());
                let least = if recorded == wanted { recorded } else { Columns::Pages };
                let (read, error) = read(&mut reader);
                prop_assert_eq!(error, None);
                prop_assert_eq!(read, blocks(&stretches, least));
                prop_assert_eq!(reader.notes().cut_off, None);
            }
        }
    }

    #[test]
    fn a_file_can_be_entered_at_any_reference(stretches in stretches()) {
        let (bytes, _) = write(&stretches, Columns::References);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file.rewind().unwrap();
        let mut reader = Reader::from_file(file, Columns::References).unwrap();
        let all = blocks(&stretches, Columns::References);
        let total: u64 = all.iter().map(|block| block.references.len() as u64).sum();
        prop_assert_eq!(reader.references(), Some(total));
        prop_assert_eq!(reader.blocks(), Some(all.len() as u64));
        for reference in (0..=total).rev() {
            reader.seek(reference).unwrap();
            let holds = |block: &&trace::Block| {
                block.first + block.references.len() as u64 > reference
            };
            let (rest, error) = read(&mut reader);
            prop_assert_eq!(error, None);
            prop_assert_eq!(rest.first(), all.iter().find(holds));
        }
    }

    #[test]
    fn a_block_goes_through_a_pipe(stretches in stretches(), cut in 0_usize..10_000) {
        let mut pipe = Vec::new();
        let mut sent = Vec::new();
        for stretch in &stretches {
            let mut encoder = Encoder::new(stretch.process, stretch.thread, Columns::References);
            for step in &stretch.steps {
                if let crate::support::Step::Reference(reference) = step {
                    let _ = encoder.push_reference(*reference);
                }
            }
            let mut block = encoder.finish_block();
            block.at_ns = Some(u64::from(stretch.thread)).filter(|thread| *thread > 0);
            prop_assert_eq!(&PackedBlock::from_bytes(&block.to_bytes()).unwrap(), &block);
            block.append_to(&mut pipe);
            sent.push(block);
        }
        let mut input = &pipe[..cut.min(pipe.len())];
        let mut received = Vec::new();
        while let Some(block) = PackedBlock::read_from(&mut input).unwrap() {
            received.push(block);
        }
        prop_assert_eq!(&received[..], &sent[..received.len()]);
        prop_assert!(cut < pipe.len() || received.len() == sent.len());
    }
}

#[test]
fn a_long_run_and_a_full_block() {
    let mut encoder = Encoder::new(0, 0, Columns::References);
    let reference = Reference::new(0x1000, Access::Load, 3);
    let mut pushed = 1;
    while !encoder.push_reference(reference) {
        pushed += 1;
    }
    assert_eq!(pushed, trace::REFERENCES_PER_BLOCK);
    let block = encoder.finish_block();
    assert_eq!((block.references, block.runs), (pushed, 1));
    assert!(encoder.is_empty());
    let mut writer = trace::Writer::new(Vec::new(), &header(), 1).unwrap();
    writer.add(&block).unwrap();
    let (read, error) = read(&mut reader(&writer.finish().unwrap(), Columns::References).unwrap());
    assert_eq!(error, None);
    assert_eq!(read[0].runs[0].count, pushed);
    assert!(read[0].references.iter().all(|read| *read == reference));
}
