//! The simulator and the naive model agree after every single reference and event.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trace::{Event, PageRun};

use super::data;
use super::naive::Naive;
use super::naive_table::Key;
use crate::tlb::{Machine, Options, Outcome, Policy, Simulator};

/// Something that happens to a machine.
#[derive(Clone, Debug)]
enum Step {
    Refer {
        page: u64,
        fetch: bool,
        times: u32,
    },
    /// References that come as one slice.
    All(Vec<u64>),
    Runs(Vec<(u64, bool)>),
    Switch {
        process: u32,
        thread: u32,
    },
    Event(Event),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn agrees_with_the_naive_model(
        machine in machine(),
        options in options(),
        steps in proptest::collection::vec(step(), 1..250),
    ) {
        let described = Machine::parse(&machine);
        let machine = described.map_err(|why| TestCaseError::fail(format!("{why}\n{machine}")))?;
        let mut set = Options::default();
        for (name, value) in options {
            set.set(name, &value).map_err(TestCaseError::fail)?;
        }
        let mut simulator = match Simulator::new(&machine, &set) {
            Ok(simulator) => simulator,
            // The tree needs a power of two.
            Err(_) => return Ok(()),
        };
        let mut naive = Naive::new(&machine, &set);
        for (index, step) in steps.iter().enumerate() {
            take(&mut simulator, &mut naive, step);
            for core in 0..set.cores {
                let held = contents(&simulator, core);
                prop_assert_eq!(held, naive.contents(core), "step {}: {:?}", index, step);
            }
            let mut counted = counts(&simulator.outcome());
            counted.retain(|_, count| *count > 0);
            let mut expected = naive.counts.clone();
            expected.retain(|_, count| *count > 0);
            prop_assert_eq!(counted, expected, "step {}: {:?}", index, step);
        }
    }
}

/// All counts by name.
fn counts(outcome: &Outcome) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let mut put = |name: String, count: u64| counts.insert(name, count);
    put("references".to_owned(), outcome.references);
    put("fetches".to_owned(), outcome.fetches);
    for tlb in &outcome.tlbs {
        let name = &tlb.name;
        put(format!("tlb.{name}.accesses"), tlb.accesses);
        put(format!("tlb.{name}.hits"), tlb.hits);
        put(format!("tlb.{name}.misses"), tlb.misses);
        put(format!("tlb.{name}.fills"), tlb.fills);
        put(format!("tlb.{name}.evictions"), tlb.evictions);
        put(format!("tlb.{name}.flushed"), tlb.flushed);
    }
    for cache in outcome.walk_caches.iter().chain(&outcome.nested) {
        put(format!("walk_cache.{}.accesses", cache.name), cache.accesses);
        put(format!("walk_cache.{}.hits", cache.name), cache.hits);
    }
    for (kind, walks) in [("walk", &outcome.walks), ("prefetch", &outcome.prefetch_walks)] {
        put(format!("{kind}.walks"), walks.walks);
        for level in 0..5 {
            put(format!("{kind}.steps.{}", level + 1), walks.steps[level]);
            put(format!("{kind}.host_steps.{}", level + 1), walks.host_steps[level]);
        }
        put(format!("{kind}.steps_from_memory"), walks.steps_from_memory);
        put(format!("{kind}.cycles"), walks.cycles);
    }
    put("prefetch.used".to_owned(), outcome.prefetches_used);
    put("lookup_cycles".to_owned(), outcome.lookup_cycles);
    put("switches".to_owned(), outcome.switches);
    put("asids_taken".to_owned(), outcome.asids_taken);
    put("flushes".to_owned(), outcome.flushes);
    put("page_flushes".to_owned(), outcome.page_flushes);
    counts
}

fn take(simulator: &mut Simulator, naive: &mut Naive, step: &Step) {
    match step {
        Step::Refer { page, fetch, times } => {
            let run = PageRun { page: *page, count: *times, fetch: *fetch, written: false };
            simulator.runs(&[run]);
            (0..*times).for_each(|_| naive.refer(*page, *fetch));
        }
        Step::All(pages) => {
            simulator.runs(&data(pages));
            pages.iter().for_each(|page| naive.refer(*page, false));
        }
        Step::Runs(pages) => {
            let run = |(page, fetch): &(u64, bool)| PageRun {
                page: *page,
                count: 2,
                fetch: *fetch,
                written: false,
            };
            simulator.runs(&pages.iter().map(run).collect::<Vec<_>>());
            for (page, fetch) in pages {
                naive.refer(*page, *fetch);
                naive.refer(*page, *fetch);
            }
        }
        Step::Switch { process, thread } => {
            simulator.switch(*process, *thread);
            naive.switch(*process, *thread);
        }
        Step::Event(event) => {
            simulator.event(event);
            naive.event(event);
        }
    }
}

