//! Files of every format changed in ways that do not change what was measured, or that lose a part
//! of it: the verdict stays, or the file is refused, and never turns around.

use std::collections::BTreeSet;

use analysis::Dataset;
use analysis::comparison::{Cell, Comparison, Outcome, Request, compare};
use formats::Format;
use stats::Verdict;

#[path = "mutations/other_forms.rs"]
mod other_forms;
#[path = "mutations/writers.rs"]
mod writers;

use other_forms::OTHER_FORMS;
use writers::{Content, NAMES, WRITERS, Work, Writer};

fn all() -> impl Iterator<Item = &'static Writer> {
    WRITERS.iter().chain(&OTHER_FORMS)
}

fn compared(writer: &Writer, first: &str, second: &str) -> Result<Comparison, String> {
    let read = |name: &str, text: &str| {
        Ok::<_, String>(Dataset { name: name.to_owned(), ..(writer.read)(text)? })
    };
    let sets = [read("first", first)?, read("second", second)?];
    compare(&sets, &Request::default()).map_err(|refused| refused.to_string())
}

/// The verdict on a work and the main response; `None` if it has no such cell.
fn verdict(comparison: &Comparison, name: &str) -> Option<Verdict> {
    let is_of = |cell: &&Cell| {
        let levels = cell.levels.values().any(|level| level == name);
        let is_other =
            ["high_", "sd_", "low_"].iter().any(|prefix| cell.response.starts_with(prefix));
        !matches!(cell.outcome, Outcome::Ends(_))
            && (levels || cell.response.contains(name) || cell.part.as_deref() == Some(name))
            && !is_other
            && !cell.response.contains("percent")
    };
    comparison.cells.iter().find(is_of).map(|cell| cell.verdict)
}

const STEPS: [f64; 6] = [100.25, 101.5, 102.75, 99.5, 98.25, 100.75];

/// The usual values of both works, the first times a factor.
fn content(unit: &'static str, factor: f64) -> Content {
    let values = |factor: f64, by: f64| STEPS.iter().map(|it| it * factor + by).collect();
    let [first, second] = NAMES;
    let works = vec![
        Work { name: first, values: values(factor, 0.0) },
        Work { name: second, values: values(2.0, 0.5) },
    ];
    Content { works, unit }
}

/// A content in another unit.
fn in_unit(content: &Content, unit: &'static str, factor: f64) -> Content {
    let mut changed = Content { unit, ..content.clone() };
    for value in changed.works.iter_mut().flat_map(|work| &mut work.values) {
        // Decimal figures, as programs print them.
        *value = (*value / factor * 1e6).round() / 1e6;
    }
    changed
}

/// Whether a verdict says the opposite of another, or makes one of none.
fn is_turned(before: Verdict, after: Verdict) -> bool {
    after != before && after != Verdict::CannotTell
}

/// Compares a base with a mutated text, in both orders.
fn assert_kept(writer: &Writer, what: &str, base: &Content, mutated: &str, expected: [Verdict; 2]) {
    let text = (writer.write)(base);
    let inverse = |verdict: Verdict| match verdict {
        Verdict::Regression => Verdict::Improvement,
        Verdict::Improvement => Verdict::Regression,
        other => other,
    };
    let forth = compared(writer, &text, mutated);
    let back = compared(writer, mutated, &text);
    for (found, of) in [(forth, expected), (back, expected.map(inverse))] {
        let Ok(found) = found else { continue };
        for (name, expected) in writer.names.iter().zip(of) {
            if let Some(verdict) = verdict(&found, name) {
                assert!(
                    !is_turned(expected, verdict),
                    "{}, {what}: {name} is {verdict:?}, and was {expected:?}\n{mutated}",
                    writer.name
                );
            }
        }
    }
}

/// The verdicts when the figures of the first work grow by a third.
fn grown(writer: &Writer) -> [Verdict; 2] {
    match writer.more_is_better {
        true => [Verdict::Improvement, Verdict::Equivalent],
        false => [Verdict::Regression, Verdict::Equivalent],
    }
}

