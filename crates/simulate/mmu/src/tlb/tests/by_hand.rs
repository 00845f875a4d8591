//! Small cases whose counts were worked out by hand, and counts of libCacheSim.

use trace::{Block, Event, PageRun};

use super::data;
use crate::tlb::{Machine, Options, Outcome, Simulator};

const TINY: &str = include_str!("../../../machines/tiny.toml");

fn simulator(text: &str, options: &[(&str, &str)]) -> Simulator {
    let mut set = Options::default();
    for (name, value) in options {
        set.set(name, value).unwrap();
    }
    Simulator::new(&Machine::parse(text).unwrap(), &set).unwrap()
}

fn tiny(options: &[(&str, &str)]) -> Simulator {
    simulator(TINY, options)
}

/// One TLB with this many entries in one set.
fn one_tlb(entries: usize, policy: &str) -> String {
    format!(
        "kind = \"tlb\"\nabout = \"one\"\n[[tlb]]\nname = \"L1\"\nlevel = 1\nserves = \"both\"\n\
         pages = [\"4K\"]\nentries = {entries}\npolicy = \"{policy}\"\n[walk]\nlevels = 4\n\
         start_cycles = 0\ncached_cycles = 1\nmemory_cycles = 2\ncached_lines = 1\n"
    )
}

/// Accesses and misses of a TLB.
fn of(outcome: &Outcome, name: &str) -> (u64, u64) {
    let tlb = outcome.tlbs.iter().find(|tlb| tlb.name == name).unwrap();
    (tlb.accesses, tlb.misses)
}

#[test]
fn three_pages_of_one_set_fit_the_second_level_but_not_the_first() {
    let mut simulator = tiny(&[]);
    // Even pages meet in set 0 of L1D (2 ways); L2 has 4 sets, where 0, 4, 8 meet (4 ways).
    for _ in 0..10 {
        simulator.runs(&data(&[0, 4, 8, 8]));
    }
    let outcome = simulator.outcome();
    assert_eq!(outcome.references, 40);
    // In order 0 4 8 each of two ways has gone when it is wanted again; the second 8 hits.
    assert_eq!(of(&outcome, "L1D"), (40, 30));
    assert_eq!(of(&outcome, "L2"), (30, 3));
    assert_eq!(outcome.walks.walks, 3);
    // The first walk reads four entries, the others the last one: the PDE cache has the rest.
    assert_eq!(outcome.walks.steps, [3, 1, 1, 1, 0]);
    // Entries 0 and 4 are in one line of the table, 8 is in the next.
    assert_eq!(outcome.walks.steps_from_memory, 5);
    assert_eq!(outcome.walks.cycles, 3 * 5 + 5 * 100 + 10);
    assert_eq!(outcome.lookup_cycles, 30 * 7);
}

#[test]
fn a_cold_walk_in_a_virtual_machine_reads_24_entries() {
    let without = TINY.replace("[nested]\nentries = 8\n", "");
    let mut simulator = simulator(&without, &[("virtualized", "yes")]);
    simulator.runs(&data(&[0]));
    let walks = simulator.outcome().walks;
    assert_eq!(walks.steps, [1, 1, 1, 1, 0]);
    // Each of the four guest entries and the page itself takes a walk of four.
    assert_eq!(walks.host_steps, [5, 5, 5, 5, 0]);
    assert_eq!(walks.all_steps(), 24);
}

#[test]
fn five_levels_read_35_entries_in_a_virtual_machine() {
    let without = TINY.replace("[nested]\nentries = 8\n", "");
    let mut simulator = simulator(&without, &[("virtualized", "yes"), ("levels", "5")]);
    simulator.runs(&data(&[0]));
    assert_eq!(simulator.outcome().walks.all_steps(), 35);
}

#[test]
fn huge_pages_of_guest_and_host_read_15_entries() {
    let without = TINY.replace("[nested]\nentries = 8\n", "");
    let set = [("virtualized", "yes"), ("pages", "all"), ("host-pages", "2M")];
    let mut simulator = simulator(&without, &set);
    simulator.runs(&data(&[0]));
    // Three of the guest, and three for each of them and for the page.
    assert_eq!(simulator.outcome().walks.all_steps(), 3 + 4 * 3);
}

#[test]
fn transparent_huge_pages_need_a_private_mapping_that_covers_them() {
    let two_mib = 1 << 21;
    for (length_bytes, file, walks) in [
        (two_mib, false, 1),
        (two_mib, true, 512),
        (two_mib - 1, false, 1),
        (two_mib - 4096, false, 511),
    ] {
        let mut simulator = tiny(&[("pages", "thp")]);
        simulator.event(&Event::Map { address: 0, length_bytes, file, shared: false });
        let pages: Vec<u64> = (0..length_bytes.div_ceil(4096)).collect();
        simulator.runs(&data(&pages));
        assert_eq!(simulator.outcome().walks.walks, walks, "{length_bytes} {file}");
    }
}

#[test]
fn a_switch_costs_everything_without_address_space_numbers() {
    for (asids, walks, flushes) in [("0", 20, 19), ("2", 2, 0), ("1", 20, 19)] {
        let mut simulator = tiny(&[("asids", asids)]);
        for turn in 0..20 {
            simulator.switch(turn % 2, 0);
            simulator.runs(&data(&[5]));
        }
        let outcome = simulator.outcome();
        assert_eq!((outcome.walks.walks, outcome.flushes), (walks, flushes), "asids={asids}");
        assert_eq!(outcome.switches, 19);
    }
}

