//! Any bytes as the blocks of a trace: read to the end or refused, with
//! blocks that are sound in themselves.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use trace::{Block, Granularity, Header, QUICK_LEVEL, Reader, Source, Writer};

fuzz_target!(|bytes: &[u8]| {
    // As the whole file, and behind a sound head, so that blocks are reached.
    let head = Writer::new(Vec::new(), &Header::default(), QUICK_LEVEL).expect("writes to memory");
    let length = head.written_bytes() as usize;
    let mut file = head.finish().expect("writes to memory");
    file.truncate(length);
    file.extend(bytes);
    for file in [bytes.to_vec(), file] {
        for columns in [Granularity::Page, Granularity::Reference] {
            read(file.clone(), columns);
        }
    }
});

fn read(file: Vec<u8>, columns: Granularity) {
    let Ok(mut reader) = Reader::from_stream(Box::new(Cursor::new(file)), columns) else { return };
    let mut block = Block::default();
    while let Ok(true) = reader.next(&mut block) {
        let counted: u64 = block.runs.iter().map(|run| u64::from(run.count)).sum();
        assert!(block.references.is_empty() || block.references.len() as u64 == counted);
        assert!(block.events.iter().all(|(run, _)| *run as usize <= block.runs.len()));
        assert!(block.references.iter().all(|reference| reference.size_bytes() <= 64));
    }
}
