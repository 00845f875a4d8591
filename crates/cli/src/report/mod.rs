//! `thrashlab report`: results as one page, or as Markdown, text, JSON or specifications of charts.

mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use keep::out_file::write_whole;
use model::Run;
use report::page::{Material, Report};

use crate::compare::margin;
use crate::progress::Progress;
use crate::{Failure, complain, print};

use read::Results;

/// Name of the page of a run, in its folder of results.
const FILE: &str = "report.html";

const EXAMPLES: &str = "\
Examples:
  thrashlab report results/                         writes report.html, which needs nothing else
  thrashlab report before/ after/ -o change.html    two results compared, their systems too
  thrashlab report EXPERIMENT --format markdown     for a pull request
  thrashlab report SWEEP --format vega > charts.json
                                                    the charts as Vega-Lite specifications
  thrashlab report reference:multics/experiment4 -o multics.html

Results are folders of runs, run files, experiments, sweeps, and whatever compare, attribute and
sweep --from read. The same files give the same bytes.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Folders of runs, run files, experiments, sweeps, `reference:NAME`, or results of other
    /// programs; of several, the first one is what the others are compared with
    #[arg(required = true, value_name = "RESULTS")]
    results: Vec<String>,

    /// The file to write [default: report.html for a page; other forms are printed]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Form of the report [default: as the name of the file ends, else html]
    #[arg(long, value_enum)]
    format: Option<Form>,

    /// Compare the levels of this factor within one experiment [default: its only one]
    #[arg(long, value_name = "FACTOR")]
    factor: Option<String>,

    /// Smallest difference that matters
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = margin)]
    margin: f64,
}

/// Form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// One page that needs no other file and no network
    Html,
    /// For a pull request or a mail
    Markdown,
    /// For a terminal
    Text,
    /// All figures behind the report
    Json,
    /// The charts by name, as Vega-Lite specifications
    Vega,
}

impl Form {
    fn of_name(path: &Path) -> Self {
        match path.extension().and_then(|end| end.to_str()) {
            Some("md" | "markdown") => Self::Markdown,
            Some("txt") => Self::Text,
            Some("json") => Self::Json,
            _ => Self::Html,
        }
    }

    fn drawn(self, material: &Material<'_>, report: &Report) -> String {
        match self {
            Self::Html => report::page::html(report),
            Self::Markdown => report::page::markdown(report),
            Self::Text => report::page::text(report),
            Self::Json => format!("{:#}\n", report::page::json(material, report)),
            Self::Vega => format!("{:#}\n", report::page::vega(report)),
        }
    }
}

/// Makes a report and writes or prints it.
pub(crate) fn report(args: &ReportArgs) -> Result<(), Failure> {
    let named = args.output.as_deref();
    let form = args.format.unwrap_or_else(|| named.map_or(Form::Html, Form::of_name));
    let mut results = Results::read(&args.results, args.factor.as_deref(), args.margin)
        .context("read results")
        .map_err(Failure::WrongUse)?;
    let material = results.material();
    let text = form.drawn(&material, &report::page::report(&material));
    let path = match (named, form) {
        (Some(path), _) if path.as_os_str() == "-" => None,
        (None, Form::Html) => Some(Path::new(FILE)),
        (path, _) => path,
    };
    match path {
        None => print(&text),
        Some(path) => {
            write(path, &text)?;
            complain(&format!("thrashlab: report: {}", path.display()));
            Ok(())
        }
    }
}

/// Writes the page of a folder's runs into it, and names it; `made` are those of them that have just
/// been made, and `measure` is what was measured. That it cannot be written is no reason for a run
/// to fail.
pub(crate) fn of_run(
    folder: &Path,
    made: BTreeMap<PathBuf, Run>,
    measure: &str,
    progress: &Progress,
) {
    let path = folder.join(FILE);
    let written = || -> anyhow::Result<()> {
        let name = folder.to_str().with_context(|| format!("{}: not UTF-8", folder.display()))?;
        let mut results = Results::of_folder(name, made, measure)?;
        let material = results.material();
        write(&path, &report::page::html(&report::page::report(&material)))
    };
    match written() {
        Ok(()) => progress.say(&format!("report: {}", path.display())),
        Err(why) => progress.say(&format!("warning: there is no report: {}", crate::chain(&why))),
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    write_whole(path, text.as_bytes()).with_context(|| format!("write {}", path.display()))
}
