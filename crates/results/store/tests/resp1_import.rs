//! What the resp1 reader takes, what it refuses, and that the published tables agree with it.

use formats::resp1::{check_ratios, parse};
use model::resp1::{Resp1Format, Resp1Row, Resp1Table};
use store::reference;

const HEADING: &str = " Test low high median average raw S.D.\n";
const NOLOAD: &str = " noload 229.901 282.459 233.232 243.299 1.000 1.000\n";

/// The error of a table of the second format with these lines after its noload row.
fn refused(lines: &str) -> String {
    parse(&format!("{HEADING}{NOLOAD}{lines}")).expect_err("it is refused").to_string()
}

#[test]
fn a_captured_terminal_session_reads() {
    let text = "\u{feff}Script started on Wed Dec 17 15:51:45 2003\r\n\
        \u{1b}]0;root@box\u{7}\u{1b}[1m# ./resp1 -v\u{1b}[0m\r\n\
        2.4.20.out\r\n\
        Starting 2 CPU run with 93 MB RAM, minimum 5 data points at 2.5 sec intervals\r\n\
        \r\n\
        \u{20}      _____________ delay ms. ____________ ___ Ratio ___\r\n\
        \u{20} Test     low    high median   average   raw  S.D.\r\n\
        \u{20}noload\t229.901 282.459   233.232 243.299 1.000 1.000\r\n\
        File size 465 MB in 1 MB writes, 5 of 5 done\r\n\
        smallwrite 404.531 5640.602 458.907 1935.987 7.957 1.871\r\n\r\n\
        2ctx-mem 12.5 circles/s\r\n\
        \u{20}mine 1 3 2 2 +0.008 -\r\n\
        Script done";
    let table = parse(text).expect("a session reads");
    assert_eq!((table.cpus, table.memory_mb, table.minimum_points), (Some(2), Some(93), Some(5)));
    assert_eq!((table.interval_s, table.format), (Some(2.5), Resp1Format::Second));
    let tests: Vec<&str> = table.rows.iter().map(|row| row.test.as_str()).collect();
    assert_eq!(tests, ["noload", "smallwrite", "mine"]);
    assert_eq!(table.rows[1].high_ms, 5640.602);
    assert_eq!((table.rows[2].ratio_raw, table.rows[2].ratio_sd), (0.008, None));
    assert_eq!(
        table.extras,
        [
            "Script started on Wed Dec 17 15:51:45 2003",
            "# ./resp1 -v",
            "2.4.20.out",
            "File size 465 MB in 1 MB writes, 5 of 5 done",
            "2ctx-mem 12.5 circles/s",
            "Script done",
        ]
    );
}

#[test]
fn base_rows_alone_tell_their_format() {
    for (name, format) in [
        ("resp1/manual-first-format", Resp1Format::First),
        ("resp1/manual-second-format", Resp1Format::Second),
    ] {
        let whole = reference::find(name).expect("it is published");
        let rows: Vec<&str> = whole.text.lines().skip(3).collect();
        let table = parse(&rows.join("\n")).expect("rows alone read");
        assert_eq!(table.format, format);
        assert_eq!(table.rows, whole.resp1().expect("it reads").rows);
        assert_eq!((table.cpus, table.interval_s), (None, None));
    }
    let error = parse(NOLOAD).expect_err("1.000 1.000 is both formats");
    assert!(error.to_string().starts_with("line 1: no heading shows the format"), "{error}");
}

#[test]
fn damaged_rows_are_refused_with_line_and_reason() {
    for (lines, message) in [
        ("cpuload 1 2 3", "line 3: row \"cpuload\" has 3 numbers; both formats have 6 "),
        ("cpuload 1 2 1 1 1 1 1", "line 3: row \"cpuload\" has 7 numbers; "),
        ("\n\nmine 1 2 1 1 1", "line 5: row \"mine\" has 5 numbers; "),
        ("cpuload 1 2x 1 1 1 1", "line 3: high is \"2x\", which is not a number"),
        ("cpuload 1 2 1,5 1 1 1", "line 3: median is \"1,5\", which is not a number"),
        ("cpuload 1 1.0002.000 1 1 1 1", "line 3: high is \"1.0002.000\", which is not a number"),
        ("cpuload - 1 1 1 1 1", "line 3: low is \"-\", which is not a number"),
        ("cpuload 1 2 1 1 - 1", "line 3: the raw ratio is \"-\", which is not a number"),
        ("cpuload 1 2 1 nan 1 1", "line 3: average is nan; delays and ratios are finite and "),
        ("cpuload 1 inf 1 1 1 1", "line 3: high is inf; "),
        ("cpuload -1 2 1 1 1 1", "line 3: low is -1; "),
        ("cpuload 1 2 3 2 1 1", "line 3: the median 3.000 ms lies outside low 1.000 and high 2.0"),
        ("cpuload 1 2 2 3 1 1", "line 3: the average 3.000 ms lies outside low 1.000 and high 2."),
        (NOLOAD, "line 3: a second row \"noload\" (the first is line 2): two outputs in one file?"),
        (
            " Test low high median average S.D. ratio",
            "line 3: the heading is of the other format: both resp1 formats in one table",
        ),
        (
            "cpuload 178.544 259.127 179.017 196.635 0.035 0.808",
            "line 3: its 6th number, not its 5th, is the raw ratio: both resp1 formats in one ",
        ),
    ] {
        let error = refused(lines);
        assert!(error.starts_with(message), "{lines:?}: {error}");
    }
}