/// Whether a work has a verdict. A format with too few figures may have none.
fn is_expected(writer: &Writer, found: &Comparison, name: &str, expected: Verdict) -> bool {
    let verdict = verdict(found, name);
    verdict == Some(expected) || !writer.tells && verdict == Some(Verdict::CannotTell)
}

#[test]
fn without_a_mutation_every_format_has_the_expected_verdicts() {
    for writer in all() {
        let unit = writer.units[0].0;
        let [base, other] = [1.0, 4.0 / 3.0].map(|factor| (writer.write)(&content(unit, factor)));
        let found = compared(writer, &base, &other).expect(writer.name);
        assert!(is_expected(writer, &found, writer.names[0], grown(writer)[0]), "{}", writer.name);
        assert!(is_expected(writer, &found, writer.names[1], grown(writer)[1]), "{}", writer.name);
        let same = compared(writer, &base, &base).expect(writer.name);
        for name in writer.names {
            assert!(is_expected(writer, &same, name, grown(writer)[1]), "{}", writer.name);
        }
    }
}

#[test]
fn every_format_that_is_read_is_among_them() {
    let unit = |writer: &Writer| writer.units[0].0;
    let guessed = all().filter_map(|writer| {
        let text = (writer.write)(&content(unit(writer), 1.0));
        let file = text.split(writers::FILE_END).next().unwrap_or_default();
        Format::guess(file).ok().map(|format| format.name)
    });
    let guessed: BTreeSet<&str> = guessed.collect();
    let known: BTreeSet<&str> = Format::ALL.iter().map(|format| format.name).collect();
    assert_eq!(guessed, known);
    // Both tables of the page have a row for each.
    let page = include_str!("../../../../docs/exchange.md");
    for name in known {
        let rows = page.lines().filter(|line| line.starts_with(&format!("| `{name}` |")));
        assert!(rows.count() >= 2, "{name}");
    }
}

#[test]
fn the_order_of_results_does_not_matter() {
    for writer in all() {
        let base = content(writer.units[0].0, 1.0);
        let mut swapped = content(writer.units[0].0, 4.0 / 3.0);
        swapped.works.reverse();
        let text = (writer.write)(&swapped);
        let expected = grown(writer);
        let found = compared(writer, &(writer.write)(&base), &text).expect(writer.name);
        for (name, expected) in writer.names.iter().zip(expected) {
            assert!(is_expected(writer, &found, name, expected), "{}", writer.name);
        }
        swapped.works.iter_mut().for_each(|work| work.values.reverse());
        assert_kept(writer, "reversed values", &base, &(writer.write)(&swapped), expected);
    }
}

#[test]
fn a_dropped_or_failed_result_is_not_replaced_by_another() {
    for writer in all() {
        let base = content(writer.units[0].0, 1.0);
        for (lost, name) in writer.names.iter().enumerate() {
            let mut dropped = content(writer.units[0].0, 4.0 / 3.0);
            let mut failed = dropped.clone();
            dropped.works.remove(lost);
            failed.works[lost].values.clear();
            let contents = [("dropped", dropped), ("failed", failed)];
            let contents = contents.iter().take(if writer.has_failures { 2 } else { 1 });
            for (what, changed) in contents {
                let text = (writer.write)(changed);
                let found = compared(writer, &(writer.write)(&base), &text).expect(writer.name);
                assert_eq!(verdict(&found, name), None, "{} {what}", writer.name);
                let other = 1 - lost;
                let expected = grown(writer)[other];
                assert!(
                    is_expected(writer, &found, writer.names[other], expected),
                    "{}",
                    writer.name
                );
            }
        }
    }
}

#[test]
fn a_failure_is_never_an_improvement() {
    for writer in all().filter(|it| it.has_failures && !it.name.starts_with("perf")) {
        let base = content(writer.units[0].0, 1.0);
        let mut failed = base.clone();
        failed.works[0].values.clear();
        let found =
            compared(writer, &(writer.write)(&base), &(writer.write)(&failed)).expect(writer.name);
        let ends = found.cells.iter().find(|cell| matches!(cell.outcome, Outcome::Ends(_)));
        let ends = ends.unwrap_or_else(|| panic!("{}: no outcome", writer.name));
        assert!(
            matches!(ends.verdict, Verdict::Regression | Verdict::CannotTell),
            "{}: {:?}",
            writer.name,
            ends.verdict
        );
    }
}

