//! `thrashlab mmu machines`: the machines that can be simulated, and their descriptions.

use anyhow::Context;
use clap::Args;
use mmu::tlb::Tlb;
use model::units::format_size;
use render::{Block, Document, Table};
use serde::Serialize;
use simulated::Machine;

use crate::output::{OutputArgs, show};
use crate::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  thrashlab mmu machines
  thrashlab mmu machines zen4 > mine.toml  a description to change
  thrashlab mmu run --machine ./mine.toml t.tlt";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MachinesArgs {
    /// Prints the description of this one
    name: Option<String>,

    #[command(flatten)]
    output: OutputArgs,
}

/// A machine as it is listed.
#[derive(Serialize)]
struct Entry {
    about: String,
    /// Its description, if one machine is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    figures: String,
    kind: &'static str,
    name: String,
}

pub(crate) fn machines(args: &MachinesArgs) -> Result<()> {
    if let Some(name) = &args.name {
        // As text it is its description, which can be changed and given back.
        let text = experiment::machine_text(name).map_err(crate::wrong)?;
        let entry = Entry::read(name, &text).map_err(Failure::WrongUse)?;
        let document = Document::of(vec![Block::Verbatim(text.clone())]);
        return show(&document.with_data(Entry { description: Some(text), ..entry }), &args.output);
    }
    let mut table = Table::new("", ["name", "kind", "about", "key figures"]);
    let mut entries = Vec::new();
    for (name, text) in Machine::shipped() {
        let entry = Entry::read(name, text)?;
        table.row([&entry.name, entry.kind, &entry.about, &entry.figures]);
        entries.push(entry);
    }
    show(&Document::of(vec![table.into()]).with_data(entries), &args.output)
}

impl Entry {
    fn read(name: &str, text: &str) -> anyhow::Result<Self> {
        let machine = Machine::parse(text).with_context(|| format!("machine {name}"))?;
        let (kind, about, figures) = match machine {
            Machine::Sun4(machine) => {
                let figures = format!(
                    "{} contexts, {} pmegs, pages of {}, {} MHz",
                    machine.mmu.contexts,
                    machine.mmu.pmegs,
                    format_size(machine.mmu.page_bytes),
                    machine.clock_hz / 1_000_000
                );
                ("sun4", machine.name, figures)
            }
            Machine::Tlb(machine) => {
                let tlb = |tlb: &Tlb| format!("{} {}", tlb.name, tlb.entries);
                let tlbs: Vec<String> = machine.tlbs.iter().map(tlb).collect();
                ("tlb", machine.about, tlbs.join(", "))
            }
        };
        Ok(Self { name: name.to_owned(), kind, about, figures, description: None })
    }
}
