//! `thrashlab show`: results again, from their files alone.

use std::collections::BTreeMap;
use std::path::Path;

use analysis::responsiveness::Matrix;
use anyhow::Context;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use formats::resp1::{printed, resp1_table, verbose_lines};
use model::Run;
use model::resp1::Resp1Format;
use render::{Block, Document, FORMATS, OutputFormat, format_named};
use report::{SlowPaths, dataset_document, job_document, matrix_document, with_run_profiles};
use store::observations::{Results, results};
use store::reference::find;

use crate::levels::{Levels, by_shown_levels, joined};
use crate::output::{deliver, possible_values};
use crate::recorded::Kept;
use crate::result_file::ResultFile;
use crate::{OrWrong, Result, reference};

#[derive(Args)]
pub(crate) struct Shape {
    /// Format of the result
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = form())]
    pub(crate) format: Form,

    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    /// List the N slowest responses under each load, with the parts of their delay and the counters
    /// that changed meanwhile (docs/explained.md)
    #[arg(long, value_name = "N", conflicts_with = "format")]
    pub(crate) worst: Option<usize>,

    /// Show more: everything that is unavailable here; each user of a session; with --format resp1,
    /// S.D., size written, loops and circles per second
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// A document in an output format.
    Document(&'static OutputFormat),
    /// The layout of resp1, of 2003 or of its first version.
    Resp1(Resp1Format),
}

impl Shape {
    /// The format of the document; text if it has the layout of resp1.
    pub(crate) fn document_format(&self) -> &'static OutputFormat {
        self.output_format().unwrap_or(&FORMATS[0])
    }

    /// The output format; `None` if the layout of resp1 was requested.
    pub(crate) fn output_format(&self) -> Option<&'static OutputFormat> {
        match self.format {
            _ if self.json => format_named("json"),
            Form::Document(format) => Some(format),
            Form::Resp1(_) => None,
        }
    }
}

/// Reads a form: an output format, `table` for text, or a layout of resp1.
fn form() -> impl TypedValueParser<Value = Form> {
    let layouts = [
        PossibleValue::new("resp1").help("resp1's second format of 2003: raw and S.D. ratios"),
        PossibleValue::new("resp1-first").help("resp1's first format: S.D. and raw ratio"),
        PossibleValue::new("table").hide(true),
    ];
    PossibleValuesParser::new(possible_values().chain(layouts)).try_map(|name| match &*name {
        "resp1" => Ok(Form::Resp1(Resp1Format::Second)),
        "resp1-first" => Ok(Form::Resp1(Resp1Format::First)),
        "table" => Ok(Form::Document(&FORMATS[0])),
        name => format_named(name).map(Form::Document).context("unknown format"),
    })
}

const EXAMPLES: &str = "\
Examples:
  thrashlab show results/            a folder of run files
  thrashlab show results/ --worst 3  and where the slowest responses spent time
  thrashlab show reference:resp1/2.4.20
                                     a published table
  thrashlab show old.json            an export of hyperfine
  thrashlab show results/ --format resp1
                                     in the layout of 2003";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ShowArgs {
    /// A results folder, a run file, `reference:NAME`, or a result of another program (or a folder of
    /// such files); `-` is standard input
    pub(crate) what: String,

    #[command(flatten)]
    pub(crate) shape: Shape,

    /// Write the result to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<ResultFile>,
}

pub(crate) fn show(args: &ShowArgs) -> Result<()> {
    let (what, shape) = (args.what.as_str(), &args.shape);
    let path = Path::new(what);
    let set;
    let shown = if let Some(name) = what.strip_prefix("reference:") {
        reference::document(find(name).or_wrong("show")?)
    } else {
        match results(what).or_wrong("read results")? {
            Results::Runs(runs) => {
                of_runs(by_shown_levels(path, runs)?, &Kept::beside(path), shape)?
            }
            Results::Foreign(_) if shape.worst.is_some() || shape.output_format().is_none() => {
                return Err(wrong!(
                    "--worst and --format resp1 are for runs, and {what} is not a run"
                ));
            }
            Results::Foreign(found) => {
                set = *found;
                dataset_document(&set)
            }
        }
    };
    deliver(&shown, shape.document_format(), args.output.as_ref())
}

/// The results of all groups, a part for each.
fn of_runs(
    groups: Vec<(Levels, Vec<Run>)>,
    kept: &Kept,
    shape: &Shape,
) -> Result<Document<'static>> {
    if let [(_, runs)] = &groups[..] {
        return of_group(runs, kept, shape);
    }
    let document = |(levels, runs): (Levels, Vec<Run>)| {
        of_group(&runs, kept, shape).map(|document| (levels, document))
    };
    Ok(joined(groups.into_iter().map(document).collect::<Result<_>>()?))
}

/// The result of runs of the same levels, with deaths.
fn of_group(runs: &[Run], kept: &Kept, shape: &Shape) -> Result<Document<'static>> {
    let mut shown = shaped(runs, BTreeMap::new(), kept, shape)?;
    if shape.output_format().is_some() {
        shown.blocks.extend(report::death_blocks(runs));
    }
    Ok(shown)
}

/// The result of runs: a matrix, with the critical paths that are known, or of a job its own table, with its profiles.
pub(crate) fn shaped(
    runs: &[Run],
    skipped: BTreeMap<String, String>,
    kept: &Kept,
    shape: &Shape,
) -> Result<Document<'static>> {
    let all: Vec<&Run> = runs.iter().collect();
    let Some(of_job) = job_document(&all, skipped.clone(), shape.verbose) else {
        return Ok(of_matrix(Matrix::from_runs(runs, skipped), kept, shape));
    };
    if shape.worst.is_some() {
        return Err(wrong!("--worst is for a probe's responses"));
    }
    if shape.output_format().is_none() {
        return Err(wrong!("--format resp1 is for the results of a probe"));
    }
    Ok(with_run_profiles(of_job, runs, &kept.profiles))
}

fn of_matrix(mut matrix: Matrix, kept: &Kept, shape: &Shape) -> Document<'static> {
    let slow_paths = SlowPaths::of(&matrix, &kept.paths);
    let document = match (shape.format, shape.worst) {
        (_, Some(_)) | (Form::Document(_), None) => {
            let document = matrix_document(&matrix, shape.worst, shape.verbose);
            slow_paths.add_to(document, shape.worst)
        }
        (Form::Resp1(layout), None) => {
            let extras = if shape.verbose { verbose_lines(&matrix) } else { Vec::new() };
            let table = resp1_table(&matrix, layout, extras);
            Document::of(vec![Block::Verbatim(printed(&table))])
        }
    };
    let most = shape.worst.unwrap_or(1);
    matrix.why_slow.iter_mut().for_each(|load| load.worst.truncate(most));
    document.with_data(slow_paths.with(matrix))
}
