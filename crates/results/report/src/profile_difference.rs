//! Two profiles of deterministic guests: which functions account for the difference.

use profile::{Counted, Culprit, Difference, FunctionChange, FunctionChanges};
use render::format::grouped;
use render::{Block, Cell, Document, Table, Tone, Verdict, format};
use serde::Serialize;

use crate::figures::{count_words, in_percent, most_of, noun, signed_words};
use crate::memory_profile::MemoryDifference;
use crate::profile_document::{ProfileView, part};

/// Two profiles in instructions, and in what translations cost if that was simulated.
#[derive(Serialize)]
struct DifferenceData {
    #[serde(flatten)]
    difference: Difference,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryDifference>,
}

/// Most functions in a sentence.
const MOST_NAMED: usize = 3;
/// Most functions in the table below another result.
const MOST_BELOW_A_RESULT: usize = 10;

/// Which functions account for the difference between two profiles.
pub fn profile_difference_document(
    first: &ProfileView<'_>,
    second: &ProfileView<'_>,
) -> Document<'static> {
    let functions = [first, second].map(|view| view.profile.comparable_functions(view.selection));
    let is_per_command = first.profile.is_mean(first.selection);
    let difference = Difference { is_per_command, ..Difference::of(&[functions]) };
    let text = sentence(first.run_id, second.run_id, &difference);
    let mut document = Document {
        title: format!("From {} to {}", first.run_id, second.run_id),
        verdicts: vec![Verdict { text, tone: Tone::Plain }],
        ..Document::default()
    }
    .with_facts([
        ("part", part(first.profile, first.selection)),
        ("counts of the first", first.proof.to_owned()),
        ("counts of the second", second.proof.to_owned()),
    ]);
    document.push(difference_table(&difference, first.most_functions));
    let memory = first
        .memory
        .map(|_| MemoryDifference::between([first, second].map(|it| (it.profile, it.selection))));
    memory.iter().for_each(|memory| {
        document.blocks.extend(memory.blocks([first.run_id, second.run_id], first.most_functions));
    });
    document.with_data(DifferenceData { difference, memory })
}

/// A result with the functions that account for a difference in it, that of two things with these names;
/// `result` is its data.
pub fn with_functions<'a>(
    mut document: Document<'a>,
    result: impl Serialize + 'a,
    names: [&str; 2],
    difference: Difference,
) -> Document<'a> {
    let functions = functions_document(names, &difference);
    if let (Some(brief), Some(of_functions)) = (&mut document.brief, functions.brief) {
        brief.blocks.extend(of_functions.blocks);
    }
    document.blocks.extend(functions.blocks);
    document.with_data(WithFunctions { result, functions: difference })
}

#[derive(Serialize)]
struct WithFunctions<T> {
    #[serde(flatten)]
    result: T,
    functions: Difference,
}

/// The functions that account for a difference between two things with these names: sentences, and
/// with all details their table.
pub fn functions_document(names: [&str; 2], difference: &Difference) -> Document<'static> {
    let brief = sentences(names, difference).into_iter().map(Block::Sentence).collect();
    Document::of(difference_blocks(names, difference)).with_brief(Document::of(brief))
}

/// The functions that account for the difference between two runs with these names, as blocks below
/// another result.
pub fn difference_blocks(names: [&str; 2], difference: &Difference) -> Vec<Block> {
    let mut blocks: Vec<Block> =
        sentences(names, difference).into_iter().map(Block::Sentence).collect();
    blocks.push(difference_table(difference, MOST_BELOW_A_RESULT).into());
    blocks
}

/// The whole difference with the functions that account for it, then what else is known of functions.
fn sentences(names: [&str; 2], difference: &Difference) -> Vec<String> {
    let mut all = vec![sentence(names[0], names[1], difference)];
    let Some(changes) = &difference.changes else { return all };
    let is_other = |it: &&FunctionChange| it.counted != difference.counted;
    let others = changes.named().filter(is_other).take(MOST_NAMED);
    all.extend(others.map(|it| {
        let kind = if it.counted == Counted::OnCpuNs { "The time on a CPU" } else { "The waiting" };
        format!("{kind} of {} changed, too: {}.", it.function, amounts(it))
    }));
    let moved = changes.changes.iter().filter_map(|it| Some((it, it.moved_within.as_ref()?)));
    all.extend(moved.take(MOST_NAMED).map(|(it, within)| {
        let function = &it.function;
        format!("Moved, not slower: {function} ({}), as {within} did not follow.", amounts(it))
    }));
    all.extend(nothing_found(difference.counted, changes));
    all
}

/// What would have been found, if nothing was.
fn nothing_found(counted: Counted, changes: &FunctionChanges) -> Option<String> {
    if !changes.changes.is_empty() {
        return None;
    }
    let seen = changes.smallest_seen.iter().find(|it| it.counted == counted);
    let chance = format::share(changes.level);
    Some(match seen {
        Some(seen) => format!(
            "No function accounts for it: a change of {} in any one of {} would have been found in \
             nine of ten cases, with a chance of {chance} of naming a wrong one.",
            count_words(seen.ns, counted),
            changes.tested
        ),
        None => format!(
            "No function accounts for it: so few runs name none with a chance of {chance} of \
             naming a wrong one."
        ),
    })
}

