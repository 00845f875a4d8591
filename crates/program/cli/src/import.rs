//! `thrashlab import`: results of other programs.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use formats::Options;
use formats::resp1::{RatioCheck, RowPoints, check_ratios, parse, points_notes, recover_points};
use model::resp1::Resp1Table;
use render::{Block, Cell, Document, FORMATS, Table, Tone};
use report::dataset_document;
use store::observations::{observations_as, read};

use crate::output::{OutputArgs, deliver, show};
use crate::{Failure, OrWrong, Result};

const EXAMPLES: &str = "\
Examples:
  thrashlab import old.json          what is in an export of hyperfine
  thrashlab import times.csv --response loops
                                     a column without a unit in its name
  thrashlab import work/log/RUN      a run of MMTests, or of lkp-tests its result root
  thrashlab import resp1 2.4.20.out  and check the ratios that it printed

What can be imported can be compared: thrashlab compare old.json new.json";

#[derive(Args)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    from: Option<ImportFrom>,

    /// The file, - for standard input, a folder of runs, or `reference:NAME`
    #[arg(required = true)]
    file: Option<String>,

    /// Format of the input; of results resp1, hyperfine, go, google, cyclictest, schbench,
    /// interbench, lkp, phoronix, perf or csv [default: recognised by its content]
    #[arg(long, value_name = "FORMAT", value_parser = import_format)]
    input_format: Option<formats::Format>,

    /// Measured columns of a CSV whose names do not end in a unit; keys to take from lkp-tests
    #[arg(long = "response", value_name = "COLUMNS", value_delimiter = ',')]
    responses: Vec<String>,

    /// Factors of a CSV although the names of their columns end in a unit
    #[arg(long = "factor", value_name = "COLUMNS", value_delimiter = ',')]
    factors: Vec<String>,

    /// Accept CSV trials that repeat another one value for value
    #[arg(long)]
    allow_repeats: bool,

    #[command(flatten)]
    output: OutputArgs,
}

const RESP1_EXAMPLES: &str = "\
Examples:
  thrashlab import resp1 2.4.20.out
  ./resp1 | thrashlab import resp1 - --json";

#[derive(Subcommand)]
enum ImportFrom {
    /// Output of resp1, in either of its formats; recomputes the ratios and checks them
    #[command(after_help = RESP1_EXAMPLES)]
    Resp1 {
        /// The file, or - for standard input
        file: PathBuf,

        #[command(flatten)]
        output: OutputArgs,
    },
}

fn import_format(text: &str) -> Result<formats::Format, String> {
    use formats::Format;
    let names = Format::ALL.map(|format| format.name).join(", ");
    Format::named(text).ok_or_else(|| format!("no format is named {text:?}; choose from {names}"))
}

pub(crate) fn import(args: &ImportArgs) -> Result<()> {
    match &args.from {
        Some(ImportFrom::Resp1 { file, output }) => import_resp1(file, output),
        None => import_any(args),
    }
}

fn import_any(args: &ImportArgs) -> Result<()> {
    let options = Options {
        responses: args.responses.clone(),
        factors: args.factors.clone(),
        allow_repeats: args.allow_repeats,
    };
    let file = args.file.as_deref().unwrap_or("-");
    let set = observations_as(file, args.input_format, &options).or_wrong("import")?;
    show(&dataset_document(&set), &args.output)
}

fn import_resp1(file: &Path, args: &OutputArgs) -> Result<()> {
    let name = file.display();
    let text = read(file).or_wrong("read the output")?;
    let table = parse(&text).or_wrong(format!("{name} is not output of resp1"))?;
    let points = recover_points(&table);
    let checks = check_ratios(&table);
    let mut document = Document::of(vec![
        Block::Verbatim(formats::resp1::printed(&table)),
        Block::Table(checks_table(&checks)),
    ]);
    let notes = points_notes(&points).into_iter().map(|note| format!("Note: {note}"));
    document.push(Block::Notes(notes.collect()));
    let format = args.format_or(&FORMATS[0]);
    let data = with_points(&table, &points).context("write JSON")?;
    deliver(&document.with_data(data), format, args.file())?;
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
            false => Cell::Text("DIFFERS".to_owned(), Tone::Bad),
        };
        table.row([Cell::from(&check.test)].into_iter().chain(ratios).chain([verdict]));
    }
    table
}
