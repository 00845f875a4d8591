//! How many references a second the TLB simulator takes, on one core.
//!
//! The stream and the peer are those of `stream`. Criterion takes the whole stream at once, from
//! memory. The last lines are of chunks that are in the cache, as a trace's reader leaves them, and
//! the quickest of nine passes of each, so that other work on the machine is left out; next to them
//! stands libCacheSim with one fully associative LRU cache of 64 pages, by its processor time.
//!
//! **Limit.** A hit is a multiplication, two loads of which the second waits for the first, a
//! comparison and a store, and waits for no hit before it: 0.65 to 0.75 ns a reference, about what
//! its fifteen instructions need. A miss of the first level is a branch that was guessed wrong, a
//! look through its set, and the same again at the next level: some 30 ns. So a hundredth of misses
//! costs a third of the speed, and the synthetic stream, which misses one in seven, has 190 M/s.
//! Sets of many ways are dear when they miss: all ways are looked through twice.
//! A slice that is in memory and not in the cache is slower: memory answers too late for the few
//! references that a core looks ahead.

#![expect(clippy::print_stdout, reason = "what the stream and the peer came to is the result")]

mod stream;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use mmu::tlb::{Machine, Options, Simulator};
use stream::Peer;
use trace::PageRun;

/// The two levels of the acceptance: 64 entries of 4 ways, 1536 of 12.
const TWO_LEVELS: &str = include_str!("two-levels.toml");

fn main() {
    let pages = stream::pages();
    let run = |page: &u64| PageRun { page: *page, count: 1, fetch: false, written: false };
    let runs: Vec<PageRun> = pages.iter().map(run).collect();
    let mut criterion = Criterion::default()
        .configure_from_args()
        .sample_size(20)
        .measurement_time(Duration::from_secs(3));
    let machines = machines();
    let mut group = criterion.benchmark_group("tlb");
    group.throughput(Throughput::Elements(pages.len() as u64));
    for (name, machine) in &machines {
        for (policy, set) in [("small", "small"), ("thp", "thp")] {
            let mut options = Options::default();
            options.set("pages", set).expect("it is a page policy");
            let new = Simulator::new(machine, &options).expect("the options fit");
            let mut simulator = new.clone();
            simulator.runs(&runs);
            let outcome = simulator.outcome();
            let hits = outcome.tlbs.iter().filter(|tlb| tlb.serves != "fetch" && tlb.level == 1);
            println!(
                "{name}, {policy}: {} references, {:.1} % hit the first level, {} walks",
                outcome.references,
                100.0 * hits.map(|tlb| tlb.hits).sum::<u64>() as f64 / outcome.references as f64,
                outcome.walks.walks,
            );
            group.bench_function(format!("{name}/{policy}"), |bencher| {
                bencher.iter(|| simulator.runs(black_box(&runs)));
            });
            if policy == "small" {
                group.bench_function(format!("{name}/one by one"), |bencher| {
                    bencher.iter(|| {
                        for run in black_box(&runs) {
                            simulator.runs(&[*run]);
                        }
                    });
                });
            }
        }
    }
    group.finish();
    criterion.final_summary();
    compare(&machines, &pages, &runs);
}

/// The two levels, and machines as they are sold.
fn machines() -> Vec<(&'static str, Machine)> {
    let sold = mmu::tlb::MACHINES
        .iter()
        .copied()
        .filter(|(name, _)| ["zen4", "skylake-sp"].contains(name));
    let parse = |(name, text)| (name, Machine::parse(text).expect("it is a description of TLBs"));
    [("two-levels", TWO_LEVELS)].into_iter().chain(sold).map(parse).collect()
}

/// Prints speeds without other work at the time and the ratio to libCacheSim, if available.
fn compare(machines: &[(&str, Machine)], pages: &[u64], runs: &[PageRun]) {
    let peer = Peer::with(pages).map(|peer| peer.references_a_second(64));
    if let Some(peer) = peer {
        println!("libCacheSim, one LRU cache of 64: {:.1} M references/s", peer / 1e6);
    }
    for (name, machine) in machines {
        let new = Simulator::new(machine, &Options::default());
        let mut simulator = new.expect("the options fit");
        let own = stream::references_a_second(runs, |piece| simulator.runs(piece));
        let ratio = peer.map_or_else(String::new, |peer| format!(", ratio {:.1}", own / peer));
        println!("{name}: {:.1} M references/s{ratio}", own / 1e6);
    }
}
