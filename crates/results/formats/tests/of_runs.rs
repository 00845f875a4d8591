//! Tables of run files: the documented run as CSV, the same cells as Parquet, the same bytes twice.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::collections::BTreeMap;

use std::fs;
use std::sync::Mutex;

use formats::{CsvFile, ExportError, ParquetFile, RunTables, Sink};
use model::{Censored, CensoredDelays, HistogramRecord, Line, Run, RunEncoder, histogram};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use results::{Cells, Column, Table};
use tempfile::TempDir;

const DOCUMENT: &str = include_str!("../../../../docs/run-format.md");

/// The run that the documentation shows.
fn documented() -> &'static str {
    DOCUMENT.split("```json\n").nth(1).unwrap().split("```").next().unwrap()
}

const MANIFEST: &str = r#"{"schema":1,"thrashlab":"0.1.0","name":"x","factors":[{"name":"kernel","levels":[]}],"responses":[],"runs":[{"run_id":"a","levels":{"kernel":"6.1, \"old\""},"block":0,"seed":7}],"plan":""}"#;

/// Writes a table of the documented run, cut off after this many bytes, as CSV or Parquet.
fn written(table: Table, bytes: usize, csv: bool) -> Vec<u8> {
    written_of(&documented().as_bytes()[..bytes], table, csv).unwrap()
}

fn written_of(run: &[u8], table: Table, csv: bool) -> Result<Vec<u8>, ExportError> {
    // Always the same path, as rows of runs have it.
    static FOLDER: Mutex<Option<TempDir>> = Mutex::new(None);
    let mut folder = FOLDER.lock().unwrap();
    let folder = folder.get_or_insert_with(|| tempfile::tempdir().unwrap());
    fs::write(folder.path().join("a.run.jsonl"), run).unwrap();
    fs::write(folder.path().join("experiment.json"), MANIFEST).unwrap();
    let runs = RunTables::find(folder.path().to_owned())?;
    let columns = runs.columns(table)?;
    let mut out = Vec::new();
    let sink: Box<dyn Sink> = match csv {
        true => Box::new(CsvFile::new(&columns, &mut out)?),
        false => Box::new(ParquetFile::new(&columns, &mut out)?),
    };
    runs.write(vec![(table, sink)])?;
    Ok(out)
}

fn csv(table: Table) -> String {
    String::from_utf8(written(table, documented().len(), true)).unwrap()
}

