//! `thrashlab mmu machines`: the machines that can be simulated, and their descriptions.

use anyhow::Context;
use clap::Args;
use experiment::Machine;
use mmu::tlb::Tlb;
use model::units::format_size;
use render::{Block, Document, Table};
use serde_json::json;

use crate::Failure;
use crate::output::{OutputArgs, show};

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

    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn machines(args: &MachinesArgs) -> Result<(), Failure> {
    match &args.name {
        Some(name) => one(name, &args.output),
        None => list(&args.output),
    }
}

/// One machine; as text it is its description, which can be changed and given back.
fn one(name: &str, output: &OutputArgs) -> Result<(), Failure> {
    let text = experiment::machine_text(name).map_err(crate::wrong)?;
    let machine = read(name, &text).map_err(Failure::WrongUse)?;
    let data = entry(name, &machine, Some(&text));
    show(&Document::of(vec![Block::Verbatim(text)]).with_data(data), output)
}

fn list(output: &OutputArgs) -> Result<(), Failure> {
    let mut table = Table::new("", ["name", "kind", "about", "key figures"]);
    let mut entries = Vec::new();
    for (name, text) in Machine::shipped() {
        let machine = read(name, text)?;
        table.row([name, kind(&machine), about(&machine), &figures(&machine)]);
        entries.push(entry(name, &machine, None));
    }
    show(&Document::of(vec![table.into()]).with_data(entries), output)
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