#[test]
fn another_unit_or_prefix_of_the_same_values_changes_nothing() {
    for writer in all() {
        let base = content(writer.units[0].0, 1.0);
        let grown_by_a_third = content(writer.units[0].0, 4.0 / 3.0);
        let expected = grown(writer);
        for (unit, factor) in writer.units.iter().filter(|(_, factor)| *factor != 0.0) {
            let text = (writer.write)(&in_unit(&grown_by_a_third, unit, *factor));
            let found = compared(writer, &(writer.write)(&base), &text).expect(writer.name);
            for (name, expected) in writer.names.iter().zip(expected) {
                assert!(is_expected(writer, &found, name, expected), "{} {unit}", writer.name);
            }
        }
        // Figures in a unit of another dimension mean something else.
        for (unit, _) in writer.units.iter().filter(|(_, factor)| *factor == 0.0) {
            let text = (writer.write)(&Content { unit, ..grown_by_a_third.clone() });
            assert!(
                compared(writer, &(writer.write)(&base), &text).is_err(),
                "{} {unit}",
                writer.name
            );
        }
    }
}

#[test]
fn copies_are_refused_or_change_nothing() {
    for writer in all() {
        let base = content(writer.units[0].0, 1.0);
        let mut changed = content(writer.units[0].0, 4.0 / 3.0);
        let expected = grown(writer);
        let text = (writer.write)(&changed);
        assert_kept(writer, "twice", &base, &format!("{text}{text}"), expected);
        let lines: String = text.lines().map(|line| format!("{line}\n{line}\n")).collect();
        assert_kept(writer, "every line twice", &base, &lines, expected);
        for work in &mut changed.works {
            work.values = work.values.iter().flat_map(|value| [*value, *value]).collect();
        }
        assert_kept(writer, "every value twice", &base, &(writer.write)(&changed), expected);
        // Three values a side cannot tell, and their copies cannot either.
        let [mut few, mut copied] = [1.0, 1.02].map(|by| content(writer.units[0].0, by));
        few.works.iter_mut().for_each(|work| work.values.truncate(3));
        for work in &mut copied.works {
            work.values.truncate(3);
            work.values = work.values.repeat(4);
        }
        let [few, copied] = [few, copied].map(|content| (writer.write)(&content));
        let found = compared(writer, &few, &copied);
        let is_refused = found.is_err() || !writer.knows_copies;
        assert!(is_refused, "{}: {:?}", writer.name, found.map(|it| it.conclusion));
    }
}

#[test]
fn a_file_that_is_cut_is_refused_or_does_not_turn_a_verdict() {
    for writer in all() {
        let unit = writer.units[0].0;
        let (base, changed) = (content(unit, 1.0), content(unit, 4.0 / 3.0));
        let text = (writer.write)(&changed);
        let expected = grown(writer);
        // A folder of files is written for each cut.
        let long = 1 + text.len() / 1000;
        let step = if writer.name.starts_with("schbench") { 7 } else { long };
        for end in (0..text.len()).step_by(step).filter(|end| text.is_char_boundary(*end)) {
            assert_kept(writer, "cut", &base, &text[..end], expected);
        }
    }
}

#[test]
fn decimal_commas_are_refused_or_read_as_the_same_figures() {
    for writer in all() {
        let unit = writer.units[0].0;
        let (base, changed) = (content(unit, 1.0), content(unit, 4.0 / 3.0));
        let text = (writer.write)(&changed);
        let chars: Vec<char> = text.chars().collect();
        let is_point = |at: usize| {
            let is_digit = |at: Option<usize>| {
                at.and_then(|at| chars.get(at)).is_some_and(char::is_ascii_digit)
            };
            chars[at] == '.' && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))
        };
        let points = (0..chars.len()).map(|at| if is_point(at) { ',' } else { chars[at] });
        let expected = grown(writer);
        assert_kept(writer, "locale", &base, &points.collect::<String>(), expected);
    }
}
