//! Reading and writing traces in memory.

use std::fs;
use std::io::Cursor;

use trace::{Access, Block, Format, Granularity, Header, Notes, Reference, create, open_stream};

/// The output of Debian 12's valgrind for `/bin/true`: its beginning, a part and its end; without
/// blanks at the ends of lines.
pub(crate) const LACKEY: &[u8] = include_bytes!("../fixtures/true.lackey");

/// All blocks of a trace and what was noticed, or why it cannot be read.
pub(crate) fn read(
    bytes: &[u8],
    columns: Granularity,
    format: Option<Format>,
) -> Result<(Format, Vec<Block>, Notes), String> {
    let stream = Box::new(Cursor::new(bytes.to_vec()));
    let (format, mut source) =
        open_stream(stream, columns, format).map_err(|error| error.to_string())?;
    let mut blocks = Vec::new();
    let mut block = Block::default();
    while source.next(&mut block).map_err(|error| error.to_string())? {
        blocks.push(block.clone());
    }
    Ok((format, blocks, source.notes()))
}

/// References of a trace in order.
pub(crate) fn references(bytes: &[u8], format: Option<Format>) -> Vec<Reference> {
    let (_, blocks, _) = read(bytes, Granularity::Reference, format).unwrap();
    blocks.into_iter().flat_map(|block| block.references).collect()
}

pub(crate) fn load(address: u64, size_log2: u8) -> Reference {
    Reference::new(address, Access::Load, size_log2)
}

pub(crate) fn store(address: u64, size_log2: u8) -> Reference {
    Reference::new(address, Access::Store, size_log2)
}

pub(crate) fn fetch(address: u64, size_log2: u8) -> Reference {
    Reference::new(address, Access::Fetch, size_log2)
}

/// A block of these references, without its runs, which the importers make.
pub(crate) fn write(blocks: &[Block], format: Format) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let mut sink = create(format, fs::File::create(&path).unwrap(), &Header::default()).unwrap();
    for block in blocks {
        sink.add(block).unwrap();
    }
    sink.finish().unwrap();
    fs::read(&path).unwrap()
}

/// An instruction of ChampSim: where it is, what it writes and what it reads.
pub(crate) fn instruction(ip: u64, writes: [u64; 2], reads: [u64; 4]) -> Vec<u8> {
    let mut bytes = ip.to_le_bytes().to_vec();
    bytes.extend([1, 1, 26, 0, 26, 25, 0, 0]);
    writes.iter().chain(&reads).for_each(|place| bytes.extend(place.to_le_bytes()));
    bytes
}

/// A request of oracleGeneral.
pub(crate) fn request(time: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
    let mut bytes = time.to_le_bytes().to_vec();
    bytes.extend(object.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(next.to_le_bytes());
    bytes
}
