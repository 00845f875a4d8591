//! Any bytes as a trace of every format, or of the one that they look like: read to the end or
//! refused, with runs that are those of the references.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use trace::{Access, Block, Format, Granularity, open_stream};

fuzz_target!(|bytes: &[u8]| {
    for format in Format::ALL.iter().copied().map(Some).chain([None]) {
        let stream = Box::new(Cursor::new(bytes.to_vec()));
        let Ok((format, mut source)) = open_stream(stream, Granularity::Reference, format) else {
            continue;
        };
        let mut block = Block::default();
        while let Ok(true) = source.next(&mut block) {
            // A trace of pages only has no references.
            if format == Format::Tlt {
                continue;
            }
            let mut references = block.references.iter();
            for run in &block.runs {
                let mut written = false;
                for reference in references.by_ref().take(run.count as usize) {
                    assert_eq!(reference.page(), run.page);
                    assert_eq!(reference.access() == Access::Fetch, run.fetch);
                    written |= reference.access() == Access::Store;
                }
                assert_eq!(written, run.written);
            }
            assert!(references.next().is_none());
        }
        let notes = source.notes();
        assert!(notes.bad.first.len() as u64 <= notes.bad.count);
    }
});
