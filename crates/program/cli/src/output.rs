//! Where a result goes, and in which format.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ColorChoice};
use render::{Document, FORMATS, OutputFormat, Style, format_named, format_of_file};

use crate::result_file::ResultFile;
use crate::{Failure, Result, complain, settings};

/// Fewest columns that tables are fitted into.
const LEAST_COLUMNS: u16 = 40;

/// The file to which each result is appended as Markdown.
static MARKDOWN_COPY: OnceLock<PathBuf> = OnceLock::new();

/// Appends each result of this invocation to a file as well.
pub(crate) fn copy_to(file: Option<PathBuf>) {
    if let Some(file) = file {
        MARKDOWN_COPY.get_or_init(|| file);
    }
}

/// Whether results are printed with all that is known of them.
static HAS_DETAILS: AtomicBool = AtomicBool::new(false);

/// Prints results of this invocation with all that is known of them.
pub(crate) fn with_details(details: bool) {
    HAS_DETAILS.store(details, Ordering::Relaxed);
}

/// The format of a result on standard output: of a command whose `-o` is a folder.
#[derive(Args)]
pub(crate) struct FormatArgs {
    /// Format of the result [default: text; where -o names its file, by that name]
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    format: Option<&'static OutputFormat>,

    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FormatArgs {
    fn asked(&self) -> Option<&'static OutputFormat> {
        if self.json { format_named("json") } else { self.format }
    }

    /// The name of the format, if one was named.
    pub(crate) fn name(&self) -> Option<&'static str> {
        self.asked().map(|format| format.name)
    }

    /// Whether the result is text.
    pub(crate) fn is_text(&self) -> bool {
        self.name().is_none_or(|name| name == FORMATS[0].name)
    }
}

#[derive(Args)]
pub(crate) struct OutputArgs {
    #[command(flatten)]
    format: FormatArgs,

    /// Write the result to this file
    #[arg(long, short, value_name = "FILE")]
    output: Option<ResultFile>,
}

fn format() -> impl TypedValueParser<Value = &'static OutputFormat> {
    PossibleValuesParser::new(possible_values())
        .try_map(|name| format_named(&name).context("unknown format"))
}

pub(crate) fn possible_values() -> impl Iterator<Item = PossibleValue> {
    FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about))
}

/// Reads the name of a value; help and completion list all of them.
pub(crate) fn named<T: Copy + Send + Sync>(
    values: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let shown = values.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(shown).try_map(|name| {
        let found = values.iter().find(|(known, ..)| *known == name);
        found.map(|(.., value)| *value).context("unknown name")
    })
}

impl OutputArgs {
    /// The format of an option or of the file's name; else this one.
    pub(crate) fn format_or(&self, default: &'static OutputFormat) -> &'static OutputFormat {
        self.format
            .asked()
            .or_else(|| format_of_file(self.output.as_ref()?.path()?))
            .unwrap_or(default)
    }

    pub(crate) fn is_text(&self) -> bool {
        self.format_or(&FORMATS[0]).name == FORMATS[0].name
    }

    /// Whether the result is text on a terminal.
    pub(crate) fn is_for_terminal(&self) -> bool {
        self.is_text() && self.file().is_none() && std::io::stdout().is_terminal()
    }

    /// The file; `None` is standard output.
    pub(crate) fn file(&self) -> Option<&ResultFile> {
        self.output.as_ref().filter(|file| file.path().is_some())
    }

    /// Whether a file or standard output was named.
    pub(crate) fn is_named(&self) -> bool {
        self.output.is_some()
    }
}

pub(crate) fn show(document: &Document<'_>, args: &OutputArgs) -> Result<()> {
    deliver(document, args.format_or(&FORMATS[0]), args.file())
}

/// Prints a result.
pub(crate) fn show_in(document: &Document<'_>, args: &FormatArgs) -> Result<()> {
    deliver(document, args.asked().unwrap_or(&FORMATS[0]), None)
}

/// Like [`show`], but on standard error, where standard output is that of a command.
pub(crate) fn show_beside(document: &Document<'_>, args: &OutputArgs) -> Result<()> {
    let format = args.format_or(&FORMATS[0]);
    let written = args.file().map(|file| deliver(document, format, Some(file)));
    if let Some(Ok(())) = written {
        return Ok(());
    }
    // The command is not run again for a file that could not be written.
    let text = (format.write)(document, &style(&std::io::stderr()));
    let text = text.context("write the result as JSON")?;
    // As with `eprint!`, but a closed standard error is not a failure.
    let _ = std::io::stderr().write_all(text.as_bytes());
    written.unwrap_or(Ok(()))
}

/// Writes a document to a file, complete or not at all; or prints it.
pub(crate) fn deliver(
    document: &Document<'_>,
    format: &OutputFormat,
    file: Option<&ResultFile>,
) -> Result<()> {
    if let Some(copy) = MARKDOWN_COPY.get() {
        append(document, copy).with_context(|| format!("write {}", copy.display()))?;
    }
    let style = if file.is_some() { Style::default() } else { style(&std::io::stdout()) };
    let text = (format.write)(document, &style).context("write the result as JSON")?;
    match file.and_then(|file| Some((file, file.path()?))) {
        None => print_bytes(text.as_bytes()),
        Some((file, path)) => {
            file.write(text.as_bytes())?;
            complain(&format!("thrashlab: wrote {}", path.display()));
            Ok(())
        }
    }
}

fn append(document: &Document<'_>, file: &Path) -> anyhow::Result<()> {
    let format = format_named("markdown").context("no format markdown")?;
    let text = (format.write)(document, &Style::default())?;
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    Ok(file.write_all(text.as_bytes())?)
}

/// Width and colours of a stream.
fn style(output: &(impl IsTerminal + AsFd)) -> Style {
    let color = settings::color();
    let is_brief = !HAS_DETAILS.load(Ordering::Relaxed);
    if !output.is_terminal() {
        return Style { has_colour: color == ColorChoice::Always, is_brief, ..Style::default() };
    }
    let is_dumb = std::env::var_os("TERM").is_none_or(|kind| kind.is_empty() || kind == "dumb");
    let columns = rustix::termios::tcgetwinsize(output).map_or(0, |size| size.ws_col);
    let width = (columns > 0).then(|| usize::from(columns.max(LEAST_COLUMNS)));
    let is_auto = color == ColorChoice::Auto;
    Style { width, has_colour: color == ColorChoice::Always || is_auto && !is_dumb, is_brief }
}

/// Prints a result; a reader that went away (`| head`) is not a failure.
pub(crate) fn print(text: &str) -> Result<()> {
    // A result has names and texts of run files, which may come from anywhere.
    print_bytes(model::shown::shown(text).as_bytes())
}

/// Whether the reader of standard output went away.
static IS_READER_GONE: AtomicBool = AtomicBool::new(false);

/// Whether something may still read standard output, so that a command that repeats itself continues.
pub(crate) fn has_reader() -> bool {
    !IS_READER_GONE.load(Ordering::Relaxed)
}

/// Prints bytes that are safe for a terminal.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    match std::io::stdout().write_all(bytes).and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::NotMeasured(anyhow::Error::new(error).context("write the result")))
        }
        Err(_) => {
            IS_READER_GONE.store(true, Ordering::Relaxed);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
