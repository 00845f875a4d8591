//! How fast traces are packed, unpacked and compressed, in references a second.
//!
//! `cargo bench -p trace` runs a sort and look-ups in a hash table whose references are noted; a
//! run to one page has 2.1 references on average. `TRACE=file.tlt cargo bench -p trace` takes the
//! references of a recorded program instead. What is measured is the CPU time of the thread, so
//! that other programs disturb less.
//!
//! Figures of one machine: 15 million references of `gzip -9` as `trace record` takes them, 1.2 a run,
//! on a virtual machine with two cores of an Intel Xeon that others kept busy (load 12 to 18), CPU
//! time, in millions of references a second:
//!
//! | | all references | pages only |
//! |---|---:|---:|
//! | encode | 217–288 | 293–318 |
//! | compress at level 1 | 189 | 610 |
//! | compress at level 3 | 153 | 568 |
//! | read pages | 324 | 341 |
//! | read all | 145 | |
//! | read pages of blocks that are stored | 415 | 438 |
//! | read all of blocks that are stored | 220 | |
//!
//! In the same hour the format's version 1, which formed runs while it encoded and had the two
//! bytes of a reference in planes, encoded 190 and compressed 152 to 160 million. A sampled encoder
//! spends its time evenly over some forty instructions a reference, a tenth of it waiting for the
//! ring. (Later its checks went into a pass of their own, which made it no quicker: it is as many
//! instructions as before, and they are the limit, five and a half a cycle.) Compression is zstd's
//! search for matches; its levels below 1 save a fifth of that and make the file half as large
//! again, lz4 saves a fifth and makes it half as large again too.
#![expect(clippy::unwrap_used, reason = "a benchmark cannot report errors")]

use std::hint::black_box;
use std::io::Cursor;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rustix::time::{ClockId, clock_gettime};
use trace::{
    Access, Block, Effort, Encoder, Granularity, Header, PackedBlock, QUICK_LEVEL, Reader,
    Reference, SMALL_LEVEL, Source, Writer,
};

/// How many references are measured.
const REFERENCES: usize = 4_000_000;

/// Memory whose references are noted.
struct Noted {
    references: Vec<Reference>,
    words: Vec<u64>,
    table: Vec<u64>,
}

/// Addresses of the arrays and the stack.
const WORDS: u64 = 0x7f3a_1000_0000;
const TABLE: u64 = 0x55d0_8000_0000;
const STACK: u64 = 0x7ffd_c000_0f00;

impl Noted {
    fn new() -> Self {
        let words =
            (0..1_u64 << 17).map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        Self { references: Vec::with_capacity(REFERENCES), words, table: vec![0; 1 << 16] }
    }

    fn note(&mut self, address: u64, access: Access) {
        self.references.push(Reference::new(address, access, 3));
    }

    fn word(&mut self, index: usize) -> u64 {
        self.note(WORDS + 8 * index as u64, Access::Load);
        self.words[index]
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.note(WORDS + 8 * one as u64, Access::Store);
        self.note(WORDS + 8 * other as u64, Access::Store);
        self.words.swap(one, other);
    }

    /// Quicksort, with what a compiled one keeps on the stack.
    fn sort(&mut self, from: usize, to: usize, depth: u64) {
        if to - from < 2 || self.references.len() > REFERENCES * 3 / 4 {
            return;
        }
        self.note(STACK - 48 * depth, Access::Store);
        self.note(STACK - 48 * depth - 8, Access::Store);
        let pivot = self.word(to - 1);
        let mut end = from;
        for index in from..to - 1 {
            if self.word(index) < pivot {
                self.swap(index, end);
                end += 1;
            }
        }
        self.swap(end, to - 1);
        self.sort(from, end, depth + 1);
        self.sort(end + 1, to, depth + 1);
        self.note(STACK - 48 * depth, Access::Load);
        self.note(STACK - 48 * depth - 8, Access::Load);
    }

