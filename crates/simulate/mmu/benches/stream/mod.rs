//! The stream of pages that the benchmarks share, and their peer.
//!
//! The stream is the flat sequence of pages that a program's data references touch: those of the
//! trace that `THRASHLAB_TRACE` names (any format that `thrashlab trace convert` reads), at most
//! [`MOST_REFERENCES`]. Without it the stream is synthetic and seeded: half of the references stay
//! on their page, 40 % go among 48 pages, the rest follow a heavy tail over some 3900.
//!
//! The peer is libCacheSim, where `THRASHLAB_CACHESIM` names its `cachesim`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tempfile::TempDir;
use trace::{Block, Granularity};

/// The longest stream.
const MOST_REFERENCES: usize = 1 << 26;
/// References of which the time is taken at once.
const PIECE_REFERENCES: usize = 1 << 15;
/// References of the synthetic stream.
const SYNTHETIC_REFERENCES: usize = 1 << 22;

/// The pages.
pub(crate) fn pages() -> Vec<u64> {
    match std::env::var_os("THRASHLAB_TRACE") {
        Some(path) => recorded(Path::new(&path)),
        None => synthetic(),
    }
}

fn recorded(path: &Path) -> Vec<u64> {
    let mut source = trace::open(path, Granularity::Page).expect("THRASHLAB_TRACE is a trace");
    let mut pages = Vec::new();
    let mut block = Block::default();
    while pages.len() < MOST_REFERENCES && source.next(&mut block).expect("it can be read") {
        for run in block.runs.iter().filter(|run| !run.fetch) {
            pages.extend(std::iter::repeat_n(run.page, run.count as usize));
        }
    }
    pages.truncate(MOST_REFERENCES);
    pages
}

fn synthetic() -> Vec<u64> {
    let mut generator = Pcg64Mcg::seed_from_u64(1);
    let mut page = 0;
    let draw = |_| {
        let bits = generator.next_u64();
        let (kind, low) = (bits >> 32 & 0xff, bits & 0xffff_ffff);
        match kind {
            0..128 => {}
            128..230 => page = low % 48 * 37,
            // The product of three numbers has a heavy tail towards small pages.
            _ => page = (low & 15) * (low >> 4 & 15) * (low >> 8 & 15) + (low >> 12 & 31) * 16,
        }
        page
    };
    (0..SYNTHETIC_REFERENCES).map(draw).collect()
}

/// libCacheSim, and the stream as it reads it.
pub(crate) struct Peer {
    program: OsString,
    references: usize,
    folder: TempDir,
}

impl Peer {
    /// Writes the stream for it, if available.
    pub(crate) fn with(pages: &[u64]) -> Option<Self> {
        let program = std::env::var_os("THRASHLAB_CACHESIM")?;
        let folder = tempfile::tempdir().expect("a folder for the stream");
        let file = File::create(folder.path().join("pages.bin")).expect("the stream's file");
        let mut file = BufWriter::new(file);
        for page in pages {
            // oracleGeneral: time, object, size, next access; packed.
            let mut request = [0; 24];
            request[..4].copy_from_slice(&1_u32.to_le_bytes());
            request[4..12].copy_from_slice(&page.to_le_bytes());
            request[12..16].copy_from_slice(&1_u32.to_le_bytes());
            request[16..].copy_from_slice(&(-1_i64).to_le_bytes());
            file.write_all(&request).expect("it is written");
        }
        file.flush().expect("it is written");
        Some(Self { program, references: pages.len(), folder })
    }

    /// How many references a second of its own processor time one LRU cache of this many pages
    /// takes: the best of five passes.
    pub(crate) fn references_a_second(&self, entries: usize) -> f64 {
        let mut least = f64::INFINITY;
        for _ in 0..5 {
            let before = user_seconds_of_children();
            let done = Command::new(&self.program)
                .args(["pages.bin", "oracleGeneral", "lru", &entries.to_string()])
                .args(["--ignore-obj-size", "1", "--num-thread", "1"])
                .current_dir(&self.folder)
                .output()
                .expect("libCacheSim runs");
            assert!(done.status.success(), "libCacheSim: {}", done.status);
            least = least.min(user_seconds_of_children() - before);
        }
        self.references as f64 / least
    }
}

/// How many references a second `take` takes in chunks, of each chunk the quickest of nine passes:
/// what a busy machine takes from one pass it seldom takes from all.
pub(crate) fn references_a_second<T: Copy>(pages: &[T], mut take: impl FnMut(&[T])) -> f64 {
    let mut quickest = vec![f64::INFINITY; pages.len().div_ceil(PIECE_REFERENCES)];
    let mut buffer = Vec::new();
    for _ in 0..9 {
        for (piece, quickest) in pages.chunks(PIECE_REFERENCES).zip(&mut quickest) {
            // A trace's reader leaves it in the cache too.
            buffer.clear();
            buffer.extend_from_slice(piece);
            let began = Instant::now();
            take(&buffer);
            *quickest = quickest.min(began.elapsed().as_secs_f64());
        }
    }
    pages.len() as f64 / quickest.iter().sum::<f64>()
}

/// What ended children had of the processor, the kernel's time for them left out; `proc(5)`, to
/// 10 ms.
fn user_seconds_of_children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells it");
    let (_, fields) = stat.rsplit_once(") ").expect("the name is in parentheses");
    let ticks = fields.split(' ').nth(13).expect("there are so many fields");
    ticks.parse::<f64>().expect("it is a number") / 100.0
}