#[test]
fn processes_share_what_they_inherited() {
    let program = |share| {
        let mut simulator = tiny(&[("share", share)]);
        let length_bytes = 1 << 30;
        simulator.event(&Event::Map { address: 0, length_bytes, file: true, shared: false });
        simulator.event(&Event::Fork { child: 1 });
        simulator.runs(&data(&[5]));
        simulator.switch(1, 0);
        simulator.runs(&data(&[5]));
        let walks = simulator.outcome().walks;
        (walks.walks, walks.steps_from_memory)
    };
    assert_eq!(program("none"), (2, 8));
    // The tables of levels 1 and 2 lie inside the mapping; those above map more.
    assert_eq!(program("tables"), (2, 6));
    assert_eq!(program("translations"), (1, 4));
}

#[test]
fn the_next_page_is_fetched_ahead() {
    let mut simulator = tiny(&[("prefetch", "next-page")]);
    simulator.runs(&data(&[0, 1, 2, 3]));
    let outcome = simulator.outcome();
    assert_eq!(outcome.walks.walks, 2);
    assert_eq!(outcome.prefetch_walks.walks, 2);
    assert_eq!(outcome.prefetches_used, 2);
}

#[test]
fn threads_have_tlbs_of_their_own_on_cores_of_their_own() {
    let walks = |cores| {
        let mut simulator = tiny(&[("cores", cores)]);
        for thread in [0, 1, 2, 0, 1, 2] {
            simulator.switch(0, thread);
            simulator.runs(&data(&[7]));
        }
        simulator.outcome().walks.walks
    };
    // Threads 0 and 2 are on core 0 of two.
    assert_eq!((walks("1"), walks("2"), walks("3")), (1, 2, 3));
}

#[test]
fn a_block_has_events_between_its_runs() {
    let run = |page| PageRun { page, count: 3, fetch: false, written: false };
    let unmap = |address| Event::Unmap { address, length_bytes: 4096 };
    let block = Block {
        runs: vec![run(1), run(1), run(2)],
        events: vec![(1, unmap(0x1000)), (3, unmap(0x2000))],
        ..Block::default()
    };
    let mut simulator = tiny(&[]);
    simulator.block(&block);
    let outcome = simulator.outcome();
    assert_eq!((outcome.references, outcome.walks.walks), (9, 3));
    assert_eq!(outcome.page_flushes, 2);
    // Page 1 was in both levels, and so was page 2.
    assert_eq!(outcome.tlbs.iter().map(|tlb| tlb.flushed).sum::<u64>(), 4);
}

/// Misses of libCacheSim (commit aa0fc40) for these 10 000 pages, written as
/// oracleGeneral: `cachesim small.bin oracleGeneral lru 16,64,256 --ignore-obj-size 1
/// --num-thread 1`, and the same with `fifo`; it prints ratios of four decimals, which are counts
/// here.
#[test]
fn misses_are_those_of_libcachesim() {
    let mut state = 1u64;
    let pages: Vec<u64> = (0..10_000)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            match state >> 60 < 12 {
                true => (state >> 33) % 40,
                false => (state >> 33) % 32 * ((state >> 40) % 32),
            }
        })
        .collect();
    let figures = [
        ("lru", 16, 7534),
        ("lru", 64, 2414),
        ("lru", 256, 592),
        ("fifo", 16, 7605),
        ("fifo", 64, 3478),
        ("fifo", 256, 713),
    ];
    for (policy, entries, misses) in figures {
        let mut simulator = simulator(&one_tlb(entries, policy), &[]);
        simulator.runs(&data(&pages));
        assert_eq!(of(&simulator.outcome(), "L1").1, misses, "{policy} {entries}");
    }
}

#[test]
fn every_machine_that_is_shipped_simulates() {
    for (name, text) in crate::tlb::MACHINES {
        let mut simulator = simulator(text, &[]);
        simulator.runs(&data(&[1, 2, 3]));
        simulator.runs(&[PageRun { page: 4, count: 1, fetch: true, written: false }]);
        assert_eq!(simulator.outcome().walks.walks, 4, "{name}");
    }
}

#[test]
fn what_is_wrong_in_a_description_has_its_place() {
    let cases = [
        ("ways = 2", "ways = 3", "line 19, column 8: 4 entries in sets of 3"),
        ("levels = 4", "levels = 3", "page tables have 4 or 5 levels"),
        ("name = \"L2\"", "name = \"L1D\"", "names of their own"),
        ("table = 2", "table = 1", "a walk cache keeps entries of tables from 2 to 4"),
        ("level = 2", "level = 1", "would be in two TLBs of level 1"),
        ("serves = \"fetch\"", "serves = \"data\"", "would be in two TLBs of level 1"),
        ("entries = 16", "entries = 0", "there are from 1 to 1048576 entries"),
        ("asids = 4", "asids = 40000", "line 4, column 9: there can be at most 32768 asids"),
        ("serves = \"both\"", "serves = \"nobody\"", "unknown variant"),
    ];
    for (from, to, expected) in cases {
        let error = Machine::parse(&TINY.replacen(from, to, 1)).unwrap_err();
        assert!(error.to_string().contains(expected), "{to}: {error}");
    }
}

#[test]
fn an_option_that_is_wrong_says_what_there_is() {
    let mut options = Options::default();
    assert!(options.set("page", "thp").unwrap_err().contains("choose from pages, seed"));
    assert_eq!(
        options.set("pages", "2M").unwrap_err(),
        "pages=2M: it takes recorded, small, thp, all or 1g"
    );
    assert!(options.set("asids", "99999").is_err());
    options.set("policy", "plru").unwrap();
    let n1 = Machine::parse(include_str!("../../../machines/neoverse-n1.toml")).unwrap();
    let error = Simulator::new(&n1, &options).unwrap_err();
    assert!(error.starts_with("L1I: the tree"), "{error}");
}
