//! `thrashlab vm machines`: the machines by name.

use std::fs;

use clap::Args;
use model::units::{format_duration, format_size};
use render::{Block, Document, Table};
use serde_json::{Value, json};
use vm::{DEFAULT, NAMED, VmRequest, load};

use crate::output::{OutputArgs, show};
use crate::{OrWrong, Result, wrong};

const EXAMPLES: &str = "\
Examples:
  thrashlab vm machines
  thrashlab vm machines p2-350 > mine.toml
                        a copy to edit, used as machine=mine.toml";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MachinesArgs {
    /// The machine whose description is printed, or the file of one, which is checked
    #[arg(value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    output: OutputArgs,
}

const HEADING: [&str; 9] =
    ["machine", "mem", "kernel mem", "swap", "instruction", "disk", "delay", "rate", "profile"];

pub(crate) fn machines(args: &MachinesArgs) -> Result<()> {
    if let Some(name) = &args.name {
        let description = load(name).map_err(wrong)?;
        let text = match NAMED.iter().find(|(known, _)| known == name) {
            Some((_, text)) => (*text).to_owned(),
            None => fs::read_to_string(name).or_wrong("read it")?,
        };
        let document = Document::of(vec![Block::Verbatim(text)]);
        return show(&document.with_data(as_json(&description)), &args.output);
    }
    let all: Result<Vec<VmRequest>, _> = NAMED.iter().map(|(name, _)| load(name)).collect();
    let all = all.map_err(wrong)?;
    let default = format!(
        "Without machine=NAME it is {DEFAULT}. A description to copy and change: thrashlab vm \
         machines {DEFAULT} > mine.toml"
    );
    let table = Table::of("", HEADING, all.iter().map(row));
    let document = Document::of(vec![table.into(), Block::Verbatim(default)]);
    let data: Vec<Value> = all.iter().map(as_json).collect();
    show(&document.with_data(data), &args.output)
}

fn row(description: &VmRequest) -> [String; 9] {
    let machine = &description.machine;
    let disk = &machine.disk;
    let delay = match (disk.read_delay_ns, disk.write_delay_ns) {
        (read, write) if read == write => format_duration(read),
        (read, write) => format!("{} / {}", format_duration(read), format_duration(write)),
    };
    let rate = disk
        .rate_bytes_per_s
        .map_or_else(|| "-".to_owned(), |rate| format!("{}/s", format_size(rate)));
    [
        machine.name.clone(),
        format_size(machine.memory_bytes),
        format_size(machine.kernel_memory_bytes),
        format_size(machine.swap_bytes),
        format!("{} ns", 1_u64 << machine.icount_shift),
        format_size(disk.size_bytes),
        delay,
        rate,
        description.profile.clone().unwrap_or_else(|| "default".to_owned()),
    ]
}

fn as_json(description: &VmRequest) -> Value {
    json!({ "machine": description.machine, "profile": description.profile })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_has_a_row() {
        for (name, _) in NAMED {
            let row = row(&load(name).unwrap());
            assert_eq!(row.len(), HEADING.len());
            assert_eq!(row[0], name);
            assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        }
    }
}