/// What each TLB holds, in the naive model's words.
fn contents(simulator: &Simulator, core: usize) -> Vec<Vec<Key>> {
    let key = |entry: u64| (entry >> 47, 9 * (entry >> 45 & 3) as u32, entry & ((1 << 45) - 1));
    let tlbs = simulator.contents(core).into_iter();
    tlbs.map(|entries| {
        let mut keys: Vec<_> = entries.into_iter().map(key).collect();
        keys.sort_unstable();
        keys
    })
    .collect()
}

/// Entries and ways that go together.
fn shape() -> impl Strategy<Value = (u32, u32)> {
    (0..3u32, prop_oneof![Just(1), Just(2), Just(3), Just(4), Just(5), Just(8), Just(18)])
        .prop_map(|(sets, ways)| ((1 << sets) * ways, ways))
}

fn policy(ways: u32) -> impl Strategy<Value = &'static str> {
    let fits = move |policy: &&str| *policy != "plru" || ways.is_power_of_two();
    proptest::sample::select(Policy::ALL.iter().map(|policy| policy.name()).collect::<Vec<_>>())
        .prop_filter("ways", fits)
}

fn tlb(
    name: &'static str,
    level: u32,
    serves: &'static str,
    pages: &'static str,
) -> impl Strategy<Value = String> {
    let index = proptest::sample::select(vec!["low", "xor"]);
    let lines = shape().prop_flat_map(|(entries, ways)| (Just((entries, ways)), policy(ways)));
    (lines, index, 0..9u32).prop_map(move |(((entries, ways), policy), index, cycles)| {
        format!(
            "[[tlb]]\nname = \"{name}\"\nlevel = {level}\nserves = \"{serves}\"\n\
             pages = [{pages}]\nentries = {entries}\nways = {ways}\npolicy = \"{policy}\"\n\
             index = \"{index}\"\nlookup_cycles = {cycles}\n"
        )
    })
}

/// Arrays of split and unified levels, of shared and own sizes.
fn tlbs() -> impl Strategy<Value = String> {
    let first = prop_oneof![
        tlb("L1", 1, "both", "\"4K\", \"2M\", \"1G\""),
        tlb("L1", 1, "both", "\"4K\""),
        (tlb("L1I", 1, "fetch", "\"4K\", \"2M\""), tlb("L1D", 1, "data", "\"4K\", \"1G\""))
            .prop_map(|(fetch, data)| fetch + &data),
        (
            tlb("L1I", 1, "fetch", "\"4K\""),
            tlb("L1D", 1, "data", "\"4K\""),
            tlb("L1 2M", 1, "both", "\"2M\""),
        )
            .prop_map(|(fetch, data, huge)| fetch + &data + &huge),
    ];
    let second = prop_oneof![
        Just(String::new()),
        tlb("L2", 2, "both", "\"4K\", \"2M\""),
        (tlb("L2I", 2, "fetch", "\"4K\""), tlb("L2D", 2, "data", "\"4K\", \"2M\""))
            .prop_map(|(fetch, data)| fetch + &data),
        (
            tlb("L2", 2, "both", "\"4K\""),
            tlb("L2 1G", 2, "both", "\"1G\""),
            tlb("L3", 3, "both", "\"4K\"")
        )
            .prop_map(|(second, giant, third)| second + &giant + &third),
    ];
    (first, second).prop_map(|(first, second)| first + &second)
}

fn walk_cache(table: u32) -> impl Strategy<Value = String> {
    let lines = shape().prop_flat_map(|(entries, ways)| (Just((entries, ways)), policy(ways)));
    let cache = lines.prop_map(move |((entries, ways), policy)| {
        format!(
            "[[walk_cache]]\nname = \"table {table}\"\ntable = {table}\nentries = {entries}\n\
             ways = {ways}\npolicy = \"{policy}\"\n"
        )
    });
    prop_oneof![Just(String::new()), cache]
}

