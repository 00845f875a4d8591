//! `thrashlab vm machines`: the machines by name.

use std::fs;

use clap::Args;
use model::MachineSpec;
use model::units::{format_duration, format_size};
use render::aligned;
use serde_json::{Value, json};
use vm::{DEFAULT, NAMED, VmRequest, load};

use crate::{Failure, OrWrong, print_result, wrong};

const EXAMPLES: &str = "\
Examples:
  thrashlab vm machines
  thrashlab vm machines p2-350 > mine.toml         to be changed, and used as machine=mine.toml";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MachinesArgs {
    /// The machine whose description is printed, or the file of one, which is checked
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Print JSON instead of a table or TOML
    #[arg(long)]
    json: bool,
}

const HEADING: [&str; 9] =
    ["machine", "mem", "kernel mem", "swap", "instruction", "disk", "delay", "rate", "profile"];

pub(crate) fn machines(args: &MachinesArgs) -> Result<(), Failure> {
    if let Some(name) = &args.name {
        let description = load(name).map_err(wrong)?;
        let text = match NAMED.iter().find(|(known, _)| known == name) {
            Some((_, text)) => (*text).to_owned(),
            None => fs::read_to_string(name).or_wrong("read it")?,
        };
        return print_result(args.json, || as_json(&description), || text);
    }
    let all: Result<Vec<VmRequest>, _> = NAMED.iter().map(|(name, _)| load(name)).collect();
    let all = all.map_err(wrong)?;
    print_result(
        args.json,
        || all.iter().map(as_json).collect::<Vec<_>>(),
        || {
            let mut rows = vec![HEADING.map(str::to_owned).to_vec()];
            rows.extend(all.iter().map(row));
            format!(
                "{}\nWithout machine=NAME it is {DEFAULT}. A description to copy and change: thrashlab \
             vm machines {DEFAULT} > mine.toml\n",
                aligned(&rows)
            )
        },
    )
}

fn row(description: &VmRequest) -> Vec<String> {
    let MachineSpec { name, disk, .. } = &description.machine;
    let machine = &description.machine;
    let delay = match (disk.read_delay_ns, disk.write_delay_ns) {
        (read, write) if read == write => format_duration(read),
        (read, write) => format!("{} / {}", format_duration(read), format_duration(write)),
    };
    let rate = disk
        .spindle_bytes_per_s
        .map_or_else(|| "-".to_owned(), |rate| format!("{}/s", format_size(rate)));
    vec![
        name.clone(),
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
