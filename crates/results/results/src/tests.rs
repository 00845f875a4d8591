//! The reader of columns against the reader of lines, on anything that a file may contain.

use std::collections::BTreeMap;
use std::fs;

use model::{CounterSet, EndStatus, Line, Run, RunEncoder, RunError, RunFault};
use proptest::prelude::*;

use crate::run_files::SUFFIX;
use crate::{Cells, Column, Frame, LoadError, RunFiles, Table, load, manifest};

/// What stays absent.
const ABSENT: &str = "-";

const HEADER: &str = r#"{"kind":"header","schema":1,"run_id":"r","thrashlab":"0.1.0","started_unix_ns":5,"spec":{"subject":{"kind":"host","memory_bytes":64},"load":{"name":"cpuload","version":1,"intensity":1.0},"probe":{"name":"response","version":1},"timing":{"profile":"quick","interval_ns":2,"points":2,"warmup_ns":1,"timeout_ns":3},"seed":7,"block":0,"order":0},"environment":{"kernel":"6.1"},"missed":[]}"#;

fn cell(column: &Column, row: usize) -> String {
    match &column.cells {
        _ if column.present.get(row) == Some(&false) => ABSENT.to_owned(),
        Cells::Small(values) => values[row].to_string(),
        Cells::Count(values) => values[row].to_string(),
        Cells::Number(values) => values[row].to_string(),
        Cells::Flag(values) => values[row].to_string(),
        Cells::Time(values) => values[row].to_string(),
        Cells::Text(values) => values[row].clone(),
        Cells::Word(values, words) => words.word(values[row]).to_owned(),
    }
}

fn frame(frames: &[Frame], table: Table) -> &Frame {
    frames.iter().find(|frame| frame.table == table).unwrap()
}

/// All cells but those of maps, one line per row; those of maps by name, if present.
fn rows(frames: &[Frame], table: Table, plain: usize) -> Vec<String> {
    let row = |columns: &[Column], row: usize| {
        let plain_cells = columns[..plain].iter().map(|column| cell(column, row));
        let maps = columns[plain..].iter().filter_map(|column| {
            let found = cell(column, row);
            (found != ABSENT).then(|| format!("{}={found}", column.name))
        });
        let mut maps: Vec<String> = maps.collect();
        maps.sort();
        plain_cells.chain(maps).collect::<Vec<_>>().join(" ")
    };
    let of_batch =
        |columns: &Vec<Column>| (0..columns[0].rows()).map(|at| row(columns, at)).collect();
    frame(frames, table).batches.iter().flat_map(|it| -> Vec<String> { of_batch(it) }).collect()
}

/// Rows of each table as [`rows`] returns them, from the reader of lines.
#[derive(Default)]
struct Expected {
    samples: Vec<String>,
    counters: Vec<String>,
    passes: Vec<String>,
    figures: Vec<String>,
    events: Vec<String>,
}

