//! `thrashlab export`: results in the formats of others.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use analysis::CommandTimes;
use clap::{Args, ValueEnum};
use formats::Options;
use formats::go::Each;
use formats::kcidb::Build;
use formats::{CsvFile, ExportError, ParquetFile, RunTables, Sink};
use keep::out_file::OutFile;
use model::Run;
use results::run_files::read_runs;
use results::{Column, Table};
use store::observations::{
    Content, content, is_foreign, is_stream, observations_as, observations_in,
};

use crate::levels::by_levels;
use crate::output::named;
use crate::{Failure, OrWrong, Result, print};

const EXAMPLES: &str = "\
Examples:
  thrashlab export RESULTS --format csv -o samples.csv
                                       one row per sample
  thrashlab export RESULTS --format parquet --table all -o tables/
                                       runs, samples, counters, …: one file each
  thrashlab export before/ --format go -o a.txt
                                       and the same for after/, then:
  benchstat a.txt b.txt
  thrashlab export RESULTS --format openmetrics -o thrashlab.prom
  thrashlab export RESULTS --format hyperfine -o times.json
                                       runs of commands, for hyperfine's scripts
  thrashlab export RESULTS --format bencher -o bmf.json
  thrashlab export RESULTS --format kcidb --origin mylab --build-id maestro:6a1f
                                       a report for KCIDB, of a build that it knows
  thrashlab export hyperfine.json --format go  results of other programs as well

docs/exchange.md describes what each format keeps and what it loses.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArgs {
    /// A results folder, a run file, `reference:NAME`, or a result of another program; `-` is standard
    /// input
    input: String,

    /// What to write
    #[arg(long, value_enum)]
    format: ExportFormat,

    /// The output file; a folder with `--table all` [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Table to write as CSV or Parquet [default: samples, or the work or passes of a
    /// job; of other programs observations]
    #[arg(long, value_parser = named(&TABLES))]
    table: Option<Tables>,

    /// What a line of --format go is [default: trial; sample where a cell has a single trial]
    #[arg(long, value_parser = named(&EACH))]
    each: Option<Each>,

    /// For --format kcidb: the name of the CI system that reports
    #[arg(long, value_name = "NAME")]
    origin: Option<String>,

    /// For --format kcidb: the tested build, as in the report of the CI system that built it
    #[arg(long, value_name = "ORIGIN:ID")]
    build_id: Option<String>,

    /// For --format kcidb: the checkout of the build, to report the build as well
    #[arg(long, value_name = "ORIGIN:ID")]
    checkout_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Bencher Metric Format, for `bencher run --adapter json`
    Bencher,
    /// Comma-separated values with a heading row
    Csv,
    /// Go benchmark lines, for benchstat
    Go,
    /// hyperfine's JSON, of runs of your own commands
    Hyperfine,
    /// A report for KCIDB, the database of the Linux kernel's CI systems
    Kcidb,
    /// OpenMetrics text, for Prometheus
    Openmetrics,
    /// Parquet, for pandas, polars, DuckDB and the like
    Parquet,
}

/// Tables of run files; none of them are the observations.
type Tables = &'static [Table];

/// The values of `--table`.
const TABLES: [(&str, &str, Tables); 10] = [
    ("runs", "One row per run", &[Table::Runs]),
    ("samples", "One row per sample", &[Table::Samples]),
    (
        "histograms",
        "One row per distinct delay of a periodic probe, with its count",
        &[Table::Histograms],
    ),
    ("counters", "One row per counter and reading", &[Table::Counters]),
    ("work", "One row per work item of a job", &[Table::Work]),
    ("figures", "One row per figure that a command printed", &[Table::Figures]),
    ("passes", "One row per pass of a job", &[Table::Passes]),
    ("events", "One row per phase or warning", &[Table::Events]),
    (
        "observations",
        "One row per value as `compare` uses it; for runs and results of other programs",
        &[],
    ),
    ("all", "All tables of runs, each in its own file", &Table::ALL),
];

