//! `thrashlab show`: results again, from their files alone, other programs' included.

use std::collections::BTreeMap;
use std::path::Path;

use analysis::responsiveness::Matrix;
use analysis::{MemoryJob, Session, is_of_job, is_of_memory_job};
use anyhow::{Context, anyhow};
use model::Run;
use model::resp1::Resp1Format;
use render::{Block, Document, FORMATS};
use report::{
    dataset_document, matrix_document, memory_job_document, resp1_table, session_document,
    verbose_lines,
};
use store::observations;
use store::observations::is_foreign;
use store::reference::{document, find};
use store::results::read_runs;

use crate::Failure;
use crate::args::{Form, Shape, ShowArgs};
use crate::output::deliver;

/// Prints a results folder, a run file, or a published result.
pub(crate) fn show(args: &ShowArgs) -> Result<(), Failure> {
    let (what, shape) = (args.what.as_str(), &args.shape);
    let path = Path::new(what);
    let set;
    let shown = if let Some(name) = what.strip_prefix("reference:") {
        document(find(name).context("show").map_err(Failure::WrongUse)?)
    } else if is_foreign(path) {
        if shape.worst.is_some() || shape.output_format().is_none() {
            let error = anyhow!("--worst and --format resp1 are for runs, and {what} is none");
            return Err(Failure::WrongUse(error));
        }
        set = observations(what).context("read results").map_err(Failure::WrongUse)?;
        dataset_document(&set)
    } else {
        let runs = read_runs(path).context("read results").map_err(Failure::WrongUse)?;
        let runs: Vec<Run> = runs.into_iter().map(|(_, run)| run).collect();
        let mut shown = shaped(&runs, BTreeMap::new(), shape)?;
        if shape.output_format().is_some() {
            let deaths = report::deaths_text(&runs);
            shown.blocks.extend((!deaths.is_empty()).then_some(Block::Verbatim(deaths)));
        }
        shown
    };
    print_shaped(&shown, shape, args.output.as_deref())
}

/// Prints a result in the form that was asked for, or writes it to a file.
pub(crate) fn print_shaped(
    document: &Document<'_>,
    shape: &Shape,
    file: Option<&Path>,
) -> Result<(), Failure> {
    deliver(document, shape.output_format().unwrap_or(&FORMATS[0]), file)
}

/// The result of runs: a matrix, or of a job its own table.
pub(crate) fn shaped(
    runs: &[Run],
    skipped: BTreeMap<String, String>,
    shape: &Shape,
) -> Result<Document<'static>, Failure> {
    if !is_of_job(runs) {
        return Ok(of_matrix(Matrix::from_runs(runs, skipped), shape));
    }
    if shape.worst.is_some() {
        return Err(Failure::WrongUse(anyhow!("--worst is for a probe's responses")));
    }
    if shape.output_format().is_none() {
        return Err(Failure::WrongUse(anyhow!("--format resp1 is a form of a probe's results")));
    }
    if is_of_memory_job(runs) {
        let result = MemoryJob::from_runs(runs, skipped);
        let document = memory_job_document(&result, shape.verbose).without_data();
        return Ok(document.with_data(result));
    }
    let session = Session::from_runs(runs, skipped);
    let document = session_document(&session, shape.verbose).without_data();
    Ok(document.with_data(session))
}

/// A matrix in the layout that was asked for.
fn of_matrix(mut matrix: Matrix, shape: &Shape) -> Document<'static> {
    let document = match (shape.format, shape.worst) {
        (_, Some(_)) | (Form::Document(_), None) => {
            matrix_document(&matrix, shape.worst, shape.verbose).without_data()
        }
        (Form::Resp1(layout), None) => {
            let extras = if shape.verbose { verbose_lines(&matrix) } else { Vec::new() };
            let table = resp1_table(&matrix, layout, extras);
            let text = match layout {
                Resp1Format::Second => report::resp1::second_format(&table),
                Resp1Format::First => report::resp1::first_format(&table),
            };
            Document::of(vec![Block::Verbatim(text)])
        }
    };
    matrix.keep_worst(shape.worst.unwrap_or(1));
    document.with_data(matrix)
}