/// The time of a function before and after, with the interval of the difference.
fn amounts(change: &FunctionChange) -> String {
    let FunctionChange { first_ns, second_ns, interval_ns, counted, .. } = change;
    let [before, after] = [first_ns, second_ns].map(|ns| count_words(*ns, *counted));
    let interval =
        interval_ns.map_or_else(String::new, |it| format!(" [{}]", between(it, *counted)));
    format!("{before} to {after}{interval}")
}

/// The functions with parts of a difference.
fn in_functions(counted: Counted, changes: &FunctionChanges) -> String {
    let named = changes.named().filter(|it| it.counted == counted).take(MOST_NAMED);
    let named = named.map(|it| {
        let FunctionChange { function, first_ns, second_ns, share, share_interval, .. } = it;
        let [before, after] = [first_ns, second_ns].map(|ns| count_words(*ns, counted));
        let part = match (share, share_interval) {
            (Some(share), Some(interval)) => {
                format!("{} {} of it", format::share(*share), in_percent(*interval))
            }
            _ => {
                let more = *second_ns as i64 - *first_ns as i64;
                signed_words(more, counted)
            }
        };
        format!("{part} in {function} and what it calls: {before} to {after}")
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() { String::new() } else { format!(", {}", named.join("; ")) }
}

fn sentence(first: &str, second: &str, difference: &Difference) -> String {
    let more = difference.second as i64 - difference.first as i64;
    let counted = difference.counted;
    let culprit = difference.culprit.as_ref();
    let culprit = match &difference.changes {
        Some(changes) => in_functions(counted, changes),
        None => culprit.map(in_function).unwrap_or_default(),
    };
    let each = if difference.is_per_command { " for each command" } else { "" };
    let mean = match difference.interval {
        None => String::new(),
        Some(interval) => {
            let chance = match interval.0 <= 0.0 && interval.1 >= 0.0 {
                true => ", which may be chance",
                false => "",
            };
            let pairs = difference.pairs;
            let interval = between(interval, counted);
            format!(", on average of {pairs} pairs of runs [{interval}]{chance}")
        }
    };
    let [amount, now, before] = [more.unsigned_abs(), difference.second, difference.first]
        .map(|count| count_words(count, counted));
    let verb = match counted {
        Counted::Instructions => "executes",
        Counted::OnCpuNs => "is on a CPU for",
        Counted::WaitsNs => "waits for",
    };
    let fewer = if counted == Counted::Instructions { "fewer" } else { "less" };
    let (noun, direction) = (noun(counted), if more < 0 { fewer } else { "more" });
    format!(
        "{second} {verb} {amount}{noun} {direction}{each} than {first} ({now} against \
         {before}){mean}{culprit}."
    )
}

/// The ends of an interval of differences.
fn between((low, high): (f64, f64), counted: Counted) -> String {
    [low, high].map(|end| signed_words(end.round() as i64, counted)).join(", ")
}

/// Where most of a difference is.
fn in_function(culprit: &Culprit) -> String {
    let Culprit { name, first, second, share } = culprit;
    let percent = (100.0 * share).round();
    let each = |(instructions, entries): (u64, u64)| grouped(instructions / entries.max(1));
    let (before, after) = (each(*first), each(*second));
    let entries = match first.1 == second.1 {
        true => String::new(),
        false => format!(", entered {} instead of {} times", grouped(second.1), grouped(first.1)),
    };
    format!(
        ", {percent} % of it in {name} and what it calls: {before} to {after} an entry{entries}"
    )
}

fn difference_table(difference: &Difference, most: usize) -> Table {
    let mut head = vec!["function", "first", "second", "difference", "share of the difference", ""];
    if difference.interval.is_some() {
        head.insert(4, "[95 %]");
    }
    let caption = most_of(most, difference.functions.len(), "functions that differ");
    let mut table = Table::new(caption, head);
    let counted = difference.counted;
    let figure = |more: i64| Cell::Figure(signed_words(more, counted));
    let count = |count: Option<u64>| Cell::figure(count.map(|count| count_words(count, counted)));
    let share = |share: Option<f64>| Cell::decimals(share.map(|share| 100.0 * share), 1);
    for function in difference.functions.iter().take(most) {
        let mark = match (function.first, function.second) {
            (None, _) => "new",
            (_, None) => "gone",
            _ => "",
        };
        let mut row = vec![
            Cell::from(&function.name),
            count(function.first),
            count(function.second),
            figure(function.more),
        ];
        if difference.interval.is_some() {
            row.push(Cell::figure(function.interval.map(|ends| between(ends, counted))));
        }
        row.extend([share(function.share), mark.into()]);
        table.row(row);
    }
    let rest = difference.functions.iter().skip(most);
    let (count, more) = rest.fold((0, 0), |(count, more), it| (count + 1, more + it.more));
    if count > 0 {
        let all = difference.second as i64 - difference.first as i64;
        let part = (all != 0).then(|| more as f64 / all as f64);
        let name = format!("{count} others");
        let blank = Cell::blank;
        let mut row = vec![name.into(), blank(), blank(), figure(more)];
        row.extend(difference.interval.map(|_| blank()));
        row.extend([share(part), "".into()]);
        table.row(row);
    }
    table
}
