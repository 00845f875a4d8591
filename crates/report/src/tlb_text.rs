//! What a trace came to on a machine with TLBs.

use mmu::tlb::{Outcome, WalkOutcome};
use render::format::grouped;
use render::{Block, Cell, Document, Table};
use serde::Serialize;

/// A run on TLBs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TlbRun<'a> {
    /// What the machine is.
    pub machine: &'a str,
    /// What ran: a trace's file, a command.
    pub subject: &'a str,
    /// What was set otherwise than by default, as `name=value`.
    pub set: &'a [String],
    /// Records of the trace that could not be read.
    pub bad_records: u64,
    /// Whether the trace was read to its proper end.
    pub complete: bool,
    /// What was counted.
    pub outcome: &'a Outcome,
}

/// A row a TLB, page walks by level of table, walk caches, and cycles.
#[must_use]
pub fn tlb_document<'a>(run: &'a TlbRun<'a>) -> Document<'a> {
    let outcome = run.outcome;
    let references = grouped(outcome.references);
    let fetches = percent(outcome.fetches, outcome.references);
    let facts = [
        ("program", run.subject.to_owned()),
        ("machine", run.machine.to_owned()),
        ("settings", run.set.join(", ")),
        ("references", format!("{references}, {fetches} of them fetches")),
    ];
    let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
    let facts = facts.map(|(name, value)| (name.to_owned(), value)).collect();
    let mut document = Document { facts, ..Document::default() }.with_data(run);
    document.push(tlbs(outcome));
    let note = "missed: share of accesses; per 1000: misses per thousand references";
    document.push(Block::Notes(vec![note.to_owned()]));
    walks(&mut document, "Page walks", &outcome.walks, outcome.references);
    if !outcome.walk_caches.is_empty() || outcome.nested.is_some() {
        let mut table = Table::new("", ["walk cache", "lookups", "hits"]);
        for cache in outcome.walk_caches.iter().chain(&outcome.nested) {
            let hits = percent(cache.hits, cache.accesses);
            table.row([Cell::from(&cache.name), count(cache.accesses), Cell::figure(hits)]);
        }
        document.push(table);
    }
    let prefetches = &outcome.prefetch_walks;
    if prefetches.walks > 0 {
        walks(&mut document, "Prefetches", prefetches, outcome.references);
        let used = percent(outcome.prefetches_used, prefetches.walks);
        let used = format!("{used} of the prefetched translations were used before eviction.");
        document.push(Block::Sentence(used));
    }
    document.push(costs(outcome));
    if outcome.switches + outcome.flushes + outcome.page_flushes > 0 {
        document.push(Block::Sentence(format!(
            "{} switches of processes, {} address-space numbers taken, {} flushes of address \
             spaces, {} of single pages.",
            grouped(outcome.switches),
            grouped(outcome.asids_taken),
            grouped(outcome.flushes),
            grouped(outcome.page_flushes),
        )));
    }
    document
}

fn tlbs(outcome: &Outcome) -> Table {
    let names = ["TLB", "level", "serves", "pages", "entries", "ways"];
    let counts = ["accesses", "misses", "missed", "per 1000", "evictions", "flushed"];
    let mut table = Table::new("", names.into_iter().chain(counts));
    for tlb in &outcome.tlbs {
        table.row([
            Cell::from(&tlb.name),
            Cell::count(tlb.level.into()),
            tlb.serves.into(),
            tlb.pages.join("+").into(),
            tlb.entries.into(),
            tlb.ways.into(),
            count(tlb.accesses),
            count(tlb.misses),
            Cell::figure(percent(tlb.misses, tlb.accesses)),
            Cell::figure(ratio(1000 * tlb.misses, outcome.references)),
            count(tlb.evictions),
            count(tlb.flushed),
        ]);
    }
    table
}

fn walks(document: &mut Document<'_>, name: &str, walks: &WalkOutcome, references: u64) {
    let share = percent(walks.walks, references);
    let caption = format!("{name}: {}, {share} of references", grouped(walks.walks));
    if walks.walks == 0 {
        return document.push(Block::Sentence(caption));
    }
    let mut table = Table::new(caption, ["page-table level", "entries read", "per walk"]);
    let mut row = |name: String, steps: u64| {
        table.row([name.into(), count(steps), Cell::figure(ratio(steps, walks.walks))]);
    };
    for (whose, steps) in [("", &walks.steps), ("host's ", &walks.host_steps)] {
        for (level, steps) in (1..).zip(steps).filter(|(_, steps)| **steps > 0) {
            row(format!("{whose}{level}"), *steps);
        }
    }
    let all = walks.all_steps();
    row("together".to_owned(), all);
    document.push(table);
    document.push(Block::Sentence(format!(
        "{} of the entries came from memory; a walk took {} cycles.",
        percent(walks.steps_from_memory, all),
        ratio(walks.cycles, walks.walks)
    )));
}

fn costs(outcome: &Outcome) -> Table {
    let mut table = Table::new("", ["cycles of translation", "per reference", "all"]);
    for (name, cycles) in [
        ("lookups", outcome.lookup_cycles),
        ("page walks", outcome.walks.cycles),
        ("together", outcome.lookup_cycles + outcome.walks.cycles),
    ] {
        table.row([name.into(), Cell::figure(ratio(cycles, outcome.references)), cycles.into()]);
    }
    table
}

fn count(count: u64) -> Cell {
    Cell::figure(grouped(count))
}

/// A share with two decimals; `-` of nothing.
fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{} %", ratio(part.saturating_mul(100), whole)),
    }
}

/// A quotient with two decimals, rounded half up; exact whatever the platform.
fn ratio(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    let hundredths = (200 * part + whole) / (2 * whole);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