fn machine() -> impl Strategy<Value = String> {
    let caches = (walk_cache(2), walk_cache(3), walk_cache(4), walk_cache(5));
    let nested = prop_oneof![Just(0), 1..6u32];
    let next = proptest::sample::select(vec!["none", "next-page"]);
    (0..4u32, next, tlbs(), caches, nested, (4..6u32, 1..12u32)).prop_map(
        |(asids, prefetch, tlbs, (low, middle, high, top), nested, (levels, lines))| {
            let top = if levels == 5 { top } else { String::new() };
            let nested = match nested {
                0 => String::new(),
                entries => format!("[nested]\nentries = {entries}\n"),
            };
            format!(
                "kind = \"tlb\"\nabout = \"random\"\nasids = {asids}\nprefetch = \"{prefetch}\"\n\
                 {tlbs}{high}{top}{low}{middle}{nested}[walk]\nlevels = {levels}\nstart_cycles = 3\n\
                 cached_cycles = 10\nmemory_cycles = 100\ncached_lines = {lines}\n"
            )
        },
    )
}

fn options() -> impl Strategy<Value = BTreeMap<&'static str, String>> {
    fn one_of(
        name: &'static str,
        values: &[&'static str],
    ) -> impl Strategy<Value = Option<(&'static str, String)>> + use<> {
        let some = proptest::sample::select(values.to_vec())
            .prop_map(move |value| Some((name, value.to_owned())));
        prop_oneof![Just(None), some]
    }
    (
        one_of("pages", &["small", "thp", "thp", "all", "1g"]),
        one_of("virtualized", &["yes", "no"]),
        one_of("host-pages", &["4K", "2M", "1G"]),
        one_of("cores", &["1", "2", "3"]),
        one_of("asids", &["0", "1", "2"]),
        one_of("policy", &["lru", "fifo", "plru", "nru", "random"]),
        one_of("share", &["none", "tables", "translations"]),
        one_of("flush-ceiling", &["0", "2", "33"]),
        one_of("levels", &["4", "5"]),
        any::<u64>(),
    )
        .prop_map(
            |(pages, virtualized, host, cores, asids, policy, share, ceiling, levels, seed)| {
                let mut options = BTreeMap::from([("seed", seed.to_string())]);
                let chosen =
                    [pages, virtualized, host, cores, asids, policy, share, ceiling, levels];
                options.extend(chosen.into_iter().flatten());
                options
            },
        )
}

/// Pages that meet in sets, in tables of all levels, and in the middle of 2 MiB pages.
fn page() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => 0..24u64,
        4 => 500..530u64,
        2 => (0..3u64, 0..4u64).prop_map(|(table, page)| table << 9 | page),
        1 => (0..3u64, 0..3u64).prop_map(|(table, page)| table << 18 | page),
        1 => (0..3u64, 0..3u64).prop_map(|(table, page)| table << 27 | page),
        1 => (0..3u64, 0..2u64).prop_map(|(table, page)| table << 36 | page),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let refer = (page(), any::<bool>(), 1..3u32).prop_map(|(page, fetch, times)| Step::Refer {
        page,
        fetch,
        times,
    });
    prop_oneof![
        30 => refer,
        3 => proptest::collection::vec(page(), 0..6).prop_map(Step::All),
        3 => proptest::collection::vec((page(), any::<bool>()), 0..6).prop_map(Step::Runs),
        3 => (0..4u32, 0..2u32).prop_map(|(process, thread)| Step::Switch { process, thread }),
        5 => event().prop_map(Step::Event),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let bytes = prop_oneof![0..20_000u64, Just(0x20_0000), Just(0x40_0000), Just(0x22_3456)];
    let address = prop_oneof![page().prop_map(|page| page << 12), 0..0x40_0000u64];
    prop_oneof![
        4 => (address.clone(), bytes.clone(), any::<bool>(), any::<bool>()).prop_map(
            |(address, length_bytes, file, shared)| Event::Map { address, length_bytes, file, shared }
        ),
        2 => Just(Event::Map { address: 0, length_bytes: 0x40_0000, file: false, shared: false }),
        1 => Just(Event::Map { address: 0, length_bytes: 0x40_0000, file: true, shared: false }),
        4 => (address.clone(), bytes)
            .prop_map(|(address, length_bytes)| Event::Unmap { address, length_bytes }),
        // The naive model lists all pages of the heap, so it is small.
        3 => (0..0x80_0000u64).prop_map(|address| Event::Break { address }),
        2 => (0..4u32).prop_map(|child| Event::Fork { child }),
        1 => Just(Event::Exit),
        1 => Just(Event::Program { command: "next".to_owned() }),
    ]
}
