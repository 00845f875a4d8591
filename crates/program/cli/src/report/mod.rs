//! `thrashlab report`: results as one page, or as Markdown, text, JSON or specifications of charts.

mod read;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use keep::out_file::write_whole;
use model::Run;
use render::{HTML, OutputFormat, Style};

use crate::fail_on::margin;
use crate::output::{OutputArgs, deliver};
use crate::progress::Progress;
use crate::result_file::ResultFile;
use crate::{OrWrong, Result};

use read::Results;

const FILE: &str = "report.html";
/// The beginning of a page, in which its title ends as no other page's does.
const HEAD_BYTES: u64 = 4096;
const TITLE_END: &str = " – thrashlab</title>";
const OF_OTHERS: &str = "is there already, and is not a report of thrashlab";

const EXAMPLES: &str = "\
Examples:
  thrashlab report results/  writes report.html, a self-contained page
  thrashlab report before/ after/ -o change.html
                             two results and their systems compared
  thrashlab report EXPERIMENT --format markdown
                             for a pull request
  thrashlab report SWEEP --format vega > charts.json
                             the charts as Vega-Lite specifications
  thrashlab report reference:multics/experiment4 -o multics.html

Results are folders of runs, run files, experiments, sweeps, and whatever
compare, attribute and sweep --from read. The same files give the same bytes.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Folders of runs, run files, experiments, sweeps, `reference:NAME`, or results of other
    /// programs; of several, the first one is the reference
    #[arg(required = true, value_name = "RESULTS")]
    results: Vec<String>,

    #[command(flatten)]
    output: OutputArgs,

    /// Compare the levels of this factor; within one experiment [default: its only one]
    #[arg(long, value_name = "FACTOR")]
    factor: Option<String>,

    /// Smallest difference that matters
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = margin)]
    margin: f64,
}

pub(crate) fn report(args: &ReportArgs) -> Result<()> {
    let mut results = Results::read(&args.results, args.factor.as_deref(), args.margin)
        .or_wrong("read results")?;
    let material = results.material();
    let document = report::page::report(&material);
    let format = args.output.format_or(&HTML);
    // A page is for a browser.
    let default = ResultFile::from(OsString::from(FILE));
    if is_default(&args.output, format) && !is_free(Path::new(FILE)) {
        return Err(wrong!("{FILE} {OF_OTHERS}; name a file with -o"));
    }
    let file = match is_default(&args.output, format) {
        true => Some(&default),
        false => args.output.file(),
    };
    deliver(&document, format, file)
}

/// Whether the page goes to the usual file.
fn is_default(output: &OutputArgs, format: &OutputFormat) -> bool {
    format.name == HTML.name && !output.is_named()
}

/// Whether a page may be written here: there is no file, or an earlier page.
fn is_free(path: &Path) -> bool {
    if path.exists() && !path.is_file() {
        return false;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    match read {
        Ok(_) => String::from_utf8_lossy(&head).contains(TITLE_END),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Writes the page of a folder's runs into it, titled `measure`; `made` are runs that need not be
/// read again. A run does not fail because of its page.
pub(crate) fn of_run(
    folder: &Path,
    made: BTreeMap<PathBuf, Run>,
    measure: &str,
    progress: &Progress,
) {
    let path = folder.join(FILE);
    let written = || -> anyhow::Result<()> {
        anyhow::ensure!(is_free(&path), "{} {OF_OTHERS}", path.display());
        let name = folder.to_str().with_context(|| format!("{}: not UTF-8", folder.display()))?;
        let mut results = Results::of_folder(name, made, measure)?;
        let material = results.material();
        let page = (HTML.write)(&report::page::report(&material), &Style::default())?;
        write_whole(&path, page.as_bytes()).with_context(|| format!("write {}", path.display()))
    };
    match written() {
        Ok(()) => progress.say(&format!("report: {}", path.display())),
        Err(why) => {
            progress.warn(&format!("warning: no report was written: {}", crate::chain(&why)))
        }
    }
}
