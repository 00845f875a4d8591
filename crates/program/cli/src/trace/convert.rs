//! `thrashlab trace convert`.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use keep::out_file::OutFile;
use model::units::format_size;
use report::trace_notes;
use trace::{Format, Granularity, Header, Omitted, create};

use super::input::{Input, InputArgs};
use crate::{Result, complain};

const EXAMPLES: &str = "\
Examples:
  thrashlab trace convert lackey.txt -o t.tlt
  thrashlab trace convert champsim.xz -o t.tlt --input-format champsim
  thrashlab trace convert t.tlt -o t.din --to din
  valgrind --tool=lackey --trace-mem=yes ls 2>&1 | thrashlab trace convert - \\
      -o ls.tlt

Formats, and what each of them loses: docs/tracing.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Write the trace to this file; `-` is standard output, and a file appears only when it is
    /// complete
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Its format: tlt, lackey, din, oracleGeneral or csv
    #[arg(long, value_name = "FORMAT", default_value = "tlt")]
    to: Format,
}

pub(crate) fn convert(args: &ConvertArgs) -> Result<()> {
    let is_pages = args.to == Format::OracleGeneral;
    if is_pages && args.output.as_os_str() == "-" {
        let reason = "oracleGeneral stores the time of the next request in each record, which \
                      needs a file: name one with -o";
        return Err(wrong!(reason));
    }
    let columns = if is_pages { Granularity::Page } else { Granularity::Reference };
    let mut input = Input::open(&args.input, columns)?;
    let header = header(&input, args);
    let out = || args.output.display().to_string();
    let (out_file, file) = output(&args.output).with_context(out)?;
    let mut sink = create(args.to, file, &header).with_context(out)?;
    let mut references = 0;
    input.for_each(|block| {
        references += block.runs.iter().map(|run| u64::from(run.count)).sum::<u64>();
        Ok(sink.add(block).with_context(out)?)
    })?;
    let left = sink.finish().with_context(out)?;
    out_file.map_or(Ok(()), OutFile::finish).with_context(out)?;
    if !args.input.quiet {
        report_converted(args, references, left);
    }
    let notes = trace_notes(&input.notes());
    if !notes.is_empty() {
        complain(&format!("thrashlab: {}", notes.join("\n")));
    }
    Ok(())
}

/// The output: standard output for `-`, which cannot be renamed.
fn output(path: &Path) -> io::Result<(Option<OutFile>, File)> {
    if path.as_os_str() == "-" {
        return Ok((None, File::from(io::stdout().as_fd().try_clone_to_owned()?)));
    }
    OutFile::create(path).map(|(out_file, file)| (Some(out_file), file))
}

/// What our own format records about the trace.
fn header(input: &Input, args: &ConvertArgs) -> Header {
    let version = env!("CARGO_PKG_VERSION");
    match input.notes().header {
        Some(mut header) => {
            header.versions.insert("thrashlab trace convert".to_owned(), version.to_owned());
            header
        }
        None => Header {
            program: args.input.path.display().to_string(),
            data: true,
            fetches: input.format != Format::OracleGeneral,
            granularity: Granularity::Reference,
            tool: format!("thrashlab {version}, converted from {}", input.format.name()),
            ..Header::default()
        },
    }
}

/// What was written, and what the format could not take.
fn report_converted(args: &ConvertArgs, references: u64, left: Omitted) {
    let size_bytes = std::fs::metadata(&args.output).map_or(0, |metadata| metadata.len());
    let mut text = format!(
        "thrashlab: {references} references in {} ({})",
        args.output.display(),
        format_size(size_bytes)
    );
    if left.events > 0 {
        text += &format!("; {} has no events, {} were left out", args.to.name(), left.events);
    }
    if left.blocks_of_other_threads > 0 {
        text += &format!(
            "; {} does not distinguish threads, so all are merged into one",
            args.to.name()
        );
    }
    complain(&text);
}
