//! Random traces, and what they are in memory.

use std::io::Cursor;

use proptest::collection::vec;
use proptest::prelude::*;
use trace::{
    Access, Block, Effort, Encoder, Event, Granularity, Header, PackedBlock, PageRun, Reader,
    Reference, Source, Writer,
};

/// What a thread does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Reference(Reference),
    Event(Event),
}

/// Steps of one thread in a row.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) steps: Vec<Step>,
}

/// Addresses as programs have them: near each other, seldom anywhere.
fn addresses() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => (0_u64..12, 0_u64..4096).prop_map(|(page, offset)| 0x7f12_3456_0000 + page * 4096 + offset),
        2 => (0_u64..1 << 24).prop_map(|offset| 0x5555_5555_4000 + offset),
        1 => any::<i64>().prop_map(|address| (address >> 5).cast_unsigned()),
    ]
}

fn references() -> impl Strategy<Value = Reference> {
    let access = prop_oneof![Just(Access::Load), Just(Access::Store), Just(Access::Fetch)];
    (addresses(), access, 0_u8..=6)
        .prop_map(|(address, access, size)| Reference::new(address, access, size))
}

pub(crate) fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        ".{0,40}".prop_map(|command| Event::Program { command }),
        Just(Event::ThreadStart),
        Just(Event::ThreadEnd),
        any::<u32>().prop_map(|child| Event::Fork { child }),
        Just(Event::Exit),
        (any::<u64>(), any::<u64>(), any::<bool>(), any::<bool>()).prop_map(
            |(address, length_bytes, file, shared)| Event::Map {
                address,
                length_bytes,
                file,
                shared
            }
        ),
        (any::<u64>(), any::<u64>())
            .prop_map(|(address, length_bytes)| Event::Unmap { address, length_bytes }),
        any::<u64>().prop_map(|address| Event::Break { address }),
        ".{0,40}".prop_map(|reason| Event::Missed { reason }),
        (any::<u64>(), 0_u8..3, any::<bool>()).prop_map(|(address, size, is_global)| {
            Event::Translation { address, size, is_global }
        }),
        any::<bool>().prop_map(|globals_too| Event::Flush { globals_too }),
        any::<u64>().prop_map(|address| Event::FlushPage { address }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let several = (references(), 1_usize..300)
        .prop_map(|(reference, count)| vec![Step::Reference(reference); count]);
    vec(
        prop_oneof![
            12 => references().prop_map(|reference| vec![Step::Reference(reference)]),
            1 => several,
            1 => events().prop_map(|event| vec![Step::Event(event)]),
        ],
        0..120,
    )
    .prop_map(|steps| steps.concat())
}

/// A trace of some threads.
pub(crate) fn stretches() -> impl Strategy<Value = Vec<Stretch>> {
    let stretch = (0_u32..3, 0_u32..3, steps()).prop_map(|(process, thread, steps)| Stretch {
        process,
        thread,
        steps,
    });
    vec(stretch, 0..6)
}

pub(crate) fn header() -> Header {
    Header {
        program: "gzip -9".to_owned(),
        data: true,
        fetches: true,
        tool: "thrashlab 0.1.0".to_owned(),
        versions: [("qemu-x86_64".to_owned(), "7.2.22".to_owned())].into(),
        architecture: Some("x86_64".to_owned()),
        ..Header::default()
    }
}

/// The file of a trace, one block a stretch, and where its head and each block end.
pub(crate) fn write(stretches: &[Stretch], columns: Granularity) -> (Vec<u8>, Vec<usize>) {
    let mut writer = Writer::new(Vec::new(), &header(), 1).unwrap();
    let mut ends = vec![writer.written_bytes() as usize];
    for stretch in stretches {
        let mut encoder = Encoder::new(columns);
        encoder.set_thread(stretch.process, stretch.thread);
        for step in &stretch.steps {
            let full = match step {
                Step::Reference(reference) => encoder.push_all([*reference]),
                Step::Event(event) => encoder.event(event),
            };
            assert!(!full);
        }
        // As a recorder does now and then.
        let effort = if stretch.process == 1 { Effort::Store } else { Effort::Compress };
        writer.add(&finished(&mut encoder), effort).unwrap();
        ends.push(writer.written_bytes() as usize);
    }
    (writer.finish().unwrap(), ends)
}

/// What an encoder has packed.
pub(crate) fn finished(encoder: &mut Encoder) -> PackedBlock {
    let mut block = PackedBlock::default();
    encoder.finish_into(&mut block);
    block
}

/// What a reader has to return for these stretches, without any packing.
pub(crate) fn blocks(stretches: &[Stretch], columns: Granularity) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut first = 0;
    for stretch in stretches.iter().filter(|stretch| !stretch.steps.is_empty()) {
        let mut block =
            Block { process: stretch.process, thread: stretch.thread, first, ..Block::default() };
        let mut open = false;
        for step in &stretch.steps {
            match step {
                Step::Event(event) => {
                    block.events.push((block.runs.len() as u32, event.clone()));
                    open = false;
                }
                Step::Reference(reference) => {
                    add(&mut block, *reference, open);
                    open = true;
                    first += 1;
                }
            }
        }
        if columns == Granularity::Page {
            block.references.clear();
        }
        blocks.push(block);
    }
    blocks
}

fn add(block: &mut Block, reference: Reference, open: bool) {
    let (page, fetch) = (reference.page(), reference.access() == Access::Fetch);
    let written = reference.access() == Access::Store;
    block.references.push(reference);
    match block.runs.last_mut() {
        Some(run) if open && run.page == page && run.fetch == fetch => {
            run.count += 1;
            run.written |= written;
        }
        _ => block.runs.push(PageRun { page, count: 1, fetch, written }),
    }
}

pub(crate) fn reader(file: &[u8], columns: Granularity) -> Result<Reader, trace::TraceError> {
    Reader::from_stream(Box::new(Cursor::new(file.to_vec())), columns)
}

/// All blocks up to the end or the first error.
pub(crate) fn read(reader: &mut Reader) -> (Vec<Block>, Option<String>) {
    let mut blocks = Vec::new();
    let mut block = Block::default();
    loop {
        match reader.next(&mut block) {
            Ok(true) => blocks.push(block.clone()),
            Ok(false) => return (blocks, None),
            Err(error) => return (blocks, Some(error.to_string())),
        }
    }
}
