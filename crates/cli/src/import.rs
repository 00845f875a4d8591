//! `thrashlab import`: results of other programs.

use std::path::Path;

use anyhow::{Context, anyhow};
use model::resp1::Resp1Table;
use render::{Block, Cell, Document, FORMATS, Table, Tone};
use report::dataset_document;
use store::import::Options;
use store::observations::{observations_as, read};
use store::resp1::{RatioCheck, RowPoints, check_ratios, parse, points_notes, recover_points};

use crate::Failure;
use crate::args::{ImportArgs, ImportFrom};
use crate::output::{OutputArgs, deliver, show};

/// Reads a foreign result, checks it, and prints it.
pub(crate) fn import(args: &ImportArgs) -> Result<(), Failure> {
    match &args.from {
        Some(ImportFrom::Resp1 { file, output }) => import_resp1(file, output),
        None => import_any(args),
    }
}

/// Prints what was understood of a file.
fn import_any(args: &ImportArgs) -> Result<(), Failure> {
    let options = Options {
        responses: args.responses.clone(),
        factors: args.factors.clone(),
        allow_repeats: args.allow_repeats,
    };
    let file = args.file.as_deref().unwrap_or("-");
    let set = observations_as(file, args.format, &options)
        .context("import")
        .map_err(Failure::WrongUse)?;
    show(&dataset_document(&set), &args.output)
}

fn import_resp1(file: &Path, args: &OutputArgs) -> Result<(), Failure> {
    let name = file.display();
    let text = read(file).context("read the output").map_err(Failure::WrongUse)?;
    let table = parse(&text)
        .with_context(|| format!("{name} is not output of resp1"))
        .map_err(Failure::WrongUse)?;
    let points = recover_points(&table);
    let checks = check_ratios(&table);
    let mut document = Document::of(vec![
        Block::Verbatim(report::resp1::printed(&table)),
        Block::Table(checks_table(&checks)),
    ]);
    let notes = points_notes(&points).into_iter().map(|note| format!("Note: {note}"));
    document.push(Block::Notes(notes.collect()));
    let format = args.format_or(&FORMATS[0]);
    let data = with_points(&table, &points).context("write JSON")?;
    deliver(&document.with_data(data), format, args.file_or(None))?;
    if format.name == "json" {
        return Ok(());
    }
    match checks.iter().filter(|check| !check.agrees).count() {
        0 => Ok(()),
        wrong => Err(Failure::NotMeasured(anyhow!(
            "{wrong} of {} printed ratios do not follow from the printed averages",
            checks.len()
        ))),
    }
}

/// The table, with what is known of the single delays as `points`.
fn with_points(table: &Resp1Table, points: &[RowPoints]) -> serde_json::Result<serde_json::Value> {
    let mut value = serde_json::to_value(table)?;
    value["points"] = serde_json::to_value(points)?;
    Ok(value)
}

fn checks_table(checks: &[RatioCheck]) -> Table {
    let mut table = Table::new("", ["test", "printed", "recomputed", "check"]);
    for check in checks {
        let ratios = [check.printed, check.recomputed];
        let ratios = ratios.map(|ratio| Cell::figure(format!("{ratio:.3}")));
        let verdict = match check.agrees {
            true => Cell::from("agrees"),
            false => Cell::from("DIFFERS").toned(Tone::Bad),
        };
        table.row([Cell::from(&check.test)].into_iter().chain(ratios).chain([verdict]));
    }
    table
}
