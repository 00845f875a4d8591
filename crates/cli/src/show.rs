//! `thrashlab show`: results again, from their files alone, other programs' included.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, anyhow};
use model::Run;
use model::resp1::Resp1Format;
use report::matrix::Matrix;
use report::{analyse, matrix_text, resp1_table, verbose_lines};
use store::observations;
use store::observations::is_foreign;
use store::results::read_runs;

use crate::args::{Format, Shape, ShowArgs};
use crate::{Failure, json_text, print, print_json, reference};

/// Prints a results folder, a run file, or a published result.
pub(crate) fn show(args: &ShowArgs) -> Result<(), Failure> {
    if let Some(name) = args.what.strip_prefix("reference:") {
        return reference::show(name);
    }
    let path = Path::new(&args.what);
    if is_foreign(path) {
        return show_foreign(&args.what, &args.shape);
    }
    let runs = read_runs(path)
        .context("read results")
        .map_err(Failure::WrongUse)?
        .into_iter()
        .map(|(_, run)| run)
        .collect::<Vec<_>>();
    let mut text = shaped(&runs, BTreeMap::new(), &args.shape)?;
    if !args.shape.json && args.shape.format == Format::Table {
        text += &report::deaths_text(&runs);
    }
    print(&text)
}

/// Prints what was understood of another program's result.
fn show_foreign(file: &str, shape: &Shape) -> Result<(), Failure> {
    if shape.worst.is_some() || shape.format != Format::Table {
        let error = anyhow!("--worst and --format resp1 are for runs, and {file} is none");
        return Err(Failure::WrongUse(error));
    }
    let set = observations(file).context("read results").map_err(Failure::WrongUse)?;
    match shape.json {
        true => print_json(&set),
        false => print(&report::dataset_text(&set)),
    }
}

/// The result of runs in the form that was asked for: a matrix, or of a job its own table.
pub(crate) fn shaped(
    runs: &[Run],
    skipped: BTreeMap<String, String>,
    shape: &Shape,
) -> Result<String, Failure> {
    if !report::is_of_job(runs) {
        return matrix_shaped(analyse(runs, skipped), shape);
    }
    if shape.worst.is_some() {
        return Err(Failure::WrongUse(anyhow!("--worst is for a probe's responses")));
    }
    if shape.format != Format::Table {
        return Err(Failure::WrongUse(anyhow!("--format resp1 is a form of a probe's results")));
    }
    if report::is_of_memory_job(runs) {
        let result = report::analyse_memory_job(runs, skipped);
        return match shape.json {
            true => json_text(&result),
            false => Ok(report::memory_job_text(&result, shape.verbose)),
        };
    }
    let session = report::analyse_session(runs, skipped);
    match shape.json {
        true => json_text(&session),
        false => Ok(report::session_text(&session, shape.verbose)),
    }
}

/// A matrix in the form that was asked for.
fn matrix_shaped(mut matrix: Matrix, shape: &Shape) -> Result<String, Failure> {
    if shape.json {
        matrix.keep_worst(shape.worst.unwrap_or(1));
        return json_text(&matrix);
    }
    let matrix = &matrix;
    if let Some(most) = shape.worst {
        return Ok(format!(
            "{}\n{}",
            matrix_text(matrix, shape.verbose),
            report::worst_text(matrix, most)
        ));
    }
    let extras = || if shape.verbose { verbose_lines(matrix) } else { Vec::new() };
    Ok(match shape.format {
        Format::Table => matrix_text(matrix, shape.verbose),
        Format::Resp1 => {
            report::resp1::second_format(&resp1_table(matrix, Resp1Format::Second, extras()))
        }
        Format::Resp1First => {
            report::resp1::first_format(&resp1_table(matrix, Resp1Format::First, extras()))
        }
    })
}