fn expected(run: &Run) -> Expected {
    let mut rows = Expected::default();
    let optional = |value: Option<u64>| value.map_or(ABSENT.to_owned(), |value| value.to_string());
    let maps = |prefix: &str, map: &model::Values| -> String {
        let mut cells: Vec<String> =
            map.iter().map(|(name, value)| format!(" {prefix}{name}={value}")).collect();
        cells.sort();
        cells.concat()
    };
    for line in &run.lines {
        let mut counters = |place: String, set: &CounterSet| {
            for (source, map) in set {
                let row = |(name, value)| format!("0 {place} {source} {name} {value}");
                rows.counters.extend(map.iter().map(row));
            }
        };
        match line {
            Line::Sample(sample) => {
                let censored = sample.censored.map(|why| serde_json::to_value(why).unwrap());
                rows.samples.push(format!(
                    "0 {} {} {} {} {} {} {} {}{}",
                    sample.index,
                    sample.at_ns,
                    sample.intended_ns,
                    optional(sample.started_ns),
                    optional(sample.completed_ns),
                    sample.delay_ns(),
                    censored.as_ref().map_or(ABSENT, |why| why.as_str().unwrap()),
                    optional(sample.censored_at_ns),
                    maps("part_", &sample.parts),
                ));
                counters(format!("{} {} before", sample.index, sample.at_ns), &sample.before);
                counters(format!("{} {} after", sample.index, sample.at_ns), &sample.after);
            }
            Line::Counters(record) => {
                counters(format!("- {} between", record.at_ns), &record.counters);
            }
            Line::Work(work) => {
                let at = format!("0 {} {} {}", work.worker, work.pass, work.item);
                let row = |(name, value): (&String, &f64)| format!("{at} {name} {value}");
                rows.figures.extend(work.figures.iter().map(row));
            }
            Line::Pass(pass) => rows.passes.push(format!(
                "0 {} {} {} {}{}",
                pass.worker,
                pass.pass,
                pass.started_ns,
                pass.completed_ns,
                maps("", &pass.usage)
            )),
            Line::Warning(warning) => {
                rows.events.push(format!("0 {} warning {}", warning.at_ns, warning.text));
            }
            Line::Death(death) => {
                rows.events.push(format!("0 {} death {}", death.at_ns, death.cause));
            }
            Line::Phase(record) => {
                let phase = serde_json::to_value(record.phase).unwrap();
                rows.events.push(format!("0 {} phase {}", record.at_ns, phase.as_str().unwrap()));
            }
            Line::Unknown(value) => rows.events.push(format!("0 - unknown {value}")),
            Line::Delivered(record) => {
                let totals = CounterSet::from([("totals".into(), record.totals.clone())]);
                counters(format!("- {} delivered", record.at_ns), &totals);
            }
            _ => {}
        }
    }
    rows
}

/// A column of a run.
fn of_run(frames: &[Frame], name: &str, run: usize) -> String {
    let columns = &frame(frames, Table::Runs).batches[0];
    cell(columns.iter().find(|column| column.name == name).unwrap(), run)
}

fn agrees(bytes: &[u8], piece_bytes: u64, threads: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.run.jsonl");
    fs::write(&path, bytes).unwrap();
    let mut files = RunFiles::find(std::slice::from_ref(&path)).unwrap();
    (files.piece_bytes, files.threads) = (piece_bytes, threads);
    let found = load(&files, || true);
    let run = match Run::parse(bytes) {
        Ok(run) => run,
        Err(error) => {
            let expected = format!("{}: {error}", path.display());
            assert_eq!(found.unwrap_err().to_string(), expected);
            return;
        }
    };
    let (found, expected) = (found.unwrap(), expected(&run));
    assert_eq!(rows(&found, Table::Samples, 9), expected.samples);
    assert_eq!(rows(&found, Table::Counters, 7), expected.counters);
    assert_eq!(rows(&found, Table::Passes, 5), expected.passes);
    assert_eq!(rows(&found, Table::Figures, 6), expected.figures);
    assert_eq!(rows(&found, Table::Events, 4), expected.events);
    let whether = run.checksum_ok.map_or(ABSENT.to_owned(), |ok| ok.to_string());
    assert_eq!(of_run(&found, "checksum_ok", 0), whether);
    assert_eq!(of_run(&found, "truncated_bytes", 0), run.truncated_bytes.to_string());
    let status = serde_json::to_value(run.status()).unwrap();
    assert_eq!(of_run(&found, "status", 0), status.as_str().unwrap());
    let load = run.header.map_or(ABSENT.to_owned(), |header| header.spec.load.name);
    assert_eq!(of_run(&found, "load", 0), load);
}