    /// Counts words in a hash table.
    fn count(&mut self) {
        let mut index = 0;
        while self.references.len() < REFERENCES {
            let word = self.word(index % self.words.len());
            let place = (word.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 48) as usize;
            self.note(TABLE + 8 * place as u64, Access::Load);
            self.note(TABLE + 8 * place as u64, Access::Store);
            self.note(STACK, Access::Store);
            self.table[place] += 1;
            index += 1;
        }
    }
}

/// The references of the file that TRACE names, or of a sort and a hash table.
fn references() -> Vec<Reference> {
    let mut references = Vec::new();
    if let Some(path) = std::env::var_os("TRACE") {
        let mut source = trace::open(path.as_ref(), Granularity::Reference).unwrap();
        let mut block = Block::default();
        while references.len() < REFERENCES && source.next(&mut block).unwrap() {
            references.extend(&block.references);
        }
    } else {
        let mut noted = Noted::new();
        noted.sort(0, noted.words.len(), 0);
        noted.count();
        references = noted.references;
    }
    references.truncate(REFERENCES);
    references
}

/// Packs all references; each block goes to `each`.
fn pack(references: &[Reference], columns: Granularity, mut each: impl FnMut(&PackedBlock)) {
    let mut encoder = Encoder::new(columns);
    let mut packed = PackedBlock::default();
    for batch in references.chunks(512) {
        if encoder.push_all(batch.iter().copied()) {
            encoder.finish_into(&mut packed);
            each(&packed);
        }
    }
    encoder.finish_into(&mut packed);
    each(&packed);
}

fn read(file: &[u8], columns: Granularity) -> u64 {
    let mut reader = Reader::from_stream(Box::new(Cursor::new(file.to_vec())), columns).unwrap();
    let mut block = Block::default();
    let mut runs = 0;
    while reader.next(&mut block).unwrap() {
        runs += block.runs.len() as u64;
    }
    runs
}

/// The CPU time of this many calls.
fn cpu_time(calls: u64, mut call: impl FnMut()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let begun = now();
    (0..calls).for_each(|_| call());
    now() - begun
}

fn measure(criterion: &mut Criterion) {
    let references = references();
    let mut blocks = Vec::new();
    pack(&references, Granularity::Reference, |block| blocks.push(block.clone()));
    let mut writer = Writer::new(Vec::new(), &Header::default(), QUICK_LEVEL).unwrap();
    blocks.iter().for_each(|block| writer.add(block, Effort::Compress).unwrap());
    let file = writer.finish().unwrap();
    let runs: u64 = blocks.iter().map(|block| u64::from(block.head.runs)).sum();

    let mut group = criterion.benchmark_group(format!(
        "{:.2} references a run, {:.2} bytes a reference",
        references.len() as f64 / runs as f64,
        file.len() as f64 / references.len() as f64
    ));
    group.throughput(Throughput::Elements(references.len() as u64));
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(2))
        .warm_up_time(Duration::from_secs(1));
    for (name, columns) in [("encode", Granularity::Reference), ("encode pages", Granularity::Page)]
    {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|calls| {
                cpu_time(calls, || {
                    pack(&references, columns, |block| {
                        black_box(block);
                    });
                })
            });
        });
    }
    for level in [QUICK_LEVEL, SMALL_LEVEL] {
        let mut writer = Writer::new(std::io::sink(), &Header::default(), level).unwrap();
        group.bench_function(format!("compress at level {level}"), |bencher| {
            bencher.iter_custom(|calls| {
                cpu_time(calls, || {
                    blocks.iter().for_each(|block| writer.add(block, Effort::Compress).unwrap());
                })
            });
        });
    }
    for (name, columns) in [("read pages", Granularity::Page), ("read all", Granularity::Reference)]
    {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|calls| {
                cpu_time(calls, || {
                    black_box(read(&file, columns));
                })
            });
        });
    }
    group.finish();
}

criterion_group!(benches, measure);
criterion_main!(benches);
