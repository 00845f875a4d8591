//! Files of every format changed in ways that do not change what was measured, or that lose a part
//! of it: the verdict stays, or the file is refused, and never turns around.

use analysis::comparison::{Cell, Comparison, Outcome, Request, compare};
use stats::Verdict;
use store::import::{Options, dataset};

/// A benchmark with its values in the unit of its file; none if it failed.
#[derive(Clone, Debug)]
struct Work {
    name: &'static str,
    values: Vec<f64>,
}

/// A file of a format, before it is written.
#[derive(Clone, Debug)]
struct Content {
    works: Vec<Work>,
    unit: &'static str,
}

/// How a format writes a content.
struct Writer {
    name: &'static str,
    write: fn(&Content) -> String,
    /// Units of the same dimension that the format can write, and how many of the first one each is.
    units: &'static [(&'static str, f64)],
    /// Whether the format can write a result that failed.
    has_failures: bool,
    more_is_better: bool,
}

const WRITERS: [Writer; 9] = [
    Writer {
        name: "hyperfine",
        write: hyperfine,
        units: &[("s", 1.0)],
        has_failures: true,
        more_is_better: false,
    },
    Writer {
        name: "go times",
        write: go,
        units: &[("ms/op", 1.0), ("ns/op", 1e-6), ("us/op", 1e-3), ("s/op", 1e3)],
        has_failures: true,
        more_is_better: false,
    },
    Writer {
        name: "go rates",
        write: go,
        units: &[("MB/s", 1.0), ("GB/s", 1e3), ("B/s", 1e-6)],
        has_failures: true,
        more_is_better: true,
    },
    Writer {
        name: "google",
        write: google,
        units: &[("ms", 1.0), ("ns", 1e-6), ("us", 1e-3), ("s", 1e3)],
        has_failures: true,
        more_is_better: false,
    },
    Writer {
        name: "perf",
        write: perf,
        units: &[("msec", 1.0), ("ns", 1e-6), ("sec", 1e3)],
        has_failures: true,
        more_is_better: false,
    },
    Writer {
        name: "phoronix times",
        write: |content| phoronix(content, "LIB"),
        units: &[("Milliseconds", 1.0), ("Seconds", 1e3), ("us", 1e-3)],
        has_failures: true,
        more_is_better: false,
    },
    Writer {
        name: "phoronix rates",
        write: |content| phoronix(content, "HIB"),
        units: &[("MB/s", 1.0), ("GB/s", 1e3), ("Kops/s", 0.0)],
        has_failures: true,
        more_is_better: true,
    },
    Writer {
        name: "csv",
        write: csv,
        units: &[("ms", 1.0), ("us", 1e-3), ("s", 1e3), ("ns", 1e-6)],
        has_failures: false,
        more_is_better: false,
    },
    Writer {
        name: "interbench",
        write: interbench,
        units: &[("ms", 1.0), ("us", 1e-3)],
        has_failures: false,
        more_is_better: false,
    },
];

fn rows(content: &Content) -> impl Iterator<Item = (&Work, f64)> {
    content.works.iter().flat_map(|work| work.values.iter().map(move |value| (work, *value)))
}

fn hyperfine(content: &Content) -> String {
    let one = |work: &Work| {
        let (times, code) = match work.values.is_empty() {
            true => (vec![0.5; 6], "null"),
            false => (work.values.clone(), "0"),
        };
        let codes = vec![code; times.len()].join(",");
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        format!(
            r#"{{"command":"{}","mean":{mean},"times":{times:?},"exit_codes":[{codes}]}}"#,
            work.name
        )
    };
    let results: Vec<String> = content.works.iter().map(one).collect();
    format!("{{\"results\":[\n{}\n]}}\n", results.join(",\n"))
}

fn go(content: &Content) -> String {
    let mut text = String::from("goos: linux\npkg: example\n");
    for work in &content.works {
        if work.values.is_empty() {
            text += &format!("--- FAIL: Benchmark{}-2\n", work.name);
        }
        for value in &work.values {
            text += &format!("Benchmark{}-2 100 {value} {}\n", work.name, content.unit);
        }
    }
    text + "PASS\n"
}

fn google(content: &Content) -> String {
    let unit = content.unit;
    let mut rows = Vec::new();
    for work in &content.works {
        let name = work.name;
        if work.values.is_empty() {
            rows.push(format!(
                r#"{{"name":"{name}","run_name":"{name}","run_type":"iteration","real_time":0.0,"cpu_time":0.0,"time_unit":"{unit}","error_occurred":true,"error_message":"no"}}"#
            ));
        }
        for (index, value) in work.values.iter().enumerate() {
            rows.push(format!(
                r#"{{"name":"{name}","run_name":"{name}","run_type":"iteration","repetition_index":{index},"real_time":{value},"cpu_time":{value},"time_unit":"{unit}"}}"#
            ));
        }
    }
    format!("{{\"context\":{{}},\"benchmarks\":[\n{}\n]}}\n", rows.join(",\n"))
}

