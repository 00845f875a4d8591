//! What a trace came to on a machine with TLBs, as text.

use mmu::tlb::{CacheOutcome, Outcome, TlbOutcome, WalkOutcome};

use crate::columns::{aligned, to_the_right};

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlbView<'a> {
    /// What the machine is.
    pub machine: &'a str,
    /// What ran: a trace's file, a command.
    pub subject: &'a str,
    /// What was set otherwise than by default, as `name=value`.
    pub set: &'a [String],
}

/// What ran where, a row a TLB, page walks by level of table, walk caches, and cycles. Ends in a
/// newline.
#[must_use]
pub fn tlb_text(outcome: &Outcome, view: &TlbView<'_>) -> String {
    let mut text = format!("{} on {}\n", view.subject, view.machine);
    if !view.set.is_empty() {
        text += &format!("with {}\n", view.set.join(", "));
    }
    text += &format!(
        "{} references, {} of them fetches\n\n{}",
        grouped(outcome.references),
        percent(outcome.fetches, outcome.references),
        tlbs(outcome),
    );
    text += &format!("\n{}", walks("page walks", &outcome.walks, outcome.references));
    if !outcome.walk_caches.is_empty() || outcome.nested.is_some() {
        text += &format!("\n{}", caches(outcome));
    }
    if outcome.prefetch_walks.walks > 0 {
        let prefetches = &outcome.prefetch_walks;
        text += &format!("\n{}", walks("prefetches", prefetches, outcome.references));
        text += &format!(
            "{} of them were used before they made room\n",
            percent(outcome.prefetches_used, prefetches.walks)
        );
    }
    text + &costs(outcome)
}

fn tlbs(outcome: &Outcome) -> String {
    let heading = [
        "TLB",
        "level",
        "serves",
        "pages",
        "entries",
        "ways",
        "accesses",
        "misses",
        "missed",
        "per 1000",
        "evictions",
        "flushed",
    ];
    let row = |tlb: &TlbOutcome| {
        vec![
            tlb.name.clone(),
            tlb.level.to_string(),
            tlb.serves.to_owned(),
            tlb.pages.join("+"),
            tlb.entries.to_string(),
            tlb.ways.to_string(),
            grouped(tlb.accesses),
            grouped(tlb.misses),
            percent(tlb.misses, tlb.accesses),
            ratio(1000 * tlb.misses, outcome.references),
            grouped(tlb.evictions),
            grouped(tlb.flushed),
        ]
    };
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(outcome.tlbs.iter().map(row));
    to_the_right(&rows) + "missed: of accesses; per 1000: misses per thousand references\n"
}

fn walks(name: &str, walks: &WalkOutcome, references: u64) -> String {
    let mut text = format!(
        "{name}: {}, {} of references\n",
        grouped(walks.walks),
        percent(walks.walks, references)
    );
    if walks.walks == 0 {
        return text;
    }
    let mut rows = vec![["entries of table", "read", "per walk"].map(str::to_owned).to_vec()];
    for (whose, steps) in [("", &walks.steps), ("host's ", &walks.host_steps)] {
        for (index, count) in steps.iter().enumerate().filter(|(_, count)| **count > 0) {
            let name = format!("{whose}{}", index + 1);
            rows.push(vec![name, grouped(*count), ratio(*count, walks.walks)]);
        }
    }
    let all = walks.all_steps();
    rows.push(vec!["together".to_owned(), grouped(all), ratio(all, walks.walks)]);
    text += &to_the_right(&rows);
    text + &format!(
        "{} of the entries came from memory; a walk took {} cycles\n",
        percent(walks.steps_from_memory, all),
        ratio(walks.cycles, walks.walks)
    )
}

fn caches(outcome: &Outcome) -> String {
    let mut rows = vec![["walk cache", "asked", "found"].map(str::to_owned).to_vec()];
    let row = |cache: &CacheOutcome| {
        vec![cache.name.clone(), grouped(cache.accesses), percent(cache.hits, cache.accesses)]
    };
    rows.extend(outcome.walk_caches.iter().chain(&outcome.nested).map(row));
    to_the_right(&rows)
}

fn costs(outcome: &Outcome) -> String {
    let rows = [
        vec!["cycles of translation".to_owned(), "per reference".to_owned(), "all".to_owned()],
        cost("lookups", outcome.lookup_cycles, outcome),
        cost("page walks", outcome.walks.cycles, outcome),
        cost("together", outcome.lookup_cycles + outcome.walks.cycles, outcome),
    ];
    let mut text = format!("\n{}", aligned(&rows));
    if outcome.switches + outcome.flushes + outcome.page_flushes > 0 {
        text += &format!(
            "\n{} switches of processes, {} address-space numbers taken, {} flushes of address \
             spaces, {} of single pages\n",
            grouped(outcome.switches),
            grouped(outcome.asids_taken),
            grouped(outcome.flushes),
            grouped(outcome.page_flushes),
        );
    }
    text
}

fn cost(name: &str, cycles: u64, outcome: &Outcome) -> Vec<String> {
    vec![name.to_owned(), ratio(cycles, outcome.references), cycles.to_string()]
}

/// `1 234 567`.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
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
