//! How many references a second miss-ratio curves take, on one core.
//!
//! The stream is a flat sequence of pages, and the same as runs. Without `THRASHLAB_PAGES` (a file
//! of page numbers, little-endian 64 bits each) it is synthetic and seeded: 90 % of the references
//! stay among 48 pages, the rest follow a heavy tail over 4096. If `THRASHLAB_CACHESIM` names
//! libCacheSim's `cachesim`, it simulates one LRU cache of 1536 pages on the same stream; the exact
//! curve has all sizes in the same pass.
//!
//! **Limits.** Exact, in or near the list of the last eight pages: the mispredicted end of the
//! search in it, some fifteen cycles. Beyond it: two dependent loads of the table and the tree,
//! which miss the caches when there are more pages than the second level holds.
//! Sampled: two multiplications a reference, as long as few references are of the sample; then
//! what the exact curve costs for each of those.

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use mmu::curve::{SampledDistances, Sampling, SetStacks, StackDistances, WorkingSet};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// References of the synthetic stream.
const REFERENCES: usize = 1 << 22;

fn main() {
    let pages = stream();
    let runs: Vec<(u64, u64)> =
        pages.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect();
    let mut criterion = Criterion::default()
        .configure_from_args()
        .sample_size(20)
        .measurement_time(Duration::from_secs(3));
    let mut group = criterion.benchmark_group("curve");
    group.throughput(Throughput::Elements(pages.len() as u64));
    group.bench_function("exact", |bencher| {
        bencher.iter(|| {
            let mut distances = StackDistances::new();
            distances.references(black_box(&pages));
            distances.misses(&[64, 1536])
        });
    });
    group.bench_function("exact, runs", |bencher| {
        bencher.iter(|| {
            let mut distances = StackDistances::new();
            black_box(&runs).iter().for_each(|(page, count)| distances.run(*page, *count));
            distances.misses(&[64, 1536])
        });
    });
    group.bench_function("128 sets", |bencher| {
        bencher.iter(|| {
            let mut stacks = SetStacks::new(128, 16).expect("128 is a power of two");
            stacks.references(black_box(&pages));
            stacks.misses()
        });
    });
    group.bench_function("working set, runs", |bencher| {
        bencher.iter(|| {
            let mut working_set = WorkingSet::new(9, 1 << 20);
            black_box(&runs).iter().for_each(|(page, count)| working_set.run(*page, *count));
            working_set.finish()
        });
    });
    for (name, sampling) in [
        ("sampled 0.001", Sampling::Rate(0.001)),
        ("sampled 0.01", Sampling::Rate(0.01)),
        ("sampled 1024 pages", Sampling::Keys(1024)),
    ] {
        group.bench_function(name, |bencher| bencher.iter(|| sampled(&pages, sampling)));
    }
    if let Some(cachesim) = std::env::var_os("THRASHLAB_CACHESIM") {
        let mut file = tempfile::Builder::new().suffix(".oracleGeneral").tempfile();
        let file = file.as_mut().expect("there is room for a temporary file");
        file.write_all(&oracle_general(&pages)).expect("the stream can be written");
        let mut command = Command::new(cachesim);
        command.arg(file.path()).args(["oracleGeneral", "lru", "1536"]);
        command.args(["--ignore-obj-size", "1", "--num-thread", "1"]);
        command.current_dir(std::env::temp_dir()).stdout(Stdio::null()).stderr(Stdio::null());
        peer(&mut group, command);
    }
    group.finish();
    criterion.final_summary();
}

fn sampled(pages: &[u64], sampling: Sampling) -> u64 {
    let mut sample = SampledDistances::new(sampling, 0).expect("it is in range");
    sample.references(black_box(pages));
    sample.sampled()
}

/// The whole time of the other program, which reads the stream from the page cache.
fn peer(group: &mut BenchmarkGroup<'_, WallTime>, mut command: Command) {
    group.sample_size(10);
    group.bench_function("libCacheSim, one size", |bencher| {
        bencher.iter_custom(|times| {
            let begun = Instant::now();
            for _ in 0..times {
                let status = command.status().expect("cachesim can be started");
                assert!(status.success(), "cachesim: {status}");
            }
            begun.elapsed()
        });
    });
}

/// Requests as libCacheSim reads them.
fn oracle_general(pages: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(24 * pages.len());
    for (index, page) in pages.iter().enumerate() {
        bytes.extend((index as u32).to_le_bytes());
        bytes.extend((page + 1).to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend((-1_i64).to_le_bytes());
    }
    bytes
}

fn stream() -> Vec<u64> {
    if let Some(path) = std::env::var_os("THRASHLAB_PAGES") {
        let bytes = fs::read(&path).expect("THRASHLAB_PAGES can be read");
        let words = bytes.as_chunks::<8>().0;
        return words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    }
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut draw = |_| match random.random_range(0..10) {
        0 => 48 + 4096_f64.powf(random.random::<f64>()) as u64,
        _ => random.random_range(0..48),
    };
    (0..REFERENCES).map(&mut draw).collect()
}
