//! `thrashlab import`: results of other programs.

use std::path::Path;

use anyhow::{Context, anyhow};
use model::resp1::Resp1Table;
use report::dataset_text;
use store::import::Options;
use store::observations::{observations_as, read};
use store::resp1::{RatioCheck, RowPoints, check_ratios, parse, points_notes, recover_points};

use crate::args::{ImportArgs, ImportFrom};
use crate::{Failure, print, print_json};

/// Reads a foreign result, checks it, and prints it.
pub(crate) fn import(args: &ImportArgs) -> Result<(), Failure> {
    match &args.from {
        Some(ImportFrom::Resp1 { file, json }) => import_resp1(file, *json),
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
    if args.json {
        return print_json(&set);
    }
    print(&dataset_text(&set))
}

fn import_resp1(file: &Path, json: bool) -> Result<(), Failure> {
    let name = file.display();
    let text = read(file).context("read the output").map_err(Failure::WrongUse)?;
    let table = parse(&text)
        .with_context(|| format!("{name} is not output of resp1"))
        .map_err(Failure::WrongUse)?;
    let points = recover_points(&table);
    if json {
        let value = with_points(&table, &points).context("write JSON")?;
        return print_json(&value);
    }
    let checks = check_ratios(&table);
    let mut output = report::resp1::printed(&table);
    output.push('\n');
    output.push_str(&checks_table(&checks));
    output.push('\n');
    for note in points_notes(&points) {
        output.push_str(&format!("Note: {note}\n"));
    }
    print(&output)?;
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

fn checks_table(checks: &[RatioCheck]) -> String {
    let mut rows = vec![["test", "printed", "recomputed", "check"].map(str::to_owned).to_vec()];
    rows.extend(checks.iter().map(|check| {
        vec![
            check.test.clone(),
            format!("{:.3}", check.printed),
            format!("{:.3}", check.recomputed),
            if check.agrees { "agrees" } else { "DIFFERS" }.to_owned(),
        ]
    }));
    report::columns::aligned(&rows)
}