fn map() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        200 => "[a-c]{1,2}",
        1 => Just("\\u0061".to_owned()),
        1 => Just("é".to_owned()),
        1 => Just(String::new()),
    ];
    let value = prop_oneof![
        200 => (0_u64..2000).prop_map(|value| value.to_string()),
        1 => any::<u64>().prop_map(|value| value.to_string()),
        1 => prop::sample::select(vec!["01", "1.0", "-1", "1e3", "18446744073709551616", "null"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec((name, value), 0..4).prop_map(|mut pairs| {
        // Mostly in order and once each, as writers have them.
        if pairs.len() != 3 {
            pairs.sort();
            pairs.dedup_by(|one, other| one.0 == other.0);
        }
        let pairs = pairs.iter().map(|(name, value)| format!("\"{name}\":{value}"));
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
    })
}

fn set() -> impl Strategy<Value = String> {
    prop::collection::btree_map("(vmstat|psi|x)", map(), 0..3).prop_map(|sources| {
        let sources = sources.iter().map(|(source, map)| format!("\"{source}\":{map}"));
        format!("{{{}}}", sources.collect::<Vec<_>>().join(","))
    })
}

/// A sample, of the usual form or not quite, with all or nearly all of its fields.
fn sample() -> impl Strategy<Value = String> {
    let end = prop_oneof![
        100 => (0_u64..5000).prop_map(|at| format!("\"completed_ns\":{at}")),
        1 => prop::sample::select(vec!["timeout", "probe-died", "failed", "other"])
            .prop_map(|why| format!("\"censored\":\"{why}\",\"censored_at_ns\":7777")),
        1 => Just("\"completed_ns\":null".to_owned()),
        1 => Just("\"further\":[1,{}]".to_owned()),
    ];
    let index = prop_oneof![200 => 0_u64..9, 1 => any::<u64>()];
    let form = (0_u8..200, any::<prop::sample::Index>());
    (index, 0_u64..5000, end, map(), set(), set(), form).prop_map(
        |(index, at, end, parts, before, after, (form, place))| {
            let mut fields = vec![
                "\"kind\":\"sample\"".to_owned(),
                format!("\"at_ns\":{at}"),
                format!("\"index\":{index}"),
                format!("\"intended_ns\":{}", at / 2),
                format!("\"started_ns\":{}", at / 2 + 1),
                end,
                format!("\"parts\":{parts}"),
                format!("\"before\":{before}"),
                format!("\"after\":{after}"),
            ];
            let place = place.index(fields.len());
            match form {
                0 => fields.rotate_left(place),
                1 => fields.swap(1, place),
                2 => drop(fields.remove(place)),
                3 => fields.push(fields[place].clone()),
                _ => {}
            }
            let line = format!("{{{}}}", fields.join(","));
            match form {
                4 => line.replace(':', ": ").replace(',', ", "),
                5 => line.replace(',', " ,\t"),
                6 => format!(" {line}"),
                7 => format!("{line} "),
                8 => line.replace("at_ns", "\\u0061t_ns"),
                _ => line,
            }
        },
    )
}

fn line() -> impl Strategy<Value = String> {
    let others = vec![
        r#"{"kind":"phase","at_ns":3,"phase":"not-warm"}"#,
        r#"{"kind":"warning","at_ns":4,"text":"disk\nfull"}"#,
        r#"{"kind":"pass","at_ns":9,"worker":1,"pass":0,"started_ns":1,"completed_ns":8,"usage":{"user_ns":3}}"#,
        r#"{"kind":"work","at_ns":9,"worker":1,"pass":0,"item":"./c x","started_ns":1,"completed_ns":8,"usage":{"user_ns":3},"figures":{"p99_ns":4.5e6,"x_per_s":0.1}}"#,
        r#"{"kind":"delivered","at_ns":9,"unit":"cpu_ns","intended":5,"delivered":4,"elapsed_ns":3,"totals":{"loops":7}}"#,
        r#"{"kind":"tomorrow","at_ns":3}"#,
        r#"{"kind":"sample"}"#,
        r#"["kind","sample"]"#,
        "",
        HEADER,
    ];
    let damage = prop_oneof![
        Just(None),
        Just(None),
        Just(None),
        Just(None),
        (any::<prop::sample::Index>(), any::<char>()).prop_map(Some),
    ];
    let counters =
        set().prop_map(|set| format!(r#"{{"kind":"counters","at_ns":3,"counters":{set}}}"#));
    let whole = prop_oneof![
        12 => sample(),
        2 => counters,
        2 => prop::sample::select(others).prop_map(str::to_owned),
    ];
    (whole, damage).prop_map(|(line, damage)| match damage {
        Some((place, with)) if !line.is_empty() => {
            let mut characters: Vec<char> = line.chars().collect();
            let place = place.index(characters.len());
            characters[place] = with;
            characters.into_iter().collect()
        }
        _ => line,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn columns_agree_with_lines(
        lines in prop::collection::vec(prop_oneof![60 => sample().boxed(), 1 => line().boxed()], 0..40),
        is_ended in any::<bool>(),
        cut in prop_oneof![4 => Just(0), 1 => 0_usize..300],
        late in prop_oneof![9 => Just(None), 1 => line().prop_map(Some)],
    ) {
        let mut encoder = RunEncoder::default();
        let mut text = format!("{HEADER}\n{}", lines.iter().map(|line| format!("{line}\n")).collect::<String>());
        encoder.foreign(text.as_bytes());
        if is_ended {
            text.push_str(&encoder.end(99, EndStatus::Complete));
        }
        text.extend(late.map(|late| format!("{late}\n")));
        let bytes = &text.as_bytes()[..text.len() - cut.min(text.len())];
        for (piece_bytes, threads) in [(1024, 3), (4096, 1), (1 << 22, 2)] {
            agrees(bytes, piece_bytes, threads);
        }
    }
}

#[test]
fn a_usual_line_is_read_without_a_detour() {
    let line = r#"{"kind":"sample","at_ns":9,"index":0,"intended_ns":2,"started_ns":3,"completed_ns":8,"parts":{"scan_ns":3},"before":{"vmstat":{"pgfault":1}},"after":{"vmstat":{"pgfault":4}}}"#;
    let mut words = crate::sample_line::Vocabulary::default();
    let mut read = crate::sample_line::SampleLine::default();
    for _ in 0..2 {
        read.read(line.as_bytes(), &mut words).expect("this is how writers write");
    }
    assert_eq!((read.before.len(), read.after[0].value, read.parts.len()), (1, 4, 1));
}

#[test]
fn a_wrong_checksum_and_what_is_no_text_are_told() {
    let text = format!(
        "{HEADER}\n{{\"kind\":\"end\",\"at_ns\":1,\"status\":\"complete\",\"blake3\":\"00\"}}\n"
    );
    agrees(text.as_bytes(), 1024, 2);
    agrees(&[HEADER.as_bytes(), b"\n{\"kind\":\"sam\xffple\"}\n"].concat(), 1024, 2);
    agrees(b"\xff\n", 1024, 1);
    agrees(b"", 1024, 1);
    assert!(matches!(
        Run::parse(b"\xff\n"),
        Err(RunError { line: 1, fault: RunFault::NotUtf8 { byte: 0 } })
    ));
}

#[test]
fn a_folder_has_its_levels_and_whoever_asks_can_stop() {
    let folder = tempfile::tempdir().unwrap();
    let run = |id: &str| model::ManifestRun {
        run_id: id.to_owned(),
        levels: BTreeMap::from([("kernel".to_owned(), format!("of {id}"))]),
        block: 0,
        seed: 1,
    };
    let manifest = model::Manifest {
        schema: model::MANIFEST_SCHEMA,
        thrashlab: "0.1.0".to_owned(),
        name: "x".to_owned(),
        factors: vec![
            model::ManifestFactor { name: "kernel".to_owned(), levels: Vec::new() },
            model::ManifestFactor { name: "alone".to_owned(), levels: Vec::new() },
        ],
        responses: Vec::new(),
        aliases: Vec::new(),
        runs: vec![run("b"), run("a")],
        sweep: None,
        ab: None,
        plan: String::new(),
    };
    manifest::write(&manifest, folder.path()).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(folder.path().join(format!("{name}{SUFFIX}")), format!("{HEADER}\n")).unwrap();
    }
    let paths = [folder.path().to_owned()];
    let mut files = RunFiles::find(&paths).unwrap();
    files.threads = 2;
    let found = load(&files, || true).unwrap();
    assert_eq!([0, 1, 2].map(|run| of_run(&found, "level_kernel", run)), ["of a", "of b", ABSENT]);
    // In the order of the plan, and a factor without levels too.
    let columns = &frame(&found, Table::Runs).batches[0];
    let at = columns.iter().position(|column| column.name == "level_kernel").unwrap();
    assert_eq!(columns[at + 1].name, "level_alone");
    assert!(matches!(load(&files, || false), Err(LoadError::Stopped)));
    let none = RunFiles::find(&[paths[0].join("none")]);
    assert!(matches!(none, Err(LoadError::Results(_))));
}