/// Every invocation counts all events.
fn perf(content: &Content) -> String {
    let mut text = String::new();
    let most = content.works.iter().map(|work| work.values.len()).max().unwrap_or(0);
    for index in 0..most {
        text += &format!("# started on Mon Nov 1 10:00:0{index} 2026\n\n");
        for work in &content.works {
            let value = work.values.get(index);
            let value = value.map_or("<not counted>".to_owned(), f64::to_string);
            text += &format!(
                "{{\"counter-value\" : \"{value}\", \"unit\" : \"{}\", \"event\" : \"{}-time\"}}\n",
                content.unit, work.name
            );
        }
    }
    text
}

fn phoronix(content: &Content, proportion: &str) -> String {
    let mut text = "<?xml version=\"1.0\"?>\n<PhoronixTestSuite>\n<System><Identifier>box\
                    </Identifier></System>\n"
        .to_owned();
    for work in &content.works {
        let values: Vec<String> = work.values.iter().map(f64::to_string).collect();
        text += &format!(
            "<Result><Identifier>pts/{}-1</Identifier><Description>Level: 1</Description><Scale>{}\
             </Scale><Proportion>{proportion}</Proportion><Data><Entry><Identifier>box</Identifier>\
             <Value>{}</Value><RawString>{}</RawString></Entry></Data></Result>\n",
            work.name,
            content.unit,
            values.first().map_or("", String::as_str),
            values.join(":")
        );
    }
    text + "</PhoronixTestSuite>\n"
}

fn csv(content: &Content) -> String {
    let rows = rows(content).map(|(work, value)| format!("{},{value}\n", work.name));
    format!("test,elapsed_{}\n{}", content.unit, rows.collect::<String>())
}

/// A log of several runs.
fn interbench(content: &Content) -> String {
    let mut text = String::new();
    let most = content.works.iter().map(|work| work.values.len()).max().unwrap_or(0);
    for index in 0..most {
        text += "--- Benchmarking simulated cpu of Audio in the presence of simulated ---\n";
        text += &format!(
            "Load\tLatency +/- SD ({})  Max Latency   % Desired CPU  % Deadlines Met\n",
            content.unit
        );
        for work in &content.works {
            if let Some(value) = work.values.get(index) {
                text += &format!("{}\t  {value:.1} +/- 1.5 {value:.1}\t\t 99\t 98\n", work.name);
            }
        }
        text += "\n";
    }
    text
}

fn compared(first: &str, second: &str) -> Result<Comparison, String> {
    let read = |name: &str, text: &str| {
        dataset(name, text, None, &Options::default()).map_err(|refusal| refusal.to_string())
    };
    let sets = [read("first", first)?, read("second", second)?];
    compare(&sets, &Request::default()).map_err(|refused| refused.to_string())
}

/// The verdict on a work and the main response; `None` if it has no such cell.
fn verdict(comparison: &Comparison, name: &str) -> Option<Verdict> {
    let is_of = |cell: &&Cell| {
        let levels = cell.levels.values().any(|level| level == name);
        let is_other = ["high_", "sd_"].iter().any(|prefix| cell.response.starts_with(prefix));
        !matches!(cell.outcome, Outcome::Ends(_))
            && (levels || cell.response.contains(name))
            && !is_other
            && !cell.response.contains("percent")
    };
    comparison.cells.iter().find(is_of).map(|cell| cell.verdict)
}