#[test]
fn samples_are_rows_and_what_was_not_measured_is_empty() {
    insta::assert_snapshot!(csv(Table::Samples), @r"
    run,run_id,load,measure,block,seed,sample,at_ns,intended_ns,started_ns,completed_ns,delay_ns,censored,censored_at_ns,part_resident_scan_ns
    0,b0-cpuload,cpuload,response,0,7,0,2007420900,2000000000,2000051000,2007420000,7420000,,,310000
    0,b0-cpuload,cpuload,response,0,7,1,34000000800,4000000000,4000060000,,30000000000,timeout,34000000000,
    ");
}

#[test]
fn delays_of_a_histogram_are_counted() {
    insta::assert_snapshot!(csv(Table::Histograms), @r"
    run,run_id,load,measure,block,seed,from_ns,to_ns,delay_ns,count,censored
    0,b0-cpuload,cpuload,response,0,7,2000000000,34000000000,1500,2,
    0,b0-cpuload,cpuload,response,0,7,2000000000,34000000000,1900,1,
    ");
}

#[test]
fn starts_of_a_histogram_that_never_completed_are_counted_with_their_bounds() {
    let text = changed(|record| {
        record.censored = Some(CensoredDelays {
            reason: Censored::Timeout,
            count: 2,
            hdr_v2_base64: histogram::encode(&[1500, 1500]).unwrap(),
        });
    });
    let written = written_of(text.as_bytes(), Table::Histograms, true).unwrap();
    insta::assert_snapshot!(String::from_utf8(written).unwrap(), @r"
    run,run_id,load,measure,block,seed,from_ns,to_ns,delay_ns,count,censored
    0,b0-cpuload,cpuload,response,0,7,2000000000,34000000000,1500,2,
    0,b0-cpuload,cpuload,response,0,7,2000000000,34000000000,1900,1,
    0,b0-cpuload,cpuload,response,0,7,2000000000,34000000000,1500,2,timeout
    ");
}

/// The documented run with another histogram.
fn changed(change: impl Fn(&mut HistogramRecord)) -> String {
    let mut run = Run::parse(documented().as_bytes()).unwrap();
    let mut encoder = RunEncoder::default();
    let mut text = encoder.line(&Line::Header(Box::new(run.header.unwrap())));
    for line in &mut run.lines {
        if let Line::Histogram(record) = line {
            change(record);
        }
        text += &encoder.line(line);
    }
    text
}

#[test]
fn a_histogram_that_cannot_be_read_is_refused_where_its_delays_are_asked_for() {
    let text = changed(|record| record.count += 1);
    let error = written_of(text.as_bytes(), Table::Histograms, true).unwrap_err().to_string();
    assert_eq!(error, "run b0-cpuload: the histogram has 3 delays, but its line claims 4");
    let events = written_of(text.as_bytes(), Table::Events, true).unwrap();
    assert!(String::from_utf8(events).unwrap().contains(",unreadable,\"the histogram has"));
    assert!(written_of(text.as_bytes(), Table::Samples, true).is_ok());
}

#[test]
fn work_and_passes_have_a_column_for_each_thing_used() {
    insta::assert_snapshot!(csv(Table::Work), @r"
    run,run_id,load,measure,block,seed,worker,pass,item,started_ns,completed_ns,censored_at_ns,failure,involuntary_switches,major_faults,minor_faults,read_blocks,system_ns,user_ns,voluntary_switches,written_blocks
    0,b0-cpuload,cpuload,response,0,7,3,0,compile,33020000000,33180000000,,,12,2,5301,48,21000000,94000000,9,120
    0,b0-cpuload,cpuload,response,0,7,4,0,sort,33100000000,,34000001150,not done within the limit,,,,,,,,
    ");
    insta::assert_snapshot!(csv(Table::Passes), @r"
    run,run_id,load,measure,block,seed,worker,pass,started_ns,completed_ns,system_ns,user_ns
    0,b0-cpuload,cpuload,response,0,7,3,0,2000000000,33180000000,310000000,1240000000
    ");
}

#[test]
fn counters_have_the_moment_at_which_they_were_read() {
    insta::assert_snapshot!(csv(Table::Counters), @r"
    run,sample,at_ns,when,source,counter,value
    0,,1500,between,vmstat,pgfault,80211
    0,0,2007420900,before,vmstat,pgfault,80300
    0,0,2007420900,after,vmstat,pgfault,80561
    0,1,34000000800,before,vmstat,pgfault,80570
    0,1,34000000800,after,vmstat,pgfault,99120
    0,,34000003000,delivered,totals,loops,183402
    ");
}

#[test]
fn runs_have_their_levels_and_how_they_ended() {
    let text = csv(Table::Runs);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let row: Vec<BTreeMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
    let [row] = &row[..] else { panic!("one row: {text}") };
    for (column, value) in [
        ("run_id", "b0-cpuload"),
        ("started", "2025-11-24T16:00:00.000000000Z"),
        ("subject", "sandbox"),
        ("load", "cpuload"),
        ("measure_kind", "probe"),
        ("intensity", "1"),
        ("status", "timeout"),
        ("checksum_ok", "true"),
        ("delivered", "50874000000"),
        ("level_kernel", "6.1, \"old\""),
        ("environment", r#"{"kernel":"6.18.44","memory_bytes":"4294967296"}"#),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    let cut = String::from_utf8(written(Table::Runs, 20, true)).unwrap();
    assert!(cut.lines().nth(1).unwrap().contains("a.run.jsonl,,,"), "{cut}");
    assert!(cut.contains("killed") && cut.contains(",20,"), "{cut}");
}

#[test]
fn phases_and_warnings_are_events() {
    let text = csv(Table::Events);
    assert!(text.starts_with("run,at_ns,event,text\n0,1200,phase,warming\n"), "{text}");
    assert!(text.contains("0,34000001500,warning,sample 1 was given up"), "{text}");
}

/// A cell of Parquet as CSV writes it.
fn text_of(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::UInt(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::Long(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        Field::Bool(value) => value.to_string(),
        other => panic!("no column of ours is {other:?}"),
    }
}

/// The rows of a Parquet file as texts.
fn parquet_rows(bytes: Vec<u8>) -> Vec<Vec<String>> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| row.get_column_iter().map(|(_, field)| text_of(field)).collect()).collect()
}

#[test]
fn parquet_has_the_cells_of_csv_and_the_same_bytes_every_time() {
    for table in Table::ALL {
        let bytes = written(table, documented().len(), false);
        assert!(bytes == written(table, documented().len(), false), "{}", table.name());
        let mut expected: Vec<Vec<String>> = csv::Reader::from_reader(csv(table).as_bytes())
            .into_records()
            .map(|row| row.unwrap().iter().map(str::to_owned).collect())
            .collect();
        if table == Table::Runs {
            // A time is a number there.
            expected[0][3] = "1764000000000000000".to_owned();
        }
        assert_eq!(parquet_rows(bytes), expected, "{}", table.name());
    }
}

#[test]
fn row_groups_join_to_one_table() {
    let rows = (1_usize << 18) + 3;
    let word = |row: usize| if row.is_multiple_of(3) { String::new() } else { "word".to_owned() };
    let columns = [
        Column::whole("number", Cells::Count((0..rows as u64).map(|it| u64::MAX - it).collect())),
        Column {
            name: "word".into(),
            cells: Cells::Text((0..rows).map(word).collect()),
            is_optional: true,
            present: (0..rows).map(|row| row % 3 > 0).collect(),
        },
    ];
    let mut out = Vec::new();
    let mut file = Box::new(ParquetFile::new(&columns, &mut out).unwrap());
    file.rows(&columns).unwrap();
    file.finish().unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(out.clone())).unwrap();
    assert_eq!(reader.metadata().num_row_groups(), 2);
    assert_eq!(reader.metadata().file_metadata().num_rows(), rows as i64);
    let read = parquet_rows(out);
    assert_eq!(read[1], [(u64::MAX - 1).to_string(), "word".to_owned()]);
    assert_eq!(read[1 << 18], [(u64::MAX - (1 << 18)).to_string(), "word".to_owned()]);
    assert_eq!(read[3][1], "");
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let header = documented().lines().next().unwrap();
    let line = r#"{"kind":"pass","at_ns":1,"worker":0,"pass":0,"started_ns":0,"completed_ns":1,"usage":{"worker":1}}"#;
    let written = written_of(format!("{header}\n{line}\n").as_bytes(), Table::Passes, true);
    assert!(matches!(written, Err(ExportError::SameName(_))));
}

proptest! {
    #[test]
    fn a_run_that_was_cut_off_anywhere_is_exported(cut in 0.0..1.0_f64, table in 0..Table::ALL.len()) {
        let bytes = (cut * documented().len() as f64) as usize;
        let table = Table::ALL[table];
        let text = String::from_utf8(written(table, bytes, true)).unwrap();
        let rows = csv::Reader::from_reader(text.as_bytes()).into_records().count();
        prop_assert_eq!(parquet_rows(written(table, bytes, false)).len(), rows);
    }
}
