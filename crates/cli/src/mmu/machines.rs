//! `thrashlab mmu machines`: the machines that can be simulated, and their descriptions.

use anyhow::{Context, anyhow};
use clap::Args;
use experiment::Machine;
use mmu::tlb::Tlb;
use model::units::format_size;
use report::columns::aligned;
use serde_json::json;

use crate::{Failure, print, print_json};

const EXAMPLES: &str = "\
Examples:
  thrashlab mmu machines
  thrashlab mmu machines zen4 > mine.toml      a description to change
  thrashlab mmu run --machine ./mine.toml t.tlt";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MachinesArgs {
    /// Prints the description of this one
    name: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Does what is asked.
pub(crate) fn machines(args: &MachinesArgs) -> Result<(), Failure> {
    match &args.name {
        Some(name) => show(name, args.json),
        None => list(args.json),
    }
}

fn show(name: &str, json: bool) -> Result<(), Failure> {
    let text = experiment::machine_text(name).map_err(|why| Failure::WrongUse(anyhow!(why)))?;
    if !json {
        return print(&text);
    }
    let machine = read(name, &text).map_err(Failure::WrongUse)?;
    print_json(&entry(name, &machine, Some(&text)))
}

fn list(json: bool) -> Result<(), Failure> {
    let mut machines = Vec::new();
    for (name, text) in Machine::shipped() {
        machines.push((name, read(name, text)?));
    }
    if json {
        let entries = machines.iter().map(|(name, machine)| entry(name, machine, None));
        return print_json(&entries.collect::<Vec<_>>());
    }
    let mut rows = vec![["name", "kind", "about", "key figures"].map(str::to_owned).to_vec()];
    for (name, machine) in &machines {
        rows.push(vec![
            (*name).to_owned(),
            kind(machine).to_owned(),
            about(machine).to_owned(),
            figures(machine),
        ]);
    }
    print(&aligned(&rows))
}

fn read(name: &str, text: &str) -> anyhow::Result<Machine> {
    Machine::parse(text).with_context(|| format!("machine {name}"))
}

fn entry(name: &str, machine: &Machine, text: Option<&str>) -> serde_json::Value {
    let mut entry = json!({
        "name": name,
        "kind": kind(machine),
        "about": about(machine),
        "figures": figures(machine),
    });
    if let Some(text) = text {
        entry["description"] = json!(text);
    }
    entry
}

fn kind(machine: &Machine) -> &'static str {
    match machine {
        Machine::Sun4(_) => "sun4",
        Machine::Tlb(_) => "tlb",
    }
}

fn about(machine: &Machine) -> &str {
    match machine {
        Machine::Sun4(machine) => &machine.name,
        Machine::Tlb(machine) => &machine.about,
    }
}

fn figures(machine: &Machine) -> String {
    match machine {
        Machine::Sun4(machine) => format!(
            "{} contexts, {} pmegs, pages of {}, {} MHz",
            machine.mmu.contexts,
            machine.mmu.pmegs,
            format_size(machine.mmu.page_bytes),
            machine.clock_hz / 1_000_000
        ),
        Machine::Tlb(machine) => {
            let tlb = |tlb: &Tlb| format!("{} {}", tlb.name, tlb.entries);
            let tlbs: Vec<String> = machine.tlbs.iter().map(tlb).collect();
            tlbs.join(", ")
        }
    }
}
