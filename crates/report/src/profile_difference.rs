//! Two profiles of deterministic guests: which functions account for the difference.

use profile::{Culprit, Difference};
use render::format::grouped;
use render::{Block, Cell, Document, Table, Tone, Verdict};

use crate::profile_document::{ProfileView, part};

/// Most functions in the table below another result.
const MOST_BELOW_A_RESULT: usize = 10;

/// Which functions account for the difference between two profiles.
pub fn profile_difference_document(
    first: &ProfileView<'_>,
    second: &ProfileView<'_>,
) -> Document<'static> {
    let [one, other] = [first, second].map(|view| {
        let counts = view.profile.select(view.selection);
        view.profile.functions(&counts)
    });
    let difference = Difference::between(&one, &other);
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
    document.with_data(difference)
}

/// The same below another result, that of two runs with these names.
pub fn difference_blocks(names: [&str; 2], difference: &Difference) -> Vec<Block> {
    let text = sentence(names[0], names[1], difference);
    vec![Block::Sentence(text), difference_table(difference, MOST_BELOW_A_RESULT).into()]
}

fn sentence(first: &str, second: &str, difference: &Difference) -> String {
    let more = difference.second as i64 - difference.first as i64;
    let direction = if more < 0 { "fewer" } else { "more" };
    let culprit = difference.culprit.as_ref().map(in_function).unwrap_or_default();
    format!(
        "{second} executes {} instructions {direction} than {first} ({} against {}){culprit}.",
        grouped(more.unsigned_abs()),
        grouped(difference.second),
        grouped(difference.first),
    )
}

/// Where most of a difference is.
fn in_function(culprit: &Culprit) -> String {
    let Culprit { name, first, second, share } = culprit;
    let percent = (100.0 * share).round();
    let each = |(instructions, entries): (u64, u64)| grouped(instructions / entries.max(1));
    let (before, after) = (each(*first), each(*second));
    format!(", {percent} % of it in {name} and what it calls: {before} to {after} an entry")
}

fn difference_table(difference: &Difference, most: usize) -> Table {
    let head = ["function", "first", "second", "difference", "share of the difference", ""];
    let caption = match difference.functions.len() > most {
        true => format!("{most} of {} functions that differ", difference.functions.len()),
        false => String::new(),
    };
    let mut table = Table::new(caption, head);
    let signed = |more: i64| {
        let sign = if more < 0 { "-" } else { "+" };
        Cell::Figure(format!("{sign}{}", grouped(more.unsigned_abs())))
    };
    let share = |share: Option<f64>| Cell::decimals(share.map(|share| 100.0 * share), 1);
    for function in difference.functions.iter().take(most) {
        let mark = match (function.first, function.second) {
            (None, _) => "new",
            (_, None) => "gone",
            _ => "",
        };
        table.row([
            Cell::from(&function.name),
            function.first.map(Cell::grouped).into(),
            function.second.map(Cell::grouped).into(),
            signed(function.more),
            share(function.share),
            mark.into(),
        ]);
    }
    let rest = difference.functions.iter().skip(most);
    let (count, more) = rest.fold((0, 0), |(count, more), it| (count + 1, more + it.more));
    if count > 0 {
        let all = difference.second as i64 - difference.first as i64;
        let part = (all != 0).then(|| more as f64 / all as f64);
        let name = format!("{count} others");
        let blank = Cell::blank;
        table.row([name.into(), blank(), blank(), signed(more), share(part), "".into()]);
    }
    table
}