/// The values of `--each`.
const EACH: [(&str, &str, Each); 2] =
    [("trial", "A trial, by its medians", Each::Trial), ("sample", "A sample", Each::Sample)];

pub(crate) fn export(args: &ExportArgs) -> Result<()> {
    let tabular = matches!(args.format, ExportFormat::Csv | ExportFormat::Parquet);
    if args.table.is_some() && !tabular {
        return Err(wrong!("--table is for --format csv and parquet"));
    }
    if args.each.is_some() && args.format != ExportFormat::Go {
        return Err(wrong!("--each is for --format go"));
    }
    let of_kcidb = [&args.origin, &args.build_id, &args.checkout_id];
    if of_kcidb.iter().any(|it| it.is_some()) && args.format != ExportFormat::Kcidb {
        return Err(wrong!("--origin, --build-id and --checkout-id are for --format kcidb"));
    }
    match args.format {
        ExportFormat::Go => export_go(args),
        ExportFormat::Openmetrics => {
            export_text(args, &formats::openmetrics::text(&observed(args)?))
        }
        ExportFormat::Bencher => export_bencher(args),
        ExportFormat::Hyperfine => export_hyperfine(args),
        ExportFormat::Kcidb => export_kcidb(args),
        ExportFormat::Csv | ExportFormat::Parquet => export_tables(args),
    }
}

fn observed(args: &ExportArgs) -> Result<analysis::Dataset> {
    observations_as(&args.input, None, &Options::default()).or_wrong("read what is to be exported")
}

fn export_text(args: &ExportArgs, text: &str) -> Result<()> {
    match &args.output {
        None => print(text),
        Some(_) => write_to(args.output.as_deref(), |out| Ok(out.write_all(text.as_bytes())?)),
    }
}

/// The commands of run files, with the levels of the experiment that they belong to.
fn export_hyperfine(args: &ExportArgs) -> Result<()> {
    let folder = Path::new(&args.input);
    let runs = read_runs(folder).or_wrong("read what is to be exported")?;
    let groups = by_levels(folder, runs)?;
    let times = |runs: &[Run]| CommandTimes::from_runs(runs, BTreeMap::new());
    let groups: Vec<_> = groups.into_iter().map(|(levels, runs)| (levels, times(&runs))).collect();
    let text = formats::hyperfine::text(&groups).or_wrong(format!(
        "{}: --format hyperfine is for runs of your own commands (thrashlab run -- COMMAND), and \
         none has a repetition that ended",
        args.input
    ))?;
    export_text(args, &text)
}

fn export_bencher(args: &ExportArgs) -> Result<()> {
    let text = formats::bencher::text(&observed(args)?).or_wrong(format!(
        "{}: no trial that counts has a value, so there is no metric to write",
        args.input
    ))?;
    export_text(args, &text)
}

fn export_kcidb(args: &ExportArgs) -> Result<()> {
    let (Some(origin), Some(build_id)) = (&args.origin, &args.build_id) else {
        return Err(wrong!(
            "--format kcidb needs --origin (the CI system that reports) and --build-id (the tested \
             build, ORIGIN:ID)"
        ));
    };
    let build = Build::new(origin, build_id, args.checkout_id.as_deref());
    let build = build.map_err(|why| wrong!("{why}"))?;
    let text = formats::kcidb::text(&observed(args)?, &build);
    let text = text.or_wrong(format!("{}: no trial has a value to report", args.input))?;
    export_text(args, &text)
}

fn export_go(args: &ExportArgs) -> Result<()> {
    let set = observed(args)?;
    let each = args.each.unwrap_or_default();
    write_to(args.output.as_deref(), |out| Ok(formats::go::write(&set, each, out)?))
}

