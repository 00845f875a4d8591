//! `thrashlab show`: results again, from their files alone.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use model::resp1::Resp1Format;
use report::matrix::Matrix;
use report::{analyse, matrix_text, resp1_table, verbose_lines};
use store::results::read_runs;

use crate::args::{Format, Shape, ShowArgs};
use crate::{Failure, print, reference};

/// Prints a results folder, a run file, or a published result.
pub(crate) fn show(args: &ShowArgs) -> Result<(), Failure> {
    if let Some(name) = args.what.strip_prefix("reference:") {
        return reference::show(name);
    }
    let runs = read_runs(Path::new(&args.what))
        .context("read results")
        .map_err(Failure::WrongUse)?
        .into_iter()
        .map(|(_, run)| run)
        .collect::<Vec<_>>();
    print(&shaped(&analyse(&runs, BTreeMap::new()), &args.shape)?)
}

/// A matrix in the form that was asked for.
pub(crate) fn shaped(matrix: &Matrix, shape: &Shape) -> Result<String, Failure> {
    if shape.json {
        let json = serde_json::to_string_pretty(matrix).context("write JSON")?;
        return Ok(json + "\n");
    }
    let extras = || if shape.verbose { verbose_lines(matrix) } else { Vec::new() };
    Ok(match shape.format {
        Format::Table => matrix_text(matrix),
        Format::Resp1 => {
            report::resp1::second_format(&resp1_table(matrix, Resp1Format::Second, extras()))
        }
        Format::Resp1First => {
            report::resp1::first_format(&resp1_table(matrix, Resp1Format::First, extras()))
        }
    })
}
