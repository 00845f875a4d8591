//! `thrashlab trace stat`.

use std::fs::File;
use std::mem;

use anyhow::{Context, anyhow};
use clap::Args;
use model::units::format_duration;
use render::{Cell, Document, Table};
use report::trace_document;
use trace::{Granularity, Reader, Summary};

use super::input::{Input, InputArgs};
use crate::output::{OutputArgs, show};
use crate::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  thrashlab trace stat t.tlt
  thrashlab trace stat t.tlt --json
  thrashlab trace stat champsim.xz --input-format champsim
  thrashlab trace stat t.tlt --blocks  the index, without decompressing a block";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatArgs {
    #[command(flatten)]
    input: InputArgs,

    /// List the blocks of thrashlab's own trace instead; nothing is decompressed
    #[arg(long, conflicts_with_all = ["json", "format", "output"])]
    blocks: bool,

    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn stat(args: &StatArgs) -> Result<()> {
    if args.blocks {
        return blocks(args);
    }
    let mut input = Input::open(&args.input, Granularity::Reference)?;
    let mut summary = Summary::default();
    input.for_each(|block| {
        summary.add(block);
        Ok(())
    })?;
    summary.finish();
    let name = args.input.path.display().to_string();
    let size_bytes = input.read_bytes();
    let document = trace_document(&name, input.format, size_bytes, &summary, &input.notes());
    show(&document, &args.output)
}

const ROWS: usize = 4096;
const HEADING: [&str; 10] = [
    "block",
    "process",
    "thread",
    "references",
    "runs",
    "events",
    "pages",
    "references'",
    "events'",
    "time",
];

/// One row per block, from the heads of the blocks alone.
fn blocks(args: &StatArgs) -> Result<()> {
    let path = args.input.path.display();
    let file = File::open(&args.input.path).with_context(|| path.to_string())?;
    let wrong = |error: trace::TraceError| Failure::from(anyhow!("{path}: {error}"));
    let mut reader = Reader::from_file(file, Granularity::Page).map_err(wrong)?;
    let mut table = Table::new("", HEADING);
    let mut number = 0_u64;
    while let Some(head) = reader.next_head().map_err(wrong)? {
        let counts = [head.process, head.thread, head.references, head.runs, head.events];
        let bytes = [head.pages_bytes, head.references_bytes, head.events_bytes];
        let time = Cell::from(head.at_ns.map(format_duration));
        let figures = counts.into_iter().chain(bytes).map(Cell::from);
        table.row([Cell::from(number)].into_iter().chain(figures).chain([time]));
        number += 1;
        if table.rows.len() == ROWS {
            let full = mem::replace(&mut table, Table::new("", HEADING));
            show(&Document::of(vec![full.into()]), &args.output)?;
        }
    }
    show(&Document::of(vec![table.into()]), &args.output)
}