/// The requested tables: of run files, or the observations alone.
fn export_tables(args: &ExportArgs) -> Result<()> {
    let path = Path::new(&args.input);
    // What can be read once only is recognized by its content.
    let content = is_stream(path).then(|| content(&args.input)).transpose();
    let content = content.or_wrong("read what is to be exported")?;
    let of_runs = match &content {
        Some(content) => matches!(content, Content::Run(_)),
        None => !args.input.starts_with("reference:") && !is_foreign(path),
    };
    let tables: Tables = match (args.table, of_runs) {
        (None, true) => &[Table::Samples],
        (Some(tables), true) => tables,
        (None | Some([]), false) => &[],
        (Some(_), false) => {
            return Err(wrong!(
                "{} is not a run file: it has --table observations only",
                args.input
            ));
        }
    };
    if tables.is_empty() {
        let set = match content {
            None => observed(args)?,
            Some(content) => observations_in(&args.input, content, None, &Options::default())
                .or_wrong("read what is to be exported")?,
        };
        return write_to(args.output.as_deref(), |out| {
            formats::observed(&set, |columns| sink(args.format, columns, out))
        });
    }
    if content.is_some() {
        return Err(wrong!(
            "{}: the tables of a run need its file twice, and this can be read once only; write it \
             into a file first",
            args.input
        ));
    }
    let runs =
        RunTables::find(args.input.clone().into()).or_wrong("read what is to be exported")?;
    let [table] = tables[..] else { return export_all(args, &runs) };
    let table = if args.table.is_none() { runs.measured_table() } else { table };
    write_to(args.output.as_deref(), |out| {
        runs.write(vec![(table, sink(args.format, &runs.columns(table)?, out)?)])
    })
}

/// Every table into a file of its own, in one reading.
fn export_all(args: &ExportArgs, runs: &RunTables) -> Result<()> {
    let folder = args
        .output
        .as_deref()
        .or_wrong("--table all writes several files: name a folder with -o")?;
    let ending = if args.format == ExportFormat::Csv { "csv" } else { "parquet" };
    let all = || {
        fs::create_dir_all(folder)?;
        let (mut sinks, mut files) = (Vec::new(), Vec::new());
        for table in Table::ALL {
            let path = folder.join(format!("{}.{ending}", table.name()));
            let (out, file) = OutFile::create(&path)?;
            files.push(out);
            let file = BufWriter::new(file);
            sinks.push((table, sink(args.format, &runs.columns(table)?, file)?));
        }
        runs.write(sinks)?;
        Ok(files.into_iter().try_for_each(OutFile::finish)?)
    };
    all().map_err(|error| Failure::NotMeasured(failed(error, Some(folder))))
}

/// A table's file in a format.
fn sink<'a>(
    format: ExportFormat,
    columns: &[Column],
    out: impl Write + Send + 'a,
) -> Result<Box<dyn Sink + 'a>, ExportError> {
    Ok(match format {
        ExportFormat::Parquet => Box::new(ParquetFile::new(columns, out)?),
        _ => Box::new(CsvFile::new(columns, out)?),
    })
}

/// Writes to a file, or to standard output; a reader that went away is not a failure.
fn write_to(
    output: Option<&Path>,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), ExportError>,
) -> Result<()> {
    let written = match output {
        None => {
            let mut out = BufWriter::new(io::stdout());
            write(&mut out).and_then(|()| Ok(out.flush()?))
        }
        Some(path) => OutFile::create(path).map_err(ExportError::from).and_then(|(file, out)| {
            let mut out = BufWriter::new(out);
            write(&mut out)?;
            out.flush()?;
            Ok(file.finish()?)
        }),
    };
    match written {
        Err(error) if error.is_of_reader() => Ok(()),
        other => other.map_err(|error| Failure::NotMeasured(failed(error, output))),
    }
}

/// An error with the place that was to be written.
fn failed(error: ExportError, output: Option<&Path>) -> anyhow::Error {
    let place = output.map_or("standard output".into(), Path::to_string_lossy);
    anyhow::Error::new(error).context(format!("export to {place}"))
}