const NAMES: [&str; 2] = ["Alpha", "Beta"];
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
    let forth = compared(&text, mutated);
    let back = compared(mutated, &text);
    for (found, of) in [(forth, expected), (back, expected.map(inverse))] {
        let Ok(found) = found else { continue };
        for (name, expected) in NAMES.iter().zip(of) {
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

/// What the first work's verdict is when its figures grow by a third.
fn grown(writer: &Writer) -> Verdict {
    if writer.more_is_better { Verdict::Improvement } else { Verdict::Regression }
}

#[test]
fn without_a_mutation_every_format_has_the_expected_verdicts() {
    for writer in &WRITERS {
        let unit = writer.units[0].0;
        let [base, other] = [1.0, 4.0 / 3.0].map(|factor| (writer.write)(&content(unit, factor)));
        let found = compared(&base, &other).expect(writer.name);
        assert_eq!(verdict(&found, NAMES[0]), Some(grown(writer)), "{}", writer.name);
        assert_eq!(verdict(&found, NAMES[1]), Some(Verdict::Equivalent), "{}", writer.name);
        let same = compared(&base, &base).expect(writer.name);
        for name in NAMES {
            assert_eq!(verdict(&same, name), Some(Verdict::Equivalent), "{}", writer.name);
        }
    }
}

#[test]
fn the_order_of_results_does_not_matter() {
    for writer in &WRITERS {
        let base = content(writer.units[0].0, 1.0);
        let mut swapped = content(writer.units[0].0, 4.0 / 3.0);
        swapped.works.reverse();
        let text = (writer.write)(&swapped);
        let expected = [grown(writer), Verdict::Equivalent];
        let found = compared(&(writer.write)(&base), &text).expect(writer.name);
        for (name, expected) in NAMES.iter().zip(expected) {
            assert_eq!(verdict(&found, name), Some(expected), "{}", writer.name);
        }
        swapped.works.iter_mut().for_each(|work| work.values.reverse());
        assert_kept(writer, "reversed values", &base, &(writer.write)(&swapped), expected);
    }
}

#[test]
fn a_dropped_or_failed_result_is_not_replaced_by_another() {
    for writer in &WRITERS {
        let base = content(writer.units[0].0, 1.0);
        for (lost, name) in NAMES.iter().enumerate() {
            let mut dropped = content(writer.units[0].0, 4.0 / 3.0);
            let mut failed = dropped.clone();
            dropped.works.remove(lost);
            failed.works[lost].values.clear();
            let contents = [("dropped", dropped), ("failed", failed)];
            let contents = contents.iter().take(if writer.has_failures { 2 } else { 1 });
            for (what, changed) in contents {
                let text = (writer.write)(changed);
                let found = compared(&(writer.write)(&base), &text).expect(writer.name);
                assert_eq!(verdict(&found, name), None, "{} {what}", writer.name);
                let other = 1 - lost;
                let expected = [grown(writer), Verdict::Equivalent][other];
                assert_eq!(verdict(&found, NAMES[other]), Some(expected), "{}", writer.name);
            }
        }
    }
}

#[test]
fn a_failure_is_never_an_improvement() {
    for writer in WRITERS.iter().filter(|writer| writer.has_failures && writer.name != "perf") {
        let base = content(writer.units[0].0, 1.0);
        let mut failed = base.clone();
        failed.works[0].values.clear();
        let found = compared(&(writer.write)(&base), &(writer.write)(&failed)).expect(writer.name);
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
    for writer in &WRITERS {
        let base = content(writer.units[0].0, 1.0);
        let grown_by_a_third = content(writer.units[0].0, 4.0 / 3.0);
        let expected = [grown(writer), Verdict::Equivalent];
        for (unit, factor) in writer.units.iter().filter(|(_, factor)| *factor != 0.0) {
            let text = (writer.write)(&in_unit(&grown_by_a_third, unit, *factor));
            let found = compared(&(writer.write)(&base), &text).expect(writer.name);
            for (name, expected) in NAMES.iter().zip(expected) {
                assert_eq!(verdict(&found, name), Some(expected), "{} {unit}", writer.name);
            }
        }
        // Of another dimension: the same figures mean something else.
        for (unit, _) in writer.units.iter().filter(|(_, factor)| *factor == 0.0) {
            let text = (writer.write)(&Content { unit, ..grown_by_a_third.clone() });
            assert!(compared(&(writer.write)(&base), &text).is_err(), "{} {unit}", writer.name);
        }
    }
}

#[test]
fn copies_are_refused_or_change_nothing() {
    for writer in &WRITERS {
        let base = content(writer.units[0].0, 1.0);
        let mut changed = content(writer.units[0].0, 4.0 / 3.0);
        let expected = [grown(writer), Verdict::Equivalent];
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
        let found = compared(&few, &copied);
        assert!(found.is_err(), "{}: {:?}", writer.name, found.map(|it| it.conclusion));
    }
}

#[test]
fn a_file_that_is_cut_is_refused_or_does_not_turn_a_verdict() {
    for writer in &WRITERS {
        let unit = writer.units[0].0;
        let (base, changed) = (content(unit, 1.0), content(unit, 4.0 / 3.0));
        let text = (writer.write)(&changed);
        let expected = [grown(writer), Verdict::Equivalent];
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert_kept(writer, "cut", &base, &text[..end], expected);
        }
    }
}

#[test]
fn decimal_commas_are_refused_or_read_as_the_same_figures() {
    for writer in &WRITERS {
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
        let expected = [grown(writer), Verdict::Equivalent];
        assert_kept(writer, "locale", &base, &points.collect::<String>(), expected);
    }
}
