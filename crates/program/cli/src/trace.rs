//! `thrashlab trace`: memory traces of programs.

mod convert;
pub(crate) mod input;
pub(crate) mod read_ahead;
pub(crate) mod record;
mod record_guest;
mod stat;

use clap::Subcommand;

use crate::Result;

pub(crate) const EXAMPLES: &str = "\
Examples:
  thrashlab trace record -o t.tlt -- gzip -9 < big > /dev/null
  thrashlab trace stat t.tlt
  thrashlab trace convert lackey.txt -o t.tlt
  thrashlab trace convert champsim.xz -o t.tlt --input-format champsim";

#[derive(Subcommand)]
pub(crate) enum TraceCommand {
    /// Record the memory references of a command
    Record(record::RecordArgs),
    /// Convert a trace from the format of another tool, or to it
    Convert(convert::ConvertArgs),
    /// Print what is in a trace: references, pages, threads, what is missing
    Stat(stat::StatArgs),
}

pub(crate) fn trace(command: &TraceCommand) -> Result<()> {
    match command {
        TraceCommand::Record(args) => record::record(args),
        TraceCommand::Convert(args) => convert::convert(args),
        TraceCommand::Stat(args) => stat::stat(args),
    }
}
