//! The simulation of a trace on a machine with TLBs.

use mmu::tlb::{Outcome, WalkOutcome};
use render::format::grouped;
use render::{Block, Cell, Document, Table};
use serde::Serialize;

/// A simulation of TLBs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TlbRun<'a> {
    /// The machine.
    pub machine: &'a str,
    /// The file of the trace, or the command.
    pub subject: &'a str,
    /// Settings that are not the default, as `name=value`.
    pub set: &'a [String],
    /// Number of unreadable records of the trace.
    pub bad_records: u64,
    /// Whether the trace was read to its end.
    pub complete: bool,
    /// The counts.
    pub outcome: &'a Outcome,
}

/// Tables of TLBs, page walks by level, walk caches, and cycles.
pub fn tlb_document<'a>(run: &'a TlbRun<'a>) -> Document<'a> {
    let outcome = run.outcome;
    let references = grouped(outcome.references);
    let fetches = percent(outcome.fetches, outcome.references);
    let mut document = Document::of(vec![tlbs(outcome).into()]).with_facts([
        ("program", run.subject.to_owned()),
        ("machine", run.machine.to_owned()),
        ("settings", run.set.join(", ")),
        ("references", format!("{references}, {fetches} of them fetches")),
    ]);
    let note = "missed: share of accesses; per 1000: misses per thousand references";
    document.push(Block::Notes(vec![note.to_owned()]));
    document.blocks.extend(walks("Page walks", &outcome.walks, outcome.references));
    let caches = outcome.walk_caches.iter().chain(&outcome.nested).map(|cache| {
        let hits = Cell::figure(percent(cache.hits, cache.accesses));
        [Cell::from(&cache.name), Cell::grouped(cache.accesses), hits]
    });
    let caches = Table::of("", ["walk cache", "lookups", "hits"], caches);
    document.blocks.extend((!caches.rows.is_empty()).then_some(Block::Table(caches)));
    let prefetches = &outcome.prefetch_walks;
    if prefetches.walks > 0 {
        document.blocks.extend(walks("Prefetches", prefetches, outcome.references));
        let used = percent(outcome.prefetches_used, prefetches.walks);
        document.push(format!("{used} of the prefetched translations were used before eviction."));
    }
    document.push(costs(outcome));
    if outcome.switches + outcome.flushes + outcome.page_flushes > 0 {
        let Outcome { switches, asids_taken, flushes, page_flushes, .. } = *outcome;
        let [switches, taken, flushes, pages] =
            [switches, asids_taken, flushes, page_flushes].map(grouped);
        document.push(format!(
            "{switches} switches of processes, {taken} address-space numbers taken, {flushes} \
             flushes of address spaces, {pages} of single pages."
        ));
    }
    document.with_data(run)
}

fn tlbs(outcome: &Outcome) -> Table {
    let names = ["TLB", "level", "serves", "pages", "entries", "ways"];
    let counts = ["accesses", "misses", "missed", "per 1000", "evictions", "flushed"];
    let rows = outcome.tlbs.iter().map(|tlb| {
        [
            Cell::from(&tlb.name),
            Cell::Count(tlb.level.into()),
            tlb.serves.into(),
            tlb.pages.join("+").into(),
            tlb.entries.into(),
            tlb.ways.into(),
            Cell::grouped(tlb.accesses),
            Cell::grouped(tlb.misses),
            Cell::figure(percent(tlb.misses, tlb.accesses)),
            Cell::figure(ratio(1000 * tlb.misses, outcome.references)),
            Cell::grouped(tlb.evictions),
            Cell::grouped(tlb.flushed),
        ]
    });
    Table::of("", names.into_iter().chain(counts), rows)
}

fn walks(name: &str, walks: &WalkOutcome, references: u64) -> Vec<Block> {
    let share = percent(walks.walks, references);
    let caption = format!("{name}: {}, {share} of references", grouped(walks.walks));
    if walks.walks == 0 {
        return vec![caption.into()];
    }
    let named = [("", &walks.steps), ("host's ", &walks.host_steps)].into_iter();
    let levels = named.flat_map(|(whose, steps)| {
        let levels = (1..).zip(steps).filter(|(_, steps)| **steps > 0);
        levels.map(move |(level, steps)| (format!("{whose}{level}"), *steps))
    });
    let all = walks.all_steps();
    let rows = levels.chain([("together".to_owned(), all)]).map(|(name, steps)| {
        [name.into(), Cell::grouped(steps), Cell::figure(ratio(steps, walks.walks))]
    });
    let table = Table::of(caption, ["page-table level", "entries read", "per walk"], rows);
    let memory = percent(walks.steps_from_memory, all);
    let cycles = ratio(walks.cycles, walks.walks);
    let text = format!("{memory} of the entries came from memory; a walk took {cycles} cycles.");
    vec![table.into(), text.into()]
}

fn costs(outcome: &Outcome) -> Table {
    let rows = [
        ("lookups", outcome.lookup_cycles),
        ("page walks", outcome.walks.cycles),
        ("together", outcome.lookup_cycles + outcome.walks.cycles),
    ];
    let rows = rows.map(|(name, cycles)| {
        [name.into(), Cell::figure(ratio(cycles, outcome.references)), cycles.into()]
    });
    Table::of("", ["cycles of translation", "per reference", "all"], rows)
}

fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{} %", ratio(part.saturating_mul(100), whole)),
    }
}

/// A quotient with two decimals, rounded half up, equal on all platforms.
fn ratio(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    let hundredths = (200 * part + whole) / (2 * whole);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
