//! How many references a second the TLB simulator takes, on one core.
//!
//! The stream is the flat sequence of pages that a program's data references touch. Without
//! `THRASHLAB_PAGES` (a file of page numbers, little-endian 64 bits each) it is synthetic and
//! seeded: 90 % of the references stay among 48 pages, the rest follow a heavy tail over 4096.
//!
//! If `THRASHLAB_CACHESIM` names libCacheSim's `cachesim`, it simulates one fully associative LRU
//! cache of 64 pages on the same stream; the ratio of the best of three passes of either is printed.
//! Its speed is the one that it states itself, which leaves out starting and ending.
//!
//! Measured on one vCPU of an EPYC 9004 at 3.7 GHz beside other work, in pieces of 8192 references
//! of which the fastest passes count: on 3 M data references of a program that hashes and sorts
//! (valgrind's lackey; 61 % on the page before, 98.6 % hit a first level of 4 ways) 550 M/s as a
//! slice of pages, 410 M/s as runs, 260 M/s one by one, 180 M/s with first levels of 72 ways;
//! libCacheSim 23 to 28 M/s. On the synthetic stream (85.9 % hit) 90 to 140 M/s.
//!
//! The limit is guessing, not the memory: what is simulated is in the L1 and L2 caches of the host.
//! 550 M/s are 6.7 cycles a reference. Whether a reference stays on its page is one branch that real
//! programs let a processor guess mostly and the synthetic stream does not; a wrong guess is some
//! 15 cycles. Which of four ways hits is no branch (four loads, compares and stores, some 30
//! instructions). In sets of more ways it is one, and a miss of 12 ways moves all of them.

#![expect(clippy::print_stdout, reason = "what the stream and the peer came to is the result")]

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use mmu::tlb::{Machine, Options, Simulator};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// References of the synthetic stream.
const REFERENCES: usize = 1 << 22;

/// The two levels of the acceptance: 64 entries of 4 ways, 1536 of 12.
const TWO_LEVELS: &str = "\
kind = \"tlb\"
about = \"two levels\"
[[tlb]]
name = \"L1\"
level = 1
serves = \"both\"
pages = [\"4K\"]
entries = 64
ways = 4
[[tlb]]
name = \"L2\"
level = 2
serves = \"both\"
pages = [\"4K\"]
entries = 1536
ways = 12
lookup_cycles = 7
[walk]
levels = 4
start_cycles = 0
cached_cycles = 14
memory_cycles = 200
cached_lines = 4096
cached_ways = 8
";

fn main() {
    let pages = stream();
    let mut criterion = Criterion::default()
        .configure_from_args()
        .sample_size(20)
        .measurement_time(Duration::from_secs(3));
    let mut machines = vec![("two-levels", TWO_LEVELS)];
    machines
        .extend(mmu::Machine::shipped().filter(|(name, _)| ["zen4", "skylake-sp"].contains(name)));
    let mut group = criterion.benchmark_group("tlb");
    group.throughput(Throughput::Elements(pages.len() as u64));
    for (name, text) in machines {
        let machine = Machine::parse(text).expect("it is a description of TLBs");
        for (policy, set) in [("small", "small"), ("thp", "thp")] {
            let mut options = Options::default();
            options.set("pages", set).expect("it is a page policy");
            let new = Simulator::new(&machine, &options).expect("the options fit");
            let mut simulator = new.clone();
            simulator.pages(&pages);
            let outcome = simulator.outcome();
            let hits = outcome.tlbs.iter().filter(|tlb| tlb.serves != "fetch" && tlb.level == 1);
            println!(
                "{name}, {policy}: {} references, {:.1} % hit the first level, {} walks",
                outcome.references,
                100.0 * hits.map(|tlb| tlb.hits).sum::<u64>() as f64 / outcome.references as f64,
                outcome.walks.walks,
            );
            group.bench_function(format!("{name}/{policy}"), |bencher| {
                bencher.iter(|| simulator.pages(black_box(&pages)));
            });
            if policy == "small" {
                group.bench_function(format!("{name}/one by one"), |bencher| {
                    bencher.iter(|| {
                        for page in black_box(&pages) {
                            simulator.page(*page);
                        }
                    });
                });
            }
        }
    }
    group.finish();
    criterion.final_summary();
    peer(&pages);
}

fn stream() -> Vec<u64> {
    if let Some(path) = std::env::var_os("THRASHLAB_PAGES") {
        let bytes = fs::read(path).expect("THRASHLAB_PAGES can be read");
        return bytes.as_chunks().0.iter().map(|page| u64::from_le_bytes(*page)).collect();
    }
    let mut generator = Pcg64Mcg::seed_from_u64(1);
    let mut page = 0;
    let draw = |_| {
        let bits = generator.next_u64();
        let (kind, low) = (bits >> 32 & 0xff, bits & 0xffff_ffff);
        match kind {
            // Stays on its page, as half of all references of real programs do.
            0..128 => {}
            128..230 => page = low % 48 * 37,
            // The product of three numbers has a heavy tail towards small pages.
            _ => page = (low & 15) * (low >> 4 & 15) * (low >> 8 & 15) + (low >> 12 & 31) * 16,
        }
        page
    };
    (0..REFERENCES).map(draw).collect()
}

/// Times libCacheSim on the same pages, if it is there.
fn peer(pages: &[u64]) {
    let Some(program) = std::env::var_os("THRASHLAB_CACHESIM") else { return };
    let folder = tempfile::tempdir().expect("a folder for the stream");
    let path = folder.path().join("pages.bin");
    let mut file = std::io::BufWriter::new(fs::File::create(&path).expect("the stream's file"));
    for page in pages {
        // oracleGeneral: time, object, size, next access; packed.
        file.write_all(&1u32.to_le_bytes()).expect("it is written");
        file.write_all(&page.to_le_bytes()).expect("it is written");
        file.write_all(&1u32.to_le_bytes()).expect("it is written");
        file.write_all(&(-1i64).to_le_bytes()).expect("it is written");
    }
    file.into_inner().expect("it is written").sync_all().expect("it is written");
    let mut peer = f64::INFINITY;
    for _ in 0..3 {
        let done = Command::new(&program)
            .arg(&path)
            .args(["oracleGeneral", "lru", "64", "--ignore-obj-size", "1", "--num-thread", "1"])
            .current_dir(&folder)
            .output()
            .expect("libCacheSim runs");
        let told = String::from_utf8_lossy(&done.stdout);
        let (_, speed) = told.split_once("throughput ").expect("libCacheSim tells its speed");
        let (millions, _) = speed.split_once(" MQPS").expect("in millions of requests a second");
        peer = peer.min(1e-6 / millions.parse::<f64>().expect("it is a number"));
    }
    let machine = Machine::parse(TWO_LEVELS).expect("it is a description of TLBs");
    let mut simulator = Simulator::new(&machine, &Options::default()).expect("the options fit");
    let mut own = f64::INFINITY;
    for _ in 0..3 {
        let began = Instant::now();
        simulator.pages(pages);
        own = own.min(began.elapsed().as_secs_f64() / pages.len() as f64);
    }
    println!(
        "libCacheSim, one LRU cache of 64: {:.1} M references/s; two-level TLB: {:.1}; ratio {:.1}",
        1e-6 / peer,
        1e-6 / own,
        peer / own
    );
}
