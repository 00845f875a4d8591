//! How many references a second miss-ratio curves take, on one core.
//!
//! The stream and the peer are those of `stream`, the stream is taken as flat pages and as runs, and
//! the last lines are measured as those of the benchmark `tlb`. libCacheSim simulates one LRU cache
//! of 1536 pages; the exact curve has all sizes in the same pass.
//!
//! **Limits.** Exact, in or near the list of the last eight pages: the mispredicted end of the
//! search in it, some fifteen cycles. Beyond it: two dependent loads of the table and the tree,
//! which miss the caches when there are more pages than the second level holds.
//! Sampled: two multiplications a reference, as long as few references are of the sample; then
//! what the exact curve costs for each of those.

#![expect(clippy::print_stdout, reason = "what the peer came to is the result")]

mod stream;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use mmu::curve::{SampledDistances, Sampling, SetStacks, StackDistances, WorkingSet};
use stream::Peer;

fn main() {
    let pages = stream::pages();
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
            let mut distances = StackDistances::default();
            black_box(&pages).iter().for_each(|page| distances.run(*page, 1));
            distances.misses(&[64, 1536])
        });
    });
    group.bench_function("exact, runs", |bencher| {
        bencher.iter(|| {
            let mut distances = StackDistances::default();
            black_box(&runs).iter().for_each(|(page, count)| distances.run(*page, *count));
            distances.misses(&[64, 1536])
        });
    });
    group.bench_function("128 sets", |bencher| {
        bencher.iter(|| {
            let mut stacks = SetStacks::new(128, 16).expect("128 is a power of two");
            black_box(&pages).iter().for_each(|page| stacks.run(*page, 1));
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
    group.finish();
    criterion.final_summary();
    compare(&pages);
}

fn sampled(pages: &[u64], sampling: Sampling) -> u64 {
    let mut sample = SampledDistances::new(sampling, 0).expect("it is in range");
    black_box(pages).iter().for_each(|page| sample.run(*page, 1));
    sample.sampled
}

/// Prints the speed without other work at the time and the ratio to libCacheSim, if available.
fn compare(pages: &[u64]) {
    let mut distances = StackDistances::default();
    let own = stream::references_a_second(pages, |piece| {
        piece.iter().for_each(|page| distances.run(*page, 1));
    });
    let mut sample = SampledDistances::new(Sampling::Rate(0.001), 0).expect("it is in range");
    let sampled = stream::references_a_second(pages, |piece| {
        piece.iter().for_each(|page| sample.run(*page, 1));
    });
    println!("exact: {:.1} M references/s; sample of .001: {:.1}", own / 1e6, sampled / 1e6);
    let Some(peer) = Peer::with(pages) else { return };
    let peer = peer.references_a_second(1536);
    println!("libCacheSim, one LRU cache of 1536: {:.1}; ratio {:.1}", peer / 1e6, own / peer);
}