#[test]
fn tables_without_what_they_need_are_refused() {
    let lost = parse("cpuload 1 2 1 1 1 1\n").expect_err("no noload");
    assert!(lost.to_string().starts_with("line 1: no row \"noload\""), "{lost}");
    let zero = parse(&format!("{HEADING}noload 0 0 0 0 1 1")).expect_err("nothing to divide by");
    assert!(zero.to_string().starts_with("line 2: no row \"noload\""), "{zero}");
    for text in ["", "\n\n", "some text\nof two lines", HEADING] {
        let error = parse(text).expect_err("no rows");
        assert!(error.to_string().starts_with("no resp1 rows in "), "{text:?}: {error}");
    }
}

#[test]
fn prose_with_numbers_is_no_row() {
    for prose in [
        "Mem: 94200 91000 3200 0 1500 20000",
        " 1 0 0 3200 1500 20000 0 0",
        "wrote 480 MB in 30 s",
        "cpuload",
        "cpuload started 2 processes on 1 CPU",
        "  total 48",
        "Starting over",
    ] {
        let table = parse(&format!("{HEADING}{NOLOAD}{prose}\n")).expect("prose is not an error");
        assert_eq!(table.extras, [prose.trim()]);
    }
}

/// The tables of a published CSV, one for each system; `format` says what the last columns are.
fn published(name: &str, format: Resp1Format) -> Vec<Resp1Table> {
    let cells = reference::find(name).and_then(reference::Reference::cells).expect("it reads");
    let mut tables: Vec<(&str, Resp1Table)> = Vec::new();
    for row in &cells[1..] {
        let (system, row) = row.split_at(row.len() - 7);
        let system = system.first().copied().unwrap_or_default();
        if tables.last().is_none_or(|(last, _)| *last != system) {
            let (cpus, memory_mb, minimum_points, interval_s) = (None, None, None, None);
            let (rows, extras) = (Vec::new(), Vec::new());
            let table =
                Resp1Table { cpus, memory_mb, minimum_points, interval_s, format, rows, extras };
            tables.push((system, table));
        }
        let value = |index: usize| row[index].parse::<f64>().expect("a number");
        let first = format == Resp1Format::First;
        tables.last_mut().expect("one was pushed").1.rows.push(Resp1Row {
            test: row[0].to_owned(),
            low_ms: value(1),
            high_ms: value(2),
            median_ms: value(3),
            average_ms: value(4),
            sd_s: first.then(|| value(5)),
            ratio_raw: value(if first { 6 } else { 5 }),
            ratio_sd: (!first).then(|| value(6)),
        });
    }
    tables.into_iter().map(|(_, table)| table).collect()
}

#[test]
fn all_published_ratios_follow_from_the_averages() {
    let outputs = reference::ALL.iter().filter_map(|reference| reference.resp1().ok());
    let rows: usize = outputs
        .chain(published("resp1/published", Resp1Format::Second))
        .chain(published("resp1/published-first-format", Resp1Format::First))
        .map(|table| {
            let checks = check_ratios(&table);
            for check in &checks {
                assert!(check.agrees, "{check:?}");
                let rounded = (check.recomputed * 1000.0).round() / 1000.0;
                assert!((rounded - check.printed).abs() < 0.0015, "{check:?}");
            }
            checks.len()
        })
        .sum();
    assert_eq!(rows, (35 + 7 + 7) + (35 + 7) + 7);
}

#[test]
fn the_csv_tables_and_the_outputs_are_the_same_numbers() {
    let outputs: Vec<Resp1Table> =
        reference::ALL.iter().filter_map(|reference| reference.resp1().ok()).collect();
    let mut tables = published("resp1/published", Resp1Format::Second);
    tables.extend(published("resp1/published-first-format", Resp1Format::First));
    assert_eq!(tables.len(), outputs.len());
    for table in tables {
        assert!(outputs.iter().any(|output| output.rows == table.rows), "{table:?}");
    }
}

#[test]
fn a_wrong_ratio_is_found() {
    let text = format!("{HEADING}{NOLOAD}cpuload 559.621 698.061 597.186 615.075 2.530 2.545\n");
    let checks = check_ratios(&parse(&text).expect("it reads"));
    assert_eq!(checks.iter().map(|check| check.agrees).collect::<Vec<_>>(), [true, false]);
    assert!((checks[1].recomputed - 615.075 / 243.299).abs() < 1e-12);
}
