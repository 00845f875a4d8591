//! `thrashlab vm machines`: the machines by name.

use std::fs;

use anyhow::{Context, anyhow};
use model::MachineSpec;
use model::units::{format_duration, format_size};
use report::columns::aligned;
use serde_json::{Value, json};
use vm::{DEFAULT, NAMED, VmRequest, load};

use crate::vm_args::MachinesArgs;
use crate::{Failure, print, print_json};

const HEADING: [&str; 9] =
    ["machine", "mem", "kernel mem", "swap", "instruction", "disk", "delay", "rate", "profile"];

/// Lists the machines, or prints the description of one.
pub(crate) fn machines(args: &MachinesArgs) -> Result<(), Failure> {
    let described = |name: &str| load(name).map_err(|why| Failure::WrongUse(anyhow!(why)));
    if let Some(name) = &args.name {
        let description = described(name)?;
        return match NAMED.iter().find(|(known, _)| known == name) {
            _ if args.json => print_json(&as_json(&description)),
            Some((_, text)) => print(text),
            None => print(&fs::read_to_string(name).context("read it").map_err(Failure::WrongUse)?),
        };
    }
    let all =
        NAMED.iter().map(|(name, _)| described(name)).collect::<Result<Vec<VmRequest>, _>>()?;
    if args.json {
        return print_json(&all.iter().map(as_json).collect::<Vec<_>>());
    }
    let mut rows = vec![HEADING.map(str::to_owned).to_vec()];
    rows.extend(all.iter().map(row));
    print(&format!(
        "{}\nWithout machine=NAME it is {DEFAULT}. A description to copy and change: thrashlab vm \
         machines {DEFAULT} > mine.toml\n",
        aligned(&rows)
    ))
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
